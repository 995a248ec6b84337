package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

const podsPage = "../../docs/pods.md"

// pageExample is what an example of docs/pods.md gives to its container, beside what waitAllRun requires.
type pageExample struct {
	plugin   string   // the CNI plugin that must be called, once for each device; "" none
	devices  int      // that the claim is allocated
	nodes    []string // device nodes of the container, as patterns of their beginnings
	exposing bool     // its policy is a DeviceExposurePolicy
	suffix   string   // of the names of its devices: of that policy and no other
	rdma     bool     // the PF has an RDMA device
	refused  string   // what an Event of its pod says: the sandboxes here have no network namespace, so sliced cannot attach by itself
}

var pageExamples = map[string]pageExample{
	"native":  {devices: 1, refused: "the pod's network namespace is another kind of file"},
	"sriov":   {plugin: "sriov", devices: 1},
	"vfio":    {devices: 1, nodes: []string{"/dev/vfio/"}},
	"macvlan": {plugin: "macvlan", devices: 1, exposing: true, suffix: "-macvlan"},
	"rdma":    {plugin: "macvlan", devices: 1, nodes: []string{"/dev/infiniband/uverbs0"}, exposing: true, suffix: "-rdma", rdma: true},
	"numa":    {devices: 2, nodes: []string{"/dev/vfio/"}},
}

// Turns red when an example of docs/pods.md, applied as the page has it, does not start its pod with what the page promises, or when
// the page has an example that nothing here expects.
func TestExamplesOfThePodsPage(t *testing.T) {
	t.Parallel()
	names, err := harness.Examples(podsPage)
	if err != nil {
		t.Fatal(err)
	}
	for name := range pageExamples {
		if !slices.Contains(names, name) {
			t.Errorf("the page has no example %s", name)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, ok := pageExamples[name]
			if !ok {
				t.Fatal("no row of pageExamples is for it")
			}
			want.play(t, name)
		})
	}
}

func (e pageExample) play(t *testing.T, name string) {
	plane := shared
	if e.exposing {
		plane = exposingPlane(t)
	}
	lab := harness.NewLab(t, plane, near, far)
	if e.exposing {
		lab.Exposed = harness.NewHistory(t, lab.Watcher, harness.ExposureDriver, lab.Node)
	}
	lab.RunAsDeployed()
	if e.rdma {
		lab.Host.AddRDMA(near.Address, "mlx5_0", 0)
	}
	lab.Host.PlayKernel()
	manifest := lab.ReadExample(podsPage, name, near.Name, "example.test/toolbox:1", core.PullIfNotPresent)
	manifest.Furnish()
	t.Cleanup(manifest.DeleteRest)
	root := lab.NewKubeletRoot()
	root.TellOfPods()
	if e.plugin != "" {
		root.WritePlugin(e.plugin, "")
	}
	wiped(t, lab, root.Run())
	daemon := lab.Run(root.Flags()...)
	waitRegistered(daemon, 1)
	manifest.ApplyPods()
	if e.exposing && !abilitiesOf(t, plane.Server).shares {
		waitAllRefused(t, manifest, map[string]podRow{name: {pods: 1}}, "cannot allocate all claims")
		manifest.DeletePods()
		return
	}
	if e.refused != "" {
		e.judgeRefused(t, lab, manifest)
		endPods(t, lab, root, manifest)
		return
	}
	pod := waitAllRun(t, manifest, map[string]podRow{name: {pods: 1}})[0]
	e.judge(t, lab, root, pod)
	endPods(t, lab, root, manifest)
}

// Turns red when the examples of the page, applied together to one node, do not all start, or when a claim of one is allocated the device that
// the policy of another offers.
func TestTheExamplesOfThePodsPageRunTogether(t *testing.T) {
	t.Parallel()
	plane := exposingPlane(t)
	names, err := harness.Examples(podsPage)
	must(t, err)
	if !abilitiesOf(t, plane.Server).shares { // then TestExamplesOfThePodsPage judges that these are refused
		names = slices.DeleteFunc(names, func(name string) bool { return pageExamples[name].exposing })
	}
	names = slices.DeleteFunc(names, func(name string) bool { return pageExamples[name].refused != "" })
	lab := harness.NewLab(t, plane, near, far)
	lab.Exposed = harness.NewHistory(t, lab.Watcher, harness.ExposureDriver, lab.Node)
	lab.RunAsDeployed()
	lab.Host.AddRDMA(near.Address, "mlx5_0", 0)
	lab.Host.PlayKernel()
	manifest := lab.ReadExamples(podsPage, names, "apps-"+lab.Node, near.Name, "example.test/toolbox:1", core.PullIfNotPresent)
	manifest.Furnish()
	t.Cleanup(manifest.DeleteRest)
	root := lab.NewKubeletRoot()
	root.TellOfPods()
	root.WritePlugin("sriov", "")
	root.WritePlugin("macvlan", "")
	wiped(t, lab, root.Run())
	waitRegistered(lab.Run(root.Flags()...), 1)
	manifest.ApplyPods()
	rows := map[string]podRow{}
	for _, name := range names {
		rows[name] = podRow{pods: 1}
	}
	for _, pod := range waitAllRun(t, manifest, rows) {
		name := strings.Replace(pod.Name, "dpdk", "vfio", 1)
		want, ok := pageExamples[name]
		if !ok {
			t.Fatalf("no row of pageExamples is for pod %s", pod.Name)
		}
		want.judgeDevices(t, lab, pod)
	}
	endPods(t, lab, root, manifest)
}

func endPods(t *testing.T, lab *harness.Lab, root *harness.KubeletRoot, manifest *harness.Manifest) {
	t.Helper()
	manifest.DeletePods()
	waitUntil(t, "all pods are gone", promptly, func() bool { return len(manifest.Pods()) == 0 })
	waitUntil(t, "no CDI spec is left", promptly, func() bool { return len(root.SpecFiles()) == 0 })
	lab.Server.WaitDeallocated(t, manifest.Namespace, promptly)
}

// judgeRefused judges all before the attachment: the claim is allocated and prepared, with what its class and itself set, and the runtime is refused the
// sandbox for the expected reason alone.
func (e pageExample) judgeRefused(t *testing.T, lab *harness.Lab, manifest *harness.Manifest) {
	t.Helper()
	waitUntil(t, "the sandbox is refused: "+e.refused, scheduling, func() bool {
		list, err := manifest.Server().Client.CoreV1().Events(manifest.Namespace).List(context.Background(), metav1.ListOptions{})
		must(t, err)
		return slices.ContainsFunc(list.Items, func(event core.Event) bool { return strings.Contains(event.Message, e.refused) })
	})
	pod := manifest.Pods()[0]
	e.judgeDevices(t, lab, pod)
	var data struct {
		VFConfig struct{ Network map[string]any }
	}
	waitUntil(t, "the claim's status has the device", promptly, func() bool {
		claim := claimsOf(pod, lab.Server.Claims(t, pod.Namespace))["net"]
		return len(claim.Status.Devices) == 1 && claim.Status.Devices[0].Data != nil && json.Unmarshal(claim.Status.Devices[0].Data.Raw, &data) == nil
	})
	for _, field := range []string{"mtu", "addresses", "routes"} { // of the class, of the claim
		if data.VFConfig.Network[field] == nil {
			t.Errorf("network has no %s: %v", field, data.VFConfig.Network)
		}
	}
}

func (e pageExample) judge(t *testing.T, lab *harness.Lab, root *harness.KubeletRoot, pod core.Pod) {
	t.Helper()
	e.judgeDevices(t, lab, pod)
	added := map[string]bool{}
	for _, call := range root.PluginCalls() {
		if call.Command == "ADD" {
			added[call.Device+" "+call.Interface] = true
		}
	}
	if want := map[bool]int{true: e.devices}[e.plugin != ""]; len(added) != want {
		t.Errorf("the plugins were called for %v", added)
	}
	for _, one := range root.Created() {
		nodes := root.EditsOf(t, one.CDI).Nodes
		for _, want := range e.nodes {
			if !slices.ContainsFunc(nodes, func(node string) bool { return strings.HasPrefix(node, want) }) {
				t.Errorf("the container has no %s: %v", want, nodes)
			}
		}
		if len(e.nodes) == 0 && len(nodes) > 0 {
			t.Errorf("the container has %v", nodes)
		}
	}
}

func (e pageExample) judgeDevices(t *testing.T, lab *harness.Lab, pod core.Pod) {
	t.Helper()
	claim := claimsOf(pod, lab.Server.Claims(t, pod.Namespace))["net"]
	allocated := claim.Status.Allocation.Devices.Results
	if len(allocated) != e.devices {
		t.Fatalf("pod %s: %d devices are allocated: %v", pod.Name, len(allocated), allocated)
	}
	for _, one := range allocated {
		if !strings.HasSuffix(one.Device, e.suffix) {
			t.Errorf("pod %s is allocated %s, not a device of its own example's policy (%s)", pod.Name, one.Device, e.suffix)
		}
	}
}
