package cluster

import (
	"encoding/json"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// What cannot be counted without a gate, as `sliced explain` says it of a persona.
var (
	noCounters = [2]string{"no-counters", "DRAPartitionableDevices"}
	noSharing  = [2]string{"no-sharing", "DRAConsumableCapacity"}
)

type gatesRow struct {
	flags    []string             // of every server
	heldBack map[string][2]string // kind -> outcome, and what the sentence names
	edited   []string             // offered when VFs and macvlans are no longer, while a VF is taken
}

var gatesRows = map[string]gatesRow{
	"no counters": {flags: []string{"--feature-gates=DRAPartitionableDevices=false"},
		heldBack: map[string][2]string{"pf": noCounters}},
	"no sharing": {flags: []string{"--feature-gates=DRAConsumableCapacity=false"},
		heldBack: map[string][2]string{"macvlan": noSharing}, edited: []string{thePF}},
	"neither": {flags: []string{"--feature-gates=DRAPartitionableDevices=false,DRAConsumableCapacity=false"},
		heldBack: map[string][2]string{"pf": noCounters, "macvlan": noSharing}},
	"1.35": {flags: []string{"--emulated-version=1.35"},
		heldBack: map[string][2]string{"pf": noCounters, "macvlan": noSharing}},
}

// Turns red when a cluster without counters, without shared devices, or as old as 1.35, is offered what excludes each
// other; when more is held back than has to be; when explain does not name the gate; or when a VF that was withdrawn
// beneath its claim leaves the PF to somebody, or keeps it for ever.
func TestGatesOff(t *testing.T) {
	t.Parallel()
	for name, row := range gatesRows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true, Everywhere: row.flags})
			lab := harness.NewLab(t, plane, card(2))
			policies := map[string]M{"pf": wholePF, "vf": eachVF, "macvlan": macvlans}
			entries := map[string][]string{"pf": {thePF}, "vf": twoVFs, "macvlan": {theMacvlan}}
			var offered []string
			for kind, spec := range policies {
				lab.Expose(kind, spec)
				if _, held := row.heldBack[kind]; !held {
					offered = append(offered, entries[kind]...)
				}
			}
			judge := harness.JudgeAllocations(t, plane.Server, lab.Node, exclusive)
			e := &editor{desk: newDesk(lab, editAsks()), daemon: lab.Run()}
			e.see(offers{exposed: offered})
			explained(t, lab, row.heldBack)
			e.fits = func(n map[string]int) bool {
				for kind := range row.heldBack {
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
			edit(offers{exposed: row.edited}, drop("vf"), drop("macvlan"))(e)
			e.arrive("pf")
			goes("vf")(e)
			judge.Finish(t, scheduling)
			storedAsSent(t, lab, e.daemon.Started)
			if e.granted == 0 || e.refused == 0 {
				t.Errorf("%d claims were granted and %d refused: this shows nothing", e.granted, e.refused)
			}
		})
	}
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
