// Package cluster drives build/sliced against a real etcd, kube-apiserver, kube-scheduler and claim
// controller.
package cluster

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"sliced.test/cluster/harness"
)

// shared is the control plane of all scenarios that leave the servers themselves alone. Each has a node, a
// namespace and a user of its own on it.
var shared *harness.Plane

// exposures is the control plane of all scenarios with DeviceExposurePolicies: they are cluster-scoped, and every node
// has a pool for them as soon as there is one, which scenarios that count writes must not see.
var exposures struct {
	sync.Once
	plane *harness.Plane
	err   error
}

func exposingPlane(t *testing.T) *harness.Plane {
	t.Helper()
	exposures.Do(func() {
		exposures.plane, exposures.err = harness.StartPlane(harness.Options{Scheduler: true, ControllerManager: true})
	})
	if exposures.err != nil {
		t.Fatal("control plane:", exposures.err)
	}
	return exposures.plane
}

func TestMain(m *testing.M) {
	var err error
	shared, err = harness.StartPlane(harness.Options{Scheduler: true, ControllerManager: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane:", err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Stop(code != 0)
	for _, plane := range []*harness.Plane{exposures.plane, unjudged.plane} {
		if plane != nil {
			plane.Stop(code != 0)
		}
	}
	os.Exit(code)
}
