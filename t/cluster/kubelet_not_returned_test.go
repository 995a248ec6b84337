package cluster

import (
	"context"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// Turns red when a device that could not be given back, and whose claim is gone, stays offered, when `explain` has not the reason,
// when a restart forgets it, or when the daemon does not give it back without a kubelet once that is possible.
func TestADeviceThatCouldNotBeRestoredIsWithheld(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.newPod("first")
	v.judgeRuns("first", "its start")
	device := v.Server.Claim(t, v.manifest.Namespace, "first").Status.Allocation.Devices.Results[0].Device
	var address string
	var others []string
	for i := range 4 {
		if one := harness.VFAddress(near.Address, i); harness.DeviceName(one) == device {
			address = one
		} else {
			others = append(others, harness.DeviceName(one))
		}
	}
	v.kernel.Refuse(func(write string) syscall.Errno {
		if strings.Contains(write, address) {
			return syscall.EBUSY
		}
		return 0
	})
	// As an administrator deletes a pod that stays Terminating.
	v.delete("first")
	v.daemon.WaitSaid(harness.Patience, "claim not released", 1)
	err := v.Server.Client.CoreV1().Pods(v.manifest.Namespace).Delete(context.Background(), "first", *metav1.NewDeleteOptions(0))
	if err != nil {
		t.Fatal(err)
	}
	v.judgeGone("first")
	withheld := v.History.WaitOffers(t, v.offered.RV, promptly, others...)
	explains := func(when string) {
		t.Helper()
		if said, errs, _ := v.Command("explain", "--kubelet-plugins-directory-path", v.root.Path+"/plugins", address); !strings.Contains(said, "it could not be restored: ") {
			t.Errorf("%s explain says: %s%s", when, said, errs)
		}
	}
	explains("with the first daemon")
	v.kubelet.Kill()
	v.daemon.Kill()
	v.daemon = v.Run(v.root.Flags()...)
	v.daemon.WaitSaid(harness.Patience, "claim not released", 1)
	explains("after a restart")
	if states := v.History.States(t, withheld.RV); len(states) > 1 {
		t.Errorf("it was offered again: %s", states[1])
	}
	v.kernel.Refuse(nil)
	v.History.WaitOffers(t, withheld.RV, promptly, vfs(near, 0, 4)...)
	if driver := v.kernel.Driver(address); driver != "iavf" {
		t.Errorf("%s is bound to %q", address, driver)
	}
	waitUntil(t, "no CDI spec is left", promptly, func() bool { return len(v.root.SpecFiles()) == 0 })
}
