package play

import (
	"context"
	"fmt"
	"runtime"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"sliced.test/worlds/asked"
)

// classes are DeviceClasses by name; what they select is an entry's own doing, so none of them can fail.
var classes = func() asked.Classes {
	texts := map[string]string{
		"sriov":    `device.driver == "` + sriovDriver + `"`,
		"exposure": `device.driver == "` + exposureDriver + `"`,
		"any-vf":   `device.driver == "` + exposureDriver + `" && ` + attribute("type") + ` == "vf"`,
	}
	for _, persona := range personas {
		texts[persona] = texts["exposure"] + ` && ` + attribute("persona") + ` == "` + persona + `"`
	}
	out := asked.Classes{}
	for name, text := range texts {
		class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		class.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: text}}}
		out[name] = class
	}
	return out
}()

// features are the gates of the release as they are by default; the scheduler's gates are those of the server.
func features(able abilities) structured.Features {
	out := byDefault
	out.PartitionableDevices, out.ConsumableCapacity = able.counters, able.shared
	return out
}

// An allocator is the scheduler's, with its cache of expressions: the worlds use the same few again and again.
type allocator struct {
	cache *cel.Cache
	node  *v1.Node
}

func newAllocator() *allocator {
	return &allocator{
		cache: cel.NewCache(2000, cel.Features{EnableConsumableCapacity: true}),
		node:  &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}},
	}
}

// stateOf adds up what claims hold, as the scheduler's informer does.
func stateOf(claims map[string]*resourceapi.ResourceClaim, able abilities) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, one := range claims {
		for _, result := range one.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if able.shared && result.ShareID != nil {
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

func (c *claim) object() *resourceapi.ResourceClaim {
	out := &resourceapi.ResourceClaim{}
	out.APIVersion, out.Kind = "resource.k8s.io/v1", "ResourceClaim"
	out.Name, out.Namespace, out.UID = c.name, "default", types.UID("uid-"+c.name)
	for i, r := range c.requests {
		exactly := &resourceapi.ExactDeviceRequest{
			DeviceClassName: r.class,
			AllocationMode:  resourceapi.DeviceAllocationModeExactCount,
			Count:           int64(r.count),
		}
		for _, text := range r.selectors {
			exactly.Selectors = append(exactly.Selectors,
				resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: text}})
		}
		if len(r.capacity) > 0 {
			wanted := map[resourceapi.QualifiedName]resource.Quantity{}
			for key, n := range r.capacity {
				wanted[resourceapi.QualifiedName(key)] = *resource.NewQuantity(n, resource.DecimalSI)
			}
			exactly.Capacity = &resourceapi.CapacityRequirements{Requests: wanted}
		}
		out.Spec.Devices.Requests = append(out.Spec.Devices.Requests,
			resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", i), Exactly: exactly})
	}
	return out
}

// allocate gives the claim with its allocation, or nil when it was refused.
func (a *allocator) allocate(slices []*resourceapi.ResourceSlice, held map[string]*resourceapi.ResourceClaim, able abilities,
	wanted *claim) (given *resourceapi.ResourceClaim, err error) {
	if panicsWithShares && able.shared {
		defer func() {
			if reason := recover(); reason != nil {
				given, err = nil, nil
				if _, isRuntime := reason.(runtime.Error); !isRuntime {
					err = fmt.Errorf("the allocator panics: %v", reason)
				}
			}
		}()
	}
	ctx := context.Background()
	one, err := structured.NewAllocator(ctx, features(able), stateOf(held, able), classes, slices, a.cache)
	if err != nil {
		return nil, err
	}
	object := wanted.object()
	results, err := one.Allocate(ctx, a.node, []*resourceapi.ResourceClaim{object})
	if isRefusal(err) || err == nil && len(results) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	object.Status.Allocation = &results[0]
	return object, nil
}
