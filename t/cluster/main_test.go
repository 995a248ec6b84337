// Package cluster drives build/sliced against a real etcd, kube-apiserver, kube-scheduler and claim
// controller.
package cluster

import (
	"fmt"
	"os"
	"testing"

	"sliced.test/cluster/harness"
)

// shared is the control plane of all scenarios that leave the servers themselves alone. Each has a node, a
// namespace and a user of its own on it.
var shared *harness.Plane

func TestMain(m *testing.M) {
	var err error
	shared, err = harness.StartPlane(harness.Options{Scheduler: true, ControllerManager: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane:", err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Stop(code != 0)
	os.Exit(code)
}
