package cluster

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

// victim is a daemon that is killed while it prepares VFs for vfio-pci, with all that can tell how far it is.
type victim struct {
	*harness.Lab
	root     *harness.KubeletRoot
	proxy    *harness.Proxy
	kernel   *harness.PlayedKernel
	manifest *harness.Manifest
	daemon   *harness.Daemon
	kubelet  *harness.Kubelet
	offered  harness.PoolState
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	lab := harness.NewLab(t, shared, near)
	v := &victim{Lab: lab, root: lab.NewKubeletRoot(), proxy: lab.NewProxy(t, shared.Server), kernel: lab.Host.PlayKernel()}
	lab.Config = lab.Kubeconfig(t, v.proxy.URL, &api.AuthInfo{Token: lab.User.Token})
	v.manifest = lab.ReadManifest("vfio.yaml")
	v.manifest.Furnish()
	t.Cleanup(v.manifest.DeleteRest)
	v.kubelet = v.root.Run()
	wiped(t, lab, v.kubelet)
	v.daemon = lab.Run(v.root.Flags()...)
	v.offered = lab.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	waitRegistered(v.daemon, 1)
	return v
}

// killStep is when the daemon is killed: arm says it by closing what it returns, and what it closes over may block as long
// as the daemon lives (until dead is closed).
type killStep struct {
	name string
	arm  func(v *victim, dead <-chan struct{}) <-chan struct{}
}

// at makes a signal that is given once, and keeps whoever gives it until the daemon is dead.
func at(dead <-chan struct{}) (<-chan struct{}, func()) {
	reached := make(chan struct{})
	var once sync.Once
	return reached, func() {
		once.Do(func() { close(reached) })
		<-dead
	}
}

func onClaim(isAnswered bool) func(*victim, <-chan struct{}) <-chan struct{} {
	return func(v *victim, dead <-chan struct{}) <-chan struct{} {
		reached, here := at(dead)
		v.proxy.Hook(func(r *http.Request, answered bool) {
			if answered == isAnswered && r.Method == http.MethodGet && strings.Contains(r.URL.Path, v.manifest.Namespace+"/resourceclaims/") {
				here()
			}
		})
		return reached
	}
}

// onWrite is the n-th write to sysfs, before or after it is done.
func onWrite(n int, isDone bool) func(*victim, <-chan struct{}) <-chan struct{} {
	return func(v *victim, dead <-chan struct{}) <-chan struct{} {
		reached, here := at(dead)
		seen := 0
		v.kernel.Hook(func(_ string, done bool) {
			if done != isDone {
				return
			}
			if seen++; seen == n {
				here()
			}
		})
		return reached
	}
}

// onState polls: it holds shortly after the step, or as soon as the next one.
func onState(holds func(v *victim) bool) func(*victim, <-chan struct{}) <-chan struct{} {
	return func(v *victim, dead <-chan struct{}) <-chan struct{} {
		reached := make(chan struct{})
		go func() {
			for !holds(v) {
				select {
				case <-dead:
					return
				case <-time.After(200 * time.Microsecond):
				}
			}
			close(reached)
		}()
		return reached
	}
}

func hasSpecs(v *victim) bool   { return len(v.root.SpecFiles()) > 0 }
func hasNoSpecs(v *victim) bool { return !hasSpecs(v) }
func isComplete(v *victim) bool { return strings.Contains(v.checkpoint(), `"complete":true`) }

// checkpoint is the daemon's record.
func (v *victim) checkpoint() string {
	text, _ := os.ReadFile(v.root.Path + "/plugins/" + harness.Driver + "/sliced-checkpoint.json")
	return string(text)
}

var preparing = []killStep{
	{"the claim is asked for", onClaim(false)},
	{"the claim is read", onClaim(true)},
	{"the driver is to be overridden", onWrite(1, false)},
	{"the driver is overridden", onWrite(1, true)},
	{"the VF is unbound", onWrite(2, true)},
	{"the VF is bound to vfio-pci", onWrite(3, true)},
	{"its CDI spec is there", onState(hasSpecs)},
	{"its record is complete", onState(isComplete)},
}

var takingBack = []killStep{
	{"the driver is to be overridden", onWrite(1, false)},
	{"the VF is unbound", onWrite(2, true)},
	{"the VF has its driver back", onWrite(3, true)},
	{"its CDI spec is gone", onState(hasNoSpecs)},
}

// killAt kills the daemon at a step of what act begins, and starts another one.
func (v *victim) killAt(s killStep, act func()) {
	v.T.Helper()
	dead := make(chan struct{})
	reached := s.arm(v, dead)
	act()
	select {
	case <-reached:
	case <-time.After(harness.UntilLimit()):
		v.T.Fatalf("never came: %s", s.name)
	}
	v.daemon.Kill()
	v.proxy.Hook(func(*http.Request, bool) {})
	v.kernel.Hook(nil)
	close(dead)
	v.daemon = v.Run(v.root.Flags()...)
	waitRegistered(v.daemon, 1)
}

func (v *victim) newPod(name string) {
	v.T.Helper()
	v.Server.NewPodOf(v.T, v.manifest.Namespace, name, v.Node, "for-dpdk")
}

// judgeRuns waits until the pod runs, and fails unless exactly its VF is prepared.
func (v *victim) judgeRuns(pod, after string) {
	v.T.Helper()
	waitRunsSoon(v.T, v.Lab, v.manifest.Namespace, pod, after)
	device := v.Server.Claim(v.T, v.manifest.Namespace, pod).Status.Allocation.Devices.Results[0].Device
	for i := range 4 {
		address := harness.VFAddress(near.Address, i)
		want := "iavf"
		if harness.DeviceName(address) == device {
			want = "vfio-pci"
		}
		if driver := v.kernel.Driver(address); driver != want {
			v.T.Errorf("after %q %s is bound to %q, wants %s", after, address, driver, want)
		}
	}
	if specs := v.root.SpecFiles(); len(specs) != 2 {
		v.T.Errorf("after %q there are specs %v", after, specs)
	}
	if record := v.checkpoint(); strings.Count(record, `"complete":true`) != 1 || strings.Contains(record, `"complete":false`) {
		v.T.Errorf("after %q the record says: %s", after, record)
	}
	created := v.root.Created()
	edits := v.root.EditsOf(v.T, created[len(created)-1].CDI)
	if len(created[len(created)-1].CDI) != 2 || !slices.Contains(edits.Nodes, "/dev/vfio/vfio") {
		v.T.Errorf("after %q the container got %v: %+v", after, created[len(created)-1], edits)
	}
}

// waitRunsSoon waits until a pod runs that may have failed to start: its kubelet tries it again after ten seconds, and at once
// where it is edited.
func waitRunsSoon(t testing.TB, lab *harness.Lab, namespace, pod, after string) {
	t.Helper()
	pods, times := lab.Server.Client.CoreV1().Pods(namespace), 0
	waitUntil(t, fmt.Sprintf("pod %s runs, after: %s", pod, after), promptly, func() bool {
		if times++; times%10 == 0 {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"edited":"%d"}}}`, times)
			if _, err := pods.Patch(context.Background(), pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		found, err := pods.Get(context.Background(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return found.Status.Phase == core.PodRunning
	})
}

func (v *victim) delete(pod string) {
	v.T.Helper()
	v.Server.EndPod(v.T, v.manifest.Namespace, pod)
}

// judgeTakenBack waits until the pod is gone, and fails where anything of it is left.
func (v *victim) judgeTakenBack(pod, after string) {
	v.T.Helper()
	v.judgeGone(pod)
	for i := range 4 {
		if driver := v.kernel.Driver(harness.VFAddress(near.Address, i)); driver != "iavf" {
			v.T.Errorf("after %q VF %d is left to %q", after, i, driver)
		}
	}
	if specs := v.root.SpecFiles(); len(specs) != 0 {
		v.T.Errorf("after %q specs are left: %v", after, specs)
	}
	if record := v.checkpoint(); strings.Contains(record, `"complete"`) {
		v.T.Errorf("after %q the record says: %s", after, record)
	}
}

// judgeGone waits until a deleted pod is gone, and its claim.
func (v *victim) judgeGone(pod string) {
	v.T.Helper()
	waitUntil(v.T, "pod "+pod+" is gone", promptly, func() bool {
		_, err := v.Server.Client.CoreV1().Pods(v.manifest.Namespace).Get(context.Background(), pod, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	v.Server.WaitReleased(v.T, v.manifest.Namespace, pod, promptly)
}

// judgeSlices fails where anything but the first daemon's start has written slices.
func (v *victim) judgeSlices() {
	v.T.Helper()
	if states := v.History.States(v.T, v.offered.RV); len(states) > 1 {
		v.T.Errorf("%d slices were written: %s", len(states)-1, states[1])
	}
}

// Turns red when a daemon that is killed at any step of preparing leaves a pod that does not run, a VF that is bound for
// nobody, or files of nobody.
func TestKilledWhilePreparing(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	for i, s := range preparing {
		pod := fmt.Sprintf("p%d", i)
		v.killAt(s, func() { v.newPod(pod) })
		v.judgeRuns(pod, s.name)
		v.delete(pod)
		v.judgeTakenBack(pod, s.name)
	}
	v.judgeSlices()
}

// The same of a daemon that is killed while it takes back.
func TestKilledWhileUnpreparing(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	for i, s := range takingBack {
		pod := fmt.Sprintf("p%d", i)
		v.newPod(pod)
		v.judgeRuns(pod, s.name)
		v.killAt(s, func() { v.delete(pod) })
		v.judgeTakenBack(pod, s.name)
	}
	v.judgeSlices()
}

// Turns red when a daemon that is asked to end lets the next one have the node while a VF is being bound, or does not
// complete what it has begun.
func TestShutdownFinishesStartedWork(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	goOn := make(chan struct{})
	reached := onWrite(2, false)(v, goOn)
	v.newPod("p")
	<-reached
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.daemon.Term(harness.Patience)
	}()
	v.daemon.WaitSaid(promptly, "daemon stops when claims in progress are done", 1)
	next := v.Run(v.root.Flags()...)
	close(goOn)
	<-ended
	if !isComplete(v) {
		t.Errorf("the daemon has ended, and its record says: %s", v.checkpoint())
	}
	v.daemon = next
	waitRegistered(v.daemon, 1)
	v.judgeRuns("p", "the daemon was asked to end")
	v.judgeSlices()
}

var (
	chanceRounds = flag.Int("rounds", 2, "pods of TestEndedByChance; each costs the daemon two lives")
	chanceSeed   = flag.Uint64("seed", 1, "of the instants at which they end")
)

// Turns red when an instant at which the daemon ends, killed or asked to, is none of the steps above and leaves something else.
func TestEndedByChance(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	random := rand.New(rand.NewPCG(*chanceSeed, 0))
	end := func(what string, act func()) string {
		after, isKill := time.Duration(random.Int64N(int64(400*time.Millisecond))), random.IntN(3) > 0
		act()
		time.Sleep(after)
		if isKill {
			v.daemon.Kill()
		} else {
			v.daemon.Term(harness.Patience)
		}
		v.daemon = v.Run(v.root.Flags()...)
		waitRegistered(v.daemon, 1)
		return fmt.Sprintf("seed %d: %v after %s, killed: %v", *chanceSeed, after, what, isKill)
	}
	for i := range *chanceRounds {
		pod := fmt.Sprintf("p%d", i)
		v.judgeRuns(pod, end(pod+" came", func() { v.newPod(pod) }))
		v.judgeTakenBack(pod, end(pod+" was deleted", func() { v.delete(pod) }))
	}
	v.judgeSlices()
}
