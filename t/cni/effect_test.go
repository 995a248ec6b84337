package cni

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
)

// lab is a host and a pod as two network namespaces, with the CNI project's own plugins. The host has its NIC eno1 with an address and the
// default route, an interface that a claim was allocated (ens1f0v0), one of another claim (ens1f0v1), and a bridge (br-data).
type lab struct {
	t         *testing.T
	host, pod string
	plugins   string // their directory
	files     string // what stands for /var/lib/cni of the host
	elsewhere string // a directory of the host that no plugin has anything to do with
}

func run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	out, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

func buildPlugins(t *testing.T) string {
	t.Helper()
	directory := t.TempDir() + "/"
	run(t, "go", "build", "-o", directory, "tool")
	return directory
}

func newLab(t *testing.T, plugins string) *lab {
	t.Helper()
	id := fmt.Sprintf("cni%d-%s", os.Getpid(), filepath.Base(t.TempDir()))
	l := &lab{t: t, host: "h" + id, pod: "p" + id, plugins: plugins, files: t.TempDir(), elsewhere: t.TempDir()}
	for _, name := range []string{l.host, l.pod} {
		run(t, "ip", "netns", "add", name)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	}
	for _, name := range []string{"eno1", "ens1f0v0", "ens1f0v1"} {
		run(t, "ip", "-n", l.host, "link", "add", name, "type", "veth", "peer", "name", name+"-far")
		run(t, "ip", "-n", l.host, "link", "set", name+"-far", "up")
	}
	run(t, "ip", "-n", l.host, "link", "add", "br-data", "address", "02:00:00:00:00:b0", "type", "bridge")
	run(t, "ip", "-n", l.host, "link", "add", "port", "master", "br-data", "type", "veth", "peer", "name", "port-far")
	for _, name := range []string{"lo", "eno1", "br-data", "port", "port-far"} {
		run(t, "ip", "-n", l.host, "link", "set", name, "up")
	}
	run(t, "ip", "-n", l.host, "address", "add", "10.9.9.1/24", "dev", "eno1")
	run(t, "ip", "-n", l.host, "route", "add", "default", "via", "10.9.9.254")
	return l
}

// inHost runs a command in the host's network namespace, with our directory in place of /var/lib/cni.
func (l *lab) inHost(command string) (string, error) {
	script := "mount --bind " + l.files + " /var/lib/cni && " + command
	out, err := exec.Command("ip", "netns", "exec", l.host, "sh", "-c", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// state is everything of the host that a plugin could change, a line each.
func (l *lab) state() []string {
	l.t.Helper()
	var all []string
	for _, command := range []string{"ip -br link | sed 's/@if[0-9]*//; s/ *$//'", "ip -br address | sed 's/@if[0-9]*//; s/ *$//' | grep -v fe80 || true",
		"ip route show table all | grep -v fe80 | grep -v ff00", "iptables-save | grep -v '^#' | sed 's/\\[.*\\]//'", "ip6tables-save | grep -v '^#' | sed 's/\\[.*\\]//'",
		"sysctl -a 2>/dev/null | grep -E 'forward|arp_|rp_filter|somaxconn|accept_ra' || true"} {
		out, err := l.inHost(command)
		if err != nil {
			l.t.Fatalf("%s: %v\n%s", command, err, out)
		}
		for _, line := range strings.Split(out, "\n") {
			all = append(all, strings.Fields(command)[0]+": "+line)
		}
	}
	parent := `index=$(ip netns exec ` + l.pod + ` cat /sys/class/net/net1/iflink 2>/dev/null) && ip link show | sed -n "s/^$index: \([^:@]*\).*/parent of net1 \1/p"; true`
	if out, err := l.inHost(parent); err != nil {
		l.t.Fatal(out, err)
	} else if out != "" {
		all = append(all, out)
	}
	for _, directory := range []string{l.files, l.elsewhere} {
		filepath.Walk(directory, func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				all = append(all, "file: "+strings.Replace(strings.Replace(path, l.files, "/var/lib/cni", 1), l.elsewhere, "/elsewhere", 1))
			}
			return nil
		})
	}
	return all
}

// changes are the lines that one state has and the other has not, "-" of the first and "+" of the second.
func changes(before, after []string) (found []string) {
	count := map[string]int{}
	for _, line := range before {
		count[line]--
	}
	for _, line := range after {
		count[line]++
	}
	for _, line := range append(before, after...) {
		switch {
		case count[line] < 0:
			found = append(found, "-"+line)
		case count[line] > 0:
			found = append(found, "+"+line)
		}
		count[line] = 0
	}
	return found
}

// about leaves out the changes that name the given words.
func about(all []string, words ...string) (left []string) {
	for _, line := range all {
		names := false
		for _, word := range words {
			names = names || strings.Contains(line, word)
		}
		if !names {
			left = append(left, line)
		}
	}
	return left
}

func (l *lab) chain(command, config string) (string, error) {
	l.t.Helper()
	file := write(l.t, filepath.Join(l.t.TempDir(), "config"), config)
	with := write(l.t, filepath.Join(l.t.TempDir(), "attachment"), attachment{ContainerID: "c0", NetNS: "/run/netns/" + l.pod, IfName: "net1"})
	program, err := filepath.Abs("../../build/t/cni_chain")
	if err != nil {
		l.t.Fatal(err)
	}
	return l.inHost(strings.Join([]string{program, command, l.plugins, file, with}, " "))
}

// withLibcni in the environment makes the test's program run the chain of a configuration as libcni does, which checks nothing of it.
const withLibcni = "SLICED_TEST_WITH_LIBCNI"

func (l *lab) libcni(config string) (string, error) {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	file := write(l.t, filepath.Join(l.t.TempDir(), "config"), config)
	return l.inHost(withLibcni + "='" + strings.Join([]string{l.plugins, file, "/run/netns/" + l.pod}, ":") + "' " + self)
}

func addWithLibcni(arguments string) error {
	given := strings.Split(arguments, ":")
	text, err := os.ReadFile(given[1])
	if err != nil {
		return err
	}
	list, err := listOfPlugins(string(text))
	if err != nil {
		return err
	}
	_, err = libcni.NewCNIConfigWithCacheDir([]string{given[0]}, given[1]+".cache", nil).AddNetworkList(context.Background(), list,
		&libcni.RuntimeConf{ContainerID: "c0", NetNS: given[2], IfName: "net1"})
	return err
}

// effectCase is a definition for the interface ens1f0v0, or br-data.
type effectCase struct {
	config  string // ELSEWHERE is a directory of the host
	on      string // the allocated interface
	shared  bool
	listed  []string
	changes []string // words of the host's lines that may change, beside the allocated interface
}

func (l *lab) admit(one effectCase) admitted {
	l.t.Helper()
	config := strings.ReplaceAll(one.config, "ELSEWHERE", l.elsewhere)
	return admit(l.t, []definition{{Config: config, Interface: one.on, Exclusive: !one.shared, Plugins: one.listed}})[0]
}

func one(plugin string) string { return `{"cniVersion":"1.0.0","name":"net",` + plugin[1:] }
func chainOf(plugins ...string) string {
	return `{"cniVersion":"1.0.0","name":"net","plugins":[` + strings.Join(plugins, ",") + `]}`
}

// Red when an accepted definition changes anything of the host but the allocated interface and the IPAM plugin's own record of addresses, or
// when something stays after DEL.
func TestAcceptedDefinitionsChangeNothingElse(t *testing.T) {
	plugins := buildPlugins(t)
	for name, row := range map[string]effectCase{
		"host-device and static":     {config: one(`{"type":"host-device",` + staticIPAM + `}`), on: "ens1f0v0"},
		"host-device and host-local": {config: one(`{"type":"host-device",` + localIPAM + `}`), on: "ens1f0v0", changes: []string{"/var/lib/cni/"}},
		"host-device and tuning": {config: chainOf(`{"type":"host-device",`+staticIPAM+`}`, `{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.arp_filter":"1"},"mtu":1400}`),
			on: "ens1f0v0", changes: []string{"/var/lib/cni/", "/run/cni/"}},
		"macvlan": {config: one(`{"type":"macvlan",` + staticIPAM + `}`), on: "ens1f0v0", shared: true},
		"bridge":  {config: one(`{"type":"bridge",` + staticIPAM + `}`), on: "br-data", shared: true, changes: []string{"veth"}},
		"portmap": {config: chainOf(`{"type":"host-device",`+staticIPAM+`}`, `{"type":"portmap","snat":true}`), on: "ens1f0v0",
			listed: []string{"host-device", "portmap"}, changes: []string{"CNI-"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, plugins)
			before := l.state()
			got := l.admit(row)
			if got.Refused != "" {
				t.Fatalf("refused: %s", got.Refused)
			}
			if said, err := l.chain("ADD", got.Network); err != nil {
				t.Fatalf("ADD: %v %s", err, said)
			}
			if left := about(changes(before, l.state()), append(row.changes, row.on)...); len(left) > 0 {
				t.Errorf("the host changed:\n%s", strings.Join(left, "\n"))
			}
			if inside := run(t, "ip", "-n", l.pod, "address", "show", "dev", "net1"); !strings.Contains(inside, "inet 192.0.2.") {
				t.Errorf("the pod has\n%s", inside)
			}
			if said, err := l.chain("DEL", got.Network); err != nil {
				t.Fatalf("DEL: %v %s", err, said)
			}
			if left := about(changes(before, l.state()), "/last_reserved_ip.0", "/lock", "CNI-", "-far", "ens1f0v0",
				"sysctl: net.ipv6.conf."+row.on); len(left) > 0 {
				t.Errorf("after DEL:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// Definitions that reach what their claim was not allocated, by the real plugins.
var attacks = map[string]effectCase{
	"another spelling of device":            {config: one(`{"type":"host-device","Device":"eno1"}`), on: "ens1f0v0"},
	"another spelling behind the right one": {config: one(`{"type":"host-device","device":"ens1f0v0","DEVICE":"eno1"}`), on: "ens1f0v0"},
	"another claim's interface":             {config: one(`{"type":"host-device","deVice":"ens1f0v1"}`), on: "ens1f0v0"},
	"a folded rune, in a chain":             {config: chainOf(`{"type":"host-device","device":"ens1f0v0"}`, `{"type":"tuning","\u017fysctl":{"net.ipv4.ip_forward":"1"},"dataDir":"ELSEWHERE"}`), on: "ens1f0v0"},
	"macvlan on the host's NIC":             {config: one(`{"type":"macvlan","Master":"eno1","mac":"02:00:00:00:00:09"}`), on: "ens1f0v0", shared: true},
	"a folder of host-local":                {config: one(`{"type":"host-device","device":"ens1f0v0","ipam":{"type":"host-local","dataDir":"ELSEWHERE","ranges":[[{"subnet":"192.0.2.0/24"}]]}}`), on: "ens1f0v0"},
	"a folder in another spelling":          {config: one(`{"type":"host-device","device":"ens1f0v0","ipam":{"type":"host-local","DATADIR":"ELSEWHERE","ranges":[[{"subnet":"192.0.2.0/24"}]]}}`), on: "ens1f0v0"},
	"a folder of tuning":                    {config: chainOf(`{"type":"host-device","device":"ens1f0v0"}`, `{"type":"tuning","dataDir":"ELSEWHERE","mtu":1400}`), on: "ens1f0v0"},
	"ports of the host": {config: chainOf(`{"type":"host-device","device":"ens1f0v0",`+staticIPAM+`}`,
		`{"type":"portmap","snat":true,"runtimeConfig":{"portMappings":[{"hostPort":10250,"containerPort":80,"protocol":"tcp"}]}}`), on: "ens1f0v0"},
	"masquerading of bridge": {config: one(`{"type":"bridge","bridge":"br-data","ipMasq":true,` + staticIPAM + `}`), on: "br-data", shared: true},
	"an address of bridge":   {config: one(`{"type":"bridge","bridge":"br-data","isGateway":true,` + staticIPAM + `}`), on: "br-data", shared: true},
	"another bridge":         {config: one(`{"type":"bridge","Bridge":"cni-evil",` + staticIPAM + `}`), on: "br-data", shared: true},
}

// Red when one of these definitions is accepted. Each is run without being checked first, so that the case is known to be an attack, and
// this test's look at the host to see it.
func TestRefusedDefinitionsWouldChangeTheHost(t *testing.T) {
	plugins := buildPlugins(t)
	for name, row := range attacks {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, plugins)
			before := l.state()
			if got := l.admit(row); got.Refused == "" {
				t.Errorf("accepted: %s", got.Network)
			} else if !strings.Contains(got.Refused, "NetworkAttachmentDefinition ns/nad") {
				t.Errorf("the refusal does not name the definition: %s", got.Refused)
			}
			if left := changes(before, l.state()); len(left) > 0 {
				t.Errorf("asking changed the host:\n%s", strings.Join(left, "\n"))
			}
			said, err := l.libcni(strings.ReplaceAll(row.config, "ELSEWHERE", l.elsewhere))
			if left := about(changes(before, l.state()), row.on+" ", row.on+"\t", "parent of net1 "+row.on); len(left) == 0 {
				t.Errorf("run as it is, it changes nothing of the host (%v %s): no attack, or this test does not see it", err, said)
			}
		})
	}
}

// A state of the host is compared line by line.
func TestChanges(t *testing.T) {
	if got := fmt.Sprint(changes([]string{"a", "b", "b"}, []string{"b", "c"})); got != "[-a -b +c]" {
		t.Error(got)
	}
}
