package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// Turns red when of fifty pods that come at once one does not run, two have the same VF, or something stays of one.
func TestFiftyPodsAtOnce(t *testing.T) {
	t.Parallel()
	const count = 50
	wide := harness.E810("03", "ens1f0", count)
	lab := harness.NewLab(t, shared, wide)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	daemon := lab.Run(root.Flags()...)
	offered := lab.History.WaitOffers(t, 0, starting, vfs(wide, 0, count)...)
	waitRegistered(daemon, 1)
	lab.Server.NewPod(t, lab.Namespace, "p0", lab.Node, 1)
	for i := range count - 1 {
		lab.Server.NewPodOf(t, lab.Namespace, fmt.Sprintf("p%d", i+1), lab.Node, "p0")
	}
	pods := lab.Server.Client.CoreV1().Pods(lab.Namespace)
	waitUntil(t, "all pods run", 2*promptly, func() bool {
		list, err := pods.List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, pod := range list.Items {
			if pod.Status.Phase == core.PodRunning {
				running++
			}
		}
		return running == count
	})
	owners := map[string]string{}
	for _, container := range root.Created() {
		for _, variable := range root.EditsOf(t, container.CDI).Env {
			address, is := strings.CutPrefix(variable, "SRIOVNETWORK_PCI_ADDRESSES=")
			if other, was := owners[address]; is && was && other != container.Pod {
				t.Errorf("%s and %s have %s", other, container.Pod, address)
			}
			if is {
				owners[address] = container.Pod
			}
		}
	}
	if len(owners) != count || daemon.Said("a claim is prepared") != count {
		t.Errorf("%d VFs were given to %d pods, %d claims prepared", len(owners), count, daemon.Said("a claim is prepared"))
	}
	soon := int64(1)
	if err := pods.DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &soon}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "no CDI spec is left", 2*promptly, func() bool { return len(root.SpecFiles()) == 0 })
	lab.Server.WaitDeallocated(t, lab.Namespace, promptly)
	if states := lab.History.States(t, offered.RV); len(states) > 1 {
		t.Errorf("%d slices were written: %s", len(states)-1, states[1])
	}
}

// Turns red when the end of a VF does not show at its pod, or keeps the pod from ending.
func TestDeviceGoneBeforeItsPod(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, near)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	daemon := lab.Run(root.Flags()...)
	lab.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	waitRegistered(daemon, 1)
	lab.Server.NewPod(t, lab.Namespace, "p", lab.Node, 1)
	waitRunning(t, lab, "p")
	device := lab.Server.Claim(t, lab.Namespace, "p").Status.Allocation.Devices.Results[0].Device
	lab.Host.SetVFs(near.Address, 0)
	waitUntil(t, "the pod's status says that its device is gone", promptly, func() bool {
		pod, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Get(context.Background(), "p", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, container := range pod.Status.ContainerStatuses {
			for _, resource := range container.AllocatedResourcesStatus {
				for _, health := range resource.Resources {
					if strings.Contains(string(health.ResourceID), device) && health.Health == core.ResourceHealthStatusUnhealthy {
						return true
					}
				}
			}
		}
		return false
	})
	lab.Server.EndPod(t, lab.Namespace, "p")
	waitUntil(t, "no CDI spec is left", promptly, func() bool { return len(root.SpecFiles()) == 0 })
	lab.Server.WaitReleased(t, lab.Namespace, "p", promptly)
	// Its successor is another one.
	lab.Host.SetVFs(near.Address, 4)
	lab.Server.NewPodOf(t, lab.Namespace, "again", lab.Node, "p")
	waitRunning(t, lab, "again")
}
