package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

func resourceSlices(s *harness.APIServer) interface {
	Create(context.Context, *resource.ResourceSlice, metav1.CreateOptions) (*resource.ResourceSlice, error)
	Update(context.Context, *resource.ResourceSlice, metav1.UpdateOptions) (*resource.ResourceSlice, error)
	Get(context.Context, string, metav1.GetOptions) (*resource.ResourceSlice, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
} {
	return s.Client.ResourceV1().ResourceSlices()
}

// editSlice reads, edits and writes a slice, again where the daemon has written it in between. Returns the revision of the write.
func editSlice(t *testing.T, name string, edit func(*resource.ResourceSlice)) (rv int64) {
	t.Helper()
	ctx := context.Background()
	for deadline := harness.Limit(); ; {
		s, err := resourceSlices(shared.Server).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			edit(s)
			s, err = resourceSlices(shared.Server).Update(ctx, s, metav1.UpdateOptions{})
		}
		if err == nil {
			fmt.Sscan(s.ResourceVersion, &rv)
			return rv
		}
		if !apierrors.IsConflict(err) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// five cards with 60 VFs each, and the device names of them all.
func many() (pfs []harness.PF, names []string) {
	for i := range 5 {
		pf := harness.E810(fmt.Sprintf("%02x", 3+i), fmt.Sprintf("ens%df0", i+1), 60)
		pfs = append(pfs, pf)
		names = append(names, vfs(pf, 0, 60)...)
	}
	return pfs, names
}

// awake waits until a daemon started after since has its watches of policies, node and slices open.
func awake(t *testing.T, server *harness.APIServer, u harness.User, since time.Time) {
	t.Helper()
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		open := map[string]bool{}
		for _, r := range server.Audit.Of(t, u, since) {
			if r.Verb == "watch" && r.Answer.Code < 300 {
				open[r.Ref.Resource] = true
			}
		}
		if open["resourceslices"] && open["nodes"] && open["sriovresourcepolicies"] && open["deviceattributes"] {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for the watches of a daemon; open are %v", open)
		}
	}
}

// written waits until that many writes of the user are in the log, and returns all its requests since then. What the daemon
// would have written before the last of them is before it: it does one thing after the other.
func written(t *testing.T, lab *harness.Lab, since time.Time, writes int) []harness.Request {
	t.Helper()
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		if got := shared.Server.Audit.Writes(t, lab.User, since); len(got) >= writes {
			return shared.Server.Audit.Of(t, lab.User, since)
		} else if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for %d writes; there are %d:\n%s", writes, len(got), describe(got))
		}
	}
}

func describe(requests []harness.Request) string {
	var lines []string
	for _, r := range requests {
		lines = append(lines, fmt.Sprintf("  %s %s %s -> %d after %v %s", r.Received.Format("15:04:05.000"),
			r.Verb, r.URI, r.Answer.Code, r.Staged.Sub(r.Received.Time), r.Answer.Message))
	}
	return strings.Join(lines, "\n")
}

// Turns red when a pool of several slices is not complete, when the scheduler cannot use it, or when a
// restart, by SIGTERM or SIGKILL, writes anything or takes any device away for a moment.
func TestRestartWith300VFsWritesNothing(t *testing.T) {
	t.Parallel()
	pfs, names := many()
	lab := harness.NewLab(t, shared, pfs...)
	object := harness.Object(harness.Attributes, "DeviceAttributes", lab.Namespace, "all", M{"attributes": M{
		"example.com/rack": M{"string": "r1"}, "example.com/slot": M{"int": int64(7)},
		"example.com/spare": M{"bool": true}, "example.com/rev": M{"version": "1.2.3"}}})
	object.SetLabels(map[string]string{"pool": "x"})
	shared.Server.Apply(t, harness.Attributes, object)
	config := harness.Config("intel", M{"vendors": L{"8086"}})
	config["deviceAttributesSelector"] = M{"matchLabels": M{"pool": "x"}}
	lab.Apply("all", config)
	daemon := lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, names...)
	if len(state.Slices) != 3 {
		t.Errorf("%d slices for 300 devices at 128 each", len(state.Slices))
	}
	for _, s := range lab.History.States(t, 0) {
		if s.Offers() {
			t.Errorf("the initial sync published an empty pool although a policy was there: %s", s)
		}
	}
	shared.Server.NewPod(t, lab.Namespace, "p", lab.Node, 8)
	if results := shared.Server.WaitScheduled(t, lab.Namespace, "p", harness.Patience); len(results) != 8 {
		t.Errorf("allocated %+v", results)
	}
	published := shared.Server.Revision(t)
	kept := names
	for i, end := range []func(){func() { daemon.Term(promptly) }, func() { daemon.Kill() }} {
		end()
		restarted := time.Now()
		daemon = lab.Run()
		awake(t, shared.Server, lab.User, restarted)
		daemon.WaitLog(starting, "decided")
		// It is awake and writes: one VF less is one slice less one device, and the only write since the restart.
		before, gone := shared.Server.Revision(t), vfs(pfs[4], 59-i, 60-i)[0]
		lab.Host.SetVFs(pfs[4].Address, 59-i)
		kept = slices.DeleteFunc(slices.Clone(kept), func(n string) bool { return n == gone })
		lab.History.WaitOffers(t, before, promptly, kept...)
		written(t, lab, restarted, 1)
		if writes := shared.Server.Audit.Writes(t, lab.User, restarted); len(writes) != 1 || writes[0].Verb != "update" {
			t.Fatalf("restart %d and one VF less wrote:\n%s", i, describe(writes))
		}
	}
	lab.History.NeverBelow(t, published, kept...)
}

// Turns red when a daemon killed at some instant of its work leaves what the next one does not repair, or
// cannot repair without an empty pool.
func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	pfs, names := many()
	lab := harness.NewLab(t, shared, pfs...)
	lab.Apply("p", harness.Config("n", M{"vendors": L{"8086"}}))
	daemon := lab.Run()
	published := lab.History.WaitOffers(t, 0, starting, names...).RV
	for i := range 10 {
		want, filter := names, M{"vendors": L{"8086"}}
		if i%2 == 0 {
			want, filter = names[:120], harness.PFNames(pfs[0].Name, pfs[1].Name)
		}
		rv := lab.Apply("p", harness.Config(fmt.Sprintf("n%d", i), filter))
		time.Sleep(time.Duration(i*12) * time.Millisecond)
		daemon.Kill()
		daemon = lab.Run()
		all(lab, rv, starting, attr+"resourceName", fmt.Sprintf("n%d", i), want...)
		if now := lab.History.Now(); !now.Offers(want...) {
			t.Errorf("killed after %d ms: %s", i*12, now)
		}
	}
	lab.History.NeverEmpty(t, published)
}

// Turns red when a start costs more of the API server than it must, a watch covers more than this node's
// objects, or a policy edit reads anything.
func TestRequestsAreFew(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	awake(t, shared.Server, lab.User, daemon.Started)
	edit := func(pfs ...string) time.Time {
		t.Helper()
		edited := time.Now()
		rv := lab.Apply("p", harness.Config("", harness.PFNames(pfs...)))
		offered := vfs(pf0, 0, 4)
		if len(pfs) > 1 {
			offered = join(offered, vfs(pf1, 0, 2))
		}
		lab.History.WaitOffers(t, rv, promptly, offered...)
		return edited
	}
	edited := edit("ens1f0", "ens2f0")
	cold := written(t, lab, daemon.Started, 2) // the start's, and the edit's at its end
	if len(cold) > 14 {
		t.Errorf("%d requests at a cold start:\n%s", len(cold), describe(cold))
	}
	for _, r := range cold {
		narrow := map[string]string{"nodes": "metadata.name", "resourceslices": "spec.nodeName"}[r.Ref.Resource]
		asked, err := url.ParseRequestURI(r.URI)
		if err != nil {
			t.Fatal(err)
		}
		selector := asked.Query().Get("fieldSelector")
		isCount := asked.Query().Get("limit") == "1" // how many nodes look at their pods in turn
		if (r.Verb == "list" || r.Verb == "watch") && narrow != "" && !isCount && !strings.Contains(selector, narrow+"="+lab.Node) {
			t.Errorf("reads more than its own: %s", r.URI)
		}
	}
	edit("ens1f0") // behind it there is nothing left of the one before
	if edits := written(t, lab, edited, 2); len(edits) != 2 || edits[0].Verb != "update" || edits[1].Verb != "update" {
		t.Errorf("two policy edits made these requests:\n%s", describe(edits))
	}
	daemon.Term(promptly)
	daemon = lab.Run()
	awake(t, shared.Server, lab.User, daemon.Started)
	edit("ens1f0", "ens2f0")
	warm := written(t, lab, daemon.Started, 1)
	if writes := shared.Server.Audit.Writes(t, lab.User, daemon.Started); len(warm) > 13 || len(writes) > 1 {
		t.Errorf("%d requests, %d writes at a restart and an edit:\n%s", len(warm), len(writes), describe(warm))
	}
}

// Turns red when a change of the host is not noticed by its events, or churns: VFs made and removed, a netdev
// renamed or moved away, a driver exchanged.
func TestHostChanges(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Apply("p", harness.Config("0", harness.PFNames("ens1f0")),
		harness.Config("1", M{"pfNames": L{"ens2f0"}, "drivers": L{"vfio-pci"}}))
	lab.Run()
	host, address := lab.Host, pf0.Address
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	change := func(act func(), want ...string) (writes int, took time.Duration) {
		t.Helper()
		before, since := shared.Server.Revision(t), time.Now()
		act()
		lab.History.WaitOffers(t, before, promptly, want...)
		return len(shared.Server.Audit.Writes(t, lab.User, since)), time.Since(since)
	}
	// What comes waits until 100 ms were quiet, what goes does not wait, but 50 ms of it go together. On a slow machine the events
	// arrive further apart, and the whole takes longer.
	writes, took := change(func() { host.SetVFs(address, 64) }, vfs(pf0, 0, 64)...)
	if writes > 2+int(took/(100*time.Millisecond)) {
		t.Errorf("60 VFs that came within %v wrote %d times", took, writes)
	}
	writes, took = change(func() { host.SetVFs(address, 3) }, vfs(pf0, 0, 3)...)
	if writes > 2+int(took/(50*time.Millisecond)) {
		t.Errorf("61 VFs that went within %v wrote %d times", took, writes)
	}
	change(func() { host.SetVFs(address, 0) })
	change(func() { host.SetVFs(address, 4) }, vfs(pf0, 0, 4)...)
	vfio := harness.VFAddress(pf1.Address, 1)
	change(func() { host.Rebind(vfio, "vfio-pci") }, join(vfs(pf0, 0, 4), vfs(pf1, 1, 2))...)
	change(func() { host.Rebind(vfio, "iavf") }, vfs(pf0, 0, 4)...)
	change(func() { host.Rename(address, "lan0") })
	change(func() { host.Rename(address, "ens1f0") }, vfs(pf0, 0, 4)...)

	// A VF whose netdev goes into a pod stays on offer. The change after it shows that its event has been dealt
	// with.
	stays := shared.Server.Revision(t)
	host.RemoveNetdev(harness.VFAddress(address, 0))
	change(func() { host.SetVFs(address, 3) }, vfs(pf0, 0, 3)...)
	lab.History.NeverBelow(t, stays, vfs(pf0, 0, 3)...)
}

// Turns red when slices that somebody else deletes or edits stay away for more than two seconds.
func TestDeletedSlicesAreRestored(t *testing.T) {
	t.Parallel()
	offered := func(t *testing.T) *harness.Lab {
		lab := harness.NewLab(t, shared, pf0)
		lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
		lab.Run()
		lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
		return lab
	}
	ctx := context.Background()
	remove := func(t *testing.T, lab *harness.Lab) {
		t.Helper()
		for name := range lab.History.Now().Slices {
			if err := resourceSlices(shared.Server).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	noSlice := func(s harness.PoolState) bool { return len(s.Slices) == 0 }
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		lab := offered(t)
		before := shared.Server.Revision(t)
		remove(t, lab)
		gone := lab.History.Wait(t, "no slice", before, promptly, noSlice)
		lab.History.WaitOffers(t, gone.RV, promptly, vfs(pf0, 0, 4)...)
	})
	t.Run("edited", func(t *testing.T) {
		t.Parallel()
		lab := offered(t)
		var edit int64
		for name := range lab.History.Now().Slices {
			edit = editSlice(t, name, func(s *resource.ResourceSlice) {
				s.Spec.Devices = append(s.Spec.Devices[:1], resource.Device{Name: "intruder"})
			})
		}
		lab.History.WaitOffers(t, edit, promptly, vfs(pf0, 0, 4)...)
	})
	t.Run("deleted just after our own write", func(t *testing.T) {
		t.Parallel()
		lab := offered(t)
		rv := lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#0-1")))
		state := lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 2)...)
		remove(t, lab)
		gone := lab.History.Wait(t, "no slice", state.RV, promptly, noSlice)
		lab.History.WaitOffers(t, gone.RV, promptly, vfs(pf0, 0, 2)...)
	})
}

// Turns red when a write that the API server refuses because somebody else has written in between (409, the
// real one) is lost, or repeated with the same stale version.
func TestConflictingWrites(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	var name string
	for name = range state.Slices {
	}
	var last int64
	conflicts := 0
	for i := 0; conflicts < 3 && (i < 100 || conflicts == 0) && time.Now().Before(harness.Limit()); i++ {
		last = lab.Apply("p", harness.Config(fmt.Sprintf("n%d", i), harness.PFNames("ens1f0")))
		for j := range 10 { // metadata that is not ours, written as fast as the server takes it
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/hammer":"%d"}}}`, i*10+j)
			if _, err := shared.Server.Client.ResourceV1().ResourceSlices().Patch(ctx, name, types.MergePatchType, []byte(patch),
				metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}
		conflicts = 0
		for _, w := range shared.Server.Audit.Writes(t, lab.User, daemon.Started) {
			if w.Answer.Code == 409 {
				conflicts++
			}
		}
	}
	if conflicts == 0 {
		t.Fatal("no write has met a conflict until the limit of the test program: the provocation does not provoke")
	}
	last = lab.Apply("p", harness.Config("last", harness.PFNames("ens2f0")))
	lab.History.WaitOffers(t, last, harness.Patience, vfs(pf1, 0, 2)...)
	lab.History.NeverEmpty(t, state.RV)
}

// Turns red when what the kubelet does at its start, deleting all slices of its node, leaves a pool
// incomplete for more than two seconds.
func TestKubeletWipe(t *testing.T) {
	t.Parallel()
	pfs, names := many()
	pfs, names = pfs[:3], names[:180] // two slices
	lab := harness.NewLab(t, shared, pfs...)
	lab.Apply("p", harness.Config("", M{"vendors": L{"8086"}}))
	lab.Run()
	lab.History.WaitOffers(t, 0, starting, names...)
	before := shared.Server.Revision(t)
	err := resourceSlices(shared.Server).DeleteCollection(context.Background(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + lab.Node})
	if err != nil {
		t.Fatal(err)
	}
	wiped := lab.History.Wait(t, "a wiped pool", before, promptly, func(s harness.PoolState) bool { return !s.Complete() })
	lab.History.WaitOffers(t, wiped.RV, promptly, names...)
}

// Turns red when a slice of somebody else under our name stops us or is touched by us.
func TestForeignSliceUnderOurName(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	daemon.Term(promptly)
	var squatters []*resource.ResourceSlice
	for name := range state.Slices {
		if err := resourceSlices(shared.Server).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		theirs := slice(name, "other.example", lab.Node, lab.Node, 1, "theirs")
		made, err := resourceSlices(shared.Server).Create(ctx, theirs, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		squatters = append(squatters, made)
	}
	before := shared.Server.Revision(t)
	lab.Run()
	lab.History.WaitOffers(t, before, starting, vfs(pf0, 0, 4)...)
	for _, made := range squatters {
		now, err := resourceSlices(shared.Server).Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil || now.ResourceVersion != made.ResourceVersion {
			t.Errorf("the other driver's slice was touched: %v %v", now, err)
		}
	}
}

// Turns red when a slice with a huge generation in our pool hides ours, or when ours are raised to outbid it.
func TestForeignSliceInOurPool(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	intrude := func(name string) int64 {
		theirs := slice(name+"-"+lab.Node, harness.Driver, lab.Node, lab.Node, 1<<60, "theirs")
		s, err := resourceSlices(shared.Server).Create(ctx, theirs, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var rv int64
		fmt.Sscan(s.ResourceVersion, &rv)
		return rv
	}
	rv := intrude("before")
	lab.Run()
	state := lab.History.WaitOffers(t, rv, starting, vfs(pf0, 0, 4)...)
	if state.Generation() > 1000 {
		t.Errorf("our generation is %d", state.Generation())
	}
	state = lab.History.WaitOffers(t, intrude("while"), promptly, vfs(pf0, 0, 4)...)
	if state.Generation() > 1000 {
		t.Errorf("our generation is %d", state.Generation())
	}
}

// Turns red when two daemons of one node both write, or when the second does not take over from the first or
// writes although nothing has changed.
func TestTwoDaemons(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	first := lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	firstUser, secondUser := lab.User, shared.NewUser()
	shared.Server.Bind(t, lab.Namespace, "sliced-policies", secondUser)
	shared.Server.Bind(t, "", "sliced", secondUser)
	other := *lab
	other.User, other.Host = secondUser, harness.NewHostTree(t, pf0, pf1)
	other.Config = shared.Kubeconfig(t, shared.Server.URL, &api.AuthInfo{Token: secondUser.Token})
	second := other.Run()
	awake(t, shared.Server, secondUser, second.Started)
	second.WaitSaid(promptly, "decided", 1)
	first.Signal(syscall.SIGSTOP) // it still holds the node, however slow it is
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens2f0")))
	second.WaitSaid(promptly, "offer changed", 1) // it knows what to write
	first.Signal(syscall.SIGCONT)
	lab.History.WaitOffers(t, rv, promptly, vfs(pf1, 0, 2)...)
	first.Kill()
	killed := time.Now()
	waitUntil(t, "the second daemon holds the node's lock", promptly, func() bool {
		holder, _ := os.ReadFile(filepath.Join(lab.Runtime, "dra.networking_"+lab.Node+".lock"))
		return strings.Contains(string(holder), fmt.Sprintf("pid %d ", second.PID()))
	})
	rv = lab.Apply("p", harness.Config("", harness.PFNames("ens1f0", "ens2f0")))
	shared.Server.Audit.AwaitSlices(t, lab.History.WaitOffers(t, rv, harness.Patience, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2))...))
	// What the second wrote while it waited, or because it took over, comes before the consequence of the next edit.
	if writes := shared.Server.Audit.Writes(t, secondUser, second.Started); len(writes) != 1 {
		t.Errorf("waiting, the take-over (at %s) and one edit wrote, want one write:\n%s", killed.Format("15:04:05.000"), describe(writes))
	}
	if writes := shared.Server.Audit.Writes(t, firstUser, killed); len(writes) != 0 {
		t.Errorf("the dead daemon wrote:\n%s", describe(writes))
	}
}

// Turns red when the slices of a Node that was deleted and made again still belong to the old one, and so
// vanish with it.
func TestNodeRecreated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	before := shared.Server.Revision(t)
	if err := shared.Server.Client.CoreV1().Nodes().Delete(ctx, lab.Node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.History.Wait(t, "slices collected with their Node", before, harness.Patience,
		func(s harness.PoolState) bool { return len(s.Slices) == 0 })
	before = shared.Server.Revision(t)
	node := shared.Server.NewNode(t, lab.Node, nil)
	state := lab.History.WaitOffers(t, before, harness.Patience, vfs(pf0, 0, 4)...)
	for name, s := range state.Slices {
		if len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != node.UID {
			t.Errorf("%s belongs to %+v, the Node is %s", name, s.OwnerReferences, node.UID)
		}
	}
}

// Turns red when a slice of another driver on our node, or of our driver on another node, is written or
// deleted.
func TestForeignSlicesAreUntouched(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0)
	elsewhere := harness.NewLab(t, shared)
	foreign := []*resource.ResourceSlice{
		slice("their-driver-"+lab.Node, "other.example", lab.Node, lab.Node, 5, "theirs"),
		slice("our-driver-"+lab.Node, harness.Driver, elsewhere.Node, elsewhere.Node, 5, "theirs"),
		slice("our-pool-"+lab.Node, harness.Driver, elsewhere.Node, lab.Node, 0, "theirs"),
	}
	for i, s := range foreign {
		var err error
		if foreign[i], err = resourceSlices(shared.Server).Create(ctx, s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting)
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
	daemon.Term(promptly)
	if _, stderr, code := lab.Command("withdraw"); code != 0 {
		t.Errorf("withdraw ended with %d: %s", code, stderr)
	}
	for _, made := range foreign {
		now, err := resourceSlices(shared.Server).Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil || now.ResourceVersion != made.ResourceVersion {
			t.Errorf("%s was touched: %v", made.Name, err)
		}
	}
}

// Turns red when an update drops what others wrote into a slice's metadata, when what their finalizer holds goes on
// offering its devices or makes its pool incomplete for good, or when its name is fought for.
func TestForeignFieldsAreKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0)
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#0-1")))
	daemon := lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 2)...)
	space, err := shared.Server.Client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: space.Name, UID: space.UID}
	yes := true
	var name string
	for name = range state.Slices {
		editSlice(t, name, func(s *resource.ResourceSlice) {
			s.Labels = map[string]string{"team": "net"}
			s.Annotations["example.com/note"] = "kept"
			s.Finalizers = []string{"example.com/hold"}
			s.OwnerReferences[0].BlockOwnerDeletion = &yes
			s.OwnerReferences = append(s.OwnerReferences, theirs)
		})
	}
	get := func() *resource.ResourceSlice {
		s, err := resourceSlices(shared.Server).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	edited := get()
	rv = lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
	s := get()
	if s.Labels["team"] != "net" || s.Annotations["example.com/note"] != "kept" || !slices.Equal(s.Finalizers, edited.Finalizers) {
		t.Errorf("the update dropped labels, annotations or finalizers: %+v", s.ObjectMeta)
	}
	got, _ := json.Marshal(s.OwnerReferences)
	if want, _ := json.Marshal(edited.OwnerReferences); string(got) != string(want) {
		t.Errorf("the update changed owners: %s, were %s", got, want)
	}

	before := shared.Server.Revision(t)
	if err := resourceSlices(shared.Server).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.History.Wait(t, "the held slice empty, its devices in another", before, harness.Patience, func(now harness.PoolState) bool {
		held := now.Slices[name]
		return held != nil && held.DeletionTimestamp != nil && len(held.Spec.Devices) == 0 && now.Offers(vfs(pf0, 0, 4)...)
	})
	daemon.Term(promptly)
	quiet := shared.Server.Revision(t)
	restarted := lab.Run()
	rv = lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#0-2")))
	lab.History.WaitOffers(t, max(rv, quiet), starting, vfs(pf0, 0, 3)...)
	editSlice(t, name, func(s *resource.ResourceSlice) { s.Finalizers = nil })
	lab.History.Wait(t, "the held slice gone, the pool as it was", quiet, harness.Patience, func(now harness.PoolState) bool {
		return now.Slices[name] == nil && now.Offers(vfs(pf0, 0, 3)...)
	})
	restarted.Term(promptly)
	if _, stderr, code := lab.Command("withdraw"); code != 0 {
		t.Errorf("withdraw ended with %d: %s", code, stderr)
	}
}

// Turns red when a stop takes more than two seconds or takes slices away, or when withdraw leaves one, or begins beside a
// daemon that would write one of them again.
func TestStopKeepsSlicesAndWithdrawRemovesThem(t *testing.T) {
	t.Parallel()
	pfs, names := many()
	lab := harness.NewLab(t, shared, pfs...)
	lab.Apply("p", harness.Config("", M{"vendors": L{"8086"}}))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, names...)
	published := shared.Server.Revision(t)
	for _, options := range [][]string{nil, {"--sriov-driver-name", "other.example"}, {"--exposure-driver-name", "other.example"}} {
		if _, stderr, code := lab.Command("withdraw", options...); code != 1 || !strings.Contains(stderr, "stop it first") {
			t.Errorf("withdraw %v beside the daemon ended with %d: %s", options, code, stderr)
		}
	}
	daemon.Term(promptly)
	stopped := shared.Server.Revision(t)
	notBelieved(t, lab)
	if _, stderr, code := lab.Command("withdraw"); code != 0 {
		t.Fatalf("withdraw ended with %d: %s", code, stderr)
	}
	for _, s := range lab.History.States(t, published) {
		if s.RV <= stopped && !s.Offers(names...) {
			t.Errorf("the stop changed the pool: %s", s)
		}
	}
	lab.History.Wait(t, "no slice", stopped, promptly, func(s harness.PoolState) bool { return len(s.Slices) == 0 })
}

// notBelieved judges withdraw through a proxy that has each delete tried only: the API server says that it succeeded.
func notBelieved(t *testing.T, lab *harness.Lab) {
	t.Helper()
	direct := lab.Config
	proxy := lab.NewProxy(t, shared.Server)
	proxy.Hook(func(r *http.Request, isAnswered bool) {
		if r.Method == http.MethodDelete && !isAnswered {
			text, _ := io.ReadAll(r.Body)
			text = bytes.Replace(text, []byte("{"), []byte(`{"dryRun":["All"],`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		}
	})
	lab.Config = lab.Kubeconfig(t, proxy.URL, &api.AuthInfo{Token: lab.User.Token})
	if stdout, stderr, code := lab.Command("withdraw"); code != 1 || strings.Contains(stdout, " withdrawn") || !strings.Contains(stderr, "still lists them") {
		t.Errorf("withdraw believes what it is told: %d, %s, %s", code, stdout, stderr)
	}
	lab.Config = direct
}

// Turns red when plan shows something other than what run would write: its slices must be valid for the
// API server as they are, and after run has written there must be nothing left to plan.
func TestPlanMatchesTheWritesOfRun(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("intel", harness.PFNames("ens1f0")))
	stdout, stderr, code := lab.Command("plan", "-o", "json")
	if code != 2 {
		t.Fatalf("plan ended with %d, want 2:\n%s", code, stderr)
	}
	var list struct {
		Kind  string
		Items []resource.ResourceSlice
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || list.Kind != "List" || len(list.Items) == 0 {
		t.Fatalf("plan printed %v: %s", err, stdout)
	}
	planned := map[string]*resource.ResourceSlice{}
	for i := range list.Items {
		s := &list.Items[i]
		planned[s.Name] = s
		_, err := resourceSlices(shared.Server).Create(context.Background(), s, strictly)
		if err != nil {
			t.Errorf("the API server would refuse %s: %v", s.Name, err)
		}
	}
	lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	for name, s := range state.Slices {
		want, _ := json.Marshal(planned[name])
		var was struct{ Spec json.RawMessage }
		json.Unmarshal(want, &was)
		if got, _ := json.Marshal(s.Spec); string(got) != string(was.Spec) {
			t.Errorf("planned %s\nwritten %s", was.Spec, got)
		}
	}
	if _, stderr, code := lab.Command("plan", "-o", "json"); code != 0 {
		t.Errorf("plan after run ended with %d, want 0:\n%s", code, stderr)
	}
}

// Turns red when a VF of a card that carries the host's default route is offered.
func TestHostUsedCardIsNotOffered(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Host.SetRoute("ens1f0v0")
	lab.Apply("p", harness.Config("", M{"vendors": L{"8086"}}))
	lab.Run()
	lab.History.WaitOffers(t, 0, starting, join(vfs(pf0, 1, 4), vfs(pf1, 0, 2))...)
	lab.History.NeverOffered(t, 0, vfs(pf0, 0, 1)[0])
}
