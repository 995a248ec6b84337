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
	time.Sleep(3 * time.Second) // longer than anything settles
	if state := w.History.Now(); !state.Offers() {
		t.Fatalf("without a MAC address: %s", state)
	}
	if text := guest.Run(t, fmt.Sprintf("sliced explain --cluster kubeconfig:/host/kubeconfig-%s --node-name %s --namespace %s %s",
		w.Node, w.Node, w.Namespace, vf(pf0, 2))); !strings.Contains(text, "held back: adminMac: VF 2 of ens1 has admin MAC "+noMAC) {
		t.Errorf("explain says:\n%s", text)
	}

	// A PF that is down says nothing of it: it is asked again, at most 2 s later.
	rv := w.now()
	setMAC(t, 1, macOf(1))
	began := time.Now()
	w.offers(rv, vfs(pf0, 3)[1:2])
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it took %v until the VF was offered", took)
	}
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
	time.Sleep(3 * time.Second)
	if state := w.History.Now(); !state.Offers(vfs(pf0, 3)[1:]...) {
		t.Errorf("kept: %s, since revision %d", state, since)
	}
	w.kill()
	w.run()
	time.Sleep(5 * time.Second)
	if state := w.History.Now(); !state.Offers(vfs(pf0, 3)[1:]...) {
		t.Errorf("kept, after a restart: %s", state)
	}
}
