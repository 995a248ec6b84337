package cluster

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sliced.test/cluster/harness"
)

// slice is a well-formed slice as the daemon of node would publish it.
func slice(name, driver, node, pool string, generation int64, devices ...string) *resource.ResourceSlice {
	s := &resource.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resource.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resource.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: 1}}}
	for _, d := range devices {
		s.Spec.Devices = append(s.Spec.Devices, resource.Device{Name: d})
	}
	return s
}

// Turns red when the judges themselves are broken: a pod is not allocated a device that is there, the history
// misses a state, or the audit log misses a write or its author.
func TestHarnessChecksAnInvalidSlice(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, harness.E810("03", "ens1f0", 2))
	began := time.Now()
	client := kubernetes.NewForConfigOrDie(shared.Server.RESTConfig(lab.User)).ResourceV1().ResourceSlices()
	ctx := context.Background()
	before := shared.Server.Revision(t)
	made, err := client.Create(ctx, slice("00000-"+lab.Node, harness.Driver, lab.Node, lab.Node, 1), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lab.History.WaitOffers(t, before, harness.Patience)

	shared.Server.NewPod(t, lab.Namespace, "p", lab.Node, 1)
	shared.Server.Unschedulable(t, lab.Namespace, "p", harness.Patience)
	before = shared.Server.Revision(t)
	made.Spec.Devices = []resource.Device{{Name: "a"}}
	if made, err = client.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.History.WaitOffers(t, before, harness.Patience, "a")
	results := shared.Server.WaitScheduled(t, lab.Namespace, "p", harness.Patience)
	if len(results) != 1 || results[0].Device != "a" || results[0].Pool != lab.Node {
		t.Fatalf("allocated %+v", results)
	}

	before = shared.Server.Revision(t)
	if err := client.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.History.Wait(t, "no slice", before, harness.Patience, func(s harness.PoolState) bool { return len(s.Slices) == 0 })
	if n := len(lab.History.States(t, 0)); n != 4 { // nothing, empty, one device, nothing
		t.Errorf("the history has %d states", n)
	}
	writes := shared.Server.Audit.Writes(t, lab.User, began)
	if len(writes) != 3 || writes[0].Verb != "create" || writes[1].Verb != "update" || writes[2].Verb != "delete" {
		t.Fatalf("audit: %+v", writes)
	}
	if sent := writes[1].Slice(t); len(sent.Spec.Devices) != 1 || writes[1].Answer.Code != 200 {
		t.Errorf("audit of the update: %+v", writes[1])
	}
}

// Turns red when a test fails because a component gave up by itself on a slow machine: kube-apiserver does so when etcd does not
// answer for 30 s, kube-controller-manager when the API server does not for 10 s.
func TestHarnessStartsAComponentAgainAfterItsTimeLimit(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{ControllerManager: true, NoCRDs: true})
	until := func(name string) {
		for deadline := harness.Limit(); !slices.Contains(plane.StartedAgain(), name); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("waited for %s to be started again; started again: %v", name, plane.StartedAgain())
			}
		}
	}
	plane.Server.Pause()
	plane.RestartOthers(t)
	until("controller-manager")
	plane.Server.Kill(t)

	plane.PauseEtcd()
	defer plane.ResumeEtcd()
	ready := make(chan error)
	go func() { ready <- plane.Server.Start() }()
	until("apiserver")
	plane.ResumeEtcd()
	if err := <-ready; err != nil {
		t.Fatal(err)
	}

	// The controllers work again: they delete what is left in a namespace.
	client, ctx := plane.Server.Client.CoreV1().Namespaces(), harness.Patient(t)
	if _, err := client.Create(ctx, &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(ctx, "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := client.Get(ctx, "gone", metav1.GetOptions{}); errors.IsNotFound(err) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Turns red when a component that can never start is started again and again.
func TestHarnessReportsAComponentThatCannotStart(t *testing.T) {
	t.Parallel()
	plane, err := harness.StartPlane(harness.Options{Flags: []string{"--no-such-flag"}})
	if err == nil {
		plane.Stop(false)
		t.Fatal("started")
	}
	if !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Error(err)
	}
}

// Turns red when the time for which a process waits for a processor is not counted.
func TestAProcessThatWaitsForAProcessorIsSeen(t *testing.T) {
	start := func(script string) *harness.Process {
		// All on one processor, so that those that count wait for one another.
		p, err := harness.StartProcess("sh", filepath.Join(t.TempDir(), "log"), "/usr/bin/taskset", "-c", "0", "/bin/sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		return p
	}
	counts, alsoCounts := start("while :; do :; done"), start("while :; do :; done")
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		ran, waited := counts.Scheduled()
		_, alsoWaited := alsoCounts.Scheduled()
		if ran > 0 && waited > time.Second && alsoWaited > time.Second {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it ran %v and waited %v", ran, waited)
		}
	}
}
