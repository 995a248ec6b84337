package guest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sliced.test/cluster/harness"
	"sliced.test/lab"
)

const waitAnnotation = "sriovnetwork.openshift.io/device-plugin-wait-config"

var unitOfPage = regexp.MustCompile("(?s) *```ini\n *# (/etc/systemd/system/[^\n]+)\n(.*?)\n *```")

// unitsOfPage are the files that docs/externally-managed.md shows for systemd, by path.
func unitsOfPage(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(harness.Path("../../docs/externally-managed.md"))
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]string{}
	for _, found := range unitOfPage.FindAllStringSubmatch(string(page), -1) {
		units[found[1]] = regexp.MustCompile(`(?m)^ +`).ReplaceAllString(found[2], "")
	}
	for _, want := range []string{"/etc/systemd/system/vfs.service", "/etc/systemd/system/kubelet.service.d/after-vfs.conf"} {
		if units[want] == "" {
			t.Fatalf("docs/externally-managed.md does not show %s; it shows %v", want, units)
		}
	}
	return units
}

// operatorUnits are those of the SR-IOV network operator's systemd mode (bindata/manifests/sriov-config-service/kubernetes), with a
// stand-in for its program: the second one runs until it is let go.
var operatorUnits = map[string]string{
	"/etc/systemd/system/sriov-config.service": `[Unit]
Description=Configures SRIOV NIC - pre network configuration
DefaultDependencies=no
After=network-pre.target systemd-udev-settle.service systemd-sysusers.service systemd-sysctl.service
Before=network.target NetworkManager.service systemd-networkd.service ovs-vswitchd.service ovsdb-server.service

[Service]
Type=oneshot
ExecStart=/bin/true

[Install]
WantedBy=multi-user.target
`,
	"/etc/systemd/system/sriov-config-post-network.service": `[Unit]
Description=Configures SRIOV NIC - post network configuration
After=systemd-networkd-wait-online.service NetworkManager-wait-online.service openvswitch-switch.service sriov-config.service
Before=kubelet.service

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'until [ -e /run/operator-is-done ]; do sleep 0.2; done'

[Install]
WantedBy=multi-user.target
`,
}

// Red when, on a machine that boots with the package's unit, with those of docs/externally-managed.md and of the SR-IOV network operator,
// the daemon starts before the operator's units are done, offers before the script that makes the VFs is done, or the kubelet's service
// starts before that; when either does not follow then, or when the kubelet's service starts although the script has failed.
func testOrder(t *testing.T, disk string) {
	own := filepath.Join(t.TempDir(), "machine.img")
	if out, err := exec.Command("cp", "--sparse=always", disk, own).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	boot := func() *machine {
		t.Helper()
		guest, err := lab.Boot(image, t.TempDir(), 768, lab.MachineThatKeeps(own)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(guest.Stop)
		return &machine{t, guest}
	}
	m := boot()
	m.until("systemd has come up", "systemctl is-system-running | grep -qE '^(running|degraded)$'")
	m.run("dpkg -i /var/tmp/sliced.deb 2>&1")
	m.run(`cd /etc/sliced && sed -i 's|^cluster: .*|cluster: dir:/etc/sliced/policies.d|; s|^#nodeName: .*|nodeName: machine|' config.yaml
echo 'untilConfigured: file:/run/sliced/configured' >>config.yaml
cat >policies.d/every-vf.yaml <<'TEXT'
` + policy + "TEXT")
	units := unitsOfPage(t)
	maps.Copy(units, operatorUnits)
	for path, text := range units {
		m.run("install -D -m 644 /dev/stdin " + path + " <<'TEXT'\n" + text + "\nTEXT")
	}
	// The script is done when it is let go, and the kubelet of this machine is a stand-in: only its unit matters.
	m.run(`install -m 755 /dev/stdin /usr/local/sbin/configure-vfs <<'TEXT'
#!/bin/sh -e
until [ -e /run/let-go ]; do sleep 0.2; done
[ ! -e /run/fail ]
echo 0 >/sys/bus/pci/devices/` + pf + `/sriov_numvfs
echo 3 >/sys/bus/pci/devices/` + pf + `/sriov_numvfs
TEXT
install -m 644 /dev/stdin /etc/systemd/system/kubelet.service <<'TEXT'
[Unit]
Description=Stands in for the kubelet
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
TEXT
systemctl daemon-reload && systemctl enable vfs sliced kubelet sriov-config sriov-config-post-network 2>&1 && sync`)
	m.guest.Stop()

	m = boot()
	m.until("the operator's unit and the script run", `systemctl show -P ActiveState sriov-config-post-network vfs
[ "$(systemctl show -P ActiveState sriov-config-post-network)" = activating ] && [ "$(systemctl show -P ActiveState vfs)" = activating ]`)
	for _, unit := range []string{"sliced", "kubelet"} {
		if is := m.run("systemctl show -P ActiveState " + unit); is != "inactive" {
			t.Errorf("%s is %s before the operator's units are done", unit, is)
		}
	}
	m.run("touch /run/operator-is-done")
	m.until("the script runs, and the daemon waits for it", `systemctl show -P ActiveState sliced vfs kubelet
[ "$(systemctl show -P ActiveState sliced)" = active ] && [ "$(systemctl show -P ActiveState vfs)" = activating ] &&
journalctl -b -u sliced -o cat --no-pager | grep -q 'waiting for the configuration of this node'`)
	if is := m.run("systemctl show -P ActiveState kubelet"); is != "inactive" {
		t.Errorf("the kubelet's service is %s before the script is done", is)
	}
	if published := m.run("grep -rlE 'name: [0-9a-f]{4}-[0-9a-f]{2}-' " + publishedAt + " 2>/dev/null; :"); published != "" {
		t.Errorf("published before the script is done: %s", published)
	}
	said := m.run("sliced status; :")
	if !strings.Contains(said, "this node is not configured yet") || !strings.Contains(said, "/run/sliced/configured") {
		t.Errorf("status does not say what is waited for:\n%s", said)
	}
	m.run("touch /run/let-go")
	m.offers(3)
	m.until("the kubelet's service follows", `[ "$(systemctl show -P ActiveState kubelet)" = active ]`)
	at := func(property, unit string) int {
		t.Helper()
		number, err := strconv.Atoi(m.run("systemctl show -P " + property + " " + unit))
		if err != nil || number == 0 {
			t.Fatalf("%s of %s: %v", property, unit, err)
		}
		return number
	}
	ready, done, started := at("ActiveEnterTimestampMonotonic", "sliced"), at("ActiveEnterTimestampMonotonic", "vfs"), at("ExecMainStartTimestampMonotonic", "kubelet")
	if ready > started || done > started {
		t.Errorf("the daemon was ready at %d us, the script done at %d us, the kubelet's service begun at %d us", ready, done, started)
	}

	// A script that fails.
	m.run("touch /run/fail && systemctl stop vfs && rm -f /run/sliced/configured")
	m.until("the kubelet's service ends with that of the script", `[ "$(systemctl show -P ActiveState kubelet)" = inactive ]`)
	if out, status := m.guest.Try("systemctl start kubelet 2>&1", patience); status == 0 {
		t.Errorf("the kubelet's service starts although the script has failed: %s", out)
	}
	m.run(`install -D -m 644 /etc/systemd/system/kubelet.service.d/after-vfs.conf /etc/systemd/system/sliced.service.d/after-vfs.conf
systemctl daemon-reload && systemctl stop sliced`)
	if out, status := m.guest.Try("systemctl start sliced 2>&1", patience); status == 0 {
		t.Errorf("with the drop-in the daemon starts although the script has failed: %s", out)
	}
	m.run("rm /run/fail && systemctl start sliced kubelet")
	m.offers(3)
}

// Red when the daemon's container starts before its init container has seen that the node is configured, after the installation or
// after a boot, or does not start then. Turns red when the chart's DaemonSet has no init container: the daemon runs before the annotation is
// removed.
func (n *node) testChartWaits(t *testing.T) {
	n.makeRoom(t)
	begun := n.Server.Revision(t)
	n.applyChart(t, "{waitForConfig: {enabled: true}, podLabels: {app: sriov-device-plugin}, aggregate: {enabled: false}}")
	runs := func() string {
		return n.guest.Run(t, `for pid in $(pidof sliced); do tr '\0' ' ' </proc/$pid/cmdline; echo; done; :`)
	}
	waiting := func(what string) core.Pod {
		t.Helper()
		var pod core.Pod
		n.wait(t, what, func() bool {
			if said := runs(); strings.Contains(said, " run ") {
				t.Fatalf("the daemon runs before the node is configured: %q", said)
			}
			for _, pod = range n.chartPods(t) {
				_, has := pod.Annotations[waitAnnotation]
				inits := pod.Status.InitContainerStatuses
				if has && len(inits) == 1 && inits[0].State.Running != nil {
					return true
				}
			}
			return false
		})
		return pod
	}
	nothingYet := func() {
		t.Helper()
		if said := runs(); strings.Contains(said, " run ") || !strings.Contains(said, " wait-for-config ") {
			t.Errorf("what runs of sliced: %q", said)
		}
	}
	// As the operator does it.
	letGo := func(pod core.Pod) {
		t.Helper()
		_, err := n.Server.Client.CoreV1().Pods(home).Patch(context.Background(), pod.Name, types.MergePatchType,
			[]byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, waitAnnotation)), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	pod := waiting("the init container waits")
	nothingYet()
	n.History.NeverOffered(t, begun, n.devices(t)[0])
	rv := n.Server.Revision(t)
	letGo(pod)
	n.wait(t, "the chart's pod is ready", func() bool { return n.isReady(t) })
	n.History.WaitOffers(t, rv, patience, n.devices(t)...)

	n.guest.Run(t, "sync")
	n.guest.Stop()
	rv = n.Server.Revision(t)
	n.boot(t)
	again := waiting("the init container waits in the next boot")
	if again.UID != pod.UID {
		t.Errorf("another pod runs: %s, not %s", again.Name, pod.Name)
	}
	// A kubelet that starts deletes the slices of its node, at a time of its own (wipeResourceSlices of its DRA plugin manager).
	wiped := n.History.Wait(t, "the kubelet has deleted the slices of before the boot", rv, patience, func(s harness.PoolState) bool { return len(s.Slices) == 0 })
	nothingYet()
	n.History.NeverOffered(t, wiped.RV, n.devices(t)[0])
	rv = n.Server.Revision(t)
	letGo(again)
	n.wait(t, "the chart's pod is ready again", func() bool { return strings.Contains(runs(), " run ") && n.isReady(t) })
	n.History.WaitOffers(t, rv, patience, n.devices(t)...)
}
