package cni

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sliced.test/interop"
)

// waitFor waits for a file that a program makes when it is ready.
func waitFor(t *testing.T, path string, log *strings.Builder) {
	t.Helper()
	for deadline := interop.Limit(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for %s; the program said:\n%s", path, log)
		}
	}
}

// start runs a command in the host's network namespace until the test ends.
func (l *lab) start(log *strings.Builder, arguments ...string) {
	l.t.Helper()
	command := exec.Command("ip", append([]string{"netns", "exec", l.host}, arguments...)...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
}

// Red when the real dhcp plugin, with its daemon and a DHCP server behind the allocated interface, gives a pod no address by what an author
// may write, or when the author chooses the socket that the plugin talks to.
func TestDHCP(t *testing.T) {
	l := newLab(t, buildPlugins(t))
	// The daemon's socket is where the plugin looks for it: no author may say where.
	if err := os.MkdirAll("/run/cni", 0o755); err != nil {
		t.Fatal(err)
	}
	sockets := t.TempDir()
	var daemon, server strings.Builder
	l.start(&daemon, filepath.Join(l.plugins, "dhcp"), "daemon", "-socketpath", filepath.Join(sockets, "dhcp.sock"), "-resendtimeout", "1000h")
	waitFor(t, filepath.Join(sockets, "dhcp.sock"), &daemon)
	run(t, "ip", "-n", l.host, "address", "add", "192.0.2.1/24", "dev", "ens1f0v0-far")
	leases := write(t, filepath.Join(t.TempDir(), "leases"), "")
	pid := filepath.Join(t.TempDir(), "pid")
	// One address: of several the server chooses by the MAC address, which is random.
	config := write(t, filepath.Join(t.TempDir(), "udhcpd.conf"), "start 192.0.2.50\nend 192.0.2.50\nmax_leases 1\ninterface ens1f0v0-far\nlease_file "+leases+"\npidfile "+pid+
		"\noption subnet 255.255.255.0\noption router 192.0.2.1\noption lease 3600\n")
	l.start(&server, "busybox", "udhcpd", "-f", config)
	waitFor(t, pid, &server)

	row := effectCase{config: one(`{"type":"host-device","ipam":{"type":"dhcp","provide":[{"option":"12","value":"pod"}],"request":[{"option":"3"}]}}`), on: "ens1f0v0"}
	got := l.admit(row)
	if got.Refused != "" {
		t.Fatalf("refused: %s", got.Refused)
	}
	before := l.state()
	add := func(command, network string) (string, error) {
		file := write(t, filepath.Join(t.TempDir(), "config"), network)
		with := write(t, filepath.Join(t.TempDir(), "attachment"), attachment{ContainerID: "c0", NetNS: "/run/netns/" + l.pod, IfName: "net1"})
		return l.inHost("mount --bind " + sockets + " /run/cni && " + strings.Join([]string{interop.Program("cni_chain"), command, l.plugins, file, with}, " "))
	}
	if said, err := add("ADD", got.Network); err != nil {
		t.Fatalf("ADD: %v %s\n%s\n%s", err, said, daemon.String(), server.String())
	}
	if inside := run(t, "ip", "-n", l.pod, "address", "show", "dev", "net1"); !strings.Contains(inside, "inet 192.0.2.50/24") {
		t.Errorf("the pod has\n%s", inside)
	}
	if left := row.notOwn(changes(before, l.state())); len(left) > 0 {
		t.Errorf("the host changed:\n%s", strings.Join(left, "\n"))
	}
	if said, err := add("DEL", got.Network); err != nil {
		t.Fatalf("DEL: %v %s", err, said)
	}

	// Another socket than the daemon's is refused; with it the plugin would talk to whatever listens there.
	strange := filepath.Join(l.elsewhere, "any.sock")
	listener, err := net.Listen("unix", strange)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	listener.(*net.UnixListener).SetDeadline(interop.Limit())
	called := make(chan error)
	go func() {
		connection, err := listener.Accept()
		if err == nil {
			connection.Close()
		}
		called <- err
	}()
	row.config = one(`{"type":"host-device","device":"ens1f0v0","ipam":{"type":"dhcp","daemonSocketPath":"` + strange + `"}}`)
	if got := l.admit(row); !strings.Contains(got.Refused, "daemonSocketPath") {
		t.Errorf("another socket: %q", got.Refused)
	}
	if _, err := l.libcni(row.config); err == nil {
		t.Error("the plugin does without the daemon")
	}
	if err := <-called; err != nil {
		t.Errorf("run as it is, the plugin does not call the socket: no attack (%v)", err)
	}
}
