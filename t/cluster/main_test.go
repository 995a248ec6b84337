// Package cluster drives build/sliced against a real etcd, kube-apiserver, kube-scheduler and claim controller.
package cluster

import (
	"fmt"
	"os"
	"testing"

	"sliced.test/cluster/harness"
)

// shared is the control plane of all scenarios that leave the servers themselves alone. Each has a node, a namespace and
// a user of its own on it.
var shared *harness.Plane

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sliced-cluster-")
	if err == nil {
		shared, err = harness.StartPlane(dir, harness.Options{Scheduler: true, ControllerManager: true})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane:", err)
		os.Exit(1)
	}
	code := m.Run()
	if code != 0 && os.Getenv("SLICED_KEEP") != "" {
		fmt.Fprintln(os.Stderr, "control plane files are kept in", dir)
	} else {
		shared.Stop()
	}
	os.Exit(code)
}
