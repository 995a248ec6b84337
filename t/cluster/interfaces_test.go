package cluster

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

// telling is a node whose container runtime tells the daemon of pods.
type telling struct {
	*harness.Lab
	root     *harness.KubeletRoot
	manifest *harness.Manifest
	daemon   *harness.Daemon
}

func newTelling(t *testing.T, manifest, plugin string, options ...func(*harness.KubeletRoot)) *telling {
	t.Helper()
	lab := harness.NewLab(t, shared, near)
	n := &telling{Lab: lab, root: lab.NewKubeletRoot()}
	n.root.TellOfPods()
	for _, option := range options {
		option(n.root)
	}
	n.root.WritePlugin("sriov", plugin)
	lab.RunAsDeployed()
	n.manifest = lab.ReadManifest(manifest)
	n.manifest.Furnish()
	t.Cleanup(n.manifest.DeleteRest)
	wiped(t, lab, n.root.Run())
	n.daemon = lab.Run(n.root.Flags()...)
	lab.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	waitRegistered(n.daemon, 1)
	return n
}

func (n *telling) calls(command string) []harness.PluginCall {
	var found []harness.PluginCall
	for _, call := range n.root.PluginCalls() {
		if call.Command == command {
			found = append(found, call)
		}
	}
	return found
}

func (n *telling) end(t *testing.T) {
	t.Helper()
	n.manifest.DeletePods()
	waitUntil(t, "all pods are gone", promptly, func() bool { return len(n.manifest.Pods()) == 0 })
	waitUntil(t, "no interface is on record", promptly, func() bool {
		left, err := os.ReadDir(n.root.Path + "/plugins/" + harness.Driver + "/interfaces")
		return err == nil && len(left) == 0
	})
}

// Turns red when a pod's interface is not made before its first container, by its claim's network and for its device; when the
// claim does not say what was made; or when the interface is not undone. What may be done is what config/deploy/rbac.yaml grants.
func TestInterfacesAreAttachedByTheRuntimesEvents(t *testing.T) {
	t.Parallel()
	n := newTelling(t, "two-vfs-of-one-claim.yaml", "")
	n.manifest.ApplyPods()
	pods := waitAllRun(t, n.manifest, app(of("vf", "vf", 2)))
	added := n.calls("ADD")
	if len(added) != 2 || added[0].Device == added[1].Device || added[0].Interface == added[1].Interface {
		t.Fatalf("added: %v", added)
	}
	addresses := map[string]string{} // interface -> device
	for _, call := range added {
		if call.Containers != "0" {
			t.Errorf("%v came behind a container", call)
		}
		addresses[call.Interface] = call.Device
	}
	waitUntil(t, "the claim says what was made", promptly, func() bool {
		claim := claimsOf(pods[0], n.Server.Claims(t, pods[0].Namespace))["vf"]
		if len(claim.Status.Devices) != 2 {
			return false
		}
		for _, device := range claim.Status.Devices {
			if device.NetworkData == nil {
				return false
			}
		}
		return true
	})
	for _, device := range claimsOf(pods[0], n.Server.Claims(t, pods[0].Namespace))["vf"].Status.Devices {
		if len(device.Conditions) != 1 || device.Conditions[0].Type != "Ready" || device.Conditions[0].Reason != "Attached" {
			t.Errorf("%s: conditions %+v", device.Device, device.Conditions)
		}
		made := device.NetworkData
		if made.HardwareAddress != "02:00:00:00:00:07" || len(made.IPs) != 1 || made.IPs[0] != "192.0.2.7/24" ||
			harness.DeviceName(addresses[made.InterfaceName]) != device.Device {
			t.Errorf("%s: %+v, and the plugins made %v", device.Device, made, addresses)
		}
		var data struct {
			VFConfig             struct{ NetAttachDefName string }
			CNIConfig, CNIResult map[string]any
		}
		if err := json.Unmarshal(device.Data.Raw, &data); err != nil || data.VFConfig.NetAttachDefName != "tenants" ||
			data.CNIConfig["type"] != "sriov" || data.CNIResult["cniVersion"] != "1.0.0" {
			t.Errorf("%s: %s %v", device.Device, device.Data.Raw, err)
		}
	}
	n.end(t)
	if undone := n.calls("DEL"); len(undone) != 2 {
		t.Errorf("undone: %v", undone)
	}
}

// Turns red when a pod starts whose interface takes longer than its runtime waits.
func TestAPodWaitsForItsInterface(t *testing.T) {
	t.Parallel()
	n := newTelling(t, "one-vf.yaml", `[ "$CNI_COMMAND" = DEL ] || sleep 5`,
		func(root *harness.KubeletRoot) { root.RuntimeWaits = 2 * time.Second })
	n.manifest.ApplyPods()
	waitUntil(t, "two attempts, both undone", 2*promptly, func() bool { return len(n.calls("ADD")) >= 2 && len(n.calls("DEL")) >= 2 })
	if created := n.root.Created(); len(created) > 0 {
		t.Errorf("a container runs without its interface: %+v", created)
	}
	n.root.WritePlugin("sriov", "")
	waitAllRun(t, n.manifest, app(of("vf", "vf", 1)))
	n.end(t)
}

// Turns red when nobody hears of a container that was created without its interface because the daemon died in ADD: a runtime
// goes on as if it had agreed.
func TestAContainerStartedDuringAnOutageIsReported(t *testing.T) {
	t.Parallel()
	n := newTelling(t, "one-vf.yaml", `[ "$CNI_COMMAND" = DEL ] || { touch "$here/reached"; sleep 60; }`)
	n.manifest.ApplyPods()
	waitUntil(t, "ADD has begun", promptly, func() bool { _, err := os.Stat(n.root.Path + "/cni/reached"); return err == nil })
	n.daemon.Kill()
	waitAllRun(t, n.manifest, app(of("vf", "vf", 1)))
	n.root.WritePlugin("sriov", "")
	n.daemon = n.Run(n.root.Flags()...)
	n.daemon.WaitSaid(starting, "container runs without its network interface", 1)
	waitUntil(t, "what was begun is undone", promptly, func() bool { return len(n.calls("DEL")) == 1 })
	for _, pod := range n.manifest.Pods() {
		waitUnhealthy(t, n.manifest.Server(), pod.Namespace, pod.Name, "")
	}
	n.end(t)
}
