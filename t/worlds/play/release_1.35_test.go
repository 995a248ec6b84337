//go:build kube1.35

package play

import (
	"errors"

	"k8s.io/dynamic-resource-allocation/structured"
)

// release is the Kubernetes whose allocator this program has, as its servers say it.
const release = "v1.35.4"

// byDefault is what the allocator of 1.35 does unless gates say otherwise.
var byDefault = structured.Features{AdminAccess: true, PrioritizedList: true}

func isRefusal(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }

const panicsWithShares = false // as in 1.34
