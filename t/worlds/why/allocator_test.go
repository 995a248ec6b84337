package why

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
	"sliced.test/worlds/asked"
)

// A world is what a scheduler sees, and a pod that it looks at.
type world struct {
	version  string
	features structured.Features
	nodes    []*v1.Node
	slices   []*resourceapi.ResourceSlice // as drivers wrote them
	rules    []*resourceapi.DeviceTaintRule
	classes  asked.Classes
	others   []*resourceapi.ResourceClaim // allocated
	mine     []*resourceapi.ResourceClaim
	pod      *v1.Pod
	changes  []change // of the claim that the scheduler makes of extended resources
}

// Expressions are few; each is compiled once for all worlds.
var expressions = cel.NewCache(2000, cel.Features{EnableConsumableCapacity: true})

// newest is of a release that has on by default what the allocator in hand has: fractional ranges are off in 1.37 beside servers of 1.36.
const newest = "v1.38.0"

var allFeatures = structured.Features{AdminAccess: true, PrioritizedList: true, DeviceTaints: true, DeviceBindingAndStatus: true,
	PartitionableDevices: true, ConsumableCapacity: true, FractionalCapacityRange: true}

func makeWorld(seed uint64) *world {
	d := newDice(seed)
	w := &world{version: newest, features: allFeatures, classes: asked.Classes{}}
	switch {
	case d.in(5):
		w.version, w.features.FractionalCapacityRange = pick(d, "v1.36.3", "v1.37.1"), false
	case d.in(5):
		w.version, w.features = "v1.35.2", structured.Features{AdminAccess: true, PrioritizedList: true}
	}
	w.makeNodes(d)
	w.makePools(d)
	w.makeRules(d)
	w.makeClasses(d)
	for i := range d.IntN(8) {
		claim := w.makeClaim(d, fmt.Sprintf("other-%d", i))
		result, err := w.allocate(pick(d, w.nodes...), []*resourceapi.ResourceClaim{claim})
		if err == nil && result != nil {
			claim.Status.Allocation = &result[0]
			claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: fmt.Sprintf("q%d", i), UID: "x"}}
			w.others = append(w.others, claim)
		}
	}
	w.makePod(d)
	return w
}

func (w *world) question() map[string]any {
	var objects []any
	for _, one := range w.nodes {
		objects = append(objects, one)
	}
	for _, one := range w.slices {
		objects = append(objects, one)
	}
	for _, one := range w.rules {
		objects = append(objects, one)
	}
	for _, one := range w.classes {
		objects = append(objects, one)
	}
	for _, one := range w.others {
		objects = append(objects, one)
	}
	for _, one := range w.mine {
		objects = append(objects, one)
	}
	return map[string]any{"objects": objects, "pod": w.pod, "version": w.version}
}

// tainted are the slices as a scheduler sees them, which knows DeviceTaintRules by default from 1.37 on (KEP-5055): a rule's
// taint stands behind those of the driver on each device that its selector names; without a selector it names none.
func (w *world) tainted() []*resourceapi.ResourceSlice {
	if len(w.rules) == 0 || w.version < "v1.37" {
		return w.slices
	}
	is := func(wanted *string, value string) bool { return wanted == nil || *wanted == value }
	var out []*resourceapi.ResourceSlice
	for _, slice := range w.slices {
		slice = slice.DeepCopy()
		for _, rule := range w.rules {
			of := rule.Spec.DeviceSelector
			if of == nil || !is(of.Driver, slice.Spec.Driver) || !is(of.Pool, slice.Spec.Pool.Name) {
				continue
			}
			for i := range slice.Spec.Devices {
				if is(of.Device, slice.Spec.Devices[i].Name) {
					slice.Spec.Devices[i].Taints = append(slice.Spec.Devices[i].Taints, rule.Spec.Taint)
				}
			}
		}
		out = append(out, slice)
	}
	return out
}

// state adds up what claims hold, as the scheduler's informer does.
func (w *world) state() structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, one := range w.others {
		for _, result := range one.Status.Allocation.Devices.Results {
			if ptr.Deref(result.AdminAccess, false) {
				continue
			}
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if w.features.ConsumableCapacity && result.ShareID != nil {
				state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
				if result.ConsumedCapacity != nil {
					state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
				}
				continue
			}
			state.AllocatedDevices.Insert(id)
		}
	}
	return state
}

// allocate gives nil where the claims cannot be had on the node, and an error where the scheduler gives the pod up.
func (w *world) allocate(node *v1.Node, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	ctx := context.Background()
	one, err := structured.NewAllocator(ctx, w.features, w.state(), w.classes, w.tainted(), expressions)
	if err != nil {
		panic(err)
	}
	results, err := one.Allocate(ctx, node, claims)
	if errors.Is(err, structured.ErrFailedAllocationOnNode) || err == nil && len(results) == 0 && len(claims) > 0 {
		return nil, nil
	}
	return results, err
}

// admits says what the scheduler's other filters say, as far as `why` looks at the same.
func (w *world) admits(node *v1.Node) bool {
	for _, taint := range node.Spec.Taints {
		tolerated := taint.Effect == v1.TaintEffectPreferNoSchedule
		for _, toleration := range w.pod.Spec.Tolerations {
			tolerated = tolerated || toleration.Operator == v1.TolerationOpExists && toleration.Key == ""
		}
		if !tolerated {
			return false
		}
	}
	matches, err := nodeaffinity.GetRequiredNodeAffinity(w.pod).Match(node)
	return err == nil && matches
}
