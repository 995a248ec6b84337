// Package guest judges build/sliced on a node as users have it: kubelet, containerd, runc and CNI plugins, on a real kernel with
// real SR-IOV functions, in the lab's QEMU guest. The control plane runs outside.
package guest

import (
	"flag"
	"path/filepath"
	"testing"

	"sliced.test/cluster/harness"
)

var (
	plane *harness.Plane
	image string // vmlinuz and initrd.gz
	dir   string // the node's disk, and what its guest has as /host
	given = flag.String("plugins", "", "directory with more CNI plugins for the node; those that a scenario is for have theirs")
)

func TestMain(m *testing.M) {
	harness.Main(m, "guest", func(m *testing.M) (int, error) {
		var err error
		if image, err = harness.GuestImage(guestPrograms...); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

// prepareNode makes what a node has and a machine has not: the disk and the control plane.
func prepareNode(t *testing.T) {
	t.Helper()
	dir = t.TempDir()
	err := makeDisk(filepath.Join(dir, "disk.img"))
	if err == nil {
		plane, err = harness.StartPlane(harness.Options{Scheduler: true, ControllerManager: true, Controllers: []string{"daemonset-controller"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Stop(t.Failed()) })
	networks, err := harness.ReadYAML("../cluster/testdata/network-attachment-definitions.yaml")
	if err == nil {
		err = plane.Server.InstallCRDs(networks)
	}
	if err != nil {
		t.Fatal(err)
	}
}
