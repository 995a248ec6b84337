package harness

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	api "k8s.io/client-go/tools/clientcmd/api"
)

// Lab is one scenario's own world on a shared control plane: a node, a host, a namespace, a user, a history.
type Lab struct {
	*Plane
	T         testing.TB
	Node      string
	NodeUID   string
	Namespace string
	Host      *HostTree // nil: not on this machine
	User      User
	History   *History   // of SR-IOV policies' slices
	Exposed   *History   // of those of the other policies; nil before Expose
	Watcher   *APIServer // what test code reads and writes through
	Config    string     // kubeconfig of the daemon
	Runtime   string     // runtime directory of the daemons and commands, which is not the machine's
	Reports   bool       // daemons write their report, which those that count writes do not want
	runs      int
	canaries  int
}

// Names must not clash with another run of the suite on this machine.
var suite = fmt.Sprintf("%05x", os.Getpid()&0xfffff)

var labs atomic.Int64

// NewLab makes the node, the namespace and a fabricated host, and begins the history. No daemon runs yet.
func NewLab(t testing.TB, plane *Plane, pfs ...PF) *Lab {
	t.Helper()
	l := NewHostlessLab(t, plane)
	l.Host = NewHostTree(t, pfs...)
	return l
}

// NewHostlessLab is for a daemon that runs elsewhere, on a host of its own.
func NewHostlessLab(t testing.TB, plane *Plane) *Lab {
	t.Helper()
	l := &Lab{Plane: plane, T: t, User: plane.NewUser(), Watcher: plane.Server, Runtime: newRoot(t)}
	if plane.Second != nil {
		l.Watcher = plane.Second
	}
	l.Node = fmt.Sprintf("n%02d-%s", labs.Add(1), suite)
	l.Namespace = l.Node
	l.NodeUID = string(l.Watcher.NewNode(t, l.Node, nil).UID)
	l.Watcher.NewNamespace(t, l.Namespace, l.User)
	l.History = NewHistory(t, l.Watcher, Driver, l.Node)
	l.Config = plane.Kubeconfig(t, plane.Server.URL, &api.AuthInfo{Token: l.User.Token})
	return l
}

// Apply creates or replaces one of this lab's policies and returns the revision of the write.
func (l *Lab) Apply(name string, configs ...any) int64 {
	l.T.Helper()
	return l.Watcher.Apply(l.T, Policies, Policy(l.Namespace, name, configs...))
}

// ApplyReady is Apply with spec.readiness.
func (l *Lab) ApplyReady(name string, readiness M, configs ...any) int64 {
	l.T.Helper()
	policy := Policy(l.Namespace, name, configs...)
	policy.Object["spec"].(M)["readiness"] = readiness
	return l.Watcher.Apply(l.T, Policies, policy)
}

// Expose creates or replaces a DeviceExposurePolicy for this lab's node alone, and returns the revision of the write.
func (l *Lab) Expose(name string, spec M) int64 {
	l.T.Helper()
	if l.Exposed == nil {
		l.Exposed = NewHistory(l.T, l.Watcher, ExposureDriver, l.Node)
	}
	spec = maps.Clone(spec)
	spec["nodeSelector"] = M{"matchLabels": M{"kubernetes.io/hostname": l.Node}}
	return l.Watcher.Apply(l.T, Exposures, Exposure(name+"-"+l.Node, spec))
}

// Daemon is one running `sliced run`.
type Daemon struct {
	*Process
	lab     *Lab
	Started time.Time
	meant   bool // its end was asked for
}

func (l *Lab) flags(command string) []string {
	flags := []string{command, "--cluster", "kubeconfig:" + l.Config, "--node-name", l.Node, "--namespace", l.Namespace}
	if command != "withdraw" { // which asks nothing of the host
		flags = append(flags, "--host", l.Host.Root)
	}
	return flags
}

// Program is the daemon under test.
func Program(t testing.TB) string {
	t.Helper()
	path := binary("SLICED_BIN", "../../build/sliced")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the daemon under test is missing: %v (SLICED_BIN names another)", err)
	}
	return path
}

// Controller is sliced-controller, and KubectlPlugin is kubectl-sliced, of the same build as the daemon.
func Controller(t testing.TB) string    { return besideDaemon(t, "sliced-controller") }
func KubectlPlugin(t testing.TB) string { return besideDaemon(t, "kubectl-sliced") }

func besideDaemon(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(binary("SLICED_BIN", "../../build/sliced")), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("a program under test is missing: %v (ninja -C build %s builds it)", err, name)
	}
	return path
}

// Run starts the daemon; it is killed with the test, and its log is shown if the test failed.
func (l *Lab) Run(extra ...string) *Daemon {
	l.T.Helper()
	l.runs++
	log := filepath.Join(l.T.TempDir(), fmt.Sprintf("sliced-%d.log", l.runs))
	d := &Daemon{lab: l, Started: time.Now()}
	args := append(l.flags("run"), extra...)
	if !l.Reports {
		args = append(args, "--report=off", "--events=off")
	}
	var err error
	if d.Process, err = startProcess("sliced", log, l.environment(), Program(l.T), args...); err != nil {
		l.T.Fatal(err)
	}
	run := l.runs
	l.T.Cleanup(func() {
		if d.Exited() && !d.meant {
			l.T.Errorf("daemon %d ended by itself, exit code %d", run, d.ExitCode())
		}
		d.Kill()
		if l.T.Failed() {
			l.T.Logf("log of daemon %d on %s:\n%s", run, l.Node, d.LogTail(80))
		}
	})
	return d
}

// Kill is SIGKILL: nothing can be said or cleaned up.
func (d *Daemon) Kill() {
	d.meant = true
	d.Process.Kill()
}

// Term asks the daemon to end and returns how long that took.
func (d *Daemon) Term(limit time.Duration) time.Duration {
	d.lab.T.Helper()
	d.meant = true
	start := time.Now()
	d.Signal(syscall.SIGTERM)
	if !d.Wait(limit) {
		d.lab.T.Fatalf("waited for the daemon to end after SIGTERM; it said last:\n%s", d.LogTail(20))
	}
	if code := d.ExitCode(); code != 0 {
		d.lab.T.Errorf("after SIGTERM the daemon ended with exit code %d", code)
	}
	return time.Since(start)
}

// WaitLog fails when the daemon has not said all of the words within the time.
func (d *Daemon) WaitLog(within time.Duration, words ...string) {
	d.lab.T.Helper()
	for deadline := endOf(within); ; time.Sleep(100 * time.Millisecond) {
		log, missing := d.Log(), ""
		for _, word := range words {
			if !strings.Contains(log, word) {
				missing = word
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			d.lab.T.Errorf("waited for the log to mention %q; it says last:\n%s", missing, d.LogTail(20))
			return
		}
	}
}

// Said is how often the daemon's log has the words.
func (d *Daemon) Said(words string) int { return strings.Count(d.Log(), words) }

// WaitSaid fails when the daemon has not said the words so often within the time.
func (d *Daemon) WaitSaid(within time.Duration, words string, times int) {
	d.lab.T.Helper()
	for deadline := endOf(within); d.Said(words) < times; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.lab.T.Fatalf("the log mentions %q %d times, want %d; it says last:\n%s", words, d.Said(words), times, d.LogTail(20))
		}
	}
}

// Command runs another subcommand with the lab's flags to its end.
func (l *Lab) Command(name string, extra ...string) (stdout, stderr string, code int) {
	l.T.Helper()
	return l.Program(append(l.flags(name), extra...)...)
}

// Program runs the program to its end, with these arguments and no others.
func (l *Lab) Program(args ...string) (stdout, stderr string, code int) {
	l.T.Helper()
	return output(l.T, l.environment(), Program(l.T), args...)
}

// environment has locks, sockets and evidence of this lab beside those of no other.
func (l *Lab) environment() []string { return []string{"SLICED_RUNTIME_DIRECTORY=" + l.Runtime} }

// Output runs a program to its end.
func Output(t testing.TB, program string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return output(t, nil, program, args...)
}

func output(t testing.TB, environment []string, program string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), environment...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %s: %v", program, args[0], err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
