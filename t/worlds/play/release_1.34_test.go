//go:build kube1.34

package play

import "k8s.io/dynamic-resource-allocation/structured"

// release is the Kubernetes whose allocator this program has, as its servers say it.
const release = "v1.34.4"

// byDefault is what the allocator of 1.34 does unless gates say otherwise.
var byDefault = structured.Features{AdminAccess: true, PrioritizedList: true, DeviceStatus: true}

// panicsWithShares: the allocator looks for the n-th device of a request at the n-th place of a slice, where devices may be
// shared (kubernetes/kubernetes#133705): then the scheduler ends, or refuses what there is, and gives nothing too much.
const panicsWithShares = true

// Before 1.35 a device that cannot be allocated on a node is not an error.
func isRefusal(error) bool { return false }
