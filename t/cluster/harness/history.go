package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// PoolState is a driver's pools on a node as a consumer saw them after one watch event: one pool of SR-IOV policies,
// several of the others.
type PoolState struct {
	At     time.Time
	RV     int64  // of the event: a state with RV > r was made by a write after the one that returned r
	Event  string // "LIST" for what was there when the watch began, else "ADDED name" and the like
	Slices map[string]*resource.ResourceSlice
}

// Complete is what an allocator asks before it uses a pool: all slices of the highest generation are there. Of every
// pool, and there is one.
func (s PoolState) Complete() bool {
	pools := s.newest()
	for _, newest := range pools {
		if !complete(newest) {
			return false
		}
	}
	return len(pools) > 0
}

func complete(newest []*resource.ResourceSlice) bool {
	return int64(len(newest)) == newest[0].Spec.Pool.ResourceSliceCount
}

// newest are the slices of the highest generation of each pool.
func (s PoolState) newest() map[string][]*resource.ResourceSlice {
	pools := map[string][]*resource.ResourceSlice{}
	for _, name := range slices.Sorted(maps.Keys(s.Slices)) {
		slice := s.Slices[name]
		pool := slice.Spec.Pool
		newest := pools[pool.Name]
		if len(newest) > 0 && pool.Generation > newest[0].Spec.Pool.Generation {
			newest = nil
		}
		if len(newest) == 0 || pool.Generation == newest[0].Spec.Pool.Generation {
			newest = append(newest, slice)
		}
		pools[pool.Name] = newest
	}
	return pools
}

// Devices are those an allocator may use now: none of a pool that is incomplete.
func (s PoolState) Devices() map[string]resource.Device {
	devices := map[string]resource.Device{}
	for _, newest := range s.newest() {
		if !complete(newest) {
			continue
		}
		for _, slice := range newest {
			for _, device := range slice.Spec.Devices {
				devices[device.Name] = device
			}
		}
	}
	return devices
}

// Counters are the counter sets of all pools, by pool and name.
func (s PoolState) Counters() map[string]map[string]resource.CounterSet {
	found := map[string]map[string]resource.CounterSet{}
	for pool, newest := range s.newest() {
		for _, slice := range newest {
			for _, set := range slice.Spec.SharedCounters {
				if found[pool] == nil {
					found[pool] = map[string]resource.CounterSet{}
				}
				found[pool][set.Name] = set
			}
		}
	}
	return found
}

func (s PoolState) Names() []string { return slices.Sorted(maps.Keys(s.Devices())) }

// Offers tells whether exactly these devices can be used now.
func (s PoolState) Offers(names ...string) bool {
	return s.Complete() && slices.Equal(s.Names(), slices.Sorted(slices.Values(names)))
}

// Generation is the highest of all pools.
func (s PoolState) Generation() int64 {
	var highest int64
	for _, newest := range s.newest() {
		highest = max(highest, newest[0].Spec.Pool.Generation)
	}
	return highest
}

func (s PoolState) String() string {
	names := s.Names()
	text := strings.Join(names, " ")
	if len(names) > 8 {
		text = fmt.Sprintf("%s ... %s", strings.Join(names[:4], " "), names[len(names)-1])
	}
	return fmt.Sprintf("%s rv %d %s: %d slices, generation %d, complete %v, %d devices [%s]",
		s.At.Format("15:04:05.000"), s.RV, s.Event, len(s.Slices), s.Generation(), s.Complete(), len(names), text)
}

// History is every state that a watcher of one driver's slices on one node saw since the history was begun.
// It survives the end of a watch; a gap in it (410) fails the test, because an unseen state could be the
// wrong one.
type History struct {
	node    string
	mu      sync.Mutex
	states  []PoolState
	grown   chan struct{}
	gap     error
	objects map[string]*resource.ResourceSlice
}

// NewHistory lists and watches through server until the test ends. Begin it before the event under test.
func NewHistory(t testing.TB, server *APIServer, driver, node string) *History {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	options := metav1.ListOptions{FieldSelector: "spec.driver=" + driver + ",spec.nodeName=" + node}
	list, err := server.Client.ResourceV1().ResourceSlices().List(ctx, options)
	if err != nil {
		t.Fatalf("list slices: %v", err)
	}
	h := &History{node: node, grown: make(chan struct{}), objects: map[string]*resource.ResourceSlice{}}
	for i := range list.Items {
		h.objects[list.Items[i].Name] = &list.Items[i]
	}
	h.append("LIST", revision(list))
	options.ResourceVersion = list.ResourceVersion
	options.AllowWatchBookmarks = true
	go h.follow(ctx, server, options)
	return h
}

func revision(object metav1.Common) int64 {
	rv, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return rv
}

func (h *History) follow(ctx context.Context, server *APIServer, options metav1.ListOptions) {
	for ctx.Err() == nil {
		stream, err := server.Client.ResourceV1().ResourceSlices().Watch(ctx, options)
		if err != nil {
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				h.fail(err)
				return
			}
			time.Sleep(100 * time.Millisecond) // the server is being restarted
			continue
		}
		for event := range stream.ResultChan() {
			if rv := h.take(event); rv != "" {
				options.ResourceVersion = rv
			}
		}
		stream.Stop()
	}
}

// take returns the resourceVersion to go on from.
func (h *History) take(event watch.Event) string {
	slice, ok := event.Object.(*resource.ResourceSlice)
	if !ok {
		if event.Type == watch.Error {
			if err := apierrors.FromObject(runtime.Object(event.Object)); apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				h.fail(err)
			}
		}
		return ""
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		h.objects[slice.Name] = slice
	case watch.Deleted:
		delete(h.objects, slice.Name)
	default:
		return slice.ResourceVersion
	}
	h.append(string(event.Type)+" "+slice.Name, revision(slice))
	return slice.ResourceVersion
}

func (h *History) append(event string, rv int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = append(h.states, PoolState{At: time.Now(), RV: rv, Event: event, Slices: maps.Clone(h.objects)})
	close(h.grown)
	h.grown = make(chan struct{})
}

func (h *History) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gap = err
	close(h.grown)
	h.grown = make(chan struct{})
}

// States are those after revision rv, together with the one that held at rv: what a consumer could see from
// then on.
func (h *History) States(t testing.TB, rv int64) []PoolState {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gap != nil {
		t.Fatalf("the slice history of %s has a gap: %v", h.node, h.gap)
	}
	first := 0
	for i, s := range h.states {
		if s.RV <= rv {
			first = i
		}
	}
	return slices.Clone(h.states[first:])
}

// Now is the newest state seen. For bookkeeping only: it says nothing about what is on its way.
func (h *History) Now() PoolState {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.states[len(h.states)-1]
}

// Wait returns the first state made by a write later than revision after for which ok holds. Older states
// never count.
func (h *History) Wait(t testing.TB, want string, after int64, within time.Duration, ok func(PoolState) bool) PoolState {
	t.Helper()
	deadline := time.After(time.Until(endOf(within)))
	for {
		h.mu.Lock()
		grown, gap, states := h.grown, h.gap, h.states
		h.mu.Unlock()
		if gap != nil {
			t.Fatalf("the slice history of %s has a gap: %v", h.node, gap)
		}
		for _, s := range states {
			if s.RV > after && ok(s) {
				return s
			}
		}
		select {
		case <-grown:
		case <-deadline:
			var seen []string
			for _, s := range states {
				if s.RV > after {
					seen = append(seen, "  "+s.String())
				}
			}
			if len(seen) > 12 {
				seen = seen[len(seen)-12:]
			}
			t.Fatalf("%s: waited for a write after revision %d that leads to: %s. Seen since (%d states in all):\n%s",
				h.node, after, want, len(states), strings.Join(seen, "\n"))
		}
	}
}

// WaitOffers waits for a write later than revision after that leaves exactly these devices usable.
func (h *History) WaitOffers(t testing.TB, after int64, within time.Duration, names ...string) PoolState {
	t.Helper()
	want := fmt.Sprintf("%d devices %v", len(names), names)
	if len(names) > 8 {
		want = fmt.Sprintf("%d devices %v ... %s", len(names), names[:4], names[len(names)-1])
	}
	return h.Wait(t, want, after, within, func(s PoolState) bool { return s.Offers(names...) })
}

// NeverBelow fails when from revision rv on a consumer ever could not use one of these devices: an empty
// pool, a hole, or a pool that stayed incomplete between two writes.
func (h *History) NeverBelow(t testing.TB, rv int64, names ...string) {
	t.Helper()
	for _, s := range h.States(t, rv) {
		devices := s.Devices()
		for _, name := range names {
			if _, there := devices[name]; !there {
				t.Fatalf("a consumer could not use %s in: %s", name, s)
			}
		}
	}
}

// NeverEmpty fails when from revision rv on a consumer ever saw a complete pool without devices, or no slice
// at all.
func (h *History) NeverEmpty(t testing.TB, rv int64) {
	t.Helper()
	for _, s := range h.States(t, rv) {
		if len(s.Slices) == 0 || (s.Complete() && len(s.Devices()) == 0) {
			t.Fatalf("a consumer saw an empty pool: %s", s)
		}
	}
}

// NeverOffered fails when from revision rv on any state had this device in it.
func (h *History) NeverOffered(t testing.TB, rv int64, name string) {
	t.Helper()
	for _, s := range h.States(t, rv) {
		if _, there := s.Devices()[name]; there {
			t.Fatalf("%s was offered: %s", name, s)
		}
	}
}
