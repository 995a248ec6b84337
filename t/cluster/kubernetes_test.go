package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sliced.test/cluster/harness"
)

// Turns red when docs/kubernetes-versions.md says something of this release that is not so: each cell is asked of the
// running server, or of a daemon that runs against it.
func TestKubernetesVersionsDocument(t *testing.T) {
	t.Parallel()
	server := shared.Server
	version, err := server.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	found := slices.Concat(gates(t, server), served(t, server), stored(server), bounds(t, server), expressions(server), heldBack(t))
	compare(t, strings.TrimPrefix(version.GitVersion, "v"), found)
}

// gates that matter here, with their stage and whether they are on, as the server's metrics show them.
func gates(t *testing.T, server *harness.APIServer) (found []fact) {
	text, err := server.Client.RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	gate := regexp.MustCompile(`(?m)^kubernetes_feature_enabled\{name="(DRA\w+|DynamicResourceAllocation|ResourceHealthStatus\w*|WatchList)",stage="(\w*)"\} ([01])$`)
	for _, match := range gate.FindAllStringSubmatch(string(text), -1) {
		stage := strings.ToLower(match[2])
		if stage == "" {
			stage = "stable"
		}
		found = append(found, fact{"`" + match[1] + "`", stage + ", " + map[string]string{"0": "off", "1": "on"}[match[3]]})
	}
	if len(found) < 8 {
		t.Fatalf("the server's metrics show these gates only: %v", found)
	}
	return found
}

func served(t *testing.T, server *harness.APIServer) []fact {
	groups, err := server.Client.Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, group := range groups.Groups {
		if group.Name == "resource.k8s.io" {
			for _, version := range group.Versions {
				versions = append(versions, version.Version)
			}
		}
	}
	sort.Strings(versions)
	return []fact{{"versions of `resource.k8s.io`", strings.Join(versions, ", ")}}
}

var slicesResource = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}

// sliceOf is one of a pool of its own, which nobody stores.
func sliceOf(spec M) *unstructured.Unstructured {
	all := M{"driver": "probe.example", "nodeName": "probe", "pool": M{"name": "probe", "generation": int64(1), "resourceSliceCount": int64(1)}}
	for key, value := range spec {
		all[key] = value
		if key == "perDeviceNodeSelection" {
			delete(all, "nodeName")
		}
	}
	return &unstructured.Unstructured{Object: M{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": M{"name": "probe"}, "spec": all}}
}

// contains says that whatever was sent has been kept; what the server adds does not count.
func contains(kept, sent any) bool {
	switch sent := sent.(type) {
	case M:
		kept, _ := kept.(M)
		for key, value := range sent {
			if !contains(kept[key], value) {
				return false
			}
		}
		return true
	case L:
		kept, _ := kept.(L)
		if len(kept) != len(sent) {
			return false
		}
		for i := range sent {
			if !contains(kept[i], sent[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(kept, sent)
}

// answer is what a server does with an object that it is asked to take strictly, and not to store.
func answer(server *harness.APIServer, resource schema.GroupVersionResource, object *unstructured.Unstructured) string {
	kept, err := server.Dynamic.Resource(resource).Namespace(object.GetNamespace()).Create(context.Background(), object, strictly)
	switch {
	case apierrors.IsInvalid(err):
		return "refused"
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "unknown field"):
		return "unknown field"
	case err != nil:
		return err.Error()
	case contains(kept.Object["spec"], object.Object["spec"]):
		return "stored"
	}
	return "dropped"
}

func device(more M) M {
	device := M{"name": "d"}
	for key, value := range more {
		device[key] = value
	}
	return device
}

var (
	counterSets = L{M{"name": "s", "counters": M{"c": M{"value": "2"}}}}
	consumes    = M{"consumesCounters": L{M{"counterSet": "s", "counters": M{"c": M{"value": "1"}}}}}
)

// stored asks for each thing that a slice may have beyond names, attributes and capacity.
func stored(server *harness.APIServer) (found []fact) {
	of := func(more M) M { return M{"devices": L{device(more)}} }
	with := func(spec, more M) M {
		for key, value := range more {
			spec[key] = value
		}
		return spec
	}
	taint := func(effect string) M { return of(M{"taints": L{M{"key": "a/b", "effect": effect}}}) }
	group := M{"consumesCounters": L{M{"counterSet": "s", "counters": M{"c": M{"value": "1"}}, "compatibilityGroups": L{"g"}}}}
	for _, row := range []struct {
		what string
		spec M
	}{
		{"`sharedCounters` in a slice of their own", M{"sharedCounters": counterSets}},
		{"`consumesCounters` beside no `sharedCounters`", of(consumes)},
		{"both in one slice", with(of(consumes), M{"sharedCounters": counterSets})},
		{"`allowMultipleAllocations` with a `requestPolicy`", of(M{"allowMultipleAllocations": true,
			"capacity": M{"a/c": M{"value": "4", "requestPolicy": M{"default": "1", "validValues": L{"1"}}}}})},
		{"list attributes", of(M{"attributes": M{"a/l": M{"strings": L{"x", "y"}}}})},
		{"taint `NoSchedule`", taint("NoSchedule")},
		{"taint `NoExecute`", taint("NoExecute")},
		{"taint `None`", taint("None")},
		{"`bindsToNode`, `bindingConditions`", of(M{"bindsToNode": true, "bindingConditions": L{"a/ready"},
			"bindingFailureConditions": L{"a/failed"}})},
		{"`perDeviceNodeSelection`", M{"perDeviceNodeSelection": true, "devices": L{device(M{"nodeName": "probe"})}}},
		{"`consumesCounters[].compatibilityGroups`", of(group)},
		{"`partitionTypeAttribute`", with(of(M{"attributes": M{"a/t": M{"string": "x"}}}), M{"partitionTypeAttribute": "a/t"})},
		{"`skipNodeOperations`", with(of(nil), M{"skipNodeOperations": L{"NodePrepareResources"}})},
	} {
		found = append(found, fact{row.what, answer(server, slicesResource, sliceOf(row.spec))})
	}
	return found
}

// most is how many the server takes: 0 where it does not even take one.
func most(server *harness.APIServer, spec func(n int) M) string {
	low, high := 0, 1024
	for low < high {
		n := (low + high + 1) / 2
		if answer(server, slicesResource, sliceOf(spec(n))) == "stored" {
			low = n
		} else {
			high = n - 1
		}
	}
	if low == 0 {
		return absent
	}
	return fmt.Sprint(low)
}

// named are n objects, each with a name of its own.
func named(n int, more M) (out L) {
	for i := range n {
		one := M{"name": fmt.Sprintf("n%d", i)}
		for key, value := range more {
			one[key] = value
		}
		out = append(out, one)
	}
	return out
}

func bounds(t *testing.T, server *harness.APIServer) (found []fact) {
	for _, row := range []struct {
		what string
		spec func(n int) M
	}{
		{"devices in a slice", func(n int) M { return M{"devices": named(n, nil)} }},
		{"devices in a slice, with a taint", func(n int) M {
			return M{"devices": named(n, M{"taints": L{M{"key": "a/b", "effect": "NoSchedule"}}})}
		}},
		{"devices in a slice, with counters", func(n int) M { return M{"devices": named(n, consumes)} }},
		{"counter sets in a slice", func(n int) M {
			return M{"sharedCounters": named(n, M{"counters": M{"c": M{"value": "2"}}})}
		}},
		{"counters in a set", func(n int) M {
			counters := M{}
			for i := range n {
				counters[fmt.Sprintf("c%d", i)] = M{"value": "1"}
			}
			return M{"sharedCounters": L{M{"name": "s", "counters": counters}}}
		}},
		{"counter sets that a device consumes of", func(n int) M {
			var sets L
			for i := range n {
				sets = append(sets, M{"counterSet": fmt.Sprintf("s%d", i), "counters": M{"c": M{"value": "1"}}})
			}
			return M{"devices": L{device(M{"consumesCounters": sets})}}
		}},
		{"attributes of a device", func(n int) M {
			attributes := M{}
			for i := range n {
				attributes[fmt.Sprintf("a/a%d", i)] = M{"bool": true}
			}
			return M{"devices": L{device(M{"attributes": attributes})}}
		}},
		{"characters of a string attribute", func(n int) M {
			return M{"devices": L{device(M{"attributes": M{"a/s": M{"string": strings.Repeat("x", n)}}})}}
		}},
		{"taints of a device", func(n int) M {
			var taints L
			for i := range n {
				taints = append(taints, M{"key": fmt.Sprintf("a/t%d", i), "effect": "NoSchedule"})
			}
			return M{"devices": L{device(M{"taints": taints})}}
		}},
	} {
		found = append(found, fact{row.what, most(server, row.spec)})
	}
	if found[0].cell == absent {
		t.Fatalf("not even one device is taken: %s", answer(server, slicesResource, sliceOf(M{"devices": named(1, nil)})))
	}
	return found
}

// expressions that a DeviceClass may have.
func expressions(server *harness.APIServer) (found []fact) {
	classes := schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}
	for _, expression := range []string{
		`device.allowMultipleAllocations == true`,
		`device.attributes["a"].l.includes("x")`,
	} {
		class := &unstructured.Unstructured{Object: M{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
			"metadata": M{"name": "probe"}, "spec": M{"selectors": L{M{"cel": M{"expression": expression}}}}}}
		found = append(found, fact{"`" + expression + "`", answer(server, classes, class)})
	}
	return found
}

// heldBack is what a daemon finds out by probing, and what it offers of a card whose PF, VFs and macvlans all have policies.
func heldBack(t *testing.T) (found []fact) {
	lab := harness.NewLab(t, exposingPlane(t), card(2))
	vf := own(isVF, "", "sriov")
	vf["exposure"].(M)["additionalAttributes"] = M{"l": M{"strings": L{"x"}}}
	for kind, spec := range map[string]M{"pf": wholePF, "vf": vf, "macvlan": macvlans} {
		lab.Expose(kind, spec)
	}
	daemon := lab.Run()
	asked := []string{"counters", "consumable capacity", "list attributes"}
	taken := regexp.MustCompile(`API server feature (not )?supported feature="?(` + strings.Join(asked, "|") + `)\b`)
	said := map[string]string{}
	for deadline := harness.Limit(); len(said) < len(asked); time.Sleep(50 * time.Millisecond) {
		for _, match := range taken.FindAllStringSubmatch(daemon.Log(), -1) {
			said[match[2]] = map[string]string{"": "yes", "not ": "no"}[match[1]]
		}
		if time.Now().After(deadline) {
			t.Fatalf("the daemon has said only this of what the server takes: %v", said)
		}
	}
	for _, ability := range asked {
		found = append(found, fact{"found by probing: " + ability, said[ability]})
	}
	// Where nobody counts, nothing that excludes another is offered before claims have shown all of it free.
	vf0 := harness.VFAddress("0000:03:00.0", 0)
	for deadline := harness.Limit(); outcome(t, lab, vf0, "vf") != "yes" && time.Now().Before(deadline); {
		time.Sleep(500 * time.Millisecond)
	}
	for _, of := range [][2]string{{"0000:03:00.0", "pf"}, {"0000:03:00.0", "macvlan"}, {vf0, "vf"}} {
		found = append(found, fact{"offered: " + map[string]string{"pf": "a PF beside its VFs", "macvlan": "shares of a PF beside its VFs",
			"vf": "VFs"}[of[1]], outcome(t, lab, of[0], of[1])})
	}
	return found
}

// outcome is what explain says of a function under a policy.
func outcome(t *testing.T, lab *harness.Lab, function, kind string) string {
	out, said, code := lab.Command("explain", function, "-o", "json")
	var explanation struct {
		Personas []struct{ Policy, Outcome string }
	}
	if err := json.Unmarshal([]byte(out), &explanation); err != nil || code != 0 {
		t.Fatalf("explain: exit code %d, %v\n%s%s", code, err, out, said)
	}
	for _, persona := range explanation.Personas {
		if persona.Policy == kind+"-"+lab.Node {
			if persona.Outcome == "offered" {
				return "yes"
			}
			return "no: `" + persona.Outcome + "`"
		}
	}
	t.Fatalf("explain says nothing of %s as %s: %s", function, kind, out)
	return ""
}
