package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sliced.test/cluster/harness"
)

const referenceNode = "../../config/examples/reference-node/"

func readYAML(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := harness.ReadYAML(path)
	if err != nil || len(objects) == 0 {
		t.Fatalf("%s: %d objects, %v", path, len(objects), err)
	}
	return objects
}

func convert[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

// referenceSlices are those of the documentation, those of DeviceExposurePolicies only.
func referenceSlices(t *testing.T) []*resource.ResourceSlice {
	t.Helper()
	var found []*resource.ResourceSlice
	for _, list := range readYAML(t, "../../docs/reference-node-slices.yaml") {
		items, _, err := unstructured.NestedSlice(list.Object, "items")
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			slice := convert[resource.ResourceSlice](t, &unstructured.Unstructured{Object: item.(M)})
			if slice.Spec.Driver == harness.ExposureDriver {
				found = append(found, slice)
			}
		}
	}
	return found
}

// claimReferenceNode makes the example's classes, and asks of its templates.
func claimReferenceNode(t *testing.T, lab *harness.Lab) map[string]ask {
	t.Helper()
	pf0, pf1 := "0000-03-00-0", "0000-03-00-1"
	vfs0 := []string{"0000-03-00-2", "0000-03-00-3", "0000-03-00-4", "0000-03-00-5", "0000-03-00-6", "0000-03-00-7",
		"0000-03-01-0", "0000-03-01-1"}
	vfs1 := []string{"0000-03-01-2", "0000-03-01-3", "0000-03-01-4", "0000-03-01-5"}
	asks := map[string]ask{
		"macvlan":           {devices: []string{pf0 + "-macvlan"}, takes: "1"},
		"four-macvlans":     {devices: []string{pf0 + "-macvlan"}, takes: "4"},
		"whole-pf0":         {devices: []string{pf0 + "-passthrough"}},
		"whole-pf":          {devices: []string{pf0 + "-passthrough", pf1}},
		"vf-of-pf0":         {devices: vfs0},
		"two-vfs-of-one-pf": {devices: join(vfs0, vfs1)},
		"two-bridge-ports":  {devices: []string{"br-data"}, takes: "2"},
	}
	for _, object := range readYAML(t, referenceNode+"claims.yaml") {
		switch object.GetKind() {
		case "DeviceClass":
			client := lab.Server.Dynamic.Resource(resourceOf(t, object))
			if _, err := client.Create(context.Background(), object, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
				t.Fatal(err)
			}
		case "ResourceClaimTemplate":
			a, known := asks[object.GetName()]
			if !known {
				t.Fatalf("no test knows the template %s", object.GetName())
			}
			a.spec = convert[resource.ResourceClaimTemplate](t, object).Spec.Spec
			asks[object.GetName()] = a
		}
	}
	asks["64-macvlans"] = ask{spec: repeated(16, claim("net-macvlan", "", 1, map[string]string{"macvlans": "4"})),
		devices: []string{pf0 + "-macvlan"}, takes: "4"}
	asks["62-bridge-ports"] = ask{spec: repeated(31, claim("net-bridge-port", "", 1, map[string]string{"ports": "2"})),
		devices: []string{"br-data"}, takes: "2"}
	return asks
}

// Turns red when the example does not do what its documentation says: host and policies give the documented slices,
// the API server takes them strictly, the example's claims get the devices that they are meant to get, and what
// excludes each other is not given at the same time.
func TestReferenceNode(t *testing.T) {
	t.Parallel()
	lab := harness.NewHostlessLab(t, exposingPlane(t))
	lab.Host = harness.UnpackHost(t, referenceNode+"unpack")
	for _, policy := range readYAML(t, referenceNode+"policies.yaml") {
		lab.Expose(policy.GetName(), policy.Object["spec"].(M))
	}
	able := abilitiesOf(t, lab.Server)
	asks := claimReferenceNode(t, lab)
	wanted := map[string]resource.Device{}
	counters := map[string]map[string]resource.CounterSet{}
	for _, slice := range referenceSlices(t) {
		if _, err := resourceSlices(lab.Server).Create(context.Background(), slice.DeepCopy(), strictly); err != nil {
			t.Errorf("the API server refuses the documented %s: %v", slice.Name, err)
		}
		for _, device := range slice.Spec.Devices {
			wanted[device.Name] = device
		}
		for _, set := range slice.Spec.SharedCounters {
			pool := strings.Replace(slice.Spec.Pool.Name, *slice.Spec.NodeName, lab.Node, 1)
			counters[pool] = map[string]resource.CounterSet{set.Name: set}
		}
	}
	documented := slices.Sorted(maps.Keys(wanted))
	if len(documented) != 16 {
		t.Errorf("%d entries are documented", len(documented))
	}
	offered := slices.Clone(documented)
	if !able.counters && !able.shares {
		clear(counters)
		for _, name := range []string{"0000-03-00-0-macvlan", "0000-03-00-0-passthrough", "0000-03-00-1", "br-data"} {
			delete(wanted, name)
		}
		for name, device := range wanted {
			device.ConsumesCounters = nil
			wanted[name] = device
		}
		offered = slices.Sorted(maps.Keys(wanted))
	}
	since := lab.Server.Revision(t)
	daemon := lab.Run()
	d := newDesk(lab, asks)
	d.offered(since, offered...)
	d.closed = closed(asks, documented, offered)
	// All of it is charged until the claims have shown it free.
	state := lab.Exposed.Wait(t, "the documented slices", since, returning, func(s harness.PoolState) bool {
		return equality.Semantic.DeepEqual(s.Counters(), counters) && equality.Semantic.DeepEqual(s.Devices(), wanted)
	})
	if wantedSlices := map[bool]int{true: 5, false: 3}[able.counters]; len(state.Slices) != wantedSlices {
		t.Errorf("%d slices, wanted %d", len(state.Slices), wantedSlices)
	}
	d.fits = func(n map[string]int) bool {
		macvlans := n["macvlan"] + 4*n["four-macvlans"] + 64*n["64-macvlans"]
		isPF0Free := macvlans+n["vf-of-pf0"] == 0
		ports := 2*n["two-bridge-ports"] + 62*n["62-bridge-ports"]
		return macvlans <= 64 && ports <= 64 && n["vf-of-pf0"] <= 8 && n["whole-pf0"] <= 1 && (n["whole-pf0"] == 0 || isPF0Free)
	}
	d.everyOrder("macvlan", "vf-of-pf0", "whole-pf0")
	d.everyOrder("four-macvlans", "64-macvlans")
	d.everyOrder("62-bridge-ports", "two-bridge-ports", "two-bridge-ports")
	d.shown()

	// Two PFs: whichever is not given as a whole has VFs to give.
	d.fits = func(n map[string]int) bool { return n["whole-pf"]+min(n["two-vfs-of-one-pf"], 1) <= 2 }
	d.everyOrder("two-vfs-of-one-pf", "whole-pf", "whole-pf")
	pod := d.arrive("two-vfs-of-one-pf")
	results := lab.Server.WaitScheduled(t, lab.Namespace, pod, scheduling)
	owners := map[string]bool{}
	for _, r := range results {
		owners[text(wanted[r.Device], "dra.networking/pfName")] = true
	}
	if len(results) != 2 || len(owners) != 1 {
		t.Errorf("two VFs of one PF are %+v", results)
	}
	storedAsSent(t, lab, daemon.Started)
}
