package play

import (
	"fmt"
	"sort"
	"strings"
)

const (
	exposureDriver = "dra.networking"
	sriovDriver    = "sriovnetwork.k8snetworkplumbingwg.io"
	sriovNamespace = "dra-driver-sriov"
	nodeName       = "node-a"
)

// A condition is a selector: the text that the daemon is given, and what it means.
type condition struct {
	cel   string
	holds func(*device) bool
}

func attribute(id string) string { return `device.attributes["` + exposureDriver + `"].` + id }

func textIs(id, value string, get func(*device) string) condition {
	return condition{attribute(id) + ` == "` + value + `"`, func(d *device) bool { return get(d) == value }}
}

func kindIs(kind string) condition {
	return textIs("type", kind, func(d *device) string { return d.kind })
}

func ifNameIs(name string) condition {
	return textIs("ifName", name, func(d *device) string { return d.ifName })
}

func addressIs(id string) condition {
	return textIs("pciAddress", id, func(d *device) string {
		if d.isFunction() {
			return d.id
		}
		return ""
	})
}

func pfAddressIs(pf *device) condition {
	return textIs("pfPciAddress", pf.id, func(d *device) string { return d.pf })
}

// pfNameIs is of PFs that keep their names.
func pfNameIs(pf *device) condition {
	return condition{attribute("pfName") + ` == "` + pf.ifName + `"`, func(d *device) bool { return d.pf == pf.id }}
}

func vendorIs(vendor string) condition {
	return textIs("vendor", vendor, func(d *device) string { return d.vendor })
}

func driverIs(driver string) condition {
	return textIs("driver", driver, func(d *device) string { return d.driver })
}

func isFree() condition {
	return textIs("masterBridge", "", func(d *device) string {
		if d.away {
			return ""
		}
		return d.master
	})
}

func indexBelow(n int) condition {
	return condition{fmt.Sprintf("%s < %d", attribute("vfIndex"), n), func(d *device) bool {
		return d.kind != "vf" || d.index < n
	}}
}

func numaIs(n int) condition {
	return condition{fmt.Sprintf("%s == %d", attribute("numaNode"), n), func(d *device) bool {
		if !d.isFunction() {
			return n == -1
		}
		return d.numa == n
	}}
}

func anything() condition { return condition{"true", func(*device) bool { return true }} }

func and(all ...condition) condition {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = "(" + one.cel + ")"
	}
	return condition{strings.Join(texts, " && "), func(d *device) bool {
		for _, one := range all {
			if !one.holds(d) {
				return false
			}
		}
		return true
	}}
}

func or(all ...condition) condition {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = "(" + one.cel + ")"
	}
	return condition{strings.Join(texts, " || "), func(d *device) bool {
		for _, one := range all {
			if one.holds(d) {
				return true
			}
		}
		return false
	}}
}

func not(one condition) condition {
	return condition{"!(" + one.cel + ")", func(d *device) bool { return !one.holds(d) }}
}

// A capacity of a shared entry, in whole numbers. 0: not given.
type capacity struct {
	name           string // as the policy writes it
	value          int64
	standard       int64 // what is taken without a word
	min, max, step int64 // validRange, when min is given
	valid          []int64
}

func (c capacity) key() string { return exposureDriver + "/" + c.name }

// taken is what a request for n takes; ok is false where no policy allows it. n 0: the request does not say.
func (c capacity) taken(n int64) (int64, bool) {
	switch {
	case n == 0:
		return c.standard, true
	case c.min > 0:
		if n < c.min {
			n = c.min
		}
		if c.step > 0 && (n-c.min)%c.step != 0 {
			n += c.step - (n-c.min)%c.step
		}
		return n, n <= c.value && (c.max == 0 || n <= c.max)
	case len(c.valid) > 0:
		for _, value := range c.valid {
			if n <= value {
				return value, true
			}
		}
		return n, false
	}
	return n, n <= c.value
}

func (c capacity) object() fields {
	policy := fields{"default": fmt.Sprint(c.standard)}
	if c.min > 0 {
		span := fields{"min": fmt.Sprint(c.min)}
		if c.max > 0 {
			span["max"] = fmt.Sprint(c.max)
		}
		if c.step > 0 {
			span["step"] = fmt.Sprint(c.step)
		}
		policy["validRange"] = span
	}
	if len(c.valid) > 0 {
		var values []string
		for _, value := range c.valid {
			values = append(values, fmt.Sprint(value))
		}
		policy["validValues"] = values
	}
	return fields{"value": fmt.Sprint(c.value), "requestPolicy": policy}
}

// implied is the capacity of a shared entry whose policy names none.
var implied = capacity{name: "shares", value: 1000, standard: 1}

// An exposure is a DeviceExposurePolicy.
type exposure struct {
	name         string
	rev          int // of its text; no two texts of a world have the same
	priority     int
	exclude      bool
	selector     condition
	persona      string // what its author calls it
	suffix       string
	shared       bool
	group        string
	capacity     []capacity // of a shared one
	allowHostUse bool
	zone         string // "" every node
	broken       bool   // has a field that nobody knows
}

func (e *exposure) object() fields {
	spec := fields{"selector": fields{"cel": e.selector.cel}, "priority": e.priority}
	if e.zone != "" {
		spec["nodeSelector"] = fields{"matchLabels": fields{"zone": e.zone}}
	}
	if e.broken {
		spec["exposrue"] = fields{}
	}
	if e.exclude {
		spec["action"] = "exclude"
	} else {
		if e.allowHostUse {
			spec["allowHostUse"] = true
		}
		exposed := fields{"additionalAttributes": fields{
			"persona": e.persona, "rev": fields{"int": e.rev},
		}}
		if e.suffix != "" {
			exposed["deviceNameSuffix"] = e.suffix
		}
		if e.group != "" {
			exposed["exclusionGroup"] = e.group
		}
		if e.shared {
			exposed["allowMultipleAllocations"] = true
		}
		if len(e.capacity) > 0 {
			capacities := fields{}
			for _, one := range e.capacity {
				capacities[one.name] = one.object()
			}
			exposed["capacity"] = capacities
		}
		spec["exposure"] = exposed
	}
	return fields{"metadata": fields{"name": e.name}, "spec": spec}
}

func (e *exposure) String() string {
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch {
	case e.exclude:
		say("exclude")
	case e.shared:
		say("shared")
	default:
		say("exclusive")
	}
	if !e.exclude {
		say("suffix %q", e.suffix)
	}
	if e.group != "" {
		say("group %s", e.group)
	}
	for _, one := range e.capacity {
		say("%s %d (default %d, %d..%d step %d, of %v)", one.name, one.value, one.standard, one.min, one.max, one.step, one.valid)
	}
	say("priority %d", e.priority)
	if e.allowHostUse {
		say("allowHostUse")
	}
	if e.zone != "" {
		say("zone %s", e.zone)
	}
	if e.broken {
		say("with an unknown field")
	}
	return fmt.Sprintf("DEP %s (rev %d): %s, of %s", e.name, e.rev, strings.Join(words, ", "), e.selector.cel)
}

// A filter of a SriovResourcePolicy; what is not given does not matter.
type filter struct {
	pf      *device // by name
	below   int     // VF indices below it; 0 all
	vendor  string
	drivers []string
	vf      string
}

func (f filter) holds(d *device) bool {
	if f.pf != nil && (d.pf != f.pf.id || f.below > 0 && d.index >= f.below) {
		return false
	}
	if f.vendor != "" && d.vendor != f.vendor || f.vf != "" && d.id != f.vf {
		return false
	}
	if len(f.drivers) == 0 {
		return true
	}
	for _, driver := range f.drivers {
		if d.driver == driver {
			return true
		}
	}
	return false
}

func (f filter) object() fields {
	out := fields{}
	if f.pf != nil {
		name := f.pf.ifName
		if f.below > 0 {
			name += fmt.Sprintf("#0-%d", f.below-1)
		}
		out["pfNames"] = []string{name}
	}
	if f.vendor != "" {
		out["vendors"] = []string{f.vendor}
	}
	if len(f.drivers) > 0 {
		out["drivers"] = f.drivers
	}
	if f.vf != "" {
		out["pciAddresses"] = []string{f.vf}
	}
	return out
}

// A sriovPolicy is a SriovResourcePolicy of one config.
type sriovPolicy struct {
	name         string
	priority     int
	allowHostUse bool
	filters      []filter
	zone         string
}

func (s *sriovPolicy) holds(d *device) bool {
	for _, one := range s.filters {
		if one.holds(d) {
			return true
		}
	}
	return len(s.filters) == 0
}

func (s *sriovPolicy) object() fields {
	filters := []fields{}
	for _, one := range s.filters {
		filters = append(filters, one.object())
	}
	spec := fields{"configs": []fields{{"resourceFilters": filters}}, "priority": s.priority}
	if s.allowHostUse {
		spec["allowHostUse"] = true
	}
	if s.zone != "" {
		spec["nodeSelector"] = fields{"zone": s.zone}
	}
	return fields{"metadata": fields{"name": s.name, "namespace": sriovNamespace}, "spec": spec}
}

func (s *sriovPolicy) String() string {
	var filters []string
	for _, one := range s.filters {
		filters = append(filters, fmt.Sprint(one.object()))
	}
	return fmt.Sprintf("SRP %s: priority %d, allowHostUse %v, zone %q, filters %v", s.name, s.priority, s.allowHostUse, s.zone, filters)
}

type policies struct {
	exposures map[string]*exposure
	sriov     map[string]*sriovPolicy
}

func inOrder[T any](all map[string]T, priority func(T) int, name func(T) string) []T {
	out := make([]T, 0, len(all))
	for _, one := range all {
		out = append(out, one)
	}
	sort.Slice(out, func(i, j int) bool {
		if priority(out[i]) != priority(out[j]) {
			return priority(out[i]) > priority(out[j])
		}
		return name(out[i]) < name(out[j])
	})
	return out
}

func (p *policies) exposuresInOrder() []*exposure {
	return inOrder(p.exposures, func(e *exposure) int { return e.priority }, func(e *exposure) string { return e.name })
}

func (p *policies) sriovInOrder() []*sriovPolicy {
	return inOrder(p.sriov, func(s *sriovPolicy) int { return s.priority }, func(s *sriovPolicy) string { return s.name })
}
