package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

func waitRegistered(d *harness.Daemon, times int) {
	for _, driver := range []string{harness.Driver, harness.ExposureDriver} {
		d.WaitSaid(30*time.Second, "registered with the kubelet driver="+driver, times)
	}
}

// startKubelet returns when what a kubelet deletes at its start is back, at most two seconds later. after: a revision before.
func startKubelet(t *testing.T, lab *harness.Lab, root *harness.KubeletRoot, after int64) *harness.Kubelet {
	t.Helper()
	kubelet := root.Run()
	wiped := lab.History.Wait(t, "what a kubelet deletes at its start", after, 30*time.Second,
		func(s harness.PoolState) bool { return !s.Complete() })
	lab.History.WaitOffers(t, wiped.RV, 2*time.Second, vfs(pf0, 0, 4)...)
	return kubelet
}

// Turns red when a kubelet does not find a driver, when what it deletes at its start is not back within two seconds, when a
// daemon that was killed is not found again, when a pod does not get its device, or when that is not taken back.
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
	waitUntil(t, "the node is ready by its kubelet's word", 30*time.Second, func() bool {
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
	shared.Server.NewPod(t, lab.Namespace, "p", lab.Node, 1)
	shared.Server.WaitScheduled(t, lab.Namespace, "p", 30*time.Second)
	waitRunning(t, lab, "p")
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
	before = shared.Server.Revision(t)
	kubelet.Kill()
	startKubelet(t, lab, root, before)
	waitRegistered(daemon, 2)
	// Taken back by a daemon and a kubelet that have not prepared it.
	now := int64(0)
	if err := shared.Server.Client.CoreV1().Pods(lab.Namespace).Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "no CDI spec is left", 90*time.Second, func() bool {
		left, _ := filepath.Glob(root.Path + "/cdi/*")
		return len(left) == 0
	})
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

// Turns red when slices that a kubelet deletes, because their driver was away for 30 seconds, stay away.
func TestSlicesReturnWithTheDriver(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	daemon := lab.Run(root.Flags()...)
	offered := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	startKubelet(t, lab, root, offered.RV)
	waitRegistered(daemon, 1)
	before, killed := shared.Server.Revision(t), time.Now()
	daemon.Kill()
	wiped := lab.History.Wait(t, "what a kubelet deletes of a driver that is away", before, 60*time.Second,
		func(s harness.PoolState) bool { return len(s.Slices) == 0 })
	if away := time.Since(killed); away < 20*time.Second {
		t.Errorf("deleted %v after the daemon's end: that was something else", away)
	}
	daemon = lab.Run(root.Flags()...)
	lab.History.WaitOffers(t, wiped.RV, starting, vfs(pf0, 0, 4)...)
	waitRegistered(daemon, 1)
}
