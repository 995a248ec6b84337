package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sliced.test/cluster/harness"
)

// M and L are JSON objects and lists.
type (
	M = harness.M
	L = harness.L
)

var strictly = metav1.CreateOptions{DryRun: []string{"All"}, FieldValidation: "Strict"}

// resourceOf is where objects of the kinds that this project's files hold are stored.
func resourceOf(t *testing.T, object *unstructured.Unstructured) schema.GroupVersionResource {
	t.Helper()
	plural, known := map[string]string{"SriovResourcePolicy": "sriovresourcepolicies", "DeviceAttributes": "deviceattributes",
		"DeviceExposurePolicy": "deviceexposurepolicies", "Node": "nodes", "DeviceClass": "deviceclasses", "ResourceClaimTemplate": "resourceclaimtemplates", "Pod": "pods", "ConfigMap": "configmaps",
		"ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
		"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
		"DaemonSet":                        "daemonsets",
		"ClusterRole":                      "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
		"Role": "roles", "RoleBinding": "rolebindings",
		"ServiceAccount": "serviceaccounts", "Namespace": "namespaces"}[object.GetKind()]
	if !known {
		t.Fatalf("no test knows the kind %s", object.GetKind())
	}
	return object.GroupVersionKind().GroupVersion().WithResource(plural)
}

// acceptStrictly has the API server look at each object as if it were created.
func acceptStrictly(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	ctx := context.Background()
	for _, object := range objects {
		kind := object.GetKind()
		if group := object.GroupVersionKind().Group; group == "sriovnetwork.openshift.io" || group == networks.Group {
			continue // another project's, which `migrate` and the kubelet plugin read
		}
		if object.GetNamespace() == "" && (kind == "Pod" || kind == "ResourceClaimTemplate" || kind == "SriovResourcePolicy") {
			object.SetNamespace("default") // as kubectl does where a document says it to
		}
		if ns := object.GetNamespace(); ns != "" {
			home := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
			_, err := shared.Server.Client.CoreV1().Namespaces().Create(ctx, home, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
		}
		resource := shared.Server.Dynamic.Resource(resourceOf(t, object)).Namespace(object.GetNamespace())
		if _, err := resource.Create(ctx, object, strictly); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// Turns red when an example that users are to copy is refused, or has a field that is dropped without a word.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"../../config/examples/*.yaml", "../../config/examples/*/*.yaml"} {
		objects, err := harness.ReadYAML(pattern)
		if err != nil || len(objects) == 0 {
			t.Fatalf("%s: %d objects, %v", pattern, len(objects), err)
		}
		acceptStrictly(t, objects)
	}
}

func readied(readiness M) M { return M{"readiness": readiness} }

// Turns red when our CRDs refuse what users of today's driver have, let nonsense in, or prune what they do
// not know.
func TestSchemas(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := shared.Server
	server.NewNamespace(t, "schemas")
	create := func(gvr schema.GroupVersionResource, kind string, spec M) (*unstructured.Unstructured, error) {
		object := harness.Object(gvr, kind, "schemas", "x", spec)
		return server.Dynamic.Resource(gvr).Namespace("schemas").Create(ctx, object, strictly)
	}
	policy := func(spec M) (*unstructured.Unstructured, error) {
		return create(harness.Policies, "SriovResourcePolicy", spec)
	}
	filter := func(f M) M { return M{"configs": L{M{"resourceFilters": L{f}}}} }
	terms := M{"nodeSelectorTerms": L{M{"matchExpressions": L{M{"key": "a", "operator": "Gt", "values": L{"1"}}},
		"matchFields": L{M{"key": "metadata.name", "operator": "In", "values": L{"n"}}}}}}
	for name, spec := range map[string]M{
		"empty": {},
		"dra-driver-sriov's": {"nodeSelector": terms, "configs": L{M{
			"deviceAttributesSelector": M{"matchLabels": M{"a": "b"}},
			"resourceFilters":          L{M{"vendors": L{"8086"}, "pfPciAddresses": L{"0000:03:00.0"}, "linkType": "eth"}}}}},
		"the older form": {"nodeSelector": M{"a": "b"},
			"configs": L{M{"resourceName": "x", "resourceFilters": L{M{"numaNodes": L{"0"}}}}}},
		"readiness":                readied(M{"require": L{"driverBound", "netdev", "adminMac", "adminMacMatches", "guid", "udevInitialized", "nodeState", "carrier"}, "mtuAtLeast": int64(9000), "stableFor": "1m2s", "onLoss": "taint", "onLinkDown": "keep", "taintEffect": "NoExecute", "holdBinding": true, "setAdminMac": true}),
		"readiness of nothing":     readied(M{"require": L{}, "mtuAtLeast": int64(0), "stableFor": "0s"}),
		"misspelt (kept)":          readied(M{"requires": L{"adminMac"}}),
		"no filters":               {"configs": L{M{"resourceName": "x"}}},
		"a range":                  filter(M{"pfNames": L{"ens1f0#0-3,7"}}),
		"a wide domain":            filter(M{"pciAddresses": L{"10000:03:00.1"}}),
		"numa as number":           filter(M{"numaNodes": L{int64(1)}}),
		"a misspelt filter (kept)": filter(M{"pfName": L{"ens1f0"}}),
	} {
		if _, err := policy(spec); err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
	for name, spec := range map[string]M{
		"linkType":       filter(M{"linkType": "token-ring"}),
		"vendor":         filter(M{"vendors": L{"intel"}}),
		"list of number": filter(M{"pfNames": L{int64(1)}}),
		"range":          filter(M{"pfNames": L{"ens1f0#a-b"}}),
		"configs":        {"configs": M{}},
		"priority":       {"priority": "high"},
		"condition":      readied(M{"require": L{"mtuAtLeast"}}),
		"MTU":            readied(M{"mtuAtLeast": int64(-1)}),
		"stableFor":      readied(M{"stableFor": "two seconds"}),
		"onLoss":         readied(M{"onLoss": "withdrawn"}),
		"onLinkDown":     readied(M{"onLinkDown": "NoSchedule"}),
		"taintEffect":    readied(M{"taintEffect": "PreferNoSchedule"}),
		"setAdminMac":    readied(M{"setAdminMac": "yes"}),
	} {
		if _, err := policy(spec); !apierrors.IsInvalid(err) {
			t.Errorf("bad %s: %v", name, err)
		}
	}
	stored, err := policy(filter(M{"pfName": L{"ens1f0"}}))
	if err != nil {
		t.Fatal(err)
	}
	configs, _, _ := unstructured.NestedSlice(stored.Object, "spec", "configs")
	kept := configs[0].(M)["resourceFilters"].(L)[0].(M)
	if _, there := kept["pfName"]; !there {
		t.Errorf("the misspelt filter was pruned into a filter that matches everything: %v", stored.Object["spec"])
	}
	attribute := func(name string, value M) error {
		_, err := create(harness.Attributes, "DeviceAttributes", M{"attributes": M{name: value}})
		return err
	}
	for name, value := range map[string]M{"long": {"string": strings.Repeat("x", 65)}, "version": {"version": "v1.0"},
		"two": {"string": "a", "int": int64(1)}, "none": {}} {
		if err := attribute("example.com/a", value); !apierrors.IsInvalid(err) {
			t.Errorf("bad attribute %s: %v", name, err)
		}
	}
	if err := attribute("no such/name", M{"int": int64(1)}); !apierrors.IsInvalid(err) {
		t.Errorf("bad attribute name: %v", err)
	}
}

// Turns red when the optional admission policies refuse a good object or let a misspelt field through
// unnamed.
func TestAdmissionNamesUnknownFields(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	plane := harness.NewPlane(t, harness.Options{})
	plane.Server.NewNamespace(t, "admission")
	objects, err := harness.ReadYAML("../../config/crd/refuse-unknown-fields.yaml")
	if err != nil || len(objects) == 0 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	for _, object := range objects {
		_, err := plane.Server.Dynamic.Resource(resourceOf(t, object)).Create(ctx, object,
			metav1.CreateOptions{FieldValidation: "Strict"})
		if err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	create := func(object *unstructured.Unstructured) error {
		_, err := plane.Server.Dynamic.Resource(resourceOf(t, object)).Namespace(object.GetNamespace()).Create(ctx, object,
			strictly)
		return err
	}
	policy := func(spec M) *unstructured.Unstructured {
		return harness.Object(harness.Policies, "SriovResourcePolicy", "admission", "x", spec)
	}
	attributes := func(spec M) *unstructured.Unstructured {
		return harness.Object(harness.Attributes, "DeviceAttributes", "admission", "x", spec)
	}
	exposure := func(exposure M) *unstructured.Unstructured {
		return harness.Exposure("x", M{"selector": M{"cel": "true"}, "exposure": exposure})
	}
	shared := func(capacity M) *unstructured.Unstructured {
		return exposure(M{"allowMultipleAllocations": true, "capacity": M{"c": capacity}})
	}
	bad := map[string]*unstructured.Unstructured{
		"nodeselector": policy(M{"nodeselector": M{}}),
		"resourcename": policy(M{"configs": L{M{"resourcename": "x"}}}),
		"pfName":       policy(M{"configs": L{M{"resourceFilters": L{M{"vendors": L{"8086"}}, M{"pfName": L{"ens1f0"}}}}}}),
		"requires":     policy(readied(M{"requires": L{"adminMac"}})),
		"mtu":          harness.Exposure("x", M{"selector": M{"cel": "true"}, "readiness": M{"mtu": int64(9000)}}),
		"text":         attributes(M{"attributes": M{"a": M{"text": "b"}}}),
		"attribute":    attributes(M{"attribute": M{}}),
		"priorty":      harness.Exposure("x", M{"selector": M{"cel": "true"}, "priorty": int64(1)}),
		"cel":          harness.Exposure("x", M{"selector": M{"cel": "true", "cell": "x"}}),
		"nameSuffix":   exposure(M{"nameSuffix": "-a"}),
		"amount":       shared(M{"value": "1", "amount": "1"}),
		"fallback":     shared(M{"value": "1", "requestPolicy": M{"fallback": "1"}}),
		"min, max":     shared(M{"value": "1", "requestPolicy": M{"validRange": M{"min": "1", "maximum": "1"}}}),
		"exclusiv":     exposure(M{"supportedCNIPlugins": L{M{"name": "sriov"}, M{"name": "b", "exclusiv": true}}}),
	}
	// A new admission policy takes a moment until it is enforced: the first refusal shows that it is.
	deadline := harness.Limit()
	for ; create(bad["nodeselector"]) == nil || create(bad["attribute"]) == nil || create(bad["priorty"]) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is refused")
		}
	}
	for field, object := range bad {
		if err := create(object); err == nil || field != "attribute" && !strings.Contains(err.Error(), field) {
			t.Errorf("unknown field %s: %v", field, err)
		}
	}
	good := []*unstructured.Unstructured{
		policy(M{}),
		policy(M{"configs": L{M{"resourceName": "x"}, M{"resourceFilters": L{M{"pfNames": L{"ens1f0"}, "linkType": "ib"}}}}}),
		policy(M{"priority": int64(3), "allowHostUse": true, "allowDefaultRoutes": "all", "allow": L{"vlan", "pkey"}, "nodeSelector": M{"a": "b"}}),
		policy(readied(M{"require": L{"adminMac"}, "mtuAtLeast": int64(9000), "stableFor": "2s", "onLoss": "keep", "onLinkDown": "taint", "taintEffect": "None", "holdBinding": false, "setAdminMac": false})),
		attributes(M{"attributes": M{"a": M{"int": int64(1)}, "b": M{"bool": true}}}),
		attributes(M{}),
		harness.Exposure("x", M{"selector": M{"cel": "true"}, "action": "exclude", "nodeSelector": M{"a": "b"}}),
		exposure(M{"supportedCNIPlugins": L{M{"name": "sriov", "exclusive": true}}, "additionalAttributes": M{"a": "b"}}),
		shared(M{"value": "8", "requestPolicy": M{"default": "1", "validRange": M{"min": "1", "max": "2"}}}),
	}
	for _, object := range good {
		if err := create(object); err != nil {
			t.Errorf("%v: %v", object.Object["spec"], err)
		}
	}
}
