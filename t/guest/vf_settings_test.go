package guest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
	"sliced.test/lab"
)

// settingsOf are commands of ip(8) for one VF, after "link set PF vf NUMBER".
type settingsOf map[string][]string

var (
	// What a site has set of a VF before its pod. netdevsim has every setting, the emulated 82576 these.
	before = map[string]settingsOf{
		"netdevsim": {
			"nothing":            nil,
			"an address":         {"mac 02:00:00:00:05:01"},
			"a VLAN":             {"vlan 7 qos 2"},
			"a VLAN of 802.1ad":  {"vlan 7 qos 2 proto 802.1ad"},
			"all on":             {"spoofchk on", "trust on", "state enable", "query_rss on"},
			"rates and disabled": {"max_tx_rate 100 min_tx_rate 10", "state disable"},
		},
		"igb": {"nothing": nil, "a VLAN": {"vlan 7 qos 2"}, "trust": {"trust on", "spoofchk off"}},
	}
	// What a pod has.
	ofPods = map[string]settingsOf{
		"netdevsim": {
			"an address":        {"mac 02:00:00:00:06:66"},
			"a VLAN":            {"vlan 100"},
			"a priority alone":  {"vlan 0 qos 3"},
			"a VLAN of 802.1ad": {"vlan 100 qos 3 proto 802.1ad"},
			"no VLAN":           {"vlan 0", "mac 02:00:00:00:06:66"},
			"switches on":       {"spoofchk on", "trust on", "query_rss on", "state enable", "vlan 9"},
			"switches off":      {"spoofchk off", "trust off", "query_rss off", "state disable", "vlan 9"},
			"a maximum rate":    {"max_tx_rate 50 min_tx_rate 0"},
			"both rates":        {"max_tx_rate 500 min_tx_rate 200"},
			"no rates":          {"max_tx_rate 0 min_tx_rate 0", "vlan 9"},
			"everything": {"mac 02:00:00:00:06:66", "vlan 100 qos 3 proto 802.1ad", "spoofchk on", "trust on", "query_rss on", "state disable",
				"max_tx_rate 500 min_tx_rate 200"},
		},
		"igb": {"a VLAN": {"vlan 100 qos 3"}, "switches": {"spoofchk off", "trust on", "vlan 9"}},
	}
)

// batch is what ip -batch reads.
func batch(commands []string) string {
	text := ""
	for _, command := range commands {
		text += "link set $pf vf 1 " + command + "\n"
	}
	return text
}

// Red when a PF reports anything of its VFs, by ip(8), that it did not before a pod's settings: written by ip, kept and given back by the
// daemon's code. netdevsim is a PF whose driver takes every setting that the kernel knows; the emulated 82576 takes four.
func TestVFSettings(t *testing.T) {
	shared := t.TempDir()
	if out, err := exec.Command("install", "-m", "644", harness.Path("../../build/lab/netdevsim.ko"), filepath.Join(shared, "netdevsim.ko")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s (./dev guest builds it)", err, out)
	}
	guest, err := lab.Boot(image, shared, 768)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Stop()
	pfs := map[string]string{
		"netdevsim": guest.Run(t, `set -e
modprobe psample && insmod /host/netdevsim.ko
echo '1 1' >/sys/bus/netdevsim/new_device
udevadm settle --timeout=100000
echo 3 >/sys/bus/netdevsim/devices/netdevsim1/sriov_numvfs
ls /sys/bus/netdevsim/devices/netdevsim1/net`),
		"igb": guest.Run(t, fmt.Sprintf("echo 3 >/sys/bus/pci/devices/%s/sriov_numvfs && udevadm settle --timeout=100000 && ls /sys/bus/pci/devices/%s/net", pf, pf)),
	}
	for driver, originals := range before {
		// The VFs beside it are not touched: they have settings of their own.
		guest.Run(t, fmt.Sprintf("ip link set %s vf 0 vlan 5 && ip link set %s vf 2 vlan 6 && ip link set %s vf 0 spoofchk on", pfs[driver], pfs[driver], pfs[driver]))
		initial := guest.Run(t, "ip link show dev "+pfs[driver])
		for name, original := range originals {
			script := `pf=` + pfs[driver] + `
same() { [ "$1" = "$2" ] || { echo "$3"; echo "$1"; echo "and then"; echo "$2"; }; }
other() { [ "$1" != "$2" ] || echo "$3"; }
set_all() { ip -batch - 2>&1 || echo "ip refuses it"; }
now() { ip link show dev $pf; }
rm -rf /run/first /run/kept; mkdir -p /run/first /run/kept
vf_settings keep $pf 1 /run/first
set_all <<TEXT
` + batch(original) + `TEXT
before=$(now)
vf_settings keep $pf 1 /run/kept
`
			for pod, settings := range ofPods[driver] {
				script += "set_all <<TEXT\n" + batch(settings) + `TEXT
other "$before" "$(now)" "` + pod + `: a pod's settings change nothing"
vf_settings restore $pf 1 /run/kept 2>&1 || echo "` + pod + `: not restored"
same "$before" "$(now)" "` + pod + `: the PF reported"
`
			}
			script += "vf_settings restore $pf 1 /run/first\n"
			t.Run(driver+"/"+name, func(t *testing.T) {
				if found := guest.Run(t, script); found != "" {
					t.Errorf("%s", found)
				}
				if now := guest.Run(t, "ip link show dev "+pfs[driver]); now != initial {
					t.Errorf("the PF reported\n%s\nand now\n%s", initial, now)
				}
			})
		}
	}
	if refused, status := guest.Try("vf_settings restore "+pfs["netdevsim"]+" 7 /run/kept 2>&1", harness.Patience); status != 1 || !strings.Contains(refused, "does not report VF 7") {
		t.Errorf("a VF that is not there: %d %s", status, refused)
	}
}
