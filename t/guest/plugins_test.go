package guest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
	"sliced.test/lab"
)

// guestPrograms are of t/interop, and run in the guest.
var guestPrograms = []string{"cni_chain", "cni_admit", "vf_settings"}

// Red when a definition that is accepted changes anything of the host but the allocated device, or one that is refused would change nothing:
// the tests of t/interop/cni with the real plugins, on a kernel with ipvlan, VLANs and VRFs, which the machine may lack.
func TestPlugins(t *testing.T) {
	shared := t.TempDir()
	build := exec.Command("go", "test", "-c", "-o", filepath.Join(shared, "cni.test"), ".")
	build.Dir, build.Env = "../interop/cni", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plugins := []string{"bridge", "host-device", "host-local", "ipvlan", "macvlan", "sbr", "static", "tuning", "vlan", "vrf"}
	for _, plugin := range plugins {
		if out, err := exec.Command("install", "-D", harness.Path("../../build/guest/"+plugin), filepath.Join(shared, "plugins", plugin)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s (./dev guest builds it)", err, out)
		}
	}
	guest, err := lab.Boot(image, shared, 1024)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Stop()
	guest.Run(t, "set -e; for module in veth macvlan bridge 8021q ipvlan vrf; do modprobe $module; done; mkdir -p /var/lib /tmp")
	out, status := guest.Try("cd /host && SLICED_TEST_CNI_PLUGINS=/host/plugins SLICED_TEST_PROGRAMS=/bin "+
		"./cni.test -test.v -test.timeout 0 -test.run '^Test(AcceptedDefinitionsChangeNothingElse|RefusedDefinitionsWouldChangeTheHost)$' 2>&1", harness.UntilLimit())
	if status != 0 {
		t.Fatalf("ended with %d:\n%s", status, out)
	}
	// Those that need this kernel were played.
	for _, each := range []string{"AcceptedDefinitionsChangeNothingElse/ipvlan ", "AcceptedDefinitionsChangeNothingElse/vlan ", "AcceptedDefinitionsChangeNothingElse/host-device_and_vrf ",
		"RefusedDefinitionsWouldChangeTheHost/ipvlan_on_the_host's_NIC ", "RefusedDefinitionsWouldChangeTheHost/vlan_by_a_folded_rune "} {
		if want := fmt.Sprintf("--- PASS: Test%s", each); !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	t.Logf("%d cases in the guest", strings.Count(out, "    --- PASS: "))
}
