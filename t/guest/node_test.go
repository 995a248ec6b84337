package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
	"sliced.test/lab"
)

// The PF whose VFs are offered, how many it has, and how long an emulated node may take for what it does.
const (
	pf       = "0000:21:00.0"
	count    = 3
	patience = harness.Patience
)

// node is the guest as a node of the control plane.
type node struct {
	*harness.Lab
	guest *lab.Guest
	pid   string // of the daemon
	runs  int
}

// newNode boots the guest, and returns when its kubelet is ready; no daemon runs yet.
func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{Lab: harness.NewHostlessLab(t, plane)}
	n.RunAsDeployed()
	n.mayReadPods(t)
	pool := harness.Object(harness.Attributes, "DeviceAttributes", n.Namespace, "pool", M{"attributes": M{"k8s.cni.cncf.io/resourceName": M{"string": "nic_1"}}})
	pool.SetLabels(map[string]string{"pool": "nic_1"})
	n.Server.Apply(t, harness.Attributes, pool)
	n.Apply("every-vf", M{"deviceAttributesSelector": M{"matchLabels": M{"pool": "nic_1"}}, "resourceFilters": L{M{}}})
	text, err := os.ReadFile(n.Config)
	if err == nil {
		text = []byte(strings.Replace(string(text), "127.0.0.1", "10.0.2.2", 1))
		err = os.WriteFile(filepath.Join(dir, "sliced.kubeconfig"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.introduce(t, "kubelet", harness.User{Name: "system:node:" + n.Node, Group: "system:nodes"})
	t.Cleanup(func() {
		if t.Failed() {
			for _, log := range []string{"containerd.log", "kubelet.log"} {
				t.Logf("%s:\n%s", log, tail(log, 40))
			}
			t.Logf("the daemon's log:\n%s", tail(n.log(), 60))
		}
		if n.guest != nil {
			n.guest.Stop()
		}
	})
	n.boot(t)
	return n
}

// mayReadPods grants what --mac-annotation asks for beside config/deploy.
func (n *node) mayReadPods(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "addresses-" + n.Node}
	roles := n.Server.Client.RbacV1()
	_, err := roles.ClusterRoles().Create(context.Background(), &rbac.ClusterRole{ObjectMeta: meta, Rules: []rbac.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	if err == nil {
		_, err = roles.ClusterRoleBindings().Create(context.Background(), &rbac.ClusterRoleBinding{ObjectMeta: meta,
			RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbac.Subject{{Kind: "ServiceAccount", Name: "sliced", Namespace: n.Namespace}}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// introduce makes a kubeconfig for a program of the guest's.
func (n *node) introduce(t *testing.T, program string, user harness.User) {
	t.Helper()
	cert, key := n.ClientCertificate(t, user)
	config := n.Kubeconfig(t, strings.Replace(n.Server.URL, "127.0.0.1", "10.0.2.2", 1),
		&api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
	text, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, program+".kubeconfig"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func tail(name string, lines int) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// boot returns when the kubelet of this boot is ready, and its functions are there.
func (n *node) boot(t *testing.T) {
	t.Helper()
	n.power(t)
	n.makeFunctions(t)
	n.startPrograms(t)
}

// power returns when the guest answers, with its disk: no functions are there, and nothing of a node runs.
func (n *node) power(t *testing.T) {
	t.Helper()
	since := time.Now()
	var err error
	n.guest, err = lab.Boot(image, dir, 1536, "-device", "virtio-blk-pci,drive=disk,bus=pcie.0",
		"-drive", "if=none,id=disk,format=raw,cache=unsafe,file="+filepath.Join(dir, "disk.img"))
	if err != nil {
		t.Fatal(err)
	}
	up, err := os.ReadFile("node/up")
	if err != nil {
		t.Fatal(err)
	}
	n.guest.Run(t, string(up))
	t.Logf("booted after %v", time.Since(since))
}

func (n *node) makeFunctions(t *testing.T) {
	t.Helper()
	n.guest.Run(t, fmt.Sprintf("echo %d >/sys/bus/pci/devices/%s/sriov_numvfs && udevadm settle --timeout=100000", count, pf))
}

// startPrograms returns when the kubelet is ready.
func (n *node) startPrograms(t *testing.T) {
	t.Helper()
	since := time.Now()
	n.startRuntime(t)
	running := time.Since(since)
	n.startKubelet(t)
	t.Logf("containerd after %v, the kubelet ready after %v", running, time.Since(since))
}

// startRuntime returns when containerd has the image.
func (n *node) startRuntime(t *testing.T) {
	t.Helper()
	n.guest.Run(t, `export PATH=/opt/bin:/bin
containerd --config /etc/containerd.toml >>/host/containerd.log 2>&1 </dev/null &`)
	said := ""
	defer func() {
		if t.Failed() {
			t.Logf("ctr says: %s", said)
		}
	}()
	n.wait(t, "containerd has the image", func() bool {
		status := 0
		said, status = n.guest.Try("/opt/bin/ctr --namespace k8s.io images import /disk/toolbox.tar 2>&1", harness.Patience)
		if _, lives := n.guest.Try("pidof containerd", harness.Patience); lives != 0 {
			t.Fatal("containerd has ended")
		}
		return status == 0
	})
}

// startKubelet returns when it has said that it is ready.
func (n *node) startKubelet(t *testing.T) {
	t.Helper()
	since := metav1.Now().Rfc3339Copy()
	n.guest.Run(t, "PATH=/opt/bin:/bin kubelet --kubeconfig /host/kubelet.kubeconfig --config /etc/kubelet.yaml --hostname-override "+
		n.Node+" --node-ip 10.0.2.15 --v=1 >>/host/kubelet.log 2>&1 </dev/null &")
	n.wait(t, "the kubelet is ready", func() bool {
		is, err := n.Server.Client.CoreV1().Nodes().Get(context.Background(), n.Node, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range is.Status.Conditions {
			if condition.Type == core.NodeReady {
				return condition.Reason == "KubeletReady" && condition.Status == core.ConditionTrue && !condition.LastHeartbeatTime.Before(&since)
			}
		}
		return false
	})
	// Where the power goes before the image and the kubelet's certificates are on the disk no pod runs again, whatever we do.
	n.guest.Run(t, "sync")
}

func (n *node) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := harness.Limit(); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			said, _ := n.guest.Try("tail -n 20 /host/"+n.log(), harness.Patience)
			t.Fatalf("waited until the limit of the test program for: %s; the daemon said last:\n%s", what, said)
		}
	}
}

func (n *node) log() string { return fmt.Sprintf("sliced-%d.log", n.runs) }

// serve starts the daemon, and returns when its devices are offered and the kubelet knows it.
func (n *node) serve(t *testing.T, extra ...string) {
	t.Helper()
	n.launch(t, extra...)
	n.History.WaitOffers(t, 0, patience, n.devices(t)...)
	n.waitRegistered(t)
}

func (n *node) launch(t *testing.T, extra ...string) {
	t.Helper()
	n.runs++
	n.pid = n.guest.Run(t, fmt.Sprintf("sliced run --cluster kubeconfig:/host/sliced.kubeconfig --node-name %s --namespace %s "+
		"--kubelet-plugin on --enable-device-metadata --mac-annotation kubevirt.io/dra-networks %s >/host/%s 2>&1 </dev/null & echo $!", n.Node, n.Namespace, strings.Join(extra, " "), n.log()))
}

func (n *node) waitRegistered(t *testing.T) {
	t.Helper()
	n.wait(t, "the kubelet knows the driver", func() bool {
		for _, line := range strings.Split(tail(n.log(), 1000), "\n") {
			if strings.Contains(line, "registered with the kubelet") && strings.Contains(line, harness.Driver) {
				return true
			}
		}
		return false
	})
}

func (n *node) kill(t *testing.T) { n.guest.Run(t, "kill -KILL "+n.pid) }

// vfs are the functions' addresses, in order.
func (n *node) vfs(t *testing.T) []string {
	t.Helper()
	return strings.Fields(n.guest.Run(t, fmt.Sprintf("cd /sys/bus/pci/devices/%s && for i in 0 1 2; do basename $(readlink virtfn$i); done", pf)))
}

func (n *node) devices(t *testing.T) (names []string) {
	for _, address := range n.vfs(t) {
		names = append(names, harness.DeviceName(address))
	}
	return names
}

// function is what the host has of one.
type function struct{ driver, netdev string }

func (n *node) functions(t *testing.T) map[string]function {
	t.Helper()
	found := map[string]function{}
	for _, address := range n.vfs(t) {
		said := n.guest.Run(t, "cd /sys/bus/pci/devices/"+address+"; basename $(readlink driver || echo none); ls net 2>/dev/null || true")
		is := append(strings.Split(said, "\n"), "")
		found[address] = function{is[0], is[1]}
	}
	return found
}
