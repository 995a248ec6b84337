package cluster

import (
	"context"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sliced.test/cluster/harness"
)

// createExposure asks the API server, strictly and without storing it, to take a DeviceExposurePolicy.
func createExposure(spec M) (*unstructured.Unstructured, error) {
	return shared.Server.Dynamic.Resource(harness.Exposures).Create(context.Background(), harness.Exposure("x", spec),
		strictly)
}

func exposing(exposure M) M { return M{"selector": M{"cel": "true"}, "exposure": exposure} }

// Turns red when the CRD refuses what the daemon understands, or a default is another than the daemon's.
func TestExposureSchemaAcceptsValidObjects(t *testing.T) {
	t.Parallel()
	capacity := M{"c": M{"value": "64", "requestPolicy": M{"default": "2", "validRange": M{"min": "1", "max": "4", "step": "1"}}},
		"example.com/d": M{"value": int64(10), "requestPolicy": M{"validValues": L{"1", int64(2)}, "default": int64(2)}}}
	for name, spec := range map[string]M{
		"a selector alone": {"selector": M{"cel": "true"}},
		"an exclude":       {"selector": M{"cel": "true"}, "action": "exclude", "priority": int64(1000)},
		"a core node selector": {"selector": M{"cel": "true"}, "allowHostUse": true, "allowDefaultRoutes": "learned", "includeVirtual": true, "allow": L{},
			"nodeSelector": M{"nodeSelectorTerms": L{M{"matchFields": L{M{"key": "metadata.name", "operator": "In", "values": L{"n"}}}}}}},
		"everything": exposing(M{"deviceNameSuffix": "-macvlan", "exclusionGroup": "rx-handler", "allowMultipleAllocations": true,
			"capacity": capacity, "supportedCNIPlugins": L{M{"name": "macvlan", "exclusive": false,
				"consumePerAllocation": M{"c": int64(2), "dra.networking/c": "2", "example.com/d": "2"}}},
			"additionalAttributes": M{"a": "b", "i": M{"int": int64(5)}, "l": M{"strings": L{"a"}}}}),
		"shares that are not spelled out": exposing(M{"allowMultipleAllocations": true,
			"supportedCNIPlugins": L{M{"name": "macvlan", "consumePerAllocation": M{"shares": "1"}}}}),
		"readiness":                         {"selector": M{"cel": "true"}, "readiness": M{"require": L{"guid"}, "stableFor": "500ms", "onLoss": "withdraw", "onLinkDown": "taint", "taintEffect": "None", "holdBinding": true, "setAdminMac": true}},
		"a capacity of an exclusive device": exposing(M{"capacity": M{"bandwidth": M{"value": "100G"}}}),
	} {
		if _, err := createExposure(spec); err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
	stored, err := createExposure(exposing(M{}))
	if err != nil {
		t.Fatal(err)
	}
	want := M{"selector": M{"cel": "true"}, "action": "expose", "priority": int64(100),
		"exposure": M{"allowMultipleAllocations": false}}
	if got := stored.Object["spec"]; !reflect.DeepEqual(got, any(want)) {
		t.Errorf("defaults: %v, wanted %v", got, want)
	}
}

// Turns red when a wrong policy is stored, or is refused without saying where and what to write.
func TestExposureSchemaRefusesInvalidObjects(t *testing.T) {
	t.Parallel()
	with := func(more M) M {
		spec := exposing(M{})
		for key, value := range more {
			spec[key] = value
		}
		return spec
	}
	capacity := func(more M) M {
		return exposing(M{"allowMultipleAllocations": true, "capacity": M{"c": more}})
	}
	request := func(policy M) M { return capacity(M{"value": "8", "requestPolicy": policy}) }
	plugins := func(isShared bool, plugins ...any) M {
		return exposing(M{"allowMultipleAllocations": isShared, "supportedCNIPlugins": L(plugins)})
	}
	many := L{}
	for _, letter := range "abcdefghi" {
		many = append(many, M{"name": string(letter)})
	}
	for name, row := range map[string]struct {
		spec M
		said []string
	}{
		"no selector":       {M{"exposure": M{}}, []string{"spec.selector", "Required"}},
		"no expression":     {with(M{"selector": M{}}), []string{"spec.selector.cel", "Required"}},
		"long expression":   {with(M{"selector": M{"cel": strings.Repeat("a", 10241)}}), []string{"spec.selector.cel", "10240"}},
		"action":            {with(M{"action": "hide"}), []string{"spec.action", `"expose", "exclude"`}},
		"readiness":         {with(readied(M{"require": L{"adminMAC"}})), []string{"spec.readiness.require", `"adminMac"`}},
		"priority":          {with(M{"priority": int64(1001)}), []string{"spec.priority", "1000"}},
		"exclude, exposure": {with(M{"action": "exclude"}), []string{"action exclude offers none"}},
		"suffix":            {exposing(M{"deviceNameSuffix": "-Mac"}), []string{"spec.exposure.deviceNameSuffix", "[-a-z0-9]"}},
		"long suffix":       {exposing(M{"deviceNameSuffix": strings.Repeat("a", 33)}), []string{"deviceNameSuffix", "32"}},
		"group":             {exposing(M{"exclusionGroup": strings.Repeat("a", 58)}), []string{"exclusionGroup", "57"}},
		"capacity's name":   {exposing(M{"capacity": M{"a b": M{"value": "1"}}}), []string{"a capacity's name is IDENTIFIER"}},
		"reserved capacity": {exposing(M{"capacity": M{"resource.kubernetes.io/c": M{"value": "1"}}}),
			[]string{"not resource.kubernetes.io"}},
		"capacity's value": {capacity(M{"value": "many"}), []string{"spec.exposure.capacity.c.value", "should match"}},
		"no capacity":      {capacity(M{"value": "0"}), []string{"a capacity is more than 0"}},
		"default over it":  {request(M{"default": "9"}), []string{"requestPolicy.default is more than there is"}},
		"default below range": {request(M{"default": int64(1), "validRange": M{"min": "2"}}),
			[]string{"default is outside of validRange"}},
		"default above range": {request(M{"default": "1k", "validRange": M{"min": "1", "max": int64(4)}}),
			[]string{"default is outside of validRange"}},
		"default not valid": {request(M{"default": "3", "validValues": L{"1", int64(2)}}), []string{"not among validValues"}},
		"values and range": {request(M{"default": "1", "validValues": L{"1"}, "validRange": M{"min": "1"}}),
			[]string{"cannot both be set"}},
		"request of exclusive": {exposing(M{"capacity": M{"c": M{"value": "8", "requestPolicy": M{"default": "1"}}}}),
			[]string{"for shared devices", "allowMultipleAllocations: true"}},
		"consumption of exclusive": {plugins(false, M{"name": "a", "consumePerAllocation": M{"shares": "1"}}),
			[]string{"for shared devices", "allowMultipleAllocations: true"}},
		"consumption of nothing": {plugins(true, M{"name": "a", "consumePerAllocation": M{"c": "1"}}),
			[]string{"a capacity that this exposure does not have"}},
		"exclusive and shared": {plugins(true, M{"name": "a", "exclusive": true}, M{"name": "b", "exclusive": false}),
			[]string{"write two policies with the same selector", `"-exclusive"`, `"-shared"`}},
		"exclusive, but shared": {plugins(true, M{"name": "a", "exclusive": true}), []string{"need allowMultipleAllocations: false"}},
		"shared, but exclusive": {plugins(false, M{"name": "a", "exclusive": false}),
			[]string{"need allowMultipleAllocations: true"}},
		"plugin twice":  {plugins(false, M{"name": "a"}, M{"name": "a"}), []string{"Duplicate value"}},
		"plugin's name": {plugins(false, M{"name": "mac,vlan"}), []string{"supportedCNIPlugins[0].name", "should match"}},
		"many plugins":  {plugins(false, many...), []string{"supportedCNIPlugins", "at most 8"}},
		"node selector": {with(M{"nodeSelector": L{}}), []string{"spec.nodeSelector", "object"}},
	} {
		_, err := createExposure(row.spec)
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, fragment := range row.said {
			if !strings.Contains(err.Error(), fragment) {
				t.Errorf("%s: does not say %q: %v", name, fragment, err)
			}
		}
	}
}

// Turns red when a misspelt field is pruned on its way, so that the daemon takes the policy for a wider one.
func TestExposureSchemaKeepsTypos(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"actoin", "selector.cell", "nodeSelector.matchLabel", "exposure.allowMultipleAllocation",
		"exposure.capacity.c.requestPolcy", "exposure.capacity.c.requestPolicy.defalt",
		"exposure.capacity.c.requestPolicy.validRange.maximum", "exposure.additionalAttributes.a.strng"} {
		spec := M{"selector": M{"cel": "true"}, "nodeSelector": M{}, "exposure": M{"allowMultipleAllocations": true,
			"capacity":             M{"c": M{"value": "8", "requestPolicy": M{"default": "1", "validRange": M{"min": "1"}}}},
			"additionalAttributes": M{"a": M{"string": "b"}}}}
		keys := strings.Split(path, ".")
		if err := unstructured.SetNestedField(spec, "kept", keys...); err != nil {
			t.Fatal(err)
		}
		stored, err := createExposure(spec)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, _, _ := unstructured.NestedString(stored.Object, append([]string{"spec"}, keys...)...); got != "kept" {
			t.Errorf("%s was pruned: %v", path, stored.Object["spec"])
		}
	}
}
