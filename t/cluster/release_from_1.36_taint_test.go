//go:build !kube1.34 && !kube1.35

package cluster

import (
	"context"
	"fmt"
	"testing"

	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// Turns red when a PF whose link goes down leaves its VFs without the taint that their policy asks for, when the effect is another one, or
// when the real scheduler and the real controller of evictions take it for something else.
func TestALinkDownTaintsItsVFs(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true, Controllers: []string{"device-taint-eviction-controller"}})
	lab := harness.NewLab(t, plane, near)
	apply := func(effect string) int64 {
		return lab.ApplyReady("p", M{"onLinkDown": "taint", "taintEffect": effect}, harness.Config("", harness.PFNames("ens1f0")))
	}
	apply("NoSchedule")
	lab.Run()
	offered := lab.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	waitTaint := func(after int64, want string) {
		t.Helper()
		lab.History.Wait(t, "taint "+want, after, starting, func(state harness.PoolState) bool {
			count := 0
			for _, slice := range state.Slices {
				for _, device := range slice.Spec.Devices {
					found := "none"
					for _, taint := range device.Taints {
						found = fmt.Sprintf("%s=%s:%s", taint.Key, taint.Value, taint.Effect)
					}
					if found == want {
						count++
					}
				}
			}
			return count == 4
		})
	}
	before := lab.Server.Revision(t)
	lab.Host.SetOperState(near.Address, "down")
	waitTaint(max(before, offered.RV), harness.Driver+"/not-ready=carrier:NoSchedule")
	lab.Server.NewPod(t, lab.Namespace, "a", lab.Node, 1)
	waitUntil(t, "the scheduler says that no device can be had", scheduling, func() bool {
		pod, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Get(context.Background(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Reason == "Unschedulable" {
				return true
			}
		}
		return false
	})
	allocated := func() *resource.AllocationResult { return lab.Server.Claim(t, lab.Namespace, "a").Status.Allocation }
	if allocated() != nil {
		t.Fatal("a device with the taint NoSchedule is allocated")
	}
	waitTaint(apply("None"), harness.Driver+"/not-ready=carrier:None")
	waitUntil(t, "a device with a taint without effect is allocated", scheduling, func() bool { return allocated() != nil })
	waitTaint(apply("NoExecute"), harness.Driver+"/not-ready=carrier:NoExecute")
	waitUntil(t, "the pod is evicted", scheduling, func() bool {
		pod, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Get(context.Background(), "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && pod.DeletionTimestamp != nil
	})
	before = lab.Server.Revision(t)
	lab.Host.SetOperState(near.Address, "up")
	waitTaint(before, "none")
}
