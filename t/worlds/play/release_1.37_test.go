//go:build !kube1.34 && !kube1.35 && !kube1.36

package play

import (
	"errors"

	"k8s.io/dynamic-resource-allocation/structured"
)

// release is the Kubernetes whose allocator this program has, as its servers say it.
const release = "v1.37.1"

// byDefault is what the allocator of 1.37 does unless gates say otherwise.
var byDefault = structured.Features{AdminAccess: true, PrioritizedList: true, DeviceTaints: true, DeviceBindingAndStatus: true}

func isRefusal(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }

const panicsWithShares = false // as in 1.34
