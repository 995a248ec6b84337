// What preparing writes, read by CDI's own library as container runtimes do; and a checkpoint summed as Kubernetes does.
package cdi

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"k8s.io/utils/dump"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"sliced.test/interop"
)

var program = interop.Program("cdi_specs")

func run(t *testing.T, arguments ...string) []string {
	t.Helper()
	out, err := exec.Command(program, arguments...).Output()
	if err != nil {
		t.Fatalf("%v: %v", arguments, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

type written struct {
	directory string
	files     map[string][2]string // name -> kind, id
	devices   []string
}

func write(t *testing.T) written {
	out := written{directory: t.TempDir(), files: map[string][2]string{}}
	for _, line := range run(t, "write", out.directory) {
		words := strings.Fields(line)
		if words[0] == "device" {
			out.devices = append(out.devices, words[1])
		} else {
			out.files[words[2]] = [2]string{words[0], words[1]}
		}
	}
	if len(out.files) != 4 || len(out.devices) == 0 {
		t.Fatalf("written: %v", out)
	}
	return out
}

func TestSpecsAreValidAndOfTheLowestVersion(t *testing.T) {
	all := write(t)
	paths, err := filepath.Glob(all.directory + "/*")
	if err != nil || len(paths) != 10 { // of two drivers: two claims, with metadata each, and a pod
		t.Fatalf("%v %v", paths, err)
	}
	for _, path := range paths {
		spec, err := cdi.ReadSpec(path, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		// Device by device: of several the library (1.1.0) looks at the edits of the last one only.
		lowest := ""
		for _, device := range spec.Devices {
			alone := *spec.Spec
			alone.Devices = []specs.Device{device}
			takes, err := cdi.MinimumRequiredVersion(&alone)
			if err != nil {
				t.Fatal(err)
			}
			lowest = max(lowest, takes)
		}
		if spec.Version != lowest {
			t.Errorf("%s declares %s, its content takes %s", path, spec.Version, lowest)
		}
	}
}

func TestFilesHaveTheNamesOfTheLibrary(t *testing.T) {
	all := write(t)
	for name, of := range all.files {
		vendor, class := parser.ParseQualifier(of[0])
		own := t.TempDir()
		cache, err := cdi.NewCache(cdi.WithSpecDirs(own), cdi.WithAutoRefresh(false))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := cdi.ReadSpec(filepath.Join(all.directory, name), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := cache.WriteSpec(spec.Spec, cdi.GenerateTransientSpecName(vendor, class, of[1])); err != nil {
			t.Fatal(err)
		}
		entries, _ := os.ReadDir(own)
		if len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("the library names it %v, we name it %s", entries, name)
		}
	}
}

func TestARuntimeFindsTheAnsweredCDIDevices(t *testing.T) {
	all := write(t)
	cache, err := cdi.NewCache(cdi.WithSpecDirs(all.directory), cdi.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Refresh(); err != nil {
		t.Fatal(err)
	}
	if errors := cache.GetErrors(); len(errors) != 0 {
		t.Errorf("conflicts: %v", errors)
	}
	for _, device := range all.devices {
		if cache.GetDevice(device) == nil {
			t.Errorf("%s is not found", device)
		}
	}
}

func TestAContainerHasItsEnvironment(t *testing.T) {
	all := write(t)
	cache, err := cdi.NewCache(cdi.WithSpecDirs(all.directory))
	if err != nil {
		t.Fatal(err)
	}
	const kind = "sriovnetwork.k8snetworkplumbingwg.io/vf="
	container := &oci.Spec{}
	// Those without device nodes, which are looked for on this machine.
	_, err = cache.InjectDevices(container, kind+"8f1c2d3e-0000-4000-8000-000000000002",
		"dra.networking/device=1a2b3c4d-0000-4000-8000-000000000001-br0-macvlan-01234567-89ab-cdef-0123-456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	const addresses = "SRIOVNETWORK_PCI_ADDRESSES="
	if !slices.ContainsFunc(container.Process.Env, func(one string) bool {
		return strings.HasPrefix(one, addresses+"0000:03:00.2,0000:03:00.3")
	}) {
		t.Errorf("environment: %v", container.Process.Env)
	}
}

// As kubelet/checkpointmanager/checksum and dra-driver-sriov's pkg/types make it.
func TestTheCheckpointOfDraDriverSriovIsRead(t *testing.T) {
	type object = map[string]any
	claims := object{"preparedClaimsByPodUID": object{"pod-uid": object{"claim-uid": []object{{
		"Device":              object{"request_names": []string{"vf"}, "pool_name": "node-a", "device_name": "0000-03-00-2"},
		"ClaimNamespacedName": object{"Namespace": "ns", "Name": "claim", "UID": "claim-uid"},
		"ContainerEdits":      object{"env": []string{"A=<1>&\u2028"}},
		"Config":              object{"driver": "vfio-pci"},
		"PciAddress":          "0000:03:00.2",
		"PodUID":              "pod-uid",
		"OriginalDriver":      "igbvf",
	}}}}}
	type checkpoint struct {
		Checksum uint64 `json:"checksum"`
		V1       any    `json:"v1,omitempty"`
	}
	zero, err := json.Marshal(checkpoint{V1: claims})
	if err != nil {
		t.Fatal(err)
	}
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%v", dump.ForHash(zero))
	text, err := json.Marshal(checkpoint{Checksum: uint64(sum.Sum32()), V1: claims})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "read-peer", path); !slices.Equal(got, []string{"claim-uid ns/claim 0000-03-00-2 0000:03:00.2 igbvf"}) {
		t.Errorf("read: %v", got)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "igbvf", "ixgbe", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "read-peer", path).CombinedOutput(); err == nil {
		t.Errorf("an edited one is believed: %s", out)
	}
}
