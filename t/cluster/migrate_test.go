package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sliced.test/cluster/harness"
)

// A configuration of the device plugin with everything that is carried over, and what it must become.
const pluginConfig = `{"resourceList": [
  {"resourceName": "net", "selectors": [{"vendors": ["8086"], "devices": ["1889"], "pfNames": ["ens1f0#0,2-3"],
    "rootDevices": ["0000:3b:00.0"], "linkTypes": ["ether", "infiniband"], "pciAddresses": ["0000:3b:01.0"]}, {}]},
  {"resourceName": "dpdk-Fast_1", "resourcePrefix": "example.com",
    "selectors": {"drivers": ["vfio-pci"], "needVhostNet": true}}]}`

// Turns red when what `migrate` prints is not what the API server takes: the name of an extended resource, a class's
// expression or configuration, a policy's schema, or a name.
func TestMigratedObjectsAreAccepted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config := filepath.Join(folder, "config.json")
	if err := os.WriteFile(config, []byte(pluginConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	examples := harness.Path("../../config/examples/from-device-plugin/")
	for _, arguments := range [][]string{
		{config}, {"--as", "exposure", config}, {filepath.Join(examples, "config-map.yaml")},
		{filepath.Join(examples, "node-policies.yaml")},
	} {
		printed, err := exec.Command(harness.KubectlPlugin(t), append([]string{"migrate"}, arguments...)...).Output()
		if err != nil {
			t.Fatalf("migrate %v: %v", arguments, err)
		}
		file := filepath.Join(folder, "moved.yaml")
		if err := os.WriteFile(file, printed, 0o600); err != nil {
			t.Fatal(err)
		}
		objects, err := harness.ReadYAML(file)
		kinds := map[string]int{}
		for _, object := range objects {
			kinds[object.GetKind()]++
		}
		if err != nil || kinds["DeviceClass"] != 2 || kinds["ResourceClaimTemplate"] != 2 {
			t.Fatalf("migrate %v: printed %v, %v", arguments, kinds, err)
		}
		acceptStrictly(t, objects)
	}
}
