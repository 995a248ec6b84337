package guest

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

var givenBack = flag.Int("given-back", 200, "number of pods whose VF must come back as it was (TestVFsComeBackAsTheyWere)")

// Red when a VF that sliced attached without a CNI plugin does not come back as the site had configured it: its interface, and what its PF
// reports of it, both by ip(8). Pods run three at a time, with every setting that an igb has, with an interface that the container changes,
// and with the site's settings reset. Each container is killed once. By turns the daemon is killed beside running pods, while pods start, and
// before pods end; the power of the node goes while pods run and while they start.
func TestVFsComeBackAsTheyWere(t *testing.T) {
	prepareNode(t)
	n := newNode(t)
	policy := harness.Policy(n.Namespace, "every-vf", harness.Config("nic_1", M{}))
	policy.Object["spec"].(M)["allow"] = L{"mac", "vlan", "vlanQoS", "trust", "spoofchk", "max_tx_rate"}
	n.Server.Apply(t, harness.Policies, policy)
	n.configureSite(t)
	original := n.settings(t)
	t.Logf("the site has\n%s", original)
	n.serve(t)
	s := n.applyFurniture(t, "given-back")
	devices := map[string]map[string]int{}
	daemons, nodes, pods := 0, 0, 0
	for round := 0; pods < *givenBack; round++ {
		boot := n.bootID(t)
		s.manifest.ApplyPods()
		restart := func() {
			n.kill(t)
			n.serve(t)
			daemons++
		}
		powerOff := func() {
			n.guest.Stop()
			n.boot(t)
			n.configureSite(t)
			n.serve(t)
			boot = n.bootID(t)
			nodes++
		}
		if round%2 == 0 {
			s.wait(t, "the first device is prepared", func() bool { return n.kept(t) != "" })
			if round%16 == 12 {
				powerOff()
			} else {
				restart()
			}
		}
		started := s.lives(boot, nil)
		for name, life := range started {
			s.isAsClaimed(name, life, original)
			if devices[name] == nil {
				devices[name] = map[string]int{}
			}
			devices[name][life.device]++
		}
		if round%16 == 4 {
			powerOff()
			again := s.lives(boot, started)
			for name, life := range again {
				s.isAsClaimed(name, life, original)
				if life.device != started[name].device {
					t.Errorf("round %d: %s had %s, and after the reboot has %s", round, name, started[name].device, life.device)
				}
			}
			started = again
		}
		if round%4 == 1 {
			n.kill(t)
		}
		s.killMarked()
		for name, life := range s.lives(boot, started) {
			s.isAsClaimed(name, life, original)
			if was := started[name]; life.device != was.device || life.number != was.number+1 {
				t.Errorf("round %d: the container of %s was %v, and after its restart is %v", round, name, was, life)
			}
		}
		if round%4 == 1 {
			n.serve(t)
			daemons++
		}
		if round%4 == 3 {
			n.kill(t)
			s.manifest.DeletePods()
			n.wait(t, "the network namespaces of the pods are gone", func() bool { return n.areHome(t) })
			n.serve(t)
			daemons++
		}
		pods += len(started)
		n.end(t, s)
		n.wait(t, "nothing of original settings is kept", func() bool {
			return n.guest.Run(t, "find /var/lib/kubelet/plugins/*/sliced-original-settings -type f 2>/dev/null || true") == ""
		})
		if now := n.settings(t); now != original {
			t.Fatalf("round %d: the site had\n%s\nand after %d pods there is\n%s", round, original, pods, now)
		}
		if t.Failed() {
			t.Fatalf("round %d of pods was not right", round)
		}
		t.Logf("%d pods, %d restarts of the daemon, %d of the node", pods, daemons, nodes)
	}
	t.Logf("VFs of the pods: %v", devices)
}

// configureSite gives each VF settings of its own, as a site's script does after each boot. The PF is up: an igb refuses rates otherwise.
func (n *node) configureSite(t *testing.T) {
	t.Helper()
	link := n.nameOfPF(t)
	n.guest.Run(t, "ip link set "+link+" up")
	n.wait(t, "the PF has a carrier", func() bool { return n.guest.Run(t, "cat /sys/class/net/"+link+"/carrier") == "1" })
	n.guest.Run(t, fmt.Sprintf(`set -e
ip link set %[1]s vf 0 mac 02:00:00:00:0c:00 && ip link set %[1]s vf 0 vlan 7 qos 2 && ip link set %[1]s vf 0 spoofchk off
ip link set %[1]s vf 0 trust on && ip link set %[1]s vf 0 max_tx_rate 100
ip link set %[1]s vf 1 mac 02:00:00:00:0c:01
ip link set %[1]s vf 2 mac 02:00:00:00:0c:02 && ip link set %[1]s vf 2 trust on`, link))
	vfs := n.vfs(t)
	for _, address := range vfs {
		n.bindAnew(t, address) // the interface takes the MAC address over
	}
	n.guest.Run(t, fmt.Sprintf(`set -e
name() { ls /sys/bus/pci/devices/$1/net; }
ip link set $(name %[1]s) mtu 2000 && ip link property add dev $(name %[1]s) altname site0
ip link set $(name %[3]s) mtu 1600 txqueuelen 500 && ip link set $(name %[3]s) alias "of the site"`, vfs[0], vfs[1], vfs[2]))
}

// settings are what ip(8) reports of the PF, its VFs, and their interfaces, without the numbers of interfaces.
func (n *node) settings(t *testing.T) string {
	t.Helper()
	return n.guest.Run(t, fmt.Sprintf(`udevadm settle --timeout=100000
{ ip link show dev %[1]s
for address in %[2]s; do
  cd /sys/bus/pci/devices/$address
  echo "$address $(basename $(readlink driver)) $(cat driver_override)"
  ip -details address show dev $(ls net)
done; } 2>&1 | sed 's/^[0-9]*: //'`, n.nameOfPF(t), strings.Join(n.vfs(t), " ")))
}

func (n *node) bootID(t *testing.T) string {
	t.Helper()
	return n.guest.Run(t, "cat /proc/sys/kernel/random/boot_id")
}

// life is one container of a pod: its number, counted from 0, the VF that its claim has, and what it wrote.
type life struct {
	number       int
	device, said string
}

// lives returns, by the name of the pod, the last containers, once each is later than the one of that pod in former, and has written in that
// boot all that it writes.
func (s *scenario) lives(boot string, former map[string]life) map[string]life {
	s.t.Helper()
	found := map[string]life{}
	for _, pod := range s.manifest.Pods() {
		atLeast := 0
		if before, is := former[pod.Name]; is {
			atLeast = before.number + 1
		}
		s.wait(s.t, fmt.Sprintf("container %d of pod %s has written, in boot %s, what it sees", atLeast, pod.Name, boot), func() bool {
			text := s.guest.Run(s.t, fmt.Sprintf("cd /var/log/pods/%s_%s_%s/app && last=$(ls | sort -n | tail -n 1) && echo ${last%%.log} && cut -d' ' -f4- $last || true",
				pod.Namespace, pod.Name, pod.UID))
			number, said, _ := strings.Cut(text, "\n")
			count, err := strconv.Atoi(number)
			if err != nil || count < atLeast || !strings.HasPrefix(said, "boot="+boot+"\n") || !strings.HasSuffix(said, "\nend") {
				return false
			}
			found[pod.Name] = life{number: count, said: said}
			return true
		})
	}
	for _, pod := range s.manifest.Pods() { // with their claims now
		its := found[pod.Name]
		its.device = s.allocated(pod, "net")
		found[pod.Name] = its
	}
	if len(found) != 3 {
		s.t.Fatalf("%d pods have written", len(found))
	}
	return found
}

// isAsClaimed holds what a container wrote, and what the PF reports of its VF, against the claim of that pod.
func (s *scenario) isAsClaimed(pod string, its life, original string) {
	s.t.Helper()
	vf := -1
	for i, address := range s.vfs(s.t) {
		if address == its.device {
			vf = i
		}
	}
	line := func(report string) string {
		for _, line := range strings.Split(report, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), fmt.Sprintf("vf %d ", vf)) {
				return line
			}
		}
		return ""
	}
	reported := line(s.guest.Run(s.t, "ip link show dev "+s.nameOfPF(s.t)))
	var inPod, ofVF []string
	switch pod {
	case "everything":
		inPod = []string{" net1: ", ",UP", " mtu 1400 ", "link/ether 02:00:00:00:0d:01 ", "inet 192.0.2.6/24 ", "inet6 2001:db8::6/64 ",
			"198.18.0.0/15 via 192.0.2.1 dev net1", "02:00:00:00:0d:0f", "arp_ignore=1"}
		ofVF = []string{"vlan 100, qos 3", "max_tx_rate 500Mbps", "spoof checking off", "trust on"}
	case "changed":
		inPod = []string{"inet 192.0.2.7/24 ", "\nchanged\n"}
	case "reset":
		inPod = []string{" net1: ", ",UP", " mtu 1300 ", "inet6 2001:db8::8/64 "}
		ofVF = []string{"spoof checking on", "trust off"}
		if strings.Contains(reported, "vlan") || strings.Contains(reported, "max_tx_rate") {
			s.t.Errorf("the PF reports of the VF of pod reset: %s", reported)
		}
	}
	for _, want := range append(inPod, "/"+its.device+"\n") {
		if !strings.Contains(its.said, want) {
			s.t.Errorf("container %d of pod %s has not written %q, but\n%s", its.number, pod, want, its.said)
		}
	}
	for _, want := range ofVF {
		if !strings.Contains(reported, want) {
			s.t.Errorf("the PF reports no %q of the VF of pod %s: %s", want, pod, reported)
		}
	}
	if pod == "changed" && reported != line(original) {
		s.t.Errorf("the PF reported\n%s\nand while pod %s has the VF\n%s", line(original), pod, reported)
	}
	if left := s.functions(s.t)[its.device].netdev; left != "" {
		s.t.Errorf("%s of %s, of pod %s, is in the host as well", left, its.device, pod)
	}
}

// killMarked ends the first process of each container of these pods.
func (s *scenario) killMarked() {
	s.t.Helper()
	s.guest.Run(s.t, `killed=0
for pid in $(pidof sleep); do
  grep -q GIVEN=back /proc/$pid/environ && kill -KILL $pid && killed=$((killed + 1))
done
echo $killed
[ $killed = 3 ]`)
}

// applyFurniture makes the objects of a manifest but its pods.
func (n *node) applyFurniture(t *testing.T, name string) *scenario {
	t.Helper()
	mine := *n.Lab
	mine.T = t
	s := &scenario{node: n, t: t, manifest: mine.ReadManifest(name + ".yaml")}
	s.manifest.Namespace = name + "-" + n.Node
	t.Cleanup(func() {
		if t.Failed() {
			s.tell()
		}
	})
	s.manifest.Furnish()
	return s
}
