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
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
	"sliced.test/lab"
)

// The PF whose VFs are offered, how many it has, and how long an emulated node may take for what it does.
const (
	pf       = "0000:21:00.0"
	count    = 3
	patience = 3 * time.Minute
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
	n.Apply("every-vf", harness.Config(""))
	text, err := os.ReadFile(n.Config)
	if err == nil {
		text = []byte(strings.Replace(string(text), "127.0.0.1", "10.0.2.2", 1))
		err = os.WriteFile(filepath.Join(dir, "sliced.kubeconfig"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cert, key := n.ClientCertificate(t, harness.User{Name: "system:node:" + n.Node, Group: "system:nodes"})
	config := n.Kubeconfig(t, strings.Replace(n.Server.URL, "127.0.0.1", "10.0.2.2", 1),
		&api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
	if text, err = os.ReadFile(config); err == nil {
		err = os.WriteFile(filepath.Join(dir, "kubelet.kubeconfig"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
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

func tail(name string, lines int) string {
	text, _ := os.ReadFile(filepath.Join(dir, name))
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// boot returns when the kubelet of this boot is ready.
func (n *node) boot(t *testing.T) {
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
	booted := time.Since(since)
	n.guest.Run(t, fmt.Sprintf("echo %d >/sys/bus/pci/devices/%s/sriov_numvfs && udevadm settle --timeout=60", count, pf))
	n.guest.Run(t, string(up))
	running := time.Since(since)
	n.startKubelet(t)
	t.Logf("booted after %v, containerd after %v, the kubelet ready after %v", booted, running, time.Since(since))
}

// startKubelet returns when it has said that it is ready.
func (n *node) startKubelet(t *testing.T) {
	t.Helper()
	since := metav1.Now().Rfc3339Copy()
	n.guest.Run(t, "PATH=/opt/bin:/bin kubelet --kubeconfig /host/kubelet.kubeconfig --config /etc/kubelet.yaml --hostname-override "+
		n.Node+" --node-ip 10.0.2.15 --v=3 >>/host/kubelet.log 2>&1 </dev/null &")
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
}

func (n *node) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func (n *node) log() string { return fmt.Sprintf("sliced-%d.log", n.runs) }

// serve starts the daemon, and returns when its devices are offered and the kubelet knows it.
func (n *node) serve(t *testing.T, extra ...string) {
	t.Helper()
	n.runs++
	n.pid = n.guest.Run(t, fmt.Sprintf("sliced run --cluster kubeconfig:/host/sliced.kubeconfig --node-name %s --namespace %s "+
		"--kubelet-plugin on --enable-device-metadata %s >/host/%s 2>&1 </dev/null & echo $!", n.Node, n.Namespace, strings.Join(extra, " "), n.log()))
	n.History.WaitOffers(t, 0, patience, n.devices(t)...)
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

// netdev is the name of a function's interface in the host, "" if there is none.
func (n *node) netdev(t *testing.T, address string) string {
	t.Helper()
	return n.guest.Run(t, "ls /sys/bus/pci/devices/"+address+"/net 2>/dev/null || true")
}

func (n *node) driver(t *testing.T, address string) string {
	t.Helper()
	return n.guest.Run(t, "basename $(readlink /sys/bus/pci/devices/"+address+"/driver || echo none)")
}

// scenario is a manifest on the node, its pods in a namespace of its own.
type scenario struct {
	*node
	t        *testing.T
	manifest *harness.Manifest
}

// apply makes the objects of a manifest; its pods end with the scenario.
func (n *node) apply(t *testing.T, name string) *scenario {
	t.Helper()
	mine := *n.Lab
	mine.T = t
	s := &scenario{node: n, t: t, manifest: mine.ReadManifest(name + ".yaml")}
	s.manifest.Namespace = name + "-" + n.Node
	t.Cleanup(func() {
		if t.Failed() {
			s.tell()
		}
		s.manifest.DeletePods()
		s.manifest.DeleteRest()
	})
	s.manifest.Furnish()
	s.manifest.ApplyPods()
	return s
}

// running returns the pods once all of them run with at least so many restarts.
func (s *scenario) running(restarts int32) []core.Pod {
	s.t.Helper()
	var pods []core.Pod
	s.wait(s.t, fmt.Sprintf("pods run, after %d restarts", restarts), func() bool {
		pods = s.manifest.Pods()
		for _, pod := range pods {
			if pod.Status.Phase != core.PodRunning || len(pod.Status.ContainerStatuses) == 0 {
				return false
			}
			for _, container := range pod.Status.ContainerStatuses {
				if container.State.Running == nil || container.RestartCount < restarts {
					return false
				}
			}
		}
		return len(pods) > 0
	})
	return pods
}

// allocated is the address of the function that a pod's one claim has.
func (s *scenario) allocated(pod core.Pod) string {
	s.t.Helper()
	at := []byte(s.claim(pod).Status.Allocation.Devices.Results[0].Device)
	at[4], at[7], at[10] = ':', ':', '.'
	return string(at)
}

func (s *scenario) claim(pod core.Pod) *resource.ResourceClaim {
	s.t.Helper()
	for _, claim := range s.Server.Claims(s.t, pod.Namespace) {
		for _, user := range claim.Status.ReservedFor {
			if user.UID == pod.UID && claim.Status.Allocation != nil {
				return claim
			}
		}
	}
	s.t.Fatalf("pod %s has no allocated claim", pod.Name)
	return nil
}

// said is what a pod's container wrote, in its n-th life, up to its line "end".
func (s *scenario) said(pod core.Pod, life int32) string {
	s.t.Helper()
	log := fmt.Sprintf("/var/log/pods/%s_%s_%s/%s/%d.log", pod.Namespace, pod.Name, pod.UID, pod.Spec.Containers[0].Name, life)
	text := ""
	s.wait(s.t, "the container has said what it sees", func() bool {
		text, _ = s.guest.Try("cut -d' ' -f4- "+log, 30*time.Second)
		return strings.HasSuffix(text, "\nend")
	})
	return text
}

// end deletes the pods, and returns when nothing is left of them.
func (s *scenario) end() {
	s.t.Helper()
	s.manifest.DeletePods()
	s.wait(s.t, "all pods are gone", func() bool { return len(s.manifest.Pods()) == 0 })
	s.wait(s.t, "nothing of claims is left", func() bool {
		left, status := s.guest.Try("ls -d /var/run/cdi/* /var/lib/kubelet/plugins/*/interfaces/* /var/lib/kubelet/plugins/*/dra-device-metadata/* 2>/dev/null", 30*time.Second)
		return status != -1 && left == ""
	})
}

func (s *scenario) tell() {
	for _, pod := range s.manifest.Pods() {
		s.t.Logf("pod %s: %s %+v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses)
	}
	list, err := s.Server.Client.CoreV1().Events(s.manifest.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, event := range list.Items {
		s.t.Logf("%s %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
	}
}
