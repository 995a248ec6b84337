package guest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// scenario is a manifest on the node, its pods in a namespace of its own.
type scenario struct {
	*node
	t        *testing.T
	manifest *harness.Manifest
}

// apply makes the objects of a manifest; its pods end with the scenario.
func (n *node) apply(t *testing.T, name string) *scenario {
	t.Helper()
	mine := *n.Lab
	mine.T = t
	manifest := mine.ReadManifest(name + ".yaml")
	manifest.Namespace = name + "-" + n.Node
	return n.applyManifest(t, manifest)
}

// applyExamples makes the objects of examples of docs/pods.md, for the PF of the guest.
func (n *node) applyExamples(t *testing.T, names ...string) *scenario {
	t.Helper()
	mine := *n.Lab
	mine.T = t
	return n.applyManifest(t, mine.ReadExamples(podsPage, names, "apps-"+n.Node, n.nameOfPF(t), "example.test/toolbox:1", core.PullNever))
}

func (n *node) applyManifest(t *testing.T, manifest *harness.Manifest) *scenario {
	t.Helper()
	s := &scenario{node: n, t: t, manifest: manifest}
	t.Cleanup(func() {
		if t.Failed() {
			s.tell()
		}
		s.manifest.DeletePods()
		s.manifest.DeleteRest()
		s.wait(t, "the namespace is gone", func() bool {
			_, err := s.Server.Client.CoreV1().Namespaces().Get(context.Background(), s.manifest.Namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	})
	s.manifest.Furnish()
	s.manifest.ApplyPods()
	return s
}

// running returns the pods once all of them run with at least so many restarts.
func (s *scenario) running(restarts int32) []core.Pod {
	s.t.Helper()
	var pods []core.Pod
	s.wait(s.t, fmt.Sprintf("pods run, after %d restarts", restarts), func() bool {
		pods = s.manifest.Pods()
		for _, pod := range pods {
			if pod.Status.Phase != core.PodRunning || len(pod.Status.ContainerStatuses) == 0 {
				return false
			}
			for _, container := range pod.Status.ContainerStatuses {
				if container.State.Running == nil || container.RestartCount < restarts {
					return false
				}
			}
		}
		return len(pods) > 0
	})
	return pods
}

// allocated is the address of the first function of a pod's claim, by the claim's name in the pod.
func (s *scenario) allocated(pod core.Pod, name string) string {
	s.t.Helper()
	return s.allAllocated(pod, name)[0]
}

// allAllocated are the addresses of all of them, in the allocation's order.
func (s *scenario) allAllocated(pod core.Pod, name string) (addresses []string) {
	s.t.Helper()
	for _, result := range s.claim(pod, name).Status.Allocation.Devices.Results {
		at := []byte(result.Device)
		at[4], at[7], at[10] = ':', ':', '.'
		addresses = append(addresses, string(at))
	}
	return addresses
}

func (s *scenario) claim(pod core.Pod, name string) *resource.ResourceClaim {
	s.t.Helper()
	for _, status := range pod.Status.ResourceClaimStatuses {
		if status.Name == name {
			return s.Server.Claims(s.t, pod.Namespace)[*status.ResourceClaimName]
		}
	}
	s.t.Fatalf("pod %s has no claim %s", pod.Name, name)
	return nil
}

// said is what a pod's container wrote, in its n-th life, up to its line "end".
func (s *scenario) said(pod core.Pod, life int32) string {
	s.t.Helper()
	log := fmt.Sprintf("/var/log/pods/%s_%s_%s/%s/%d.log", pod.Namespace, pod.Name, pod.UID, pod.Spec.Containers[0].Name, life)
	text := ""
	s.wait(s.t, "the container has said what it sees", func() bool {
		text = s.guest.Run(s.t, "cut -d' ' -f4- "+log+" || true")
		return strings.HasSuffix(text, "\nend")
	})
	return text
}

// waitSaid returns when the first life of a pod's container has written all of these.
func (s *scenario) waitSaid(pod core.Pod, wants ...string) {
	s.t.Helper()
	log := fmt.Sprintf("/var/log/pods/%s_%s_%s/%s/0.log", pod.Namespace, pod.Name, pod.UID, pod.Spec.Containers[0].Name)
	s.wait(s.t, fmt.Sprintf("the container has written %q", wants), func() bool {
		text := s.guest.Run(s.t, "cut -d' ' -f4- "+log+" || true")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				return false
			}
		}
		return true
	})
}

// end deletes the pods of scenarios, and returns when nothing is left of them.
func (n *node) end(t *testing.T, all ...*scenario) {
	t.Helper()
	for _, s := range all {
		s.manifest.DeletePods()
	}
	for _, s := range all {
		s.gone()
	}
	n.wait(t, "nothing of claims is left", func() bool { return n.kept(t) == "" })
}

func (s *scenario) gone() {
	s.t.Helper()
	s.wait(s.t, "all pods are gone", func() bool { return len(s.manifest.Pods()) == 0 })
}

// kept are the files that the daemon keeps for claims and for what runs in their pods.
func (n *node) kept(t *testing.T) string {
	t.Helper()
	return n.guest.Run(t, "cd /var/lib/kubelet/plugins; find /var/run/cdi */interfaces */dra-device-metadata -type f 2>/dev/null || true")
}

// killContainers ends the first process of each container that has a VF's interface.
func (s *scenario) killContainers() {
	s.t.Helper()
	s.guest.Run(s.t, `killed=1
for pid in $(pidof sleep); do
  grep -q SRIOVNETWORK_NET_ATTACH_DEF_NAME=tenants /proc/$pid/environ && kill -KILL $pid && killed=0
done
exit $killed`)
}

func (s *scenario) tell() {
	for _, pod := range s.manifest.Pods() {
		s.t.Logf("pod %s: %s %+v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses)
	}
	list, err := s.Server.Client.CoreV1().Events(s.manifest.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		s.t.Logf("events: %v", err)
		return
	}
	for _, event := range list.Items {
		s.t.Logf("%s %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
	}
}
