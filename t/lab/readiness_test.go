package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

const noMAC = "00:00:00:00:00:00"

func setMAC(t testing.TB, n int, mac string) {
	t.Helper()
	guest.Run(t, fmt.Sprintf("ip link set ens1 vf %d mac %s", n, mac))
}

func macOf(n int) string { return fmt.Sprintf("02:00:00:00:01:%02x", n) }

// VFs that an external script makes: each waits for its own admin MAC. Red when one is offered before, when it waits for the
// others or for a restart, or when it stays after it was lost.
func TestVFsWaitForTheirAdminMAC(t *testing.T) {
	w := newWorld(t)
	w.ApplyReady("all", M{"require": L{"driverBound", "netdev", "adminMac"}}, harness.Config("", M{"vendors": L{"8086"}}))
	w.run()
	w.offers(0)
	guest.Run(t, "ip link set ens1 down")
	setVFs(t, pf0, 3)
	w.decides("VF 2 of ens1 has admin MAC " + noMAC)
	if state := w.History.Now(); !state.Offers() {
		t.Fatalf("without a MAC address: %s", state)
	}
	if text := guest.Run(t, fmt.Sprintf("sliced explain --cluster kubeconfig:/host/kubeconfig-%s --node-name %s --namespace %s %s",
		w.Node, w.Node, w.Namespace, vf(pf0, 2))); !strings.Contains(text, "held back: adminMac: VF 2 of ens1 has admin MAC "+noMAC) {
		t.Errorf("explain says:\n%s", text)
	}

	// A PF that is down says nothing of it: it is asked again.
	rv := w.now()
	setMAC(t, 1, macOf(1))
	w.offers(rv, vfs(pf0, 3)[1:2])
	rv = w.now()
	guest.Run(t, "ip link set ens1 up")
	setMAC(t, 0, macOf(0))
	setMAC(t, 2, macOf(2))
	w.offers(rv, vfs(pf0, 3))

	// The driver is away for a moment, with what it has been given.
	rv = w.now()
	address := vf(pf0, 1)
	guest.Run(t, "echo "+address+" >/sys/bus/pci/drivers/igbvf/unbind")
	w.offers(rv, vfs(pf0, 1), vfs(pf0, 3)[2:])
	rv = w.now()
	guest.Run(t, "echo "+address+" >/sys/bus/pci/drivers/igbvf/bind")
	w.offers(rv, vfs(pf0, 3))

	// A PF that is up tells.
	rv = w.now()
	setMAC(t, 0, noMAC)
	w.offers(rv, vfs(pf0, 3)[1:])
	since := w.now()
	w.ApplyReady("all", M{"require": L{"adminMac"}, "onLoss": "keep"}, harness.Config("", M{"vendors": L{"8086"}}))
	setMAC(t, 1, noMAC)
	setMAC(t, 0, macOf(0)) // the later event; one reading of the PF shows both
	w.offers(since, vfs(pf0, 3))
	w.kill()
	w.run()
	w.awake(2)
	// A VF of another PF is read, and found ready, after those that are kept.
	rv = w.now()
	setVFs(t, pf1, 1)
	guest.Run(t, "ip link set ens2 vf 0 mac 02:00:00:00:02:00")
	w.offers(rv, vfs(pf0, 3), vfs(pf1, 1))
	w.History.NeverBelow(t, since, vfs(pf0, 3)[1:]...)
}

// decides waits until the running daemon has decided with these words about some device.
func (w *world) decides(words string) {
	w.t.Helper()
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		said := guest.Run(w.t, "sliced status verdicts || true")
		if strings.Contains(said, words) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the daemon does not say %q of a device:\n%s", words, said)
		}
	}
}

// addressOf is the address of a VF's interface in the host's namespace, and its name.
func addressOf(t testing.TB, n int) (mac, name string) {
	t.Helper()
	path := "/sys/bus/pci/devices/" + vf(pf0, n) + "/net/"
	name = strings.TrimSpace(guest.Run(t, "ls "+path))
	return strings.TrimSpace(guest.Run(t, "cat "+path+name+"/address")), name
}

// adminMACs are what ens1 enforces, by VF.
func adminMACs(t testing.TB) map[int]string {
	t.Helper()
	out := map[int]string{}
	for _, line := range strings.Split(guest.Run(t, "ip link show ens1"), "\n") {
		var n int
		words := strings.Fields(line)
		if len(words) > 3 && words[0] == "vf" {
			fmt.Sscanf(words[1], "%d", &n)
			for i, word := range words[:len(words)-1] {
				if word == "MAC" || word == "link/ether" {
					out[n] = strings.TrimSuffix(words[i+1], ",")
				}
			}
		}
	}
	return out
}

// macsSet is how often igb was told an address for a VF, by its own words.
func macsSet(t testing.TB) int {
	t.Helper()
	return strings.Count(guest.Run(t, "dmesg"), "setting MAC ")
}

// Red when an address is set that is there, or twice, or by a restart; when a VF is touched whose interface is elsewhere; or
// when one that was lost, or came back, is left without.
func TestMissingAdminMACsAreSet(t *testing.T) {
	w := newWorld(t)
	w.ApplyReady("all", M{"require": L{"netdev", "adminMac"}, "setAdminMac": true}, harness.Config("", M{"vendors": L{"8086"}}))
	setVFs(t, pf0, 4)
	guest.Run(t, "udevadm settle --timeout=100000; ip link set ens1 up")
	setMAC(t, 1, macOf(1))
	away, name := addressOf(t, 3)
	guest.Run(t, "ip netns add elsewhere; ip link set "+name+" netns elsewhere")
	want := map[int]string{1: macOf(1), 3: noMAC}
	for _, n := range []int{0, 2} {
		want[n], _ = addressOf(t, n)
	}
	before := macsSet(t)
	w.run("--configure=admin-mac")
	all := vfs(pf0, 4)
	w.offers(0, all[:3])
	check := func(when string, writes int) {
		t.Helper()
		if got := adminMACs(t); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: ens1 enforces %v, want %v", when, got, want)
		}
		if got := macsSet(t) - before; got != writes {
			t.Errorf("%s: %d addresses were set, want %d", when, got, writes)
		}
	}
	check("at first", 2)
	if said := strings.Count(w.said(), "administrative MAC address set"); said != 2 {
		t.Errorf("the log says so %d times", said)
	}

	w.kill()
	w.run("--configure=admin-mac")
	// The daemon sets the address of a VF that comes later; by then it has looked at those that it found.
	rv := w.now()
	guest.Run(t, "ip link set ens2 up")
	setVFs(t, pf1, 1)
	later := vfs(pf1, 1)
	w.offers(rv, all[:3], later)
	check("after a restart", 3)

	rv = w.now()
	setMAC(t, 0, noMAC)
	lost := w.offers(rv, all[1:3], later)
	w.offers(lost.RV, all[:3], later)
	check("lost", 4)

	rv = w.now()
	guest.Run(t, "ip -n elsewhere link set "+name+" netns 1")
	w.offers(rv, all, later)
	want[3] = away
	check("back", 5)
}
