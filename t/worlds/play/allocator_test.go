package play

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const nodeName = "node-a" // of t/sim

// Each device gets attributes here by which claims and classes select: entryID is "driver/pool/device", kindID "shared" or "exclusive".
const entryID, kindID = "judge.test/entry", "judge.test/kind"

// classes looks up "any", and "DRIVER KIND": the devices of a driver that are of a kind.
type classes struct{}

func (classes) List() ([]*resourceapi.DeviceClass, error) {
	return nil, errors.New("the allocator asks for a list of classes")
}

func (classes) Get(name string) (*resourceapi.DeviceClass, error) {
	out := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if driver, kind, is := strings.Cut(name, " "); is {
		domain, attribute, _ := strings.Cut(kindID, "/")
		text := fmt.Sprintf("device.driver == %q && device.attributes[%q].%s == %q", driver, domain, attribute, kind)
		out.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: text}}}
	}
	return out, nil
}

// A claim is AskedClaim of t/sim: a request for one device for each of the entries, or one for devices of a class.
type claim struct {
	Entries    []string          `json:"entries"`
	Driver     string            `json:"driver"`
	Shared     bool              `json:"shared"`
	Count      int64             `json:"count"` // 0: all
	Capacities map[string]string `json:"capacities"`
}

func kindOf(shared bool) string {
	if shared {
		return "shared"
	}
	return "exclusive"
}

// A question is a state, and claims that are held against it.
type question struct {
	Counters  bool                                        `json:"counters"` // the server keeps them, and its scheduler counts
	Shared    bool                                        `json:"shared"`
	Allocated []resourceapi.DeviceRequestAllocationResult `json:"allocated"`
	Claims    []claim                                     `json:"claims"`
}

// An allocator is the scheduler's, with its cache of expressions: the worlds use the same few again and again.
type allocator struct {
	cache  *cel.Cache
	node   *v1.Node
	slices []*resourceapi.ResourceSlice
	defect func(*claim) // changes each claim before it is allocated
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
			kind := kindOf(one.AllowMultipleAllocations != nil && *one.AllowMultipleAllocations)
			one.Attributes[entryID] = resourceapi.DeviceAttribute{StringValue: &id}
			one.Attributes[kindID] = resourceapi.DeviceAttribute{StringValue: &kind}
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

// object is the claim as a ResourceClaim.
func (c claim) object() (*resourceapi.ResourceClaim, error) {
	out := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default", UID: "uid-probe"}}
	var capacity *resourceapi.CapacityRequirements
	for name, text := range c.Capacities {
		amount, err := apiresource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("capacity %s %q: %w", name, text, err)
		}
		if capacity == nil {
			capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]apiresource.Quantity{}}
		}
		capacity.Requests[resourceapi.QualifiedName(name)] = amount
	}
	request := func(class string, count int64) *resourceapi.ExactDeviceRequest {
		exactly := &resourceapi.ExactDeviceRequest{
			DeviceClassName: class,
			AllocationMode:  resourceapi.DeviceAllocationModeAll,
			Tolerations:     []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists}},
			Capacity:        capacity,
		}
		if count > 0 {
			exactly.AllocationMode, exactly.Count = resourceapi.DeviceAllocationModeExactCount, count
		}
		name := fmt.Sprintf("r%d", len(out.Spec.Devices.Requests))
		out.Spec.Devices.Requests = append(out.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: name, Exactly: exactly})
		return exactly
	}
	domain, name, _ := strings.Cut(entryID, "/")
	for _, id := range c.Entries {
		text := fmt.Sprintf("device.attributes[%q].%s == %q", domain, name, id)
		request("any", 1).Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: text}}}
	}
	if len(c.Entries) == 0 {
		request(c.Driver+" "+kindOf(c.Shared), c.Count)
	}
	return out, nil
}

// answer says of each claim whether it would be allocated. Gates are those of the release as they are by default, apart from what the
// server keeps.
func (a *allocator) answer(q *question) ([]bool, error) {
	features := byDefault
	features.PartitionableDevices, features.ConsumableCapacity = q.Counters, q.Shared
	ctx := context.Background()
	one, err := structured.NewAllocator(ctx, features, stateOf(q), classes{}, a.slices, a.cache)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(q.Claims))
	for i, claim := range q.Claims {
		if a.defect != nil {
			a.defect(&claim)
		}
		object, err := claim.object()
		if err == nil {
			out[i], err = a.gives(ctx, one, object, q.Shared)
		}
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", claim, err)
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
	// A claim for all devices is refused by an error as long as a pool is not complete, and when there are more than it may have.
	isForAll := claim.Spec.Devices.Requests[0].Exactly.AllocationMode == resourceapi.DeviceAllocationModeAll
	if isRefusal(err) || err != nil && isForAll {
		return false, nil
	}
	return err == nil && len(results) > 0, err
}
