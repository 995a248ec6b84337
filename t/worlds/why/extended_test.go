package why

import (
	"sort"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	_ "k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// extendedClaim is what `why` calls the claim that the scheduler makes.
const extendedClaim = "default/p-extended-resources"

// The scheduler's own: which requests a pod's extended resources become.
//
//go:linkname createRequestsAndMappings k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources.createRequestsAndMappings
func createRequestsAndMappings(pod *v1.Pod, extendedResources map[v1.ResourceName]int64, logger klog.Logger, deviceClassMapping fwk.DeviceClassResolver) ([]resourceapi.DeviceRequest, []v1.ContainerExtendedResourceRequest)

// An extended is what the pod's extended resources are on a node.
type extended struct {
	claims   []*resourceapi.ResourceClaim // one or none
	lacks    bool                         // a resource that neither a class nor a device plugin has, or the plugin not as many
	byPlugin bool
}

// extended asks as filterExtendedResources and the resource fit of the scheduler do.
func (w *world) extended(node *v1.Node) extended {
	var out extended
	logger := klog.Background()
	cache := extendedresourcecache.NewExtendedResourceCache(logger)
	if w.version >= "v1.36" {
		all, _ := w.classes.List()
		sort.SliceStable(all, func(i, j int) bool { return all[i].CreationTimestamp.Before(&all[j].CreationTimestamp) })
		for _, class := range all {
			cache.OnAdd(class, true)
		}
	}
	byClass := map[v1.ResourceName]int64{}
	for name, quantity := range resourcehelper.PodRequests(w.pod, resourcehelper.PodResourcesOptions{}) {
		if !util.IsDRAExtendedResourceName(name) || quantity.IsZero() {
			continue
		}
		allocatable := node.Status.Allocatable[name]
		switch {
		case cache.GetDeviceClass(name) != nil && allocatable.IsZero():
			byClass[name] = quantity.Value()
		case allocatable.Cmp(quantity) < 0:
			out.lacks = true
		default:
			out.byPlugin = true
		}
	}
	requests, _ := createRequestsAndMappings(w.pod, byClass, logger, cache)
	if len(requests) == 0 {
		return out
	}
	claim := &resourceapi.ResourceClaim{}
	claim.Namespace, claim.Name, claim.UID = "default", "p-extended-resources", types.UID("extended")
	claim.Spec.Devices.Requests = requests
	for _, one := range w.changes {
		if one.Claim == extendedClaim {
			changeClaim(claim, one)
		}
	}
	tidy(claim)
	out.claims = append(out.claims, claim)
	return out
}
