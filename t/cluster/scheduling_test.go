package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	resource "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// How long the scheduler may take for a pod: its own second of waiting, on a machine that runs other tests beside it.
const scheduling = harness.Patience

// ask is one way to claim devices, and what has to come of it.
type ask struct {
	spec    resource.ResourceClaimSpec
	devices []string // whichever is allocated is one of these
	takes   string   // what each result takes of the device's one capacity; "" it has none
}

// oracle tells whether claims of these kinds, so many of each, can all be allocated at the same time.
type oracle func(n map[string]int) bool

// desk is where pods of one lab claim devices, one after the other, and each answer of the scheduler is held against
// an oracle.
type desk struct {
	*harness.Lab
	asks map[string]ask
	fits oracle
	kind map[string]string // of the pods that are there
	made int
	did  []string // for messages

	able   abilities
	stands []string        // what is offered
	some   bool            // something ever was
	closed map[string]bool // kinds that are not offered, because the server has not what they take

	within           time.Duration // how long what is free may take to be given
	granted, refused int
}

func newDesk(lab *harness.Lab, asks map[string]ask) *desk {
	for name, a := range asks {
		lab.Server.NewTemplate(lab.T, lab.Namespace, name, a.spec)
	}
	return &desk{Lab: lab, asks: asks, kind: map[string]string{}, able: abilitiesOf(lab.T, lab.Server), within: scheduling}
}

// holders are the pods whose claims are allocated, by name, as the API server says.
func (d *desk) holders() map[string]string {
	d.T.Helper()
	claims, err := d.Server.Client.ResourceV1().ResourceClaims(d.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		d.T.Fatal(err)
	}
	held := map[string]string{}
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, owner := range claim.OwnerReferences {
			if kind, ours := d.kind[owner.Name]; ours && owner.Kind == "Pod" {
				held[owner.Name] = kind
			}
		}
	}
	return held
}

func count(pods map[string]string) map[string]int {
	n := map[string]int{}
	for _, kind := range pods {
		n[kind]++
	}
	return n
}

// fitsBeside tells whether one more of a kind can be allocated beside those that are.
func (d *desk) fitsBeside(held map[string]string, kind string) bool {
	n := count(held)
	n[kind]++
	return !d.closed[kind] && d.fits(n)
}

// check fails when two claims that exclude each other are both allocated.
func (d *desk) check() map[string]string {
	d.T.Helper()
	held := d.holders()
	if !d.fits(count(held)) {
		d.T.Fatalf("allocated at the same time: %v, after %s", count(held), strings.Join(d.did, ", "))
	}
	return held
}

// arrive makes a pod of a kind and waits for the scheduler's answer, which the oracle knows beforehand.
func (d *desk) arrive(kind string) string {
	d.T.Helper()
	isPossible := d.fitsBeside(d.check(), kind)
	d.made++
	pod := fmt.Sprintf("%s-%d", kind, d.made)
	d.kind[pod] = kind
	d.did = append(d.did, fmt.Sprintf("%s comes (%v)", pod, isPossible))
	d.Server.NewPodOf(d.T, d.Namespace, pod, d.Node, kind)
	if !isPossible {
		d.refused++
		d.Server.Unschedulable(d.T, d.Namespace, pod, scheduling)
		return pod
	}
	d.granted++
	for _, result := range d.Server.WaitScheduled(d.T, d.Namespace, pod, d.within) {
		d.judge(kind, result)
	}
	return pod
}

func (d *desk) judge(kind string, result resource.DeviceRequestAllocationResult) {
	d.T.Helper()
	a := d.asks[kind]
	if !slices.Contains(a.devices, result.Device) {
		d.T.Errorf("%s was given %s", kind, result.Device)
	}
	takes := ""
	for _, taken := range result.ConsumedCapacity {
		takes = taken.String()
	}
	if takes != a.takes {
		d.T.Errorf("%s takes %q of %s, wanted %q", kind, takes, result.Device, a.takes)
	}
}

// leave takes pods away and waits until all that can be allocated then is.
func (d *desk) leave(pods ...string) {
	d.T.Helper()
	d.remove(pods...)
	d.settle()
}

func (d *desk) remove(pods ...string) {
	d.T.Helper()
	for _, pod := range pods {
		d.did = append(d.did, pod+" goes")
		d.Server.DeletePod(d.T, d.Namespace, pod)
		d.Server.WaitReleased(d.T, d.Namespace, pod, scheduling)
		delete(d.kind, pod)
	}
}

func (d *desk) settle() {
	d.T.Helper()
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		held := d.check()
		waiting := ""
		for pod, kind := range d.kind {
			if _, has := held[pod]; !has && d.fitsBeside(held, kind) {
				waiting = pod
			}
		}
		if waiting == "" {
			return
		}
		if time.Now().After(deadline) {
			d.T.Fatalf("%s is not scheduled, although only %v are allocated, after %s", waiting, count(held), strings.Join(d.did, ", "))
		}
	}
}

// clear takes all pods away but these, those first that hold nothing.
func (d *desk) clear(but ...string) {
	d.T.Helper()
	held := d.check()
	pods := slices.DeleteFunc(slices.Collect(maps.Keys(d.kind)), func(pod string) bool { return slices.Contains(but, pod) })
	slices.SortFunc(pods, func(a, b string) int { return strings.Compare(held[a], held[b]) })
	for _, pod := range pods {
		d.Server.DeletePod(d.T, d.Namespace, pod)
	}
	for _, pod := range pods {
		d.Server.WaitReleased(d.T, d.Namespace, pod, scheduling)
		delete(d.kind, pod)
	}
	d.did = nil
}

// offered waits until exactly these entries are offered, but those that the server has not what they take for, by a write
// after a revision, and the scheduler knows it.
func (d *desk) offered(after int64, entries ...string) harness.PoolState {
	d.T.Helper()
	d.stands = d.able.left(entries, d.stands, sharedOf(d.asks))
	d.closed, d.some = closed(d.asks, entries, d.stands), d.some || len(d.stands) > 0
	state := d.Exposed.WaitOffers(d.T, after, starting, d.stands...)
	d.WaitSchedulerSees(scheduling)
	return state
}

// shown fails unless something was granted, where anything was offered, and something refused.
func (d *desk) shown() {
	d.T.Helper()
	if (d.granted > 0) != d.some || d.refused == 0 {
		d.T.Errorf("%d claims were granted and %d refused: this shows nothing", d.granted, d.refused)
	}
}

// everyOrder lets these kinds come in every order that there is. After each arrival and each release the scheduler's
// answer is the oracle's: when all have come, those that got something leave one by one, what was refused gets
// what is free then, and one more of the kind that left asks anew.
func (d *desk) everyOrder(kinds ...string) {
	d.T.Helper()
	slices.Sort(kinds)
	for _, order := range orders(kinds) {
		var came []string
		for _, kind := range order {
			came = append(came, d.arrive(kind))
		}
		held := d.check()
		for _, pod := range came {
			if kind, has := held[pod]; has {
				d.leave(pod)
				d.arrive(kind)
			}
		}
		d.settle()
		d.clear()
	}
}

// orders are the different permutations of a sorted list.
func orders(sorted []string) [][]string {
	if len(sorted) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, first := range sorted {
		if i > 0 && sorted[i-1] == first {
			continue
		}
		rest := append(slices.Clone(sorted[:i]), sorted[i+1:]...)
		for _, order := range orders(rest) {
			all = append(all, append([]string{first}, order...))
		}
	}
	return all
}

// claim asks for count devices of a class that a CEL expression selects, each with so much of a capacity.
func claim(class, cel string, count int64, capacity map[string]string) resource.ResourceClaimSpec {
	exactly := &resource.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resource.DeviceAllocationModeExactCount,
		Count: count}
	if cel != "" {
		exactly.Selectors = []resource.DeviceSelector{{CEL: &resource.CELDeviceSelector{Expression: cel}}}
	}
	if len(capacity) > 0 {
		exactly.Capacity = &resource.CapacityRequirements{Requests: map[resource.QualifiedName]quantity.Quantity{}}
		for name, value := range capacity {
			exactly.Capacity.Requests[resource.QualifiedName("dra.networking/"+name)] = quantity.MustParse(value)
		}
	}
	return resource.ResourceClaimSpec{Devices: resource.DeviceClaim{
		Requests: []resource.DeviceRequest{{Name: "net", Exactly: exactly}}}}
}

// repeated asks for the same so many times: each request of a claim may get another share of one device, which the
// count of one request does not.
func repeated(times int, once resource.ResourceClaimSpec) resource.ResourceClaimSpec {
	var all resource.ResourceClaimSpec
	for i := range times {
		request := once.Devices.Requests[0]
		request.Name = fmt.Sprintf("net-%d", i)
		all.Devices.Requests = append(all.Devices.Requests, request)
	}
	return all
}
