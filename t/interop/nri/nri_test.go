// The room nri/ judged by the runtime's own side of NRI: containerd's and cri-o's library (pkg/adaptation) over its ttrpc.
package nri

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"

	"sliced.test/interop"
)

// What the plugin's program has printed.
type plugin struct {
	t    *testing.T
	cmd  *exec.Cmd
	lock sync.Mutex
	more *sync.Cond
	said []string
	end  bool
}

func startPlugin(t *testing.T, socket string) *plugin {
	p := &plugin{t: t, cmd: exec.Command(interop.Program("nri_plugin"), socket)}
	p.more = sync.NewCond(&p.lock)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lock.Lock()
			p.said = append(p.said, lines.Text())
			p.more.Broadcast()
			p.lock.Unlock()
		}
		p.lock.Lock()
		p.end = true
		p.more.Broadcast()
		p.lock.Unlock()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// Waits for a line from the given one on that matches; returns the number of the line after it.
func (p *plugin) expect(from int, pattern string) int {
	p.t.Helper()
	wanted := regexp.MustCompile(pattern)
	late := false
	timer := time.AfterFunc(time.Until(interop.Limit()), func() {
		p.lock.Lock()
		late = true
		p.more.Broadcast()
		p.lock.Unlock()
	})
	defer timer.Stop()
	p.lock.Lock()
	defer p.lock.Unlock()
	for at := from; ; at++ {
		for at >= len(p.said) {
			if late || p.end {
				p.t.Fatalf("no line from %d on matches %q:\n%s", from, pattern, strings.Join(p.said, "\n"))
			}
			p.more.Wait()
		}
		if wanted.MatchString(p.said[at]) {
			return at + 1
		}
	}
}

func (p *plugin) lines() int {
	p.lock.Lock()
	defer p.lock.Unlock()
	return len(p.said)
}

// A runtime that knows these pods and containers already.
func startRuntime(t *testing.T, socket string, pods []*api.PodSandbox, containers []*api.Container) *adaptation.Adaptation {
	t.Helper()
	r, err := newRuntime(socket, t.TempDir(), pods, containers)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

func newRuntime(socket, directory string, pods []*api.PodSandbox, containers []*api.Container) (*adaptation.Adaptation, error) {
	return adaptation.New("testruntime", "v1.2.3",
		func(ctx context.Context, sync adaptation.SyncCB) error {
			_, err := sync(ctx, pods, containers)
			return err
		},
		func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
			return nil, nil
		},
		adaptation.WithSocketPath(socket),
		adaptation.WithPluginPath(filepath.Join(directory, "plugins")),
		adaptation.WithPluginConfigPath(filepath.Join(directory, "conf")))
}

func pod(name string) *api.PodSandbox {
	return &api.PodSandbox{
		Id: "id-" + name, Name: name, Uid: "uid-" + name, Namespace: "ns",
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": strings.Repeat("d", 5000)},
		Linux: &api.LinuxPodSandbox{
			CgroupParent: "/kubepods",
			Namespaces: []*api.LinuxNamespace{
				{Type: "ipc", Path: "/proc/9/ns/ipc"},
				{Type: "network", Path: "/var/run/netns/cni-" + name},
			},
		},
		Ips: []string{"10.1.0.7", "fd00::7"},
	}
}

func container(of, name string) *api.Container {
	return &api.Container{
		Id: "c-" + name, PodSandboxId: "id-" + of, Name: name, State: api.ContainerState_CONTAINER_CREATED,
		Args: []string{"sleep"}, Env: []string{"A=B"}, Labels: map[string]string{"x": "y"},
		Mounts:     []*api.Mount{{Destination: "/a", Source: "/b", Type: "bind", Options: []string{"ro"}}},
		CDIDevices: []*api.CDIDevice{{Name: "sriovnetwork.k8snetworkplumbingwg.io/vf=uid-0000-3b-01-0"}},
		Linux:      &api.LinuxContainer{Resources: &api.LinuxResources{Cpu: &api.LinuxCPU{Cpus: "0-3"}}},
		CreatedAt:  time.Now().UnixNano(),
	}
}

func socketIn(t *testing.T) string { return filepath.Join(t.TempDir(), "nri.sock") }

// A pod from its sandbox to its end, as the runtime calls for it.
func TestPodFromRunToRemove(t *testing.T) {
	socket := socketIn(t)
	r := startRuntime(t, socket, []*api.PodSandbox{pod("old")}, []*api.Container{container("old", "running")})
	p := startPlugin(t, socket)
	at := p.expect(0, `^log registered with the container runtime runtime=testruntime runtime_version=v1.2.3 .* request_timeout_ms=600000$`)
	at = p.expect(at, `^synchronize pods=1 containers=1$`)
	at = p.expect(at, `^pod id-old ns/old uid-old netns=/var/run/netns/cni-old ips=,10.1.0.7,fd00::7$`)
	at = p.expect(at, `^container c-running of id-old running state=1 cdi=,sriovnetwork.k8snetworkplumbingwg.io/vf=uid-0000-3b-01-0$`)
	at = p.expect(at, `^link up$`)
	ctx := context.Background()
	until(t, "the runtime calls the plugin", func() bool {
		if err := r.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Pod: pod("a")}); err != nil {
			t.Fatal(err)
		}
		return p.lines() > at
	})
	at = p.expect(at, `^run id-a ns/a uid-a netns=/var/run/netns/cni-a ips=,10.1.0.7,fd00::7$`)
	answer, err := r.CreateContainer(ctx, &api.CreateContainerRequest{Pod: pod("a"), Container: container("a", "app")})
	if err != nil {
		t.Fatal(err)
	}
	if answer.GetAdjust() != nil && len(answer.GetAdjust().GetEnv()) > 0 {
		t.Errorf("the container was adjusted: %v", answer)
	}
	at = p.expect(at, `^create id-a `)
	at = p.expect(at, `^container c-app of id-a app state=1 `)
	// What was not subscribed is not asked; the runtime goes on.
	if err := r.StartContainer(ctx, &api.StartContainerRequest{Pod: pod("a"), Container: container("a", "app")}); err != nil {
		t.Error(err)
	}
	if err := r.StopPodSandbox(ctx, &api.StopPodSandboxRequest{Pod: pod("a")}); err != nil {
		t.Error(err)
	}
	at = p.expect(at, `^stop id-a `)
	if err := r.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{Pod: pod("a")}); err != nil {
		t.Error(err)
	}
	p.expect(at, `^remove id-a `)
}

// Calls until what is waited for has happened: between our answer to Synchronize and the runtime's taking note of it, no
// plugin is called.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for end := interop.Limit(); !reached(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited until the limit of the test program for: %s", what)
		}
	}
}

func TestRefusalReachesTheClient(t *testing.T) {
	socket := socketIn(t)
	r := startRuntime(t, socket, nil, nil)
	p := startPlugin(t, socket)
	p.expect(0, `^link up$`)
	until(t, "a refusal", func() bool {
		_, err := r.CreateContainer(context.Background(),
			&api.CreateContainerRequest{Pod: pod("refused"), Container: container("refused", "app")})
		if err == nil {
			return false
		}
		if !strings.Contains(err.Error(), `the interface of pod refused is not there yet \xff`) {
			t.Errorf("the reason is lost: %v", err)
		}
		return true
	})
}

// Red when the plugin lets a hook that never answers use up the runtime's time: the runtime would drop the plugin and start the pod. On a slow
// machine that happens to a good plugin too, so each attempt has twice the time of the one before.
func TestLateHookRefusesThePod(t *testing.T) {
	defer adaptation.SetPluginRequestTimeout(unhurried)
	socket := socketIn(t)
	r := startRuntime(t, socket, nil, nil)
	p := startPlugin(t, socket)
	at := p.expect(0, `^link up$`)
	timeout := time.Second
	until(t, "a refusal", func() bool {
		adaptation.SetPluginRequestTimeout(timeout)
		err := r.RunPodSandbox(context.Background(), &api.RunPodSandboxRequest{Pod: pod("late")})
		adaptation.SetPluginRequestTimeout(unhurried)
		timeout = min(2*timeout, unhurried)
		return err != nil && strings.Contains(err.Error(), "not done within")
	})
	if err := r.StopPodSandbox(context.Background(), &api.StopPodSandboxRequest{Pod: pod("late")}); err != nil {
		t.Fatal(err)
	}
	at = p.expect(at, `^stop id-late `)
	p.expect(at, `^taken no$`) // so that what was done is undone
}

// A process that stands still is dropped by the runtime, which goes on. Once it runs again it knows, and is back.
func TestAStoppedPluginIsDisconnectedAndReconnects(t *testing.T) {
	defer adaptation.SetPluginRequestTimeout(unhurried)
	socket := socketIn(t)
	r := startRuntime(t, socket, nil, nil)
	p := startPlugin(t, socket)
	at := p.expect(0, `^link up$`)
	until(t, "the runtime calls the plugin", func() bool {
		r.RunPodSandbox(context.Background(), &api.RunPodSandboxRequest{Pod: pod("first")})
		return p.lines() > at
	})
	p.cmd.Process.Signal(syscall.SIGSTOP)
	adaptation.SetPluginRequestTimeout(time.Second) // only for a call that nothing answers
	if err := r.RunPodSandbox(context.Background(), &api.RunPodSandboxRequest{Pod: pod("unseen")}); err != nil {
		t.Fatalf("a runtime is expected to go on: %v", err)
	}
	adaptation.SetPluginRequestTimeout(unhurried)
	p.cmd.Process.Signal(syscall.SIGCONT)
	at = p.expect(at, `^link down: `)
	at = p.expect(at, `^synchronize `)
	at = p.expect(at, `^link up$`)
	until(t, "the runtime calls the plugin again", func() bool {
		r.RunPodSandbox(context.Background(), &api.RunPodSandboxRequest{Pod: pod("again")})
		return p.lines() > at
	})
	p.expect(at, `^run id-again `)
}

// More pods than a message of ttrpc holds come in parts.
func TestMultipartSynchronize(t *testing.T) {
	var pods []*api.PodSandbox
	var containers []*api.Container
	for i := range 1500 {
		pods = append(pods, pod(fmt.Sprintf("p%d", i)))
		containers = append(containers, container(fmt.Sprintf("p%d", i), fmt.Sprintf("c%d", i)))
	}
	socket := socketIn(t)
	startRuntime(t, socket, pods, containers)
	p := startPlugin(t, socket)
	at := p.expect(0, `^synchronize pods=1500 containers=1500$`)
	p.expect(at, `^link up$`)
}

// With this in the environment the test's program is a runtime, for a test that kills it.
const runtimeSocket = "SLICED_TEST_RUNTIME_SOCKET"

// unhurried is how long the runtime waits for a plugin, unless a test is about that time. The runtime's own 2 s are too short for a busy machine.
// The plugin takes 10 minutes at the most from a runtime (kubelet/nri/messages.cpp).
const unhurried = 10 * time.Minute

func TestMain(m *testing.M) {
	adaptation.SetPluginRegistrationTimeout(unhurried)
	adaptation.SetPluginRequestTimeout(unhurried)
	if socket := os.Getenv(runtimeSocket); socket != "" {
		r, err := newRuntime(socket, os.TempDir(), nil, nil)
		if err == nil {
			err = r.Start()
		}
		fmt.Fprintln(os.Stderr, "runtime:", err)
		select {}
	}
	os.Exit(m.Run())
}

// The plugin waits for a runtime, and for the next one.
func TestRuntimeReconnects(t *testing.T) {
	socket := socketIn(t)
	p := startPlugin(t, socket)
	at := p.expect(0, `^log not connected to the container runtime: .*reason=connect `)
	for range 2 {
		r := exec.Command(os.Args[0])
		r.Env = append(os.Environ(), runtimeSocket+"="+socket)
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Process.Kill() })
		at = p.expect(at, `^link up$`)
		r.Process.Kill()
		r.Wait()
		at = p.expect(at, `^link down: `)
	}
}
