package cluster

import (
	"testing"

	resource "k8s.io/api/resource/v1"

	"sliced.test/cluster/harness"
)

// A claim with a selector that was written for dranet, by the real scheduler. Turns red when --dranet-attributes publishes what such a
// selector does not match, when the scheduler gives another device, or when the attributes are published without the option.
func TestDranetAttributesSelectADevice(t *testing.T) {
	t.Parallel()
	cards := []harness.PF{harness.E810("03", "ens1f0", 1), harness.E810("04", "ens2f0", 1)}
	lab := harness.NewLab(t, exposingPlane(t), cards...)
	lab.Expose("own", own(isVF, "", "host-device"))
	offered := func(s harness.PoolState) map[string]resource.Device {
		out := map[string]resource.Device{}
		for _, slice := range s.Slices {
			for _, device := range slice.Spec.Devices {
				out[device.Name] = device
			}
		}
		return out
	}
	whole := func(s harness.PoolState) bool { return len(offered(s)) == len(cards) }

	without := lab.Run()
	for name, device := range offered(lab.Exposed.Wait(t, "each VF is offered", 0, starting, whole)) {
		if _, found := device.Attributes["dra.net/ifName"]; found {
			t.Errorf("%s has dra.net/ifName without the option", name)
		}
	}
	without.Term(promptly)
	lab.Run("--dranet-attributes", "on")
	wanted := vfs(cards[1], 0, 1)[0]
	state := lab.Exposed.Wait(t, "each VF has dranet's attributes", 0, starting, func(s harness.PoolState) bool {
		_, found := offered(s)[wanted].Attributes["dra.net/ifName"]
		return whole(s) && found
	})
	name := *offered(state)[wanted].Attributes["dra.net/ifName"].StringValue
	net := `device.attributes["dra.net"]`
	selector := `"dra.net" in device.attributes && ` + net + `.ifName == "` + name + `" && ` + net + `.type == "device" && !` +
		net + `.virtual && !` + net + `.rdma && ` + net + `.isSriovVf`
	lab.Server.NewTemplate(t, lab.Namespace, "one", claim(harness.ExposureClass, selector, 1, nil))
	lab.Server.NewPodOf(t, lab.Namespace, "one", lab.Node, "one")
	for _, result := range lab.Server.WaitScheduled(t, lab.Namespace, "one", promptly) {
		if result.Device != wanted {
			t.Errorf("the claim has %s, want %s", result.Device, wanted)
		}
	}
	lab.Server.NewTemplate(t, lab.Namespace, "none", claim(harness.ExposureClass, net+`.ifName == "no-such"`, 1, nil))
	lab.Server.NewPodOf(t, lab.Namespace, "none", lab.Node, "none")
	lab.Server.Unschedulable(t, lab.Namespace, "none", promptly)
}
