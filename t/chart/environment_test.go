package chart

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"sliced.test/cluster/harness"
)

// The pod of the DaemonSet in clusters that differ from the usual one.

type inEnvironment struct {
	lab     *harness.Lab
	sandbox *sandbox
	before  int64
}

func newEnvironment(t *testing.T) inEnvironment {
	t.Helper()
	pod := podOf(t, must(render(filepath.Join(manifests, "publisher-only-values.yaml"))))
	lab := harness.NewHostlessLab(t, plane)
	judging(t, lab.Node)
	machine, before := offering(t, lab)
	return inEnvironment{lab, newSandbox(t, pod, machine.Root, lab.Node, podToken(t, lab.Node)), before}
}

// publishes runs the pod until it has published, and its probes pass.
func (e inEnvironment) publishes(t *testing.T) *container {
	t.Helper()
	daemon := e.sandbox.run(t)
	e.lab.History.WaitOffers(t, e.before, harness.Patience, harness.VFDevices("0000:03:00.0", 0, 4)...)
	e.sandbox.probe(t, e.sandbox.pod.Containers[0].ReadinessProbe)
	return daemon
}

func (e inEnvironment) set(name, value string) {
	for i, one := range e.sandbox.environment {
		if strings.HasPrefix(one, name+"=") {
			e.sandbox.environment[i] = name + "=" + value
			return
		}
	}
	e.sandbox.environment = append(e.sandbox.environment, name+"="+value)
}

// socketsIn are the inodes of the sockets that /proc/PID/net/NAME lists and the process has open.
func (c *container) socketsIn(t *testing.T, name string) (found []string) {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d", c.process.PID())
	table, err := os.ReadFile(filepath.Join(proc, "net", name))
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		target, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name()))
		inode, isSocket := strings.CutPrefix(strings.TrimSuffix(target, "]"), "socket:[")
		if isSocket && regexp.MustCompile(`(?m)\s`+inode+`\s`).Match(table) {
			found = append(found, inode)
		}
	}
	return found
}

// A cluster without IPv4: the service of the API server has an IPv6 address, as KUBERNETES_SERVICE_HOST has it, without brackets. Turns red
// when the pod does not publish there, or opens an IPv4 socket.
func TestPodOfAnIPv6OnlyCluster(t *testing.T) {
	e := newEnvironment(t)
	relay := harness.NewRelayAt(t, plane.Server, "[::1]:0")
	host, port, err := net.SplitHostPort(strings.TrimPrefix(relay.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	e.set("KUBERNETES_SERVICE_HOST", host)
	e.set("KUBERNETES_SERVICE_PORT", port)
	daemon := e.publishes(t)
	if len(daemon.socketsIn(t, "tcp6")) == 0 {
		t.Error("no IPv6 socket is found: the search finds nothing")
	}
	for _, table := range []string{"tcp", "udp"} {
		if sockets := daemon.socketsIn(t, table); len(sockets) > 0 {
			t.Errorf("IPv4 sockets of %s: %v", table, sockets)
		}
	}
	daemon.end(t)
}

// tunnels is an HTTP proxy that knows CONNECT alone, and one way.
type tunnels struct {
	to    string
	mu    sync.Mutex
	asked []string // target and Proxy-Authorization
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	server, err := net.Dial("tcp", p.to)
	if err != nil || r.Method != http.MethodConnect {
		http.Error(w, "no way", http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	go func() { io.Copy(server, buffered); server.Close() }()
	io.Copy(client, server)
	client.Close()
}

// The API server can be reached through a proxy alone: nothing else leads to 10.0.2.2, for which its certificate is. Turns red when the pod
// goes past the proxy, does not say who it is, or misses a change while it watches through the tunnel.
func TestPodWithAProxy(t *testing.T) {
	e := newEnvironment(t)
	proxy := &tunnels{to: strings.TrimPrefix(plane.Server.URL, "https://")}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: proxy}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	e.set("KUBERNETES_SERVICE_HOST", "10.0.2.2")
	e.set("KUBERNETES_SERVICE_PORT", "443")
	e.set("HTTPS_PROXY", "http://node:secret@"+listener.Addr().String())
	e.set("NO_PROXY", "10.0.3.0/24,.svc")
	daemon := e.publishes(t)

	since := plane.Server.Revision(t)
	policy := harness.Policy(home, e.lab.Node, M{"resourceFilters": L{M{"pfPciAddresses": L{"0000:03:00.0"}, "vendors": L{"15b3"}}}})
	policy.Object["spec"].(M)["nodeSelector"] = M{"kubernetes.io/hostname": e.lab.Node}
	plane.Server.Apply(t, harness.Policies, policy)
	e.lab.History.WaitOffers(t, since, harness.Patience)
	proxy.mu.Lock()
	defer proxy.mu.Unlock()
	for _, one := range proxy.asked {
		if one != "CONNECT 10.0.2.2:443 Basic bm9kZTpzZWNyZXQ=" {
			t.Errorf("the proxy was asked for %s", one)
		}
	}
	if len(proxy.asked) == 0 {
		t.Error("the proxy was asked for nothing")
	}
	daemon.end(t)
}

// limited makes a control group with limits of memory and processes below that of this test, where the kernel has these controllers: in the
// one hierarchy of version 2, or in a hierarchy each of version 1.
func limited(t *testing.T, memory, processes string) (groups []string, killed func() string) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	group := func(root, controller string, limits map[string]string) string {
		path := root
		for _, line := range strings.Split(string(own), "\n") {
			if parts := strings.SplitN(line, ":", 3); len(parts) == 3 && parts[1] == controller {
				path = filepath.Join(root, parts[2])
			}
		}
		if _, err := os.Stat(path); err != nil {
			path = root // a namespace of control groups
		}
		path = filepath.Join(path, fmt.Sprintf("sliced-chart-%d", os.Getpid()))
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		for file, limit := range limits {
			if err := os.WriteFile(filepath.Join(path, file), []byte(limit), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		groups = append(groups, path)
		return path
	}
	const root = "/sys/fs/cgroup"
	report := ""
	if _, err := os.Stat(root + "/cgroup.controllers"); err == nil {
		report = group(root, "", map[string]string{"memory.max": memory, "pids.max": processes}) + "/memory.events"
	} else {
		report = group(root+"/memory", "memory", map[string]string{"memory.limit_in_bytes": memory}) + "/memory.oom_control"
		group(root+"/pids", "pids", map[string]string{"pids.max": processes})
	}
	return groups, func() string {
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`(?m)^oom_kill \d+$`).FindString(string(text))
	}
}

// Turns red when the pod needs more than twice the memory that it requests (resources.requests in values.yaml), or more than 64 threads.
func TestPodInLimitedControlGroups(t *testing.T) {
	e := newEnvironment(t)
	groups, killed := limited(t, "67108864", "64")
	e.sandbox.groups = groups
	daemon := e.publishes(t)
	for _, group := range groups {
		members, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil || !strings.Contains("\n"+string(members), fmt.Sprintf("\n%d\n", daemon.process.PID())) {
			t.Errorf("%s: the daemon %d is not in %s (%v)", group, daemon.process.PID(), members, err)
		}
	}
	daemon.end(t)
	if said := killed(); said != "oom_kill 0" {
		t.Errorf("%q", said)
	}
}
