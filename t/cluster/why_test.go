package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sliced.test/cluster/harness"
)

// asKubectlPlugin runs a command of kubectl-sliced as kubectl does, with the user's kubeconfig.
func asKubectlPlugin(t *testing.T, kubeconfig string, arguments ...string) (stdout string, code int) {
	t.Helper()
	command := exec.Command(harness.KubectlPlugin(t), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG=/nowhere:"+kubeconfig)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Errorf("%v: %s", arguments, stderr.String())
	}
	return string(out), command.ProcessState.ExitCode()
}

// Turns red when what is said to keep a pod waiting is not what keeps it waiting: the pod runs once that is gone, and where
// it was said to be possible.
func TestWhyForAPendingPod(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Run()
	lab.History.WaitOffers(t, lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0"))), starting, vfs(pf0, 0, 4)...)
	lab.WaitSchedulerSees(scheduling)
	kubeconfig := shared.Server.AdminKubeconfig(t, lab.Namespace)

	lab.Server.NewPod(t, lab.Namespace, "holder", lab.Node, 3)
	lab.Server.WaitScheduled(t, lab.Namespace, "holder", scheduling)
	lab.Server.NewPod(t, lab.Namespace, "waits", lab.Node, 2)
	lab.Server.Unschedulable(t, lab.Namespace, "waits", scheduling)
	holder := lab.Namespace + "/" + lab.Server.Claim(t, lab.Namespace, "holder").Name

	type said struct {
		Verdict string
		Node    string
		Nodes   []struct {
			Name     string
			CanRun   bool
			Changes  []struct{ Asks, Claim, Text string }
			Requests []struct{ Matching, Allocated, Free int }
		}
	}
	ask := func(kind, name string, wanted int) said {
		t.Helper()
		text, code := asKubectlPlugin(t, kubeconfig, "why", kind, name, "-o", "json")
		if code != wanted {
			t.Fatalf("exit status %d, wanted %d: %s", code, wanted, text)
		}
		var out said
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return out
	}
	pending := ask("pod", "waits", 2)
	for _, node := range pending.Nodes {
		if node.CanRun {
			t.Errorf("a pending pod can run on %s", node.Name)
		}
		if node.Name != lab.Node {
			continue
		}
		if request := node.Requests[0]; request.Matching != 4 || request.Allocated != 3 || request.Free != 1 {
			t.Errorf("on its node: %+v", request)
		}
		if len(node.Changes) != 1 || node.Changes[0].Asks != "release" || node.Changes[0].Claim != holder {
			t.Errorf("what stands in the way: %+v, wanted the release of %s", node.Changes, holder)
		}
	}
	if text, _ := asKubectlPlugin(t, kubeconfig, "why", "pod", lab.Namespace+"/waits"); !strings.Contains(text, "delete pod "+lab.Namespace+"/holder, which has claim "+holder+" and has not started") {
		t.Errorf("as text:\n%s", text)
	}

	lab.Server.DeletePod(t, lab.Namespace, "holder")
	lab.Server.WaitReleased(t, lab.Namespace, "holder", scheduling)
	lab.Server.WaitScheduled(t, lab.Namespace, "waits", scheduling)
	if runs := ask("pod", "waits", 0); runs.Verdict != "runs" || runs.Node != lab.Node {
		t.Errorf("of a pod that runs: %+v", runs)
	}

	// What is said to be possible is: on the one node that is named.
	lab.Server.NewPod(t, lab.Namespace, "holder-2", lab.Node, 2)
	lab.Server.WaitScheduled(t, lab.Namespace, "holder-2", scheduling)
	lab.Server.NewPod(t, lab.Namespace, "next", lab.Node, 2)
	lab.Server.Unschedulable(t, lab.Namespace, "next", scheduling)
	lab.Server.DeletePod(t, lab.Namespace, "holder-2")
	for deadline := harness.Limit(); ; time.Sleep(20 * time.Millisecond) {
		text, code := asKubectlPlugin(t, kubeconfig, "why", "pod", "next", "-o", "json")
		if code == 0 {
			var out said
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(err)
			}
			for _, node := range out.Nodes {
				if node.CanRun != (node.Name == lab.Node) {
					t.Errorf("%s: can run %v", node.Name, node.CanRun)
				}
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still: %s", text)
		}
	}
	lab.Server.WaitScheduled(t, lab.Namespace, "next", scheduling)
}

// Turns red when a slip in a selector that is guarded, a configuration for another driver or a template that is not there is
// not what why says first, or a selector that only has to be corrected is to be loosened.
func TestWhyNamesAMisspelledAttribute(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Run()
	lab.History.WaitOffers(t, lab.Apply("vfs", harness.Config("intel", harness.PFNames("ens1f0"))), starting, vfs(pf0, 0, 4)...)
	kubeconfig := shared.Server.AdminKubeconfig(t, lab.Namespace)
	driver := "sriovnetwork.k8snetworkplumbingwg.io"
	claims := lab.Server.Client.ResourceV1().ResourceClaims(lab.Namespace)
	claim := func(name, expression string, config ...resource.DeviceClaimConfiguration) {
		t.Helper()
		_, err := claims.Create(context.Background(), &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resource.ResourceClaimSpec{Devices: resource.DeviceClaim{Config: config, Requests: []resource.DeviceRequest{{Name: "vf",
				Exactly: &resource.ExactDeviceRequest{DeviceClassName: harness.Class, AllocationMode: resource.DeviceAllocationModeExactCount, Count: 1,
					Selectors: []resource.DeviceSelector{{CEL: &resource.CELDeviceSelector{Expression: expression}}}}}}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	why := func(kind, name string) string {
		t.Helper()
		text, _ := asKubectlPlugin(t, kubeconfig, "why", kind, name)
		return text
	}
	claim("slip", `device.attributes["`+driver+`"].?pfName.orValue("") == "ens1f0"`)
	text := why("claim", "slip")
	if first := "claim " + lab.Namespace + "/slip is pending: selectors[0] of request vf reads pfName, which no device has; did you mean PFName?\n"; !strings.HasPrefix(text, first) ||
		!strings.Contains(text, "correct selectors[0] of request vf of claim "+lab.Namespace+"/slip: PFName, not pfName") || strings.Contains(text, "loosen") {
		t.Errorf("of a slip:\n%s", text)
	}
	claim("config", `device.attributes["`+driver+`"].?PFName.orValue("") == "ens1f0"`, resource.DeviceClaimConfiguration{
		DeviceConfiguration: resource.DeviceConfiguration{Opaque: &resource.OpaqueDeviceConfiguration{Driver: "dra.networking",
			Parameters: runtime.RawExtension{Raw: []byte(`{"apiVersion":"` + driver + `/v1alpha1","kind":"VfConfig","netAttachDefName":"net"}`)}}}})
	if text := why("claim", "config"); !strings.Contains(text, "ResourceClaim "+lab.Namespace+"/config: spec.devices.config[0].opaque.driver") {
		t.Errorf("of a configuration for another driver:\n%s", text)
	}
}
