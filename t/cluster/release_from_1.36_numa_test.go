//go:build !kube1.34 && !kube1.35

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	resource "k8s.io/api/resource/v1"

	"sliced.test/cluster/harness"
)

// Two PFs on two NUMA nodes of one processor package. A claim wants a VF of each, on one node: the scheduler finds that only in lists.
// Turns red when no list is published, when it lacks the neighbor, or when a server without the gate is offered nothing.
func TestNumaNodesAsAList(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true,
		Everywhere: []string{"--feature-gates=DRAListTypeAttributes=true"}})
	left, right := harness.E810("03", "ens1f0", 1), harness.E810("04", "ens2f0", 1)
	right.Numa = 1
	for _, place := range []struct {
		plane *harness.Plane
		value string
	}{{plane, "[0 1]"}, {shared, "0"}} {
		lab := harness.NewLab(t, place.plane, left, right)
		for node, distance := range []string{"10 12", "12 10"} {
			numa := fmt.Sprintf("sys/devices/system/node/node%d", node)
			processor := fmt.Sprintf("cpu%d", node)
			write(t, lab, filepath.Join(numa, "distance"), distance)
			write(t, lab, filepath.Join(numa, processor, "crash_notes_size"), "0")
			write(t, lab, filepath.Join("sys/devices/system/cpu", processor, "topology/physical_package_id"), "0")
		}
		lab.Apply("p", harness.Config("", harness.PFNames("ens1f0", "ens2f0")))
		lab.Run("--numa-node-attribute", "list")
		wanted := append(vfs(left, 0, 1), vfs(right, 0, 1)...)
		state := lab.History.WaitOffers(t, 0, starting, wanted...)
		for _, slice := range state.Slices {
			for _, device := range slice.Spec.Devices {
				attribute := device.Attributes["resource.kubernetes.io/numaNode"]
				got := fmt.Sprint(attribute.IntValues)
				if attribute.IntValue != nil {
					got = fmt.Sprint(*attribute.IntValue)
				}
				if device.Name == harness.DeviceName(harness.VFAddress(left.Address, 0)) && got != place.value {
					t.Errorf("%s has numaNode %s, want %s", device.Name, got, place.value)
				}
			}
		}
		if place.plane == shared {
			continue
		}
		of := func(pf harness.PF) resource.DeviceRequest {
			return resource.DeviceRequest{Name: pf.Name, Exactly: &resource.ExactDeviceRequest{DeviceClassName: harness.Class,
				Selectors: []resource.DeviceSelector{{CEL: &resource.CELDeviceSelector{
					Expression: fmt.Sprintf("device.attributes[%q].PFName == %q", harness.Driver, pf.Name)}}}}}
		}
		node := resource.FullyQualifiedName("resource.kubernetes.io/numaNode")
		lab.Server.NewTemplate(t, lab.Namespace, "both", resource.ResourceClaimSpec{Devices: resource.DeviceClaim{
			Requests:    []resource.DeviceRequest{of(left), of(right)},
			Constraints: []resource.DeviceConstraint{{MatchAttribute: &node}}}})
		lab.Server.NewPodOf(t, lab.Namespace, "both", lab.Node, "both")
		lab.Server.WaitScheduled(t, lab.Namespace, "both", promptly)
	}
}

func write(t *testing.T, lab *harness.Lab, path, text string) {
	t.Helper()
	path = filepath.Join(lab.Host.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
