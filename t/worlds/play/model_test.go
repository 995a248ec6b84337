package play

import (
	"fmt"
	"sort"
	"strings"
)

// An entry is a device in one of the ways in which it is offered, as a policy's author reads the policy.
type entry struct {
	driver, pool, name string
	device             *device
	exclusive          bool
	group              string
	capacity           []capacity // of a shared one
	allowHostUse       bool
	persona            string
	policy             string
	rev                int
}

func (e *entry) id() string { return e.driver + "/" + e.pool + "/" + e.name }

// sort is what the entry is, for those who count patterns.
func (e *entry) sort() string {
	if e.driver == sriovDriver {
		return "VF of a SriovResourcePolicy"
	}
	if e.exclusive {
		return "exclusive " + e.device.kind
	}
	return "shared " + e.device.kind
}

func (e *entry) String() string {
	words := e.sort() + " " + e.driver + "/" + e.name
	if e.group != "" {
		words += " of group " + e.group
	}
	return words
}

func poolOf(d *device) string {
	dashed := strings.NewReplacer(":", "-", ".", "-")
	switch d.kind {
	case "pf":
		return nodeName + "/" + dashed.Replace(d.id)
	case "vf":
		return nodeName + "/" + dashed.Replace(d.pf)
	}
	return nodeName + "/net"
}

func exposedEntry(d *device, e *exposure) *entry {
	out := &entry{driver: exposureDriver, pool: poolOf(d), name: d.base() + e.suffix, device: d, exclusive: !e.shared,
		group: e.group, allowHostUse: e.allowHostUse, persona: e.persona, policy: e.name, rev: e.rev}
	if e.shared {
		out.capacity = e.capacity
		if len(out.capacity) == 0 {
			out.capacity = []capacity{implied}
		}
	}
	return out
}

func sriovEntry(d *device, s *sriovPolicy) *entry {
	return &entry{driver: sriovDriver, pool: nodeName, name: d.base(), device: d, exclusive: true,
		allowHostUse: s.allowHostUse, policy: s.name}
}

// offered is what the policies offer of the host on a server that is able to do everything.
func offered(h *host, p *policies, zone string) map[string]*entry {
	out := map[string]*entry{}
	here := func(wanted string) bool { return wanted == "" || wanted == zone }
	excluded := map[string]bool{}
	for _, e := range p.exposuresInOrder() {
		for _, d := range h.sorted() {
			if e.exclude && !e.broken && here(e.zone) && e.selector.holds(d) {
				excluded[d.id] = true
			}
		}
	}
	ofSriov := map[string]bool{} // VFs, and PFs with one of them
	for _, d := range h.of("vf") {
		if excluded[d.id] {
			continue
		}
		for _, s := range p.sriovInOrder() {
			if !here(s.zone) || !s.holds(d) {
				continue
			}
			if !h.isUsed(d) || s.allowHostUse {
				one := sriovEntry(d, s)
				out[one.id()] = one
				ofSriov[d.id], ofSriov[d.pf] = true, true
			}
			break
		}
	}
	for _, d := range h.sorted() {
		if excluded[d.id] || d.kind == "vf" && ofSriov[d.id] {
			continue
		}
		suffixes := map[string]bool{}
		for _, e := range p.exposuresInOrder() {
			if e.exclude || e.broken || !here(e.zone) || !e.selector.holds(d) || suffixes[e.suffix] {
				continue
			}
			suffixes[e.suffix] = true
			if !e.shared && (h.isUsed(d) && !e.allowHostUse || d.kind == "pf" && ofSriov[d.id]) {
				continue
			}
			one := exposedEntry(d, e)
			out[one.id()] = one
		}
	}
	return out
}

func sortedEntries(all map[string]*entry) []*entry {
	out := make([]*entry, 0, len(all))
	for _, one := range all {
		out = append(out, one)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id() < out[j].id() })
	return out
}

func sameDevice(a, b *device) bool { return a.id == b.id && a.born == b.born }

// excludes says why two entries must not be allocated at the same time; "" when they may.
func excludes(a, b *entry) string {
	if sameDevice(a.device, b.device) {
		switch {
		case a.driver != b.driver:
			return "one function, two drivers"
		case (a.exclusive || b.exclusive) && a.name == b.name:
			return "the same exclusive " + a.device.kind
		case a.exclusive || b.exclusive:
			return "exclusive beside another persona of a " + a.device.kind
		case a.name != b.name && a.group != "" && a.group == b.group:
			return "one group of a " + a.device.kind
		}
		return ""
	}
	for _, pair := range [][2]*entry{{a, b}, {b, a}} {
		pf, vf := pair[0], pair[1]
		if pf.device.kind != "pf" || !pf.exclusive || vf.device.kind != "vf" || vf.device.pf != pf.device.id {
			continue
		}
		switch {
		case vf.driver != pf.driver:
			return "exclusive PF beside its VF of the other driver"
		case !vf.exclusive:
			return "exclusive PF beside its shared VF"
		}
		return "exclusive PF beside its VF"
	}
	return ""
}

// usedByHost says why the host's own use forbids to give the entry away.
func usedByHost(h *host, e *entry) string {
	if !e.exclusive {
		return ""
	}
	if h.isUsed(e.device) && !e.allowHostUse {
		return "the host uses the " + e.device.kind
	}
	if e.device.kind == "pf" {
		for _, vf := range h.vfs(e.device) {
			if h.isUsed(vf) {
				return "exclusive PF whose VF the host uses"
			}
		}
	}
	return ""
}

// A grant is one device that a claim has been given.
type grant struct {
	claim    string
	entry    *entry // as its policy was then
	consumed map[string]int64
	born     int // of the device
	// Groups that its policies have given it since the daemon was last seen at rest, the newest last.
	groups []string
	// Its slices are gone and its entry is offered no more, so the daemon cannot know of which group it was.
	hasAnyGroup bool
	isLate      bool // given away after the slices were deleted, by what was before
}

func (g *grant) String() string { return fmt.Sprintf("%s, held by %s", g.entry, g.claim) }

// isStill says whether the entry is offered as what was given away.
func (g *grant) isStill(now *entry) bool {
	return now != nil && now.exclusive == g.entry.exclusive && now.group == g.entry.group
}

// A request of a claim, as text for the allocator and as meaning.
type request struct {
	class     string
	selectors []string
	matches   func(*entry) bool
	count     int
	capacity  map[string]int64 // by key
}

type claim struct {
	name     string
	requests []request
	words    string
}

// An outlook is what the model says of a claim.
type outlook struct {
	possible bool
	reasons  map[string]bool // what stands in the way of candidates
}

// ask searches a set of entries that satisfies the claim beside what is held. One request never gets two shares of an entry.
func ask(h *host, entries map[string]*entry, held []*grant, c *claim) outlook {
	out := outlook{reasons: map[string]bool{}}
	type slot struct {
		request
		first bool
	}
	var slots []slot
	for _, r := range c.requests {
		for i := 0; i < r.count; i++ {
			slots = append(slots, slot{r, i == 0})
		}
	}
	all := sortedEntries(entries)
	used := map[string]map[string]int64{}
	for _, g := range held {
		add(used, g.entry.id(), g.consumed)
	}
	var chosen []*entry
	var place func(number, from int) bool
	place = func(number, from int) bool {
		if number == len(slots) {
			return true
		}
		if slots[number].first {
			from = 0
		}
		for i, e := range all[from:] {
			if !slots[number].matches(e) {
				continue
			}
			takes, why := fits(h, e, held, chosen, used, slots[number].request)
			if why != "" {
				out.reasons[why] = true
				continue
			}
			chosen = append(chosen, e)
			add(used, e.id(), takes)
			if place(number+1, from+i+1) {
				return true
			}
			chosen = chosen[:len(chosen)-1]
			for key, n := range takes {
				used[e.id()][key] -= n
			}
		}
		return false
	}
	out.possible = place(0, 0)
	return out
}

func add(used map[string]map[string]int64, id string, takes map[string]int64) {
	if used[id] == nil {
		used[id] = map[string]int64{}
	}
	for key, n := range takes {
		used[id][key] += n
	}
}

func fits(h *host, e *entry, held []*grant, chosen []*entry, used map[string]map[string]int64, r request) (map[string]int64, string) {
	if why := usedByHost(h, e); why != "" {
		return nil, why
	}
	for _, g := range held {
		if why := g.excludes(e); why != "" {
			return nil, why
		}
	}
	for _, other := range chosen {
		if why := excludes(e, other); why != "" {
			return nil, why
		}
	}
	takes := map[string]int64{}
	for key := range r.capacity {
		known := false
		for _, c := range e.capacity {
			known = known || c.key() == key
		}
		if !known {
			return nil, "a capacity that it does not have"
		}
	}
	for _, c := range e.capacity {
		n, ok := c.taken(r.capacity[c.key()])
		if !ok {
			return nil, "a request beyond its policy"
		}
		if used[e.id()][c.key()]+n > c.value {
			return nil, "all of the capacity of a " + e.device.kind
		}
		takes[c.key()] = n
	}
	return takes, ""
}

// excludes says why what is held and an entry exclude each other. What was given away exclusively stays so, and what was
// shared, too. The group is the one of today; while the daemon is at work on a change of it, either will do.
func (g *grant) excludes(e *entry) string {
	held, why := *g.entry, excludes(g.entry, e)
	for i, group := range g.groups {
		held.group = group
		if also := excludes(&held, e); i == 0 || also == "" {
			why = also
		}
	}
	return why
}

// regroup notes what is offered of the entry now.
func (g *grant) regroup(now *entry) {
	if now != nil && now.exclusive == g.entry.exclusive {
		g.groups = append(g.groups, now.group)
	}
}
