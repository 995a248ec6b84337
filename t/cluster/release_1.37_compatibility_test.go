//go:build !kube1.34 && !kube1.35 && !kube1.36

package cluster

import (
	"slices"
	"testing"

	"sliced.test/cluster/harness"
)

const byGroups = "compatibility-groups"

// groupsIn are the compatibility groups of these slices' devices, by device.
func groupsIn(state harness.PoolState) map[string][]string {
	found := map[string][]string{}
	for _, slice := range state.Slices {
		for _, device := range slice.Spec.Devices {
			for _, consumed := range device.ConsumesCounters {
				found[device.Name] = append(found[device.Name], consumed.CompatibilityGroups...)
			}
		}
	}
	return found
}

// The scheduler of 1.37 with the gate on. Turns red when groups are not published, when they keep apart what may be allocated together or
// the other way round, when a switch between groups and counters forgets an entry that is withdrawn and allocated, or when a server
// without the gate is offered less than without the option.
func TestCompatibilityGroups(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true,
		Everywhere: []string{"--feature-gates=DRADeviceCompatibilityGroups=true"}})
	for _, name := range []string{"a PF or its VFs", "macvlan beside VFs", "a VF with two personas", "a VF in a bridge"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			groups := groupsIn(scenarios[name].play(t, plane, "--exclusion", byGroups))
			if !slices.Equal(groups[thePF], []string{"whole"}) || !slices.Equal(groups[vfs(card(1), 0, 1)[0]], []string{"parts"}) && name != "a VF in a bridge" {
				t.Errorf("groups: %v", groups)
			}
		})
	}
	t.Run("VFs that come and go", func(t *testing.T) {
		t.Parallel()
		vfsComeAndGo(t, plane, "--exclusion", byGroups)
	})
	t.Run("a switch while a withdrawn PF is allocated", func(t *testing.T) {
		t.Parallel()
		pf := card(2)
		lab := harness.NewLab(t, plane, pf)
		lab.Expose("vfs", own(isVF, "", "sriov"))
		lab.Expose("pf", own(isPF, "", "host-device"))
		d := newDesk(lab, map[string]ask{"vf": one(isVF, vfs(pf, 0, 2)...), "pf": one(isPF, thePF)})
		d.fits = func(n map[string]int) bool { return n["vf"] <= 2 && n["pf"] <= 1 && n["pf"]*n["vf"] == 0 }
		since := lab.Server.Revision(t)
		daemon := lab.Run()
		d.offered(since, join(vfs(pf, 0, 2), []string{thePF})...)
		whole := d.arrive("pf")
		since = lab.Server.Revision(t)
		lab.Expose("no-pf", M{"action": "exclude", "selector": M{"cel": isPF}})
		d.offered(since, vfs(pf, 0, 2)...)
		for _, form := range []string{byGroups, "counters"} {
			daemon.Term(promptly)
			daemon = lab.Run("--exclusion", form)
			daemon.WaitSaid(starting, "slice written", 1)
			d.WaitSchedulerSees(scheduling)
			d.remove(d.arrive("vf"))
		}
		d.leave(whole)
		d.arrive("vf")
		d.clear()
	})
	t.Run("a server without the gate", func(t *testing.T) {
		t.Parallel()
		for device, groups := range groupsIn(scenarios["a PF or its VFs"].play(t, exposingPlane(t), "--exclusion", byGroups)) {
			if len(groups) > 0 {
				t.Errorf("%s is in %v", device, groups)
			}
		}
	})
}
