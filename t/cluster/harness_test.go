package cluster

import (
	"context"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
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
