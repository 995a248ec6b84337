package cluster

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

func waitRegistered(d *harness.Daemon, times int) {
	for _, driver := range []string{harness.Driver, harness.ExposureDriver} {
		d.WaitSaid(harness.Patience, "registered with the kubelet driver="+driver, times)
	}
}

// back waits until the devices that a kubelet has deleted are offered again.
func back(t *testing.T, lab *harness.Lab, wiped harness.PoolState, devices ...string) {
	t.Helper()
	again := lab.History.WaitOffers(t, wiped.RV, starting, devices...)
	t.Logf("what the kubelet deleted was offered again after %v", again.At.Sub(wiped.At))
}

// startKubelet returns when what a kubelet deletes at its start is back.
func startKubelet(t *testing.T, lab *harness.Lab, root *harness.KubeletRoot, after int64) *harness.Kubelet {
	t.Helper()
	kubelet := root.Run()
	wiped := lab.History.Wait(t, "what a kubelet deletes at its start", after, harness.Patience,
		func(s harness.PoolState) bool { return !s.Complete() })
	back(t, lab, wiped, vfs(pf0, 0, 4)...)
	return kubelet
}

// Turns red when a kubelet does not find a driver, when what it deletes at its start is not back at once, when a daemon that was
// killed is not found again, when a pod does not get its device, when the kubelet's restart changes it, or when it is not taken
// back, of a pod that was deleted without its kubelet as well.
func TestKubeletFindsBothDrivers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	daemon := lab.Run(root.Flags()...)
	offered := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	kubelet := startKubelet(t, lab, root, offered.RV)
	waitRegistered(daemon, 1)
	waitUntil(t, "the node is ready by its kubelet's word", harness.Patience, func() bool {
		node, err := shared.Server.Client.CoreV1().Nodes().Get(ctx, lab.Node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == core.NodeReady {
				return condition.Status == core.ConditionTrue && condition.Reason == "KubeletReady"
			}
		}
		return false
	})
	for _, pod := range []string{"p", "q"} {
		shared.Server.NewPod(t, lab.Namespace, pod, lab.Node, 1)
		waitRunning(t, lab, pod)
	}
	given := harness.Driver + "/vf=" + string(shared.Server.Claim(t, lab.Namespace, "p").UID) + "-"
	if created, err := os.ReadFile(root.Path + "/created"); err != nil || !strings.Contains(string(created), given) {
		t.Errorf("the container was not given %s: %s %v", given, created, err)
	}
	before := shared.Server.Revision(t)
	daemon.Kill()
	daemon = lab.Run(root.Flags()...)
	waitRegistered(daemon, 1)
	lab.History.NeverBelow(t, before, vfs(pf0, 0, 4)...)
	if log := kubelet.Log(); strings.Contains(log, "NodeWatchResources RPC call failed") || strings.Contains(log, "Unimplemented") {
		t.Error("the kubelet's watch of health failed")
	}
	// Of two pods one is deleted while there is no kubelet, which looks for such claims after a minute; the other runs on,
	// and is prepared again, by who has not done it before, as it was.
	before = shared.Server.Revision(t)
	kubelet.Kill()
	shared.Server.DeletePod(t, lab.Namespace, "q")
	first := root.Created()
	startKubelet(t, lab, root, before)
	waitRegistered(daemon, 2)
	waitUntil(t, "the container of the pod that stays is made again", promptly, func() bool { return len(root.Created()) > len(first) })
	for _, again := range root.Created()[len(first):] {
		// The kubelet has kept what it was answered before, and names it twice.
		if once := slices.Compact(slices.Sorted(slices.Values(again.CDI))); again.Pod != "p" || !slices.Equal(once, slices.Sorted(slices.Values(first[0].CDI))) {
			t.Errorf("after a restart of the kubelet a container was created: %+v, before: %+v", again, first)
		}
	}
	shared.Server.EndPod(t, lab.Namespace, "p")
	waitUntil(t, "no CDI spec is left", 2*promptly, func() bool { return len(root.SpecFiles()) == 0 })
}

func waitRunning(t *testing.T, lab *harness.Lab, name string) {
	t.Helper()
	waitRunningIn(t, lab, lab.Namespace, name)
}

func waitRunningIn(t *testing.T, lab *harness.Lab, namespace, name string) {
	t.Helper()
	waitUntil(t, "pod "+name+" runs", promptly, func() bool {
		pod, err := lab.Server.Client.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod.Status.Phase == core.PodRunning
	})
}

// offeredToKubelet is a daemon that has published a PF's VFs and is registered with a kubelet.
func offeredToKubelet(t *testing.T) (*harness.Lab, *harness.KubeletRoot, *harness.Daemon) {
	t.Helper()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	daemon := lab.Run(root.Flags()...)
	offered := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	startKubelet(t, lab, root, offered.RV)
	waitRegistered(daemon, 1)
	return lab, root, daemon
}

// Turns red when slices that a kubelet deletes, because it has not found their driver for 30 seconds, are not back at once
// though their daemon was there all the time, or when the kubelet does not find it again.
func TestSlicesReturnImmediately(t *testing.T) {
	t.Parallel()
	lab, root, daemon := offeredToKubelet(t)
	before := shared.Server.Revision(t)
	// Something stands where the socket was.
	at := root.Registration(harness.Driver)
	if err := errors.Join(os.Remove(at), os.Mkdir(at, 0o755)); err != nil {
		t.Fatal(err)
	}
	wiped := lab.History.Wait(t, "what a kubelet deletes of a driver that is away", before, harness.Patience,
		func(s harness.PoolState) bool { return len(s.Slices) == 0 })
	back(t, lab, wiped, vfs(pf0, 0, 4)...)
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	daemon.WaitSaid(promptly, "registered with the kubelet driver="+harness.Driver, 2)
	shared.Server.NewPod(t, lab.Namespace, "p", lab.Node, 1)
	waitRunning(t, lab, "p")
}

// Turns red when slices that a kubelet deletes, because their driver was away for 30 seconds, stay away.
func TestSlicesReturnWithTheDriver(t *testing.T) {
	t.Parallel()
	lab, root, daemon := offeredToKubelet(t)
	before, killed := shared.Server.Revision(t), time.Now()
	daemon.Kill()
	wiped := lab.History.Wait(t, "what a kubelet deletes of a driver that is away", before, harness.Patience,
		func(s harness.PoolState) bool { return len(s.Slices) == 0 })
	if away := time.Since(killed); away < 20*time.Second {
		t.Errorf("deleted %v after the daemon's end: that was something else", away)
	}
	daemon = lab.Run(root.Flags()...)
	lab.History.WaitOffers(t, wiped.RV, starting, vfs(pf0, 0, 4)...)
	waitRegistered(daemon, 1)
}
