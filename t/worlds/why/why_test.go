package why

import (
	"encoding/json"
	"flag"
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"sliced.test/worlds/asked"
)

var (
	flagWorlds  = flag.Int("worlds", 3000, "how many worlds")
	flagFirst   = flag.Uint64("first", 1, "the first seed")
	flagSeed    = flag.Uint64("seed", 0, "one world alone, loudly")
	flagProgram = flag.String("program", "../../../build/t/why", "what is judged")
)

// seen counts what must have been there to be judged.
type seen map[string]int

// judge holds the answer against the allocator, on each node.
func judge(w *world, a answer, seen seen) error {
	if len(a.Nodes) != len(w.nodes) {
		return fmt.Errorf("%d nodes, and the answer is about %d", len(w.nodes), len(a.Nodes))
	}
	possible, aborted := 0, false
	for i, node := range w.nodes {
		said := a.Nodes[i]
		if said.Name != node.Name {
			return fmt.Errorf("%s where %s was expected", said.Name, node.Name)
		}
		extended := w.extended(node)
		results, err := w.allocate(node, append(append([]*resourceapi.ResourceClaim{}, w.mine...), extended.claims...))
		truth := "no"
		if err != nil {
			truth = "error"
		} else if results != nil {
			truth = "yes"
		}
		if len(extended.claims) > 0 {
			seen["extended-"+truth]++
		}
		// How many of a device plugin's are left is not read.
		if extended.byPlugin && truth == "yes" {
			truth = "unsure"
		}
		seen[truth]++
		// Before 1.36 pools are tried in no order: which of two things that stand in the way is met first is chance.
		alike := !w.features.ConsumableCapacity && said.Allocatable != "yes" && truth != "yes"
		if said.Allocatable != truth && !alike {
			return fmt.Errorf("%s: why says %s (%s), the allocator %s (%v)", node.Name, said.Allocatable, said.Error, truth, err)
		}
		admits := w.admits(node) && !extended.lacks
		if admits != (said.KeptAway == "") {
			return fmt.Errorf("%s: kept away %q, and the scheduler's filters say %v", node.Name, said.KeptAway, admits)
		}
		if said.CanRun != (admits && truth == "yes") {
			return fmt.Errorf("%s: can run %v", node.Name, said.CanRun)
		}
		if said.CanRun {
			possible++
		}
		aborted = aborted || admits && truth == "error"
		if err := judgeChanges(w, i, said, seen); err != nil {
			return fmt.Errorf("%s: %w", node.Name, err)
		}
	}
	// An error on a node that passes the other filters ends the attempt for all.
	if schedulable := possible > 0 && !aborted && !w.lacksClass(); w.features.ConsumableCapacity && schedulable != (a.Verdict == "schedulable") {
		return fmt.Errorf("the verdict is %s with %d possible nodes, aborted %v", a.Verdict, possible, aborted)
	}
	seen[a.Verdict]++
	if len(w.rules) > 0 && w.version >= "v1.37" {
		seen["ruled"]++
	}
	return nil
}

func (w *world) lacksClass() bool {
	for _, claim := range w.mine {
		for _, request := range claim.Spec.Devices.Requests {
			if request.Exactly != nil && w.classes[request.Exactly.DeviceClassName] == nil {
				return true
			}
			for _, one := range request.FirstAvailable {
				if w.classes[one.DeviceClassName] == nil {
					return true
				}
			}
		}
	}
	return false
}

// judgeChanges makes what is named otherwise: with all of it the allocator says yes, and with one of it left out no.
func judgeChanges(w *world, index int, said nodeAnswer, seen seen) error {
	if said.Allocatable == "yes" || said.Allocatable == "unsure" {
		return nil
	}
	if len(said.Changes) == 0 {
		return fmt.Errorf("nothing is named that stands in the way")
	}
	var last error
	allocatable := func(changes []change) bool {
		changed := w.with(changes)
		results, err := changed.allocate(w.nodes[index], append(changed.mine, changed.extended(w.nodes[index]).claims...))
		last = err
		return err == nil && results != nil
	}
	if !allocatable(said.Changes) {
		return fmt.Errorf("with all that is named otherwise, it cannot be allocated either (%v): %s", last, texts(said.Changes))
	}
	for i := range said.Changes {
		seen[said.Changes[i].Asks]++
		if said.Changes[i].Claim == extendedClaim && said.Changes[i].Asks == "fewer" {
			seen["extended-fewer"]++
		}
		without := append(append([]change{}, said.Changes[:i]...), said.Changes[i+1:]...)
		if allocatable(without) {
			return fmt.Errorf("%q is named for nothing, of %s", said.Changes[i].Text, texts(said.Changes))
		}
	}
	for _, one := range said.AnyOneOf {
		seen["alone"]++
		if !allocatable([]change{one}) {
			return fmt.Errorf("%q is said to be enough, and is not", one.Text)
		}
	}
	if len(said.Changes) > 1 {
		seen["several"]++
	}
	return nil
}

func texts(changes []change) string {
	out := ""
	for _, one := range changes {
		out += "\n    " + one.Text
	}
	return out
}

// TestWhy turns red when `why` says that a pod can be scheduled on a node and Kubernetes' allocator does not do it, or the
// reverse; when something stands in the way and is not named, or is named and does not; and when a pattern was not seen
// often enough to have been judged.
func TestWhy(t *testing.T) {
	p, err := asked.Start(*flagProgram)
	if err != nil {
		t.Fatal(err)
	}
	first, count := *flagFirst, *flagWorlds
	if *flagSeed != 0 {
		first, count = *flagSeed, 1
	}
	all := seen{}
	for seed := first; seed < first+uint64(count); seed++ {
		w := makeWorld(seed)
		a, err := ask(p, w)
		if err == nil {
			err = judge(w, a, all)
		}
		if err == nil && *flagSeed == 0 {
			continue
		}
		if *flagSeed != 0 {
			question, _ := json.MarshalIndent(w.question(), "", " ")
			said, _ := json.MarshalIndent(a, "", " ")
			t.Logf("%s\n%s", question, said)
		}
		if err != nil {
			t.Fatalf("world %d: %v\nagain: ./dev why --seed %d", seed, err, seed)
		}
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d worlds: %v", count, all)
	if *flagSeed != 0 {
		return
	}
	for _, pattern := range []string{"yes", "no", "error", "schedulable", "pending", "several", "alone", "release", "tolerate", "less-capacity",
		"no-capacity", "no-constraint", "fewer", "no-selector", "no-class-selector", "guard-selector", "make-class", "no-request", "complete-pools", "ruled",
		"extended-yes", "extended-no", "extended-fewer", "unsure"} {
		if all[pattern]*300 < count {
			t.Errorf("%s was seen %d times in %d worlds: too seldom to be judged", pattern, all[pattern], count)
		}
	}
}
