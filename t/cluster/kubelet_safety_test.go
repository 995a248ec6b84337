package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"sliced.test/cluster/harness"
)

// allocateByHand makes a claim that is allocated these devices ("driver/pool/device") whatever else is, as a scheduler does
// that knows no counters, and a pod of it on the lab's node.
func allocateByHand(t *testing.T, lab *harness.Lab, name string, devices ...string) *resource.ResourceClaim {
	t.Helper()
	ctx, claims := context.Background(), lab.Server.Client.ResourceV1().ResourceClaims(lab.Namespace)
	spec := resource.ResourceClaimSpec{}
	allocation := &resource.AllocationResult{}
	for i, device := range devices {
		driver, rest, _ := strings.Cut(device, " ")
		pool, entry, _ := strings.Cut(rest, " ")
		request := fmt.Sprintf("r%d", i)
		spec.Devices.Requests = append(spec.Devices.Requests, resource.DeviceRequest{Name: request, Exactly: &resource.ExactDeviceRequest{
			DeviceClassName: driver, AllocationMode: resource.DeviceAllocationModeExactCount, Count: 1}})
		allocation.Devices.Results = append(allocation.Devices.Results, resource.DeviceRequestAllocationResult{
			Request: request, Driver: driver, Pool: pool, Device: entry})
	}
	claim, err := claims.Create(ctx, &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	pod, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Create(ctx, &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: core.PodSpec{
		AutomountServiceAccountToken: &no, NodeSelector: map[string]string{"kubernetes.io/hostname": lab.Node},
		SchedulerName: "nobody", ResourceClaims: []core.PodResourceClaim{{Name: "net", ResourceClaimName: &name}},
		Containers: []core.Container{{Name: "c", Image: "example.test/none",
			Resources: core.ResourceRequirements{Claims: []core.ResourceClaim{{Name: "net"}}}}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if claim, err = claims.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		claim.Finalizers = []string{"resource.kubernetes.io/delete-protection"}
		if claim, err = claims.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return err
		}
		claim.Status.Allocation = allocation
		claim.Status.ReservedFor = []resource.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: pod.UID}}
		_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	binding := &core.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: core.ObjectReference{Kind: "Node", Name: lab.Node}}
	if err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return claim
}

// waitRefused waits until the kubelet says of the pod what the daemon says.
func waitRefused(t *testing.T, lab *harness.Lab, pod string, words ...string) {
	t.Helper()
	said := ""
	waitUntil(t, fmt.Sprintf("pod %s is refused: %v", pod, words), promptly, func() bool {
		events, err := lab.Server.Client.CoreV1().Events(lab.Namespace).List(context.Background(),
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod + ",reason=FailedPrepareDynamicResources"})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events.Items {
			said = event.Message
			has := 0
			for _, word := range words {
				if strings.Contains(said, word) {
					has++
				}
			}
			if has == len(words) {
				return true
			}
		}
		return false
	})
}

// excludes are pairs of entries of one card that nobody may have at the same time; "vf" and "pf" are those of
// DeviceExposurePolicies, "sriov" is a VF of the other driver.
var excludes = [][2]string{{"vf", "pf"}, {"pf", "sriov"}, {"macvlan", "pf"}, {"vf", "sriov"}, {"vf", "vf"}, {"sriov", "pf"}, {"pf", "vf"}}

// Turns red when a scheduler that counts nothing gets through with what excludes each other: the rule that counters express
// holds at prepare, and the refusal names the other claim.
func TestPreparedExcludes(t *testing.T) {
	t.Parallel()
	preparedExcludes(t, exposingPlane(t))
}

// The same of servers that know no counters: one of two that exclude each other is not offered there, and still it may have been
// allocated before.
func TestPreparedExcludesWithoutCounters(t *testing.T) {
	t.Parallel()
	preparedExcludes(t, harness.NewPlane(t, harness.Options{ControllerManager: true, Everywhere: gatesRows["no counters"]}))
}

func preparedExcludes(t *testing.T, plane *harness.Plane) {
	t.Helper()
	var cards []harness.PF
	for i := range excludes {
		cards = append(cards, harness.E810(fmt.Sprintf("%02x", 3+i), fmt.Sprintf("ens%df0", i+1), 1))
	}
	lab := harness.NewLab(t, plane, cards...)
	lab.Apply("vfs", harness.Config(""))
	lab.Expose("pf", wholePF)
	lab.Expose("vf", eachVF)
	lab.Expose("macvlan", macvlans)
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	waitRegistered(lab.Run(root.Flags()...), 1)
	entry := func(card int, kind string) string {
		pf := harness.DeviceName(cards[card].Address)
		if kind == "sriov" {
			return harness.Driver + " " + lab.Node + " " + vfs(cards[card], 0, 1)[0]
		}
		name := map[string]string{"vf": vfs(cards[card], 0, 1)[0], "pf": pf, "macvlan": pf + "-macvlan"}[kind]
		return harness.ExposureDriver + " " + lab.Node + "/" + pf + " " + name
	}
	each := func(do func(first, second string)) {
		for i := range excludes {
			do(fmt.Sprintf("first-%d", i), fmt.Sprintf("second-%d", i))
		}
	}
	for i, pair := range excludes {
		allocateByHand(t, lab, fmt.Sprintf("first-%d", i), entry(i, pair[0]))
	}
	each(func(first, _ string) { waitRunsSoon(t, lab, lab.Namespace, first, "nothing") })
	for i, pair := range excludes {
		allocateByHand(t, lab, fmt.Sprintf("second-%d", i), entry(i, pair[1]))
	}
	each(func(first, second string) {
		waitRefused(t, lab, second, "ResourceClaim "+lab.Namespace+"/"+first+" ", "is prepared for")
	})
	if created := root.Created(); len(created) != len(excludes) {
		t.Errorf("containers were created of what is refused: %+v", created)
	}
	// What is taken back is free for who has waited.
	each(func(first, _ string) { lab.Server.EndPod(t, lab.Namespace, first) })
	each(func(first, second string) { waitRunsSoon(t, lab, lab.Namespace, second, "the end of "+first) })
	each(func(_, second string) { lab.Server.EndPod(t, lab.Namespace, second) })
	waitUntil(t, "no CDI spec is left", promptly, func() bool { return len(root.SpecFiles()) == 0 })
}
