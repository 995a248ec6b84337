package play

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"sliced.test/worlds/asked"
)

const nodeName = "node-a" // of t/sim

// entryID is an attribute that each device gets here: "driver/pool/device". A claim for one device selects by it.
const entryID = "judge.test/entry"

var classes = asked.Classes{"any": {ObjectMeta: metav1.ObjectMeta{Name: "any"}}}

// A question is a state, and claims that are held against it.
type question struct {
	Counters  bool                                        `json:"counters"` // the server keeps them, and its scheduler counts
	Shared    bool                                        `json:"shared"`
	Allocated []resourceapi.DeviceRequestAllocationResult `json:"allocated"`
	Claims    [][]string                                  `json:"claims"` // each: the entries that it asks for
}

// An allocator is the scheduler's, with its cache of expressions: the worlds use the same few again and again.
type allocator struct {
	cache  *cel.Cache
	node   *v1.Node
	slices []*resourceapi.ResourceSlice
}

func newAllocator() *allocator {
	return &allocator{
		cache: cel.NewCache(4000, cel.Features{EnableConsumableCapacity: true}),
		node:  &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}},
	}
}

// see takes the slices that are published from now on.
func (a *allocator) see(slices []*resourceapi.ResourceSlice) {
	a.slices = slices
	for _, slice := range slices {
		for i := range slice.Spec.Devices {
			one := &slice.Spec.Devices[i]
			id := slice.Spec.Driver + "/" + slice.Spec.Pool.Name + "/" + one.Name
			if one.Attributes == nil {
				one.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}
			}
			one.Attributes[entryID] = resourceapi.DeviceAttribute{StringValue: &id}
		}
	}
}

// stateOf adds up what is allocated, as the scheduler's informer does.
func stateOf(q *question) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, result := range q.Allocated {
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if q.Shared && result.ShareID != nil {
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			if result.ConsumedCapacity != nil {
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
			continue
		}
		state.AllocatedDevices.Insert(id)
	}
	return state
}

func claimOf(entries []string) *resourceapi.ResourceClaim {
	out := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default", UID: "uid-probe"}}
	domain, name, _ := strings.Cut(entryID, "/")
	for i, id := range entries {
		exactly := &resourceapi.ExactDeviceRequest{
			DeviceClassName: "any",
			AllocationMode:  resourceapi.DeviceAllocationModeExactCount,
			Count:           1,
			Tolerations:     []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists}},
		}
		text := fmt.Sprintf("device.attributes[%q].%s == %q", domain, name, id)
		exactly.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: text}}}
		out.Spec.Devices.Requests = append(out.Spec.Devices.Requests,
			resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", i), Exactly: exactly})
	}
	return out
}

// answer says of each claim whether it would be allocated. Gates are those of the release as they are by default, apart from what the
// server keeps.
func (a *allocator) answer(q *question) ([]bool, error) {
	features := byDefault
	features.PartitionableDevices, features.ConsumableCapacity = q.Counters, q.Shared
	ctx := context.Background()
	one, err := structured.NewAllocator(ctx, features, stateOf(q), classes, a.slices, a.cache)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(q.Claims))
	for i, entries := range q.Claims {
		if out[i], err = a.gives(ctx, one, claimOf(entries), q.Shared); err != nil {
			return nil, fmt.Errorf("%v: %w", entries, err)
		}
	}
	return out, nil
}

func (a *allocator) gives(ctx context.Context, one structured.Allocator, claim *resourceapi.ResourceClaim, shared bool) (given bool, err error) {
	if panicsWithShares && shared {
		defer func() {
			if reason := recover(); reason != nil {
				given, err = false, nil
				if _, isRuntime := reason.(runtime.Error); !isRuntime {
					err = fmt.Errorf("the allocator panics: %v", reason)
				}
			}
		}()
	}
	results, err := one.Allocate(ctx, a.node, []*resourceapi.ResourceClaim{claim})
	if isRefusal(err) {
		return false, nil
	}
	return err == nil && len(results) > 0, err
}
