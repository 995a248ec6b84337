package guest

import (
	"strings"
	"testing"
)

// One guest for all scenarios: they run one after the other, and each leaves the node without pods.
func TestNode(t *testing.T) {
	n := newNode(t)
	n.serve(t)
	t.Run("AnInterface", n.testAnInterface)
}

// Red when a pod does not see its VF, when its container loses it by a restart, when the claim does not say what was made, or
// when the VF does not come back under its name.
func (n *node) testAnInterface(t *testing.T) {
	names := map[string]string{}
	for _, address := range n.vfs(t) {
		names[address] = n.netdev(t, address)
	}
	offered := n.Server.Revision(t)
	s := n.apply(t, "interface")
	pod := s.running(0)[0]
	address := s.allocated(pod)
	s.seesInterface(s.said(pod, 0), address)
	if left := n.netdev(t, address); left != "" {
		t.Errorf("%s of %s is in the host as well", left, address)
	}
	n.guest.Run(t, "kill -KILL $(pidof sleep | tr ' ' '\\n' | while read pid; do grep -q SRIOVNETWORK /proc/$pid/environ && echo $pid; done)")
	pod = s.running(1)[0]
	s.seesInterface(s.said(pod, 1), address)
	s.end()
	n.guest.Run(t, "udevadm settle --timeout=30")
	for address, name := range names {
		if now := n.netdev(t, address); now != name {
			t.Errorf("the interface of %s was %s, and is %q", address, name, now)
		}
	}
	if after := n.History.States(t, offered); len(after) > 1 {
		t.Errorf("a pod's life wrote %d slices: %s", len(after)-1, after[1])
	}
}

// seesInterface holds what a container says against the function that its claim has.
func (s *scenario) seesInterface(said, address string) {
	s.t.Helper()
	for _, want := range []string{"function=/sys/devices/", "/" + address + "\n", "SRIOVNETWORK_PCI_ADDRESSES=" + address, "net1", "UP", "inet 192.0.2.7/24"} {
		if !strings.Contains(said, want) {
			s.t.Errorf("the container does not say %q; it says\n%s", want, said)
		}
	}
}
