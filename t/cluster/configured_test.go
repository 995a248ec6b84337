package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sliced.test/cluster/harness"
)

const waitAnnotation = "sriovnetwork.openshift.io/device-plugin-wait-config"

// grantOnPods gives the lab's user these verbs on pods of its namespace, and no others.
func grantOnPods(l *harness.Lab, verbs ...string) {
	l.T.Helper()
	ctx, client := context.Background(), l.Server.Client.RbacV1()
	meta := metav1.ObjectMeta{Name: "pods"}
	role := &rbac.Role{ObjectMeta: meta, Rules: []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}}}
	_, err := client.Roles(l.Namespace).Create(ctx, role, metav1.CreateOptions{})
	if err == nil {
		_, err = client.RoleBindings(l.Namespace).Create(ctx, &rbac.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: "pods"},
			Subjects: []rbac.Subject{{APIGroup: rbac.GroupName, Kind: "User", Name: l.User.Name}}}, metav1.CreateOptions{})
	} else if _, err = client.Roles(l.Namespace).Update(ctx, role, metav1.UpdateOptions{}); err != nil {
		l.T.Fatal(err)
	}
	if err != nil {
		l.T.Fatal(err)
	}
}

// plainPod makes a pod on the lab's node, as a DaemonSet does.
func plainPod(l *harness.Lab, name string, labels map[string]string) {
	l.T.Helper()
	no := false
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: core.PodSpec{
		AutomountServiceAccountToken: &no, NodeName: l.Node, Containers: []core.Container{{Name: "c", Image: "example.test/none"}}}}
	if _, err := l.Server.Client.CoreV1().Pods(l.Namespace).Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
		l.T.Fatal(err)
	}
}

func waits(l *harness.Lab, pod string) bool {
	l.T.Helper()
	found, err := l.Server.Client.CoreV1().Pods(l.Namespace).Get(context.Background(), pod, metav1.GetOptions{})
	if err != nil {
		l.T.Fatal(err)
	}
	_, has := found.Annotations[waitAnnotation]
	return has
}

// waitForConfig starts the init container's command, as the lab's user.
func waitForConfig(l *harness.Lab, flags ...string) *harness.Process {
	l.T.Helper()
	process, err := harness.StartProcess("wait-for-config", filepath.Join(l.T.TempDir(), "log"), harness.Program(l.T),
		append([]string{"wait-for-config", "--cluster", "kubeconfig:" + l.Config, "--host", l.Host.Root}, flags...)...)
	if err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(func() {
		process.Kill()
		if l.T.Failed() {
			l.T.Logf("log of wait-for-config:\n%s", process.LogTail(40))
		}
	})
	return process
}

func ofPod(l *harness.Lab, name string) []string {
	return []string{"--pod-name", name, "--pod-namespace", l.Namespace}
}

// ends fails when the process has not ended with that code within the time.
func ends(t *testing.T, process *harness.Process, code int, within time.Duration) {
	t.Helper()
	if !process.Wait(within) {
		t.Fatalf("it still runs after %v", within)
	}
	if process.ExitCode() != code {
		t.Fatalf("exit code %d, want %d", process.ExitCode(), code)
	}
}

// configured runs the other side, without the lab's usual flags.
func configured(l *harness.Lab, flags ...string) (string, int) {
	l.T.Helper()
	cmd := exec.Command(harness.Program(l.T), append([]string{"configured", "--cluster", "kubeconfig:" + l.Config, "--host", l.Host.Root,
		"--node-name", l.Node, "--namespace", l.Namespace}, flags...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.T.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// Turns red when the annotation of the field's protocol is not set as its operator looks for it, when the wait ends before
// somebody removes it or does not end then, or when anything else than the own pod is asked for.
func TestTheInitContainerWaitsUntilItsAnnotationIsRemoved(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	grantOnPods(lab, "get", "list", "watch", "patch")
	plainPod(lab, "dp-1", map[string]string{"app": "sriov-device-plugin"})
	plainPod(lab, "dp-2", nil)
	since := time.Now()
	process := waitForConfig(lab, ofPod(lab, "dp-1")...)
	waitUntil(t, "the pod waits", starting, func() bool { return waits(lab, "dp-1") })
	pods := lab.Server.Client.CoreV1().Pods(lab.Namespace)
	if _, err := pods.Patch(context.Background(), "dp-1", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"example.test/other":"edit"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	// Another wait, from its start to its end: by then the first one has seen the edit of another annotation, too.
	late := waitForConfig(lab, append(ofPod(lab, "dp-1"), "--timeout", "1s")...)
	ends(t, late, 2, starting)
	if !strings.Contains(late.Log(), "not configured within 1s: ") || !waits(lab, "dp-1") {
		t.Errorf("it says\n%s", late.Log())
	}
	if process.Exited() {
		t.Fatalf("it ended by itself, exit code %d", process.ExitCode())
	}
	// As the operator in the field does it.
	if _, err := pods.Patch(context.Background(), "dp-1", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+waitAnnotation+`":null}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	ends(t, process, 0, starting)
	for _, request := range lab.Server.Audit.Of(t, lab.User, since) {
		if !strings.Contains(request.URI, "/pods/dp-1") && !strings.Contains(request.URI, "metadata.name%3Ddp-1") {
			t.Errorf("it asks for %s %s", request.Verb, request.URI)
		}
	}
	if waits(lab, "dp-2") {
		t.Error("another pod has the annotation")
	}
}

// Turns red when `configured` lets go pods of other nodes or labels, or not all of its own; when a second run writes; or when the
// file that it makes is not the sign that others wait for.
func TestConfiguredReleasesThePodsOfItsNode(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	grantOnPods(lab, "get", "list", "watch", "patch")
	plainPod(lab, "ours", map[string]string{"app": "sliced"})
	plainPod(lab, "theirs", map[string]string{"app": "sriov-device-plugin"})
	ours, theirs := waitForConfig(lab, ofPod(lab, "ours")...), waitForConfig(lab, ofPod(lab, "theirs")...)
	file := filepath.Join(t.TempDir(), "run", "configured")
	byFile := waitForConfig(lab, "--for", "file:"+file)
	waitUntil(t, "both pods wait", starting, func() bool { return waits(lab, "ours") && waits(lab, "theirs") })

	if text, code := configured(lab, "--for", "annotation"); code != 0 || text != "pod ours is let go\n" {
		t.Errorf("exit code %d\n%s", code, text)
	}
	ends(t, ours, 0, harness.Patience)
	since := time.Now()
	if text, code := configured(lab, "--for", "annotation"); code != 0 || text != "" {
		t.Errorf("again: exit code %d\n%s", code, text)
	}
	if writes := lab.Server.Audit.Writes(t, lab.User, since); len(writes) != 0 {
		t.Errorf("the second run writes %v", writes)
	}
	if theirs.Exited() || !waits(lab, "theirs") || byFile.Exited() {
		t.Fatal("somebody else is let go")
	}
	if text, code := configured(lab, "--for", "file:"+file); code != 0 {
		t.Errorf("exit code %d\n%s", code, text)
	}
	ends(t, byFile, 0, harness.Patience)
	boot, _ := os.ReadFile(lab.Host.Root + "/proc/sys/kernel/random/boot_id")
	if text, err := os.ReadFile(file); err != nil || string(text) != string(boot) {
		t.Errorf("the file says %q, %v; this is boot %q", text, err, boot)
	}
	if text, code := configured(lab, "--for", "annotation", "--selector", "app=sriov-device-plugin"); code != 0 {
		t.Errorf("exit code %d\n%s", code, text)
	}
	ends(t, theirs, 0, harness.Patience)
}

// Turns red when SIGTERM does not end the wait as a shell says it, or when what is not permitted is not said with its remedy.
func TestTheInitContainerNamesAMissingPermission(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	plainPod(lab, "p", map[string]string{"app": "sliced"})
	process := waitForConfig(lab, ofPod(lab, "p")...)
	waitUntil(t, "the refusal is said", starting, func() bool {
		return strings.Contains(process.Log(), "grant patch on pods in namespace "+lab.Namespace)
	})
	pods := lab.Server.Client.CoreV1().Pods(lab.Namespace)
	if _, err := pods.Patch(context.Background(), "p", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+waitAnnotation+`":"true"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if text, code := configured(lab, "--for", "annotation"); code != 1 || !strings.Contains(text, "pod "+lab.Namespace+"/p: cannot patch") ||
		!strings.Contains(text, "grant patch on pods in namespace "+lab.Namespace) {
		t.Errorf("exit code %d\n%s", code, text)
	}
	grantOnPods(lab, "get", "patch") // not watch
	waitUntil(t, "the pod waits", harness.Patience, func() bool { return strings.Contains(process.Log(), "waiting for the configuration of this node") })
	process.Signal(syscall.SIGTERM)
	ends(t, process, 143, starting)
}

// Turns red when a pod with a claim from before a reboot starts before its node is configured again, when what is published then
// stays, or when either does not come back after it.
func TestNoPodStartsAfterARebootBeforeItsNodeIsConfigured(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	kubelet := root.Run()
	wiped(t, lab, kubelet)
	file := filepath.Join(t.TempDir(), "configured")
	flags := append(root.Flags(), "--until-configured", "file:"+file)
	daemon := lab.Run(flags...)
	waitRegistered(daemon, 1)
	daemon.WaitLog(starting, "waiting for the configuration of this node")
	lab.History.WaitOffers(t, 0, starting)
	explained, _, _ := lab.Command("explain", harness.VFAddress(pf0.Address, 1), "--until-configured", "file:"+file)
	if !strings.Contains(explained, "no new device is offered before this node is configured: "+file+": there is no such file") {
		t.Error(explained)
	}
	if text, code := configured(lab, "--for", "file:"+file); code != 0 {
		t.Fatal(text)
	}
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	lab.Server.NewPod(t, lab.Namespace, "p", lab.Node, 1)
	waitRunning(t, lab, "p")

	// A restart in the same boot takes nothing away, whatever became of the file.
	must(t, os.Remove(file))
	at := lab.Server.Revision(t)
	daemon.Term(harness.Patience)
	daemon = lab.Run(flags...)
	waitRegistered(daemon, 1)
	daemon.WaitLog(starting, "waiting for the configuration of this node", "decided")
	// Whatever configures the hardware anew has set the wait again: a new claim is refused, what is published stays.
	lab.Server.NewPod(t, lab.Namespace, "q", lab.Node, 1)
	waitRefused(t, lab, "q", "is not ready: this node is not configured yet")
	lab.History.NeverBelow(t, at, vfs(pf0, 0, 4)...)
	if text, code := configured(lab, "--for", "file:"+file); code != 0 {
		t.Fatal(text)
	}

	waitRunning(t, lab, "q")

	kubelet.Kill()
	daemon.Kill()
	must(t, os.RemoveAll(root.Path+"/cdi"))
	lab.Host.Reboot()
	before := len(root.Created())
	at = lab.Server.Revision(t)
	root.Run()
	daemon = lab.Run(flags...)
	waitRefused(t, lab, "p", "is not ready: this node is not configured yet", "it names boot")
	lab.History.Wait(t, "what was published is withdrawn", at, starting, func(s harness.PoolState) bool { return len(s.Names()) == 0 })
	if len(root.Created()) != before {
		t.Errorf("a container was made: %v", root.Created()[before:])
	}
	withdrawn := lab.Server.Revision(t)
	if text, code := configured(lab, "--for", "file:"+file); code != 0 {
		t.Fatal(text)
	}
	lab.History.WaitOffers(t, withdrawn, starting, vfs(pf0, 0, 4)...)
	waitUntil(t, "the pod has its container again", promptly, func() bool { return len(root.Created()) > before })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
