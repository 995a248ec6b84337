package cluster

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"sliced.test/cluster/harness"
)

// What was withdrawn and is free comes back within this time.
const returning = harness.Patience

// What these hosts have, and how their policies offer it.
var (
	twoVFs   = vfs(card(2), 0, 2)
	wholePF  = own(isPF, "", "host-device")
	eachVF   = own(isVF, "", "sriov")
	firstVF  = own(isVF+" && "+attributes+".vfIndex == 0", "", "sriov")
	rxShared = func(suffix, plugin string) M { return shares(isPF, suffix, plugin, "rx-handler", "4", nil) }
)

// Of every way to claim one of them, under whichever name it is offered.
func editAsks() map[string]ask {
	return map[string]ask{
		"pf":      one(plugin("host_device"), thePF, thePF+"-whole"),
		"vf":      one(plugin("sriov"), twoVFs...),
		"second":  one(plugin("sriov")+" && "+attributes+".vfIndex == 1", twoVFs[1]),
		"macvlan": share(plugin("macvlan"), "", "1", theMacvlan),
		"ipvlan":  share(plugin("ipvlan"), "", "1", theIpvlan),
		"sriov":   {spec: claim(harness.Class, "", 1, nil), devices: twoVFs},
	}
}

// fitsCard is what a card with so many VFs can give at the same time, whatever is offered of it.
func fitsCard(vfs int) oracle {
	return func(n map[string]int) bool {
		functions := n["vf"] + n["second"] + n["sriov"]
		return n["pf"] <= 1 && functions <= vfs && n["second"] <= 1 && n["macvlan"]*n["ipvlan"] == 0 &&
			n["pf"]*(functions+n["macvlan"]+n["ipvlan"]) == 0
	}
}

// exclusive is the rule that every state of a node's allocations is held against. It knows of names and shares only, and
// nothing of policies, slices or counters: one function is given once, or to several in one way that is shared; a PF as a
// whole goes with nothing else.
func exclusive(given []resource.DeviceRequestAllocationResult) error {
	for i, a := range given {
		for _, b := range given[i+1:] {
			functionA, personaA := a.Device[:len(thePF)], a.Device[len(thePF):]
			functionB, personaB := b.Device[:len(thePF)], b.Device[len(thePF):]
			areShared := a.ShareID != nil && b.ShareID != nil
			isWhole := functionA == thePF && a.ShareID == nil || functionB == thePF && b.ShareID == nil
			if isWhole || functionA == functionB && !(areShared && personaA == personaB) {
				return fmt.Errorf("%s of %s beside %s of %s", a.Device, a.Driver, b.Device, b.Driver)
			}
		}
	}
	return nil
}

// Turns red when the rule lets pass what excludes each other, or forbids what goes together.
func TestExclusiveIsEnforced(t *testing.T) {
	t.Parallel()
	shared := func(device string) resource.DeviceRequestAllocationResult {
		return resource.DeviceRequestAllocationResult{Driver: harness.ExposureDriver, Device: device, ShareID: ptr.To(types.UID("1"))}
	}
	sole := func(device string) resource.DeviceRequestAllocationResult {
		return resource.DeviceRequestAllocationResult{Driver: harness.ExposureDriver, Device: device}
	}
	for _, c := range []struct {
		given []resource.DeviceRequestAllocationResult
		ok    bool
	}{
		{nil, true},
		{[]resource.DeviceRequestAllocationResult{sole(twoVFs[0]), sole(twoVFs[1]), shared(theMacvlan), shared(theMacvlan)}, true},
		{[]resource.DeviceRequestAllocationResult{sole(twoVFs[0]), sole(twoVFs[0])}, false},
		{[]resource.DeviceRequestAllocationResult{sole(twoVFs[0]), sole(twoVFs[0] + "-x")}, false},
		{[]resource.DeviceRequestAllocationResult{sole(twoVFs[0]), sole(thePF)}, false},
		{[]resource.DeviceRequestAllocationResult{shared(theMacvlan), sole(thePF + "-whole")}, false},
		{[]resource.DeviceRequestAllocationResult{shared(theMacvlan), shared(theIpvlan)}, false},
		{[]resource.DeviceRequestAllocationResult{sole(thePF), sole(thePF + "-whole")}, false},
	} {
		if err := exclusive(c.given); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.given, err)
		}
	}
}

// editor is one node whose policies are edited while pods have its devices.
type editor struct {
	*desk
	daemon *harness.Daemon
}

type (
	step   func(e *editor)
	change func(lab *harness.Lab)
	// offers are the entries of DeviceExposurePolicies, and those of SriovResourcePolicies (nil: whichever they are).
	offers struct{ exposed, sriov []string }
)

func put(name string, spec M) change { return func(lab *harness.Lab) { lab.Expose(name, spec) } }

func drop(name string) change {
	return func(lab *harness.Lab) { lab.Server.Delete(lab.T, harness.Exposures, "", name+"-"+lab.Node) }
}

func putSriov(lab *harness.Lab) { lab.Apply("sriov", harness.Config("", harness.PFNames("ens1f0"))) }

func dropSriov(lab *harness.Lab) {
	lab.Server.Delete(lab.T, harness.Policies, lab.Namespace, "sriov")
}

// comes lets pods of these kinds come. Each gets a device, within the time in which what is free comes back, or is
// refused: what excludes what tells which.
func comes(kinds ...string) step {
	return func(e *editor) {
		e.T.Helper()
		for _, kind := range kinds {
			e.arrive(kind)
		}
	}
}

func (e *editor) oldest(kind string) string {
	e.T.Helper()
	held := e.check()
	var pods []string
	for pod, its := range held {
		if its == kind {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		e.T.Fatalf("no %s has anything, after %s", kind, strings.Join(e.did, ", "))
	}
	slices.SortFunc(pods, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
	return pods[0]
}

// goes takes a pod of a kind away, and what it had is given to whoever waits for it.
func goes(kind string) step {
	return func(e *editor) {
		e.T.Helper()
		e.leave(e.oldest(kind))
		e.did = append(e.did, fmt.Sprintf("%v have theirs", count(e.check())))
	}
}

// edit changes policies and waits until this is offered, and the scheduler knows.
func edit(now offers, changes ...change) step {
	return func(e *editor) {
		e.T.Helper()
		for _, change := range changes {
			change(e.Lab)
		}
		e.see(now)
	}
}

// killed changes policies while there is no daemon, killedAfter just before it is killed; then another one is started.
func killed(now offers, changes ...change) step {
	return func(e *editor) {
		e.T.Helper()
		e.daemon.Kill()
		for _, change := range changes {
			change(e.Lab)
		}
		e.daemon = e.Run()
		e.see(now)
	}
}

func killedAfter(now offers, changes ...change) step {
	return func(e *editor) {
		e.T.Helper()
		for _, change := range changes {
			change(e.Lab)
		}
		e.daemon.Kill()
		e.daemon = e.Run()
		e.see(now)
	}
}

// see waits until this is offered. Where nobody counts, what excludes another that is offered or may be allocated is not:
// then what is offered is of it, and no two of it exclude each other.
func (e *editor) see(now offers) {
	e.T.Helper()
	shared := sharedOf(e.asks)
	left := e.able.left(now.exposed, nil, shared)
	e.some, e.closed = e.some || len(left) > 0 || len(now.sriov) > 0, map[string]bool{}
	for kind, a := range e.asks {
		isLeft := func(entry string) bool { return slices.Contains(left, entry) }
		isOurs := a.spec.Devices.Requests[0].Exactly.DeviceClassName == harness.ExposureClass
		e.closed[kind] = !e.able.counters && len(now.exposed) > 0 && isOurs && !slices.ContainsFunc(a.devices, isLeft)
	}
	isExact := e.able.counters || len(e.holders()) == 0
	isSeen := func(exposed harness.PoolState) bool {
		if isExact {
			return exposed.Offers(left...)
		}
		names := exposed.Names()
		isOther := func(name string) bool { return !slices.Contains(left, name) }
		return exposed.Complete() && !slices.ContainsFunc(names, isOther) && len(e.able.left(names, nil, shared)) == len(names)
	}
	for deadline := harness.Limit(); ; time.Sleep(20 * time.Millisecond) {
		exposed, sriov := e.Exposed.Now(), e.History.Now()
		if isSeen(exposed) && (now.sriov == nil || sriov.Offers(now.sriov...)) {
			break
		}
		if time.Now().After(deadline) {
			e.T.Fatalf("wanted %+v after %s, but there is\n  %s\n  %s", now, strings.Join(e.did, ", "), exposed, sriov)
		}
	}
	e.WaitSchedulerSees(scheduling)
	e.did = append(e.did, fmt.Sprintf("offered are %v %v", now.exposed, now.sriov))
}

// listed waits until the daemon has listed the claims, all of them and not only how many there are: what was withdrawn
// before is held because its claim stands, and no longer because nobody knows.
func listed(e *editor) {
	e.T.Helper()
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		lists := e.Server.Audit.Requests(e.T, func(r harness.Request) bool {
			uri, err := url.Parse(r.URI)
			return err == nil && r.User.Username == e.User.Name && r.Ref.Resource == "resourceclaims" && r.Verb == "list" &&
				r.Answer.Code == 200 && uri.Query().Get("limit") != "1"
		})
		if len(lists) > 0 {
			break
		}
		if time.Now().After(deadline) {
			e.T.Fatal("the claims have not been listed")
		}
	}
	e.check()
	e.did = append(e.did, "the claims were listed")
}

type editRow struct {
	redWhen  string
	vfs      int
	policies map[string]M
	sriov    bool // VFs are offered by a SriovResourcePolicy at first
	first    offers
	steps    []step
}

var editRows = map[string]editRow{
	"a PF, then its VFs": {
		redWhen:  "what a withdrawn PF took is free while its claim stands, or never",
		vfs:      2,
		policies: map[string]M{"pf": wholePF},
		first:    offers{exposed: []string{thePF}},
		steps: []step{comes("pf"), edit(offers{exposed: twoVFs}, drop("pf"), put("vfs", eachVF)), comes("vf", "vf"), goes("pf"),
			comes("vf")},
	},
	"VFs, then the PF": {
		redWhen:  "a PF is given away beneath a withdrawn VF",
		vfs:      2,
		policies: map[string]M{"vfs": eachVF},
		first:    offers{exposed: twoVFs},
		steps:    []step{comes("vf"), edit(offers{exposed: []string{thePF}}, drop("vfs"), put("pf", wholePF)), comes("pf"), goes("vf")},
	},
	"another suffix": {
		redWhen:  "a function is given once more under another name",
		vfs:      2,
		policies: map[string]M{"pf": wholePF},
		first:    offers{exposed: []string{thePF}},
		steps: []step{comes("pf"), edit(offers{exposed: []string{thePF + "-whole"}}, put("pf", own(isPF, "-whole", "host-device"))),
			comes("pf"), goes("pf")},
	},
	"another persona of a group": {
		redWhen:  "a withdrawn persona leaves its group",
		policies: map[string]M{"rx": rxShared("-macvlan", "macvlan")},
		first:    offers{exposed: []string{theMacvlan}},
		steps: []step{comes("macvlan"), edit(offers{exposed: []string{theIpvlan}}, put("rx", rxShared("-ipvlan", "ipvlan"))),
			comes("ipvlan", "ipvlan"), goes("macvlan")},
	},
	"a filter narrowed, widened, narrowed": {
		redWhen: "a VF is charged no more once it was offered in between, or charged although it is offered again",
		vfs:     2, policies: map[string]M{"pf": wholePF, "vfs": eachVF},
		first: offers{exposed: join(twoVFs, []string{thePF})},
		steps: []step{comes("second"), edit(offers{exposed: []string{twoVFs[0], thePF}}, put("vfs", firstVF)), comes("vf", "pf"),
			edit(offers{exposed: join(twoVFs, []string{thePF})}, put("vfs", eachVF)), comes("second"),
			edit(offers{exposed: []string{twoVFs[0], thePF}}, put("vfs", firstVF)), goes("vf"), goes("second")},
	},
	"widened again": {
		redWhen: "what is offered again is not free as soon as its claim is gone",
		vfs:     2, policies: map[string]M{"pf": wholePF, "vfs": eachVF},
		first: offers{exposed: join(twoVFs, []string{thePF})},
		steps: []step{comes("second"), edit(offers{exposed: []string{twoVFs[0], thePF}}, put("vfs", firstVF)), comes("pf"),
			edit(offers{exposed: join(twoVFs, []string{thePF})}, put("vfs", eachVF)), comes("second"),
			func(e *editor) { e.within = scheduling }, goes("second")},
	},
	"to the other driver and back": {
		redWhen: "a VF is offered by the one driver while the other's claim stands, or by neither when it is free",
		vfs:     1, policies: map[string]M{"vfs": eachVF},
		first: offers{twoVFs[:1], []string{}},
		steps: []step{comes("vf"), edit(offers{nil, []string{}}, putSriov), comes("sriov"), goes("vf"),
			edit(offers{nil, []string{}}, dropSriov), comes("vf"), goes("sriov")},
	},
	"one of two to the other driver": {
		redWhen: "a VF that nobody has waits for one that somebody has",
		vfs:     2, policies: map[string]M{"vfs": eachVF},
		first: offers{twoVFs, []string{}},
		steps: []step{comes("vf"), edit(offers{nil, []string{}}, putSriov), comes("sriov", "sriov"), goes("vf")},
	},
	"the other driver's VFs, then the PF": {
		redWhen: "a PF is offered as a whole while a VF of it is claimed of the other driver, or claims of that do not count",
		vfs:     2, sriov: true, policies: map[string]M{"pf": wholePF},
		first: offers{nil, twoVFs},
		steps: []step{comes("sriov"), edit(offers{nil, []string{}}, dropSriov), comes("pf"), listed, comes("pf"),
			goes("sriov")},
	},
	"killed before each edit": {
		// (What the second edit adds has not been offered before: only the PF's record keeps it from being given.)
		redWhen: "a daemon forgets what another one withdrew or offered",
		vfs:     2, policies: map[string]M{"pf": wholePF},
		first: offers{exposed: []string{thePF}},
		steps: []step{comes("pf"), killed(offers{exposed: twoVFs[:1]}, drop("pf"), put("vfs", firstVF)), comes("vf"),
			killed(offers{exposed: twoVFs}, put("vfs", eachVF)), comes("second"), goes("pf")},
	},
	"killed after each edit": {
		redWhen: "a withdrawal is recorded after it has been made, or a device offered before",
		vfs:     2, policies: map[string]M{"pf": wholePF},
		first: offers{exposed: []string{thePF}},
		steps: []step{comes("pf"), killedAfter(offers{exposed: twoVFs[:1]}, put("vfs", firstVF), drop("pf")), comes("vf"),
			killedAfter(offers{exposed: twoVFs}, put("vfs", eachVF)), comes("second"), goes("pf")},
	},
	"a claim that stands when claims are listed": {
		redWhen: "a list of claims releases what it shows allocated, or nobody lists once more",
		vfs:     2, policies: map[string]M{"pf": wholePF},
		first: offers{exposed: []string{thePF}},
		steps: []step{comes("pf"), edit(offers{exposed: twoVFs}, drop("pf"), put("vfs", eachVF)), comes("vf"), listed, comes("vf"),
			goes("pf")},
	},
	"claims may be listed only later": {
		redWhen: "without permission what was withdrawn is free, or is not when the permission is there",
		vfs:     2, policies: map[string]M{"pf": wholePF},
		first: offers{exposed: []string{thePF}},
		steps: []step{
			// (Nothing of a node whose slices were never seen is free before claims have been listed once.)
			comes("pf"), func(e *editor) { e.Server.Unbind(e.T, harness.ClaimsRole, e.User) },
			edit(offers{exposed: twoVFs}, drop("pf"), put("vfs", eachVF)), comes("vf"),
			func(e *editor) {
				e.remove(e.oldest("pf"))
				e.daemon.WaitLog(returning, "stay reserved")
				e.WaitSchedulerSees(scheduling)
				if held := e.check(); len(held) > 0 {
					e.T.Errorf("without permission to list claims %v were given", held)
				}
				e.Server.Bind(e.T, "", harness.ClaimsRole, e.User)
				e.settle()
			}},
	},
}

// Red, beside what each row says of itself, when two claims that exclude each other are ever allocated at the same time,
// whatever is edited meanwhile, or when what is free is not given within two minutes.
func TestEditsWhileAllocated(t *testing.T) {
	t.Parallel()
	plane := exposingPlane(t)
	// All of them wait for a minute and more, and do so in one place of those that there are for parallel tests.
	var all sync.WaitGroup
	for name, row := range editRows {
		all.Go(func() { t.Run(name, func(t *testing.T) { row.play(t, plane) }) })
	}
	all.Wait()
}

func (row editRow) play(t *testing.T, plane *harness.Plane) {
	lab := harness.NewLab(t, plane, card(row.vfs))
	for name, spec := range row.policies {
		lab.Expose(name, spec)
	}
	if row.sriov {
		putSriov(lab)
	}
	judge := harness.JudgeAllocations(t, plane.Server, lab.Node, exclusive)
	e := &editor{desk: newDesk(lab, editAsks()), daemon: lab.Run()}
	e.fits, e.within = fitsCard(row.vfs), returning
	e.see(row.first)
	if !e.some { // which nobody has, so there is nothing to edit beneath
		for _, kind := range slices.Sorted(maps.Keys(e.asks)) {
			if e.closed[kind] {
				e.arrive(kind)
			}
		}
	} else {
		for _, step := range row.steps {
			step(e)
		}
	}
	if e.some { // else each was refused, and there is nothing to judge
		judge.Finish(t, scheduling)
	}
	e.shown()
	if t.Logf("%s", strings.Join(e.did, ", ")); t.Failed() {
		t.Logf("red when %s", row.redWhen)
	}
}
