package why

import (
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x7768))} }

// in says yes so many times of a hundred.
func (d dice) in(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

var drivers = []string{"a.example.com", "b.example.com"}

func (w *world) makeNodes(d dice) {
	for i := range 1 + d.IntN(4) {
		node := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
		node.Name = fmt.Sprintf("node-%d", i)
		node.Labels = map[string]string{"zone": pick(d, "east", "west")}
		if d.in(10) {
			node.Spec.Taints = []v1.Taint{{Key: "maintenance", Effect: pick(d, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule)}}
		}
		// What a device plugin provides, where one is still there.
		if d.in(15) {
			node.Status.Allocatable = v1.ResourceList{v1.ResourceName(pick(d, extendedNames...)): resource.MustParse(pick(d, "0", "1", "4"))}
		}
		w.nodes = append(w.nodes, node)
	}
}

var extendedNames = []string{"example.com/vf", "example.com/port"}

// makeContainers lets them ask for extended resources: of a class's name, of its default name, of none.
func (w *world) makeContainers(d dice) {
	container := func(name string) v1.Container {
		out := v1.Container{Name: name}
		out.Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
		for range d.IntN(3) {
			name := pick(d, "example.com/vf", "example.com/vf", "example.com/port", resourceapi.ResourceDeviceClassPrefix+pick(d, "any", "of-a", "x-b"))
			out.Resources.Requests[v1.ResourceName(name)] = resource.MustParse(pick(d, "1", "1", "2", "3", "5", "0"))
		}
		return out
	}
	for i := range d.IntN(3) {
		one := container(fmt.Sprintf("init%d", i))
		if d.in(30) {
			one.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
		}
		w.pod.Spec.InitContainers = append(w.pod.Spec.InitContainers, one)
	}
	for i := range 1 + d.IntN(2) {
		w.pod.Spec.Containers = append(w.pod.Spec.Containers, container(fmt.Sprintf("c%d", i)))
	}
}

func inZone(zone string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}}}
}

func (w *world) makePools(d dice) {
	for _, node := range w.nodes {
		for _, driver := range drivers {
			if d.in(75) {
				w.makePool(d, driver, node.Name, func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = ptr.To(node.Name) })
			}
		}
	}
	if d.in(25) {
		w.makePool(d, pick(d, drivers...), "network", func(spec *resourceapi.ResourceSliceSpec) { spec.AllNodes = ptr.To(true) })
	}
	if d.in(25) {
		zone := pick(d, "east", "west")
		w.makePool(d, pick(d, drivers...), "zone-"+zone, func(spec *resourceapi.ResourceSliceSpec) { spec.NodeSelector = inZone(zone) })
	}
	if w.features.PartitionableDevices && d.in(25) {
		w.makePool(d, pick(d, drivers...), "mixed", func(spec *resourceapi.ResourceSliceSpec) { spec.PerDeviceNodeSelection = ptr.To(true) })
	}
}

// What the gates of a release leave out is not there: its server drops it.
//
// One pool: a slice with counters perhaps, one or two with devices; now and then it is broken, or an old slice is left.
func (w *world) makePool(d dice, driver, name string, place func(*resourceapi.ResourceSliceSpec)) {
	generation := int64(1 + d.IntN(2))
	var made []*resourceapi.ResourceSlice
	add := func() *resourceapi.ResourceSlice {
		slice := &resourceapi.ResourceSlice{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSlice"}}
		slice.Name = fmt.Sprintf("%c-%s-%s-%d", 'a'+rune(d.IntN(26)), name, driver[:1], len(w.slices)+len(made))
		slice.Spec.Driver = driver
		slice.Spec.Pool = resourceapi.ResourcePool{Name: name, Generation: generation}
		place(&slice.Spec)
		made = append(made, slice)
		return slice
	}
	counters := w.features.PartitionableDevices && d.in(45)
	if counters {
		set := resourceapi.CounterSet{Name: "card", Counters: map[string]resourceapi.Counter{
			"slots": {Value: resource.MustParse(pick(d, "2", "3", "5"))}, "lanes": {Value: resource.MustParse("4")}}}
		add().Spec.SharedCounters = []resourceapi.CounterSet{set}
	}
	number := 0
	for range 1 + d.IntN(2) {
		slice := add()
		for range d.IntN(6) {
			slice.Spec.Devices = append(slice.Spec.Devices, w.makeDevice(d, fmt.Sprintf("d%d", number), counters, slice))
			number++
		}
	}
	count := int64(len(made))
	switch {
	case d.in(4):
		count++ // one that is still to come
	case d.in(3) && number > 1:
		for _, slice := range made {
			for i := range slice.Spec.Devices {
				slice.Spec.Devices[i].Name = "same"
			}
		}
	case d.in(3) && number > 0:
		for _, slice := range made {
			for i := range slice.Spec.Devices {
				slice.Spec.Devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "absent",
					Counters: map[string]resourceapi.Counter{"slots": {Value: resource.MustParse("1")}}}}
			}
		}
	case d.in(5):
		old := made[len(made)-1].DeepCopy()
		old.Name, old.Spec.Pool.Generation = "old-"+old.Name, generation-1
		old.Spec.Pool.ResourceSliceCount = 1
		w.slices = append(w.slices, old)
	}
	for _, slice := range made {
		slice.Spec.Pool.ResourceSliceCount = count
	}
	w.slices = append(w.slices, made...)
}

// makeRules: in every release, though those before 1.37 do not know them by default.
func (w *world) makeRules(d dice) {
	if !d.in(30) {
		return
	}
	for i := range 1 + d.IntN(2) {
		rule := &resourceapi.DeviceTaintRule{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "DeviceTaintRule"}}
		rule.Name = fmt.Sprintf("rule-%d", i)
		rule.Spec.Taint = resourceapi.DeviceTaint{Key: pick(d, "sick", "broken"), Value: pick(d, "", "very"),
			Effect: pick(d, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute, resourceapi.DeviceTaintEffectNone)}
		if d.in(95) {
			of := &resourceapi.DeviceTaintSelector{}
			if d.in(50) {
				of.Driver = ptr.To(pick(d, drivers...))
			}
			if d.in(40) && len(w.slices) > 0 {
				of.Pool = ptr.To(pick(d, w.slices...).Spec.Pool.Name)
			}
			if d.in(60) {
				of.Device = ptr.To(fmt.Sprintf("d%d", d.IntN(5)))
			}
			rule.Spec.DeviceSelector = of
		}
		w.rules = append(w.rules, rule)
	}
}

func (w *world) makeDevice(d dice, name string, counters bool, slice *resourceapi.ResourceSlice) resourceapi.Device {
	out := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"kind":                            {StringValue: ptr.To(pick(d, "x", "x", "y"))},
		"numa":                            {IntValue: ptr.To(int64(d.IntN(2)))},
		"resource.kubernetes.io/pcieRoot": {StringValue: ptr.To(pick(d, "pci0000:00", "pci0000:80"))},
	}}
	if d.in(80) {
		out.Attributes[resourceapi.QualifiedName(pick(d, "fast", slice.Spec.Driver+"/fast"))] = resourceapi.DeviceAttribute{BoolValue: ptr.To(d.in(60))}
	}
	if d.in(50) {
		out.Attributes["firmware"] = resourceapi.DeviceAttribute{VersionValue: ptr.To(pick(d, "1.0.0", "1.2.3", "2.0.0"))}
	}
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		switch d.IntN(3) {
		case 0:
			out.NodeName = ptr.To(pick(d, w.nodes...).Name)
		case 1:
			out.NodeSelector = inZone(pick(d, "east", "west"))
		default:
			out.AllNodes = ptr.To(true)
		}
	}
	shared := w.features.ConsumableCapacity && d.in(30)
	if shared {
		out.AllowMultipleAllocations = ptr.To(true)
	}
	if shared || d.in(25) {
		out.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"bandwidth": makeCapacity(d, shared)}
		if d.in(25) {
			out.Capacity["queues"] = resourceapi.DeviceCapacity{Value: resource.MustParse("8")}
		}
	}
	if counters && d.in(80) {
		out.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "card",
			Counters: map[string]resourceapi.Counter{"slots": {Value: resource.MustParse(pick(d, "1", "1", "2"))}}}}
		if d.in(20) {
			out.ConsumesCounters[0].Counters["lanes"] = resourceapi.Counter{Value: resource.MustParse("3")}
		}
	}
	if w.features.DeviceTaints && d.in(15) {
		out.Taints = []resourceapi.DeviceTaint{{Key: pick(d, "sick", "old"), Value: pick(d, "", "very"),
			Effect: pick(d, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute, resourceapi.DeviceTaintEffectNone)}}
	}
	if w.features.DeviceBindingAndStatus && d.in(3) {
		out.BindingConditions, out.BindingFailureConditions = []string{"ready"}, []string{"failed"}
	}
	return out
}

func makeCapacity(d dice, shared bool) resourceapi.DeviceCapacity {
	out := resourceapi.DeviceCapacity{Value: resource.MustParse("10G")}
	if !shared {
		return out
	}
	switch d.IntN(5) {
	case 0:
		out.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("1G"))}
	case 1:
		out.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("2G")),
			ValidValues: []resource.Quantity{resource.MustParse("2G"), resource.MustParse("5G")}}
	case 2:
		out.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("1G")),
			ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("1G")),
				Max: ptr.To(resource.MustParse("8G")), Step: ptr.To(resource.MustParse("1G"))}}
	case 3:
		out.Value = resource.MustParse("2")
		out.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("500m")),
			ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("500m")), Step: ptr.To(resource.MustParse("250m"))}}
	}
	return out
}

func (w *world) makeClasses(d dice) {
	add := func(name string, expressions ...string) {
		class := &resourceapi.DeviceClass{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "DeviceClass"}}
		class.Name = name
		// Of classes with one name the newest counts.
		class.CreationTimestamp = metav1.NewTime(time.Unix(1_700_000_000+int64(len(w.classes))*60+int64(d.IntN(2))*3600, 0))
		if d.in(30) {
			class.Spec.ExtendedResourceName = ptr.To(pick(d, extendedNames...))
		}
		for _, text := range expressions {
			class.Spec.Selectors = append(class.Spec.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: text}})
		}
		w.classes[name] = class
	}
	add("any")
	for _, driver := range drivers {
		add("of-"+driver[:1], `device.driver == "`+driver+`"`)
		add("x-"+driver[:1], `device.driver == "`+driver+`"`, `device.attributes["`+driver+`"].kind == "x"`)
		add("good-"+driver[:1], `device.driver == "`+driver+`" && device.attributes["`+driver+`"].?fast.orValue(false) && device.attributes["`+driver+`"].numa == 0`)
	}
	add("careless", `device.attributes["a.example.com"].fast`) // fails where it is absent
	if d.in(3) {
		add("broken", `device.attributes["a.example.com"`)
	}
}

func (w *world) makeRequest(d dice, name string, admin bool) resourceapi.ExactDeviceRequest {
	class := pick(d, "any", "of-a", "of-a", "of-b", "x-a", "x-b", "good-a", "good-b")
	ordered := w.features.ConsumableCapacity // without that a failing expression is met or not by chance
	if ordered && d.in(3) {
		class = pick(d, "careless", "absent", "broken")
	}
	out := resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount,
		Count: int64(pick(d, 1, 1, 1, 1, 2, 3))}
	if d.in(12) {
		out.AllocationMode, out.Count = resourceapi.DeviceAllocationModeAll, 0
	}
	if d.in(30) {
		text := pick(d,
			`device.attributes[device.driver].kind == "y"`,
			`device.attributes[device.driver].numa == 1`,
			`device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:80"`,
			`has(device.attributes[device.driver].firmware) && device.attributes[device.driver].firmware.isGreaterThan(semver("1.0.0"))`,
			`"bandwidth" in device.capacity[device.driver]`,
			`device.allowMultipleAllocations`,
			`device.attributes[device.driver].kind == "z"`)
		out.Selectors = append(out.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: text}})
	}
	if ordered && d.in(2) {
		out.Selectors = append(out.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: `device.attributes[device.driver].absent == 1`}})
	}
	if d.in(15) {
		out.Tolerations = []resourceapi.DeviceToleration{{Key: pick(d, "", "sick", "old"), Operator: resourceapi.DeviceTolerationOpExists}}
	}
	if w.features.ConsumableCapacity && d.in(25) {
		out.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
			"bandwidth": resource.MustParse(pick(d, "1G", "3G", "4500M", "6G", "9G", "1", "300m", "1k"))}}
		if d.in(15) {
			out.Capacity.Requests["queues"] = resource.MustParse(pick(d, "4", "16"))
		}
	}
	if admin && d.in(6) {
		out.AdminAccess = ptr.To(true)
	}
	return out
}

func (w *world) makeClaim(d dice, name string) *resourceapi.ResourceClaim {
	out := &resourceapi.ResourceClaim{TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}}
	out.Name, out.Namespace, out.UID = name, "default", types.UID("uid-"+name)
	for i := range pick(d, 1, 1, 1, 2, 3) {
		request := resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		if d.in(15) {
			for j := range 1 + d.IntN(3) {
				one := w.makeRequest(d, "", false)
				request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{Name: fmt.Sprintf("s%d", j),
					DeviceClassName: one.DeviceClassName, Selectors: one.Selectors, AllocationMode: one.AllocationMode, Count: one.Count,
					Tolerations: one.Tolerations, Capacity: one.Capacity})
			}
		} else {
			request.Exactly = ptr.To(w.makeRequest(d, "", true))
		}
		out.Spec.Devices.Requests = append(out.Spec.Devices.Requests, request)
	}
	for range 2 {
		if !d.in(20) {
			continue
		}
		attribute := ptr.To(resourceapi.FullyQualifiedName(pick(d, "resource.kubernetes.io/pcieRoot", "a.example.com/numa", "b.example.com/fast", "a.example.com/firmware")))
		constraint := resourceapi.DeviceConstraint{MatchAttribute: attribute}
		if w.features.ConsumableCapacity && d.in(30) {
			constraint = resourceapi.DeviceConstraint{DistinctAttribute: attribute}
		}
		if d.in(40) {
			first := out.Spec.Devices.Requests[0]
			constraint.Requests = []string{first.Name}
			if len(first.FirstAvailable) > 0 && d.in(50) {
				constraint.Requests = []string{first.Name + "/s0"}
			}
		}
		out.Spec.Devices.Constraints = append(out.Spec.Devices.Constraints, constraint)
	}
	return out
}

func (w *world) makePod(d dice) {
	w.pod = &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	w.pod.Name, w.pod.Namespace = "p", "default"
	extended := d.in(30)
	if extended {
		w.makeContainers(d)
	}
	claims := 1 + d.IntN(2)
	if extended {
		claims = d.IntN(2)
	}
	for i := range claims {
		claim := w.makeClaim(d, fmt.Sprintf("mine-%d", i))
		w.mine = append(w.mine, claim)
		w.pod.Spec.ResourceClaims = append(w.pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: fmt.Sprintf("c%d", i), ResourceClaimName: ptr.To(claim.Name)})
	}
	if d.in(10) {
		w.pod.Spec.NodeSelector = map[string]string{"zone": pick(d, "east", "west")}
	}
	if d.in(10) {
		w.pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: inZone("east")}}
	}
	if d.in(20) {
		w.pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	}
}
