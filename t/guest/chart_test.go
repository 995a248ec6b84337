package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sliced.test/cluster/harness"
)

const (
	home    = "dra-driver-sriov" // the namespace of the chart's release
	account = "system:serviceaccount:" + home + ":sliced"
)

// Red when the image, as the chart's DaemonSet runs it on a node that only publishes, does not offer the node's functions, does not
// see them come and go, asks for what its token may not do, or may do more on the node than to look.
func (n *node) testChart(t *testing.T) {
	since := time.Now()
	n.install(t, "{kubeletPlugin: {enabled: false}, aggregate: {enabled: false}}")
	pid := n.pidOfImage(t)
	status := n.guest.Run(t, "cat /proc/"+pid+"/status")
	for _, want := range []string{"CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n"} {
		if !strings.Contains(status+"\n", want) {
			t.Errorf("the daemon runs without %q:\n%s", want, status)
		}
	}
	for _, at := range []string{"/", "/sys", "/run/udev"} {
		if mounted := n.guest.Run(t, "grep ' "+at+" ' /proc/"+pid+"/mountinfo"); !strings.Contains(mounted, " "+at+" ro,") {
			t.Errorf("%s of the daemon is not read-only: %s", at, mounted)
		}
	}
	all, name := n.devices(t), n.guest.Run(t, "ls /sys/bus/pci/devices/"+pf+"/net")
	if is := n.History.Now().Devices()[all[0]].Attributes[harness.Driver+"/PFName"]; is.StringValue == nil || *is.StringValue != name {
		t.Errorf("the PF is %s, and is published as %+v", name, is)
	}

	// The kernel's events reach the pod.
	for _, now := range []int{0, 2, count} {
		rv := n.Server.Revision(t)
		n.guest.Run(t, fmt.Sprintf("cd /sys/bus/pci/devices/%s && echo 0 >sriov_numvfs && echo %d >sriov_numvfs", pf, now))
		n.History.WaitOffers(t, rv, patience, all[:now]...)
	}
	n.refusedNothing(t, since)
}

// Red when the image, as the chart's DaemonSet runs it with the kubelet's plugin, does not give pods the functions that they are
// allocated, or takes them back.
func (n *node) testChartPlugin(t *testing.T) {
	since := time.Now()
	n.install(t, "{kubeletPlugin: {enableDeviceMetadata: true}, aggregate: {enabled: false}}")
	a, b := n.apply(t, "interface"), n.apply(t, "vfio")
	a.seesInterface(a.running(0)[0], 0)
	b.seesFunction(b.running(0)[0], 0)
	a.killContainers()
	a.seesInterface(a.running(1)[0], 1)
	n.end(t, a, b)
	n.refusedNothing(t, since)
}

// install applies the chart with these values, in place of the daemon that other scenarios have until this one ends, and returns
// when its pod is ready and offers what there is.
func (n *node) install(t *testing.T, values string) {
	t.Helper()
	n.makeRoom(t)
	rv := n.applyChart(t, values)
	n.wait(t, "the chart's pod is ready", func() bool { return n.isReady(t) })
	n.History.WaitOffers(t, rv, patience, n.devices(t)...)
}

// makeRoom ends the daemon that other scenarios have until this one ends, deletes what it published, and has the runtime know the image.
func (n *node) makeRoom(t *testing.T) {
	t.Helper()
	n.kill(t)
	t.Cleanup(func() {
		n.uninstall(t)
		n.serve(t)
	})
	slices := n.Server.Client.ResourceV1().ResourceSlices()
	ours := metav1.ListOptions{FieldSelector: resource.ResourceSliceSelectorNodeName + "=" + n.Node}
	if err := slices.DeleteCollection(context.Background(), metav1.DeleteOptions{}, ours); err != nil {
		t.Fatal(err)
	}
	n.guest.Run(t, "/opt/bin/ctr --namespace k8s.io images import /disk/sliced.tar")
}

// applyChart returns a revision that everything of the chart's is later than.
func (n *node) applyChart(t *testing.T, values string) int64 {
	t.Helper()
	files := []string{"createNamespace: true", values}
	for i, text := range files {
		files[i] = filepath.Join(t.TempDir(), fmt.Sprintf("values-%d.yaml", i))
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	arguments := append([]string{harness.Path("../../packaging/helm/sliced"), home, "sliced"}, files...)
	text, err := exec.Command(harness.Path("../../build/render"), arguments...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			text = exit.Stderr
		}
		t.Fatalf("the chart: %v: %s", err, text)
	}
	objects, err := harness.Decode(string(text))
	if err != nil {
		t.Fatal(err)
	}
	known, err := n.Server.Mapper()
	if err != nil {
		t.Fatal(err)
	}
	rv := n.Server.Revision(t)
	for _, object := range append(objects, n.certificates()) {
		if object.GetKind() == "DaemonSet" {
			n.tellOfServer(t, object)
		}
		if err := n.Server.ApplyServerSide(known, object); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	n.Server.Apply(t, harness.Policies, harness.Policy(home, "every-vf", M{"resourceFilters": L{M{}}}))
	return rv
}

// certificates are what a controller puts into every namespace where there is a whole cluster.
func (n *node) certificates() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: M{"apiVersion": "v1", "kind": "ConfigMap", "metadata": M{"name": "kube-root-ca.crt", "namespace": home},
		"data": M{"ca.crt": string(n.Server.AdminConfig().CAData)}}}
}

// tellOfServer is for the kube-proxy that this node has not got.
func (n *node) tellOfServer(t *testing.T, daemons *unstructured.Unstructured) {
	t.Helper()
	_, port, _ := strings.Cut(strings.TrimPrefix(n.Server.URL, "https://"), ":")
	for _, kind := range []string{"containers", "initContainers"} {
		path := []string{"spec", "template", "spec", kind}
		containers, there, err := unstructured.NestedSlice(daemons.Object, path...)
		if err != nil || (there && len(containers) != 1) || (!there && kind == "containers") {
			t.Fatalf("%s of the DaemonSet: %v %v", kind, containers, err)
		}
		if !there {
			continue
		}
		one := containers[0].(M)
		one["env"] = append(one["env"].(L), M{"name": "KUBERNETES_SERVICE_HOST", "value": "10.0.2.2"}, M{"name": "KUBERNETES_SERVICE_PORT", "value": port})
		if err := unstructured.SetNestedSlice(daemons.Object, containers, path...); err != nil {
			t.Fatal(err)
		}
	}
}

func (n *node) chartPods(t *testing.T) []core.Pod {
	t.Helper()
	list, err := n.Server.Client.CoreV1().Pods(home).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (n *node) isReady(t *testing.T) bool {
	t.Helper()
	for _, pod := range n.chartPods(t) {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == core.PodReady && condition.Status == core.ConditionTrue {
				return true
			}
		}
	}
	return false
}

// pidOfImage is the daemon's, which no other runs beside.
func (n *node) pidOfImage(t *testing.T) string {
	t.Helper()
	pids := strings.Fields(n.guest.Run(t, "for pid in $(pidof sliced); do tr '\\0' ' ' </proc/$pid/cmdline | grep -q ' run ' && echo $pid; done; :"))
	if len(pids) != 1 {
		t.Fatalf("daemons: %v", pids)
	}
	return pids[0]
}

// refusedNothing fails for each request of the daemon's that its token has no right to.
func (n *node) refusedNothing(t *testing.T, since time.Time) {
	t.Helper()
	said := 0
	for _, request := range n.Server.Audit.Of(t, harness.User{Name: account}, since) {
		said++
		if request.Answer.Code == 403 {
			t.Errorf("%s %s was refused: %s", request.Verb, request.URI, request.Answer.Message)
		}
	}
	if said == 0 {
		t.Error("the daemon has asked for nothing by its account")
	}
}

// uninstall returns when nothing of the chart's runs on the node; kinds and rules stay.
func (n *node) uninstall(t *testing.T) {
	t.Helper()
	if t.Failed() {
		n.tellOfChart(t)
	}
	background := metav1.DeletePropagationBackground
	err := n.Server.Client.AppsV1().DaemonSets(home).Delete(context.Background(), "sliced", metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	n.wait(t, "the chart's pod is gone", func() bool { return len(n.chartPods(t)) == 0 })
}

func (n *node) tellOfChart(t *testing.T) {
	for _, pod := range n.chartPods(t) {
		t.Logf("pod %s: %s %+v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses)
	}
	events, err := n.Server.Client.CoreV1().Events(home).List(context.Background(), metav1.ListOptions{})
	if err == nil {
		for _, event := range events.Items {
			t.Logf("%s %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
		}
	}
	log, _ := n.guest.Try("tail -n 60 /var/log/pods/"+home+"_*/*/*.log", harness.Patience)
	t.Logf("the image's log:\n%s", log)
}
