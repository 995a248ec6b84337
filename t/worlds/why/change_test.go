package why

import (
	"regexp"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sliced.test/worlds/asked"
)

const everything = "true"

// A part is what a request and an alternative have in common.
type part struct {
	selectors   []resourceapi.DeviceSelector
	tolerations *[]resourceapi.DeviceToleration
	capacity    *resourceapi.CapacityRequirements
	count       *int64
}

func partOf(claim *resourceapi.ResourceClaim, name string) *part {
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if request.Exactly != nil && request.Name == name {
			one := request.Exactly
			return &part{one.Selectors, &one.Tolerations, one.Capacity, &one.Count}
		}
		for j := range request.FirstAvailable {
			one := &request.FirstAvailable[j]
			if request.Name+"/"+one.Name == name {
				return &part{one.Selectors, &one.Tolerations, one.Capacity, &one.Count}
			}
		}
	}
	return nil
}

// with gives the world in which the changes have been made, as a person would make them.
func (w *world) with(changes []change) *world {
	out := *w
	out.slices, out.others, out.mine, out.classes = nil, nil, nil, asked.Classes{}
	out.changes = changes
	for _, one := range w.slices {
		out.slices = append(out.slices, one.DeepCopy())
	}
	for _, one := range w.mine {
		out.mine = append(out.mine, one.DeepCopy())
	}
	for name, one := range w.classes {
		out.classes[name] = one.DeepCopy()
	}
	out.others = append(out.others, w.others...)
	for _, one := range changes {
		out.change(one)
	}
	for _, claim := range out.mine {
		tidy(claim)
	}
	return &out
}

// tidy takes away what change() has marked: indexes stay what they are until then.
func tidy(claim *resourceapi.ResourceClaim) {
	spec := &claim.Spec.Devices
	var constraints []resourceapi.DeviceConstraint
	for _, one := range spec.Constraints {
		if one.MatchAttribute != nil || one.DistinctAttribute != nil {
			constraints = append(constraints, one)
		}
	}
	var requests []resourceapi.DeviceRequest
	for _, one := range spec.Requests {
		if one.Exactly != nil || len(one.FirstAvailable) > 0 {
			requests = append(requests, one)
		}
	}
	spec.Constraints, spec.Requests = constraints, requests
}

func (w *world) change(c change) {
	switch c.Asks {
	case "complete-pools":
		for _, pool := range c.Pools {
			w.complete(pool.Driver, pool.Pool)
		}
	case "release":
		var kept []*resourceapi.ResourceClaim
		for _, one := range w.others {
			if one.Namespace+"/"+one.Name != c.Claim {
				kept = append(kept, one)
			}
		}
		w.others = kept
	case "correct-selector":
		if c.DeviceClass != "" {
			w.classes[c.DeviceClass].Spec.Selectors[c.Index].CEL.Expression = c.Expression
			return
		}
		for _, claim := range w.mine {
			if claim.Namespace+"/"+claim.Name == c.Claim {
				partOf(claim, c.Request).selectors[c.Index].CEL.Expression = c.Expression
			}
		}
	case "guard-selector":
		if c.DeviceClass != "" {
			guard(w.classes[c.DeviceClass].Spec.Selectors[c.Index].CEL)
			return
		}
		for _, claim := range w.mine {
			if claim.Namespace+"/"+claim.Name == c.Claim {
				guard(partOf(claim, c.Request).selectors[c.Index].CEL)
			}
		}
	case "no-class-selector":
		w.classes[c.DeviceClass].Spec.Selectors[c.Index].CEL.Expression = everything
	case "make-class":
		w.classes[c.DeviceClass] = &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: c.DeviceClass}}
	default:
		for _, claim := range w.mine {
			if claim.Namespace+"/"+claim.Name == c.Claim {
				changeClaim(claim, c)
			}
		}
	}
}

var selected = regexp.MustCompile(`device\.(attributes|capacity)\[[^\]]*\]\.\w+`)

// guard makes a selector false on devices that lack what it selects.
func guard(selector *resourceapi.CELDeviceSelector) {
	for _, one := range selected.FindAllString(selector.Expression, -1) {
		selector.Expression = "has(" + one + ") && " + selector.Expression
	}
}

// complete lets the slices of each generation say that they are all.
func (w *world) complete(driver, pool string) {
	count := map[int64]int64{}
	for _, slice := range w.slices {
		if slice.Spec.Driver == driver && slice.Spec.Pool.Name == pool {
			count[slice.Spec.Pool.Generation]++
		}
	}
	for _, slice := range w.slices {
		if slice.Spec.Driver == driver && slice.Spec.Pool.Name == pool {
			slice.Spec.Pool.ResourceSliceCount = count[slice.Spec.Pool.Generation]
		}
	}
}

func changeClaim(claim *resourceapi.ResourceClaim, c change) {
	spec := &claim.Spec.Devices
	if c.Asks == "no-constraint" {
		spec.Constraints[c.Index] = resourceapi.DeviceConstraint{}
		return
	}
	if c.Asks == "no-request" {
		for i := range spec.Requests {
			if spec.Requests[i].Name == c.Request {
				spec.Requests[i] = resourceapi.DeviceRequest{Name: c.Request}
			}
		}
		return
	}
	of := partOf(claim, c.Request)
	if of == nil {
		panic("there is no request " + c.Request + " in " + strings.TrimPrefix(c.Text, " "))
	}
	switch c.Asks {
	case "tolerate":
		*of.tolerations = append(*of.tolerations, resourceapi.DeviceToleration{Key: c.Taint.Key, Operator: resourceapi.DeviceTolerationOpEqual,
			Value: c.Taint.Value, Effect: resourceapi.DeviceTaintEffect(c.Taint.Effect)})
	case "less-capacity":
		of.capacity.Requests[resourceapi.QualifiedName(c.Capacity)] = resource.MustParse("0")
	case "no-capacity":
		delete(of.capacity.Requests, resourceapi.QualifiedName(c.Capacity))
	case "fewer":
		*of.count = c.Count
	case "no-selector":
		of.selectors[c.Index].CEL.Expression = everything
	default:
		panic("unknown change " + c.Asks)
	}
}
