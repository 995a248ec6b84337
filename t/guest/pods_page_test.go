package guest

import (
	"os"
	"path/filepath"
	"testing"

	"sliced.test/cluster/harness"
)

const podsPage = "../../docs/pods.md"

func (n *node) nameOfPF(t *testing.T) string {
	t.Helper()
	return n.guest.Run(t, "ls /sys/bus/pci/devices/"+pf+"/net")
}

// Red when an example of docs/pods.md, applied as the page has it, does not start its pod, or when the container does not see what the
// page promises: a VF's group, a macvlan interface with its address, the nodes of an RDMA device. The PF's RDMA device is rdma_rxe's.
// The example of sriov-cni runs only where --plugins gives that program.
func (n *node) testPodsPage(t *testing.T) {
	for name, wants := range map[string][]string{
		"sriov":   {": net1: ", "inet 192.0.2.7/24"},
		"vfio":    {"SRIOVNETWORK_PCI_ADDRESSES=0000:", "\nvfio"},
		"macvlan": {": net1@", "inet 192.0.2.8/24"},
		"rdma":    {"uverbs0", "rdma_cm", ": net1@", "inet 192.0.2.9/24"},
		"numa":    {"SRIOVNETWORK_PCI_ADDRESSES=0000:", "\nvfio"},
	} {
		if _, err := os.Stat(filepath.Join(*given, "sriov")); name == "sriov" && (*given == "" || err != nil) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if name == "rdma" {
				link := n.nameOfPF(t)
				n.guest.Run(t, "modprobe rdma_rxe && modprobe rdma_ucm && ip link set "+link+" up && rdma link add rxe0 type rxe netdev "+link)
				defer n.guest.Run(t, "rdma link delete rxe0 && ip link set "+link+" down")
			}
			s := n.applyExample(t, name)
			s.waitSaid(s.running(0)[0], wants...)
			n.end(t, s)
		})
	}
	names, err := harness.Examples(podsPage)
	if err != nil || len(names) != 5 {
		t.Errorf("the page has the examples %v (%v)", names, err)
	}
}
