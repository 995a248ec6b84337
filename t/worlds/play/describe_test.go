package play

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// describe shows of slices what decides about allocations.
func describe(all []*resourceapi.ResourceSlice) string {
	var out strings.Builder
	for _, slice := range all {
		pool := slice.Spec.Pool
		fmt.Fprintf(&out, "  %s of %s %s generation %d of %d slices %v\n", slice.Name, slice.Spec.Driver, pool.Name, pool.Generation,
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
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		value := counters[name].Value
		out = append(out, name+"="+value.String())
	}
	return strings.Join(out, " ")
}
