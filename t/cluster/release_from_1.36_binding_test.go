//go:build !kube1.34 && !kube1.35

package cluster

import (
	"context"
	"testing"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// Turns red when a pod is bound while its device is not ready although its policy holds pods, when one stays held after its device is ready,
// when a device that is no longer offered keeps its claim, or when a server without the gate is offered nothing.
func TestAPodIsBoundWhenItsDeviceIsReady(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true, Everywhere: []string{"--feature-gates=DRADeviceBindingConditions=true"}})
	lab := harness.NewLab(t, plane, near)
	lab.RunAsDeployed()
	readiness := M{"onLinkDown": "taint", "holdBinding": true}
	lab.ApplyReady("p", readiness, harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	daemon := lab.Run(root.Flags()...)
	offered := lab.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	waitRegistered(daemon, 1)
	for name, slice := range offered.Slices {
		for _, device := range slice.Spec.Devices {
			if ready, lost := device.BindingConditions, device.BindingFailureConditions; len(ready) != 1 || len(lost) != 1 ||
				ready[0] != harness.Driver+"/DeviceReady" || lost[0] != harness.Driver+"/DeviceLost" {
				t.Fatalf("%s: %s has conditions %v and %v", name, device.Name, ready, lost)
			}
		}
	}
	nodeOf := func(pod string) string {
		got, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Get(context.Background(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Spec.NodeName
	}
	condition := func(pod, kind string) *metav1.Condition {
		claim := lab.Server.Claim(t, lab.Namespace, pod)
		if claim == nil {
			return nil
		}
		for _, device := range claim.Status.Devices {
			for _, one := range device.Conditions {
				if one.Type == harness.Driver+"/"+kind {
					return &one
				}
			}
		}
		return nil
	}
	newPod := func(name string) {
		lab.Server.NewTemplate(t, lab.Namespace, name, resource.ResourceClaimSpec{Devices: resource.DeviceClaim{
			Requests: []resource.DeviceRequest{{Name: "vf", Exactly: &resource.ExactDeviceRequest{
				DeviceClassName: harness.Class, AllocationMode: resource.DeviceAllocationModeExactCount, Count: 1,
				Tolerations: []resource.DeviceToleration{{Key: harness.Driver + "/not-ready", Operator: resource.DeviceTolerationOpExists}}}}}}})
		lab.Server.NewPodOf(t, lab.Namespace, name, lab.Node, name)
	}

	lab.Host.SetOperState(near.Address, "down")
	newPod("waits")
	waitUntil(t, "it is said that the device is not ready", scheduling, func() bool {
		ready := condition("waits", "DeviceReady")
		return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == "NotReady"
	})
	if node := nodeOf("waits"); node != "" {
		t.Fatalf("the pod is bound to %s, and its device is not ready", node)
	}
	lab.Host.SetOperState(near.Address, "up")
	waitRunning(t, lab, "waits")
	if ready := condition("waits", "DeviceReady"); ready == nil || ready.Status != metav1.ConditionTrue {
		t.Errorf("the pod runs, and its claim says %v", ready)
	}

	lab.Host.SetOperState(near.Address, "down")
	newPod("loses")
	waitUntil(t, "it is said that the device is not ready", scheduling, func() bool {
		ready := condition("loses", "DeviceReady")
		return ready != nil && ready.Status == metav1.ConditionFalse
	})
	readiness["onLinkDown"] = "withdraw"
	lab.ApplyReady("p", readiness, harness.Config("", harness.PFNames("ens1f0")))
	waitUntil(t, "the claim of a lost device is released", scheduling, func() bool {
		return lab.Server.Claim(t, lab.Namespace, "loses").Status.Allocation == nil
	})
	if node := nodeOf("loses"); node != "" {
		t.Fatalf("the pod is bound to %s, and its device is lost", node)
	}
	lab.Host.SetOperState(near.Address, "up")
	waitRunning(t, lab, "loses")

	older := harness.NewPlane(t, harness.Options{Everywhere: []string{"--feature-gates=DRADeviceBindingConditions=false"}})
	without := harness.NewLab(t, older, near)
	without.ApplyReady("p", readiness, harness.Config("", harness.PFNames("ens1f0")))
	daemon = without.Run(without.NewKubeletRoot().Flags()...)
	for name, slice := range without.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...).Slices {
		for _, device := range slice.Spec.Devices {
			if len(device.BindingConditions) > 0 {
				t.Errorf("%s: %s has conditions %v", name, device.Name, device.BindingConditions)
			}
		}
	}
	daemon.WaitSaid(starting, `API server feature not supported feature="binding conditions"`, 1)
}
