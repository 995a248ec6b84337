package cluster

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"

	"sliced.test/cluster/harness"
)

// sockets are the files of a driver's sockets, of whichever pod of it.
func sockets(root *harness.KubeletRoot, driver string) []string {
	found, _ := filepath.Glob(root.Path + "/plugins_registry/" + driver + "-*")
	services, _ := filepath.Glob(root.Path + "/plugins/" + driver + "/dra*.sock")
	return append(found, services...)
}

func bothDrivers(root *harness.KubeletRoot) []string {
	return join(sockets(root, harness.Driver), sockets(root, harness.ExposureDriver))
}

// onlyLiving waits until each driver has the sockets of one daemon, and none of those that were there before.
func onlyLiving(t *testing.T, root *harness.KubeletRoot, before []string) {
	t.Helper()
	for _, driver := range []string{harness.Driver, harness.ExposureDriver} {
		waitUntil(t, "the sockets of one daemon, and of it alone", promptly, func() bool {
			all := sockets(root, driver)
			return len(all) == 2 && !slices.ContainsFunc(all, func(path string) bool { return slices.Contains(before, path) }) && answers(all[0])
		})
	}
}

// judgeAllBack waits until nothing is prepared any more.
func (v *victim) judgeAllBack() {
	v.T.Helper()
	waitUntil(v.T, "every VF has its driver back, and no CDI spec is left", promptly, func() bool {
		for i := range 4 {
			if v.kernel.Driver(harness.VFAddress(near.Address, i)) != "iavf" {
				return false
			}
		}
		return len(v.root.SpecFiles()) == 0 && !strings.Contains(v.checkpoint(), `"complete"`)
	})
}

// Turns red when an upgrade, with the new daemon beside the old one or after its sudden end, loses a pod's VF, writes a slice,
// leaves a driver to two daemons or to none, or leaves sockets behind.
func TestUpgradeWithRunningPods(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.newPod("before")
	v.judgeRuns("before", "the old daemon alone")
	const second, third = "0b1d3c5e-7777-4f4f-8e8e-000000000002", "0b1d3c5e-7777-4f4f-8e8e-000000000003"
	beside := v.Run(append(v.root.Flags(), "--pod-uid", second)...)
	beside.WaitLog(starting, "another instance is active for this driver and node")
	if beside.Said("registered with the kubelet") != 0 || len(sockets(v.root, harness.Driver)) != 2 {
		t.Errorf("two daemons serve one driver: %v", sockets(v.root, harness.Driver))
	}
	v.newPod("during")
	waitRunningIn(t, v.Lab, v.manifest.Namespace, "during")
	old := bothDrivers(v.root)
	v.daemon.Term(harness.Patience)
	waitRegistered(beside, 1)
	onlyLiving(t, v.root, old)
	v.newPod("after")
	waitRunningIn(t, v.Lab, v.manifest.Namespace, "after")
	v.delete("before")
	v.judgeGone("before")
	// Another one after a sudden end, which leaves sockets behind.
	old = bothDrivers(v.root)
	beside.Kill()
	v.daemon = v.Run(append(v.root.Flags(), "--pod-uid", third)...)
	waitRegistered(v.daemon, 1)
	onlyLiving(t, v.root, old)
	v.delete("during")
	v.delete("after")
	v.judgeAllBack()
	v.judgeSlices()
}

// Turns red when a program that serves a driver already is disturbed, when slices of that driver are written beside it, when that is
// not said, or when its end goes unnoticed. It is played by Kubernetes' own helper library, which dra-driver-sriov uses.
func TestAnotherProgramServesTheDriver(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, near)
	lab.Reports = true
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	other := root.RunOtherDriver(harness.Driver, func(*resource.ResourceClaim, resource.DeviceRequestAllocationResult) []string { return nil })
	served := sockets(root, harness.Driver)
	daemon := lab.Run(root.Flags()...)
	daemon.WaitLog(starting, "another program serves this driver", "registered with the kubelet driver="+harness.ExposureDriver)
	for _, path := range served {
		if !answers(path) {
			t.Errorf("nobody answers at %s any more", path)
		}
	}
	waiting := waitReport(t, lab, "a plugin that waits", func(r *nodeReport) bool { return r.Status.KubeletPlugin == "waiting" })
	if !strings.Contains(waiting.Status.WaitsFor, "another program that serves driver "+harness.Driver) {
		t.Errorf("the report waits for %q", waiting.Status.WaitsFor)
	}
	// A decision has been made, of which the report is, and nothing was written for it.
	if slices := lab.History.Now().Slices; len(slices) > 0 {
		t.Errorf("beside the other program %d slices were written", len(slices))
	}
	stopped := lab.Server.Revision(t)
	other.Stop()
	waitRegistered(daemon, 1)
	lab.History.WaitOffers(t, stopped, starting, vfs(near, 0, 4)...)
	waitReport(t, lab, "a plugin that serves", func(r *nodeReport) bool { return r.Status.KubeletPlugin == "on" && r.Status.WaitsFor == "" })
}

// writePeers writes what dra-driver-sriov has on disk of a claim that it has prepared for vfio-pci.
func (v *victim) writePeers(claim *resource.ResourceClaim, result resource.DeviceRequestAllocationResult) []string {
	pod, uid, address := string(claim.Status.ReservedFor[0].UID), string(claim.UID), addressOf(result.Device)
	kind := harness.Driver + "/vf"
	names := []string{uid + "-" + result.Device, pod}
	node := "/dev/vfio/" + v.kernel.Group(address)
	envs := []string{"SRIOVNETWORK_VF_DEVICE_" + strings.ReplaceAll(result.Device, "-", "_") + "=" + address, "SRIOVNETWORK_PCI_ADDRESSES=" + address}
	for i, id := range []string{uid, pod} {
		spec := fmt.Sprintf(`{"cdiVersion":"0.5.0","kind":%q,"devices":[{"name":%q,"containerEdits":{"env":[%q]}}]}`, kind, names[i], envs[i])
		v.write(fmt.Sprintf("/cdi/%s-vf_%s.yaml", harness.Driver, id), spec)
	}
	rest := fmt.Sprintf(`,"v1":{"preparedClaimsByPodUID":{%q:{%q:[{"Device":{"request_names":["vf"],"pool_name":%q,"device_name":%q,"cdi_device_ids":[%q,%q]},`+
		`"ClaimNamespacedName":{"Namespace":%q,"Name":%q,"UID":%q},"ContainerEdits":{"env":[%q],"deviceNodes":[{"path":%q,"hostPath":%q,"type":"c"},{"path":"/dev/vfio/vfio"}]},`+
		`"Config":{"kind":"VfConfig","driver":"vfio-pci","netAttachDefName":"tenants"},"IfName":"net1","PciAddress":%q,"MultusDeviceID":"","MultusResourceName":"",`+
		`"DeviceAttributes":{},"NetworkDeviceData":null,"PodUID":%q,"NetAttachDefConfig":"","OriginalDriver":"iavf"}]}}}}`,
		pod, uid, result.Pool, result.Device, kind+"="+names[0], kind+"="+names[1], claim.Namespace, claim.Name, uid, envs[0], node, node, address, pod)
	sum := fnv.New32a()
	summed := []byte(`{"checksum":0` + rest)
	fmt.Fprintf(sum, "(%T)%v", summed, summed)
	v.write("/plugins/"+harness.Driver+"/checkpoint.json", fmt.Sprintf(`{"checksum":%d%s`, sum.Sum32(), rest))
	v.Host.Rebind(address, "vfio-pci")
	return []string{kind + "=" + names[0], kind + "=" + names[1]}
}

func (v *victim) write(path, text string) {
	if err := os.MkdirAll(filepath.Dir(v.root.Path+path), 0o755); err != nil {
		v.T.Error(err)
	}
	if err := os.WriteFile(v.root.Path+path, []byte(text), 0o600); err != nil {
		v.T.Error(err)
	}
}

// Turns red when a pod that dra-driver-sriov has started does not outlive the change to sliced, when its VF is given to
// another one meanwhile, or when its end does not take back what the other has made.
func TestUpgradeFromThePeer(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.daemon.Term(harness.Patience) // its slices stay: the peer's look like them
	peer := v.root.RunOtherDriver(harness.Driver, v.writePeers)
	v.newPod("theirs")
	waitRunningIn(t, v.Lab, v.manifest.Namespace, "theirs")
	their := v.Server.Claim(t, v.manifest.Namespace, "theirs").Status.Allocation.Devices.Results[0]
	if err := os.Remove(v.root.Path + "/plugins/" + harness.Driver + "/sliced-checkpoint.json"); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	peer.Stop()
	v.daemon = v.Run(v.root.Flags()...)
	waitRegistered(v.daemon, 1)
	v.daemon.WaitLog(starting, "the checkpoint of dra-driver-sriov")
	v.newPod("ours")
	waitRunningIn(t, v.Lab, v.manifest.Namespace, "ours")
	waitRunningIn(t, v.Lab, v.manifest.Namespace, "theirs")
	if driver := v.kernel.Driver(addressOf(their.Device)); driver != "vfio-pci" {
		t.Errorf("the VF of their pod is bound to %q", driver)
	}
	v.delete("theirs")
	v.judgeGone("theirs")
	waitUntil(t, "their VF has its driver back", promptly, func() bool { return v.kernel.Driver(addressOf(their.Device)) == "iavf" })
	v.delete("ours")
	v.judgeAllBack()
}
