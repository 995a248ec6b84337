package cluster

import (
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sliced.test/cluster/harness"
)

const (
	// Bounds on waiting, far below the sync interval (5 min) and far above what a busy machine takes. How soon a state is
	// reached is ./dev bench's to say, and the stepped tests'.
	starting = harness.Patience // for a daemon
	promptly = harness.Patience // for a consequence
	attr     = harness.Driver + "/"
)

var pf0, pf1 = harness.E810("03", "ens1f0", 4), harness.E810("04", "ens2f0", 2)

// vfs are the device names of VFs from..to-1 of a card.
func vfs(pf harness.PF, from, to int) []string { return harness.VFDevices(pf.Address, from, to) }

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// text is a string attribute; "" stands for one that is absent or of another type.
func text(d resource.Device, name string) string {
	if v := d.Attributes[resource.QualifiedName(name)].StringValue; v != nil {
		return *v
	}
	return ""
}

// all waits until every one of the names is offered with the attribute at that value.
func all(lab *harness.Lab, after int64, within time.Duration, name, value string, devices ...string) harness.PoolState {
	lab.T.Helper()
	return lab.History.Wait(lab.T, name+" = "+value, after, within, func(s harness.PoolState) bool {
		offered := s.Devices()
		for _, d := range devices {
			if device, there := offered[d]; !there || text(device, name) != value {
				return false
			}
		}
		return true
	})
}

// Turns red when any link of the main chain is broken: policy seen, devices decided, slice written, and
// written so that the real scheduler gives a VF of it to a pod.
func TestPolicyToPod(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Run()
	lab.History.WaitOffers(t, 0, starting)
	shared.Server.NewPod(t, lab.Namespace, "p", lab.Node, 2)
	shared.Server.Unschedulable(t, lab.Namespace, "p", harness.Patience)

	rv := lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0")))
	state := lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
	results := shared.Server.WaitScheduled(t, lab.Namespace, "p", harness.Patience)
	if len(results) != 2 || results[0].Device == results[1].Device {
		t.Fatalf("allocated %+v", results)
	}
	for _, r := range results {
		if r.Driver != harness.Driver || r.Pool != lab.Node || !slices.Contains(state.Names(), r.Device) {
			t.Errorf("allocated %+v", r)
		}
	}
}

// Turns red when a node without policies looks like a node without a driver, or offers something nobody asked
// for.
func TestNoPolicyPublishesAnEmptyPool(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Run()
	state := lab.History.WaitOffers(t, 0, starting)
	if len(state.Slices) != 1 || state.Generation() != 1 {
		t.Fatalf("%s", state)
	}
	form := regexp.MustCompile(`^[0-9a-f]{5}-` + regexp.QuoteMeta(harness.Driver+"-"+lab.Node) + `-[0-9a-z]+$`)
	for name, s := range state.Slices {
		if !form.MatchString(name) {
			t.Errorf("slice name %s", name)
		}
		if s.Spec.Pool.Name != lab.Node || s.Spec.NodeName == nil || *s.Spec.NodeName != lab.Node ||
			s.Spec.Driver != harness.Driver {
			t.Errorf("slice spec %+v", s.Spec)
		}
		if o := s.OwnerReferences; len(o) != 1 || o[0].Kind != "Node" || o[0].Name != lab.Node ||
			string(o[0].UID) != lab.NodeUID {
			t.Errorf("owner %+v", o)
		}
	}
}

// Turns red when an attribute that users of today's driver select by is missing, renamed, or of another type.
func TestAttributesMatchTheCurrentDriver(t *testing.T) {
	t.Parallel()
	pf := harness.E810("03", "ens1f0", 1)
	pf.Numa = 1
	lab := harness.NewLab(t, shared, pf)
	lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0")))
	lab.Run()
	device := lab.History.WaitOffers(t, 0, starting, "0000-03-00-2").Devices()["0000-03-00-2"]
	got, err := json.Marshal(device.Attributes)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		attr + "vendor": `{"string":"8086"}`, attr + "deviceID": `{"string":"1889"}`, attr + "pfDeviceID": `{"string":"1593"}`,
		attr + "pciAddress": `{"string":"0000:03:00.2"}`, attr + "pfPciAddress": `{"string":"0000:03:00.0"}`,
		attr + "PFName": `{"string":"ens1f0"}`, attr + "EswitchMode": `{"string":"legacy"}`, attr + "vfID": `{"int":0}`,
		attr + "linkType": `{"string":"ethernet"}`, attr + "rdmaCapable": `{"bool":false}`,
		attr + "driver":       `{"string":"iavf"}`,
		attr + "resourceName": `{"string":"intel"}`, "k8s.cni.cncf.io/deviceID": `{"string":"0000:03:00.2"}`,
		"dra.net/numaNode": `{"int":1}`, "resource.kubernetes.io/numaNode": `{"int":1}`,
		"resource.kubernetes.io/pciBusID": `{"string":"0000:03:00.2"}`,
		"resource.kubernetes.io/pcieRoot": `{"string":"pci0000:00"}`,
	} {
		value, _ := json.Marshal(device.Attributes[resource.QualifiedName(name)])
		if string(value) != want {
			t.Errorf("%s is %s, want %s", name, value, want)
		}
	}
	if t.Failed() {
		t.Logf("published: %s", got)
	}
}

// Turns red when an edit, a deletion or a re-creation of a policy is missed, late, or leaves something
// behind.
func TestPolicyLifecycle(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Run()
	lab.History.WaitOffers(t, 0, starting)
	only0 := harness.Config("", harness.PFNames("ens1f0"))
	rv := lab.Apply("p", only0)
	lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
	rv = lab.Apply("p", harness.Config("", harness.PFNames("ens1f0", "ens2f0")))
	lab.History.WaitOffers(t, rv, promptly, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2))...)
	rv = lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#1-2")))
	lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 1, 3)...)
	rv = shared.Server.Delete(t, harness.Policies, lab.Namespace, "p")
	lab.History.WaitOffers(t, rv, promptly)
	rv = lab.Apply("p", only0)
	lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
}

// Turns red when a narrowed or deleted policy keeps offering, which is the one mistake that gives away
// hardware, or when it takes more than the one write.
func TestNarrowingWithdrawsInOneWrite(t *testing.T) {
	t.Parallel()
	other := harness.E810("05", "ens3f0", 1)
	lab := harness.NewLab(t, shared, pf0, pf1, other)
	lab.Apply("other", harness.Config("before", harness.PFNames("ens3f0")))
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0", "ens2f0")))
	lab.Run()
	lab.History.WaitOffers(t, 0, starting, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2), vfs(other, 0, 1))...)
	reaction := func(what string, edit func() int64, want ...string) {
		t.Helper()
		before := time.Now()
		rv := edit()
		lab.History.WaitOffers(t, rv, promptly, append(vfs(other, 0, 1), want...)...)
		// A second write comes before the consequence of a later edit, which is one write, too.
		rv = lab.Apply("other", harness.Config(what, harness.PFNames("ens3f0")))
		shared.Server.Audit.AwaitSlices(t, all(lab, rv, promptly, attr+"resourceName", what, vfs(other, 0, 1)...))
		writes := shared.Server.Audit.Writes(t, lab.User, before)
		if len(writes) != 2 {
			t.Fatalf("%s, and an edit of another policy, wrote, want one write each:\n%s", what, describe(writes))
		}
	}
	only1 := harness.Config("", harness.PFNames("ens2f0"))
	reaction("narrowed", func() int64 { return lab.Apply("p", only1) }, vfs(pf1, 0, 2)...)
	reaction("deleted", func() int64 { return shared.Server.Delete(t, harness.Policies, lab.Namespace, "p") })
}

func label(t *testing.T, lab *harness.Lab, patch string) int64 {
	t.Helper()
	rv := shared.Server.Revision(t)
	_, err := shared.Server.Client.CoreV1().Nodes().Patch(context.Background(), lab.Node, types.MergePatchType,
		[]byte(`{"metadata":{"labels":`+patch+`}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rv
}

// Turns red when a node that is labelled out of a policy keeps its devices, or one labelled in does not get
// them, in any of the three forms a node selector can have.
func TestNodeRelabel(t *testing.T) {
	t.Parallel()
	forms := map[string]M{
		"map":         {"net": "fast"},
		"matchLabels": {"matchLabels": M{"net": "fast"}},
		"terms": {"nodeSelectorTerms": L{M{"matchExpressions": L{
			M{"key": "net", "operator": "In", "values": L{"fast"}}}}}},
	}
	for form, selector := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			lab := harness.NewLab(t, shared, pf0)
			policy := harness.Policy(lab.Namespace, "p", harness.Config("", harness.PFNames("ens1f0")))
			policy.Object["spec"].(M)["nodeSelector"] = selector
			shared.Server.Apply(t, harness.Policies, policy)
			lab.Run()
			lab.History.WaitOffers(t, 0, starting)
			rv := label(t, lab, `{"net":"fast"}`)
			lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
			unrelated := label(t, lab, `{"other":"x"}`)
			rv = label(t, lab, `{"net":"slow"}`)
			lab.History.WaitOffers(t, rv, promptly)
			for _, s := range lab.History.States(t, unrelated) {
				if s.RV > unrelated && s.RV < rv {
					t.Errorf("an unrelated label led to a write: %s", s)
				}
			}
			rv = label(t, lab, `{"net":"fast"}`)
			lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
			rv = label(t, lab, `{"net":null}`)
			lab.History.WaitOffers(t, rv, promptly)
		})
	}
}

// Turns red when two policies that match one VF are resolved by accident: name order, priority and what is
// left after one goes are each fixed, and a VF never disappears between owners.
func TestOverlappingPolicies(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	owner := attr + "resourceName"
	lab.Apply("b", harness.Config("b", harness.PFNames("ens1f0")))
	lab.Apply("a", harness.Config("a", harness.PFNames("ens1f0")))
	lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	first := shared.Server.Revision(t)
	for name, d := range lab.History.Now().Devices() {
		if text(d, owner) != "a" {
			t.Errorf("%s belongs to %q, want a (first by name)", name, text(d, owner))
		}
	}
	strong := harness.Policy(lab.Namespace, "b", harness.Config("b", harness.PFNames("ens1f0")))
	strong.Object["spec"].(M)["priority"] = int64(10)
	all(lab, shared.Server.Apply(t, harness.Policies, strong), promptly, owner, "b", vfs(pf0, 0, 4)...)
	strong = harness.Policy(lab.Namespace, "b", harness.Config("b", harness.PFNames("ens1f0#2-3")))
	strong.Object["spec"].(M)["priority"] = int64(10)
	state := all(lab, shared.Server.Apply(t, harness.Policies, strong), promptly, owner, "a", vfs(pf0, 0, 2)...)
	if got := text(state.Devices()[vfs(pf0, 2, 3)[0]], owner); got != "b" {
		t.Errorf("VF 2 belongs to %q, want b", got)
	}
	all(lab, shared.Server.Delete(t, harness.Policies, lab.Namespace, "b"), promptly, owner, "a", vfs(pf0, 0, 4)...)
	lab.History.NeverBelow(t, first, vfs(pf0, 0, 4)...)
}

// Turns red when attributes that an administrator gives are not published, or not updated and withdrawn with
// their object.
func TestDeviceAttributesEdit(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	attributes := func(rack string) int64 {
		object := harness.Object(harness.Attributes, "DeviceAttributes", lab.Namespace, "racks",
			M{"attributes": M{"example.com/rack": M{"string": rack}, "example.com/slot": M{"int": int64(7)}}})
		object.SetLabels(map[string]string{"pool": "x"})
		return shared.Server.Apply(t, harness.Attributes, object)
	}
	config := harness.Config("", harness.PFNames("ens1f0"))
	config["deviceAttributesSelector"] = M{"matchLabels": M{"pool": "x"}}
	lab.Apply("p", config)
	lab.Run()
	first := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...).RV
	state := all(lab, attributes("r1"), promptly, "example.com/rack", "r1", vfs(pf0, 0, 4)...)
	if slot := state.Devices()["0000-03-00-2"].Attributes["example.com/slot"].IntValue; slot == nil || *slot != 7 {
		t.Errorf("example.com/slot is %v", slot)
	}
	all(lab, attributes("r2"), promptly, "example.com/rack", "r2", vfs(pf0, 0, 4)...)
	rv := shared.Server.Delete(t, harness.Attributes, lab.Namespace, "racks")
	all(lab, rv, promptly, "example.com/rack", "", vfs(pf0, 0, 4)...)
	lab.History.NeverBelow(t, first, vfs(pf0, 0, 4)...)
}

// Turns red when a misspelt filter is ignored and so matches more than its author meant; the other policies
// go on.
func TestTypoInAFilterOffersNothing(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Apply("good", harness.Config("", harness.PFNames("ens2f0")))
	lab.Apply("typo", harness.Config("", M{"vendors": L{"8086"}, "pfName": L{"ens9"}}))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf1, 0, 2)...)
	rv := lab.Apply("typo", harness.Config("", harness.PFNames("ens1f0")))
	lab.History.WaitOffers(t, rv, promptly, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2))...)
	rv = lab.Apply("typo", harness.Config("", M{"pfNames": L{"ens1f0"}, "numaNode": L{"3"}}))
	lab.History.WaitOffers(t, rv, promptly, vfs(pf1, 0, 2)...)
	daemon.WaitLog(promptly, "numaNode", "typo") // the field and the policy
}

// Turns red when a withdrawal disturbs what runs: an allocation stays as it is, only new pods find nothing.
func TestPodKeepsItsAllocation(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	shared.Server.NewPod(t, lab.Namespace, "old", lab.Node, 1)
	before := shared.Server.WaitScheduled(t, lab.Namespace, "old", harness.Patience)
	rv := shared.Server.Delete(t, harness.Policies, lab.Namespace, "p")
	lab.History.WaitOffers(t, rv, promptly)
	shared.Server.NewPod(t, lab.Namespace, "new", lab.Node, 1)
	shared.Server.Unschedulable(t, lab.Namespace, "new", harness.Patience)
	claim := shared.Server.Claim(t, lab.Namespace, "old")
	if claim == nil || claim.Status.Allocation == nil ||
		claim.Status.Allocation.Devices.Results[0].Device != before[0].Device {
		t.Fatalf("the claim is now %+v", claim)
	}
}

// peersCRDs are today's CRDs of dra-driver-sriov as far as they matter: what they do not know is pruned
// without a word, and nothing is validated.
func peersCRDs() []*unstructured.Unstructured {
	text := M{"type": "string"}
	texts := M{"type": "array", "items": text}
	open := M{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	filters := M{"linkType": text}
	for _, f := range []string{"vendors", "devices", "pciAddresses", "pfNames", "drivers", "pfPciAddresses"} {
		filters[f] = texts
	}
	config := M{"type": "object", "properties": M{"deviceAttributesSelector": open,
		"resourceFilters": M{"type": "array", "items": M{"type": "object", "properties": filters}}}}
	value := M{"type": "object", "properties": M{"bool": M{"type": "boolean"},
		"int": M{"type": "integer", "format": "int64"}, "string": text, "version": text}}
	return []*unstructured.Unstructured{
		harness.LooseCRD("SriovResourcePolicy", "sriovresourcepolicies", M{"type": "object", "properties": M{
			"nodeSelector": open, "configs": M{"type": "array", "items": config}}}),
		harness.LooseCRD("DeviceAttributes", "deviceattributes", M{"type": "object", "properties": M{
			"attributes": M{"type": "object", "additionalProperties": value}}}),
	}
}

// Turns red when one attribute that the API server refuses takes the node's other devices down with it, or
// when the peer's own CRDs (no validation, our fields pruned) do not do.
func TestRefusedAttributeUnderThePeersCRDs(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{NoCRDs: true})
	reports, err := harness.ReadYAML("../../config/crd/nodedevicereports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := plane.Server.InstallCRDs(append(peersCRDs(), reports...)); err != nil {
		t.Fatal(err)
	}
	lab := harness.NewLab(t, plane, pf0, pf1)
	lab.Reports = true
	object := harness.Object(harness.Attributes, "DeviceAttributes", lab.Namespace, "long", M{"attributes": M{
		"example.com/good": M{"string": "yes"}, "example.com/long": M{"string": strings.Repeat("x", 100)},
		"example.com/odd": M{"version": "not a version"}}})
	object.SetLabels(map[string]string{"pool": "x"})
	plane.Server.Apply(t, harness.Attributes, object)
	bad := harness.Config("", harness.PFNames("ens1f0"))
	bad["deviceAttributesSelector"] = M{"matchLabels": M{"pool": "x"}}
	lab.Apply("bad", bad)
	lab.Apply("good", harness.Config("", harness.PFNames("ens2f0")))
	daemon := lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2))...)
	device := state.Devices()[vfs(pf0, 0, 1)[0]]
	if text(device, "example.com/good") != "yes" || text(device, "example.com/long") != "" {
		t.Errorf("attributes %+v", device.Attributes)
	}
	if _, there := device.Attributes["example.com/odd"]; there {
		t.Errorf("a version that is none was published: %+v", device.Attributes)
	}
	// What is refused, and what the served CRD prunes.
	daemon.WaitLog(harness.Patience, "example.com/long", "example.com/odd", "numaNodes", "resourceName", "priority",
		"until then set --vf-settings none in place of spec.allow and --readiness in place of spec.readiness")
	waitReport(t, lab, "the fields that are dropped", func(r *nodeReport) bool {
		return strings.HasPrefix(r.Status.DroppedFields, "SriovResourcePolicy: spec.priority, spec.allowHostUse, spec.allowDefaultRoutes, spec.allow, ")
	})
	out, _ := exec.Command(harness.Program(t), "validate", "--cluster", "kubeconfig:"+plane.Server.AdminKubeconfig(t, lab.Namespace)).CombinedOutput()
	if !strings.Contains(string(out), "the CRD of sriovresourcepolicies that is installed has no spec.priority, ") ||
		strings.Contains(string(out), "the CRD of deviceattributes") {
		t.Errorf("validate --cluster:\n%s", out)
	}
}
