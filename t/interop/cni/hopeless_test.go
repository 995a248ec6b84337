package cni

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sliced.test/interop"
)

// attachmentsProgram is the daemon's part that makes and undoes interfaces, in the host's network namespace of a lab. The host has one PCI
// function there, whose interface is ens1f0v0; it is a directory below `function`.
type attachmentsProgram struct {
	*lab
	function string
	records  string
	input    io.Writer
	output   *bufio.Reader
	log      *strings.Builder
	killed   bool // by the test
}

func (l *lab) startAttachments() *attachmentsProgram {
	l.t.Helper()
	program, err := filepath.Abs("../../../build/sliced")
	if err != nil {
		l.t.Fatal(err)
	}
	return l.startAttachmentsWith(l.t.TempDir(), program)
}

// startAttachmentsWith starts it beside the records of one before, with another program that attaches by netlink.
func (l *lab) startAttachmentsWith(records, program string) *attachmentsProgram {
	l.t.Helper()
	functions := l.t.TempDir()
	p := &attachmentsProgram{lab: l, function: filepath.Join(functions, ownPCI), records: records, log: &strings.Builder{}}
	p.bind(true)
	script := "mount --bind " + functions + " /sys/bus/pci/devices && exec " + interop.Program("cni_attachments") + " " + l.plugins + " " + p.records + " " + program
	command := exec.Command("ip", "netns", "exec", l.host, "sh", "-c", script)
	command.Stderr = p.log
	in, err := command.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	p.input, p.output = in, bufio.NewReader(out)
	l.t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil && !p.killed {
			l.t.Errorf("cni_attachments: %v\n%s", err, p.log)
		}
	})
	return p
}

// bind gives the function its driver and its interface, or takes both.
func (p *attachmentsProgram) bind(bound bool) {
	p.t.Helper()
	os.RemoveAll(p.function)
	if err := os.MkdirAll(p.function, 0o755); err != nil {
		p.t.Fatal(err)
	}
	write(p.t, filepath.Join(p.function, "vendor"), "0x8086\n")
	if !bound {
		return
	}
	if err := os.MkdirAll(filepath.Join(p.function, "net/ens1f0v0"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	driver := filepath.Join(filepath.Dir(p.function), "iavf")
	if err := os.MkdirAll(driver, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink("../iavf", filepath.Join(p.function, "driver")); err != nil {
		p.t.Fatal(err)
	}
}

// ask returns the error of a command, "" none.
func (p *attachmentsProgram) ask(command, sandbox, netns string) string {
	p.t.Helper()
	return p.tell(map[string]string{"command": command, "containerID": sandbox, "netns": "/run/netns/" + netns, "deviceID": ownPCI,
		"config": `{"cniVersion":"1.0.0","name":"net","type":"host-device","ipam":{"type":"host-local","ranges":[[{"subnet":"192.0.2.0/24"}]],"dataDir":"` + p.files + `"}}`})
}

func (p *attachmentsProgram) tell(command any) string {
	p.t.Helper()
	text, _ := json.Marshal(command)
	if _, err := p.input.Write(append(text, '\n')); err != nil {
		p.t.Fatal(err)
	}
	line, err := p.output.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.log)
	}
	var answer struct{ Error string }
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		p.t.Fatalf("%v: %s", err, line)
	}
	return answer.Error
}

func (p *attachmentsProgram) recorded() string {
	p.t.Helper()
	files, err := os.ReadDir(p.records)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
	}
	return strings.Join(names, " ")
}

// The real host-device fails at every DEL of a function without a driver. Red when its record keeps the function from later sandboxes once
// the sandbox's network namespace is gone, or when it goes while the namespace, and so maybe the interface, is still there.
func TestAnAbandonedDelReleasesTheDevice(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	p := l.startAttachments()
	if said := p.ask("attach", "first", l.pod); said != "" {
		t.Fatalf("attach: %s\n%s", said, p.log)
	}
	run(t, "ip", "-n", l.pod, "link", "show", "net1")

	p.bind(false) // the driver is unbound below the pod
	run(t, "ip", "-n", l.pod, "link", "delete", "net1")
	if said := p.ask("detach", "first", l.pod); !strings.Contains(said, "driver") {
		t.Fatalf("host-device undoes a function without a driver: %q", said)
	}
	if said := p.ask("attach", "second", l.host); !strings.Contains(said, "first") {
		t.Errorf("the namespace of the first sandbox is there, and the second one is told: %q", said)
	}
	if got := p.recorded(); got != "first@net1.json" {
		t.Errorf("records: %q", got)
	}

	run(t, "ip", "netns", "del", l.pod)
	next := l.pod + "b"
	run(t, "ip", "netns", "add", next)
	t.Cleanup(func() { exec.Command("ip", "netns", "del", next).Run() })
	// The namespace is kept open for one DEL more, whose end lets it go. The kubelet asks again: DEL fails, the record goes, and then the
	// second sandbox's own ADD finds no interface.
	p.ask("attach", "second", next)
	if said := p.ask("attach", "second", next); !strings.Contains(said, "driver") || strings.Contains(said, "first") {
		t.Errorf("after the first sandbox has gone the second one is told: %q", said)
	}
	if got := p.recorded(); strings.Contains(got, "first") {
		t.Errorf("records: %q", got)
	}
	if !strings.Contains(p.log.String(), "CNI DEL abandoned") {
		t.Errorf("the log does not say it:\n%s", p.log)
	}

	// With its driver the function is a later pod's, once the second sandbox has ended, too. The kubelet asks again where an attach fails.
	p.bind(true)
	run(t, "ip", "-n", l.host, "link", "add", "ens1f0v0", "type", "veth", "peer", "name", "ens1f0v0-new")
	p.ask("detach", "second", next)
	run(t, "ip", "netns", "del", next)
	last := l.pod + "c"
	run(t, "ip", "netns", "add", last)
	t.Cleanup(func() { exec.Command("ip", "netns", "del", last).Run() })
	said := p.ask("attach", "third", last)
	for tries := 1; said != "" && tries < 3; tries++ {
		said = p.ask("attach", "third", last)
	}
	if said != "" {
		t.Errorf("a later sandbox: %s\n%s", said, p.log)
	}
	run(t, "ip", "-n", last, "link", "show", "net1")
	if said := p.ask("detach", "third", last); said != "" {
		t.Errorf("detach: %s", said)
	}
	run(t, "ip", "-n", l.host, "link", "show", "ens1f0v0")
	if got := p.recorded(); got != "" {
		t.Errorf("records: %q", got)
	}
}

// The real host-device moves nothing back where its IPAM plugin fails. Red when the kernel then deletes a virtual link with the pod's
// namespace, or returns a function under its name in the pod, up.
func TestAnInterfaceReturnsDespiteAFailingIPAM(t *testing.T) {
	for _, device := range []string{ownPCI, ""} {
		t.Run("device "+device, func(t *testing.T) {
			l := newLab(t, buildPlugins(t))
			failing := filepath.Join(l.plugins, "failing-ipam")
			script := "#!/bin/sh\necho '{\"cniVersion\":\"1.0.0\",\"code\":11,\"msg\":\"no daemon answers\"}'\nexit 1\n"
			if err := os.WriteFile(failing, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(failing) })
			p := l.startAttachments()
			config := `{"cniVersion":"1.0.0","name":"net","type":"host-device","ipam":{"type":"failing-ipam"}}`
			if device == "" {
				config = strings.Replace(config, `"ipam"`, `"device":"ens1f0v0","ipam"`, 1)
			}
			command := map[string]string{"command": "attach", "containerID": "first", "netns": "/run/netns/" + l.pod, "deviceID": device,
				"hostInterface": "ens1f0v0", "config": config}
			if said := p.tell(command); !strings.Contains(said, "no daemon answers") {
				t.Fatalf("attach: %q", said)
			}
			run(t, "ip", "-n", l.pod, "link", "show", "net1") // the plugin has moved it, and left it there
			command["command"] = "detach"
			if said := p.tell(command); !strings.Contains(said, "no daemon answers") {
				t.Errorf("detach: %q", said)
			}
			out := run(t, "ip", "-n", l.host, "link", "show", "ens1f0v0")
			if strings.Contains(out, ",UP") || strings.Contains(out, "<UP") {
				t.Errorf("it is up: %s", out)
			}
			run(t, "ip", "netns", "del", l.pod)
			run(t, "ip", "-n", l.host, "link", "show", "ens1f0v0")
		})
	}
}

// A pod with CAP_NET_ADMIN renames its interface and calls one of its own so. Red when the real host-device moves that one to the host, under
// a name of the pod's choice.
func TestAPodsOwnInterfaceIsNotMovedToTheHost(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	p := l.startAttachments()
	command := map[string]string{"command": "attach", "containerID": "first", "netns": "/run/netns/" + l.pod, "hostInterface": "ens1f0v0",
		"config": `{"cniVersion":"1.0.0","name":"net","type":"host-device","device":"ens1f0v0"}`}
	if said := p.tell(command); said != "" {
		t.Fatalf("attach: %s\n%s", said, p.log)
	}
	for _, arguments := range []string{
		"link set net1 down", "link set net1 name hidden", "link set hidden alias evil0", "link property add dev hidden altname eno7",
		"link add net1 type veth peer name other", "link set net1 alias docker0", "link property add dev net1 altname eno8",
	} {
		run(t, "ip", append([]string{"-n", l.pod}, strings.Fields(arguments)...)...)
	}
	command["command"] = "detach"
	if said := p.tell(command); said != "" {
		t.Errorf("detach: %s\n%s", said, p.log)
	}
	run(t, "ip", "-n", l.host, "link", "show", "ens1f0v0")
	for _, name := range []string{"docker0", "evil0", "eno7", "eno8", "net1", "hidden"} {
		if out, err := exec.Command("ip", "-n", l.host, "link", "show", name).CombinedOutput(); err == nil {
			t.Errorf("the host has %s: %s", name, out)
		}
	}
	if got := p.recorded(); got != "" {
		t.Errorf("records: %q", got)
	}
}

// The real bridge sets accept_ra of the host's bridge to 0 with each ADD. Red when the host loses its IPv6 default route by that.
func TestABridgeKeepsAcceptingRouterAdvertisements(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	p := l.startAttachments()
	acceptRA := func() string {
		return strings.TrimSpace(run(t, "ip", "netns", "exec", l.host, "cat", "/proc/sys/net/ipv6/conf/br-data/accept_ra"))
	}
	run(t, "ip", "netns", "exec", l.host, "sh", "-c", "echo 2 >/proc/sys/net/ipv6/conf/br-data/accept_ra")
	command := map[string]string{"command": "attach", "containerID": "first", "netns": "/run/netns/" + l.pod,
		"config": `{"cniVersion":"1.0.0","name":"net","type":"bridge","bridge":"br-data"}`}
	if said := p.tell(command); said != "" {
		t.Fatalf("attach: %s", said)
	}
	if now := acceptRA(); now != "2" {
		t.Errorf("behind ADD accept_ra is %s", now)
	}
	run(t, "ip", "netns", "exec", l.host, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/br-data/accept_ra")
	command["command"] = "detach"
	if said := p.tell(command); said != "" {
		t.Errorf("detach: %s", said)
	}
	if now := acceptRA(); now != "1" {
		t.Errorf("what the host set since is %s behind DEL", now)
	}
	command["command"], command["config"] = "attach", strings.Replace(command["config"], `"br-data"`, `"br-data","ipam":{"type":"no-such-plugin"}`, 1)
	if said := p.tell(command); said == "" {
		t.Error("an ADD without its IPAM plugin succeeds")
	}
	command["command"] = "detach"
	p.tell(command)
	if now := acceptRA(); now != "1" {
		t.Errorf("behind an ADD that failed accept_ra is %s", now)
	}
}

// bridgeLink is what of an interface the plugin bridge may change.
type bridgeLink struct {
	Address string
	MTU     int
}

func bridgeLinkOf(t *testing.T, namespace, name string) bridgeLink {
	t.Helper()
	var links []bridgeLink
	out := run(t, "ip", "-n", namespace, "-json", "link", "show", name)
	if err := json.Unmarshal([]byte(out), &links); err != nil || len(links) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return links[0]
}

// A definition without any field changes nothing of the host's bridge, by the real plugin: the kernel takes a bridge's MAC address and MTU from
// its ports. Red when the bridge gets the address of a pod's interface, or an MTU of 1500.
func TestABridgeKeepsItsAddressAndMTU(t *testing.T) {
	plugins := buildPlugins(t)
	const address = "e8:00:00:00:00:01"
	for name, row := range map[string]struct{ commands, mac string }{
		"from its port":          {"link add uplink address " + address + " mtu 9000 type veth peer name uplink-far\nlink add br0 mtu 9000 type bridge\nlink set uplink master br0", address},
		"without a port":         {"link add br0 address " + address + " mtu 9000 type bridge", address},
		"without a port, random": {"link add br0 mtu 9000 type bridge", ""},
		"below 1500":             {"link add uplink address " + address + " mtu 1400 type veth peer name uplink-far\nlink add br0 type bridge\nlink set uplink master br0", address},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, plugins)
			run(t, "ip", "-n", l.host, "-batch", write(t, filepath.Join(t.TempDir(), "batch"), row.commands+"\nlink set br0 up\n"))
			before := bridgeLinkOf(t, l.host, "br0")
			if row.mac != "" && before.Address != row.mac {
				t.Fatalf("the lab's bridge has %+v", before)
			}
			p := l.startAttachments()
			is := func(when string) {
				t.Helper()
				if now := bridgeLinkOf(t, l.host, "br0"); now != before {
					t.Errorf("%s the bridge has %+v, and had %+v", when, now, before)
				}
			}
			pods := []string{}
			command := func(pod, command string) map[string]string {
				return map[string]string{"command": command, "containerID": pod, "netns": "/run/netns/" + pod,
					"config": `{"cniVersion":"1.0.0","name":"net","type":"bridge","bridge":"br0"}`}
			}
			for i := range 8 { // their addresses are random: one of them is below the bridge's
				pod := fmt.Sprintf("%s-%d", l.pod, i)
				run(t, "ip", "netns", "add", pod)
				t.Cleanup(func() { exec.Command("ip", "netns", "del", pod).Run() })
				pods = append(pods, pod)
				if said := p.tell(command(pod, "attach")); said != "" {
					t.Fatalf("attach: %s", said)
				}
				is("behind ADD")
				if inside := bridgeLinkOf(t, pod, "net1"); inside.MTU != before.MTU {
					t.Errorf("the pod's interface has an MTU of %d", inside.MTU)
				}
			}
			for _, pod := range pods {
				if said := p.tell(command(pod, "detach")); said != "" {
					t.Errorf("detach: %s", said)
				}
				is("behind DEL")
			}
		})
	}
}

// Red when a definition sets a bridge up that the administrator has set down, or makes one that is gone.
func TestABridgeIsNeitherCreatedNorSetUp(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	p := l.startAttachments()
	run(t, "ip", "-n", l.host, "link", "set", "br-data", "down")
	for bridge, says := range map[string]string{"br-data": `bridge "br-data" is down`, "br-gone": `bridge "br-gone" is not on the host`, "eno1": `bridge "eno1" is not on the host`} {
		before := l.state()
		for _, config := range []string{one(`{"type":"bridge","bridge":"` + bridge + `"}`), chainOf(`{"type":"bridge","bridge":"`+bridge+`"}`, `{"type":"tuning","mtu":1400}`)} {
			command := map[string]string{"command": "attach", "containerID": "first", "netns": "/run/netns/" + l.pod, "config": config}
			if said := p.tell(command); !strings.Contains(said, says) {
				t.Errorf("%s: %q", config, said)
			}
			if got := p.recorded(); got != "" {
				t.Errorf("records: %q", got)
			}
		}
		if left := changes(before, l.state()); len(left) > 0 {
			t.Errorf("%s: the host changed:\n%s", bridge, strings.Join(left, "\n"))
		}
	}
}

// By the real plugins: on a shared parent the host's address in a pod takes the host off the network. Red when a definition of a namespace user
// gets it, or when an administrator's does not.
func TestAHostAddressIsRefusedForAPod(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	p := l.startAttachments()
	run(t, "ip", "-n", l.host, "address", "add", "2001:db8::1/64", "dev", "eno1", "nodad")
	command := func(plugin, ipam string) map[string]string {
		return map[string]string{"command": "attach", "containerID": "first", "netns": "/run/netns/" + l.pod, "usersDefinition": "NetworkAttachmentDefinition red/net",
			"config": `{"cniVersion":"1.0.0","name":"net","type":"` + plugin + `","master":"eno1","ipam":` + ipam + `}`}
	}
	addresses := func() string { return run(t, "ip", "-n", l.pod, "-br", "address", "show", "net1") }
	fixed := func(address string) string { return `{"type":"static","addresses":[{"address":"` + address + `"}]}` }
	for _, plugin := range []string{"macvlan", "ipvlan"} {
		for _, address := range []string{"10.9.9.1/24", "2001:db8::1/64"} {
			if said := p.tell(command(plugin, fixed(address))); !strings.Contains(said, `"`+address+`", which the host has itself (interface eno1)`) {
				t.Errorf("%s %s: %q", plugin, address, said)
			}
			if got := p.recorded(); got != "" {
				t.Errorf("records: %q", got)
			}
		}
	}
	// Of the range 10.9.9.1 to 10.9.9.2 only the second is left; the gateway is none of both.
	one := command("macvlan", `{"type":"host-local","dataDir":"`+t.TempDir()+`","subnet":"10.9.9.0/24","rangeStart":"10.9.9.1","rangeEnd":"10.9.9.2","gateway":"10.9.9.254"}`)
	if said := p.tell(one); said != "" {
		t.Fatalf("host-local: %s", said)
	}
	if got := addresses(); !strings.Contains(got, "10.9.9.2/24") {
		t.Errorf("host-local: %s", got)
	}
	one["command"] = "detach"
	if said := p.tell(one); said != "" {
		t.Errorf("detach: %s", said)
	}

	administrators := command("macvlan", fixed("10.9.9.1/24"))
	delete(administrators, "usersDefinition")
	if said := p.tell(administrators); said != "" {
		t.Errorf("an administrator's: %s", said)
	}
	if got := addresses(); !strings.Contains(got, "10.9.9.1/24") {
		t.Errorf("an administrator's: %s", got)
	}
}
