//go:build !kube1.34 && !kube1.35 && !kube1.36

package cluster

import (
	"path/filepath"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// Turns red when a pod with a claim does not start beside a daemon that only publishes, although everything has the gate; or when a server
// without the gate is offered nothing.
func TestPodsStartWithoutAPlugin(t *testing.T) {
	t.Parallel()
	const gates = "DRAOptionalNodeOperations=true"
	plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true, Everywhere: []string{"--feature-gates=" + gates}})
	lab := harness.NewLab(t, plane, near)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	root.Gates = gates
	wiped(t, lab, root.Run())
	directory := filepath.Join(lab.Host.Root, "run/sliced")
	daemon := lab.Run("--skip-node-operations", "on", "--runtime-directory", directory)
	state := lab.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	for name, slice := range state.Slices {
		if skipped := slice.Spec.SkipNodeOperations; len(skipped) != 1 || skipped[0] != "*" {
			t.Errorf("%s skips %v", name, skipped)
		}
	}
	lab.Server.NewPod(t, lab.Namespace, "p", lab.Node, 1)
	waitRunning(t, lab, "p")
	lab.Server.EndPod(t, lab.Namespace, "p")
	lab.Server.WaitReleased(t, lab.Namespace, "p", promptly)
	if status, problem, _ := lab.Program("status", "--runtime-directory", directory); !strings.Contains(status, "kubelets start pods without one (--skip-node-operations)") {
		t.Errorf("sliced status: %s%s", status, problem)
	}
	if daemon.Said(`API server feature supported feature="skipped node operations"`) != 1 {
		t.Error("the log does not say that the server takes them")
	}

	without := harness.NewLab(t, shared, near)
	without.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon = without.Run("--skip-node-operations", "on")
	state = without.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	for name, slice := range state.Slices {
		if len(slice.Spec.SkipNodeOperations) > 0 {
			t.Errorf("%s skips %v", name, slice.Spec.SkipNodeOperations)
		}
	}
	daemon.WaitSaid(starting, `API server feature not supported feature="skipped node operations"`, 1)
}
