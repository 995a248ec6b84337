package lab

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sliced.test/cluster/harness"
)

// One control plane (with a second API server, so that the first can be killed) and one guest for all scenarios: they run one after the other, and each puts the guest's devices back
// to how they were at boot before it begins.
var (
	plane *harness.Plane
	guest *Guest
	seed  = flag.Uint64("seed", 1, "of the scenarios that choose at random")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	image, err := filepath.Abs(harness.Path("../../build/lab"))
	if err != nil {
		return 1, err
	}
	programs := []string{harness.Path("../../build/sliced")}
	if floor := harness.Path("../../build/t/bench_put_floor"); flag.Lookup("test.bench").Value.String() != "" {
		programs = append(programs, floor)
	}
	build := exec.Command("./image", append([]string{image}, programs...)...)
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("image: %w\n%s", err, out)
	}
	dir, err := os.MkdirTemp("", "sliced-lab-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if guest, err = Boot(image, dir, 768); err != nil {
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
