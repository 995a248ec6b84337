package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"sliced.test/cluster/harness"
)

// Turns red when of fifty pods that come at once one does not run, two have the same VF, or something stays of one.
func TestFiftyConcurrentPods(t *testing.T) {
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
	if len(owners) != count || daemon.Said("claim prepared") != count {
		t.Errorf("%d VFs were given to %d pods, %d claims prepared", len(owners), count, daemon.Said("claim prepared"))
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

// keepsHealth tells whether the server keeps what a kubelet says of the health of a pod's devices.
func keepsHealth(t *testing.T, server *harness.APIServer, namespace, pod string) bool {
	t.Helper()
	var kept *core.Pod
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pods := server.Client.CoreV1().Pods(namespace)
		one, err := pods.Get(context.Background(), pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		asked := one.Spec.Containers[0].Resources.Claims[0]
		name := "claim:" + asked.Name
		if asked.Request != "" {
			name += "/" + asked.Request
		}
		one.Status.ContainerStatuses[0].AllocatedResourcesStatus = []core.ResourceStatus{{Name: core.ResourceName(name),
			Resources: []core.ResourceHealth{{ResourceID: "d", Health: core.ResourceHealthStatusUnhealthy}}}}
		kept, err = pods.UpdateStatus(context.Background(), one, metav1.UpdateOptions{DryRun: []string{"All"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(kept.Status.ContainerStatuses[0].AllocatedResourcesStatus) > 0
}

func waitUnhealthy(t *testing.T, server *harness.APIServer, namespace, pod, device string) {
	t.Helper()
	waitHealth(t, server, namespace, pod, device, core.ResourceHealthStatusUnhealthy)
}

// waitHealth waits until a pod's status says so of a device of it ("" any), where the server keeps that.
// Elsewhere it says nothing of it.
func waitHealth(t *testing.T, server *harness.APIServer, namespace, pod, device string, health core.ResourceHealthStatus) {
	t.Helper()
	said := func() (all []string) {
		one, err := server.Client.CoreV1().Pods(namespace).Get(context.Background(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, container := range one.Status.ContainerStatuses {
			for _, resource := range container.AllocatedResourcesStatus {
				for _, health := range resource.Resources {
					all = append(all, fmt.Sprint(health.ResourceID, " ", health.Health))
				}
			}
		}
		return all
	}
	if !keepsHealth(t, server, namespace, pod) {
		if all := said(); len(all) > 0 {
			t.Errorf("the server drops the health of devices, and has %v", all)
		}
		return
	}
	waitUntil(t, fmt.Sprint("the pod's status says that its device is ", health), promptly, func() bool {
		return slices.ContainsFunc(said(), func(one string) bool {
			return strings.Contains(one, device) && strings.HasSuffix(one, " "+string(health))
		})
	})
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
	// A kubelet that has not heard of a device yet does not write into a pod's status what it hears meanwhile.
	waitHealth(t, lab.Server, lab.Namespace, "p", device, core.ResourceHealthStatusHealthy)
	before := lab.Server.Revision(t)
	lab.Host.SetVFs(near.Address, 0)
	lab.History.WaitOffers(t, before, promptly)
	waitUnhealthy(t, lab.Server, lab.Namespace, "p", device)
	lab.Server.EndPod(t, lab.Namespace, "p")
	waitUntil(t, "no CDI spec is left", promptly, func() bool { return len(root.SpecFiles()) == 0 })
	lab.Server.WaitReleased(t, lab.Namespace, "p", promptly)
	// Its successor is another one.
	lab.Host.SetVFs(near.Address, 4)
	lab.Server.NewPodOf(t, lab.Namespace, "again", lab.Node, "p")
	waitRunning(t, lab, "again")
}
