// Package play plays random histories of hosts, policies and claims with the daemon, and judges what Kubernetes' own
// allocator makes of the slices that it publishes. README.md.
package play

import (
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"sliced.test/worlds/asked"
)

// A program is build/t/worlds: the daemon over a host, an API server and a clock that do what they are told.
type program struct {
	*asked.Program
	slices []*resourceapi.ResourceSlice // as they were told last
}

func startProgram() (*program, error) {
	started, err := asked.Start(*flagProgram)
	return &program{Program: started}, err
}

type fields map[string]any

type answer struct {
	Error  string                        `json:"error"`
	Rest   *bool                         `json:"rest"`
	Slices *[]*resourceapi.ResourceSlice `json:"slices"`
}

// do panics when the program is gone or does not understand: the run is worth nothing then.
func (p *program) do(command string, with fields) answer {
	line := fields{"do": command}
	for key, value := range with {
		line[key] = value
	}
	var out answer
	if err := p.Ask(line, &out); err != nil {
		panic(err)
	}
	if out.Error != "" {
		panic(fmt.Sprintf("%s %v: %s", command, line, out.Error))
	}
	if out.Slices != nil {
		p.slices = *out.Slices
	}
	return out
}

func (p *program) host(what, name string, with fields) {
	line := fields{"what": what, "name": name}
	for key, value := range with {
		line[key] = value
	}
	p.do("host", line)
}

// describe shows of slices what decides about allocations.
func describe(slices []*resourceapi.ResourceSlice) string {
	var out strings.Builder
	for _, slice := range slices {
		pool := slice.Spec.Pool
		fmt.Fprintf(&out, "  %s %s generation %d of %d slices %v\n", slice.Spec.Driver, pool.Name, pool.Generation,
			pool.ResourceSliceCount, slice.Annotations)
		for _, set := range slice.Spec.SharedCounters {
			fmt.Fprintf(&out, "    counter set %s: %s\n", set.Name, countersOf(set.Counters))
		}
		for _, one := range slice.Spec.Devices {
			fmt.Fprintf(&out, "    %s", one.Name)
			if one.AllowMultipleAllocations != nil && *one.AllowMultipleAllocations {
				fmt.Fprintf(&out, " shared")
			}
			for name, c := range one.Capacity {
				fmt.Fprintf(&out, " %s=%s", name, c.Value.String())
			}
			for _, taken := range one.ConsumesCounters {
				fmt.Fprintf(&out, " takes of %s: %s", taken.CounterSet, countersOf(taken.Counters))
			}
			fmt.Fprintln(&out)
		}
	}
	return out.String()
}

func countersOf(counters map[string]resourceapi.Counter) string {
	var out []string
	for _, name := range names(counters) {
		value := counters[name].Value
		out = append(out, name+"="+value.String())
	}
	return strings.Join(out, " ")
}
