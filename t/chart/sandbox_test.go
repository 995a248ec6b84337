package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	core "k8s.io/api/core/v1"

	"sliced.test/cluster/harness"
)

// asSandbox has the test program do what a container runtime does.
const asSandbox = "SLICED_CHART_SANDBOX"

const podUID = "8f0c4a52-5f6e-4a3b-9d0e-000000000001"

// sandbox is the pod on a machine that is made of files: where each of its mounts comes from.
type sandbox struct {
	root        string
	pod         core.PodSpec
	mounts      map[string]string // path inside -> directory of the machine
	environment []string
	groups      []string // directories of control groups that the container begins in
	runs        int
}

func newSandbox(t *testing.T, pod core.PodSpec, machine, node, token string) *sandbox {
	t.Helper()
	s := &sandbox{root: t.TempDir(), pod: pod, mounts: map[string]string{}}
	unpack(t, "sliced", s.root)
	secrets := t.TempDir()
	for name, text := range map[string]string{"token": token, "ca.crt": string(plane.Server.AdminConfig().CAData), "namespace": home} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	paths := map[string]string{"token": secrets}
	for _, volume := range pod.Volumes {
		if volume.HostPath == nil {
			continue
		}
		paths[volume.Name] = machine + volume.HostPath.Path
		if err := os.MkdirAll(paths[volume.Name], 0o755); err != nil { // as a kubelet does: DirectoryOrCreate
			t.Fatal(err)
		}
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		s.mounts[mount.MountPath] = paths[mount.Name]
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(plane.Server.URL, "https://"), ":")
	s.environment = []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port, "NODE_NAME=" + node, "POD_UID=" + podUID}
	return s
}

type container struct{ process *harness.Process }

// run starts the pod's container, whose log is shown when the test has failed.
func (s *sandbox) run(t *testing.T) *container {
	t.Helper()
	return s.execute(t, slices.Concat(s.pod.Containers[0].Command, s.pod.Containers[0].Args))
}

// probe runs a probe's command beside the container until it passes.
func (s *sandbox) probe(t *testing.T, of *core.Probe) {
	t.Helper()
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		asked := s.execute(t, of.Exec.Command)
		if asked.process.Wait(harness.Patience) && asked.process.ExitCode() == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v: exit status %d: %s", of.Exec.Command, asked.process.ExitCode(), asked.process.LogTail(20))
		}
	}
}

func (s *sandbox) execute(t *testing.T, command []string) *container {
	t.Helper()
	s.runs++
	of := s.pod.Containers[0]
	order := []string{s.root, s.capabilities(t)}
	for _, mount := range of.VolumeMounts {
		how := "rw"
		if mount.ReadOnly {
			how = "ro"
		}
		order = append(order, how+":"+s.mounts[mount.MountPath]+":"+mount.MountPath)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	arguments := slices.Concat([]string{"--mount", "--propagation", "private", "env", "-i", asSandbox + "=" + strings.Join(order, "\n")},
		s.environment, []string{self}, command)
	log := filepath.Join(t.TempDir(), fmt.Sprintf("pod-%d.log", s.runs))
	const joining = `for group in $GROUPS_OF_POD; do echo $$ >"$group/cgroup.procs" || exit 1; done; exec unshare "$@"`
	arguments = slices.Concat([]string{"GROUPS_OF_POD=" + strings.Join(s.groups, " "), "sh", "-c", joining, "sh"}, arguments)
	process, err := harness.StartProcess("sliced", log, "env", arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Logf("log of the pod:\n%s", process.LogTail(60))
		}
	})
	return &container{process}
}

func (c *container) end(t *testing.T) {
	t.Helper()
	c.process.Signal(syscall.SIGTERM)
	if !c.process.Wait(harness.Patience) || c.process.ExitCode() != 0 {
		t.Errorf("the pod did not end within its grace period, or with %d", c.process.ExitCode())
	}
}

// status is /proc/PID/status of the daemon.
func (c *container) status(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.PID()))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, is := strings.Cut(line, ":"); is {
			found[name] = strings.TrimSpace(value)
		}
	}
	return found
}

// becomeContainer makes of this process, in a mount namespace of its own, what the order says, and never returns.
func becomeContainer(order string) {
	runtime.LockOSThread() // capabilities are a thread's, and the one that executes decides
	lines := strings.Split(order, "\n")
	err := enter(lines[0], lines[2:])
	if err == nil {
		err = keepOnly(lines[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	os.Unsetenv(asSandbox)
	fmt.Fprintln(os.Stderr, "sandbox:", syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
	os.Exit(1)
}

func enter(root string, mounts []string) error {
	if err := unix.Mount(root, root, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	for _, one := range append([]string{"rw:/proc:/proc"}, mounts...) {
		part := strings.SplitN(one, ":", 3)
		at := root + part[2]
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(part[1], at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
		if part[0] == "ro" {
			if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				return fmt.Errorf("%s: %w", one, err)
			}
		}
	}
	if err := unix.Mount("", root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := unix.Chroot(root); err != nil {
		return err
	}
	return os.Chdir("/")
}

// capabilities are those that the pod adds to none, as their numbers.
func (s *sandbox) capabilities(t *testing.T) string {
	t.Helper()
	numbers := map[core.Capability]int{"NET_ADMIN": unix.CAP_NET_ADMIN, "SYS_ADMIN": unix.CAP_SYS_ADMIN,
		"SYS_PTRACE": unix.CAP_SYS_PTRACE, "DAC_READ_SEARCH": unix.CAP_DAC_READ_SEARCH}
	var added []string
	for _, name := range s.pod.Containers[0].SecurityContext.Capabilities.Add {
		number, known := numbers[name]
		if !known {
			t.Fatalf("no test knows the capability %s", name)
		}
		added = append(added, fmt.Sprint(number))
	}
	return strings.Join(added, ",")
}

// keepOnly leaves these capabilities, whatever is run next. Root has all of the bounding set after it executes a program.
func keepOnly(numbers string) error {
	kept := uint64(0)
	for _, number := range strings.Split(numbers, ",") {
		if one, err := strconv.Atoi(number); err == nil {
			kept |= 1 << one
		}
	}
	for capability := uintptr(0); capability <= unix.CAP_LAST_CAP; capability++ {
		if kept&(1<<capability) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && err != unix.EINVAL {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	now := []unix.CapUserData{{Effective: uint32(kept), Permitted: uint32(kept)}, {Effective: uint32(kept >> 32), Permitted: uint32(kept >> 32)}}
	if err := unix.Capset(&header, &now[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
