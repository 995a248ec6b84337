// Package play is the scheduler of the simulation's worlds: it answers build/t/simulate with Kubernetes' own allocator. README.md.
package play

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

var (
	flagWorlds  = flag.Int("worlds", 150, "how many worlds")
	flagFirst   = flag.Uint64("first", 1, "the first seed")
	flagSeed    = flag.Uint64("seed", 0, "one world alone, loudly")
	flagSteps   = flag.Int("steps", 200, "of each world")
	flagWorkers = flag.Int("workers", 1, "programs at the same time")
	flagProgram = flag.String("program", "../../../build/t/simulate", "the simulation")
	flagShorten = flag.Bool("shorten", true, "leave out of a history whatever its failure does not need")
)

// TestWorlds turns red when the simulation does: when two entries that exclude each other may both be allocated, when one is refused
// that nothing stands in the way of, when more or less is published than the policies say, and when Kubernetes' allocator answers
// otherwise than the simulated scheduler, by which all of that is judged.
func TestWorlds(t *testing.T) {
	first, worlds := *flagFirst, *flagWorlds
	if *flagSeed != 0 {
		first, worlds = *flagSeed, 1
	}
	workers := min(*flagWorkers, worlds)
	var running sync.WaitGroup
	for i := range workers {
		from, to := worlds*i/workers, worlds*(i+1)/workers
		running.Add(1)
		go func() {
			defer running.Done()
			if err := play(newAllocator(), first+uint64(from), to-from, os.Stdout, os.Stderr); err != nil {
				t.Error(err)
			}
		}()
	}
	running.Wait()
}

// TestDetectsDifferentAnswers turns red when the simulation agrees with an allocator that answers another question than it was asked.
func TestDetectsDifferentAnswers(t *testing.T) {
	for name, defect := range map[string]func(*claim){
		"no amount is asked for":        func(c *claim) { c.Capacities = nil },
		"one device instead of several": func(c *claim) { c.Count = min(c.Count, 1) },
		"one device instead of all": func(c *claim) {
			if len(c.Entries) == 0 && c.Count == 0 {
				c.Count = 1
			}
		},
		"several devices of the other kind": func(c *claim) { c.Shared = !c.Shared },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAllocator()
			a.defect = defect
			var said, log bytes.Buffer
			if err := play(a, 1, 6, &said, &log); err == nil || !strings.Contains(said.String(), ": allocator: ") {
				t.Errorf("not seen: %v\n%s%s", err, said.String(), log.String())
			}
		})
	}
}

// play runs a program with some worlds, and answers what it asks.
func play(a *allocator, first uint64, worlds int, said, log io.Writer) error {
	release := byRelease.version
	if byRelease.counters {
		release += ",counters"
	}
	if byRelease.shared {
		release += ",shared"
	}
	arguments := []string{"worlds", "--first", fmt.Sprint(first), "--seeds", fmt.Sprint(worlds), "--steps", fmt.Sprint(*flagSteps),
		"--release", release}
	if *flagSeed != 0 {
		arguments = append(arguments, "--loud")
	}
	if worlds >= 100 {
		arguments = append(arguments, "--demand")
	}
	if !*flagShorten || a.defect != nil {
		arguments = append(arguments, "--all")
	}
	program := exec.Command(*flagProgram, arguments...)
	program.Stderr = log
	in, err := program.StdinPipe()
	if err != nil {
		return err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return fmt.Errorf("%s (built by ninja sim): %w", *flagProgram, err)
	}
	if err := serve(a, bufio.NewReaderSize(out, 1<<20), in, said); err != nil {
		program.Process.Kill()
		program.Wait()
		return err
	}
	err = program.Wait()
	if err != nil && *flagSeed != 0 {
		fmt.Printf("the slices were\n%s", describe(a.slices))
	}
	return err
}

// serve answers questions until there are none; every other line goes to `said`.
func serve(a *allocator, from *bufio.Reader, to, said io.Writer) error {
	for {
		line, err := from.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(line, "slices "):
			var slices []*resourceapi.ResourceSlice
			if err := json.Unmarshal([]byte(line[len("slices "):]), &slices); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			a.see(slices)
		case strings.HasPrefix(line, "? "):
			var asked question
			if err := json.Unmarshal([]byte(line[len("? "):]), &asked); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			given, err := a.answer(&asked)
			if err != nil {
				return err
			}
			text, err := json.Marshal(given)
			if err != nil {
				return err
			}
			if _, err := to.Write(append(text, '\n')); err != nil {
				return err
			}
		default:
			fmt.Fprint(said, line)
		}
	}
}
