package cluster

import (
	"context"
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sliced.test/cluster/harness"
)

var nodeStates = schema.GroupVersionResource{Group: "sriovnetwork.openshift.io", Version: "v1", Resource: "sriovnetworknodestates"}

// mayReadNodeStates grants the user what config/deploy/optional/node-state.yaml does, in the lab's namespace.
func mayReadNodeStates(t *testing.T, lab *harness.Lab) {
	t.Helper()
	objects, err := harness.ReadYAML("../../config/deploy/optional/node-state.yaml")
	if err != nil || len(objects) == 0 || objects[0].GetKind() != "Role" {
		t.Fatalf("config/deploy/optional/node-state.yaml: %v", err)
	}
	role := &rbac.Role{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, role); err != nil {
		t.Fatal(err)
	}
	role.Namespace = lab.Namespace
	client := lab.Server.Client.RbacV1()
	if _, err := client.Roles(lab.Namespace).Create(context.Background(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbac.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "node-state"},
		RoleRef:  rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: role.Name},
		Subjects: []rbac.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: lab.User.Name}}}
	if _, err := client.RoleBindings(lab.Namespace).Create(context.Background(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// nodeState writes what the operator wants of ens1f0 and returns a revision before it; sync "" leaves the status away.
func nodeState(t *testing.T, lab *harness.Lab, mtu int64, sync string) int64 {
	t.Helper()
	before := lab.Server.Revision(t)
	object := harness.Object(nodeStates, "SriovNetworkNodeState", lab.Namespace, lab.Node, M{"interfaces": L{M{
		"pciAddress": pf0.Address, "numVfs": int64(4), "mtu": mtu, "externallyManaged": true,
		"vfGroups": L{M{"vfRange": "0-3", "deviceType": "netdevice", "resourceName": "r"}}}}})
	lab.Server.Apply(t, nodeStates, object)
	if sync == "" {
		return before
	}
	client := lab.Server.Dynamic.Resource(nodeStates).Namespace(lab.Namespace)
	now, err := client.Get(context.Background(), lab.Node, metav1.GetOptions{})
	if err == nil {
		err = unstructured.SetNestedField(now.Object, sync, "status", "syncStatus")
	}
	if err == nil {
		_, err = client.UpdateStatus(context.Background(), now, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return before
}

// Turns red when the kind's absence, its coming, or one of its object's states is not heard, or when devices of other
// policies wait for any of it.
func TestANodeStateHoldsDevicesBack(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{})
	lab := harness.NewLab(t, plane, pf0, pf1)
	mayReadNodeStates(t, lab)
	lab.ApplyReady("p", M{"require": L{"nodeState"}}, harness.Config("r", harness.PFNames("ens1f0")))
	lab.Apply("other", harness.Config("o", harness.PFNames("ens2f0")))
	lab.Run("--node-state-namespace", lab.Namespace)
	others := vfs(pf1, 0, 2)
	all := join(vfs(pf0, 0, 4), others)
	lab.History.WaitOffers(t, 0, starting, others...)
	explained := func(words string) {
		t.Helper()
		waitUntil(t, "explain says "+words, harness.Patience, func() bool {
			out, _, _ := lab.Command("explain", "--node-state-namespace", lab.Namespace)
			return strings.Contains(out, words)
		})
	}
	explained("the API server does not serve this kind")
	crd, err := harness.ReadYAML("testdata/sriovnetworknodestates.yaml")
	if err == nil {
		err = plane.Server.InstallCRDs(crd)
	}
	if err != nil {
		t.Fatal(err)
	}
	explained("there is no SriovNetworkNodeState")
	nodeState(t, lab, 9000, "InProgress")
	explained("mtu is 1500, expected at least 9000")
	nodeState(t, lab, 1500, "") // the status stays
	explained("syncStatus InProgress")
	lab.History.NeverOffered(t, 0, vfs(pf0, 0, 1)[0])
	rv := nodeState(t, lab, 1500, "Succeeded")
	lab.History.WaitOffers(t, rv, reconnecting, all...)
	rv = nodeState(t, lab, 9000, "")
	lab.History.WaitOffers(t, rv, promptly, others...)
	explained("mtu is 1500, expected at least 9000")
	rv = nodeState(t, lab, 1500, "")
	lab.History.WaitOffers(t, rv, promptly, all...)
	rv = lab.Server.Delete(t, nodeStates, lab.Namespace, lab.Node)
	lab.History.WaitOffers(t, rv, promptly, others...)
}

// Turns red when the daemon, or the init container, goes on before the host is as the node's SriovNetworkNodeState wants it, or
// not when it is; and when one that is not there, or empty, is taken for a sign without allow-empty, or is none with it.
func TestANodeStateIsAConfiguredSignal(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{})
	lab := harness.NewLab(t, plane, pf0)
	mayReadNodeStates(t, lab)
	crd, err := harness.ReadYAML("testdata/sriovnetworknodestates.yaml")
	if err == nil {
		err = plane.Server.InstallCRDs(crd)
	}
	if err != nil {
		t.Fatal(err)
	}
	where := []string{"--node-name", lab.Node, "--node-state-namespace", lab.Namespace}
	waiting := waitForConfig(lab, append(where, "--for", "node-state")...)
	ends(t, waitForConfig(lab, append(where, "--for", "node-state:allow-empty")...), 0, starting)
	lab.Apply("p", harness.Config("r", harness.PFNames("ens1f0")))
	lab.Run("--node-state-namespace", lab.Namespace, "--until-configured", "node-state")
	lab.History.WaitOffers(t, 0, starting)
	said := func(words string) {
		t.Helper()
		waitUntil(t, "wait-for-config says "+words, harness.Patience, func() bool { return strings.Contains(waiting.Log(), words) })
		if waiting.Exited() {
			t.Fatalf("it ended, exit code %d", waiting.ExitCode())
		}
	}
	said("there is no SriovNetworkNodeState")
	lab.Server.Apply(t, nodeStates, harness.Object(nodeStates, "SriovNetworkNodeState", lab.Namespace, lab.Node, M{"interfaces": L{}}))
	said("spec.interfaces is empty")
	nodeState(t, lab, 9000, "Succeeded")
	said("mtu is 1500, expected at least 9000")
	lab.History.NeverOffered(t, 0, vfs(pf0, 0, 1)[0])
	rv := nodeState(t, lab, 1500, "")
	ends(t, waiting, 0, promptly)
	lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
}

// Turns red when `sliced drift` reads another object than the node's, finds another difference, or ends with another
// status.
func TestDrift(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{})
	lab := harness.NewLab(t, plane, pf0)
	crd, err := harness.ReadYAML("testdata/sriovnetworknodestates.yaml")
	if err == nil {
		err = plane.Server.InstallCRDs(crd)
	}
	if err != nil {
		t.Fatal(err)
	}
	drift := func(code int, words string, flags ...string) {
		t.Helper()
		args := append([]string{"drift", "--cluster", "kubeconfig:" + lab.Config, "--node-name", lab.Node,
			"--host", lab.Host.Root, "--node-state-namespace", lab.Namespace}, flags...)
		out, errs, got := lab.Program(args...)
		if got != code || !strings.Contains(out+errs, words) {
			t.Errorf("drift ended with %d, want %d and %q:\n%s%s", got, code, words, out, errs)
		}
	}
	drift(1, "may not be read")
	mayReadNodeStates(t, lab)
	drift(1, "there is no SriovNetworkNodeState")
	nodeState(t, lab, 1500, "")
	drift(0, "in sync, 4 VFs")
	nodeState(t, lab, 9000, "")
	drift(2, "at least 9000")
	drift(2, `"wanted": "at least 9000"`, "-o", "json")
}
