package cluster

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sliced.test/cluster/harness"
)

// operator writes a node's SriovNetworkNodeState as the SR-IOV network operator does: its controller the spec and the drain
// annotations, its daemon on the node the status, by merge patches of the subresource and as a field manager of its own.
// Source: Reconcile and apply in pkg/daemon/daemon.go, updateSyncState in pkg/daemon/status.go (249e2001).
type operator struct {
	t   *testing.T
	lab *harness.Lab
}

func (o operator) want(numVfs int64) int64 {
	o.t.Helper()
	object := harness.Object(nodeStates, "SriovNetworkNodeState", o.lab.Namespace, o.lab.Node, M{"interfaces": L{M{
		"pciAddress": pf0.Address, "name": "ens1f0", "numVfs": numVfs, "externallyManaged": true,
		"vfGroups": L{M{"vfRange": "0-3", "deviceType": "netdevice", "resourceName": "r", "policyName": "p"}}}}})
	object.SetAnnotations(map[string]string{"sriovnetwork.openshift.io/current-state": "Idle", "sriovnetwork.openshift.io/desired-state": "Idle"})
	return o.lab.Server.Apply(o.t, nodeStates, object)
}

func (o operator) patch(manager string, patch M, subresources ...string) int64 {
	o.t.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		o.t.Fatal(err)
	}
	before := o.lab.Server.Revision(o.t)
	_, err = o.lab.Server.Dynamic.Resource(nodeStates).Namespace(o.lab.Namespace).Patch(context.Background(), o.lab.Node,
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}, subresources...)
	if err != nil {
		o.t.Fatal(err)
	}
	return before
}

// status is updateSyncState after updateStatusFromHost: the interfaces as they are found go with every change of syncStatus.
func (o operator) status(sync, lastError string, vfs int64) int64 {
	o.t.Helper()
	var failure any
	if lastError != "" {
		failure = lastError
	}
	return o.patch("sriov-network-config-daemon", M{"status": M{"syncStatus": sync, "lastSyncError": failure,
		"interfaces": L{M{"pciAddress": pf0.Address, "name": "ens1f0", "numVfs": vfs, "totalvfs": int64(8)}}}}, "status")
}

// Turns red when devices of an externally managed PF are offered, or prepared for a pod of before, after a reboot and before the
// operator has configured them: by a status of before the boot, by a write that is not the daemon's, by InProgress, or by Failed.
// Both ways to wait are played: the sign of the node and the condition of a policy.
func TestAStatusFromBeforeTheRebootIsNoSignal(t *testing.T) {
	t.Parallel()
	crd, err := harness.ReadYAML("testdata/sriovnetworknodestates.yaml")
	must(t, err)
	for _, row := range []struct {
		name      string
		readiness M
		flags     []string
		failed    string // what is said of a status Failed; "" the sign was seen, and is not looked at again in this boot
	}{
		{"sign", nil, []string{"--until-configured", "node-state"}, ""},
		{"condition", M{"require": L{"nodeState"}}, nil, "syncStatus Failed, lastSyncError: failed to configure GUID of VF 2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true})
			must(t, plane.Server.InstallCRDs(crd))
			lab := harness.NewLab(t, plane, pf0)
			mayReadNodeStates(t, lab)
			operator := operator{t, lab}
			all := vfs(pf0, 0, 4)
			if row.readiness == nil {
				lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
			} else {
				lab.ApplyReady("p", row.readiness, harness.Config("", harness.PFNames("ens1f0")))
			}
			root := lab.NewKubeletRoot()
			kubelet := root.Run()
			wiped(t, lab, kubelet)
			flags := append(append(root.Flags(), "--node-state-namespace", lab.Namespace), row.flags...)
			lab.Host.SetUptime(time.Hour)
			operator.want(4)
			daemon := lab.Run(flags...)
			waitRegistered(daemon, 1)
			explained := func(words string) {
				t.Helper()
				waitUntil(t, "explain says "+words, promptly, func() bool {
					out, _, _ := lab.Command("explain", append([]string{harness.VFAddress(pf0.Address, 1), "--node-state-namespace", lab.Namespace}, row.flags...)...)
					return strings.Contains(out, words)
				})
			}
			explained("syncStatus is not set: the SR-IOV network operator has not configured this node yet")
			operator.status("InProgress", "", 4)
			explained("syncStatus InProgress: the SR-IOV network operator is configuring this node")
			lab.History.NeverOffered(t, 0, all[0])
			rv := operator.status("Succeeded", "", 4)
			lab.History.WaitOffers(t, rv, promptly, all...)
			lab.Server.NewPod(t, lab.Namespace, "p", lab.Node, 1)
			waitRunning(t, lab, "p")

			// A restart in the same boot: the status did not change since, and is of this boot.
			rv = lab.Server.Revision(t)
			daemon.Term(promptly)
			daemon = lab.Run(flags...)
			waitRegistered(daemon, 1)
			daemon.WaitLog(starting, "decided")
			lab.History.NeverBelow(t, rv, all...)

			// The reboot: the object is as it was, and a script makes the VFs before the operator starts.
			kubelet.Kill()
			daemon.Kill()
			must(t, os.RemoveAll(root.Path+"/cdi"))
			lab.Host.SetVFs(pf0.Address, 0)
			lab.Host.Reboot()
			lab.Host.SetUptime(time.Second)
			lab.Host.SetVFs(pf0.Address, 4)
			created := len(root.Created())
			rv = lab.Server.Revision(t)
			root.Run()
			daemon = lab.Run(flags...)
			waitRefused(t, lab, "p", "with no evidence that the SR-IOV network operator has configured this node since it booted")
			lab.History.Wait(t, "what was published is withdrawn", rv, starting, func(s harness.PoolState) bool { return len(s.Names()) == 0 })
			withdrawn := lab.Server.Revision(t)
			explained("kubectl -n " + lab.Namespace + " delete pod -l app=sriov-network-config-daemon")

			// What others write is not evidence: the daemon's annotation for an external drainer, the controller's spec.
			operator.patch("sriov-network-config-daemon", M{"metadata": M{"annotations": M{"sriovnetwork.openshift.io/use-external-drainer": "true"}}})
			operator.want(3)
			operator.want(4)
			operator.status("InProgress", "", 4)
			explained("syncStatus InProgress")
			for i := range 4 {
				lab.Host.Rebind(harness.VFAddress(pf0.Address, i), "iavf")
			}
			// The event of the bridge follows those of the drivers: a decision that has it has been made with them.
			lab.Host.AddBridge("after")
			verdicts := ""
			waitUntil(t, "the daemon has decided on a bridge that was made after the drivers were bound", promptly, func() bool {
				verdicts, _, _ = lab.Program("status", "verdicts")
				return strings.Contains(verdicts, "after")
			})
			lab.History.NeverOffered(t, withdrawn, all[0])
			if len(root.Created()) != created {
				t.Errorf("a container was made before the operator had configured the node: %v", root.Created()[created:])
			}
			rv = operator.status("Failed", "failed to configure GUID of VF 2", 4)
			explained("syncStatus Failed, lastSyncError: failed to configure GUID of VF 2")
			lab.History.NeverOffered(t, withdrawn, all[0])
			// The next round keeps the error until it succeeds.
			operator.status("InProgress", "failed to configure GUID of VF 2", 4)
			rv = operator.status("Succeeded", "", 4)
			lab.History.WaitOffers(t, rv, reconnecting, all...)
			waitUntil(t, "the pod has its container again", promptly, func() bool { return len(root.Created()) > created })

			rv = operator.status("Failed", "failed to configure GUID of VF 2", 4)
			out, errs, code := lab.Program("drift", "--cluster", "kubeconfig:"+lab.Config, "--node-name", lab.Node, "--host", lab.Host.Root,
				"--node-state-namespace", lab.Namespace)
			first, _, _ := strings.Cut(out, "\n")
			if code != 0 || !strings.Contains(first, "syncStatus Failed, lastSyncError: failed to configure GUID of VF 2") {
				t.Errorf("drift ended with %d, and its first line is not the object's status:\n%s%s", code, out, errs)
			}
			if row.failed == "" {
				return
			}
			lab.History.Wait(t, "a node that the operator could not configure offers nothing", rv, promptly,
				func(s harness.PoolState) bool { return len(s.Names()) == 0 })
			explained(row.failed)
		})
	}
}
