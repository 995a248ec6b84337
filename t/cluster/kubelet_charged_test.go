package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"sliced.test/cluster/harness"
)

// keepClaim makes another pod, which never runs, a consumer of the claim: who runs may end, and the claim stands.
func keepClaim(t *testing.T, lab *harness.Lab, name string) {
	t.Helper()
	ctx, claims := context.Background(), lab.Server.Client.ResourceV1().ResourceClaims(lab.Namespace)
	no := false
	pod, err := lab.Server.Client.CoreV1().Pods(lab.Namespace).Create(ctx, &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-next"}, Spec: core.PodSpec{
			AutomountServiceAccountToken: &no, SchedulerName: "nobody",
			ResourceClaims: []core.PodResourceClaim{{Name: "net", ResourceClaimName: &name}},
			Containers:     []core.Container{{Name: "c", Image: "example.test/none"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		claim, err := claims.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		claim.Status.ReservedFor = append(claim.Status.ReservedFor,
			resource.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Turns red when a device that was taken back is given away while its claim stands, or comes back with a list of all claims
// only.
func TestAClaimAloneFreesAReservation(t *testing.T) {
	t.Parallel()
	names := []string{"stands", "ends"}
	cards := []harness.PF{harness.E810("03", "ens1f0", 1), harness.E810("04", "ens2f0", 1)}
	lab := harness.NewLab(t, exposingPlane(t), cards...)
	lab.Expose("own", eachVF)
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	daemon := lab.Run(root.Flags()...)
	waitRegistered(daemon, 1)
	for i, name := range names {
		pool := harness.ExposureDriver + " " + lab.Node + "/" + harness.DeviceName(cards[i].Address) + " "
		allocateByHand(t, lab, name, pool+vfs(cards[i], 0, 1)[0])
		lab.Server.NewTemplate(t, lab.Namespace, "whole-"+name,
			claim(harness.ExposureDriver, plugin("host_device")+" && "+attributes+`.ifName == "`+cards[i].Name+`"`, 1, nil))
	}
	for _, name := range names {
		waitRunsSoon(t, lab, lab.Namespace, name, "nothing")
	}
	keepClaim(t, lab, "stands")

	readOf := func(name string, after time.Time) func() bool {
		return func() bool {
			return len(lab.Server.Audit.Requests(t, func(r harness.Request) bool {
				return r.Verb == "get" && r.Ref.Resource == "resourceclaims" && r.Ref.Name == name && r.Stage == "ResponseComplete" &&
					strings.HasPrefix(r.UserAgent, "sliced") && r.Received.After(after)
			})) > 0
		}
	}
	withdrawn := time.Now()
	lab.Expose("own", wholePF)
	for _, name := range names {
		waitUntil(t, "the claim of "+name+", which runs, is read", returning, readOf(name, withdrawn))
	}

	ended := time.Now()
	for _, name := range names {
		lab.Server.EndPod(t, lab.Namespace, name)
	}
	waitUntil(t, "both are taken back", promptly, func() bool { return len(root.SpecFiles()) == 0 })
	daemon.WaitLog(promptly, "its ResourceClaim is deallocated", harness.DeviceName(cards[1].Address))
	waitUntil(t, "the claim that stands is read", promptly, readOf("stands", ended))
	for _, name := range names {
		lab.Server.NewPodOf(t, lab.Namespace, "whole-"+name, lab.Node, "whole-"+name)
	}
	lab.Server.WaitScheduled(t, lab.Namespace, "whole-ends", scheduling)
	lab.Server.Unschedulable(t, lab.Namespace, "whole-stands", scheduling)
	lab.Server.DeletePod(t, lab.Namespace, "stands-next")
	lab.Server.WaitScheduled(t, lab.Namespace, "whole-stands", returning)
}
