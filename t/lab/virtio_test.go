package lab

import (
	"fmt"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// A virtio-net card with two VFs. Their interfaces are below virtioN, and not below the function; the PF reports nothing of its VFs and
// sets nothing of them (EOPNOTSUPP). QEMU wants the VFs before their PF.
const virtioPF = "0000:22:00.0"

var virtioCard = []string{
	"-device", "pcie-root-port,id=rpv,bus=px0,chassis=9,slot=9",
	"-netdev", "hubport,hubid=1,id=v0", "-netdev", "hubport,hubid=1,id=v1", "-netdev", "hubport,hubid=1,id=v2",
	"-device", "virtio-net-pci,bus=rpv,addr=0x0.0x1,netdev=v1,sriov-pf=pfv,mac=02:00:00:00:0e:01",
	"-device", "virtio-net-pci,bus=rpv,addr=0x0.0x2,netdev=v2,sriov-pf=pfv,mac=02:00:00:00:0e:02",
	"-device", "virtio-net-pci,bus=rpv,addr=0x0.0x0,netdev=v0,id=pfv,mac=02:00:00:00:0e:00",
}

func virtioVF(i int) string { return fmt.Sprintf("%s%d", strings.TrimSuffix(virtioPF, "0"), i+1) }

func virtioWorld(t *testing.T) (w *world, names []string) {
	t.Helper()
	if *qemu == "" {
		t.Fatal("the card is QEMU 11's: ./dev test lab_virtio, or -args -qemu PATH")
	}
	w = newWorld(t)
	setVFs(t, virtioPF, 0)
	return w, []string{harness.DeviceName(virtioVF(0)), harness.DeviceName(virtioVF(1))}
}

// Red when VFs of a driver other than Intel's, below another bus, are not offered, not withdrawn, or have no interface.
func TestVirtioVFsAreOffered(t *testing.T) {
	w, names := virtioWorld(t)
	w.Apply("virtio", harness.Config("", M{"vendors": L{"1af4"}, "drivers": L{"virtio-pci"}}))
	w.run()
	w.offers(0)
	for range 3 {
		rv := w.now()
		setVFs(t, virtioPF, 2)
		w.offers(rv, names)
		if found := discovered(t, virtioVF(1)); found["type"] != "vf" || found["pfPciAddress"] != virtioPF || found["vfIndex"] != 1.0 ||
			found["netdev"] == nil || found["netdev"].(M)["mac"] != "02:00:00:00:0e:02" {
			t.Fatalf("discovered: %v", found)
		}
		rv = w.now()
		setVFs(t, virtioPF, 0)
		w.offers(rv)
	}
}

// Red when such a VF does not become a function of vfio-pci, or does not come back with its interface.
func TestVirtioVFsAreBoundForClaims(t *testing.T) {
	w, names := virtioWorld(t)
	setVFs(t, virtioPF, 2)
	w.Apply("virtio", harness.Config("kernel", M{"vendors": L{"1af4"}, "drivers": L{"virtio-pci"}}))
	w.run()
	w.offers(0, names)
	helper := func(order string) string {
		return strings.TrimSpace(guest.Run(t, "sh -c 'sliced bind-helper $$ / "+order+" "+virtioVF(0)+"=virtio-pci; true'"))
	}
	for range 2 {
		rv := w.now()
		group, isBound := strings.CutPrefix(helper("bind"), "ok ")
		if !isBound || guest.Run(t, "ls /dev/vfio/"+group) != "/dev/vfio/"+group {
			t.Fatalf("bound: %q", group)
		}
		w.offers(rv, names[1:]) // the policy wants the driver of before
		rv = w.now()
		if said := helper("restore"); said != "ok" {
			t.Fatalf("restored: %q", said)
		}
		w.offers(rv, names)
		guest.Run(t, "udevadm settle --timeout=100000")
		if found := discovered(t, virtioVF(0)); found["netdev"] == nil || found["netdev"].(M)["mac"] != "02:00:00:00:0e:01" {
			t.Fatalf("discovered after the return: %v", found)
		}
	}
}

// Red when a PF that reports nothing of its VFs has them withheld, or is asked for their addresses again and again.
func TestAVirtioPFThatSetsNoMACsKeepsItsOffer(t *testing.T) {
	w, names := virtioWorld(t)
	setVFs(t, virtioPF, 2)
	w.Apply("virtio", harness.Config("", M{"vendors": L{"1af4"}}))
	w.run("--configure admin-mac")
	rv := w.offers(0, names).RV
	for i := range 5 { // each event leads to a decision
		guest.Run(t, fmt.Sprintf("ip link set $(ls /sys/bus/pci/devices/%s/virtio*/net) alias round-%d", virtioVF(0), i))
	}
	setVFs(t, pf0, 1) // the consequence of a later change: all before it has been decided
	w.Apply("igb", harness.Config("", M{"vendors": L{"8086"}}))
	w.History.Wait(t, "the VF of the other card is offered", rv, patience, func(s harness.PoolState) bool {
		return s.Offers(append(vfs(pf0, 1), names...)...)
	})
	w.History.NeverBelow(t, rv, names...)
	if said := strings.Count(w.said(), "MAC"); said > 4 {
		t.Errorf("the log speaks of MAC addresses %d times:\n%s", said, w.tail(40))
	}
}
