package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"sliced.test/cluster/harness"
)

// What policies and claims of these scenarios select by.
const (
	attributes = `device.attributes["dra.networking"]`
	isPF       = attributes + `.type == "pf"`
	isVF       = attributes + `.type == "vf"`
	isBridge   = attributes + `.type == "bridge"`
)

func plugin(name string) string { return attributes + ".?cni_" + name + ".orValue(false)" }

// own is a policy that offers devices exclusively for a plugin, shares one that offers so many shares of them.
func own(cel, suffix, plugin string) M {
	return M{"selector": M{"cel": cel}, "exposure": M{"deviceNameSuffix": suffix, "supportedCNIPlugins": L{M{"name": plugin}}}}
}

func shares(cel, suffix, plugin, group, value string, requests M) M {
	capacity := M{"value": value}
	if requests != nil {
		capacity["requestPolicy"] = requests
	}
	exposure := M{"deviceNameSuffix": suffix, "allowMultipleAllocations": true, "capacity": M{"shares": capacity},
		"supportedCNIPlugins": L{M{"name": plugin}}}
	if group != "" {
		exposure["exclusionGroup"] = group
	}
	return M{"selector": M{"cel": cel}, "exposure": exposure}
}

// one asks for an exclusive device, share for so many shares ("" the default).
func one(cel string, devices ...string) ask {
	return ask{spec: claim(harness.ExposureClass, cel, 1, nil), devices: devices}
}

func share(cel, shares, takes string, devices ...string) ask {
	a := ask{spec: claim(harness.ExposureClass, cel, 1, nil), devices: devices, takes: takes}
	if shares != "" {
		a.spec = claim(harness.ExposureClass, cel, 1, map[string]string{"shares": shares})
	}
	return a
}

// card is a PF of one port with so many VFs.
func card(vfs int) harness.PF { return harness.E810("03", "ens1f0", vfs) }

const (
	thePF      = "0000-03-00-0"
	theMacvlan = thePF + "-macvlan"
	theIpvlan  = thePF + "-ipvlan"
)

// suffixed are the entries of these devices' other personas.
func suffixed(devices []string, suffix string) []string {
	var names []string
	for _, device := range devices {
		names = append(names, device+suffix)
	}
	return names
}

// phase is a state of the host, what is offered in it, and who comes.
type phase struct {
	change  func(lab *harness.Lab) // into this state; in the first before the daemon starts
	offered []string
	comes   [][]string // each list in every order
	fits    oracle
}

type scenario struct {
	redWhen  string // the defect that turns it red, beside those of all of them
	pfs      []harness.PF
	bridges  []string
	policies map[string]M
	asks     map[string]ask
	phases   []phase
}

var macvlans = shares(isPF, "-macvlan", "macvlan", "", "4", M{"default": "1", "validRange": M{"min": "1", "max": "2", "step": "1"}})

var scenarios = map[string]scenario{
	"VFs": {
		redWhen:  "a VF is given twice, or one VF excludes another",
		pfs:      []harness.PF{card(2)},
		policies: map[string]M{"vfs": own(isVF, "", "sriov")},
		asks:     map[string]ask{"vf": one(isVF, vfs(card(2), 0, 2)...)},
		phases: []phase{{offered: vfs(card(2), 0, 2), comes: [][]string{{"vf", "vf", "vf"}},
			fits: func(n map[string]int) bool { return n["vf"] <= 2 }}},
	},
	"a PF or its VFs": {
		redWhen:  "a PF is given away beneath a VF, or a VF of a PF that is given away",
		pfs:      []harness.PF{card(2)},
		policies: map[string]M{"vfs": own(isVF, "", "sriov"), "pf": own(isPF, "", "host-device")},
		asks:     map[string]ask{"vf": one(isVF, vfs(card(2), 0, 2)...), "pf": one(isPF, thePF)},
		phases: []phase{{offered: join(vfs(card(2), 0, 2), []string{thePF}), comes: [][]string{{"pf", "vf", "vf"}, {"pf", "pf"}},
			fits: func(n map[string]int) bool { return n["vf"] <= 2 && n["pf"] <= 1 && n["pf"]*n["vf"] == 0 }}},
	},
	"macvlans up to their capacity": {
		redWhen:  "a share too many is given, or one too few, or more at once than the policy says",
		pfs:      []harness.PF{card(0)},
		policies: map[string]M{"macvlan": macvlans},
		asks: map[string]ask{"one": share(isPF, "", "1", theMacvlan), "two": share(isPF, "2", "2", theMacvlan),
			"three": share(isPF, "3", ""),
			// Four shares in one claim are four requests. The count of a request wants different devices.
			"repeated": {spec: repeated(4, claim(harness.ExposureClass, isPF, 1, nil)), devices: []string{theMacvlan}, takes: "1"},
			"counted":  {spec: claim(harness.ExposureClass, isPF, 2, nil)}},
		phases: []phase{{offered: []string{theMacvlan}, comes: [][]string{{"one", "two", "two"}, {"repeated", "three"}, {"counted"}, {"one", "repeated"}},
			fits: func(n map[string]int) bool {
				return n["one"]+2*n["two"]+4*n["repeated"] <= 4 && n["three"]+n["counted"] == 0
			}}},
	},
	"macvlan or ipvlan": {
		redWhen: "an exclusionGroup keeps two personas of a PF apart on one side only, or a persona from itself",
		pfs:     []harness.PF{card(0)},
		policies: map[string]M{"macvlan": shares(isPF, "-macvlan", "macvlan", "rx-handler", "4", nil),
			"ipvlan": shares(isPF, "-ipvlan", "ipvlan", "rx-handler", "4", nil)},
		asks: map[string]ask{"macvlan": share(plugin("macvlan"), "", "1", theMacvlan),
			"ipvlan": share(plugin("ipvlan"), "", "1", theIpvlan),
			"two-macvlans": {spec: repeated(2, claim(harness.ExposureClass, plugin("macvlan"), 1, nil)), devices: []string{theMacvlan},
				takes: "1"}},
		phases: []phase{{offered: []string{theMacvlan, theIpvlan}, comes: [][]string{{"ipvlan", "macvlan", "two-macvlans"}},
			fits: func(n map[string]int) bool { return (n["macvlan"]+n["two-macvlans"])*n["ipvlan"] == 0 }}},
	},
	"macvlan or the PF": {
		redWhen:  "a PF is given away beneath macvlans, or is not free when the last of them has gone",
		pfs:      []harness.PF{card(0)},
		policies: map[string]M{"macvlan": macvlans, "pf": own(isPF, "", "host-device")},
		asks: map[string]ask{"macvlan": share(plugin("macvlan"), "", "1", theMacvlan),
			"pf": one(plugin("host_device"), thePF)},
		phases: []phase{{offered: []string{theMacvlan, thePF}, comes: [][]string{{"macvlan", "macvlan", "pf"}},
			fits: func(n map[string]int) bool { return n["pf"] <= 1 && n["macvlan"]*n["pf"] == 0 }}},
	},
	"macvlan beside VFs": {
		redWhen:  "macvlans of a PF and its VFs exclude each other, or either of them goes with the whole PF",
		pfs:      []harness.PF{card(1)},
		policies: map[string]M{"macvlan": macvlans, "pf": own(isPF, "", "host-device"), "vfs": own(isVF, "", "sriov")},
		asks: map[string]ask{"macvlan": share(plugin("macvlan"), "", "1", theMacvlan),
			"pf": one(plugin("host_device"), thePF), "vf": one(isVF, vfs(card(1), 0, 1)...)},
		phases: []phase{{offered: join(vfs(card(1), 0, 1), []string{theMacvlan, thePF}),
			comes: [][]string{{"macvlan", "pf", "vf"}},
			fits: func(n map[string]int) bool {
				return n["vf"] <= 1 && n["pf"] <= 1 && n["pf"]*(n["macvlan"]+n["vf"]) == 0
			}}},
	},
	"a VF with two personas": {
		redWhen: "a VF's personas do not exclude each other, or the PF counts only one of them",
		pfs:     []harness.PF{card(1)},
		policies: map[string]M{"own": own(isVF, "", "sriov"), "shared": shares(isVF, "-shared", "ipvlan", "", "2", nil),
			"pf": own(isPF, "", "host-device")},
		asks: map[string]ask{"own": one(plugin("sriov"), vfs(card(1), 0, 1)...), "pf": one(isPF, thePF),
			"shared": share(plugin("ipvlan"), "", "1", suffixed(vfs(card(1), 0, 1), "-shared")...)},
		phases: []phase{{offered: join(vfs(card(1), 0, 1), suffixed(vfs(card(1), 0, 1), "-shared"), []string{thePF}),
			comes: [][]string{{"own", "shared", "shared"}, {"own", "pf", "shared"}},
			fits: func(n map[string]int) bool {
				return n["own"]+n["pf"]+min(n["shared"], 1) <= 1 && n["shared"] <= 2
			}}},
	},
	"bridge ports": {
		redWhen: "a request is not rounded as the policy says, or more ports are given than there are",
		bridges: []string{"br0"},
		policies: map[string]M{"ports": shares(isBridge, "", "bridge", "", "8",
			M{"default": "2", "validRange": M{"min": "2", "max": "6", "step": "2"}})},
		asks: map[string]ask{"default": share(isBridge, "", "2", "br0"), "one": share(isBridge, "1", "2", "br0"),
			"three": share(isBridge, "3", "4", "br0"), "six": share(isBridge, "6", "6", "br0"), "seven": share(isBridge, "7", "")},
		phases: []phase{{offered: []string{"br0"}, comes: [][]string{{"one", "six", "three"}, {"default", "six"}, {"seven"}},
			fits: func(n map[string]int) bool {
				return 2*n["default"]+2*n["one"]+4*n["three"]+6*n["six"] <= 8 && n["seven"] == 0
			}}},
	},
	"a VF in a bridge": {
		redWhen: "a PF is given away whose VF the host uses, or is not given when the host has let it go",
		pfs:     []harness.PF{card(2)},
		bridges: []string{"br0"},
		policies: map[string]M{"vfs": own(isVF, "", "sriov"), "pf": own(isPF, "", "host-device"),
			"first": shares(isVF+" && "+attributes+".vfIndex == 0", "-shared", "ipvlan", "", "4", nil)},
		asks: map[string]ask{"vf": one(plugin("sriov"), vfs(card(2), 0, 2)...), "pf": one(isPF, thePF),
			"first": share(plugin("ipvlan"), "", "1", suffixed(vfs(card(2), 0, 1), "-shared")...)},
		phases: []phase{
			{change: func(lab *harness.Lab) { lab.Host.Enslave("ens1f0v0", "br0") },
				offered: join(vfs(card(2), 1, 2), suffixed(vfs(card(2), 0, 1), "-shared"), []string{thePF}),
				comes:   [][]string{{"first", "pf", "vf"}, {"vf", "vf"}},
				fits:    func(n map[string]int) bool { return n["pf"] == 0 && n["vf"] <= 1 }},
			{change: func(lab *harness.Lab) { lab.Host.Enslave("ens1f0v0", "") },
				offered: join(vfs(card(2), 0, 2), suffixed(vfs(card(2), 0, 1), "-shared"), []string{thePF}),
				comes:   [][]string{{"pf", "vf"}, {"first", "pf"}},
				fits:    func(n map[string]int) bool { return n["pf"] <= 1 && n["vf"] <= 2 && n["pf"]*(n["vf"]+n["first"]) == 0 }},
		},
	},
	"two PFs": {
		redWhen:  "one card's claims take another card's tokens",
		pfs:      []harness.PF{card(1), harness.E810("04", "ens2f0", 1)},
		policies: map[string]M{"vfs": own(isVF, "", "sriov"), "pfs": own(isPF, "", "host-device")},
		asks: map[string]ask{"pf0": one(isPF+" && "+attributes+`.ifName == "ens1f0"`, thePF),
			"vf0": one(isVF+" && "+attributes+`.pfName == "ens1f0"`, vfs(card(1), 0, 1)...),
			"pf1": one(isPF+" && "+attributes+`.ifName == "ens2f0"`, "0000-04-00-0")},
		phases: []phase{{offered: []string{thePF, "0000-03-00-2", "0000-04-00-0", "0000-04-00-2"},
			comes: [][]string{{"pf0", "pf1", "vf0"}},
			fits:  func(n map[string]int) bool { return n["pf0"]+n["vf0"] <= 1 && n["pf1"] <= 1 }}},
	},
	"both kinds of policies on one PF": {
		redWhen:  "a function is offered by both drivers, or a PF as a whole while the other driver offers a VF of it",
		pfs:      []harness.PF{card(2)},
		policies: map[string]M{"macvlan": macvlans, "pf": own(isPF, "", "host-device"), "vfs": own(isVF, "", "sriov")},
		asks: map[string]ask{"other": {spec: claim(harness.Class, "", 1, nil), devices: vfs(card(2), 0, 1)},
			"macvlan": share(plugin("macvlan"), "", "1", theMacvlan), "pf": one(plugin("host_device")),
			"vf": one(isVF, vfs(card(2), 1, 2)...)},
		phases: []phase{{change: func(lab *harness.Lab) { lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#0"))) },
			offered: join(vfs(card(2), 1, 2), []string{theMacvlan}),
			comes:   [][]string{{"macvlan", "other", "vf"}, {"other", "other"}, {"pf"}},
			fits:    func(n map[string]int) bool { return n["vf"] <= 1 && n["other"] <= 1 && n["pf"] == 0 }}},
	},
}

// Red, beside what each scenario says of itself, when two claims that exclude each other are allocated at the same
// time, in whichever order they come; when a claim is refused for which there is room, at first or after a release; or
// when a slice is not one that the API server takes and keeps as it was sent.
func TestExclusionAtTheScheduler(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t, exposingPlane(t))
		})
	}
}

// play has everybody of the scenario come in every order, beside a daemon with these arguments.
func (s scenario) play(t *testing.T, plane *harness.Plane, args ...string) harness.PoolState {
	lab := harness.NewLab(t, plane, s.pfs...)
	for _, bridge := range s.bridges {
		lab.Host.AddBridge(bridge)
	}
	for name, spec := range s.policies {
		lab.Expose(name, spec)
	}
	d := newDesk(lab, s.asks)
	var daemon *harness.Daemon
	var state harness.PoolState
	for _, phase := range s.phases {
		since := lab.Server.Revision(t)
		if phase.change != nil {
			phase.change(lab)
		}
		if daemon == nil {
			daemon = lab.Run(args...)
		}
		state = d.offered(since, phase.offered...)
		d.fits = phase.fits
		for _, kinds := range phase.comes {
			d.everyOrder(kinds...)
		}
	}
	storedAsSent(t, lab, daemon.Started)
	d.shown()
	if t.Logf("%d granted, %d refused", d.granted, d.refused); t.Failed() {
		t.Logf("red when %s", s.redWhen)
	}
	return state
}

// storedAsSent fails when the API server refused a slice under strict validation, or dropped a field of it.
func storedAsSent(t *testing.T, lab *harness.Lab, since time.Time) {
	t.Helper()
	for _, history := range []*harness.History{lab.History, lab.Exposed} {
		if history != nil {
			lab.Server.Audit.AwaitSlices(t, history.Now())
		}
	}
	written := 0
	for _, w := range lab.Server.Audit.Writes(t, lab.User, since) {
		if w.Ref.Resource != "resourceslices" || w.Verb == "delete" {
			continue
		}
		written++
		var stored resource.ResourceSlice
		if err := json.Unmarshal(w.Stored, &stored); err != nil || w.Answer.Code >= 300 || !strings.Contains(w.URI, "fieldValidation=Strict") {
			t.Errorf("%s %s was answered with %d %s (%v)", w.Verb, w.URI, w.Answer.Code, w.Answer.Message, err)
		} else if sent := w.Slice(t); !equality.Semantic.DeepEqual(sent.Spec, stored.Spec) {
			t.Errorf("%s %s: sent\n%+v\nstored\n%+v", w.Verb, w.Ref.Name, sent.Spec, stored.Spec)
		}
	}
	if written == 0 {
		t.Error("no write of a slice is in the audit log")
	}
}

// Turns red when an entry in a pool of several slices is not counted, or is counted in another's set: 127 VFs with two
// personas each, and the PF's, are 256 entries, 64 in a slice, and 128 counters in five sets.
func TestExclusionInALargePool(t *testing.T) {
	t.Parallel()
	pf := card(127)
	pf.TotalVFs = 127
	lab := harness.NewLab(t, exposingPlane(t), pf)
	for name, spec := range map[string]M{"macvlan": macvlans, "pf": own(isPF, "", "host-device"), "vfs": own(isVF, "", "sriov"),
		"shared": shares(isVF, "-shared", "ipvlan", "", "1", nil)} {
		lab.Expose(name, spec)
	}
	whole, shared := vfs(pf, 0, 127), suffixed(vfs(pf, 0, 127), "-shared")
	d := newDesk(lab, map[string]ask{
		"32-vfs":  {spec: claim(harness.ExposureClass, plugin("sriov"), 32, nil), devices: whole},
		"vf":      one(plugin("sriov"), whole...),
		"shared":  share(plugin("ipvlan"), "", "1", shared...),
		"macvlan": share(plugin("macvlan"), "", "1", theMacvlan),
		"pf":      one(plugin("host_device"), thePF)})
	d.fits = func(n map[string]int) bool {
		taken := 32*n["32-vfs"] + n["vf"] + n["shared"]
		return taken <= 127 && n["pf"] <= 1 && n["pf"]*(taken+n["macvlan"]) == 0
	}
	since := lab.Server.Revision(t)
	daemon := lab.Run()
	state := d.offered(since, join(whole, shared, []string{thePF, theMacvlan})...)
	slicesOfPF, sets, counters := 0, 0, 0
	for _, slice := range state.Slices {
		if slice.Spec.Pool.Name == lab.Node+"/"+thePF {
			slicesOfPF++
		}
	}
	for _, set := range state.Counters()[lab.Node+"/"+thePF] {
		sets, counters = sets+1, counters+len(set.Counters)
	}
	wanted := [3]int{5, 5, 128}
	if !d.able.counters {
		wanted = [3]int{2, 0, 0}
	}
	if found := [3]int{slicesOfPF, sets, counters}; found != wanted {
		t.Errorf("slices, sets, counters: %v, wanted %v", found, wanted)
	}

	var pods []string
	for range 3 {
		pods = append(pods, d.arrive("32-vfs"))
	}
	// (Nobody asks for 32 of the remaining 31: the scheduler tries every choice of them.)
	for range 30 {
		pods = append(pods, d.arrive("vf"))
	}
	last := d.arrive("shared")
	d.arrive("vf")
	d.arrive("shared")
	d.arrive("pf")
	macvlan := d.arrive("macvlan")
	d.leave(pods[5])
	d.leave(macvlan, last)
	d.arrive("pf")
	d.clear()
	pf1 := d.arrive("pf")
	d.arrive("32-vfs")
	d.arrive("shared")
	d.arrive("macvlan")
	d.leave(pf1)
	d.clear()
	storedAsSent(t, lab, daemon.Started)
}

// Turns red when VFs that come and go beneath claims are given twice, keep a PF from being given when they are gone,
// or are given beneath a PF that is given away.
func TestClaimedVFsAreCreatedAndRemoved(t *testing.T) {
	t.Parallel()
	vfsComeAndGo(t, exposingPlane(t))
}

func vfsComeAndGo(t *testing.T, plane *harness.Plane, args ...string) {
	pf := card(2)
	lab := harness.NewLab(t, plane, pf)
	for name, spec := range map[string]M{"macvlan": macvlans, "pf": own(isPF, "", "host-device"), "vfs": own(isVF, "", "sriov")} {
		lab.Expose(name, spec)
	}
	d := newDesk(lab, map[string]ask{"vf": one(isVF, vfs(pf, 0, 4)...), "pf": one(plugin("host_device"), thePF),
		"macvlan": share(plugin("macvlan"), "", "1", theMacvlan)})
	there := func(vfs int) oracle {
		return func(n map[string]int) bool {
			if !d.able.counters && slices.Contains(d.stands, thePF) {
				return n["vf"] <= 1 && n["pf"] <= 1 // the claim of a VF that is gone is nothing to a PF
			}
			return n["vf"] <= vfs && n["pf"] <= 1 && n["pf"]*(n["vf"]+n["macvlan"]) == 0
		}
	}
	offers := func(n int) []string { return join(vfs(pf, 0, n), []string{thePF, theMacvlan}) }
	since := lab.Server.Revision(t)
	daemon := lab.Run(args...)
	d.offered(since, offers(2)...)
	d.fits = there(2)
	first := d.arrive("vf")

	// More VFs: the kernel takes all away first. (Where nobody counts a PF may be offered then, and stands.)
	since = lab.Server.Revision(t)
	lab.Host.SetVFs(pf.Address, 0)
	if !d.able.counters {
		d.offered(since, offers(0)...)
		since = 0
	}
	lab.Host.SetVFs(pf.Address, 4)
	d.offered(since, offers(4)...)
	d.fits = there(4)
	d.arrive("pf")
	for range 4 {
		d.arrive("vf")
	}
	d.clear(first)

	// None: what is gone does not keep the PF.
	since = lab.Server.Revision(t)
	lab.Host.SetVFs(pf.Address, 0)
	d.offered(since, offers(0)...)
	d.fits = func(n map[string]int) bool { return n["vf"] <= 1 && n["pf"] <= 1 && n["pf"]*n["macvlan"] == 0 }
	d.arrive("vf")
	whole := d.arrive("pf")
	d.arrive("macvlan")
	d.leave(whole)
	d.clear(first)

	// As many as at first: one of them is still given.
	since = lab.Server.Revision(t)
	lab.Host.SetVFs(pf.Address, 2)
	d.offered(since, offers(2)...)
	d.fits = there(2)
	d.arrive("vf")
	d.arrive("vf")
	d.arrive("pf")
	d.leave(first)
	d.clear()

	// VFs that are made beneath a PF that is given away.
	since = lab.Server.Revision(t)
	lab.Host.SetVFs(pf.Address, 0)
	d.offered(since, offers(0)...)
	whole = d.arrive("pf")
	since = lab.Server.Revision(t)
	lab.Host.SetVFs(pf.Address, 4)
	d.offered(since, offers(4)...)
	d.fits = there(4)
	d.arrive("vf")
	d.arrive("macvlan")
	d.leave(whole)
	d.clear()
	storedAsSent(t, lab, daemon.Started)
}
