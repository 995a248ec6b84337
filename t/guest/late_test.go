package guest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// What the script of this node sets, late: of the first function and of the second, by their pods. An igb has no GUIDs.
const (
	sign     = "/run/sliced/configured"
	mtu      = 2000
	noMAC    = "00:00:00:00:00:00"
	firstMAC = "02:00:00:00:0b:01"
	otherMAC = "02:00:00:00:0b:02"
)

// Red when after a reboot a container starts before the node's script has set the MAC address and the MTU of its function: neither
// before it says that it is done, whatever the policy asks for, nor where it says so too early, and the policy asks for both.
func (n *node) testLateScript(t *testing.T) {
	n.kill(t)
	demanding, trusting := n.vfs(t)[0], n.vfs(t)[1]
	n.offersBy(t, "demanding", demanding, M{"require": L{"driverBound", "netdev", "adminMac", "adminMacMatches"}, "mtuAtLeast": int64(mtu)})
	n.offersBy(t, "trusting", trusting, nil)
	defer n.forgetConfigured(t)
	n.setMAC(t, 0, firstMAC)
	n.bindAnew(t, demanding)
	n.bindAnew(t, trusting)
	n.setMTU(t, demanding)
	n.guest.Run(t, "sliced configured --for file:"+sign)
	n.serve(t, "--until-configured file:"+sign)
	s := n.apply(t, "late")
	s.running(0)

	n.guest.Stop()
	n.power(t)
	n.startRuntime(t)
	n.recordEvents(t)
	n.startKubelet(t)
	n.launch(t, "--until-configured file:"+sign)
	n.waitRegistered(t)
	s.refused("demanding", " does not exist on this node")
	s.refused("trusting", " does not exist on this node")

	n.makeFunctions(t)
	s.refused("demanding", "is not ready: this node is not configured yet: "+sign+": there is no such file")
	s.refused("trusting", "is not ready: this node is not configured yet: "+sign+": there is no such file")

	rv := n.Server.Revision(t)
	n.mark(t, "trusting")
	n.setMAC(t, 1, otherMAC)
	n.bindAnew(t, trusting)
	n.setMTU(t, trusting)
	n.guest.Run(t, "sliced configured --for file:"+sign)
	n.History.WaitOffers(t, rv, patience, n.devices(t)[1:]...)
	s.seesSet("trusting", otherMAC)
	s.refused("demanding", "is not ready: ", "adminMac: VF 0 of ", " has admin MAC "+noMAC, "mtuAtLeast: ")

	n.setMAC(t, 0, firstMAC) // which its interface takes over when it is bound anew
	s.refused("demanding", "is not ready: adminMacMatches: ", "mtuAtLeast: ")
	n.bindAnew(t, demanding)
	s.refused("demanding", "is not ready: mtuAtLeast: ")
	rv = n.Server.Revision(t)
	n.mark(t, "demanding")
	n.setMTU(t, demanding)
	s.seesSet("demanding", firstMAC)
	n.History.WaitOffers(t, rv, patience, n.devices(t)...)
	s.startedInOrder("trusting", "demanding")
	n.end(t, s)
}

// offersBy has one function offered by a policy of its own, whose name it gets.
func (n *node) offersBy(t *testing.T, name, address string, readiness M) {
	t.Helper()
	policy := harness.Policy(n.Namespace, name, harness.Config(name, M{"pciAddresses": L{address}}))
	spec := policy.Object["spec"].(M)
	spec["priority"] = int64(1)
	if readiness != nil {
		spec["readiness"] = readiness
	}
	n.Server.Apply(t, harness.Policies, policy)
}

// forgetConfigured leaves the node as other scenarios know it.
func (n *node) forgetConfigured(t *testing.T) {
	for _, name := range []string{"demanding", "trusting"} {
		n.Server.Delete(t, harness.Policies, n.Namespace, name)
	}
	n.kill(t)
	for i, address := range n.vfs(t)[:2] {
		n.setMAC(t, i, noMAC)
		n.bindAnew(t, address)
	}
	n.guest.Run(t, fmt.Sprintf("rm %s && ip link set $(ls /sys/bus/pci/devices/%s/net) down", sign, pf))
	n.serve(t)
}

// setMAC has the PF up as well: an igb answers its VFs' drivers only then, and without an answer they make a MAC address up.
func (n *node) setMAC(t *testing.T, i int, mac string) {
	t.Helper()
	n.guest.Run(t, fmt.Sprintf("pf=$(ls /sys/bus/pci/devices/%s/net) && ip link set $pf up && ip link set $pf vf %d mac %s", pf, i, mac))
}

func (n *node) bindAnew(t *testing.T, address string) {
	t.Helper()
	n.guest.Run(t, "cd /sys/bus/pci/drivers/igbvf && echo "+address+" >unbind && echo "+address+" >bind && udevadm settle --timeout=100000")
}

func (n *node) setMTU(t *testing.T, address string) {
	t.Helper()
	n.guest.Run(t, fmt.Sprintf("ip link set $(ls /sys/bus/pci/devices/%s/net) mtu %d", address, mtu))
}

// recordEvents has the runtime's events written down from now on, each with the runtime's own time.
func (n *node) recordEvents(t *testing.T) {
	t.Helper()
	n.guest.Run(t, ">/run/events; /opt/bin/ctr events >/run/events 2>&1 </dev/null &")
	n.mark(t, "begun")
	n.wait(t, "events are written down", func() bool {
		out := n.guest.Run(t, "cat /run/events")
		if out == "" {
			n.guest.Run(t, "/opt/bin/ctr namespaces label begun at=last")
		}
		return out != ""
	})
}

// mark makes an event of the runtime's that says where the script stands: what it does next is later.
func (n *node) mark(t *testing.T, what string) {
	t.Helper()
	n.guest.Run(t, "/opt/bin/ctr namespaces create "+what)
}

// event is the start of a container (or of a pod's sandbox), or a mark.
type event struct{ at, pod, mark string }

var eventLine = regexp.MustCompile(`^([0-9-]+ [0-9:.]+) \+0000 UTC \S* /(tasks/start|namespaces/create) .*"(?:container_id|name)": ?"([^"]+)"`)

// events are those of this boot, in the order of their times.
func (s *scenario) events() (all []event) {
	s.t.Helper()
	said := s.guest.Run(s.t, "cat /run/events")
	pods := map[string]string{}
	if strings.Contains(said, " /tasks/start ") {
		pods = s.containers()
	}
	for _, line := range strings.Split(said, "\n") {
		part := eventLine.FindStringSubmatch(line)
		switch {
		case part == nil:
		case part[2] == "namespaces/create":
			all = append(all, event{at: part[1], mark: part[3]})
		case pods[part[3]] == "":
			s.t.Fatalf("a container starts that is not a pod's: %s", line)
		default:
			all = append(all, event{at: part[1], pod: pods[part[3]]})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return strings.Compare(a.at, b.at) })
	return all
}

// containers are those that the runtime knows, with their pods.
func (s *scenario) containers() map[string]string {
	s.t.Helper()
	found := map[string]string{}
	for _, pod := range s.manifest.Pods() {
		ids := s.guest.Run(s.t, `/opt/bin/ctr --namespace k8s.io containers list --quiet 'labels."io.kubernetes.pod.uid"==`+string(pod.UID)+"'")
		for _, id := range strings.Fields(ids) {
			found[id] = pod.Name
		}
	}
	return found
}

// refused returns once the kubelet has said of a pod that it is not prepared, with these words, and nothing of the pod has started.
func (s *scenario) refused(pod string, words ...string) {
	s.t.Helper()
	what := metav1.ListOptions{FieldSelector: "reason=FailedPrepareDynamicResources,involvedObject.name=" + pod}
	s.wait(s.t, fmt.Sprintf("pod %s is refused: %v", pod, words), func() bool {
		if slices.ContainsFunc(s.events(), func(e event) bool { return e.pod == pod }) {
			s.t.Fatalf("pod %s starts, and should be refused: %v", pod, words)
		}
		events, err := s.Server.Client.CoreV1().Events(s.manifest.Namespace).List(context.Background(), what)
		if err != nil {
			s.t.Fatal(err)
		}
		return slices.ContainsFunc(events.Items, func(said core.Event) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(said.Message, word) })
		})
	})
}

// seesSet waits for the pod's first container of this boot, and holds what it saw when it started against what was set.
func (s *scenario) seesSet(name, mac string) {
	s.t.Helper()
	var pod core.Pod
	s.wait(s.t, "pod "+name+" runs again", func() bool {
		for _, pod = range s.manifest.Pods() {
			if of := pod.Status.ContainerStatuses; pod.Name == name && len(of) == 1 && of[0].State.Running != nil && of[0].RestartCount > 0 {
				return true
			}
		}
		return false
	})
	if want := fmt.Sprintf("set=%s %d\n", mac, mtu); !strings.HasPrefix(s.said(pod, 1), want) {
		s.t.Errorf("%s started without %s; it says\n%s", name, want, s.said(pod, 1))
	}
	s.seesInterface(pod, 1)
}

// startedInOrder fails unless each pod has started, sandbox and container, after the mark of its name, and nothing of it before.
func (s *scenario) startedInOrder(pods ...string) {
	s.t.Helper()
	for _, pod := range pods {
		marked, starts := false, 0
		for _, event := range s.events() {
			marked = marked || event.mark == pod
			if event.pod != pod {
				continue
			}
			starts++
			if !marked {
				s.t.Errorf("something of pod %s started at %s, before the script came to its function", pod, event.at)
			}
		}
		if !marked || starts < 2 {
			s.t.Errorf("of pod %s %d containers are known to have started, and there are its sandbox and its own: %v", pod, starts, s.events())
		}
	}
}
