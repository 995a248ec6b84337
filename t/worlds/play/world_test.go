package play

import (
	"fmt"
	"sort"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

const (
	sweepMax  = 60      // entries of a sweep
	afterEdit = 120_000 // ms of rest after which what is free must have come back
)

// tally is what was seen, over all worlds.
type tally struct {
	granted, refused, seen map[string]int
}

func newTally() *tally {
	return &tally{map[string]int{}, map[string]int{}, map[string]int{}}
}

func (t *tally) add(other *tally) {
	for _, pair := range [][2]map[string]int{{t.granted, other.granted}, {t.refused, other.refused}, {t.seen, other.seen}} {
		for key, n := range pair[1] {
			pair[0][key] += n
		}
	}
}

// A violation ends a world.
type violation struct{ kind, what string }

// A world is one node's history, judged while it goes on.
type world struct {
	*state
	seed     uint64
	options  options
	p        *program
	a        *allocator
	able     abilities
	claims   map[string]*resourceapi.ResourceClaim
	grants   []*grant
	texts    map[int]*exposure // by rev
	tally    *tally
	history  []string
	readable bool // claims can be listed
	wiped    bool // the slices were deleted once while there was no daemon
	blind    bool // and claims could not be read since
	settled  bool // nothing is under way
	calm     bool // settled, and long enough after the last edit
	dice     dice
	latency  int                          // ms, of the API server
	view     []*resourceapi.ResourceSlice // of the scheduler, at the last claim
	number   int                          // of the step
}

type options struct {
	edits bool // also those that withdraw what is allocated
	loud  bool
}

func (w *world) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	w.history = append(w.history, line)
	if w.options.loud {
		fmt.Println(line)
	}
}

func (w *world) fail(kind, format string, args ...any) {
	panic(violation{kind, fmt.Sprintf(format, args...)})
}

func (w *world) full() bool { return w.able.full() }

// ---- the daemon and its time

func (w *world) settle() {
	if reply := w.p.do("settle", fields{"ms": 30_000}); !*reply.Rest {
		w.fail("rest", "the daemon does not come to rest")
	}
	w.settled = true
	for _, g := range w.grants {
		g.groups = g.groups[len(g.groups)-1:]
	}
	w.judgeSlices()
}

func (w *world) rest() {
	w.say("two minutes pass")
	w.p.do("run", fields{"ms": afterEdit})
	w.calm = w.readable
	w.settle()
}

func (w *world) tellClaims() {
	var all []*resourceapi.ResourceClaim
	for _, name := range names(w.claims) {
		all = append(all, w.claims[name])
	}
	w.p.do("claims", fields{"claims": all})
}

// ---- what is published

// judgeSlices compares what is published at rest with what the policies say.
func (w *world) judgeSlices() {
	published, should := map[string]bool{}, w.offered()
	for _, slice := range w.p.slices {
		if len(slice.Spec.SharedCounters) > 0 && !w.able.counts() {
			w.fail("abilities", "%s has counters, and the server or its scheduler does not count", slice.Name)
		}
		for i := range slice.Spec.Devices {
			id := slice.Spec.Driver + "/" + slice.Spec.Pool.Name + "/" + slice.Spec.Devices[i].Name
			published[id] = true
			w.judgeEntry(id, &slice.Spec.Devices[i], should[id])
		}
	}
	if !w.full() || !w.calm || w.isUnsure(should) {
		return
	}
	for id := range should {
		if !published[id] && !w.isExcluded(should[id]) {
			w.fail("offered", "%s should be published and is not", id)
		}
	}
}

func (w *world) judgeEntry(id string, published *resourceapi.Device, should *entry) {
	if should == nil {
		w.fail("offered", "%s is published, and no policy offers it", id)
	}
	shared := published.AllowMultipleAllocations != nil && *published.AllowMultipleAllocations
	if shared == should.exclusive {
		w.fail("offered", "%s is published as the opposite of %s", id, should)
	}
	if rev := published.Attributes[exposureDriver+"/rev"].IntValue; rev != nil && int(*rev) != should.rev {
		w.fail("offered", "%s is published as revision %d of a policy says, and that is not %d", id, *rev, should.rev)
	}
}

// isExcluded: what cannot be given away anyhow may be held back.
func (w *world) isExcluded(e *entry) bool {
	for _, g := range w.live() {
		if excludes(g.entry, e) != "" {
			return true
		}
	}
	return false
}

// ---- claims

// alive says whether what was given away is still there to be given away twice.
func (w *world) alive(g *grant) bool {
	d, ok := w.host.devices[g.entry.device.id]
	return ok && d.born == g.born
}

func (w *world) live() []*grant {
	var out []*grant
	for _, g := range w.grants {
		if w.alive(g) {
			out = append(out, g)
		}
	}
	return out
}

// held is what the scheduler sees as held: also what was given away of a function that is gone, where another has its name.
func (w *world) held(entries map[string]*entry) []*grant {
	var out []*grant
	for _, g := range w.grants {
		if w.alive(g) {
			out = append(out, g)
		} else if now := entries[g.entry.id()]; now != nil {
			out = append(out, &grant{claim: g.claim, entry: now, consumed: g.consumed, born: now.device.born})
		}
	}
	return out
}

// isUnsure says that something is held of an entry that is another one today: the scheduler takes the one for the other, and
// the daemon may hold it back. So is what was held of a function that is gone, where another has its address; and what is held
// of an entry whose group is forgotten.
func (w *world) isUnsure(entries map[string]*entry) bool {
	for _, g := range w.grants {
		now := entries[g.entry.id()]
		if w.alive(g) && (now != nil || g.hasAnyGroup) && !g.isStill(now) {
			return true
		}
		if _, back := w.host.devices[g.entry.device.id]; back && !w.alive(g) && (now == nil || now.exclusive != g.entry.exclusive) {
			return true
		}
	}
	return false
}

// grantsOf reads an allocation. What an entry is stands in the policy whose revision it names.
func (w *world) grantsOf(object *resourceapi.ResourceClaim) []*grant {
	var out []*grant
	for _, result := range object.Status.Allocation.Devices.Results {
		e := w.entryOf(result.Driver, result.Pool, result.Device)
		g := &grant{claim: object.Name, entry: e, consumed: map[string]int64{}, born: e.device.born, groups: []string{e.group}}
		if result.ShareID != nil {
			for key, quantity := range result.ConsumedCapacity {
				g.consumed[string(key)] = quantity.Value()
			}
		}
		out = append(out, g)
	}
	return out
}

func (w *world) entryOf(driver, pool, name string) *entry {
	var here *device
	for _, d := range w.host.sorted() {
		if strings.HasPrefix(name, d.base()) && (here == nil || len(d.base()) > len(here.base())) {
			here = d
		}
	}
	if here == nil { // gone while its entry still stood
		here = &device{id: idOf(name), kind: "device that is gone", born: -1}
	}
	if driver == sriovDriver {
		e := sriovEntry(here, &sriovPolicy{})
		e.name, e.pool = name, pool
		return e
	}
	published := w.publishedDevice(driver, pool, name)
	rev := published.Attributes[exposureDriver+"/rev"].IntValue
	if rev == nil || w.texts[int(*rev)] == nil {
		w.fail("entry", "%s/%s/%s names no policy", driver, pool, name)
	}
	e := exposedEntry(here, w.texts[int(*rev)])
	if here.born < 0 {
		e.name, e.pool = name, pool
	}
	if e.name != name || e.pool != pool {
		w.fail("entry", "%s/%s is no entry of %s", pool, name, w.texts[int(*rev)])
	}
	return e
}

// idOf is the address of a function, or the entry's name where it is none.
func idOf(entry string) string {
	const sample = "0000-10-00-0"
	if len(entry) < len(sample) || entry[4] != '-' || entry[7] != '-' || entry[10] != '-' {
		return entry
	}
	return entry[:4] + ":" + entry[5:7] + ":" + entry[8:10] + "." + entry[11:12]
}

func (w *world) publishedDevice(driver, pool, name string) *resourceapi.Device {
	for _, slice := range w.view {
		if slice.Spec.Driver != driver || slice.Spec.Pool.Name != pool {
			continue
		}
		for i := range slice.Spec.Devices {
			if slice.Spec.Devices[i].Name == name {
				return &slice.Spec.Devices[i]
			}
		}
	}
	return nil
}

// try asks the allocator and judges its answer; what it gives is kept only if so wished.
func (w *world) try(c *claim, keep bool) {
	w.tryWith(w.p.slices, c, keep, false)
}

// tryWith is for a scheduler that sees these slices, which may be what was before a wipe.
func (w *world) tryWith(slices []*resourceapi.ResourceSlice, c *claim, keep, isLate bool) {
	w.view = slices
	object, err := w.a.allocate(slices, w.claims, w.able, c)
	if err != nil {
		w.fail("allocator", "%s %s: %v", c.name, c.words, err)
	}
	entries := w.offered()
	model := ask(&w.host, entries, w.held(entries), c)
	var got []*grant
	if object != nil {
		got = w.grantsOf(object)
	}
	if keep {
		w.say("%s %s: %s", c.name, c.words, outcome(got, model))
	}
	w.judgeGrants(c, got, entries)
	sure := w.full() && w.calm && w.settled && !w.isUnsure(entries)
	for _, g := range got {
		sure = sure && !isShared(w.grants, g.entry) // see judgeGrants
		for _, other := range w.grants {
			sure = sure && !w.isBeyondDoubt(g.entry, other)
		}
	}
	if sure && model.possible && object == nil {
		w.fail("refused", "%s %s: refused, and nothing stands in its way", c.name, c.words)
	}
	if sure && !model.possible && object != nil {
		w.fail("granted", "%s %s: granted %s, and %v", c.name, c.words, listed(got), names(model.reasons))
	}
	w.count(got, model)
	if !keep || object == nil {
		return
	}
	w.claims[c.name] = object
	for _, g := range got {
		g.regroup(entries[g.entry.id()])
	}
	w.grants = append(w.grants, got...)
	w.tellClaims()
	for _, g := range got {
		g.isLate = w.wiped && isLate
		g.hasAnyGroup = g.isLate && !g.isStill(entries[g.entry.id()]) // as in forgetGroups
		// One in a bridge would leave it, and what selectors have said of that stands.
		d := g.entry.device
		canGo := d.kind == "vf" && g.entry.exclusive && d.ifName != "" && d.master == "" && !d.away && d.born > 0
		if canGo && w.dice.chance(0.3) {
			w.moveAway(movingAway(d))
		}
	}
}

// moveAway lets a pod have an interface.
func (w *world) moveAway(e edit) {
	if !w.options.edits && len(w.leaving(e)) > 0 {
		return
	}
	w.say("  %s", e.words)
	before := w.offered()
	e.apply(w.state)
	e.send(w.p)
	w.p.do("run", fields{"ms": 100})
	w.settled = false
	if after := w.offered(); strings.Join(names(before), " ") != strings.Join(names(after), " ") {
		w.calm = false
	}
}

func outcome(got []*grant, model outlook) string {
	if got != nil {
		return "granted " + listed(got)
	}
	return "refused " + fmt.Sprint(names(model.reasons))
}

func listed(got []*grant) string {
	var out []string
	for _, g := range got {
		out = append(out, fmt.Sprintf("%s %v", g.entry.id(), g.consumed))
	}
	return strings.Join(out, " and ")
}

// judgeGrants is the invariant: nothing that excludes something else is given away beside it.
func (w *world) judgeGrants(c *claim, got []*grant, entries map[string]*entry) {
	live := w.live()
	for i, g := range got {
		if !w.alive(g) {
			continue
		}
		for _, other := range live {
			if isShared(w.grants, g.entry) {
				break // one more of what is held beside the other already: an edit made them exclude each other
			}
			if why := other.excludes(g.entry); why != "" && !w.isBeyondDoubt(g.entry, other) {
				w.fail("double", "%s is given %s beside %s: %s", c.name, g.entry, other, why)
			}
		}
		for _, other := range got[:i] {
			if why := excludes(other.entry, g.entry); why != "" {
				w.fail("double", "%s is given both %s and %s: %s", c.name, g.entry, other.entry, why)
			}
		}
		if w.settled {
			if now := entries[g.entry.id()]; now != nil {
				if why := usedByHost(&w.host, now); why != "" {
					w.fail("host", "%s is given %s: %s", c.name, g.entry, why)
				}
			}
		}
		w.judgeCapacity(c, g, append(live, got[:i+1]...))
	}
}

// isBeyondDoubt: where slices are lost, and no DeviceExposurePolicy is for the PF any more, the pods are looked at once: that
// does not show what a scheduler gives away later by what it still sees, nor anything where claims cannot be read
// (docs/design/charged.md).
func (w *world) isBeyondDoubt(given *entry, held *grant) bool {
	if !w.wiped || !(w.blind || held.isLate) || given.driver != sriovDriver || held.entry.driver != exposureDriver {
		return false
	}
	for _, e := range w.offered() {
		if w.settled && e.driver == exposureDriver && (e.device.id == given.device.pf || e.device.pf == given.device.pf) {
			return false
		}
	}
	return true
}

func isShared(held []*grant, e *entry) bool {
	for _, g := range held {
		if g.entry.id() == e.id() && !g.entry.exclusive && !e.exclusive {
			return true
		}
	}
	return false
}

func (w *world) judgeCapacity(c *claim, g *grant, all []*grant) {
	for _, one := range g.entry.capacity {
		var sum int64
		for _, other := range all {
			if other.entry.id() == g.entry.id() {
				sum += other.consumed[one.key()]
			}
		}
		if sum > one.value {
			w.fail("capacity", "%s is given %s: %d %s are taken of %d", c.name, g.entry, sum, one.name, one.value)
		}
	}
}

func (w *world) count(got []*grant, model outlook) {
	kind := ""
	if !w.full() {
		kind = " without all abilities"
	}
	if got == nil {
		w.tally.refused["all"+kind]++
		if model.possible {
			return
		}
		if len(model.reasons) == 0 {
			w.tally.refused["not offered"+kind]++
		}
		for why := range model.reasons {
			w.tally.refused[why+kind]++
		}
		return
	}
	w.tally.granted["all"+kind]++
	for _, g := range got {
		w.tally.granted[g.entry.sort()+kind]++
		for _, other := range w.live() {
			if pair := beside(g.entry, other.entry); pair != "" {
				w.tally.granted[pair+kind]++
			}
		}
	}
}

// beside names pairs that have something in common and may stand beside each other.
func beside(a, b *entry) string {
	x, y := a.sort(), b.sort()
	if y < x {
		x, y = y, x
	}
	switch {
	case sameDevice(a.device, b.device) && a.name == b.name:
		return "another share of a " + a.device.kind
	case sameDevice(a.device, b.device),
		a.device.pf == b.device.id, b.device.pf == a.device.id:
		return x + " beside " + y
	}
	return ""
}

func (w *world) release(name string) {
	entries := w.offered()
	delete(w.claims, name)
	var rest []*grant
	for _, g := range w.grants {
		if g.claim != name {
			rest = append(rest, g)
			continue
		}
		if _, here := w.host.devices[g.entry.device.id]; here && !g.isStill(entries[g.entry.id()]) {
			w.calm = false // the daemon has to find out that it is free
		}
		if d := g.entry.device; w.alive(g) && d.away {
			w.p.host("back", d.id, nil)
			d.away = false
			w.settled = false
		}
	}
	w.grants = rest
	w.say("%s is released", name)
	w.tellClaims()
}

// ---- edits

// carryOut does an edit. Unless such edits are wanted, what it would withdraw is released before.
func (w *world) carryOut(e edit) {
	if !w.options.edits {
		w.releaseWhatLeaves(e)
	}
	w.say("%s", e.words)
	e.apply(w.state)
	for _, one := range w.policies.exposures {
		w.texts[one.rev] = one
	}
	e.send(w.p)
	w.settled, w.calm = false, false
	entries := w.offered()
	for _, g := range w.grants {
		g.regroup(entries[g.entry.id()])
	}
}

// leaving are claims of entries that an edit takes away, or makes others, while their functions stay.
func (w *world) leaving(e edit) map[string]bool {
	after := w.state.clone()
	e.apply(after)
	entries := after.offered()
	leaving := map[string]bool{}
	for _, g := range w.live() {
		if d, ok := after.host.devices[g.entry.device.id]; !ok || d.born != g.born {
			continue // its function leaves
		}
		if !g.isStill(entries[g.entry.id()]) {
			leaving[g.claim] = true
		}
	}
	return leaving
}

func (w *world) releaseWhatLeaves(e edit) {
	leaving := w.leaving(e)
	for _, name := range names(leaving) {
		w.release(name)
	}
	if len(leaving) > 0 {
		w.settle()
	}
}

// taken are functions that pods have for themselves.
func (w *world) taken() map[string]bool {
	out := map[string]bool{}
	for _, g := range w.live() {
		if g.entry.exclusive {
			out[g.entry.device.id] = true
		}
	}
	return out
}

// ---- steps

type step struct {
	kind string
	luck uint64
}

var kinds = []struct {
	name   string
	weight int
	run    func(*world)
}{
	{"claim", 46, (*world).stepClaim},
	{"release", 13, (*world).stepRelease},
	{"edit", 16, (*world).stepEdit},
	{"rest", 6, (*world).stepRest},
	{"sweep", 5, (*world).sweep},
	{"kill", 4, (*world).stepKill},
	{"reboot", 1, (*world).stepReboot},
	{"claims unreadable", 1, (*world).stepDeny},
	{"another version", 1, (*world).stepVersion},
	{"two edits", 3, (*world).stepTwoEdits},
}

func randomSteps(seed uint64) []step {
	d := newDice(seed, 1)
	sum := 0
	for _, kind := range kinds {
		sum += kind.weight
	}
	var out []step
	for i := 0; i < 8+d.IntN(14); i++ {
		n := d.IntN(sum)
		for _, kind := range kinds {
			if n -= kind.weight; n < 0 {
				out = append(out, step{kind.name, d.Uint64()})
				break
			}
		}
	}
	return out
}

func (w *world) stepClaim() {
	c := w.randomClaim(w.dice, fmt.Sprintf("claim-%d", w.number), w.offered())
	if !w.able.shared { // refused by the API server
		for i := range c.requests {
			c.requests[i].capacity = nil
		}
	}
	w.try(c, true)
}

func (w *world) stepRelease() {
	if len(w.claims) > 0 {
		w.release(pick(w.dice, names(w.claims)))
	}
}

func (w *world) stepEdit() {
	e, ok := w.randomEdit(w.dice, w.taken())
	if !ok {
		return
	}
	w.tally.seen["edit"]++
	before, slices := w.offered(), w.p.slices
	w.carryOut(e)
	switch n := w.dice.IntN(10); {
	case n < 2:
		w.probeMeanwhile(before)
	case w.options.edits && n == 2 && len(before) > 0:
		w.claimLate(slices, before)
	case w.options.edits && n == 3:
		ms := w.dice.IntN(pick(w.dice, []int{80, 80, 40_000}))
		w.say("  %d ms pass", ms)
		w.p.do("run", fields{"ms": ms})
	case n < 5:
		w.settle()
	default:
		w.rest()
	}
}

// probeMeanwhile asks for what was and what will be offered while the daemon is at work, and keeps nothing.
func (w *world) probeMeanwhile(before map[string]*entry) {
	w.tally.seen["probes during an edit"]++
	all := append(sortedEntries(before), sortedEntries(w.offered())...)
	for round := 0; round < 6 && len(all) > 0; round++ {
		ms := w.dice.IntN(2 * w.latency)
		w.say("  %d ms pass", ms)
		w.p.do("run", fields{"ms": ms})
		for i := 0; i < 6; i++ {
			e := pick(w.dice, all)
			w.try(&claim{name: fmt.Sprintf("probe-%d-%d-%d", w.number, round, i), requests: []request{exactly(e)},
				words: "asks for " + e.String()}, false)
		}
	}
}

// claimLate is of a scheduler that has not heard of an edit for a while, and decides by what was.
func (w *world) claimLate(slices []*resourceapi.ResourceSlice, before map[string]*entry) {
	w.tally.seen["late claim"]++
	ms := w.dice.IntN(8000)
	w.say("  %d ms pass, and the scheduler still sees what was before", ms)
	w.p.do("run", fields{"ms": ms})
	after, leaving := w.offered(), map[string]*entry{}
	for id, e := range before {
		if now := after[id]; now == nil || now.rev != e.rev {
			leaving[id] = e
		}
	}
	if len(leaving) == 0 {
		leaving = before
	}
	e := pick(w.dice, sortedEntries(leaving))
	if now := w.host.devices[e.device.id]; now == nil || now.born != e.device.born {
		w.say("  and what %s was is gone", e.device.id)
		return // README.md, What is not judged
	}
	w.tryWith(slices, &claim{name: fmt.Sprintf("claim-%d", w.number), requests: []request{exactly(e)},
		words: "asks for " + e.String()}, true, true)
}

// stepTwoEdits: what is withdrawn last may be allocated after the claims have been listed because of the first.
func (w *world) stepTwoEdits() {
	if !w.options.edits {
		return
	}
	if first, ok := w.randomEdit(w.dice, w.taken()); ok {
		w.carryOut(first)
	}
	ms := w.dice.IntN(40_000)
	w.say("  %d ms pass", ms)
	w.p.do("run", fields{"ms": ms})
	before, slices := w.offered(), w.p.slices
	if second, ok := w.randomEdit(w.dice, w.taken()); ok && len(before) > 0 {
		w.carryOut(second)
		w.claimLate(slices, before)
	}
}

func (w *world) stepRest() { w.rest() }

// sweep asks for everything that is offered, one by one, and keeps nothing.
func (w *world) sweep() {
	if !w.settled {
		w.settle()
	}
	w.tally.seen["sweep"]++
	entries := sortedEntries(w.offered())
	if len(entries) > sweepMax { // a world of many VFs
		w.dice.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		entries = entries[:sweepMax]
	}
	for i, e := range entries {
		w.try(&claim{name: fmt.Sprintf("probe-%d-%d", w.number, i), requests: []request{exactly(e)}, words: "asks for " + e.String()}, false)
	}
}

// stepKill: with edits, mostly between the writes of one and before another, mostly a removal, which the next daemon finds
// made.
func (w *world) stepKill() {
	w.tally.seen["kill"]++
	isBetween := w.options.edits && w.dice.chance(0.7)
	if isBetween {
		if first, ok := w.randomEdit(w.dice, w.taken()); ok {
			w.carryOut(first)
		}
		w.p.do("run", fields{"ms": w.dice.IntN(8 * w.latency)})
	}
	w.say("the daemon is killed and starts again")
	before, slices := w.offered(), w.p.slices
	w.p.do("stop", nil)
	isWiped := w.dice.chance(0.35)
	if isWiped {
		w.wipe()
	}
	if isBetween {
		w.tally.seen["edit around a kill"]++
		second, ok := w.randomEdit(w.dice, w.taken())
		if exposures := names(w.policies.exposures); len(exposures) > 0 && (!ok || w.dice.chance(0.6)) {
			second, ok = deleting(pick(w.dice, exposures)), true
		}
		if ok {
			w.carryOut(second)
		}
		if isWiped {
			w.forgetGroups()
		}
	}
	w.p.do("run", fields{"ms": w.dice.IntN(3000)})
	w.p.do("start", nil)
	w.settled = false
	if isWiped && w.options.edits && len(before) > 0 && w.dice.chance(0.5) {
		w.claimLate(slices, before)
		return
	}
	w.settle()
}

// wipe is what a kubelet does at its start. The daemon, which is not running, does not know then what it offered.
func (w *world) wipe() {
	w.tally.seen["wipe"]++
	w.wiped = true
	w.blind = w.blind || !w.readable
	w.say("the kubelet deletes all slices of the node")
	w.p.do("wipe", nil)
	w.forgetGroups()
	w.calm = false
}

// forgetGroups is of a daemon that starts without slices: nothing tells the group of what was given away and is offered by no
// policy any more, so it counts as one of each.
func (w *world) forgetGroups() {
	entries := w.offered()
	for _, g := range w.live() {
		g.hasAnyGroup = g.hasAnyGroup || !g.isStill(entries[g.entry.id()])
	}
}

func (w *world) stepDeny() {
	if !w.options.edits {
		return
	}
	w.readable = !w.readable
	w.say("claims can be listed: %v", w.readable)
	if w.readable {
		w.p.do("allow", fields{"plural": "resourceclaims"})
		return
	}
	w.p.do("deny", fields{"plural": "resourceclaims"})
	w.calm = false
	w.blind = w.blind || w.wiped
}

// stepVersion: the scheduler is another one, which counts or does not.
func (w *world) stepVersion() {
	if !w.options.edits || !w.able.counters {
		return
	}
	if w.able.version == release {
		w.able.version = oldVersion
	} else {
		w.able.version = release
	}
	w.say("the server's version is %s", w.able.version)
	w.p.do("version", fields{"version": w.able.version})
	w.settled, w.calm = false, false
	// Every watch has ended, and is followed again within a minute: sooner nobody can know of the version.
	w.p.do("run", fields{"ms": 60_000})
	w.settle()
}

func (w *world) stepReboot() {
	w.tally.seen["reboot"]++
	if w.dice.chance(0.5) {
		for _, name := range names(w.claims) {
			w.release(name)
		}
	}
	w.say("the machine boots again")
	before := w.state.clone()
	w.p.do("reboot", nil)
	isWiped := w.dice.chance(0.7)
	if isWiped {
		w.wipe()
	}
	w.host.devices = map[string]*device{}
	for _, d := range before.host.sorted() {
		var e edit
		switch d.kind {
		case "pf", "nic":
			e = plugging(d.slot, d.ifName, d.vendor, d.numa, d.totalVF)
		case "bridge":
			e = addingBridge(d.id)
		default:
			continue
		}
		e.apply(w.state)
		e.send(w.p)
	}
	for _, pf := range before.host.of("pf") {
		if vfs := before.host.vfs(pf); len(vfs) > 0 {
			e := settingVFs(pf, len(vfs), vfs[0].ifName == "")
			e.apply(w.state)
			e.send(w.p)
		}
	}
	w.surviveBoot(before)
	if isWiped {
		w.forgetGroups()
	}
	w.p.do("start", nil)
	w.settled, w.calm = false, false
	w.settle()
}

// surviveBoot: claims do, and the pods that have them start again, with the functions that are there again.
func (w *world) surviveBoot(before *state) {
	for id, d := range w.host.devices {
		if then, ok := before.host.devices[id]; ok {
			d.born = then.born
		}
	}
	for _, g := range w.grants {
		g.entry.device.away = false
	}
}

// run plays the world to its end or to the first violation.
func (w *world) run(steps []step) (found *violation) {
	defer func() {
		if thrown := recover(); thrown != nil {
			what, ok := thrown.(violation)
			if !ok {
				panic(thrown)
			}
			found = &what
		}
	}()
	d := newDice(w.seed, 0)
	w.able = randomAbilities(d)
	w.say("server: counters %v, shared %v, version %s", w.able.counters, w.able.shared, w.able.version)
	w.p.slices = nil
	w.latency = pick(d, []int{2, 5, 25})
	w.p.do("world", fields{"seed": int64(w.seed), "latency": w.latency, "counters": w.able.counters, "shared": w.able.shared, "version": w.able.version,
		"loud": w.options.loud})
	for _, e := range randomWorld(d, w.state) {
		w.say("%s", e.words)
		e.send(w.p)
	}
	for _, one := range w.policies.exposures {
		w.texts[one.rev] = one
	}
	w.p.do("start", nil)
	w.rest() // nothing is known of what was allocated before
	for i, s := range steps {
		w.number, w.dice = i, newDice(w.seed, s.luck)
		for _, kind := range kinds {
			if kind.name == s.kind {
				kind.run(w)
			}
		}
	}
	w.end()
	return nil
}

// end: what is held is swept around, and when all is released everything is there again.
func (w *world) end() {
	w.number, w.dice = 900, newDice(w.seed, 2)
	if !w.readable {
		w.stepDeny()
	}
	w.rest()
	w.sweep()
	for _, name := range names(w.claims) {
		w.release(name)
	}
	w.rest()
	w.number = 901
	w.sweep()
}

func newWorld(p *program, a *allocator, seed uint64, o options) *world {
	return &world{state: newState(), seed: seed, options: o, p: p, a: a, claims: map[string]*resourceapi.ResourceClaim{},
		texts: map[int]*exposure{}, tally: newTally(), readable: true}
}

func (w *world) words() string { return strings.Join(w.history, "\n  ") }

func sortedKeys(counts map[string]int) []string {
	out := names(counts)
	sort.SliceStable(out, func(i, j int) bool { return counts[out[i]] > counts[out[j]] })
	return out
}
