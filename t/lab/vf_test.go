package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"

	"sliced.test/cluster/harness"
)

// Red when VFs wait for the sync timer or a restart, or when each VF is a write of its own.
func TestVFsAreCreatedAndRemoved(t *testing.T) {
	w := running(t)
	for _, n := range []int{7, 3, 7} {
		rv, since := w.now(), time.Now()
		setVFs(t, pf0, n)
		w.offers(rv, vfs(pf0, n))
		w.grows(rv)
		took := time.Since(since) // on a slow machine the events arrive further apart

		rv = w.now()
		setVFs(t, pf0, 0)
		w.offers(rv)
		w.shrinks(rv)
		w.writesAtMost(since, w.fewer(rv, n), 1+int(math.Ceil(took.Seconds())), fmt.Sprintf("%d VFs in %v", n, took))
	}
}

// Red when a hot-plugged card is not looked at, when the removal of a PF leaves its VFs, or when a second card at the same
// time is taken for the first.
func TestPFsAreHotPlugged(t *testing.T) {
	w := running(t)
	setVFs(t, pf1, 2)
	constant := vfs(pf1, 2)
	first := w.offers(0, constant).RV
	for round := range 3 {
		rv := w.now()
		a := plug(t, "hot"+fmt.Sprint(round), "slot2")
		setVFs(t, a, 7)
		w.offers(rv, constant, vfs(a, 7))
		rv = w.now()
		guest.Unplug(t, "hot"+fmt.Sprint(round))
		w.offers(rv, constant)
	}
	rv := w.now()
	a, b := plug(t, "hota", "slot2"), plug(t, "hotb", "slot3")
	guest.Run(t, fmt.Sprintf("echo 7 >/sys/bus/pci/devices/%s/sriov_numvfs & echo 7 >/sys/bus/pci/devices/%s/sriov_numvfs; wait", a, b))
	w.offers(rv, constant, vfs(a, 7), vfs(b, 7))
	rv = w.now()
	guest.Unplug(t, "hota")
	w.offers(rv, constant, vfs(b, 7))
	rv = w.now()
	guest.Unplug(t, "hotb")
	w.offers(rv, constant)
	w.History.NeverBelow(t, first, constant...)
}

// plug returns the address of the PF once it has a driver and a name.
func plug(t testing.TB, id, slot string) string {
	t.Helper()
	const list = "ls -d /sys/bus/pci/devices/*/sriov_totalvfs"
	before := guest.Run(t, list)
	guest.Plug(t, id, slot, "02:00:00:00:0"+slot[len(slot)-1:]+":00")
	t.Cleanup(func() {
		if t.Failed() { // left in place, it would be in the way of the next scenario
			guest.command("device_del", M{"id": id})
		}
	})
	for deadline := harness.Limit(); time.Now().Before(deadline); {
		for _, line := range strings.Fields(guest.Run(t, list)) {
			if !strings.Contains(before, line) {
				address := strings.Split(line, "/")[5]
				if guest.Run(t, "udevadm settle --timeout=100000; ls /sys/bus/pci/devices/"+address+"/net/*/ifindex 2>/dev/null || true") != "" {
					return address
				}
			}
		}
	}
	t.Fatalf("the kernel does not show the card in %s", slot)
	return ""
}

// Red when a rebound driver is not noticed: the `drivers` filter then decides by what was, not by what is.
func TestDriversAreRebound(t *testing.T) {
	w := newWorld(t)
	setVFs(t, pf0, 3)
	w.Apply("by-driver", harness.Config("kernel", M{"drivers": L{"igbvf"}}), harness.Config("user", M{"drivers": L{"vfio-pci"}}))
	w.run()
	all := vfs(pf0, 3)
	w.offers(0, all)
	address, name := vf(pf0, 1), all[1]
	resourceOf := func(s harness.PoolState) string {
		if v := s.Devices()[name].Attributes[harness.Driver+"/resourceName"].StringValue; v != nil {
			return *v
		}
		return ""
	}

	rv := w.now()
	guest.Run(t, "echo "+address+" >/sys/bus/pci/drivers/igbvf/unbind")
	w.offers(rv, all[:1], all[2:])
	rv = w.now()
	guest.Run(t, "cd /sys/bus/pci/devices/"+address+" && echo vfio-pci >driver_override && echo "+address+" >/sys/bus/pci/drivers_probe && ls /dev/vfio")
	if state := w.offers(rv, all); resourceOf(state) != "user" {
		t.Errorf("bound to vfio-pci it is offered as %q", resourceOf(state))
	}
	if found := discovered(t, address); found["driver"] != "vfio-pci" || found["netdev"] != nil {
		t.Errorf("discovered: %v", found)
	}
	rv = w.now()
	guest.Run(t, "cd /sys/bus/pci/devices/"+address+" && echo "+address+" >driver/unbind && echo >driver_override && echo "+address+" >/sys/bus/pci/drivers_probe")
	w.History.Wait(t, name+" offered as kernel", rv, patience, func(s harness.PoolState) bool { return s.Offers(all...) && resourceOf(s) == "kernel" })
	guest.Run(t, "udevadm settle --timeout=100000")
	if found := discovered(t, address); found["driver"] != "igbvf" || found["netdev"] == nil {
		t.Errorf("discovered: %v", found)
	}
}

// Red when the program that binds for a claim does not bind, does not restore, or unbinds under a process that has the group
// open: the kernel would hold that write until the process ends.
func TestADeviceInUseIsNotUnbound(t *testing.T) {
	newWorld(t)
	setVFs(t, pf0, 3)
	guest.Run(t, "udevadm settle --timeout=100000")
	address := vf(pf0, 1)
	helper := func(order string) string {
		return strings.TrimSpace(guest.Run(t, "sh -c 'sliced bind-helper $$ / "+order+" "+address+"=igbvf; true'"))
	}
	driver := func() string {
		return strings.TrimSpace(guest.Run(t, "basename $(readlink /sys/bus/pci/devices/"+address+"/driver)"))
	}
	group, bound := strings.CutPrefix(helper("bind"), "ok ")
	if !bound || driver() != "vfio-pci" {
		t.Fatalf("bound: %q, driver %s", group, driver())
	}
	holder := strings.TrimSpace(guest.Run(t, "sleep 1000 9<>/dev/vfio/"+group+" >/dev/null 2>&1 & echo $!"))
	said := helper("restore")
	if want := "process " + holder + " (sleep)"; !strings.HasPrefix(said, "failed busy ") || !strings.Contains(said, want) || driver() != "vfio-pci" {
		t.Errorf("restored under a process: %q without %q, driver %s", said, want, driver())
	}
	// The daemon's pod may have a PID namespace of its own: the kernel's answer to an open of the group is all that it has.
	apart := func(order string) string {
		return strings.TrimSpace(guest.Run(t, "unshare --fork --pid --mount-proc sh -c 'sliced bind-helper $$ / "+order+" "+address+"=igbvf; true'"))
	}
	if said, want := apart("restore"), "a process outside this PID namespace has its VFIO group open"; !strings.HasPrefix(said, "failed busy ") || !strings.Contains(said, want) || driver() != "vfio-pci" {
		t.Errorf("restored under a process of another PID namespace: %q without %q, driver %s", said, want, driver())
	}
	guest.Run(t, "kill "+holder+"; while [ -d /proc/"+holder+"/fd ] && ls -l /proc/"+holder+"/fd | grep -q vfio; do sleep 0.1; done")
	if said := apart("restore"); said != "ok" || driver() != "igbvf" {
		t.Errorf("restored: %q, driver %s", said, driver())
	}
	if said := helper("bind"); said != "ok "+group || driver() != "vfio-pci" {
		t.Errorf("bound again: %q, driver %s: the open of before is closed", said, driver())
	}
	if said := helper("restore"); said != "ok" || driver() != "igbvf" {
		t.Errorf("restored: %q, driver %s", said, driver())
	}
}

// discovered is what a daemon that starts now would know of a device.
func discovered(t *testing.T, id string) M {
	t.Helper()
	var list struct{ Items []M }
	text := guest.Run(t, "sliced discover -o json --log-level error")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, device := range list.Items {
		if device["id"] == id {
			return device
		}
	}
	t.Fatalf("no %s in %s", id, text)
	return nil
}

// Red when what a pod does to an interface reaches the offer: the function is withdrawn, or loses the facts that came
// from the interface, also over a restart.
func TestInterfacesInPodsKeepTheirEntries(t *testing.T) {
	w := newWorld(t)
	setVFs(t, pf0, 3)
	w.Apply("by-name", harness.Config("", M{"pfNames": L{"ens1"}}))
	w.Apply("later", harness.Config("", M{"pfNames": L{"ens2"}}))
	w.run()
	all := vfs(pf0, 3)
	state := w.offers(0, all)
	rv, want := state.RV, state.Devices()
	guest.Run(t, `set -e
ip netns add pod
vf=$(ls /sys/bus/pci/devices/`+vf(pf0, 1)+`/net)
ip link set "$vf" netns pod
ip -n pod link set "$vf" name eth0
ip link set ens1 netns pod`)
	// The events of other VFs come after those of the interfaces: once they are offered, the daemon has seen the interfaces leave.
	now := w.now()
	setVFs(t, pf1, 1)
	w.offers(now, all, vfs(pf1, 1))
	w.kill()
	w.run()
	w.awake(2)
	guest.Run(t, `set -e
ip -n pod link set eth0 netns 1
ip -n pod link set ens1 netns 1
udevadm settle --timeout=100000`)
	now = w.now()
	setVFs(t, pf1, 0)
	w.offers(now, all)
	for _, s := range w.History.States(t, rv) {
		devices := s.Devices()
		delete(devices, vfs(pf1, 1)[0])
		if !reflect.DeepEqual(devices, want) {
			t.Fatalf("a consumer saw other devices: %s", s)
		}
	}
}

// awake waits until the daemon of this run has made its first decision.
func (w *world) awake(run int) {
	w.t.Helper()
	for deadline := harness.Limit(); !strings.Contains(w.said(), "decided"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("daemon %d does not decide:\n%s", run, w.said())
		}
	}
}

// Red when names are remembered over a rename, or when a VF that the host has taken into a bridge is still handed out.
func TestRenamesAndHostUse(t *testing.T) {
	w := newWorld(t)
	setVFs(t, pf0, 2)
	all := vfs(pf0, 2)
	w.Apply("one", harness.Config("", harness.PFNames("ens1")))
	w.Apply("other", harness.Config("", harness.PFNames("ens2")))
	w.run()
	w.offers(0, all)

	since := time.Now()
	guest.Run(t, "vf=$(ls /sys/bus/pci/devices/"+vf(pf0, 0)+"/net) && ip link set $vf down && ip link set $vf name tenant0")
	rv := w.now()
	setVFs(t, pf1, 1)
	w.writesAtMost(since, w.offers(rv, all, vfs(pf1, 1)), 0, "a VF's interface renamed")
	rv = w.now()
	setVFs(t, pf1, 0)
	w.offers(rv, all)

	isNamed := func(state harness.PoolState, name string) {
		for id, device := range state.Devices() {
			if v := device.Attributes[harness.Driver+"/PFName"].StringValue; v == nil || *v != name {
				t.Errorf("%s: PFName %v", id, v)
			}
		}
	}
	// udev gives the interface the name of its slot again, as an alternative one, which pfNames matches.
	rv = w.now()
	guest.Run(t, "ip link set ens1 down && ip link set ens1 name fabric0")
	isNamed(w.offers(rv, all), "fabric0")

	w.Apply("one", harness.Config("", harness.PFNames("fabric0")))
	rv = w.now()
	guest.Run(t, "ip link set fabric0 name fabric1")
	w.offers(rv)
	rv = w.now()
	w.Apply("two", harness.Config("", harness.PFNames("fabric1")))
	isNamed(w.offers(rv, all), "fabric1")

	rv = w.now()
	// Without a VLAN that it would ask of the VF's driver, which refuses as long as its PF is down.
	guest.Run(t, "ip link add br0 type bridge vlan_default_pvid 0 && ip link set tenant0 master br0")
	w.offers(rv, all[1:])
	rv = w.now()
	guest.Run(t, "ip link set tenant0 nomaster")
	w.offers(rv, all)
}

// Red when a VF's NUMA node, which igb's do not have, is not its PF's, or when the filter asks another one.
func TestNUMANodes(t *testing.T) {
	w := newWorld(t)
	setVFs(t, pf0, 1)
	setVFs(t, pf1, 1)
	w.Apply("all", harness.Config("", M{"numaNodes": L{"0"}}), harness.Config("", M{"numaNodes": L{"1"}}))
	w.run()
	state := w.offers(0, vfs(pf0, 1), vfs(pf1, 1))
	for node, name := range []string{vfs(pf0, 1)[0], vfs(pf1, 1)[0]} {
		for _, attribute := range []resource.QualifiedName{"resource.kubernetes.io/numaNode", "dra.net/numaNode"} {
			if v := state.Devices()[name].Attributes[attribute].IntValue; v == nil || *v != int64(node) {
				t.Errorf("%s: %s is not %d", name, attribute, node)
			}
		}
	}
	rv := w.now()
	w.Apply("all", harness.Config("", M{"numaNodes": L{"1"}}))
	w.offers(rv, vfs(pf1, 1))
}
