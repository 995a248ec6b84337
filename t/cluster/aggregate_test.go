package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

// summing is by when a status follows what nodes report: their own time, and 11 s.
const summing = harness.Patience

// aggregator is a `sliced-controller aggregate`, and where its health is told.
type aggregator struct {
	*harness.Process
	address string
}

// summer gives the configuration of a user with the rights that the chart gives aggregate, and no more.
func summer(t *testing.T, lab *harness.Lab) string {
	t.Helper()
	ctx := context.Background()
	user := lab.NewUser()
	client := lab.Server.Client.RbacV1()
	role := &rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "aggregate-" + lab.Node}, Rules: []rbac.PolicyRule{
		{APIGroups: []string{"networking.dra.io"}, Resources: []string{"nodedevicereports", "deviceexposurepolicies"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"networking.dra.io"}, Resources: []string{"deviceexposurepolicies/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{harness.Driver}, Resources: []string{"sriovresourcepolicies"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{harness.Driver}, Resources: []string{"sriovresourcepolicies/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "create", "update"}},
		{APIGroups: []string{"networking.dra.io"}, Resources: []string{"nodedevicereports"}, Verbs: []string{"patch"}},
	}}
	if _, err := client.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.Server.Bind(t, "", role.Name, user)
	return lab.Kubeconfig(t, lab.Server.URL, &api.AuthInfo{Token: user.Token})
}

// aggregate starts one for a namespace. Its log is shown where the test fails.
func aggregate(t *testing.T, config, namespace, name string) *aggregator {
	t.Helper()
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	a := &aggregator{address: fmt.Sprintf("127.0.0.1:%d", port)}
	a.Process, err = harness.StartProcess("sliced-controller", filepath.Join(t.TempDir(), name+".log"), harness.Controller(t), "aggregate",
		"--cluster", "kubeconfig:"+config, "--namespace", namespace, "--pod-name", name, "--health-address", a.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, a.LogTail(40))
		}
	})
	return a
}

// counts is the value of a sample on its page /metrics, named with its labels; -1: it is not told.
func (a *aggregator) counts(t *testing.T, sample string) float64 {
	return sampleAt(t, a.address, sample)
}

// isElected says whether it is the one that sums up.
func (a *aggregator) isElected(t *testing.T) bool {
	return a.counts(t, "sliced_aggregate_elected") == 1
}

// hasLooked says whether it has summed up what nodes report, and has nothing to write. Before it was elected it had not.
func (a *aggregator) hasLooked(t *testing.T) bool {
	return a.isElected(t) && a.counts(t, "sliced_aggregate_sums_total") >= 1 && a.counts(t, "sliced_aggregate_pending") == 0
}

// policyStatus is .status of a policy: numbers, and each condition as "Type=Status: message".
func policyStatus(t *testing.T, lab *harness.Lab, gvr schema.GroupVersionResource, name string) (map[string]any, string) {
	t.Helper()
	client := lab.Server.Dynamic.Resource(gvr)
	namespaced := func() (*unstructured.Unstructured, error) {
		if gvr == harness.Policies {
			return client.Namespace(lab.Namespace).Get(context.Background(), name, metav1.GetOptions{})
		}
		return client.Get(context.Background(), name, metav1.GetOptions{})
	}
	object, err := namespaced()
	if err != nil {
		t.Fatal(err)
	}
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	text := ""
	for _, one := range conditions {
		c := one.(map[string]any)
		text += fmt.Sprintf("%s=%s: %s\n", c["type"], c["status"], c["message"])
	}
	return status, text
}

func waitStatus(t *testing.T, lab *harness.Lab, gvr schema.GroupVersionResource, name, what string, holds func(map[string]any, string) bool) {
	t.Helper()
	for deadline := harness.Limit(); ; time.Sleep(200 * time.Millisecond) {
		status, conditions := policyStatus(t, lab, gvr, name)
		if holds(status, conditions) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited until the limit of the test program for a status with %s; the last is %v\n%s", name, what, status, conditions)
		}
	}
}

// printedCells gives the row that kubectl get -o wide prints of a SriovResourcePolicy, by column.
func printedCells(t *testing.T, lab *harness.Lab, name string) map[string]any {
	t.Helper()
	text, err := lab.Server.Client.Discovery().RESTClient().Get().
		AbsPath("/apis/"+harness.Policies.Group+"/"+harness.Policies.Version+"/namespaces/"+lab.Namespace+"/"+harness.Policies.Resource+"/"+name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	out := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		out[column.Name] = table.Rows[0].Cells[i]
	}
	return out
}

func is(status map[string]any, key string, number int64) bool { return status[key] == number }

// patchStatus changes .status of a policy as somebody else.
func patchStatus(t *testing.T, lab *harness.Lab, name, status string) {
	t.Helper()
	_, err := lab.Server.Dynamic.Resource(harness.Policies).Namespace(lab.Namespace).Patch(context.Background(), name, types.MergePatchType,
		[]byte(`{"status":`+status+`}`), metav1.PatchOptions{FieldManager: "somebody"}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// Turns red when a status tells otherwise than the nodes, when two write, when nobody takes over from one that is killed, or when
// a successor writes what stands; when one of them is not ready that does what it is there for, or does not count it; when what others have
// written into a status goes; or when an older one overwrites at once what a newer one has written.
func TestOneOfTwoAggregatorsSumsUpReports(t *testing.T) {
	t.Parallel()
	lab, other := harness.NewLab(t, shared, pf0), harness.NewLab(t, shared, pf1)
	other.Namespace = lab.Namespace // obeys the same policies
	lab.Server.Bind(t, lab.Namespace, "sliced-policies", other.User)
	lab.Reports, other.Reports = true, true
	lab.Apply("p", harness.Config(""))
	lab.Apply("q", harness.Config("other"))
	lab.Apply("broken", M{"nonsense": L{}})
	patchStatus(t, lab, "p", `{"conditions":[{"type":"Approved","status":"True","reason":"Looked","message":"by hand"}]}`)
	lab.Run()
	other.Run()
	config := summer(t, lab)
	both := [2]*aggregator{aggregate(t, config, lab.Namespace, "aggregate-0"), aggregate(t, config, lab.Namespace, "aggregate-1")}
	waitStatus(t, lab, harness.Policies, "p", "two nodes and all VFs", func(s map[string]any, conditions string) bool {
		return is(s, "nodesSelected", 2) && is(s, "nodesCurrent", 2) && is(s, "devicesOffered", 6) && is(s, "observedGeneration", 1) &&
			strings.Contains(conditions, "Accepted=True") && strings.Contains(conditions, "NotUsedAsWritten=False")
	})
	waitStatus(t, lab, harness.Policies, "q", "who has what it matches too", func(s map[string]any, conditions string) bool {
		return is(s, "devicesMatched", 0) && strings.Contains(conditions, "Conflict=True: 6 devices on 2 nodes, first ") &&
			strings.Contains(conditions, "policy "+lab.Namespace+"/p has precedence")
	})
	waitStatus(t, lab, harness.Policies, "broken", "its problem", func(s map[string]any, conditions string) bool {
		return strings.Contains(conditions, "Accepted=False") && strings.Contains(conditions, "on 2 nodes") &&
			strings.Contains(conditions, "nonsense")
	})
	if cells := printedCells(t, lab, "broken"); cells["Accepted"] != "False" || !strings.Contains(fmt.Sprint(cells["Reason"]), "nonsense") {
		t.Errorf("kubectl get prints %v of a policy that no node can use", cells)
	}
	if cells := printedCells(t, lab, "p"); cells["Accepted"] != "True" {
		t.Errorf("kubectl get prints %v of a policy that is used", cells)
	}
	first := 0
	if both[1].isElected(t) {
		first = 1
	}
	if both[1-first].isElected(t) {
		t.Fatal("both are elected")
	}
	for i, one := range both {
		readyWithin(t, one.address, http.StatusOK, starting)
		code, metrics := page(t, one.address, "/metrics")
		for _, line := range map[bool][]string{true: {"sliced_aggregate_elected 1", "sliced_aggregate_reports ", `sliced_aggregate_policies{kind="SriovResourcePolicy"} 3`},
			false: {"sliced_aggregate_elected 0", "sliced_aggregate_reports 0"}}[i == first] {
			if code != http.StatusOK || !strings.Contains(metrics, line) {
				t.Errorf("aggregate-%d does not count %q: %d\n%s", i, line, code, metrics)
			}
		}
	}
	settled, _ := policyStatus(t, lab, harness.Policies, "p")
	both[first].Kill()
	successor := both[1-first]
	waitUntil(t, "the other is elected, and has summed up", harness.Patience, func() bool { return successor.hasLooked(t) })
	if n := successor.counts(t, `sliced_aggregate_writes_total{result="succeeded"}`); n != 0 {
		t.Errorf("the successor has written %v statuses that stood", n)
	}
	if now, _ := policyStatus(t, lab, harness.Policies, "p"); fmt.Sprint(now) != fmt.Sprint(settled) {
		t.Errorf("what stood is not what stands with the successor: %v, was %v", now, settled)
	}
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	waitStatus(t, lab, harness.Policies, "p", "the VFs of one PF, by generation 2", func(s map[string]any, _ string) bool {
		return is(s, "devicesOffered", 4) && is(s, "observedGeneration", 2) && is(s, "nodesCurrent", 2)
	})
	if _, conditions := policyStatus(t, lab, harness.Policies, "p"); !strings.Contains(conditions, "Approved=True: by hand") || strings.Count(conditions, "=") != 4 {
		t.Errorf("what somebody else has said is gone, or stands twice:\n%s", conditions)
	}
	patchStatus(t, lab, "p", `{"nodesSelected":99,"writer":{"version":"99.0.0","namespace":"x"}}`)
	waitUntil(t, "what a newer one has written is left to it", summing, func() bool { return successor.counts(t, "sliced_aggregate_yielded") == 1 })
	if s, _ := policyStatus(t, lab, harness.Policies, "p"); !is(s, "nodesSelected", 99) {
		t.Errorf("what a newer one has written is overwritten: %v", s)
	}
	patchStatus(t, lab, "p", `{"writer":{"version":"0.0.1"}}`)
	waitStatus(t, lab, harness.Policies, "p", "what an older one has written put right", func(s map[string]any, _ string) bool {
		return is(s, "nodesSelected", 2) && s["writer"].(map[string]any)["namespace"] == lab.Namespace
	})
}

// Turns red when two releases, each elected in its own namespace, write in turns what a DeviceExposurePolicy's status says: they say the same.
// The second one's own goes before the first one's: it would not wait.
func TestTwoReleasesDoNotFightOverAStatus(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, exposingPlane(t), pf0)
	lab.Reports = true
	other := lab.Namespace + "-other"
	lab.Server.NewNamespace(t, other)
	lab.Expose("e", own(isVF, "", "host-device"))
	lab.Run()
	config := summer(t, lab)
	first := aggregate(t, config, other, "aggregate-0")
	name := "e-" + lab.Node
	waitStatus(t, lab, harness.Exposures, name, "its VFs", func(s map[string]any, _ string) bool {
		return is(s, "devicesOffered", 4) && is(s, "nodesCurrent", 1)
	})
	version := func() string {
		object, err := lab.Server.Dynamic.Resource(harness.Exposures).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return object.GetResourceVersion()
	}
	before := version()
	second := aggregate(t, config, lab.Namespace, "aggregate-1")
	waitUntil(t, "the second is elected, and has summed up", harness.Patience, func() bool { return second.hasLooked(t) })
	if now := version(); now != before {
		status, _ := policyStatus(t, lab, harness.Exposures, name)
		t.Errorf("what says the same is written once more: %v", status)
	}
	for _, one := range []*aggregator{first, second} { // other tests' policies change meanwhile
		waitUntil(t, "nothing is left to the other", summing, func() bool { return one.isElected(t) && one.counts(t, "sliced_aggregate_yielded") == 0 })
	}
}

// Turns red when a policy in a namespace that no daemon reads is reported by nobody, when one of a namespace that another release's
// daemon reads is reported, or when `policies -A` marks the wrong ones.
func TestAnUnreadPolicyIsReported(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{})
	lab, other := harness.NewLab(t, plane, pf0), harness.NewLab(t, plane, pf1)
	lab.Reports, other.Reports = true, true
	lost := "lost-" + lab.Node
	lab.Server.NewNamespace(t, lost, lab.User)
	lab.Apply("read", harness.Config("r", harness.PFNames("ens1f0")))
	other.Apply("read-too", harness.Config("o", harness.PFNames("ens2f0")))
	lab.Server.Apply(t, harness.Policies, harness.Policy(lost, "unread", harness.Config("x", harness.PFNames("ens1f0"))))
	lab.Run()
	other.Run()
	a := aggregate(t, summer(t, lab), lab.Namespace, "aggregate")
	noted := func() string {
		events, err := lab.Server.Client.EventsV1().Events(lost).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events.Items {
			if event.Reason == "PolicyNamespaceNotRead" && event.Regarding.Name == "unread" && event.Regarding.Kind == "SriovResourcePolicy" {
				return event.Note
			}
		}
		return ""
	}
	waitUntil(t, "the policy has an Event", promptly, func() bool { return noted() != "" })
	if note := noted(); !strings.Contains(note, "no daemon reads policies of namespace "+lost) || !strings.Contains(note, "read namespace "+lab.Namespace) {
		t.Errorf("the Event says %q", note)
	}
	log := a.Log()
	if strings.Count(log, "policy without effect: no daemon reads its namespace") != 1 || strings.Contains(log, "read-too") {
		t.Errorf("the log of aggregate:\n%s", log)
	}
	if events, err := lab.Server.Client.EventsV1().Events(other.Namespace).List(context.Background(), metav1.ListOptions{}); err != nil || len(events.Items) != 0 {
		t.Errorf("Events in the namespace of the other release: %v %v", events.Items, err)
	}

	kubeconfig := viewer(t, lab)
	text, code := asKubectlPlugin(t, kubeconfig, "policies", "-A", "--namespace", lab.Namespace)
	if code != 0 {
		t.Fatalf("policies -A ended with %d:\n%s", code, text)
	}
	for policy, marked := range map[string]bool{lab.Namespace + "/read": false, other.Namespace + "/read-too": false, lost + "/unread": true} {
		found := false
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, policy+" ") {
				found = true
				if strings.Contains(line, "no daemon reads policies of namespace") != marked {
					t.Errorf("policies -A says of %s: %s", policy, line)
				}
			}
		}
		if !found {
			t.Errorf("policies -A does not tell of %s:\n%s", policy, text)
		}
	}
	if text, _ = asKubectlPlugin(t, kubeconfig, "policies", "--namespace", lab.Namespace); strings.Contains(text, "unread") {
		t.Errorf("without -A it tells of other namespaces:\n%s", text)
	}
}

// viewer gives the configuration of a user with what config/deploy/readers.yaml grants by sliced-viewer, and no more.
func viewer(t *testing.T, lab *harness.Lab) string {
	t.Helper()
	objects, err := harness.ReadYAML("../../config/deploy/readers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	user := lab.NewUser()
	for _, object := range objects {
		if object.GetName() != "sliced-viewer" {
			continue
		}
		role := &rbac.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		role.Name += "-" + lab.Node
		if _, err := lab.Server.Client.RbacV1().ClusterRoles().Create(context.Background(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		lab.Server.Bind(t, "", role.Name, user)
	}
	return lab.Kubeconfig(t, lab.Server.URL, &api.AuthInfo{Token: user.Token})
}
