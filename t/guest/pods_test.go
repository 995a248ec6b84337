package guest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sliced.test/cluster/harness"
)

// One guest for all scenarios: they run one after the other, and each leaves the node without pods.
func TestNode(t *testing.T) {
	prepareNode(t)
	n := newNode(t)
	n.serve(t)
	type row struct {
		name string
		play func(*testing.T)
	}
	rows := []row{
		{"AnInterface", n.testAnInterface},
		{"AFunction", n.testAFunction},
		{"TwoOfOneClaim", n.testTwoOfOneClaim},
		{"Migration", n.testMigration},
		{"SlowCNI", n.testSlowCNI},
		{"Addresses", n.testAddresses},
		{"AnotherDaemon", n.testAnotherDaemon},
		{"AnotherMode", n.testAnotherMode},
		{"RuntimeAndKubelet", n.testRuntimeAndKubelet},
		{"PodsPage", n.testPodsPage},
		{"Reboot", n.testReboot},
		{"LateScript", n.testLateScript},
		{"Chart", n.testChart},
		{"ChartPlugin", n.testChartPlugin},
		{"ChartWaits", n.testChartWaits},
	}
	for plugin, its := range map[string][]row{"sriov": {{"SriovCNI", n.testSriovCNI}, {"SettingsOfAPodThatEndedUnseen", n.testSettingsOfAPodThatEndedUnseen}},
		"multus": {{"Multus", n.testMultus}}, "whereabouts": {{"Whereabouts", n.testWhereabouts}}} {
		if _, err := os.Stat(filepath.Join(*given, plugin)); *given != "" && err == nil {
			rows = append(rows, its...)
		}
	}
	played := 0
	for _, one := range rows {
		t.Run(one.name, func(t *testing.T) {
			played++
			before := n.functions(t)
			one.play(t)
			n.guest.Run(t, "udevadm settle --timeout=100000")
			for address, was := range before {
				if now := n.functions(t)[address]; now != was {
					t.Errorf("%s was %v, and is %v", address, was, now)
				}
			}
		})
	}
	if played == 0 {
		t.Error("no scenario has the name that was asked for (SriovCNI, Multus and Whereabouts: with --plugins)")
	}
}

// Red when a pod does not see its VF, when its container loses it by a restart, when the claim does not say what was made, or
// when any of it writes a slice.
func (n *node) testAnInterface(t *testing.T) {
	offered := n.Server.Revision(t)
	s := n.apply(t, "interface")
	pod := s.running(0)[0]
	s.seesInterface(pod, 0)
	s.wait(t, "the claim says what was made", func() bool {
		devices := s.claim(pod, "net").Status.Devices
		return len(devices) == 1 && devices[0].NetworkData != nil && devices[0].NetworkData.InterfaceName == "net1" &&
			strings.Contains(s.said(pod, 0), "link/ether "+devices[0].NetworkData.HardwareAddress+" ")
	})
	if kept := n.kept(t); !strings.Contains(kept, "/var/run/cdi/") || !strings.Contains(kept, "/interfaces/") || !strings.Contains(kept, "/dra-device-metadata/") {
		t.Errorf("kept is %s", kept)
	}
	s.killContainers()
	s.seesInterface(s.running(1)[0], 1)
	n.end(t, s)
	if after := n.History.States(t, offered); len(after) > 1 {
		t.Errorf("a pod's life wrote %d slices: %s", len(after)-1, after[1])
	}
}

// seesInterface holds what a container says against the function that its claim has, which the host has no interface of.
func (s *scenario) seesInterface(pod core.Pod, life int32) {
	s.t.Helper()
	address := s.allocated(pod, "net")
	said := s.said(pod, life)
	for _, want := range []string{"function=/sys/devices/", "/" + address + "\n", "SRIOVNETWORK_PCI_ADDRESSES=" + address + "\n", " net1: ", ",UP", "inet 192.0.2.7/24"} {
		if !strings.Contains(said, want) {
			s.t.Errorf("the container does not say %q; it says\n%s", want, said)
		}
	}
	if left := s.functions(s.t)[address].netdev; left != "" {
		s.t.Errorf("%s of %s is in the host as well", left, address)
	}
}

// Red when a container cannot open its function's group, or reads of another function than the one that was allocated.
func (n *node) testAFunction(t *testing.T) {
	s := n.apply(t, "vfio")
	s.seesFunction(s.running(0)[0], 0)
	n.end(t, s)
}

// seesFunction holds what a container opens and reads against the functions that its claim has, in their order.
func (s *scenario) seesFunction(pod core.Pod, life int32) {
	s.t.Helper()
	addresses := s.allAllocated(pod, "net")
	said := s.said(pod, life)
	if opened := strings.Count(said, "opened="); opened != len(addresses) || !strings.Contains(said, "SRIOVNETWORK_PCI_ADDRESSES="+strings.Join(addresses, ",")+"\n") {
		s.t.Errorf("%v are allocated; the container says\n%s", addresses, said)
	}
	for _, address := range addresses {
		group := s.guest.Run(s.t, "basename $(readlink /sys/bus/pci/devices/"+address+"/iommu_group)")
		if !strings.Contains(said, "opened=/dev/vfio/"+group+"\n") {
			s.t.Errorf("%s is of group %s; the container says\n%s", address, group, said)
		}
		if now := s.functions(s.t)[address]; now.driver != "vfio-pci" {
			s.t.Errorf("%s: %v", address, now)
		}
	}
	_, text, _ := strings.Cut(said, "\n{")
	var metadata struct {
		Requests []struct {
			Name    string
			Devices []struct {
				Driver, Pool, Name string
				Attributes         map[string]struct{ String string }
			}
		}
	}
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(&metadata); err != nil {
		s.t.Fatalf("metadata: %v in\n%s", err, said)
	}
	if len(metadata.Requests) != 1 || len(metadata.Requests[0].Devices) != len(addresses) {
		s.t.Fatalf("metadata: %+v", metadata)
	}
	// As KubeVirt looks it up: from the claim's allocation to the slice's attribute.
	for i, address := range addresses {
		device := metadata.Requests[0].Devices[i]
		published := s.History.Now().Devices()[harness.DeviceName(address)].Attributes["resource.kubernetes.io/pciBusID"]
		if device.Driver != harness.Driver || device.Pool != s.Node || device.Name != harness.DeviceName(address) || published.StringValue == nil ||
			*published.StringValue != address || device.Attributes["resource.kubernetes.io/pciBusID"].String != address {
			s.t.Errorf("allocated is %s, the metadata has %+v", address, device)
		}
	}
}

// Red when a machine with two functions of one request misses one, or finds them in another order than they were allocated in.
func (n *node) testTwoOfOneClaim(t *testing.T) {
	s := n.apply(t, "two")
	pod := s.running(0)[0]
	if all := s.allAllocated(pod, "net"); len(all) != 2 || all[0] == all[1] {
		t.Errorf("allocated are %v", all)
	}
	s.seesFunction(pod, 0)
	n.end(t, s)
}

// Red when the two pods of a machine that migrates have not a function each, or the one that stays loses anything with the other.
func (n *node) testMigration(t *testing.T) {
	s := n.apply(t, "migration")
	both := map[string]core.Pod{}
	for _, pod := range s.running(0) {
		s.seesFunction(pod, 0)
		both[pod.Name] = pod
	}
	source, target := s.allocated(both["source"], "net"), s.allocated(both["target"], "net")
	if source == target {
		t.Fatalf("both have %s", source)
	}
	err := s.Server.Client.CoreV1().Pods(s.manifest.Namespace).Delete(context.Background(), "source", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.wait(t, "the source is gone, and has given its function back", func() bool {
		return len(s.manifest.Pods()) == 1 && s.functions(t)[source].driver != "vfio-pci"
	})
	s.seesFunction(s.running(0)[0], 0)
	if restarts := s.running(0)[0].Status.ContainerStatuses[0].RestartCount; restarts != 0 {
		t.Errorf("the target was restarted %d times", restarts)
	}
	n.end(t, s)
}

// Red when a container runs without its interface because a plugin takes longer than the runtime waits, or when the pod does not
// run once it does not.
func (n *node) testSlowCNI(t *testing.T) {
	const refused = "pod sandbox rejected"
	n.kill(t)
	n.serve(t, "--cni-plugins-exclusive", "slow")
	n.guest.Run(t, "touch /run/slow")
	defer n.guest.Run(t, "rm -f /run/slow")
	before := strings.Count(tail(n.log(), 1000), refused)
	s := n.apply(t, "slow")
	s.wait(t, "its sandbox is refused", func() bool { return strings.Count(tail(n.log(), 1000), refused) > before })
	for _, status := range s.manifest.Pods()[0].Status.ContainerStatuses {
		if status.ContainerID != "" {
			t.Errorf("there is a container: %+v", status)
		}
	}
	n.guest.Run(t, "rm /run/slow")
	s.seesInterface(s.running(0)[0], 0)
	n.end(t, s)
	n.kill(t)
	n.serve(t)
}

// Red when an interface or a function has not the address that its pod asks for, or keeps it.
func (n *node) testAddresses(t *testing.T) {
	admin := func() string {
		return n.guest.Run(t, "ip link show dev $(ls /sys/bus/pci/devices/"+pf+"/net) | grep ' vf '")
	}
	mac := func(address string) string {
		return n.guest.Run(t, "cat /sys/bus/pci/devices/"+address+"/net/*/address")
	}
	macs := map[string]string{}
	for _, address := range n.vfs(t) {
		macs[address] = mac(address)
	}
	before := admin()
	s := n.apply(t, "addresses")
	pod := s.running(0)[0]
	if said := s.said(pod, 0); !strings.Contains(said, "link/ether 02:00:00:00:0a:01 ") {
		t.Errorf("the container has an interface\n%s", said)
	}
	moved, own := s.allocated(pod, "net"), s.allocated(pod, "own")
	for i, address := range n.vfs(t) {
		line := strings.Split(admin(), "\n")[i]
		if has := strings.Contains(line, "02:00:00:00:0a:02"); has != (address == own) {
			t.Errorf("%s, of %s: the PF says %s", own, address, line)
		}
	}
	n.end(t, s)
	if after := admin(); after != before {
		t.Errorf("the PF said\n%s\nand after the pod says\n%s", before, after)
	}
	// The other function was reset, and the emulated card gives one that is reset a new address.
	if after := mac(moved); after != macs[moved] {
		t.Errorf("%s had %s, and after the pod has %s", moved, macs[moved], after)
	}
}

// Red when a pod loses anything because its daemon is killed and another takes over, or when that one does not undo what the
// other did.
func (n *node) testAnotherDaemon(t *testing.T) {
	a, b := n.apply(t, "interface"), n.apply(t, "vfio")
	a.seesInterface(a.running(0)[0], 0)
	b.seesFunction(b.running(0)[0], 0)
	n.kill(t)
	a.killContainers() // they restart without a daemon
	a.seesInterface(a.running(1)[0], 1)
	n.serve(t)
	a.killContainers()
	a.seesInterface(a.running(2)[0], 2)
	if restarts := b.running(0)[0].Status.ContainerStatuses[0].RestartCount; restarts != 0 {
		t.Errorf("a container that nobody touched was restarted %d times", restarts)
	}
	n.end(t, a, b)
}

// Red when a daemon in mode MULTUS takes a pod's interface away, or does not undo with its sandbox what the one before it made.
func (n *node) testAnotherMode(t *testing.T) {
	s := n.apply(t, "interface")
	s.seesInterface(s.running(0)[0], 0)
	n.kill(t)
	n.serve(t, "--configuration-mode", "MULTUS")
	s.killContainers()
	s.seesInterface(s.running(1)[0], 1)
	n.end(t, s)
	n.kill(t)
	n.serve(t)
}

// Red when pods lose anything because containerd and the kubelet are killed and start anew, when a container is created for whose
// interface nobody looked, when slices stay away, or when a pod that was deleted meanwhile keeps its function.
func (n *node) testRuntimeAndKubelet(t *testing.T) {
	a, b := n.apply(t, "interface"), n.apply(t, "vfio")
	a.seesInterface(a.running(0)[0], 0)
	b.seesFunction(b.running(0)[0], 0)
	n.guest.Run(t, "killall -KILL kubelet containerd")
	b.manifest.DeletePods()
	connected := strings.Count(tail(n.log(), 1000), "connected to the container runtime")
	n.startRuntime(t)
	n.wait(t, "the daemon is the runtime's plugin again", func() bool {
		return strings.Count(tail(n.log(), 1000), "connected to the container runtime") > connected
	})
	rv := n.Server.Revision(t)
	n.startKubelet(t)
	n.History.Wait(t, "all offered after the kubelet's start", rv, patience, func(s harness.PoolState) bool { return s.Offers(n.devices(t)...) })
	b.gone()
	if restarts := a.running(0)[0].Status.ContainerStatuses[0].RestartCount; restarts != 0 {
		t.Errorf("a container that nobody touched was restarted %d times", restarts)
	}
	a.killContainers()
	a.seesInterface(a.running(1)[0], 1)
	n.end(t, a)
}

// Red when pods do not run again after the machine lost its power, with what their claims have had before, or when their devices
// are not given back after that.
func (n *node) testReboot(t *testing.T) {
	a, b := n.apply(t, "interface"), n.apply(t, "vfio")
	first, second := a.running(0)[0], b.running(0)[0]
	a.seesInterface(first, 0)
	b.seesFunction(second, 0)
	n.guest.Stop()
	n.boot(t)
	n.serve(t)
	again, later := a.running(1)[0], b.running(1)[0]
	if again.UID != first.UID || later.UID != second.UID {
		t.Errorf("other pods run")
	}
	a.seesInterface(again, 1)
	b.seesFunction(later, 1)
	n.end(t, a, b)
}

// Red when sriov-cni is not told what it wants, or when a PF goes on tagging after the pod.
func (n *node) testSriovCNI(t *testing.T) {
	tagged := func() int {
		return strings.Count(n.guest.Run(t, "ip link show dev $(ls /sys/bus/pci/devices/"+pf+"/net)"), "vlan 100, spoof checking off")
	}
	s := n.apply(t, "sriov-cni")
	s.seesInterface(s.running(0)[0], 0)
	if tagged() != 1 {
		t.Errorf("the PF tags %d VFs", tagged())
	}
	s.killContainers()
	s.seesInterface(s.running(1)[0], 1)
	n.end(t, s)
	if tagged() != 0 {
		t.Errorf("the PF tags %d VFs after the pod", tagged())
	}
}

// Red when a VF keeps its pod's VLAN and spoof check because the pod's namespace had gone before DEL: sriov-cni then reports success.
func (n *node) testSettingsOfAPodThatEndedUnseen(t *testing.T) {
	ofPF := func() string { return n.guest.Run(t, "ip link show dev $(ls /sys/bus/pci/devices/"+pf+"/net)") }
	before := ofPF()
	s := n.apply(t, "sriov-cni")
	s.seesInterface(s.running(0)[0], 0)
	n.kill(t)
	s.manifest.DeletePods()
	n.wait(t, "the pod's network namespace is gone", func() bool { return len(n.functions(t)) == 3 && n.areHome(t) })
	if now := ofPF(); !strings.Contains(now, "vlan 100, spoof checking off") {
		t.Errorf("nobody runs sriov-cni, and the PF is\n%s", now)
	}
	n.serve(t)
	n.end(t, s)
	n.wait(t, "nothing of settings is left", func() bool {
		return n.guest.Run(t, "find /var/lib/kubelet/plugins/*/sliced-original-settings -type f 2>/dev/null || true") == ""
	})
	if now := ofPF(); now != before {
		t.Errorf("the PF was\n%s\nand is\n%s", before, now)
	}
}

// areHome returns whether each function has an interface on the host.
func (n *node) areHome(t *testing.T) bool {
	t.Helper()
	for _, its := range n.functions(t) {
		if its.netdev == "" {
			return false
		}
	}
	return true
}

// Red when Multus does not find the pod's VF by what is published, or cannot move it.
func (n *node) testMultus(t *testing.T) {
	n.introduce(t, "multus", harness.User{Name: "multus", Group: "system:masters"})
	const file = "/etc/cni/net.d/00-multus.conf"
	n.guest.Run(t, "echo '"+`{"cniVersion": "1.0.0", "name": "multus", "type": "multus", "kubeconfig": "/host/multus.kubeconfig",
  "delegates": [{"cniVersion": "1.0.0", "name": "pods", "type": "pods"}]}`+"' >"+file)
	n.kill(t)
	n.serve(t, "--configuration-mode", "MULTUS")
	s := n.apply(t, "multus")
	s.seesInterface(s.running(0)[0], 0)
	n.end(t, s)
	n.guest.Run(t, "rm "+file)
	n.kill(t)
	n.serve(t)
}

// Red when whereabouts, with its configuration where it looks for it, cannot give addresses by what a definition may say, gives one twice,
// or keeps one after the pod.
func (n *node) testWhereabouts(t *testing.T) {
	kinds, err := harness.ReadYAML("testdata/whereabouts-crds.yaml")
	if err == nil {
		err = n.Server.InstallCRDs(kinds)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.introduce(t, "whereabouts", harness.User{Name: "whereabouts", Group: "system:masters"})
	const directory = "/etc/cni/net.d/whereabouts.d"
	n.guest.Run(t, "mkdir -p "+directory+" && echo '"+`{"datastore": "kubernetes", "kubernetes": {"kubeconfig": "/host/whereabouts.kubeconfig"},
"leader_lease_duration": 30000, "leader_renew_deadline": 20000, "leader_retry_period": 500}`+"' >"+directory+"/whereabouts.conf") // an emulated processor is slow
	defer n.guest.Run(t, "rm -r "+directory)
	allocated := func() (addresses []string) {
		pools, err := n.Server.Dynamic.Resource(schema.GroupVersionResource{Group: "whereabouts.cni.cncf.io", Version: "v1alpha1", Resource: "ippools"}).
			List(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pool := range pools.Items {
			all, _, _ := unstructured.NestedMap(pool.Object, "spec", "allocations")
			for offset := range all {
				addresses = append(addresses, offset)
			}
		}
		return addresses
	}
	s := n.apply(t, "whereabouts")
	seen := map[string]bool{}
	for _, pod := range s.running(0) {
		said := s.said(pod, 0)
		_, address, is := strings.Cut(said, "inet 192.0.2.")
		if !is {
			t.Fatalf("the container says\n%s", said)
		}
		address, _, _ = strings.Cut(address, "/")
		seen[address] = true
	}
	if offsets := allocated(); len(seen) != 2 || len(offsets) != 2 || !seen[offsets[0]] || !seen[offsets[1]] {
		t.Errorf("the pods have %v, and whereabouts keeps %v", seen, offsets)
	}
	n.end(t, s)
	if left := allocated(); len(left) > 0 {
		t.Errorf("after the pods whereabouts keeps %v", left)
	}
}
