package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sliced.test/cluster/harness"
	"sliced.test/lab"
)

// machine is the guest as a plain Debian, which systemd runs from its first process on. Nothing of Kubernetes is on it; a control plane may
// run outside.
type machine struct {
	*testing.T
	guest *lab.Guest
}

func (m *machine) run(script string) string {
	m.Helper()
	return m.guest.Run(m, script)
}

// until waits for a script to end well.
func (m *machine) until(what, script string) {
	m.Helper()
	said, status := "", 1
	for deadline := harness.Limit(); status != 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.Fatalf("waited until the limit of the test program for: %s; the last answer: %s\n%s", what, said, m.journal())
		}
		if said, status = m.guest.Try(script, harness.Patience); status < 0 {
			m.Fatalf("%s: the guest does not answer: %s", what, said)
		}
	}
}

func (m *machine) journal() string {
	text, _ := m.guest.Try(content+"; systemctl status sliced --no-pager -l; journalctl -u sliced --no-pager -n 40", harness.Patience)
	return text
}

// offers waits until the service says so, and what it has published are the functions that the kernel has.
func (m *machine) offers(count int) {
	m.Helper()
	status := fmt.Sprintf("%d devices offered", count)
	if count == 1 {
		status = "1 device offered"
	}
	m.until(status, `kernel=$(for one in /sys/bus/pci/devices/`+pf+`/virtfn*; do [ ! -e $one ] || basename $(readlink $one) | tr :. --; done)
published=$(grep -rhoE '[0-9a-f]{4}-[0-9a-f]{2}-[0-9a-f]{2}-[0-7]' `+publishedAt+` | sort -u)
says="$(systemctl show -P ActiveState sliced) $(systemctl show -P StatusText sliced)"
echo "$says; the kernel has" $kernel", published are" $published
[ "$kernel" = "$published" ] && [ $(echo $kernel | wc -w) = `+fmt.Sprint(count)+` ] && expr "$says" : "active `+status+`" >/dev/null`)
}

func (m *machine) makeFunctions(count int) {
	m.Helper()
	m.run(fmt.Sprintf("cd /sys/bus/pci/devices/%s && echo 0 >sriov_numvfs && echo %d >sriov_numvfs", pf, count))
}

const (
	publishedAt = "/etc/sliced/policies.d/resourceslices"
	content     = "find " + publishedAt + " -type f -printf '%p %T@\\n' -exec cat {} +" // with when each was written
	policy      = `apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1
kind: SriovResourcePolicy
metadata: {name: every-vf, namespace: dra-driver-sriov}
spec: {configs: [{resourceFilters: [{vendors: ["8086"]}]}]}
`
)

// Once on each machine whose disk there is: those of the releases that were asked for.
func TestPackage(t *testing.T) {
	const before, after = "machine-", ".img"
	directory, err := filepath.Abs(harness.Path("../../build/bare"))
	if err != nil {
		t.Fatal(err)
	}
	disks, _ := filepath.Glob(filepath.Join(directory, before+"*"+after))
	if len(disks) == 0 {
		t.Fatal("there is no machine's disk in ", directory, " (./dev guest Package makes one)")
	}
	for _, disk := range disks {
		release := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(disk), before), after)
		t.Run(release, func(t *testing.T) {
			t.Run("Package", func(t *testing.T) { testPackage(t, disk, release) })
			t.Run("Order", func(t *testing.T) { testOrder(t, disk) })
		})
	}
}

// Red when the package, installed by dpkg on a Debian that systemd runs, does not offer the functions of a card as they come and go,
// in its directory and in a real control plane, is not restarted where it stands still, writes by a restart, a reload or an upgrade, or
// leaves anything when it is removed and purged.
func testPackage(t *testing.T, disk, release string) {
	since := time.Now()
	guest, err := lab.Boot(image, t.TempDir(), 768, lab.MachineOn(disk)...)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Stop()
	t.Logf("systemd runs the agent after %v", time.Since(since))
	m := &machine{t, guest}
	m.until("systemd has come up", "systemctl is-system-running | grep -qE '^(running|degraded)$'")
	if is := m.run("cat /proc/1/comm && . /etc/os-release && echo $VERSION_CODENAME"); is != "systemd\n"+release {
		t.Fatalf("the first process and the release are %s, not systemd and %s", is, release)
	}
	t.Log(m.run("systemctl --version | head -n 1; uname -r; dpkg-deb -f /var/tmp/sliced.deb Version"))
	m.run("dpkg -i /var/tmp/sliced.deb 2>&1")
	if is, status := guest.Try("systemctl is-enabled sliced || systemctl is-active sliced", harness.Patience); status == 0 {
		t.Errorf("installing has enabled or started it: %s", is)
	}
	m.run(`cd /etc/sliced && sed -i 's|^cluster: .*|cluster: dir:/etc/sliced/policies.d|; s|^#nodeName: .*|nodeName: machine|' config.yaml
cat >policies.d/every-vf.yaml <<'TEXT'
` + policy + "TEXT")
	m.run(`install -D -m 644 /usr/share/doc/sliced/examples/publisher-only.conf /etc/systemd/system/sliced.service.d/kubelet-plugin.conf
systemctl daemon-reload && systemctl enable --now sliced 2>&1`)
	m.follows()
	m.reloads()
	m.isRestarted()
	m.joins()
	m.run("rm -r /etc/systemd/system/sliced.service.d") // no file of the package's
	m.goes()
}

// follows judges what the service sees of the kernel, in its sandbox.
func (m *machine) follows() {
	m.offers(0)
	for _, count := range []int{3, 1, 7, 3} {
		m.makeFunctions(count)
		m.offers(count)
	}
	pid := m.run("systemctl show -P MainPID sliced")
	status := m.run("cat /proc/" + pid + "/status; stat -c 'Owner: %U' /proc/" + pid)
	for _, want := range []string{"CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "Seccomp:\t2\n", "Owner: sliced\n"} {
		if !strings.Contains(status+"\n", want) {
			m.Errorf("the daemon runs without %q:\n%s", want, status)
		}
	}
}

func (m *machine) reloads() {
	before, pid := m.run(content), m.run("systemctl show -P MainPID sliced")
	m.run("systemctl reload sliced")
	m.until("the reload is in the journal", "journalctl -u sliced -o cat --no-pager | grep -q 'configuration reloaded'")
	m.offers(3)
	if now := m.run("systemctl show -P MainPID sliced"); now != pid {
		m.Errorf("the reload has made process %s of %s", now, pid)
	}
	if m.run(content) != before {
		m.Error("the reload has written")
	}
}

// isRestarted shortens the time of the watchdog, and nothing else of the unit.
func (m *machine) isRestarted() {
	before := m.run(content)
	m.run(`mkdir -p /etc/systemd/system/sliced.service.d
printf '[Service]\nWatchdogSec=5s\nRestartSec=100ms\n' >/etc/systemd/system/sliced.service.d/soon.conf
systemctl daemon-reload && systemctl restart sliced`)
	m.offers(3)
	// At once, so that it is the one that stands still: the next comes by the watchdog alone.
	pid := m.run("systemctl kill -s STOP --kill-whom=main sliced && systemctl show -P MainPID sliced")
	m.until("the watchdog has another process started", `[ "$(systemctl show -P NRestarts sliced)" -gt 0 ] && ! [ -e /proc/`+pid+` ]`)
	m.offers(3)
	m.until("the journal says why", "journalctl -u sliced -o cat --no-pager | grep -q 'Watchdog timeout'")
	if m.run(content) != before {
		m.Error("restarts have written")
	}
	m.run("rm /etc/systemd/system/sliced.service.d/soon.conf && systemctl daemon-reload && systemctl restart sliced")
	m.offers(3)
}

// functions are the entries of those that the kernel has.
func (m *machine) functions() []string {
	return strings.Fields(m.run("for one in /sys/bus/pci/devices/" + pf + "/virtfn*; do basename $(readlink $one) | tr :. --; done"))
}

// joins has the service publish in a real control plane, with the permissions of config/deploy, and be upgraded while functions are
// allocated there; then it is back at its directory.
func (m *machine) joins() {
	plane, err := harness.StartPlane(harness.Options{Scheduler: true, ControllerManager: true})
	if err != nil {
		m.Fatal(err)
	}
	defer func() { plane.Stop(m.Failed()) }()
	l := harness.NewHostlessLab(m.T, plane)
	l.RunAsDeployed()
	config, err := os.ReadFile(l.Config)
	if err != nil {
		m.Fatal(err)
	}
	m.run(`mkdir -p /run/systemd/network && cat >/run/systemd/network/lan.network <<'TEXT'
[Match]
Driver=virtio_net
[Network]
Address=10.0.2.15/24
LinkLocalAddressing=no
TEXT
systemctl start systemd-networkd`)
	m.until("the control plane can be reached", "bash -c '</dev/tcp/10.0.2.2/"+l.Server.URL[strings.LastIndex(l.Server.URL, ":")+1:]+"' || { networkctl status --all --no-pager --lines=5; false; }")
	m.run("umask 077 && cat >/etc/sliced/kubeconfig <<'TEXT'\n" + strings.Replace(string(config), "127.0.0.1", "10.0.2.2", 1) + "\nTEXT\nchown sliced /etc/sliced/kubeconfig")
	m.run("cd /etc/sliced && cp -p config.yaml /var/tmp/ && sed -i 's|^cluster: .*|cluster: kubeconfig:/etc/sliced/kubeconfig|; s|^nodeName: .*|nodeName: " + l.Node +
		"|; s|^#namespace: .*|namespace: " + l.Namespace + "|' config.yaml && grep '^namespace: ' config.yaml")
	rv := l.Apply("every-vf", harness.Config("nic", M{}))
	m.run("systemctl restart sliced")
	m.until("the service says that it offers three", `expr "$(systemctl show -P StatusText sliced)" : "3 devices offered" >/dev/null`)
	l.History.WaitOffers(m, rv, patience, m.functions()...)
	for _, count := range []int{1, 3} {
		rv = l.Server.Revision(m)
		m.makeFunctions(count)
		l.History.WaitOffers(m, rv, patience, m.functions()...)
	}
	l.Server.NewPod(m, l.Namespace, "pod", l.Node, 2)
	l.Server.WaitScheduled(m, l.Namespace, "pod", patience)
	m.isUpgraded(l)
	m.run("cp -p /var/tmp/config.yaml /etc/sliced/ && rm /etc/sliced/kubeconfig && systemctl restart sliced")
	m.offers(3)
}

// isUpgraded installs the package of a later version over the one that runs. What is written next is what an edit asks for.
func (m *machine) isUpgraded(l *harness.Lab) {
	before, pid := l.Server.Revision(m), m.run("systemctl show -P MainPID sliced")
	m.run("DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i /var/tmp/later.deb 2>&1")
	m.until("the new version offers what the former one did", `[ "$(systemctl show -P MainPID sliced)" != `+pid+` ] &&
expr "$(systemctl show -P ActiveState sliced) $(systemctl show -P StatusText sliced)" : "active 3 devices offered" >/dev/null`)
	if version := m.run("dpkg-query -W -f '${Version}' sliced"); !strings.HasSuffix(version, ".later") {
		m.Errorf("after the upgrade there is version %s", version)
	}
	if m.run("grep -c '^cluster: kubeconfig:' /etc/sliced/config.yaml") != "1" {
		m.Error("the upgrade has taken the edited configuration")
	}
	edited := l.Apply("every-vf", harness.Config("renamed", M{}))
	l.History.Wait(m, "the edit of after the upgrade", edited, patience, func(s harness.PoolState) bool {
		for _, device := range s.Devices() {
			if name := device.Attributes[harness.Driver+"/resourceName"].StringValue; name == nil || *name != "renamed" {
				return false
			}
		}
		return s.Offers(m.functions()...)
	})
	for _, state := range l.History.States(m, before)[1:] {
		if state.RV <= edited {
			m.Errorf("the upgrade has written: %s", state)
		}
	}
}

// goes removes and purges the package.
func (m *machine) goes() {
	m.run("dpkg -r sliced 2>&1")
	left := m.run("pidof sliced; ls -d /run/sliced /usr/bin/sliced 2>/dev/null; find " + publishedAt + " -type f 2>/dev/null; :")
	if left != "" {
		m.Errorf("after the removal there is %s", left)
	}
	m.run("grep -q '^cluster: dir:' /etc/sliced/config.yaml && ls /etc/sliced/policies.d/every-vf.yaml")
	m.run("dpkg -P sliced 2>&1")
	// The package itself, and what the journal and dpkg write down of the past.
	left = m.run("find / -xdev -name '*sliced*' ! -path '/var/tmp/*' ! -path '/var/log/*' -print; find /run -name '*sliced*' -print")
	if left != "" {
		m.Errorf("after the purge there is %s", left)
	}
	m.run("systemctl daemon-reload")
	if units := m.run("systemctl list-units --all --no-legend '*sliced*'; systemctl list-unit-files --no-legend '*sliced*' || :"); units != "" {
		m.Errorf("after the purge systemd knows %s", units)
	}
}
