package play

import (
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	flagWorlds  = flag.Int("worlds", 1500, "how many worlds of each sort")
	flagFirst   = flag.Uint64("first", 1, "the first seed")
	flagSeed    = flag.Uint64("seed", 0, "one world alone, loudly")
	flagEdits   = flag.Bool("edits", false, "only worlds with edits that withdraw what is allocated")
	flagWorkers = flag.Int("workers", 1, "programs at the same time")
	flagProgram = flag.String("program", "../../../build/t/worlds", "the daemon in a world that is played with")
	flagKeep    = flag.Int("failures", 1, "go on until there are this many")
	flagShorten = flag.Bool("shorten", true, "leave out of a history whatever its failure does not need")
)

// play runs one world. Its own dice make everything that happens.
func play(p *program, a *allocator, seed uint64, steps []step, o options) (*world, *violation) {
	w := newWorld(p, a, seed, o)
	return w, w.run(steps)
}

// shorten leaves out whatever the violation does not need.
func shorten(p *program, a *allocator, seed uint64, steps []step, kind string, o options) []step {
	for size := max(1, len(steps)/2); size > 0; size /= 2 {
		for at := 0; at < len(steps); {
			without := append(append([]step{}, steps[:at]...), steps[min(len(steps), at+size):]...)
			if _, found := play(p, a, seed, without, o); found != nil && found.kind == kind {
				steps = without
			} else {
				at += size
			}
		}
	}
	return steps
}

func report(p *program, a *allocator, seed uint64, steps []step, found *violation, o options) string {
	if !*flagShorten {
		return fmt.Sprintf("world %d: %s: %s", seed, found.kind, found.what)
	}
	short := shorten(p, a, seed, steps, found.kind, o)
	w, again := play(p, a, seed, short, o)
	if again == nil {
		return fmt.Sprintf("world %d: %s: %s\nand not a second time", seed, found.kind, found.what)
	}
	edits := ""
	if o.edits {
		edits = " --edits"
	}
	return fmt.Sprintf("world %d: %s: %s\n  %s\nagain: ./dev worlds --seed %d%s", seed, again.kind, again.what, w.words(), seed, edits)
}

// TestWorlds turns red when two entries that exclude each other are both allocated, when one is refused that nothing stands
// in the way of, when more or less is published than the policies say, and when a pattern was not seen often enough to have
// been judged.
func TestWorlds(t *testing.T) {
	if !*flagEdits {
		playMany(t, options{})
	}
}

// TestEdits is the same with edits that withdraw what is allocated.
func TestEdits(t *testing.T) {
	if *flagEdits || *flagSeed == 0 {
		playMany(t, options{edits: true})
	}
}

func playMany(t *testing.T, o options) {
	if *flagSeed != 0 {
		replay(t, *flagSeed, o)
		return
	}
	var (
		next     = *flagFirst
		end      = *flagFirst + uint64(*flagWorlds)
		lock     sync.Mutex
		total    = newTally()
		failures atomic.Int64
		workers  sync.WaitGroup
	)
	for i := 0; i < *flagWorkers; i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			p, err := startProgram()
			if err != nil {
				t.Error(err)
				return
			}
			a, mine := newAllocator(), newTally()
			for failures.Load() < int64(*flagKeep) {
				seed := atomic.AddUint64(&next, 1) - 1
				if seed >= end {
					break
				}
				steps := randomSteps(seed)
				w, found := play(p, a, seed, steps, o)
				mine.add(w.tally)
				mine.seen["world"]++
				if len(w.tally.granted) > 0 && len(w.tally.refused) > 0 {
					mine.seen["world with grants and refusals"]++
				}
				if found != nil {
					failures.Add(1)
					t.Error(report(p, a, seed, steps, found, o))
				}
			}
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
			lock.Lock()
			defer lock.Unlock()
			total.add(mine)
		}()
	}
	workers.Wait()
	show(total)
	if failures.Load() == 0 {
		demand(t, total, o)
	}
}

func show(total *tally) {
	for _, part := range []struct {
		name   string
		counts map[string]int
	}{{"seen", total.seen}, {"granted", total.granted}, {"refused", total.refused}} {
		fmt.Printf("%s\n", part.name)
		for _, key := range sortedKeys(part.counts) {
			fmt.Printf("  %7d %s\n", part.counts[key], key)
		}
	}
}

// patterns are how often something has to be seen in a thousand worlds.
type patterns struct{ granted, refused map[string]int }

var demandsOfHistory = map[string]int{
	"world with grants and refusals": 800,
	"edit":                           1000,
	"probes during an edit":          150,
	"kill":                           200,
	"reboot":                         40,
	"wipe":                           60,
}

// demands are both what must work and what must not, of a release that counts.
var demands = patterns{
	granted: map[string]int{
		"exclusive vf":                                 1000,
		"shared vf":                                    400,
		"another share of a vf":                        50,
		"VF of a SriovResourcePolicy":                  600,
		"exclusive pf":                                 500,
		"shared pf":                                    1000,
		"another share of a pf":                        250,
		"exclusive vf beside shared pf":                200,
		"shared pf beside shared vf":                   80,
		"shared pf beside shared pf":                   60,
		"exclusive nic":                                50,
		"shared nic beside shared nic":                 4,
		"exclusive bridge":                             80,
		"another share of a bridge":                    60,
		"exclusive vlan":                               20,
		"all without all abilities":                    600,
		"exclusive pf without all abilities":           80,
		"VF of a SriovResourcePolicy beside shared pf": 150,
	},
	refused: map[string]int{
		"the same exclusive vf":                        400,
		"exclusive beside another persona of a vf":     100,
		"the same exclusive pf":                        130,
		"exclusive beside another persona of a pf":     150,
		"exclusive PF beside its VF":                   100,
		"exclusive PF beside its shared VF":            25,
		"exclusive PF whose VF the host uses":          60,
		"one group of a pf":                            25,
		"all of the capacity of a pf":                  40,
		"all of the capacity of a bridge":              6,
		"a request beyond its policy":                  25,
		"exclusive beside another persona of a bridge": 15,
		"exclusive beside another persona of a nic":    6,
		"not offered":                                  100,
		"all without all abilities":                    700,
	},
}

// demandsOfOld are those of a release whose servers do not count unless somebody turns gates on.
var demandsOfOld = patterns{
	granted: map[string]int{
		"exclusive vf without all abilities":                1500,
		"VF of a SriovResourcePolicy without all abilities": 1500,
		"exclusive pf without all abilities":                800,
		"shared pf without all abilities":                   150,
		"exclusive bridge without all abilities":            100,
		"another share of a pf without all abilities":       60,
	},
	refused: map[string]int{
		"not offered without all abilities":                              1000,
		"the same exclusive vf without all abilities":                    600,
		"the same exclusive pf without all abilities":                    300,
		"exclusive beside another persona of a pf without all abilities": 200,
		"exclusive PF whose VF the host uses without all abilities":      100,
		"exclusive PF beside its VF without all abilities":               60,
	},
}

func demand(t *testing.T, total *tally, o options) {
	if total.seen["world"] < 1000 {
		fmt.Println("too few worlds: no pattern is demanded")
		return
	}
	for _, pattern := range []string{"late claim", "edit around a kill"} {
		if n := total.seen[pattern]; o.edits && n < total.seen["world"]/20 {
			t.Errorf("%s was seen %d times", pattern, n)
		}
	}
	wanted := demands
	if !byRelease.full() {
		wanted = demandsOfOld
	}
	for _, part := range []struct {
		name           string
		counts, wanted map[string]int
	}{{"seen", total.seen, demandsOfHistory}, {"granted", total.granted, wanted.granted}, {"refused", total.refused, wanted.refused}} {
		for pattern, n := range part.wanted {
			if least := n * total.seen["world"] / 1000; part.counts[pattern] < least {
				t.Errorf("%s: %s was seen %d times, wanted %d", part.name, pattern, part.counts[pattern], least)
			}
		}
	}
}

func replay(t *testing.T, seed uint64, o options) {
	p, err := startProgram()
	if err != nil {
		t.Fatal(err)
	}
	a, steps := newAllocator(), randomSteps(seed)
	_, found := play(p, a, seed, steps, o)
	if found != nil {
		steps = shorten(p, a, seed, steps, found.kind, o)
	}
	o.loud = true
	if _, found = play(p, a, seed, steps, o); found != nil {
		t.Errorf("world %d: %s: %s", seed, found.kind, found.what)
		fmt.Printf("the slices were\n%s", describe(p.slices))
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
