package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sliced.test/cluster/harness"
)

// lookUp finds the PCI addresses of a request as KubeVirt first did: the claim's status, its allocation, the slice with that
// device, its attribute. In the order of the allocation.
func lookUp(t *testing.T, lab *harness.Lab, claim *resource.ResourceClaim, request string) []string {
	t.Helper()
	slices, err := lab.Server.Client.ResourceV1().ResourceSlices().List(t.Context(), metav1.ListOptions{
		FieldSelector: "spec.driver=" + harness.Driver + ",spec.nodeName=" + lab.Node})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, result := range claim.Status.Allocation.Devices.Results {
		if base, _, _ := strings.Cut(result.Request, "/"); base != request {
			continue
		}
		for _, slice := range slices.Items {
			for _, device := range slice.Spec.Devices {
				if slice.Spec.Pool.Name == result.Pool && device.Name == result.Device {
					found = append(found, *device.Attributes[resource.QualifiedName("resource.kubernetes.io/pciBusID")].StringValue)
				}
			}
		}
	}
	return found
}

// mounted is what a container finds at a path, by its CDI devices.
func mounted(t *testing.T, root *harness.KubeletRoot, devices []string, path string) []byte {
	t.Helper()
	for _, file := range root.SpecFiles() {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var spec struct {
			Kind    string
			Devices []struct {
				Name  string
				Edits struct {
					Mounts []struct {
						HostPath, ContainerPath string
						Options                 []string
					}
				} `json:"containerEdits"`
			}
		}
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, device := range spec.Devices {
			for _, mount := range device.Edits.Mounts {
				if mount.ContainerPath != path || !slices.Contains(devices, spec.Kind+"="+device.Name) {
					continue
				}
				if !slices.Equal(mount.Options, []string{"ro", "bind"}) {
					t.Errorf("%s is mounted with %v", path, mount.Options)
				}
				content, err := os.ReadFile(mount.HostPath)
				if err != nil {
					t.Fatal(err)
				}
				return content
			}
		}
	}
	t.Fatalf("nothing is mounted at %s", path)
	return nil
}

// launcher is a virt-launcher's request, and where its container finds the file.
type launcher struct {
	pod, claim, request, told, path string
	macs                            []string
}

// newMachines is a node with a kubelet, and what the virtual machines of kubevirt.yaml need.
func newMachines(t *testing.T) (*harness.Lab, *harness.Manifest, *harness.PlayedKernel, *harness.KubeletRoot) {
	t.Helper()
	lab := harness.NewLab(t, shared, near, far)
	manifest := lab.ReadManifest("kubevirt.yaml")
	kernel := lab.Host.PlayKernel()
	manifest.Furnish()
	t.Cleanup(manifest.DeleteRest)
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	grantPods(t, lab)
	return lab, manifest, kernel, root
}

// Turns red when a machine does not find its PCI functions, in order, under every name that KubeVirt has looked for, when
// one of them is not behind the VFIO group that its pod has, when its PF gives it another address than was asked for, or when
// the VF keeps that.
func TestKubeVirtFindsItsFunctions(t *testing.T) {
	t.Parallel()
	lab, manifest, kernel, root := newMachines(t)
	lab.Run(append(root.Flags(), "--enable-device-metadata", "--kubevirt-environment", "--mac-annotation", "kubevirt.io/dra-networks")...)
	lab.History.WaitOffers(t, 0, starting, join(vfs(near, 0, 4), harness.VFDevices(far.Address, 0, 4))...)
	manifest.ApplyPods()
	pods := waitAllRun(t, manifest, map[string]podRow{"virt-launcher-source": {pods: 1}, "virt-launcher-target": {pods: 1}})
	const all, file = "/var/run/kubernetes.io/dra-device-attributes/", "/" + harness.Driver + "-metadata.json"
	source, target := []string{"02:00:00:00:aa:0a", "02:00:00:00:aa:0b"}, []string{"02:00:00:00:aa:1a", "02:00:00:00:aa:1b"}
	taken := map[string]bool{}
	for _, row := range []launcher{
		{"virt-launcher-source", "net", "vf", "vf", all + "resourceclaimtemplates/net/vf" + file, source},
		{"virt-launcher-target", "net", "vf", "vf", all + "resourceclaimtemplates/net/vf" + file, target},
		{"virt-launcher-target", "own", "uplink", "uplink/one", all + "resourceclaims/standing/uplink" + file, []string{"02:00:00:00:aa:0c"}},
	} {
		for _, address := range row.judge(t, lab, root, kernel, pods) {
			if taken[address] {
				t.Errorf("%s has two machines", address)
			}
			taken[address] = true
		}
	}
	manifest.DeletePods()
	waitUntil(t, "no CDI spec and no metadata is left", promptly, func() bool {
		metadata, _ := filepath.Glob(root.Path + "/plugins/*/dra-device-metadata/*")
		return len(root.SpecFiles()) == 0 && len(metadata) == 0
	})
	for address := range taken {
		if mac := adminMAC(t, lab, kernel, address); mac != "00:00:00:00:00:00" {
			t.Errorf("%s keeps the address %s of a machine that is gone", address, mac)
		}
		if driver := kernel.Driver(address); driver != "iavf" {
			t.Errorf("%s is left to %q", address, driver)
		}
	}
}

// Turns red when a VF keeps the address of a machine that is gone because the daemon's record of what is prepared was lost,
// cut short or damaged meanwhile; or when its own address is not on disk beside the record as long as the machine has it.
func TestAVfsAddressIsRestoredWithoutTheCheckpoint(t *testing.T) {
	t.Parallel()
	lab, manifest, kernel, root := newMachines(t)
	flags := append(root.Flags(), "--mac-annotation", "kubevirt.io/dra-networks")
	daemon := lab.Run(flags...)
	lab.History.WaitOffers(t, 0, starting, join(vfs(near, 0, 4), harness.VFDevices(far.Address, 0, 4))...)
	plugin := root.Path + "/plugins/" + harness.Driver
	kept := func() []string {
		files, _ := filepath.Glob(plugin + "/sliced-original-macs/*.json")
		return files
	}
	const checkpoint = "/sliced-checkpoint.json"
	for name, lose := range map[string]func(text []byte) error{
		"removed":   func([]byte) error { return os.Remove(plugin + checkpoint) },
		"cut short": func(text []byte) error { return os.WriteFile(plugin+checkpoint, text[:len(text)/2], 0o600) },
		"damaged": func(text []byte) error {
			text[len(text)/2] ^= 1
			return os.WriteFile(plugin+checkpoint, text, 0o600)
		},
	} {
		manifest.ApplyPods()
		waitAllRun(t, manifest, map[string]podRow{"virt-launcher-source": {pods: 1}, "virt-launcher-target": {pods: 1}})
		taken := kept()
		if len(taken) != 5 {
			t.Errorf("%s: the addresses of five VFs are written over, and kept are %v", name, taken)
		}
		daemon.Kill()
		text, err := os.ReadFile(plugin + checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		if err := lose(text); err != nil {
			t.Fatal(err)
		}
		daemon = lab.Run(flags...)
		manifest.DeletePods()
		waitUntil(t, "no CDI spec and no address is left: "+name, promptly, func() bool {
			return len(root.SpecFiles()) == 0 && len(kept()) == 0
		})
		for _, file := range taken {
			address := strings.TrimSuffix(filepath.Base(file), ".json")
			if mac := adminMAC(t, lab, kernel, address); mac != "00:00:00:00:00:00" {
				t.Errorf("%s: %s keeps the address %s of a machine that is gone", name, address, mac)
			}
		}
		waitUntil(t, "both pods are gone: "+name, promptly, func() bool {
			pods, err := lab.Server.Client.CoreV1().Pods(manifest.Namespace).List(t.Context(), metav1.ListOptions{})
			return err == nil && len(pods.Items) == 0
		})
	}
}

func (l launcher) judge(t *testing.T, lab *harness.Lab, root *harness.KubeletRoot, kernel *harness.PlayedKernel, pods []core.Pod) []string {
	t.Helper()
	pod := pods[slices.IndexFunc(pods, func(p core.Pod) bool { return p.Name == l.pod })]
	name := claimName(t, pod, l.claim)
	claim := lab.Server.Claims(t, pod.Namespace)[name]
	addresses := lookUp(t, lab, claim, l.request)
	if len(addresses) != len(l.macs) {
		t.Fatalf("%s %s: addresses %v", l.pod, l.claim, addresses)
	}
	created := root.Created()
	container := created[slices.IndexFunc(created, func(c harness.Created) bool { return c.UID == string(pod.UID) })]
	found := tells(t, mounted(t, root, container.CDI, l.path))
	if len(found.Requests) != 1 || found.Requests[0].Name != l.told || found.UID != claim.UID {
		t.Errorf("%s %s: %+v", l.pod, l.claim, found)
	}
	var told []string
	for _, device := range found.Requests[0].Devices {
		told = append(told, *device.Attributes["resource.kubernetes.io/pciBusID"].StringValue)
	}
	if !slices.Equal(told, addresses) {
		t.Errorf("%s %s: the slice says %v, the file %v", l.pod, l.claim, addresses, told)
	}
	edits := root.EditsOf(t, container.CDI)
	for i, address := range addresses {
		if node := "/dev/vfio/" + kernel.Group(address); !slices.Contains(edits.Nodes, node) {
			t.Errorf("%s has not %s of %s: %v", l.pod, node, address, edits.Nodes)
		}
		if mac := adminMAC(t, lab, kernel, address); mac != l.macs[i] {
			t.Errorf("%s: %s has the address %s, wants %s", l.pod, address, mac, l.macs[i])
		}
	}
	if variable := fmt.Sprintf("PCI_RESOURCE_%s_%s=%s", name, l.request, strings.Join(addresses, ",")); !slices.Contains(edits.Env, variable) {
		t.Errorf("%s has not %s: %v", l.pod, variable, edits.Env)
	}
	return addresses
}

// claimName is what the claim is called that a pod has under a name of its own: by hand, or made for it.
func claimName(t *testing.T, pod core.Pod, name string) string {
	t.Helper()
	for _, asked := range pod.Spec.ResourceClaims {
		if asked.Name == name && asked.ResourceClaimName != nil {
			return *asked.ResourceClaimName
		}
	}
	for _, made := range pod.Status.ResourceClaimStatuses {
		if made.Name == name {
			return *made.ResourceClaimName
		}
	}
	t.Fatalf("%s has no claim %s", pod.Name, name)
	return ""
}

// adminMAC is what a VF's PF gives it.
func adminMAC(t *testing.T, lab *harness.Lab, kernel *harness.PlayedKernel, address string) string {
	t.Helper()
	for _, pf := range []harness.PF{near, far} {
		text, err := os.ReadFile(lab.Host.Root + "/sys/class/net/" + pf.Name + "/ifindex")
		if err != nil {
			t.Fatal(err)
		}
		ifindex, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range pf.VFs {
			if harness.VFAddress(pf.Address, i) == address {
				return kernel.MAC(ifindex, i)
			}
		}
	}
	t.Fatalf("%s is not a VF", address)
	return ""
}

// grantPods is what docs/kubevirt.md asks for beside config/deploy/rbac.yaml.
func grantPods(t *testing.T, lab *harness.Lab) {
	t.Helper()
	name := "mac-annotation-" + lab.Node
	role := &rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}
	binding := &rbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbac.RoleRef{Kind: "ClusterRole", Name: name},
		Subjects: []rbac.Subject{{Kind: "Group", Name: "system:authenticated"}}}
	if _, err := lab.Server.Client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Server.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
