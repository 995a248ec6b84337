package lab

import (
	"flag"
	"os"
	"testing"

	"sliced.test/cluster/harness"
)

// One control plane (with a second API server, so that the first can be killed) and one guest for all scenarios: they run one after the other, and each puts the guest's devices back
// to how they were at boot before it begins.
var (
	plane *harness.Plane
	guest *Guest
	seed  = flag.Uint64("seed", 1, "of the scenarios that choose at random")
	qemu  = flag.String("qemu", "", "a QEMU whose virtio-net has VFs (newer_qemu), for the scenarios of virtio_test.go")
)

func TestMain(m *testing.M) { harness.Main(m, "lab", run) }

func run(m *testing.M) (int, error) {
	var programs []string
	if flag.Lookup("test.bench").Value.String() != "" {
		programs = append(programs, "bench_put_floor")
	}
	image, err := harness.GuestImage(programs...)
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "sliced-lab-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if *qemu == "" {
		guest, err = Boot(image, dir, 768)
	} else {
		guest, err = BootBy(*qemu, image, dir, 768, virtioCard...)
	}
	if err != nil {
		return 1, err
	}
	defer guest.Stop()
	if plane, err = harness.StartPlane(harness.Options{ControllerManager: true, SecondServer: true}); err != nil {
		return 1, err
	}
	code := m.Run()
	plane.Stop(code != 0)
	return code, nil
}
