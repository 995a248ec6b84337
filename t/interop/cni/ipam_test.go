package cni

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withIPAM is a VfConfig's network whose address an IPAM plugin gives.
func withIPAM(l *lab, ipam command) command {
	return command{"command": "attach", "containerID": "first", "netns": "/run/netns/" + l.pod, "hostInterface": "ens1f0v0",
		"network": command{"mtu": 1400, "ipam": ipam, "routes": []command{{"destination": "203.0.113.0/24", "gateway": "192.0.2.1"}}}}
}

func hostLocal(directory string) command {
	return command{"type": "host-local", "subnet": "192.0.2.0/24", "rangeStart": "192.0.2.50", "rangeEnd": "192.0.2.60", "dataDir": directory,
		"routes": []command{{"dst": "0.0.0.0/0"}, {"dst": "198.51.100.0/24", "gw": "192.0.2.9", "priority": 7}}}
}

// leases are the addresses that host-local has given.
func leases(t testing.TB, directory string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "network", "*.*.*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !strings.HasPrefix(name, "last_reserved_ip") {
			all = append(all, name)
		}
	}
	return all
}

func (l *lab) hasInterface(namespace, name string) bool {
	return strings.Contains(run(l.t, "ip", "-n", namespace, "-br", "link"), name+"@")
}

// By the real plugins. Red when an interface that sliced attaches has not what its IPAM plugin gave, when the plugin is run a second time for it, or
// when the address is not given back.
func TestAnIPAMPluginAssignsTheAddressOfANetwork(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	p := l.startAttachments()
	inPod := func(arguments ...string) string { return run(t, "ip", append([]string{"-n", l.pod}, arguments...)...) }
	t.Run("host-local", func(t *testing.T) {
		directory := t.TempDir()
		order := withIPAM(l, hostLocal(directory))
		for range 2 {
			if said := p.tell(order); said != "" {
				t.Fatalf("attach: %s", said)
			}
		}
		if got := leases(t, directory); len(got) != 1 || got[0] != "192.0.2.50" {
			t.Errorf("leases: %v", got)
		}
		if got := inPod("-br", "address", "show", "net1"); !strings.Contains(got, "192.0.2.50/24") {
			t.Errorf("address: %s", got)
		}
		routes := inPod("route")
		for _, route := range []string{"default via 192.0.2.1 dev net1", "198.51.100.0/24 via 192.0.2.9 dev net1 metric 7", "203.0.113.0/24 via 192.0.2.1 dev net1"} {
			if !strings.Contains(strings.ReplaceAll(routes, " proto static", ""), route) {
				t.Errorf("routes: no %q in\n%s", route, routes)
			}
		}
		order["command"] = "detach"
		if said := p.tell(order); said != "" {
			t.Errorf("detach: %s", said)
		}
		if got := leases(t, directory); len(got) != 0 || p.recorded() != "" || !l.hasInterface(l.host, "ens1f0v0") {
			t.Errorf("after detach: leases %v, records %q", got, p.recorded())
		}
	})
	t.Run("static", func(t *testing.T) {
		order := withIPAM(l, command{"type": "static", "addresses": []command{{"address": "192.0.2.7/24", "gateway": "192.0.2.1"}, {"address": "2001:db8::7/64"}},
			"routes": []command{{"dst": "0.0.0.0/0"}, {"dst": "2001:db8:1::/64", "gw": "2001:db8::1", "table": 9}}})
		if said := p.tell(order); said != "" {
			t.Fatalf("attach: %s", said)
		}
		if got := inPod("-br", "address", "show", "net1"); !strings.Contains(got, "192.0.2.7/24") || !strings.Contains(got, "2001:db8::7/64") {
			t.Errorf("address: %s", got)
		}
		if got := inPod("-6", "route", "show", "table", "9"); !strings.Contains(got, "2001:db8:1::/64 via 2001:db8::1") {
			t.Errorf("table 9: %s", got)
		}
		order["command"] = "detach"
		if said := p.tell(order); said != "" {
			t.Errorf("detach: %s", said)
		}
	})
	// What the plugin gave cannot be set: the pod's own default route is in the way, or a gateway is on no subnet.
	t.Run("refused", func(t *testing.T) {
		directory := t.TempDir()
		wrong := hostLocal(directory)
		wrong["routes"] = []command{{"dst": "198.51.100.0/24", "gw": "198.18.0.1"}}
		order := withIPAM(l, wrong)
		if said := p.tell(order); !strings.Contains(said, `gateway is "198.18.0.1", which is on the subnet of none`) {
			t.Errorf("attach: %q", said)
		}
		if !l.hasInterface(l.host, "ens1f0v0") {
			t.Error("the interface has moved")
		}
		order["command"] = "detach"
		if said := p.tell(order); said != "" || len(leases(t, directory)) != 0 || p.recorded() != "" {
			t.Errorf("detach: %q, leases %v, records %q", said, leases(t, directory), p.recorded())
		}
	})
	// The host has 10.9.9.1.
	t.Run("an address of the host", func(t *testing.T) {
		directory := t.TempDir()
		order := command{"command": "attach", "containerID": "first", "netns": "/run/netns/" + l.pod, "hostInterface": "ens1f0v0", "usersDefinition": "network in the VfConfig",
			"network": command{"ipam": command{"type": "host-local", "subnet": "10.9.9.0/24", "rangeStart": "10.9.9.1", "rangeEnd": "10.9.9.2", "dataDir": directory}}}
		if said := p.tell(order); said != "" {
			t.Fatalf("attach: %s", said)
		}
		if got := leases(t, directory); len(got) != 1 || got[0] != "10.9.9.2" {
			t.Errorf("leases: %v", got)
		}
		order["command"] = "detach"
		if said := p.tell(order); said != "" {
			t.Errorf("detach: %s", said)
		}
		order["command"] = "attach"
		order["network"] = command{"ipam": command{"type": "static", "addresses": []command{{"address": "10.9.9.1/24"}}}}
		if said := p.tell(order); !strings.Contains(said, "which the host has itself") || p.recorded() != "" {
			t.Errorf("static: %q, records %q", said, p.recorded())
		}
	})
}

// Red when a daemon that is killed at any step of an attachment leaves an address that no DEL gives back.
func TestAKilledDaemonKeepsTheOriginalAddress(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	real, wrappers := l.plugins, t.TempDir()
	l.plugins = wrappers
	sliced, err := filepath.Abs("../../../build/sliced")
	if err != nil {
		t.Fatal(err)
	}
	step := filepath.Join(wrappers, "step")
	script := func(name, text string) string {
		path := write(t, filepath.Join(wrappers, name), "#!/bin/sh\nis() { test \"$(cat "+step+")\" = \"$1\"; }\n"+text)
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script("host-local", "is \"before $CNI_COMMAND\" && kill -9 $PPID && exit 1\n"+real+"/host-local || exit 1\nis \"after $CNI_COMMAND\" && kill -9 $PPID\nexit 0\n")
	program := script("attach", "is 'before attach' && kill -9 $PPID && exit 1\n"+sliced+" $1 $$ || exit 1\nis 'after attach' && kill -9 $PPID\nexit 0\n")
	for _, killed := range []string{"before ADD", "after ADD", "before attach", "after attach", "before DEL", "after DEL"} {
		directory, records := t.TempDir(), t.TempDir()
		write(t, step, killed)
		p := l.startAttachmentsWith(records, program)
		p.killed = true
		order := withIPAM(l, hostLocal(directory))
		if strings.HasSuffix(killed, "DEL") {
			if said := p.tell(order); said != "" {
				t.Fatalf("%s: attach: %s", killed, said)
			}
			order["command"] = "detach"
		}
		text, _ := json.Marshal(order)
		p.input.Write(append(text, '\n'))
		if line, err := p.output.ReadString('\n'); err == nil {
			t.Fatalf("%s: not killed: %s", killed, line)
		}
		if p.recorded() == "" {
			t.Errorf("%s: no record", killed)
		}
		write(t, step, "never")
		next := l.startAttachmentsWith(records, program)
		order["command"] = "detach"
		if said := next.tell(order); said != "" {
			t.Errorf("%s: detach: %s", killed, said)
		}
		if got := leases(t, directory); len(got) != 0 || next.recorded() != "" || !l.hasInterface(l.host, "ens1f0v0") {
			t.Errorf("%s: leases %v, records %q", killed, got, next.recorded())
		}
	}
}

// By the real plugin. Red when it is started with ranges that it refuses at ADD, and at DEL each time.
func TestRangesThatHostLocalRefusesAreRefusedEarly(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	for _, ranges := range []string{`"ranges":[]`, `"ranges":[[]]`, `"ranges":[[{}]]`, `"subnet":"192.0.2.5/24"`, `"subnet":"192.0.2.0/31"`, `"subnet":"2001:db8::/127"`,
		`"subnet":"192.0.2.0/24","rangeStart":"192.0.3.1"`, `"subnet":"192.0.2.0/24","rangeEnd":"2001:db8::1"`, `"subnet":"192.0.2.0/24","rangeStart":"192.0.2.9","rangeEnd":"192.0.2.8"`,
		`"ranges":[[{"subnet":"192.0.2.0/24"},{"subnet":"2001:db8::/64"}]]`, `"ranges":[[{"subnet":"192.0.2.0/24"},{"subnet":"192.0.0.0/16"}]]`,
		`"subnet":"192.0.2.0/24","ranges":[[{"subnet":"192.0.0.0/16"}]]`} {
		config := one(`{"type":"macvlan","master":"eno1","ipam":{"type":"host-local","dataDir":"/var/lib/cni",` + ranges + `}}`)
		if said, err := l.libcni(config); err == nil {
			t.Errorf("host-local takes %s: %s", ranges, said)
		}
		if l.admit(effectCase{config: strings.Replace(config, `"dataDir":"/var/lib/cni",`, "", 1), on: "eno1", shared: true, listed: []string{"macvlan"}}).Refused == "" {
			t.Errorf("%s is accepted", ranges)
		}
	}
}
