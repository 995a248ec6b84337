package play

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
)

type dice struct{ *rand.Rand }

func newDice(seed, luck uint64) dice { return dice{rand.New(rand.NewPCG(seed, luck))} }

func (d dice) chance(p float64) bool { return d.Float64() < p }

func pick[T any](d dice, from []T) T { return from[d.IntN(len(from))] }

// A state is what the daemon is told of, apart from claims.
type state struct {
	host     host
	policies policies
	zone     string
	revs     int
}

func newState() *state {
	return &state{host: host{devices: map[string]*device{}}, zone: "a",
		policies: policies{exposures: map[string]*exposure{}, sriov: map[string]*sriovPolicy{}}}
}

func (s *state) clone() *state {
	out := newState()
	out.zone, out.revs, out.host.births = s.zone, s.revs, s.host.births
	for id, d := range s.host.devices {
		copied := *d
		out.host.devices[id] = &copied
	}
	for name, e := range s.policies.exposures {
		out.policies.exposures[name] = e
	}
	for name, one := range s.policies.sriov {
		out.policies.sriov[name] = one
	}
	return out
}

func (s *state) offered() map[string]*entry { return offered(&s.host, &s.policies, s.zone) }

// An edit is a change of the state, and what brings it about. apply may be run on a clone first, so it holds no devices.
type edit struct {
	words string
	apply func(*state)
	send  func(*program)
}

// ---- the host

func vfDriver(pf *device, vfio bool) string {
	switch {
	case vfio:
		return "vfio-pci"
	case pf.vendor == "15b3":
		return "mlx5_core"
	}
	return "iavf"
}

func plugging(slot int, name, vendor string, numa, totalVFs int) edit {
	kind, driver := "pf", "ice"
	if totalVFs == 0 {
		kind = "nic"
	}
	if vendor == "15b3" {
		driver = "mlx5_core"
	}
	return edit{
		words: fmt.Sprintf("%s %s (%s, vendor %s, NUMA node %d, up to %d VFs)", kind, name, pfAddress(slot), vendor, numa, totalVFs),
		apply: func(s *state) {
			s.host.add(device{id: pfAddress(slot), kind: kind, vendor: vendor, driver: driver, numa: numa, ifName: name,
				slot: slot, totalVF: totalVFs})
		},
		send: func(p *program) {
			p.host("plug", name, fields{"slot": slot, "vendor": vendor, "numa": numa, "vfs": totalVFs})
		},
	}
}

func settingVFs(pf *device, count int, vfio bool) edit {
	id, driver := pf.id, vfDriver(pf, vfio)
	return edit{
		words: fmt.Sprintf("numVFs of %s becomes %d (driver %s)", pf.ifName, count, driver),
		apply: func(s *state) {
			pf := s.host.devices[id]
			for _, vf := range s.host.vfs(pf) {
				delete(s.host.devices, vf.id)
			}
			for i := 0; i < count; i++ {
				name := fmt.Sprintf("%sv%d", pf.ifName, i)
				if vfio {
					name = ""
				}
				s.host.add(device{id: vfAddress(id, i), kind: "vf", pf: id, index: i, vendor: pf.vendor, driver: driver,
					numa: pf.numa, ifName: name})
			}
		},
		send: func(p *program) { p.host("vfs", id, fields{"count": count, "driver": driver}) },
	}
}

func addingBridge(name string) edit {
	return edit{"bridge " + name, func(s *state) { s.host.add(device{id: name, kind: "bridge", ifName: name, numa: -1}) },
		func(p *program) { p.host("bridge", name, nil) }}
}

func addingVLAN(parent string, id int) edit {
	name := fmt.Sprintf("%s.%d", parent, id)
	return edit{"VLAN " + name, func(s *state) {
		s.host.add(device{id: name, kind: "vlan", ifName: name, parent: parent, numa: -1})
	}, func(p *program) { p.host("vlan", parent, fields{"id": id}) }}
}

func removingLink(name string) edit {
	return edit{"link " + name + " is removed", func(s *state) { s.host.removeLink(s.host.devices[name]) },
		func(p *program) { p.host("remove", name, nil) }}
}

func enslaving(ifName, bridge string) edit {
	words := ifName + " is enslaved to " + bridge
	if bridge == "" {
		words = ifName + " is freed from its bridge"
	}
	return edit{words, func(s *state) { s.host.named(ifName).master = bridge },
		func(p *program) { p.host("enslave", ifName, fields{"to": bridge}) }}
}

func movingAway(vf *device) edit {
	id := vf.id
	return edit{"a pod has the interface of " + id, func(s *state) {
		d := s.host.devices[id]
		d.away, d.master, d.route = true, "", false
	}, func(p *program) { p.host("away", id, nil) }}
}

func routing(ifName string, on bool) edit {
	return edit{fmt.Sprintf("default route on %s: %v", ifName, on),
		func(s *state) { s.host.named(ifName).route = on },
		func(p *program) { p.host("route", ifName, fields{"on": on}) }}
}

func labelling(zone string) edit {
	return edit{"the node is in zone " + zone, func(s *state) { s.zone = zone },
		func(p *program) { p.do("label", fields{"labels": fields{"zone": zone}}) }}
}

// ---- policies

const (
	exposureKind = "DeviceExposurePolicy"
	sriovKind    = "SriovResourcePolicy"
)

func putting(e *exposure) edit {
	return edit{"put " + e.String(), func(s *state) { s.policies.exposures[e.name] = e },
		func(p *program) { p.do("put", fields{"kind": exposureKind, "object": e.object()}) }}
}

func deleting(name string) edit {
	return edit{"delete DEP " + name, func(s *state) { delete(s.policies.exposures, name) },
		func(p *program) { p.do("delete", fields{"kind": exposureKind, "name": name}) }}
}

func puttingSriov(one *sriovPolicy) edit {
	return edit{"put " + one.String(), func(s *state) { s.policies.sriov[one.name] = one },
		func(p *program) { p.do("put", fields{"kind": sriovKind, "object": one.object()}) }}
}

func deletingSriov(name string) edit {
	return edit{"delete SRP " + name, func(s *state) { delete(s.policies.sriov, name) },
		func(p *program) { p.do("delete", fields{"kind": sriovKind, "name": name}) }}
}

func both(edits ...edit) edit {
	var words []string
	for _, one := range edits {
		words = append(words, one.words)
	}
	return edit{strings.Join(words, "; "), func(s *state) {
		for _, one := range edits {
			one.apply(s)
		}
	}, func(p *program) {
		for _, one := range edits {
			one.send(p)
		}
	}}
}

// personas are what authors call their entries. Each has a DeviceClass.
var personas = []string{"passthrough", "macvlan", "ipvlan", "vf", "vdpa", "share", "ports", "whole"}

func randomCapacity(d dice, name string) []capacity {
	c := capacity{name: name, value: int64(1 + d.IntN(4)), standard: 1}
	switch d.IntN(5) {
	case 0:
		return nil
	case 1: // steps
		c.min, c.standard, c.step = 2, 2, 2
		c.value = int64(4 + 2*d.IntN(3))
		c.max = 4
	case 2:
		c.valid, c.value = []int64{1, 3}, int64(3+d.IntN(4))
	case 3:
		c.value = 64
	}
	out := []capacity{c}
	if d.chance(0.1) {
		out = append(out, capacity{name: "more", value: 5, standard: 2})
	}
	return out
}

func (s *state) nextRev() int {
	s.revs++
	return s.revs
}

// scope says of which devices of a kind a policy is.
func (s *state) scope(d dice, kind string) condition {
	devices := s.host.of(kind)
	if len(devices) == 0 || d.chance(0.35) {
		if kind == "pf" && d.chance(0.2) {
			return and(kindIs("pf"), vendorIs(pick(d, []string{"8086", "15b3"})))
		}
		return kindIs(kind)
	}
	one := pick(d, devices)
	switch {
	case kind == "vf" && d.chance(0.7):
		pf := s.host.devices[one.pf]
		c := and(kindIs("vf"), pfNameIs(pf))
		switch d.IntN(5) {
		case 0:
			c = and(c, indexBelow(1+d.IntN(3)))
		case 1:
			c = and(c, isFree())
		case 2:
			c = and(pfAddressIs(pf), not(driverIs("vfio-pci")))
		}
		return c
	case kind == "vf", kind == "pf" && d.chance(0.3):
		return addressIs(one.id)
	case d.chance(0.1):
		return and(kindIs(kind), numaIs(one.numa))
	}
	return and(kindIs(kind), ifNameIs(one.ifName))
}

// randomExposure is one of those that people write.
func (s *state) randomExposure(d dice, name, persona string) *exposure {
	e := &exposure{name: name, rev: s.nextRev(), priority: 100, persona: persona}
	if d.chance(0.3) {
		e.priority = pick(d, []int{50, 100, 200})
	}
	e.allowHostUse = d.chance(0.15)
	e.broken = d.chance(0.02)
	if d.chance(0.1) {
		e.zone = pick(d, []string{"a", "a", "b"})
	}
	switch persona {
	case "passthrough":
		e.selector, e.suffix = s.scope(d, "pf"), pick(d, []string{"", "-pt", "-pt"})
		if d.chance(0.15) {
			e.group = "rx"
		}
	case "macvlan":
		e.selector, e.suffix, e.shared = s.scope(d, pick(d, []string{"pf", "pf", "pf", "nic"})), "-macvlan", true
		e.capacity = randomCapacity(d, "macvlans")
		if d.chance(0.6) {
			e.group = "rx"
		}
	case "ipvlan":
		e.selector, e.suffix, e.shared = s.scope(d, pick(d, []string{"pf", "pf", "pf", "nic"})), "-ipvlan", true
		e.capacity = randomCapacity(d, "ipvlans")
		if d.chance(0.7) {
			e.group = "rx"
		}
	case "vf":
		e.selector = s.scope(d, "vf")
		if d.chance(0.1) {
			e.selector = or(kindIs("vf"), kindIs("nic"))
		}
	case "vdpa":
		e.selector, e.suffix = s.scope(d, "vf"), "-vdpa"
		if d.chance(0.3) {
			e.group = "v"
		}
	case "share":
		e.selector, e.suffix, e.shared = s.scope(d, "vf"), "-share", true
		e.capacity = randomCapacity(d, "seats")
		if d.chance(0.4) {
			e.group = "v"
		}
	case "ports":
		e.selector, e.suffix, e.shared = s.scope(d, "bridge"), "-ports", true
		e.capacity = randomCapacity(d, "ports")
	case "whole":
		e.selector = s.scope(d, pick(d, []string{"nic", "bridge", "vlan"}))
		if d.chance(0.2) {
			e.suffix = "-whole"
		}
	}
	return e
}

func (s *state) randomExclude(d dice, name string) *exposure {
	e := &exposure{name: name, rev: s.nextRev(), priority: 100, exclude: true}
	one := pick(d, s.host.sorted())
	switch {
	case one.isFunction():
		e.selector = addressIs(one.id)
	default:
		e.selector = ifNameIs(one.ifName)
	}
	if d.chance(0.2) {
		e.selector = and(kindIs(one.kind), not(isFree()))
	}
	return e
}

func (s *state) randomSriov(d dice, name string) *sriovPolicy {
	out := &sriovPolicy{name: name, priority: d.IntN(3), allowHostUse: d.chance(0.1)}
	if d.chance(0.1) {
		out.zone = pick(d, []string{"a", "b"})
	}
	pfs := s.host.of("pf")
	if len(pfs) == 0 || d.chance(0.15) {
		return out
	}
	for i := 0; i < 1+d.IntN(2); i++ {
		f := filter{}
		switch d.IntN(6) {
		case 0:
			f.vendor = pick(d, pfs).vendor
		case 1:
			f.drivers = []string{pick(d, []string{"iavf", "vfio-pci", "mlx5_core"})}
		case 2:
			if vfs := s.host.of("vf"); len(vfs) > 0 {
				f.vf = pick(d, vfs).id
				break
			}
			fallthrough
		default:
			copied := *pick(d, pfs)
			f.pf = &copied
			if d.chance(0.5) {
				f.below = 1 + d.IntN(4)
			}
		}
		out.filters = append(out.filters, f)
	}
	return out
}

func randomVFs(d dice, pf *device) int {
	if pf.totalVF > 8 && d.chance(0.8) {
		return 20 + d.IntN(pf.totalVF-19)
	}
	return d.IntN(min(pf.totalVF, 5) + 1)
}

// randomWorld is how a world begins: edits before the daemon's first start.
func randomWorld(d dice, s *state) []edit {
	var out []edit
	do := func(e edit) {
		e.apply(s)
		out = append(out, e)
	}
	slots := 0
	for i := 0; i < 1+d.IntN(2); i++ {
		numa := pick(d, []int{0, 0, 1, -1})
		total := pick(d, []int{2, 4, 8})
		if i == 0 && d.chance(0.02) { // several slices, several counter sets
			total = 127
		}
		do(plugging(slots, fmt.Sprintf("ens%df0", slots+1), pick(d, []string{"8086", "15b3"}), numa, total))
		slots++
		pf := s.host.devices[pfAddress(slots-1)]
		if d.chance(0.85) {
			do(settingVFs(pf, randomVFs(d, pf), d.chance(0.15)))
		}
	}
	if d.chance(0.5) {
		do(plugging(slots, "eno1", "8086", 0, 0))
		if d.chance(0.4) {
			do(routing("eno1", true))
		}
	}
	if d.chance(0.6) {
		do(addingBridge("br0"))
		if vfs := s.host.of("vf"); len(vfs) > 0 && d.chance(0.3) {
			if vf := pick(d, vfs); vf.ifName != "" {
				do(enslaving(vf.ifName, "br0"))
			}
		}
	}
	if nics := s.host.of("nic", "pf"); d.chance(0.2) {
		do(addingVLAN(pick(d, nics).ifName, 10))
	}
	// PFs with several personas are where things go wrong.
	for _, persona := range personas {
		common := map[string]float64{"passthrough": 0.8, "macvlan": 0.7, "ipvlan": 0.5, "vf": 0.65, "vdpa": 0.25, "share": 0.25,
			"ports": 0.35, "whole": 0.4}[persona]
		if d.chance(common) {
			do(putting(s.randomExposure(d, persona+"-a", persona)))
		}
		if d.chance(common * 0.3) {
			do(putting(s.randomExposure(d, persona+"-b", persona)))
		}
	}
	if d.chance(0.2) {
		do(putting(s.randomExclude(d, "exclude-a")))
	}
	if d.chance(0.35) {
		do(puttingSriov(s.randomSriov(d, "sriov-a")))
	}
	return out
}

// ---- edits

// changedExposure is the policy with something else in it.
func (s *state) changedExposure(d dice, before *exposure) *exposure {
	e := *before
	e.rev = s.nextRev()
	if e.exclude {
		return s.randomExclude(d, e.name)
	}
	switch d.IntN(8) {
	case 0, 1:
		e.suffix = pick(d, []string{"", "-pt", "-x", "-macvlan", "-y"})
	case 2:
		e.group = pick(d, []string{"", "rx", "v", "other"})
	case 3:
		e.shared = !e.shared
		e.capacity = nil
	case 4:
		if e.shared {
			e.capacity = randomCapacity(d, "macvlans")
		} else {
			e.allowHostUse = !e.allowHostUse
		}
	case 5:
		e.priority = pick(d, []int{10, 100, 300})
	case 6:
		e.zone = pick(d, []string{"", "a", "b"})
	default:
		e.selector = s.randomExposure(d, e.name, e.persona).selector
		e.rev = s.nextRev()
	}
	e.broken = d.chance(0.03)
	return &e
}

func names[T any](all map[string]T) []string {
	out := make([]string, 0, len(all))
	for name := range all {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// randomEdit is something that somebody does to the policies or the host; none when there is nothing to do it to. taken:
// functions that pods have, which the host leaves alone.
func (s *state) randomEdit(d dice, taken map[string]bool) (edit, bool) {
	exposures, sriov := names(s.policies.exposures), names(s.policies.sriov)
	pfs := s.host.of("pf")
	switch d.IntN(17) {
	case 0, 1:
		if len(exposures) > 0 {
			return deleting(pick(d, exposures)), true
		}
	case 2, 3, 4:
		if len(exposures) > 0 {
			return putting(s.changedExposure(d, s.policies.exposures[pick(d, exposures)])), true
		}
	case 5, 6:
		persona := pick(d, personas)
		return putting(s.randomExposure(d, persona+pick(d, []string{"-a", "-b"}), persona)), true
	case 7:
		return putting(s.randomExclude(d, "exclude-a")), true
	case 8:
		return puttingSriov(s.randomSriov(d, pick(d, []string{"sriov-a", "sriov-b"}))), true
	case 9:
		if len(sriov) > 0 {
			return deletingSriov(pick(d, sriov)), true
		}
	case 10: // VFs of a PF change driver
		pf := pick(d, pfs)
		mine := &exposure{name: "vf-a", rev: s.nextRev(), priority: 100, persona: "vf", selector: and(kindIs("vf"), pfNameIs(pf))}
		copied := *pf
		theirs := &sriovPolicy{name: "sriov-a", filters: []filter{{pf: &copied}}}
		if _, ok := s.policies.sriov["sriov-a"]; ok {
			return both(deletingSriov("sriov-a"), putting(mine)), true
		}
		if _, ok := s.policies.exposures["vf-a"]; ok {
			return both(deleting("vf-a"), puttingSriov(theirs)), true
		}
		return puttingSriov(theirs), true
	case 11, 12:
		pf := pick(d, pfs)
		return settingVFs(pf, randomVFs(d, pf), d.chance(0.15)), true
	case 13:
		return s.randomLinkEdit(d)
	case 14, 15:
		return s.randomUseEdit(d, taken)
	case 16:
		zone := "a"
		if s.zone == "a" {
			zone = "b"
		}
		return labelling(zone), true
	}
	return edit{}, false
}

func (s *state) randomLinkEdit(d dice) (edit, bool) {
	if _, ok := s.host.devices["br1"]; !ok && d.chance(0.5) {
		return addingBridge("br1"), true
	}
	if links := s.host.of("bridge", "vlan"); len(links) > 0 && d.chance(0.6) {
		return removingLink(pick(d, links).id), true
	}
	parent := pick(d, s.host.of("pf", "nic"))
	if _, ok := s.host.devices[parent.ifName+".20"]; ok {
		return edit{}, false
	}
	return addingVLAN(parent.ifName, 20), true
}

func (s *state) randomUseEdit(d dice, taken map[string]bool) (edit, bool) {
	var free []*device
	for _, one := range s.host.sorted() {
		if one.ifName != "" && !one.away && !taken[one.id] {
			free = append(free, one)
		}
	}
	bridges := s.host.of("bridge")
	if len(free) == 0 {
		return edit{}, false
	}
	one := pick(d, free)
	switch {
	case d.chance(0.25):
		return routing(one.ifName, !one.route), true
	case !one.isFunction():
		return edit{}, false
	case one.master != "":
		return enslaving(one.ifName, ""), true
	case len(bridges) > 0:
		return enslaving(one.ifName, pick(d, bridges).ifName), true
	}
	return edit{}, false
}

// ---- claims

func hasText(id, value string) string {
	return `"` + id + `" in device.attributes["` + exposureDriver + `"] && ` + attribute(id) + ` == "` + value + `"`
}

// exactly asks for one entry.
func exactly(e *entry) request {
	id := e.id()
	r := request{class: "exposure", count: 1, matches: func(other *entry) bool { return other.id() == id }}
	switch {
	case e.driver == sriovDriver:
		r.class = "sriov"
		r.selectors = []string{`device.attributes["` + sriovDriver + `"].pciAddress == "` + e.device.id + `"`}
	case e.device.isFunction():
		r.selectors = []string{hasText("pciAddress", e.device.id)}
	default:
		r.selectors = []string{hasText("ifName", e.device.ifName)}
	}
	if e.driver == exposureDriver {
		r.selectors = append(r.selectors, fmt.Sprintf(`%s == %d`, attribute("rev"), e.rev))
		rev := e.rev
		r.matches = func(other *entry) bool { return other.id() == id && other.rev == rev }
	}
	return r
}

func askFor(d dice, e *entry) request {
	r := exactly(e)
	if len(e.capacity) > 0 && d.chance(0.4) {
		c := pick(d, e.capacity)
		r.capacity = map[string]int64{c.key(): 1 + d.Int64N(min(c.value, 6)+1)}
	}
	return r
}

// randomClaim is what a pod might ask for.
func (s *state) randomClaim(d dice, name string, entries map[string]*entry) *claim {
	c := &claim{name: name}
	all := sortedEntries(entries)
	ofKind := func(persona string) func(*entry) bool {
		return func(e *entry) bool { return e.driver == exposureDriver && e.persona == persona }
	}
	switch n := d.IntN(10); {
	case n < 5 && len(all) > 0:
		e := pick(d, all)
		c.requests = []request{askFor(d, e)}
		c.words = "asks for " + e.String()
	case n == 5:
		count := 1 + d.IntN(3)
		c.requests = []request{{class: "any-vf", count: count,
			matches: func(e *entry) bool { return e.driver == exposureDriver && e.device.kind == "vf" }}}
		c.words = fmt.Sprintf("asks for %d VFs", count)
	case n == 6:
		count := 1 + d.IntN(2)
		c.requests = []request{{class: "sriov", count: count, matches: func(e *entry) bool { return e.driver == sriovDriver }}}
		c.words = fmt.Sprintf("asks for %d VFs of SriovResourcePolicies", count)
	case n == 7 && len(all) > 1:
		a, b := pick(d, all), pick(d, all)
		c.requests = []request{exactly(a), exactly(b)}
		c.words = fmt.Sprintf("asks for %s and %s", a, b)
	default:
		persona := pick(d, personas)
		count := 1 + d.IntN(2)
		c.requests = []request{{class: persona, count: count, matches: ofKind(persona)}}
		c.words = fmt.Sprintf("asks for %d of %s", count, persona)
	}
	for _, r := range c.requests {
		if len(r.capacity) > 0 {
			c.words += fmt.Sprintf(" with %v", r.capacity)
		}
	}
	return c
}
