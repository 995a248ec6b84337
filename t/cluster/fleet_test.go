package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sliced.test/cluster/harness"
)

// usage is what `nodes -o json` counts.
type usage struct{ Devices, Allocated, Free, Tainted int }

// fleetOf is what `kubectl sliced nodes` (or top) says as data, by node.
func fleetOf(t *testing.T, kubeconfig, command string) map[string]struct {
	Name     string
	Usage    usage
	Problems []string
} {
	t.Helper()
	text, code := asKubectlPlugin(t, kubeconfig, command, "-o", "json")
	if code != 0 {
		t.Fatalf("%s: exit status %d: %s", command, code, text)
	}
	type node = struct {
		Name     string
		Usage    usage
		Problems []string
	}
	var said struct{ Nodes []node }
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out := map[string]node{}
	for _, one := range said.Nodes {
		out[one.Name] = one
	}
	return out
}

// Turns red when what the tables of the fleet count is not what the API server's slices and the scheduler's claims have.
func TestTheFleetPageShowsProblemsFirst(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Reports = true
	lab.Run()
	empty := harness.NewHostlessLab(t, shared)
	lab.History.WaitOffers(t, lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0"))), starting, vfs(pf0, 0, 4)...)
	lab.WaitSchedulerSees(scheduling)
	lab.Server.NewPod(t, lab.Namespace, "holder", lab.Node, 3)
	lab.Server.WaitScheduled(t, lab.Namespace, "holder", scheduling)
	kubeconfig := shared.Server.AdminKubeconfig(t, lab.Namespace)
	// The tables are made of slices and reports, and a report comes seconds after its slices.
	waitReport(t, lab, "what is offered", func(report *nodeReport) bool {
		return report.Status.Counts.Offered == 4 && len(report.Status.Policies) == 1 && report.Status.Policies[0].Offered == 4
	})

	for _, command := range []string{"nodes", "top"} {
		fleet := fleetOf(t, kubeconfig, command)
		if found := fleet[lab.Node]; found.Usage != (usage{Devices: 4, Allocated: 3, Free: 1}) ||
			!slices.Equal(found.Problems, []string{"kubelet plugin off: pods with claims do not start"}) {
			t.Errorf("%s: %+v", command, found)
		}
		if found := fleet[empty.Node]; !slices.Equal(found.Problems, []string{"no slices"}) {
			t.Errorf("%s: of a node without slices: %+v", command, found)
		}
	}
	text, _ := asKubectlPlugin(t, kubeconfig, "nodes", "-o", "wide")
	// The first column is as wide as the longest name of a node, and other tests have nodes in the same cluster.
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(lab.Node) + ` +` + regexp.QuoteMeta(harness.Driver)).MatchString(text) {
		t.Errorf("wide:\n%s", text)
	}

	// A pool of which a slice is missing gives nothing.
	half := &resource.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "half-" + empty.Node},
		Spec: resource.ResourceSliceSpec{Driver: harness.Driver, NodeName: &empty.Node,
			Pool:    resource.ResourcePool{Name: empty.Node, Generation: 1, ResourceSliceCount: 2},
			Devices: []resource.Device{{Name: "one"}}}}
	client := lab.Server.Client.ResourceV1().ResourceSlices()
	if _, err := client.Create(context.Background(), half, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Delete(context.Background(), half.Name, metav1.DeleteOptions{}) })
	if found := fleetOf(t, kubeconfig, "nodes")[empty.Node]; found.Usage != (usage{Devices: 1}) || len(found.Problems) != 1 ||
		!strings.Contains(found.Problems[0], "incomplete: 1 of 2 slices") {
		t.Errorf("of a pool that is not complete: %+v", found)
	}
	devicesOfANode(t, lab, kubeconfig)
	policiesByReport(t, lab, kubeconfig)
}

// Each device with who has it, and only that node's.
func devicesOfANode(t *testing.T, lab *harness.Lab, kubeconfig string) {
	t.Helper()
	text, code := asKubectlPlugin(t, kubeconfig, "devices", "--on", lab.Node, "-o", "json")
	var said struct {
		Devices []struct {
			Entry, State, PF, PCIAddress string
			Claims                       []string
		}
	}
	if err := json.Unmarshal([]byte(text), &said); code != 0 || err != nil {
		t.Fatalf("exit status %d, %v: %s", code, err, text)
	}
	claim := lab.Server.Claim(t, lab.Namespace, "holder")
	wanted := map[string]string{}
	for _, name := range vfs(pf0, 0, 4) {
		wanted[name] = "free"
	}
	for _, one := range claim.Status.Allocation.Devices.Results {
		wanted[one.Device] = fmt.Sprintf("allocated [%s/%s (pod holder)]", lab.Namespace, claim.Name)
	}
	for _, one := range said.Devices {
		found := one.State
		if len(one.Claims) > 0 {
			found += fmt.Sprintf(" %v", one.Claims)
		}
		if found != wanted[one.Entry] || one.PF != "ens1f0" || harness.DeviceName(one.PCIAddress) != one.Entry {
			t.Errorf("%+v, wanted %s", one, wanted[one.Entry])
		}
		delete(wanted, one.Entry)
	}
	if len(wanted) > 0 {
		t.Errorf("not told: %v", wanted)
	}
	began := time.Now()
	if _, stderr, code := harness.Output(t, harness.KubectlPlugin(t), "devices", "--on", "nowhere", "--kubeconfig", kubeconfig); code != 1 ||
		!strings.Contains(stderr, "there is no node nowhere") {
		t.Errorf("of a node that is not there: exit status %d after %v: %s", code, time.Since(began), stderr)
	}
}

// Turns red when a daemon that is gone is not seen within two minutes in `nodes`, in `policies NAME`, in its report and in the metrics of
// aggregate; when one that lives is; when its Lease is not its Node's; or when `withdraw` leaves the Lease behind.
func TestADeadDaemonIsDetected(t *testing.T) {
	t.Parallel()
	dead, alive := harness.NewLab(t, shared, pf0), harness.NewLab(t, shared, pf0)
	dead.Reports, alive.Reports = true, true
	daemon := dead.Run()
	alive.Run()
	kubeconfig := shared.Server.AdminKubeconfig(t, dead.Namespace)
	leases := func(lab *harness.Lab) *coordination.Lease {
		lease, err := lab.Server.Client.CoordinationV1().Leases(lab.Namespace).Get(context.Background(), "sliced-node-"+lab.Node, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	for _, lab := range []*harness.Lab{dead, alive} {
		waitUntil(t, "a Lease", harness.Patience, func() bool { return leases(lab) != nil })
		if owners := leases(lab).OwnerReferences; len(owners) != 1 || owners[0].Kind != "Node" || string(owners[0].UID) != lab.NodeUID {
			t.Errorf("owners: %+v", owners)
		}
	}
	summed := aggregate(t, summer(t, dead), dead.Namespace, "a")
	waitUntil(t, "aggregate is elected", harness.Patience, func() bool { return summed.hasLooked(t) })
	waitReport(t, dead, "a report", func(*nodeReport) bool { return true })
	silent := func(lab *harness.Lab) bool {
		text, code := asKubectlPlugin(t, kubeconfig, "nodes", "--namespace", lab.Namespace, "-o", "json")
		var said struct {
			Nodes []struct {
				Name                string
				DaemonSilentSeconds int
			}
		}
		if err := json.Unmarshal([]byte(text), &said); code != 0 || err != nil {
			t.Fatalf("exit status %d, %v: %s", code, err, text)
		}
		for _, one := range said.Nodes {
			if one.Name == lab.Node {
				return one.DaemonSilentSeconds > 0
			}
		}
		t.Fatalf("no node %s: %s", lab.Node, text)
		return false
	}
	if silent(dead) || silent(alive) {
		t.Error("a daemon that has just renewed its Lease is silent")
	}
	daemon.Kill()
	waitUntil(t, "the daemon is silent", harness.Patience, func() bool { return silent(dead) })
	waitUntil(t, "aggregate has seen it", harness.Patience, func() bool { return summed.counts(t, "sliced_aggregate_silent_nodes") == 1 })
	waitUntil(t, "its report is marked", harness.Patience, func() bool {
		object, err := dead.Server.Dynamic.Resource(harness.Reports).Get(context.Background(), dead.Node, metav1.GetOptions{})
		since, _, _ := unstructured.NestedString(object.Object, "status", "silentSince")
		return err == nil && since != ""
	})
	if silent(alive) {
		t.Error("a daemon that lives is silent")
	}
	dead.Run()
	waitUntil(t, "it is back", harness.Patience, func() bool { return !silent(dead) })
	waitUntil(t, "its report is not marked any more", harness.Patience, func() bool {
		object, err := dead.Server.Dynamic.Resource(harness.Reports).Get(context.Background(), dead.Node, metav1.GetOptions{})
		_, is, _ := unstructured.NestedString(object.Object, "status", "silentSince")
		return err == nil && !is
	})
}

// policiesByReport is what `policies` says by what the daemon reports, and --diff. REQUIRES: the report has the policy.
func policiesByReport(t *testing.T, lab *harness.Lab, kubeconfig string) {
	t.Helper()
	text, code := asKubectlPlugin(t, kubeconfig, "policies", "vfs", "--namespace", lab.Namespace, "-o", "json")
	var said struct {
		Policies []struct{ NodesSelected, NodesReported, Matched, Offered int }
	}
	if err := json.Unmarshal([]byte(text), &said); code != 0 || err != nil || len(said.Policies) != 1 {
		t.Fatalf("exit status %d, %v: %s", code, err, text)
	}
	if found := said.Policies[0]; found.NodesReported != 1 || found.Matched != 4 || found.Offered != 4 || found.NodesSelected < 2 {
		t.Errorf("%+v", found)
	}

	// What an edit would do before it is applied is what it does when it is.
	edited := harness.Policy(lab.Namespace, "vfs", harness.Config("intel", harness.PFNames("ens1f0#0-2")))
	file := filepath.Join(t.TempDir(), "edited.json")
	if body, err := edited.MarshalJSON(); err != nil || os.WriteFile(file, body, 0o600) != nil {
		t.Fatal(err)
	}
	text, code = asKubectlPlugin(t, kubeconfig, "policies", "--diff", file, "--namespace", lab.Namespace, "-o", "json")
	var diff struct {
		Nodes []struct {
			Name    string
			Changes []struct{ Change, Entry string }
		}
		Unjudged []struct{ Name, Why string }
	}
	if err := json.Unmarshal([]byte(text), &diff); code != 2 || err != nil {
		t.Fatalf("exit status %d, %v: %s", code, err, text)
	}
	gone := vfs(pf0, 3, 4)[0]
	if len(diff.Nodes) != 1 || diff.Nodes[0].Name != lab.Node || len(diff.Nodes[0].Changes) != 1 ||
		diff.Nodes[0].Changes[0].Entry != gone || diff.Nodes[0].Changes[0].Change != "removed" {
		t.Errorf("the difference: %s", text)
	}
	for _, one := range diff.Unjudged {
		if one.Name == lab.Node {
			t.Errorf("not judged: %+v", one)
		}
	}
	at := lab.Server.Apply(t, harness.Policies, edited)
	lab.History.Wait(t, "what the edit was said to do", at, starting, func(s harness.PoolState) bool {
		return slices.Equal(s.Names(), vfs(pf0, 0, 3))
	})
}
