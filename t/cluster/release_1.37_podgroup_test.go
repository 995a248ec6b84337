//go:build !kube1.34 && !kube1.35 && !kube1.36

package cluster

import (
	"context"
	"testing"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	podgroups "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// Turns red when pods of a PodGroup do not start: their claim is reserved for the group, and no pod is in status.reservedFor.
func TestAClaimOfAPodGroupIsPrepared(t *testing.T) {
	t.Parallel()
	const gates = "GenericWorkload=true,DRAWorkloadResourceClaims=true"
	plane := harness.NewPlane(t, harness.Options{Scheduler: true, ControllerManager: true, Everywhere: []string{"--feature-gates=" + gates},
		Flags: []string{"--runtime-config=scheduling.k8s.io/v1beta1=true"}})
	lab := harness.NewLab(t, plane, near)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	root.Gates = gates
	wiped(t, lab, root.Run())
	daemon := lab.Run(root.Flags()...)
	lab.History.WaitOffers(t, 0, starting, vfs(near, 0, 4)...)
	waitRegistered(daemon, 1)

	ctx, template, group := context.Background(), "vf", "training"
	lab.Server.NewTemplate(t, lab.Namespace, template, resource.ResourceClaimSpec{Devices: resource.DeviceClaim{Requests: []resource.DeviceRequest{{Name: "vf",
		Exactly: &resource.ExactDeviceRequest{DeviceClassName: harness.Class, AllocationMode: resource.DeviceAllocationModeExactCount, Count: 1}}}}})
	_, err := lab.Server.Client.SchedulingV1beta1().PodGroups(lab.Namespace).Create(ctx, &podgroups.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: group},
		Spec: podgroups.PodGroupSpec{SchedulingPolicy: podgroups.PodGroupSchedulingPolicy{Basic: &podgroups.BasicSchedulingPolicy{}},
			ResourceClaims: []podgroups.PodGroupResourceClaim{{Name: "net", ResourceClaimTemplateName: &template}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"worker-0", "worker-1"} {
		no := false
		_, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Create(ctx, &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: core.PodSpec{
			AutomountServiceAccountToken: &no, NodeSelector: map[string]string{"kubernetes.io/hostname": lab.Node},
			SchedulingGroup: &core.PodSchedulingGroup{PodGroupName: &group},
			ResourceClaims:  []core.PodResourceClaim{{Name: "net", ResourceClaimTemplateName: &template}},
			Containers:      []core.Container{{Name: "c", Image: "example.test/none", Resources: core.ResourceRequirements{Claims: []core.ResourceClaim{{Name: "net"}}}}},
		}}, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Fatal(err)
		}
	}
	waitRunning(t, lab, "worker-0")
	waitRunning(t, lab, "worker-1")
	claims := lab.Server.Claims(t, lab.Namespace)
	if len(claims) != 1 {
		t.Fatalf("%d claims, want the group's alone", len(claims))
	}
	for name, claim := range claims {
		if by := claim.Status.ReservedFor; len(by) != 1 || by[0].Resource != "podgroups" || by[0].Name != group {
			t.Fatalf("%s is reserved for %v", name, by)
		}
	}
	if prepared := daemon.Said("claim prepared"); prepared != 1 {
		t.Errorf("%d claims were prepared for a group with one", prepared)
	}
	lab.Server.EndPod(t, lab.Namespace, "worker-0")
	if len(root.SpecFiles()) == 0 {
		t.Error("the claim is unprepared, and worker-1 runs")
	}
	lab.Server.EndPod(t, lab.Namespace, "worker-1")
	waitUntil(t, "no CDI spec is left", promptly, func() bool { return len(root.SpecFiles()) == 0 })
}
