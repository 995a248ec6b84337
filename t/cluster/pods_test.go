package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sliced.test/cluster/harness"
)

// part is what one request of a pod's claim has to give to a container.
type part struct {
	claim, request string // the claim's name in the pod; "" the one that was made for its extended resources, of any request
	count          int
	of             string // the port whose VFs they are, or whose entry it is; "" any
	network        string // NetworkAttachmentDefinition
	suffix         string // of the entry's name
	isAdmin        bool
	isVFIO, vhosts bool   // driver vfio-pci, addVhostMount
	driver         string // "" ours for VFs
}

type podRow struct {
	pods       int // whose names begin with the row's
	containers map[string][]part
}

// manifestRow is a file of testdata/pods.
type manifestRow struct {
	redWhen string // the defect that turns it red, beside those of all of them
	pfs     []harness.PF
	offered []string          // of VFs; nil every VF
	links   []string          // of DeviceExposurePolicies; nil it has none
	gpus    map[string]string // of another driver: name -> pcieRoot
	pods    map[string]podRow
	infos   int // files for Multus
	// Two pods have one VF at once.
	isShared bool
	// Containers ask for resources by name, and the scheduler makes claims of them.
	isExtended bool
}

// far is a port of the other socket.
var far = func() harness.PF {
	pf := harness.E810("04", "ens2f0", 4)
	pf.Address, pf.Numa = "0001:04:00.0", 1
	return pf
}()

var near = harness.E810("03", "ens1f0", 4)

func of(claim, request string, count int) part {
	return part{claim: claim, request: request, count: count}
}
func (p part) on(network string) part { p.network = network; return p }
func (p part) from(port string) part  { p.of = port; return p }

func (p part) dpdk() part { p.isVFIO, p.vhosts = true, true; return p }

func app(parts ...part) map[string]podRow {
	return map[string]podRow{"app": {1, map[string][]part{"app": parts}}}
}

var link = part{claim: "net", request: "link", count: 1, of: "ens1f0", suffix: "-macvlan", driver: harness.ExposureDriver}

var manifests = map[string]manifestRow{
	"one-vf":               {redWhen: "a template with a configuration is not understood", pods: app(of("vf", "vf", 1).on("tenants"))},
	"two-vfs-of-one-claim": {redWhen: "count is not given whole", pods: app(of("vf", "vf", 2).on("tenants"))},
	"standing-claim":       {redWhen: "a claim that no pod owns is not prepared, or not released", pods: app(of("vf", "vf", 1).on("tenants"))},
	"deployment": {redWhen: "two pods of one template are in each other's way",
		pods: map[string]podRow{"app": {2, map[string][]part{"app": {of("vf", "vf", 1).on("tenants")}}}}},
	"resource-policies": {redWhen: "a pool's attribute or the node's name do not select",
		pods: app(of("vf", "vf", 1).on("tenants").from("ens2f0"))},
	"extended-resource": {isExtended: true, redWhen: "claims that the scheduler makes are not configured by their class", pfs: []harness.PF{near, harness.E810("04", "ens2f0", 4)},
		offered: join(vfs(pf0, 0, 3), harness.VFDevices("0000:04:00.0", 0, 3)),
		pods: map[string]podRow{"one-each": {1, map[string][]part{"app": {of("", "", 1).on("left-net").from("ens1f0"), of("", "", 1).on("right-net").from("ens2f0")}}},
			"two-each": {1, map[string][]part{"app": {of("", "", 2).on("left-net").from("ens1f0"), of("", "", 2).on("right-net").from("ens2f0")}}}}},
	"beside-a-gpu": {redWhen: "results of another driver stand in the way, or pcieRoot is not the other's", gpus: map[string]string{"gpu-0": "pci0001:00"},
		pods: app(of("both", "vf", 1).on("tenants").from("ens2f0"), part{claim: "both", request: "gpu", count: 1, driver: harness.GPUs})},
	"vfio": {redWhen: "what the claim adds to its class's configuration is lost, the driver is not changed, or the pod has not the nodes",
		pods: app(of("vf", "vf", 1).on("tenants").dpdk())},
	"multus-one-vf":  {redWhen: "a VF without a configuration is not prepared", pods: app(of("net", "vf", 1)), infos: 1},
	"multus-two-vfs": {redWhen: "of two VFs of a pool one is forgotten", pods: app(of("net", "vf", 2)), infos: 2},
	"multus-two-claims": {redWhen: "of two claims of a pod one is forgotten",
		pods: app(of("left", "vf", 1).from("ens1f0"), of("right", "vf", 1).from("ens2f0")), infos: 2},

	"first-available": {redWhen: "a configuration for a request does not reach its alternative, or that for another one does",
		pods: app(of("net", "vf", 2).on("tenants"))},
	"shared-claim": {isShared: true, redWhen: "the second pod of a claim is refused, or the first's end takes what the second has",
		pods: map[string]podRow{"first": {1, map[string][]part{"app": {of("net", "vf", 1).on("tenants")}}},
			"second": {1, map[string][]part{"app": {of("net", "vf", 1).on("tenants")}}}}},
	"two-containers": {redWhen: "a container gets what was meant for another", pods: map[string]podRow{"app": {1, map[string][]part{
		"one": {of("net", "a", 1).on("tenants")}, "other": {of("net", "b", 1).on("storage")},
		"all": {of("net", "a", 1).on("tenants"), of("net", "b", 1).on("storage")}, "none": nil}}}},
	"all-of-a-port": {redWhen: "allocationMode All is not prepared whole", pods: app(of("net", "vfs", 4).from("ens2f0"))},
	"one-numa-node": {redWhen: "VFs of two sockets are taken for neighbours", pods: app(of("net", "left", 1).from("ens2f0"), of("net", "right", 1).from("ens2f0"))},
	"admin-access": {redWhen: "who only looks on is refused what others have, or holds it", pods: map[string]podRow{
		"app":     {1, map[string][]part{"app": {of("vf", "vf", 1).on("tenants")}}},
		"monitor": {1, map[string][]part{"app": {{claim: "all", request: "all", count: 8, isAdmin: true}}}}}},
	"shares": {redWhen: "two pods do not get a share each of one device", offered: []string{}, links: []string{theMacvlan},
		pods: map[string]podRow{"first": {1, map[string][]part{"app": {link}}}, "second": {1, map[string][]part{"app": {link}}}}},
	"both-drivers": {redWhen: "what two drivers give to one claim, or to one pod, does not come together", offered: harness.VFDevices(far.Address, 0, 4), links: []string{theMacvlan},
		pods: app(of("net", "vf", 1).on("tenants").from("ens2f0"), link, func() part { p := link; p.claim = "more"; return p }())},
}

// Turns red when pods as users write them do not run, when a container gets more or less than its claims say, when
// preparing writes a slice, or when anything stays after the pods.
func TestTypicalPods(t *testing.T) {
	t.Parallel()
	for name, row := range manifests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.play(t, name)
		})
	}
}

func (row manifestRow) play(t *testing.T, name string) {
	plane := shared
	if row.links != nil {
		plane = exposingPlane(t)
	}
	if row.pfs == nil {
		row.pfs = []harness.PF{near, far}
	}
	if row.offered == nil {
		row.offered = join(vfs(near, 0, 4), harness.VFDevices(far.Address, 0, 4))
	}
	lab := harness.NewLab(t, plane, row.pfs...)
	lab.RunAsDeployed()
	manifest := lab.ReadManifest(name + ".yaml")
	if row.links != nil {
		lab.Exposed = harness.NewHistory(t, lab.Watcher, harness.ExposureDriver, lab.Node)
	}
	kernel := lab.Host.PlayKernel()
	manifest.Furnish()
	t.Cleanup(manifest.DeleteRest)
	root := lab.NewKubeletRoot()
	if !row.byMultus() {
		root.TellOfPods()
		root.WritePlugin("sriov", "")
	}
	kubelet := root.Run()
	wiped(t, lab, kubelet)
	if row.gpus != nil {
		root.RunGPUs(t, row.gpus)
	}
	lab.Run(root.Flags()...)
	offered := lab.History.WaitOffers(t, 0, starting, row.offered...)
	lacking := row.lacking(t, plane.Server)
	if row.links != nil {
		lab.Exposed.WaitOffers(t, 0, starting, abilitiesOf(t, plane.Server).left(row.links, nil, map[string]bool{theMacvlan: true})...)
	}
	manifest.ApplyPods()
	if lacking != "" {
		waitAllRefused(t, manifest, row.pods, lacking)
		manifest.DeletePods()
		return
	}
	running := waitAllRun(t, manifest, row.pods)
	row.judge(t, lab, root, kernel, running)
	judgeInfos(t, lab, row.infos)
	row.judgeInterfaces(t, root, "ADD")
	manifest.DeletePods()
	waitUntil(t, "all pods are gone", promptly, func() bool { return len(manifest.Pods()) == 0 })
	waitUntil(t, "no CDI spec is left", promptly, func() bool { return len(root.SpecFiles()) == 0 })
	judgeInfos(t, lab, 0)
	row.judgeInterfaces(t, root, "DEL")
	for _, address := range wasBound(kernel) {
		if driver := kernel.Driver(address); driver != "iavf" {
			t.Errorf("%s was bound to vfio-pci for a pod, and is left to %q", address, driver)
		}
	}
	lab.Server.WaitDeallocated(t, manifest.Namespace, promptly)
	if after := lab.History.States(t, offered.RV); len(after) > 1 && row.links == nil { // theirs tell what may be allocated
		t.Errorf("preparing wrote %d slices: %s", len(after)-1, after[1])
	}
}

// lacking is what the scheduler says of these pods where the server has not what they take, "" where it has.
func (row manifestRow) lacking(t *testing.T, server *harness.APIServer) string {
	t.Helper()
	if row.links != nil && !abilitiesOf(t, server).shares {
		return "cannot allocate all claims"
	}
	classes := schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}
	class := &unstructured.Unstructured{Object: M{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
		"metadata": M{"name": "probe"}, "spec": M{"extendedResourceName": "example.com/probe"}}}
	if row.isExtended && answer(server, classes, class) != "stored" {
		return "Insufficient example.com/"
	}
	return ""
}

// byMultus: or a VF is in two pods, which takes a plugin that can do so.
func (row manifestRow) byMultus() bool { return row.infos > 0 || row.isShared }

// judgeInterfaces holds what stands after the calls of CNI plugins so far against the devices that name a network; command is the last kind.
func (row manifestRow) judgeInterfaces(t *testing.T, root *harness.KubeletRoot, command string) {
	t.Helper()
	want := 0
	for _, one := range row.pods {
		asked := map[string]int{} // of a pod, by claim and request: several containers may share a device
		for container, parts := range one.containers {
			for i, part := range parts {
				if part.network == "" || row.byMultus() {
					continue
				}
				key := part.claim + "/" + part.request
				if part.claim == "" {
					key = fmt.Sprint(container, i)
				}
				asked[key] = part.count
			}
		}
		for _, count := range asked {
			want += one.pods * count
		}
	}
	// A sandbox that a busy machine has not ready within the runtime's time is undone and made again: what counts is that nothing is
	// made twice without having been undone.
	devices, standing := map[string]bool{}, map[string]int{}
	for _, call := range root.PluginCalls() {
		devices[call.Device] = true
		switch call.Command {
		case "ADD":
			if standing[call.Device]++; standing[call.Device] > 1 {
				t.Errorf("ADD of %s, which has its interface: %v", call.Device, root.PluginCalls())
			}
		case "DEL":
			standing[call.Device] = 0
		}
	}
	if len(devices) != want {
		t.Errorf("interfaces of %v, wants one of each of %d devices", devices, want)
	}
	for device := range devices {
		if times := standing[device]; times != map[string]int{"ADD": 1, "DEL": 0}[command] {
			t.Errorf("after %s, %s has %d interfaces: %v", command, device, times, root.PluginCalls())
		}
	}
}

// judgeInfos holds what Multus reads against the number of VFs that pods have of a pool of its.
func judgeInfos(t *testing.T, lab *harness.Lab, want int) {
	t.Helper()
	found, _ := filepath.Glob(lab.Host.Root + "/var/run/k8s.cni.cncf.io/devinfo/dp/*")
	if len(found) != want {
		t.Errorf("files for Multus: %v, wants %d", found, want)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		resource, rest, _ := strings.Cut(filepath.Base(path), "-")
		says := fmt.Sprintf(`{"type":"pci","version":"1.1.0","pci":{"pci-address":%q}}`, strings.TrimSuffix(rest, "-device.json"))
		if err != nil || !strings.HasPrefix(resource, "nic_") || strings.TrimSpace(string(text)) != says {
			t.Errorf("%s: %s %v, wants %s", path, text, err, says)
		}
	}
}

// wasBound are the functions whose drivers were changed.
func wasBound(kernel *harness.PlayedKernel) []string {
	var found []string
	for _, write := range kernel.Writes() {
		path, text, _ := strings.Cut(write, " ")
		if text == "vfio-pci" {
			found = append(found, strings.Split(path, "/")[4])
		}
	}
	return found
}

// wiped waits until the kubelet has deleted what a kubelet deletes at its start.
func wiped(t *testing.T, lab *harness.Lab, kubelet *harness.Kubelet) {
	t.Helper()
	waitUntil(t, "the kubelet has deleted its node's slices", starting, func() bool {
		return len(lab.Server.Audit.Requests(t, func(r harness.Request) bool {
			return r.Verb == "deletecollection" && r.Ref.Resource == "resourceslices" && strings.Contains(r.URI, lab.Node) &&
				r.Stage == "ResponseComplete" && r.Received.After(kubelet.Started)
		})) > 0
	})
}

func waitAllRun(t *testing.T, manifest *harness.Manifest, rows map[string]podRow) []core.Pod {
	t.Helper()
	want := 0
	for _, row := range rows {
		want += row.pods
	}
	var pods []core.Pod
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		pods = manifest.Pods()
		ready := 0
		for _, pod := range pods {
			if pod.Status.Phase == core.PodRunning {
				ready++
			}
		}
		if ready == want && len(pods) == want {
			return pods
		}
		if time.Now().After(deadline) {
			for _, pod := range pods {
				t.Logf("pod %s: %s", pod.Name, pod.Status.Phase)
			}
			logEvents(t, manifest)
			t.Fatalf("%d of %d pods run", ready, want)
		}
	}
}

func logEvents(t *testing.T, manifest *harness.Manifest) {
	t.Helper()
	list, err := manifest.Server().Client.CoreV1().Events(manifest.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range list.Items {
		t.Logf("%s %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
	}
}

// judge holds every container against the allocation of its pod's claims.
func (row manifestRow) judge(t *testing.T, lab *harness.Lab, root *harness.KubeletRoot, kernel *harness.PlayedKernel, pods []core.Pod) {
	t.Helper()
	claims := lab.Server.Claims(t, pods[0].Namespace)
	created := map[string]harness.Created{}
	for _, one := range root.Created() {
		created[one.UID+" "+one.Container] = one
	}
	for _, pod := range pods {
		var found *podRow
		for name, one := range row.pods {
			if pod.Name == name || strings.HasPrefix(pod.Name, name+"-") {
				found = &one
			}
		}
		if found == nil {
			t.Fatalf("nobody made pod %s", pod.Name)
		}
		mine := claimsOf(pod, claims)
		for container, parts := range found.containers {
			got, was := created[string(pod.UID)+" "+container]
			if !was {
				t.Fatalf("container %s of %s was not created", container, pod.Name)
			}
			wantIDs, wantEdits := row.expected(t, kernel, pod, root.Created(), mine, parts)
			if ids := slices.Sorted(slices.Values(got.CDI)); !slices.Equal(slices.Compact(ids), wantIDs) {
				t.Errorf("%s/%s got %v, wants %v", pod.Name, container, ids, wantIDs)
				continue
			}
			ours := slices.DeleteFunc(slices.Clone(wantIDs), func(id string) bool { return strings.HasPrefix(id, harness.GPUs) })
			edits := root.EditsOf(t, ours)
			if !slices.Equal(edits.Env, wantEdits.Env) || !slices.Equal(edits.Nodes, wantEdits.Nodes) {
				t.Errorf("%s/%s is given %+v, wants %+v", pod.Name, container, edits, wantEdits)
			}
		}
	}
}

// claimsOf are a pod's claims by their names in the pod, "" the one for its extended resources.
func claimsOf(pod core.Pod, all map[string]*resource.ResourceClaim) map[string]*resource.ResourceClaim {
	mine := map[string]*resource.ResourceClaim{}
	for _, claim := range pod.Spec.ResourceClaims {
		if claim.ResourceClaimName != nil {
			mine[claim.Name] = all[*claim.ResourceClaimName]
		}
	}
	for _, status := range pod.Status.ResourceClaimStatuses {
		mine[status.Name] = all[*status.ResourceClaimName]
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		mine[""] = all[extended.ResourceClaimName]
	}
	return mine
}

// addressOf is where an entry's function is.
func addressOf(device string) string {
	at := []byte(device[:len("0000-00-00-0")])
	at[4], at[7], at[10] = ':', ':', '.'
	return string(at)
}

// expected is what a container gets of these parts, by the names that dra-driver-sriov uses and the allocation of its claims.
func (row manifestRow) expected(t *testing.T, kernel *harness.PlayedKernel, pod core.Pod, all []harness.Created, mine map[string]*resource.ResourceClaim, parts []part) ([]string, harness.Edits) {
	t.Helper()
	ids, env, nodes := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range parts {
		claim := mine[p.claim]
		if claim == nil || claim.Status.Allocation == nil {
			t.Fatalf("pod %s has no allocated claim %q", pod.Name, p.claim)
		}
		kind := harness.Driver + "/vf="
		if p.driver == "" {
			p.driver = harness.Driver
		} else {
			kind = p.driver + "/device="
		}
		count := 0
		for _, result := range claim.Status.Allocation.Devices.Results {
			request, _, _ := strings.Cut(result.Request, "/")
			if result.Driver != p.driver || (p.request != "" && request != p.request) || !row.isOf(p.of, result.Device) {
				continue
			}
			count++
			if p.driver == harness.GPUs {
				ids[kind+result.Device] = true
				continue
			}
			name := string(claim.UID) + "-" + result.Device
			if result.ShareID != nil {
				name += "-" + string(*result.ShareID)
			}
			ids[kind+name] = true
			ids[kind+podID(pod, claim, all)] = true
			variable := strings.ReplaceAll(result.Device, "-", "_")
			env["SRIOVNETWORK_VF_DEVICE_"+variable+"="+addressOf(result.Device)] = true
			env["SRIOVNETWORK_NET_ATTACH_DEF_NAME="+p.network] = true
			if p.isVFIO {
				node := "/dev/vfio/" + kernel.Group(addressOf(result.Device))
				env["SRIOVNETWORK_"+variable+"_VFIO_DEVICE="+node] = true
				nodes[node], nodes["/dev/vfio/vfio"] = true, true
				if driver := kernel.Driver(addressOf(result.Device)); driver != "vfio-pci" {
					t.Errorf("%s is bound to %q", result.Device, driver)
				}
			}
			if p.vhosts {
				nodes["/dev/vhost-net"], nodes["/dev/net/tun"] = true, true
			}
			env["SRIOVNETWORK_PCI_ADDRESSES="+strings.Join(addresses(pod, mine), ",")] = true
		}
		if count != p.count {
			t.Errorf("pod %s: request %s/%s of %s got %d devices, wants %d: %+v", pod.Name, p.claim, p.request, p.of, count, p.count, claim.Status.Allocation.Devices.Results)
		}
	}
	return slices.Sorted(maps.Keys(ids)), harness.Edits{Env: slices.Sorted(maps.Keys(env)), Nodes: slices.Sorted(maps.Keys(nodes))}
}

// podID is the name of what a pod has of all its claims: its own; of a claim that several pods have, the claim's or that of the
// pod that had it alone when it was prepared, which is the same for all of them.
func podID(pod core.Pod, claim *resource.ResourceClaim, all []harness.Created) string {
	if len(claim.Status.ReservedFor) == 1 {
		return string(pod.UID)
	}
	for _, reserved := range claim.Status.ReservedFor {
		isGiven := func(id string) bool { return strings.HasSuffix(id, "="+string(reserved.UID)) }
		if slices.ContainsFunc(all, func(one harness.Created) bool { return slices.ContainsFunc(one.CDI, isGiven) }) {
			return string(reserved.UID)
		}
	}
	return string(claim.UID)
}

// addresses are those of all a pod's claims, in order of their names.
func addresses(pod core.Pod, mine map[string]*resource.ResourceClaim) []string {
	var all []*resource.ResourceClaim
	for _, claim := range mine {
		all = append(all, claim)
	}
	slices.SortFunc(all, func(a, b *resource.ResourceClaim) int { return strings.Compare(a.Name, b.Name) })
	var found []string
	for _, claim := range all {
		for _, driver := range []string{harness.ExposureDriver, harness.Driver} {
			for _, result := range claim.Status.Allocation.Devices.Results {
				if result.Driver == driver {
					found = append(found, addressOf(result.Device))
				}
			}
		}
	}
	return found
}

// isOf tells whether an entry is of a port, or of a VF of it.
func (row manifestRow) isOf(port, device string) bool {
	if port == "" {
		return true
	}
	for _, pf := range row.pfs {
		if pf.Name == port {
			return strings.HasPrefix(device, harness.DeviceName(pf.Address[:len("0000:03")]))
		}
	}
	panic(fmt.Sprintf("no port %s", port))
}
