package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Allocations follows all ResourceClaims of a plane, and holds every state that there ever was of what is allocated on
// one node against a rule.
type Allocations struct {
	server *APIServer
	node   string
	rule   func([]resource.DeviceRequestAllocationResult) error
	stop   context.CancelFunc

	mu     sync.Mutex
	claims map[string]*resource.ResourceClaim // by UID
	gap    error
	broken []string // what the rule said, in order
	most   int      // devices that were allocated at the same time
}

// JudgeAllocations begins to watch, and ends when Finish is called or with the test. The rule gets the results of one
// node, of whichever namespace and driver.
func JudgeAllocations(t testing.TB, server *APIServer, node string,
	rule func([]resource.DeviceRequestAllocationResult) error) *Allocations {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	a := &Allocations{server: server, node: node, rule: rule, stop: stop, claims: map[string]*resource.ResourceClaim{}}
	list := a.list(t)
	for i := range list.Items {
		a.claims[string(list.Items[i].UID)] = &list.Items[i]
	}
	a.judge()
	from := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return server.Client.ResourceV1().ResourceClaims("").Watch(ctx, o)
	}}
	stream, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, from)
	if err != nil {
		t.Fatalf("watch claims: %v", err)
	}
	go func() {
		for event := range stream.ResultChan() {
			a.take(event)
		}
	}()
	return a
}

func (a *Allocations) list(t testing.TB) *resource.ResourceClaimList {
	t.Helper()
	list, err := a.server.Client.ResourceV1().ResourceClaims("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list claims: %v", err)
	}
	return list
}

func (a *Allocations) take(event watch.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	claim, is := event.Object.(*resource.ResourceClaim)
	switch {
	case !is:
		if event.Type == watch.Error {
			a.gap = fmt.Errorf("the watch of claims ended: %v", event.Object)
		}
		return
	case event.Type == watch.Deleted:
		delete(a.claims, string(claim.UID))
	default:
		a.claims[string(claim.UID)] = claim
	}
	a.judge()
}

// OfNode are the devices of a node that claims have.
func OfNode(claims []*resource.ResourceClaim, node string) []resource.DeviceRequestAllocationResult {
	var found []resource.DeviceRequestAllocationResult
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if owner, _, _ := strings.Cut(result.Pool, "/"); owner == node && result.Driver != canary {
				found = append(found, result)
			}
		}
	}
	return found
}

func (a *Allocations) judge() {
	var all []*resource.ResourceClaim
	for _, claim := range a.claims {
		all = append(all, claim)
	}
	now := OfNode(all, a.node)
	a.most = max(a.most, len(now))
	if err := a.rule(now); err != nil {
		a.broken = append(a.broken, err.Error())
	}
}

// Finish fails when the rule was ever broken, when a state was missed, or when there was nothing to judge. Nothing may
// change any more.
func (a *Allocations) Finish(t testing.TB, within time.Duration) {
	t.Helper()
	defer a.stop()
	last := a.list(t)
	for deadline := endOf(within); !a.knows(last); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("the watch of claims has not seen what a list showed %v ago", within)
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gap != nil {
		t.Error(a.gap)
	}
	if a.most == 0 {
		t.Errorf("no device of %s was ever allocated: this shows nothing", a.node)
	}
	if len(a.broken) > 0 {
		t.Errorf("%d states of what is allocated break the rule, the first: %s", len(a.broken), a.broken[0])
	}
}

// knows tells whether the claims of this node in a list, and their allocations, have been seen.
func (a *Allocations) knows(list *resource.ResourceClaimList) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gap != nil {
		return true
	}
	for i := range list.Items {
		claim := &list.Items[i]
		if len(OfNode([]*resource.ResourceClaim{claim}, a.node)) == 0 {
			continue
		}
		if seen, is := a.claims[string(claim.UID)]; !is || revision(seen) < revision(claim) {
			return false
		}
	}
	return true
}
