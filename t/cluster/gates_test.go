package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// What cannot be counted without a gate, as `sliced explain` says it of a persona.
var (
	noCounters = [2]string{"no-counters", "DRAPartitionableDevices"}
	noSharing  = [2]string{"no-sharing", "DRAConsumableCapacity"}
)

// withGates is for every server: what is on or off by default differs between releases.
func withGates(counters, sharing bool) []string {
	return []string{fmt.Sprintf("--feature-gates=DRAPartitionableDevices=%v,DRAConsumableCapacity=%v", counters, sharing)}
}

var gatesRows = map[string][]string{
	"no counters": withGates(false, true),
	"no sharing":  withGates(true, false),
	"neither":     withGates(false, false),
	"both":        withGates(true, true),
	"older":       nil, // olderRelease
}

// olderRelease is the flag of a server that behaves as 1.35 does, or as its own release does where that is older.
func olderRelease(t *testing.T) string {
	t.Helper()
	minor, _ := versionOf(t, shared.Server)
	return fmt.Sprintf("--emulated-version=1.%d", min(35, minor))
}

// heldBackBy is what such a server has held back of VFs, their PF and macvlans of it: kind -> outcome, and what the sentence
// names.
func heldBackBy(able abilities) map[string][2]string {
	held := map[string][2]string{}
	if !able.counters {
		held["pf"] = noCounters
	}
	if !able.shares {
		held["macvlan"] = noSharing
	}
	return held
}

// Turns red when a cluster without counters, without shared devices, as old as 1.35, or with a scheduler that does not add
// counters up, is offered what excludes each other; when more is held back than has to be; when explain does not name the
// gate; or when a VF that was withdrawn beneath its claim leaves the PF to somebody, or keeps it for ever.
func TestGatesOff(t *testing.T) {
	t.Parallel()
	for name, flags := range gatesRows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if flags == nil {
				flags = []string{olderRelease(t)}
			}
			plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true, Everywhere: flags})
			able := abilitiesOf(t, plane.Server)
			if off := strings.Join(flags, ","); strings.Contains(off, "DRAPartitionableDevices=false") && able.counters ||
				strings.Contains(off, "DRAConsumableCapacity=false") && able.shares {
				t.Fatalf("with %s the server has %+v: this shows nothing", off, able)
			}
			playGates(t, plane, heldBackBy(able), able)
		})
	}
}

func playGates(t *testing.T, plane *harness.Plane, heldBack map[string][2]string, able abilities) {
	t.Helper()
	lab := harness.NewLab(t, plane, card(2))
	policies := map[string]M{"pf": wholePF, "vf": eachVF, "macvlan": macvlans}
	entries := map[string][]string{"pf": {thePF}, "vf": twoVFs, "macvlan": {theMacvlan}}
	var offered, edited []string // edited: when VFs and macvlans are no longer, while a VF is taken
	if able.counters {
		edited = []string{thePF}
	}
	for kind, spec := range policies {
		lab.Expose(kind, spec)
		if _, held := heldBack[kind]; !held {
			offered = append(offered, entries[kind]...)
		}
	}
	judge := harness.JudgeAllocations(t, plane.Server, lab.Node, exclusive)
	e := &editor{desk: newDesk(lab, editAsks()), daemon: lab.Run()}
	e.see(offers{exposed: offered})
	explained(t, lab, heldBack)
	e.fits = func(n map[string]int) bool {
		for kind := range heldBack {
			if n[kind] > 0 {
				return false
			}
		}
		return fitsCard(2)(n)
	}
	e.everyOrder("macvlan", "pf", "vf")
	e.everyOrder("vf", "vf", "vf")

	e.arrive("vf")
	e.fits, e.within = fitsCard(2), returning
	edit(offers{exposed: edited}, drop("vf"), drop("macvlan"))(e)
	e.arrive("pf")
	goes("vf")(e)
	judge.Finish(t, scheduling)
	storedAsSent(t, lab, e.daemon.Started)
	e.shown()
}

// explained fails unless explain says of exactly these kinds that they are held back on the PF, and why.
func explained(t *testing.T, lab *harness.Lab, heldBack map[string][2]string) {
	t.Helper()
	out, said, code := lab.Command("explain", "0000:03:00.0", "-o", "json")
	var explanation struct {
		Personas []struct{ Policy, Outcome, Summary string }
	}
	if err := json.Unmarshal([]byte(out), &explanation); err != nil || code != 0 {
		t.Fatalf("explain: exit code %d, %v\n%s%s", code, err, out, said)
	}
	if len(explanation.Personas) != 2 { // the PF as a whole, and its macvlans
		t.Errorf("explain: %s", out)
	}
	for _, persona := range explanation.Personas {
		kind := strings.TrimSuffix(persona.Policy, "-"+lab.Node)
		want, isHeld := heldBack[kind]
		if !isHeld {
			want = [2]string{"offered", "offered as"}
		}
		if persona.Outcome != want[0] || !strings.Contains(persona.Summary, want[1]) {
			t.Errorf("explain says of %s: %s: %s (wanted %v)", kind, persona.Outcome, persona.Summary, want)
		}
	}
}
