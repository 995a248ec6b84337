package cni

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"

	"sliced.test/interop"
)

// lab is a host and a pod as two network namespaces, with the CNI project's own plugins. The host has its NIC eno1 with an address and the
// default route, an interface that a claim was allocated (ens1f0v0), one of another claim (ens1f0v1), and a bridge (br-data), which has its MAC address
// and its MTU from its port.
type lab struct {
	t         testing.TB
	host, pod string
	plugins   string // their directory
	files     string // what stands for /var/lib/cni of the host
	elsewhere string // a directory of the host that no plugin has anything to do with
}

// output returns the standard output of a command, and with an error its standard error as well. ip prints warnings about network namespaces
// that another program is making at the moment: they are not part of a state.
func output(command *exec.Cmd) (string, error) {
	var out, warnings bytes.Buffer
	command.Stdout, command.Stderr = &out, &warnings
	if err := command.Run(); err != nil {
		return out.String() + warnings.String(), err
	}
	return out.String(), nil
}

func run(t testing.TB, name string, arguments ...string) string {
	t.Helper()
	out, err := output(exec.Command(name, arguments...))
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, out)
	}
	return out
}

// Where the plugins are, when they are not built here: in the guest of t/guest.
const pluginsAt = "SLICED_TEST_CNI_PLUGINS"

func buildPlugins(t testing.TB) string {
	t.Helper()
	if directory := os.Getenv(pluginsAt); directory != "" {
		return directory
	}
	directory := t.TempDir() + "/"
	run(t, "go", "build", "-o", directory, "tool")
	return directory
}

func newLab(t testing.TB, plugins string) *lab {
	t.Helper()
	if err := os.MkdirAll("/var/lib/cni", 0o755); err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("cni%d-%s", os.Getpid(), filepath.Base(t.TempDir()))
	l := &lab{t: t, host: "h" + id, pod: "p" + id, plugins: plugins, files: t.TempDir(), elsewhere: t.TempDir()}
	for _, name := range []string{l.host, l.pod} {
		run(t, "ip", "netns", "add", name)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	}
	batch := []string{"link add br-data mtu 9000 type bridge", "link add port address e8:00:00:00:00:b0 mtu 9000 master br-data type veth peer name port-far"}
	for _, name := range []string{"eno1", "ens1f0v0", "ens1f0v1"} {
		batch = append(batch, "link add "+name+" type veth peer name "+name+"-far", "link set "+name+"-far up")
	}
	for _, name := range []string{"lo", "eno1", "ens1f0v0", "ens1f0v1", "br-data", "port", "port-far"} {
		batch = append(batch, "link set "+name+" up")
	}
	batch = append(batch, "address add 10.9.9.1/24 dev eno1", "route add default via 10.9.9.254")
	run(t, "ip", "-n", l.host, "-batch", write(t, filepath.Join(t.TempDir(), "batch"), strings.Join(batch, "\n")+"\n"))
	l.waitUp("eno1", "eno1-far", "ens1f0v0", "ens1f0v0-far", "ens1f0v1", "ens1f0v1-far", "br-data", "port", "port-far")
	return l
}

// waitUp waits until the kernel has seen the carrier of these interfaces. It does so up to a second after they are set up, which would look
// like a change of the host.
func (l *lab) waitUp(names ...string) {
	l.t.Helper()
	for deadline := interop.Limit(); ; time.Sleep(10 * time.Millisecond) {
		up := 0
		for _, line := range strings.Split(run(l.t, "ip", "-n", l.host, "-br", "link"), "\n") {
			if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "UP" && slices.Contains(names, strings.Split(fields[0], "@")[0]) {
				up++
			}
		}
		if up == len(names) {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("waited until the limit of the test program for %v to be up:\n%s", names, run(l.t, "ip", "-n", l.host, "-br", "link"))
		}
	}
}

// inHost runs a command in the host's network namespace, with our directory in place of /var/lib/cni.
func (l *lab) inHost(command string) (string, error) {
	script := "mount --bind " + l.files + " /var/lib/cni && " + command
	out, err := output(exec.Command("ip", "netns", "exec", l.host, "sh", "-c", script))
	return strings.TrimSpace(out), err
}

// link is what "ip -json -details link" says of one.
type link struct {
	Name        string `json:"ifname"`
	Address     string
	MTU         int
	Promiscuity int
	AllMulti    int    `json:"allmulti"`
	Master      string // the bridge
	Info        struct {
		Kind string                `json:"info_kind"`
		Data struct{ Mode string } `json:"info_data"`
	} `json:"linkinfo"`
}

func (l *lab) links() (links []link) {
	l.t.Helper()
	out := run(l.t, "ip", "-n", l.host, "-json", "-details", "link")
	if err := json.Unmarshal([]byte(out), &links); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
	return links
}

// modes are what an interface has that its users share, a line each.
func (l *lab) modes() (all []string) {
	l.t.Helper()
	for _, one := range l.links() {
		for _, mode := range []string{fmt.Sprintf("mtu %d", one.MTU), fmt.Sprintf("promiscuity %d", one.Promiscuity), fmt.Sprintf("allmulti %d", one.AllMulti),
			"bridge " + one.Master, one.Info.Kind + " " + one.Info.Data.Mode} {
			all = append(all, "mode: "+one.Name+" "+mode)
		}
	}
	return all
}

const nextCommand = "---- next command"

// state is everything of the host that a plugin could change, a line each.
func (l *lab) state() []string {
	l.t.Helper()
	all := l.modes()
	for _, one := range l.links() { // random ones, so that two labs have no address in common
		all = append(all, "mode: "+one.Name+" address "+one.Address)
	}
	commands := []string{"ip -br link | sed 's/@if[0-9]*//; s/ *$//'", "ip -br address | sed 's/@if[0-9]*//; s/ fe80:[^ ]*//g; s/ *$//'",
		"ip route show table all | grep -v fe80 | grep -v ff00",
		"sysctl -a 2>/dev/null | grep -E 'forward|arp_|rp_filter|somaxconn|accept_ra' || true"}
	if !inGuest() { // which has neither these programs nor the kernel's modules for them
		commands = append(commands, "iptables-save | grep -v '^#' | sed 's/\\[.*\\]//'", "ip6tables-save | grep -v '^#' | sed 's/\\[.*\\]//'")
	}
	commands = append(commands, `index=$(ip netns exec `+l.pod+` cat /sys/class/net/net1/iflink 2>/dev/null) && ip link show | sed -n "s/^$index: \([^:@]*\).*/parent of net1 \1/p"; true`)
	// One script: processes take long in an emulated machine.
	out, err := l.inHost("set -e; " + strings.Join(commands, "; echo "+nextCommand+"; "))
	parts := strings.Split(out, nextCommand)
	if err != nil || len(parts) != len(commands) {
		l.t.Fatalf("%v\n%s", err, out)
	}
	for i, part := range parts {
		for _, line := range strings.Split(strings.TrimSpace(part), "\n") {
			if strings.HasPrefix(line, "parent of net1 ") {
				all = append(all, line)
			} else if line != "" {
				all = append(all, strings.Fields(commands[i])[0]+": "+line)
			}
		}
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
	return l.inHost(strings.Join([]string{interop.Program("cni_chain"), command, l.plugins, file, with}, " "))
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

// inGuest: this is the guest of t/guest, whose kernel has all kinds of links and no netfilter. The kernel of the machine that the tests run
// on may lack modules of links.
func inGuest() bool { return os.Getenv(pluginsAt) != "" }

// What of the kernel a case needs: it is played in the guest, or outside.
type kernelPart int

const (
	nothingMore kernelPart = iota // played in both
	moreLinks                     // ipvlan, 8021q, vrf
	netfilter
)

func isHere(part kernelPart) bool { return part == nothingMore || (part == moreLinks) == inGuest() }

// effectCase is a definition for the interface ens1f0v0, or br-data.
type effectCase struct {
	config   string // ELSEWHERE is a directory of the host
	on       string // the allocated interface
	shared   bool
	listed   []string
	changes  []string // words of the host's lines that may change, beside the allocated interface
	needs    kernelPart
	before   string // a command in the host before: what another claim has on the same device
	harmless string // of an attack on a shared device: the same definition without it, which may change the device
}

// isOwn: a line of the allocated interface, which its plugins may change; of a shared one not what its other users have, too.
func (e effectCase) isOwn(line string) bool {
	if e.shared && strings.HasPrefix(line[1:], "mode: ") && !strings.Contains(line, " promiscuity ") {
		return false
	}
	return strings.Contains(line, e.on)
}

func (e effectCase) notOwn(all []string) (left []string) {
	for _, line := range all {
		if !e.isOwn(line) {
			left = append(left, line)
		}
	}
	return left
}

func (l *lab) prepare(one effectCase) {
	l.t.Helper()
	if one.before != "" {
		if said, err := l.inHost(one.before); err != nil {
			l.t.Fatalf("%s: %v %s", one.before, err, said)
		}
	}
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
		"macvlan and tuning": {config: chainOf(`{"type":"macvlan",`+staticIPAM+`}`, `{"type":"tuning","mtu":1400,"promisc":false,"txQLen":500}`),
			on: "ens1f0v0", shared: true, changes: []string{"/var/lib/cni/", "/run/cni/"}},
		"macvlan and tuning on an exclusive device": {config: chainOf(`{"type":"macvlan",`+staticIPAM+`}`, `{"type":"tuning","mac":"02:00:00:00:00:77","mtu":1400}`),
			on: "ens1f0v0", listed: []string{"macvlan"}, changes: []string{"/var/lib/cni/", "/run/cni/"}},
		"macvlan in promiscuous mode on an exclusive device": {config: chainOf(`{"type":"macvlan",`+staticIPAM+`}`, `{"type":"tuning","promisc":true,"allmulti":true}`),
			on: "ens1f0v0", listed: []string{"macvlan"}, changes: []string{"/var/lib/cni/", "/run/cni/"}},
		"host-device and sbr": {config: chainOf(`{"type":"host-device",`+staticIPAM+`}`, `{"type":"sbr","table":100}`), on: "ens1f0v0"},
		"ipvlan": {config: one(`{"type":"ipvlan","mode":"l2",` + staticIPAM + `}`), on: "ens1f0v0", shared: true, needs: moreLinks,
			before: "ip link add neighbour link ens1f0v0 type ipvlan mode l2"},
		"ipvlan in mode l3 on an exclusive device": {config: one(`{"type":"ipvlan","mode":"l3",` + staticIPAM + `}`), on: "ens1f0v0", listed: []string{"ipvlan"}, needs: moreLinks},
		"vlan": {config: one(`{"type":"vlan","vlanId":5,"mtu":1400,` + staticIPAM + `}`), on: "ens1f0v0", shared: true, needs: moreLinks},
		"vlan and tuning": {config: chainOf(`{"type":"vlan","vlanId":5,`+staticIPAM+`}`, `{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.arp_filter":"1"}}`),
			on: "ens1f0v0", shared: true, changes: []string{"/var/lib/cni/", "/run/cni/"}, needs: moreLinks},
		"host-device and vrf": {config: chainOf(`{"type":"host-device",`+staticIPAM+`}`, `{"type":"vrf","vrfname":"blue","table":100}`), on: "ens1f0v0", needs: moreLinks},
		"bridge":              {config: one(`{"type":"bridge",` + staticIPAM + `}`), on: "br-data", shared: true, changes: []string{"veth"}},
		"portmap": {config: chainOf(`{"type":"host-device",`+staticIPAM+`}`, `{"type":"portmap","snat":true}`), on: "ens1f0v0",
			listed: []string{"host-device", "portmap"}, changes: []string{"CNI-"}, needs: netfilter},
	} {
		if !isHere(row.needs) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := newLab(t, plugins)
			l.prepare(row)
			before := l.state()
			got := l.admit(row)
			if got.Refused != "" {
				t.Fatalf("refused: %s", got.Refused)
			}
			if said, err := l.chain("ADD", got.Network); err != nil {
				t.Fatalf("ADD: %v %s", err, said)
			}
			if left := about(row.notOwn(changes(before, l.state())), row.changes...); len(left) > 0 {
				t.Errorf("the host changed:\n%s", strings.Join(left, "\n"))
			}
			if inside := run(t, "ip", "-n", l.pod, "address", "show", "dev", "net1"); !strings.Contains(inside, "inet 192.0.2.") {
				t.Errorf("the pod has\n%s", inside)
			}
			if said, err := l.chain("DEL", got.Network); err != nil {
				t.Fatalf("DEL: %v %s", err, said)
			}
			if left := about(changes(before, l.state()), "/last_reserved_ip.0", "/lock", "CNI-", "-far", "ens1f0v0"); len(left) > 0 {
				t.Errorf("after DEL:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// onParent is a chain whose interface is made on ens1f0v0, and tuned.
func onParent(plugin, tuning string) string {
	id := ""
	if plugin == "vlan" {
		id = `"vlanId":5,`
	}
	return chainOf(`{"type":"`+plugin+`","master":"ens1f0v0",`+id+staticIPAM+`}`, `{"type":"tuning",`+tuning+`}`)
}

// Definitions that reach what their claim was not allocated, by the real plugins.
var attacks = map[string]effectCase{
	"another spelling of device":            {config: one(`{"type":"host-device","Device":"eno1"}`), on: "ens1f0v0"},
	"another spelling behind the right one": {config: one(`{"type":"macvlan","master":"ens1f0v0","ma\u017fter":"eno1"}`), on: "ens1f0v0", shared: true},
	"another claim's interface":             {config: one(`{"type":"host-device","deVice":"ens1f0v1"}`), on: "ens1f0v0"},
	"a folded rune, in a chain":             {config: chainOf(`{"type":"macvlan","maſter":"eno1"}`, `{"type":"tuning","mtu":1400}`), on: "ens1f0v0", shared: true},
	"macvlan on the host's NIC":             {config: one(`{"type":"macvlan","Master":"eno1","mac":"02:00:00:00:00:09"}`), on: "ens1f0v0", shared: true},
	"a folder of host-local":                {config: one(`{"type":"host-device","device":"ens1f0v0","ipam":{"type":"host-local","dataDir":"ELSEWHERE","ranges":[[{"subnet":"192.0.2.0/24"}]]}}`), on: "ens1f0v0"},
	"a folder in another spelling":          {config: one(`{"type":"host-device","device":"ens1f0v0","ipam":{"type":"host-local","DATADIR":"ELSEWHERE","ranges":[[{"subnet":"192.0.2.0/24"}]]}}`), on: "ens1f0v0"},
	"a folder of tuning":                    {config: chainOf(`{"type":"host-device","device":"ens1f0v0"}`, `{"type":"tuning","dataDir":"ELSEWHERE","mtu":1400}`), on: "ens1f0v0"},
	"ports of the host": {config: chainOf(`{"type":"host-device","device":"ens1f0v0",`+staticIPAM+`}`,
		`{"type":"portmap","snat":true,"runtimeConfig":{"portMappings":[{"hostPort":10250,"containerPort":80,"protocol":"tcp"}]}}`), on: "ens1f0v0", needs: netfilter},
	"masquerading of bridge": {config: one(`{"type":"bridge","bridge":"br-data","ipMasq":true,` + staticIPAM + `}`), on: "br-data", shared: true, needs: netfilter},
	"the MTU of a bridge": {config: one(`{"type":"bridge","bridge":"br-data","mtu":600,` + staticIPAM + `}`), on: "br-data", shared: true,
		harmless: one(`{"type":"bridge","bridge":"br-data",` + staticIPAM + `}`)},
	"promiscuous mode of macvlan's parent": {config: onParent("macvlan", `"promisc":true`), harmless: onParent("macvlan", `"promisc":false`), on: "ens1f0v0", shared: true},
	"all multicast of macvlan's parent":    {config: onParent("macvlan", `"allmulti":true`), harmless: onParent("macvlan", `"allmulti":false`), on: "ens1f0v0", shared: true},
	"all multicast of ipvlan's parent":     {config: onParent("ipvlan", `"allmulti":true`), harmless: onParent("ipvlan", `"allmulti":false`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"promiscuous mode of vlan's parent":    {config: onParent("vlan", `"promisc":true`), harmless: onParent("vlan", `"promisc":false`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"all multicast of vlan's parent":       {config: onParent("vlan", `"allmulti":true`), harmless: onParent("vlan", `"allmulti":false`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"the mode of all ipvlan interfaces": {config: one(`{"type":"ipvlan","master":"ens1f0v0","mode":"l3",` + staticIPAM + `}`), on: "ens1f0v0", shared: true, needs: moreLinks,
		before: "ip link add neighbour link ens1f0v0 type ipvlan mode l2"},
	"ipvlan on the host's NIC":    {config: one(`{"type":"ipvlan","Master":"eno1"}`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"ipvlan by a folded rune":     {config: one(`{"type":"ipvlan","maſter":"eno1"}`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"ipvlan, the last key wins":   {config: one(`{"type":"ipvlan","master":"ens1f0v0","ma\u017fter":"eno1"}`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"vlan on the host's NIC":      {config: one(`{"type":"vlan","vlanId":5,"MASTER":"eno1"}`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"vlan by a folded rune":       {config: one(`{"type":"vlan","vlanId":5,"master":"ens1f0v0","maſter":"eno1"}`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"vlan on another claim's NIC": {config: one(`{"type":"vlan","vlanId":5,"master":"ens1f0v1"}`), on: "ens1f0v0", shared: true, needs: moreLinks},
	"a folder of tuning behind vrf": {config: chainOf(`{"type":"host-device","device":"ens1f0v0"}`, `{"type":"vrf","vrfname":"blue"}`, `{"type":"tuning","DataDir":"ELSEWHERE","mtu":1400}`),
		on: "ens1f0v0", needs: moreLinks},
	"an address of bridge": {config: one(`{"type":"bridge","bridge":"br-data","isGateway":true,` + staticIPAM + `}`), on: "br-data", shared: true},
	"another bridge":       {config: one(`{"type":"bridge","Bridge":"cni-evil",` + staticIPAM + `}`), on: "br-data", shared: true},
}

// Red when one of these definitions is accepted. Each is run without being checked first, so that the case is known to be an attack, and
// this test's look at the host to see it.
func TestRefusedDefinitionsWouldChangeTheHost(t *testing.T) {
	plugins := buildPlugins(t)
	for name, row := range attacks {
		if !isHere(row.needs) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := newLab(t, plugins)
			l.prepare(row)
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
			if row.harmless != "" {
				with := newLab(t, plugins)
				row.config = row.harmless
				if got := with.admit(row); got.Refused != "" {
					t.Errorf("refused without the attack, too: %s", got.Refused)
				}
				if said, err := with.libcni(row.harmless); err != nil {
					t.Fatalf("%v %s", err, said)
				}
				if left := changes(with.modes(), l.modes()); len(about(left, "veth")) == 0 {
					t.Errorf("run as it is, it leaves the device as without the attack (%v %s): %q", err, said, left)
				}
				return
			}
			left := about(row.notOwn(changes(before, l.state())), "parent of net1 "+row.on)
			if len(left) == 0 {
				t.Errorf("run as it is, it changes nothing of the host (%v %s): no attack, or this test does not see it", err, said)
			}
		})
	}
}

// Red when a warning of a program counts as a change of the host.
func TestWarningsDoNotChangeTheState(t *testing.T) {
	l := newLab(t, "")
	const script = "echo warning >&2; echo state"
	if said, err := l.inHost(script); err != nil || said != "state" {
		t.Errorf("in the host: %q, %v", said, err)
	}
	if said := run(t, "sh", "-c", script); said != "state\n" {
		t.Errorf("run: %q", said)
	}
	if said, err := l.inHost(script + "; false"); err == nil || !strings.Contains(said, "warning") {
		t.Errorf("a command that fails: %q, %v", said, err)
	}
}

// A state of the host is compared line by line.
func TestChanges(t *testing.T) {
	if got := fmt.Sprint(changes([]string{"a", "b", "b"}, []string{"b", "c"})); got != "[-a -b +c]" {
		t.Error(got)
	}
}

// Red when an interface on a shared device gets an MTU above the device's: a definition may set it, because the kernel refuses that. An
// address is refused before.
func TestAddressesAndMTUsOfOthersAreRefused(t *testing.T) {
	plugins := buildPlugins(t)
	for name, tuning := range map[string]string{
		"the device's own address":     `"mac":"02:00:00:00:00:a0"`,
		"the address of another claim": `"mac":"02:00:00:00:00:a1"`,
		"an MTU above the device's":    `"mtu":9000`,
	} {
		t.Run(name, func(t *testing.T) {
			row := effectCase{config: onParent("macvlan", tuning), on: "ens1f0v0", shared: true}
			l := newLab(t, plugins)
			run(t, "ip", "-n", l.host, "link", "set", "ens1f0v0", "address", "02:00:00:00:00:a0")
			run(t, "ip", "-n", l.host, "link", "add", "neighbour", "link", "ens1f0v0", "address", "02:00:00:00:00:a1", "type", "macvlan", "mode", "bridge")
			run(t, "ip", "-n", l.host, "link", "set", "neighbour", "up")
			got := l.admit(row)
			if strings.Contains(tuning, "mac") {
				if !strings.Contains(got.Refused, "the device is shared") {
					t.Errorf("an address of one's own choice is not refused: %q", got.Refused)
				}
				return
			}
			if got.Refused != "" {
				t.Fatalf("refused: %s", got.Refused)
			}
			before := l.modes()
			if said, err := l.chain("ADD", got.Network); err == nil || !strings.Contains(said, "plugin tuning") {
				t.Errorf("ADD: %v %s", err, said)
			}
			if left := changes(before, l.modes()); len(left) > 0 {
				t.Errorf("the host changed:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}
