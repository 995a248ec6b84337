package guest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

const podsPage = "../../docs/pods.md"

func (n *node) nameOfPF(t *testing.T) string {
	t.Helper()
	return n.guest.Run(t, "ls /sys/bus/pci/devices/"+pf+"/net")
}

// pageExamples are what the container of each example of docs/pods.md writes.
var pageExamples = map[string][]string{
	"native":  {": net1: ", "inet 192.0.2.6/24", "198.51.100.0/24 via 192.0.2.1 dev net1"},
	"sriov":   {": net1: ", "inet 192.0.2.7/24"},
	"vfio":    {"SRIOVNETWORK_PCI_ADDRESSES=0000:", "\nvfio"},
	"macvlan": {": net1@", "inet 192.0.2.8/24"},
	"rdma":    {"uverbs0", "rdma_cm", ": net1@", "inet 192.0.2.9/24"},
	"numa":    {"SRIOVNETWORK_PCI_ADDRESSES=0000:", "\nvfio"},
}

// Red when an example of docs/pods.md, applied as the page has it, does not start its pod, or when the container does not see what the
// page promises: a VF's group, a macvlan interface with its address, the nodes of an RDMA device. The same when all examples are applied
// together. The PF's RDMA device is rdma_rxe's. The example of sriov-cni runs only where --plugins gives that program.
func (n *node) testPodsPage(t *testing.T) {
	var names []string
	for name := range pageExamples {
		if _, err := os.Stat(filepath.Join(*given, "sriov")); name == "sriov" && (*given == "" || err != nil) {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { n.playExamples(t, name) })
	}
	t.Run("together", func(t *testing.T) {
		// The examples use five VFs.
		n.guest.Run(t, "cd /sys/bus/pci/devices/"+pf+" && echo 0 >sriov_numvfs && echo 5 >sriov_numvfs && udevadm settle --timeout=100000")
		n.playExamples(t, names...)
		rv := n.Server.Revision(t)
		n.guest.Run(t, "echo 0 >/sys/bus/pci/devices/"+pf+"/sriov_numvfs")
		n.makeFunctions(t)
		n.History.WaitOffers(t, rv, patience, n.devices(t)...)
	})
	if found, err := harness.Examples(podsPage); err != nil || len(found) != len(pageExamples) {
		t.Errorf("the page has the examples %v (%v)", found, err)
	}
}

func (n *node) playExamples(t *testing.T, names ...string) {
	t.Helper()
	if slices.Contains(names, "rdma") {
		link := n.nameOfPF(t)
		n.guest.Run(t, "modprobe rdma_rxe && modprobe rdma_ucm && ip link set "+link+" up && rdma link add rxe0 type rxe netdev "+link)
		defer n.guest.Run(t, "rdma link delete rxe0 && ip link set "+link+" down")
	}
	s := n.applyExamples(t, names...)
	pods := s.running(0)
	if len(pods) != len(names) {
		t.Errorf("%d pods run of the examples %v", len(pods), names)
	}
	for _, pod := range pods {
		s.waitSaid(pod, pageExamples[strings.Replace(pod.Name, "dpdk", "vfio", 1)]...)
	}
	if tags := strings.Contains(n.guest.Run(t, "ip link show dev "+n.nameOfPF(t)), "vlan 100"); tags != slices.Contains(names, "sriov") {
		t.Errorf("%v: that the PF tags VLAN 100 is %v", names, tags)
	}
	n.end(t, s)
}
