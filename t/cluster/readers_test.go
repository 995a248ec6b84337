package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

// readerRoles are the ClusterRoles of config/deploy/readers.yaml, created once a control plane.
func readerRoles(t *testing.T) {
	t.Helper()
	roles, err := harness.ReadYAML("../../config/deploy/readers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	client := shared.Server.Dynamic.Resource(schema.GroupVersionResource{Group: rbac.GroupName, Version: "v1", Resource: "clusterroles"})
	for _, role := range roles {
		if _, err := client.Create(context.Background(), role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// What the ClusterRole `view` has once the controller of aggregated roles has run, which these planes do not: t/chart judges that.
var viewOfANamespace = []string{"system:aggregate-to-view", "sliced-view"}

// reader is a ServiceAccount with those ClusterRoles: bound in the lab's namespace, or in the whole cluster. It returns its kubeconfig,
// whose namespace is the lab's.
func reader(t *testing.T, lab *harness.Lab, name string, inNamespace, everywhere []string) string {
	t.Helper()
	ctx, client := context.Background(), lab.Server.Client
	account, err := client.CoreV1().ServiceAccounts(lab.Namespace).Create(ctx, &core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	subjects := []rbac.Subject{{Kind: "ServiceAccount", Namespace: lab.Namespace, Name: name}}
	for _, role := range inNamespace {
		if _, err := client.RbacV1().RoleBindings(lab.Namespace).Create(ctx, &rbac.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + role},
			RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range everywhere {
		binding := &rbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: lab.Namespace + "-" + name + "-" + role},
			RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			client.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{})
		})
	}
	token := lab.ServiceAccountToken(t, account, name, nil)
	path := lab.Kubeconfig(t, lab.Server.URL, &api.AuthInfo{Token: token})
	// The authorizer follows its own watches.
	waitUntil(t, "the role is bound", scheduling, func() bool {
		_, _, code := runAs(t, path, "why", "pod", lab.Namespace+"/nobody")
		_, stderr, _ := runAs(t, path, "why", "pod", lab.Namespace+"/nobody")
		return code == 1 && strings.Contains(stderr, "404")
	})
	return path
}

// runAs is a command with that kubeconfig alone.
func runAs(t *testing.T, kubeconfig string, arguments ...string) (stdout, stderr string, code int) {
	t.Helper()
	program := harness.KubectlPlugin(t)
	if slices.Contains([]string{"match", "explain", "plan", "snapshot"}, arguments[0]) {
		program = harness.Program(t)
	}
	command := exec.Command(program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var out, errors strings.Builder
	command.Stdout, command.Stderr = &out, &errors
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errors.String(), command.ProcessState.ExitCode()
}

// A world with all that the commands show: a pod that has VFs, and one that waits for more than there are.
func readersWorld(t *testing.T) (lab *harness.Lab, edited string) {
	t.Helper()
	readerRoles(t)
	lab = harness.NewLab(t, shared, pf0)
	lab.Reports = true
	lab.Run()
	lab.History.WaitOffers(t, lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0"))), starting, vfs(pf0, 0, 4)...)
	lab.WaitSchedulerSees(scheduling)
	lab.Server.NewPod(t, lab.Namespace, "holder", lab.Node, 3)
	lab.Server.WaitScheduled(t, lab.Namespace, "holder", scheduling)
	lab.Server.NewPod(t, lab.Namespace, "waits", lab.Node, 2)
	lab.Server.Unschedulable(t, lab.Namespace, "waits", scheduling)
	waitReport(t, lab, "what is offered", func(report *nodeReport) bool {
		return report.Status.Counts.Offered == 4 && len(report.Status.Policies) == 1 && report.Status.Policies[0].Offered == 4
	})
	file := filepath.Join(t.TempDir(), "edited.json")
	body, err := harness.Policy(lab.Namespace, "vfs", harness.Config("intel", harness.PFNames("ens1f0#0-2"))).MarshalJSON()
	if err != nil || os.WriteFile(file, body, 0o600) != nil {
		t.Fatal(err)
	}
	return lab, file
}

// What changes from call to call: ages.
var ages = regexp.MustCompile(`"(changedSecondsAgo|[a-zA-Z]*[sS]econds)": ?-?\d+`)

// Turns red when any of the reading commands says something else to who has sliced-viewer and nothing beside it than to an
// administrator, or names a permission that is missing.
func TestSlicedViewerIsEnoughForTheReadingCommands(t *testing.T) {
	t.Parallel()
	lab, edited := readersWorld(t)
	viewer := reader(t, lab, "viewer", nil, []string{"sliced-viewer"})
	admin := lab.Server.AdminKubeconfig(t, lab.Namespace)
	onNode := func(command string, more ...string) []string {
		return append([]string{command, "--node-name", lab.Node, "--namespace", lab.Namespace, "--host", lab.Host.Root}, more...)
	}
	for _, row := range []struct {
		name      string
		arguments []string
		isOnNode  bool // of a node: by --cluster kubeconfig:
		isMoving  bool // shows other labs' nodes too, which come and go
	}{
		{"why", []string{"why", "pod", lab.Namespace + "/waits", "-o", "json"}, false, true},
		{"why of a pod with a node", []string{"why", "pod", lab.Namespace + "/holder"}, false, false},
		{"why claim", []string{"why", "claim", lab.Namespace + "/" + lab.Server.Claim(t, lab.Namespace, "holder").Name}, false, false},
		{"nodes", []string{"nodes", "--namespace", lab.Namespace, "-o", "json"}, false, true},
		{"top", []string{"top", "--namespace", lab.Namespace, "-o", "json"}, false, true},
		{"devices", []string{"devices", "--on", lab.Node}, false, false},
		{"policies", []string{"policies", "--namespace", lab.Namespace, "-o", "json"}, false, true},
		{"policies NAME", []string{"policies", "vfs", "--namespace", lab.Namespace, "-o", "json"}, false, true},
		{"policies --diff", []string{"policies", "--diff", edited, "--namespace", lab.Namespace, "-o", "json"}, false, true},
		{"policies --diff-delete", []string{"policies", "--diff-delete", "srp/vfs", "--namespace", lab.Namespace, "-o", "json"}, false, true},
		{"match --slices", []string{"match", "--slices", "--node-name", lab.Node, `device.driver == "` + harness.Driver + `"`}, true, false},
		{"explain", onNode("explain", harness.VFAddress(pf0.Address, 0)), true, false},
		{"explain of all", onNode("explain"), true, false},
		{"plan", onNode("plan", "-o", "diff"), true, false},
	} {
		as := func(kubeconfig string) (string, string, int) {
			arguments := slices.Clone(row.arguments)
			if row.isOnNode {
				arguments = slices.Insert(arguments, 1, "--cluster", "kubeconfig:"+kubeconfig)
			}
			return runAs(t, kubeconfig, arguments...)
		}
		mine, stderr, code := as(viewer)
		theirs, _, wanted := as(admin)
		if code != wanted || code == 1 || strings.Contains(stderr, "403") || strings.Contains(stderr, "orbidden") || strings.Contains(mine, "permissions are missing") {
			t.Errorf("%s: exit status %d, wanted %d; %s%s", row.name, code, wanted, stderr, mine)
		}
		if !row.isMoving && ages.ReplaceAllString(mine, "") != ages.ReplaceAllString(theirs, "") {
			t.Errorf("%s: a reader sees\n%sand an administrator\n%s", row.name, mine, theirs)
		}
		if row.isMoving && (!strings.Contains(mine, lab.Node) && !strings.Contains(mine, `"vfs"`)) {
			t.Errorf("%s: nothing of %s: %s", row.name, lab.Node, mine)
		}
	}
	// A bug report has what an administrator's has.
	list := func(kubeconfig string) string {
		file := filepath.Join(t.TempDir(), "report.tar.zst")
		if out, stderr, code := runAs(t, kubeconfig, onNode("snapshot", "--cluster", "kubeconfig:"+kubeconfig, file)...); code != 0 || stderr != "" {
			t.Errorf("snapshot: exit status %d: %s%s", code, stderr, out)
		}
		stdout, stderr, code := runAs(t, kubeconfig, "explain", "--host", file)
		if code != 0 {
			t.Errorf("explain of the snapshot: exit status %d: %s", code, stderr)
		}
		return stdout
	}
	if mine, theirs := list(viewer), list(admin); mine != theirs {
		t.Errorf("a reader's snapshot has\n%sand an administrator's\n%s", mine, theirs)
	}
}

// Turns red when who may see less gets no answer from what may be seen, is not told what is missing, or is told what is not so.
func TestReadersSeeOnlyPermittedData(t *testing.T) {
	t.Parallel()
	lab, edited := readersWorld(t)
	namespaced := reader(t, lab, "developer", viewOfANamespace, nil)
	text, stderr, code := runAs(t, namespaced, "why", "pod", lab.Namespace+"/waits")
	if code != 3 || stderr != "" {
		t.Errorf("why with `view` alone: exit status %d: %s%s", code, stderr, text)
	}
	for _, permission := range []string{"list nodes", "list resourceslices", "list deviceclasses", "list resourceclaims of all namespaces"} {
		if !strings.Contains(text, permission) {
			t.Errorf("why with `view` alone does not name %q:\n%s", permission, text)
		}
	}
	if !strings.Contains(text, "request vf: 2 devices of class "+harness.Class) {
		t.Errorf("why with `view` alone does not show the claim:\n%s", text)
	}
	text, _, code = runAs(t, namespaced, "why", "pod", lab.Namespace+"/holder")
	if code != 0 || !strings.Contains(text, "is on node "+lab.Node) {
		t.Errorf("of a pod with a node: exit status %d: %s", code, text)
	}
	// Fleet commands: nothing may be listed, and each kind is named.
	if _, stderr, code = runAs(t, namespaced, "nodes", "--namespace", lab.Namespace); code != 1 || !strings.Contains(stderr, "resourceslices") {
		t.Errorf("nodes with `view` alone: exit status %d: %s", code, stderr)
	}
	text, stderr, code = runAs(t, namespaced, "policies", "--namespace", lab.Namespace)
	if code != 0 || !strings.Contains(text, lab.Namespace+"/vfs") || !strings.Contains(stderr, "nodes") {
		t.Errorf("policies with `view` alone: exit status %d: %s%s", code, stderr, text)
	}
	text, stderr, code = runAs(t, namespaced, "policies", "--diff", edited, "--namespace", lab.Namespace)
	if code != 2 || !strings.Contains(stderr, "nodes") || !strings.Contains(stderr, "nodedevicereports") {
		t.Errorf("policies --diff with `view` alone: exit status %d: %s%s", code, stderr, text)
	}

	// A developer with both roles: all but who has what in other namespaces.
	both := reader(t, lab, "both", viewOfANamespace, []string{"sliced-device-viewer"})
	text, _, code = runAs(t, both, "why", "pod", lab.Namespace+"/waits")
	if code != 2 || !strings.Contains(text, "delete pod "+lab.Namespace+"/holder") || !strings.Contains(text, "list resourceclaims of all namespaces") {
		t.Errorf("why with both roles: exit status %d:\n%s", code, text)
	}
	text, stderr, code = runAs(t, both, "nodes", "--namespace", lab.Namespace, "-o", "json")
	if code != 0 || !strings.Contains(text, lab.Node) || !strings.Contains(stderr, "ALLOCATED and FREE are unknown") {
		t.Errorf("nodes with both roles: exit status %d: %s%s", code, stderr, text)
	}
	text, stderr, code = runAs(t, both, "policies", "--diff", edited, "--namespace", lab.Namespace)
	if code != 2 || !strings.Contains(text, vfs(pf0, 3, 4)[0]) || !strings.Contains(stderr, "which of the devices are allocated is unknown") {
		t.Errorf("policies --diff with both roles: exit status %d: %s%s", code, stderr, text)
	}
}

type verdict struct {
	Verdict string
	Hints   []string
	Nodes   []struct {
		Name, KeptAway string
		CanRun         bool
	}
}

// Turns red when the verdict about a pod that asks for a DeviceClass's extended resource, for more than there is, or for a node that is
// cordoned or not selected, is not the scheduler's, or its first line names another cause.
func TestWhyMatchesTheScheduler(t *testing.T) {
	t.Parallel()
	// On a plane of its own: the nodes of other tests may have what is asked for, too.
	lab := harness.NewLab(t, harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true}), pf0)
	lab.Reports = true
	lab.Run()
	lab.History.WaitOffers(t, lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0"))), starting, vfs(pf0, 0, 4)...)
	lab.WaitSchedulerSees(scheduling)
	kubeconfig := lab.Server.AdminKubeconfig(t, lab.Namespace)
	ctx, client := context.Background(), lab.Server.Client
	ask := func(pod string, wanted int) (verdict, string) {
		t.Helper()
		body, code := asKubectlPlugin(t, kubeconfig, "why", "pod", pod, "-o", "json")
		var out verdict
		if err := json.Unmarshal([]byte(body), &out); err != nil || code != wanted {
			t.Errorf("%s: exit status %d, wanted %d: %s", pod, code, wanted, body)
		}
		text, _ := asKubectlPlugin(t, kubeconfig, "why", "pod", pod)
		first, _, _ := strings.Cut(text, "\n")
		return out, first
	}

	// More than the node has.
	lab.Server.NewPod(t, lab.Namespace, "many", lab.Node, 5)
	lab.Server.Unschedulable(t, lab.Namespace, "many", scheduling)
	if said, first := ask("many", 2); said.Verdict != "pending" || !strings.Contains(first, "no node has 5 free devices for request vf") {
		t.Errorf("more than there is: %q", first)
	}
	lab.Server.DeletePod(t, lab.Namespace, "many")

	// An extended resource that a DeviceClass provides.
	classes := schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}
	if answer(lab.Server, classes, &unstructured.Unstructured{Object: M{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
		"metadata": M{"name": "probe-" + lab.Node}, "spec": M{"extendedResourceName": "example.com/probe"}}}) == "stored" {
		extendedResources(t, lab, ask)
	}

	// A node that the pod does not select; then one that is cordoned.
	lab.Server.NewTemplate(t, lab.Namespace, "one", resource.ResourceClaimSpec{Devices: resource.DeviceClaim{
		Requests: []resource.DeviceRequest{{Name: "vf", Exactly: &resource.ExactDeviceRequest{DeviceClassName: harness.Class}}}}})
	template, no := "one", false
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere", Namespace: lab.Namespace}, Spec: core.PodSpec{
		AutomountServiceAccountToken: &no, NodeSelector: map[string]string{"disk": "ssd-" + lab.Node},
		ResourceClaims: []core.PodResourceClaim{{Name: "net", ResourceClaimTemplateName: &template}},
		Containers: []core.Container{{Name: "c", Image: "example.test/none",
			Resources: core.ResourceRequirements{Claims: []core.ResourceClaim{{Name: "net"}}}}}}}
	if _, err := client.CoreV1().Pods(lab.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitUnschedulable(t, lab, "elsewhere")
	if _, first := ask("elsewhere", 2); !strings.Contains(first, "nodeSelector") || !strings.Contains(first, "disk=ssd-"+lab.Node) {
		t.Errorf("a nodeSelector: %q", first)
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, lab.Node, "application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.Server.NewPod(t, lab.Namespace, "cordoned", lab.Node, 1)
	waitUnschedulable(t, lab, "cordoned")
	said, _ := ask("cordoned", 2)
	for _, node := range said.Nodes {
		if node.Name == lab.Node && !strings.Contains(node.KeptAway, "node.kubernetes.io/unschedulable") {
			t.Errorf("a node that is cordoned: %+v", node)
		}
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, lab.Node, "application/merge-patch+json", []byte(`{"spec":{"unschedulable":false}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.Server.WaitScheduled(t, lab.Namespace, "cordoned", scheduling)
}

// Pods that ask for a DeviceClass's extended resource: one for more than there is, one that gets its devices.
func extendedResources(t *testing.T, lab *harness.Lab, ask func(pod string, wanted int) (verdict, string)) {
	t.Helper()
	ctx, client := context.Background(), lab.Server.Client
	name := "example.com/" + lab.Node
	class := &resource.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "vf-" + lab.Node}, Spec: resource.DeviceClassSpec{ExtendedResourceName: &name,
		Selectors: []resource.DeviceSelector{{CEL: &resource.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", harness.Driver)}}}}}
	if _, err := client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.ResourceV1().DeviceClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{})
	})
	extended := func(pod, count string) {
		no := false
		object := &unstructured.Unstructured{Object: M{"apiVersion": "v1", "kind": "Pod", "metadata": M{"name": pod}, "spec": M{
			"automountServiceAccountToken": no, "nodeSelector": M{"kubernetes.io/hostname": lab.Node},
			"containers": []any{M{"name": "c", "image": "example.test/none", "resources": M{"limits": M{name: count}}}}}}}
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		if _, err := lab.Server.Dynamic.Resource(pods).Namespace(lab.Namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	extended("old-many", "5")
	waitUnschedulable(t, lab, "old-many")
	if said, first := ask("old-many", 2); said.Verdict != "pending" || !strings.Contains(first, "5 free devices") {
		t.Errorf("an extended resource: %+v, %q", said, first)
	}
	lab.Server.DeletePod(t, lab.Namespace, "old-many")
	extended("old-few", "2")
	waitUntil(t, "a pod with an extended resource has a node", scheduling, func() bool {
		pod, err := client.CoreV1().Pods(lab.Namespace).Get(ctx, "old-few", metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName == lab.Node
	})
	if said, first := ask("old-few", 0); said.Verdict != "runs" || !strings.Contains(first, "is on node "+lab.Node) {
		t.Errorf("an extended resource that there is: %+v, %q", said, first)
	}
	lab.Server.DeletePod(t, lab.Namespace, "old-few")
}

func waitUnschedulable(t *testing.T, lab *harness.Lab, name string) {
	t.Helper()
	waitUntil(t, name+" is refused by the scheduler", scheduling, func() bool {
		pod, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Get(context.Background(), name, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(pod.Status.Conditions, func(c core.PodCondition) bool {
			return c.Type == core.PodScheduled && c.Reason == core.PodReasonUnschedulable
		})
	})
}

// Turns red when the policy that `why` says to write does not bring the pod its devices.
func TestAPolicySuggestedByWhyOffersTheDevices(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Reports = true
	lab.Run()
	lab.History.WaitOffers(t, lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0#0"))), starting, vfs(pf0, 0, 1)...)
	waitReport(t, lab, "VFs that no policy selects", func(report *nodeReport) bool {
		return report.Status.Counts.Offered == 1 && report.Status.Counts.Unmatched >= 3
	})
	lab.WaitSchedulerSees(scheduling)
	kubeconfig := lab.Server.AdminKubeconfig(t, lab.Namespace)
	name := "storage-" + lab.Node
	class := &resource.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resource.DeviceClassSpec{
		Selectors: []resource.DeviceSelector{{CEL: &resource.CELDeviceSelector{Expression: fmt.Sprintf(
			"device.driver == %q && device.attributes[%q].?resourceName.orValue(\"\") == %q", harness.Driver, harness.Driver, name)}}}}}
	client := lab.Server.Client.ResourceV1()
	if _, err := client.DeviceClasses().Create(context.Background(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.DeviceClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{}) })
	lab.Server.NewTemplate(t, lab.Namespace, "storage", resource.ResourceClaimSpec{Devices: resource.DeviceClaim{
		Requests: []resource.DeviceRequest{{Name: "vf", Exactly: &resource.ExactDeviceRequest{DeviceClassName: name}}}}})
	lab.Server.NewPodOf(t, lab.Namespace, "storage", lab.Node, "storage")
	lab.Server.Unschedulable(t, lab.Namespace, "storage", scheduling)
	body, code := asKubectlPlugin(t, kubeconfig, "why", "pod", "storage", "-o", "json")
	var said verdict
	if err := json.Unmarshal([]byte(body), &said); err != nil || code != 2 {
		t.Fatalf("exit status %d: %s", code, body)
	}
	written := &unstructured.Unstructured{}
	for _, hint := range said.Hints {
		if at := strings.Index(hint, "{"); at >= 0 && strings.Contains(hint, "No policy selects") {
			if err := json.Unmarshal([]byte(hint[at:]), &written.Object); err != nil {
				t.Fatalf("%v: %s", err, hint)
			}
		}
	}
	if written.GetKind() != "SriovResourcePolicy" || written.GetNamespace() != lab.Namespace {
		t.Fatalf("no policy to write: %v", said.Hints)
	}
	lab.Server.Apply(t, harness.Policies, written)
	if got := lab.Server.WaitScheduled(t, lab.Namespace, "storage", scheduling); len(got) != 1 {
		t.Errorf("allocated: %+v", got)
	}
}
