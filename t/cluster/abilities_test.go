package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"

	"sliced.test/cluster/harness"
)

// abilities are what a server, and the scheduler beside it, can do of what exclusion and sharing take.
type abilities struct{ counters, shares bool }

// abilitiesOf asks the server. Only whether its scheduler adds counters up as it should is taken from the version, as
// docs/kubernetes-versions.md says.
func abilitiesOf(t testing.TB, server *harness.APIServer) abilities {
	t.Helper()
	isStored := func(spec M) bool { return answer(server, slicesResource, sliceOf(spec)) == "stored" }
	shared := M{"allowMultipleAllocations": true, "capacity": M{"a/c": M{"value": "4", "requestPolicy": M{"default": "1", "validValues": L{"1"}}}}}
	minor, patch := versionOf(t, server)
	return abilities{
		counters: (minor > 36 || minor == 36 && patch >= 2) && isStored(M{"sharedCounters": counterSets}) &&
			isStored(M{"devices": L{device(consumes)}}),
		shares: isStored(M{"devices": L{device(shared)}}),
	}
}

func versionOf(t testing.TB, server *harness.APIServer) (minor, patch int) {
	t.Helper()
	version, err := server.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := fmt.Sscanf(version.GitVersion, "v1.%d.%d", &minor, &patch); n != 2 {
		t.Fatalf("the server is of version %q: %v", version.GitVersion, err)
	}
	return minor, patch
}

// left are those of entries that are offered on such a server: without shares none of those that several may have, without
// counters none beside another that excludes it, where what stands comes first, then VFs, then PFs by names.
func (a abilities) left(entries, standing []string, shared map[string]bool) []string {
	isOfPF := func(entry string) bool {
		return len(entry) >= len(thePF) && strings.HasSuffix(entry[:len(thePF)], "-00-0")
	}
	exclude := func(one, other string) bool {
		if a.counters || min(len(one), len(other)) < len(thePF) || one[:len("0000-03")] != other[:len("0000-03")] {
			return false
		}
		isWhole := isOfPF(one) && !shared[one] || isOfPF(other) && !shared[other]
		return isWhole || one[:len(thePF)] == other[:len(thePF)]
	}
	rank := func(entry string) string {
		return fmt.Sprint(!slices.Contains(standing, entry), " ", isOfPF(entry), " ", entry)
	}
	inOrder := slices.SortedFunc(slices.Values(entries), func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	kept := []string{}
	for _, entry := range inOrder {
		isExcluded := slices.ContainsFunc(kept, func(other string) bool { return exclude(entry, other) })
		if !isExcluded && (a.shares || !shared[entry]) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// sharedOf are the entries that several may have, as those who ask know them.
func sharedOf(asks map[string]ask) map[string]bool {
	shared := map[string]bool{}
	for _, a := range asks {
		for _, device := range a.devices {
			shared[device] = shared[device] || a.takes != ""
		}
	}
	return shared
}

// closed are the kinds that get nothing of what is left of these entries.
func closed(asks map[string]ask, entries, left []string) map[string]bool {
	kinds := map[string]bool{}
	for kind, a := range asks {
		isOne := func(entry string) bool { return slices.Contains(a.devices, entry) }
		kinds[kind] = slices.ContainsFunc(entries, isOne) && !slices.ContainsFunc(left, isOne)
	}
	return kinds
}

// Turns red when a server is thought to offer what excludes each other, or not to offer what it can.
func TestCleanup(t *testing.T) {
	t.Parallel()
	all := join(twoVFs, []string{thePF, theMacvlan})
	shared := map[string]bool{theMacvlan: true}
	for _, row := range []struct {
		able                 abilities
		from, standing, left []string
	}{
		{abilities{true, true}, all, nil, all},
		{abilities{true, false}, all, nil, join(twoVFs, []string{thePF})},
		{abilities{false, true}, all, nil, join(twoVFs, []string{theMacvlan})},
		{abilities{}, all, nil, twoVFs},
		{abilities{}, all, []string{thePF}, []string{thePF}},
		{abilities{}, []string{thePF, theMacvlan}, nil, []string{thePF}},
		{abilities{false, true}, []string{thePF, theMacvlan}, nil, []string{thePF}},
		{abilities{}, []string{thePF, "0000-04-00-2", "br0"}, nil, []string{thePF, "0000-04-00-2", "br0"}},
	} {
		left := slices.Sorted(slices.Values(row.able.left(row.from, row.standing, shared)))
		if !slices.Equal(left, slices.Sorted(slices.Values(row.left))) {
			t.Errorf("%+v: of %v are left %v, wanted %v", row.able, row.from, left, row.left)
		}
	}
}

// waitAllRefused waits until the scheduler says of each pod why it does not run.
func waitAllRefused(t *testing.T, manifest *harness.Manifest, rows map[string]podRow, why string) {
	t.Helper()
	want := 0
	for _, row := range rows {
		want += row.pods
	}
	waitUntil(t, fmt.Sprintf("%d pods are refused: %s", want, why), scheduling, func() bool {
		refused := 0
		for _, pod := range manifest.Pods() {
			for _, c := range pod.Status.Conditions {
				if c.Type == core.PodScheduled && c.Reason == core.PodReasonUnschedulable && strings.Contains(c.Message, why) {
					refused++
				}
			}
		}
		return refused == want
	})
}
