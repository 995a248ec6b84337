package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	// Driver is the name under which SR-IOV policies publish, ExposureDriver that of the others.
	Driver         = "sriovnetwork.k8snetworkplumbingwg.io"
	ExposureDriver = "dra.networking"
	// Class and ExposureClass are DeviceClasses that every plane has: any device of the one driver, and of the other.
	Class         = "sriov"
	ExposureClass = "exposed"
	// canary is a driver, and the DeviceClass of it, whose devices show how far the scheduler has read.
	canary = "canary.example"
	// ClaimsRole is the ClusterRole by which a daemon lists ResourceClaims; others have the rest of its permissions.
	ClaimsRole = "sliced-claims"
)

// M and L are JSON objects and lists, for specs written in place.
type (
	M = map[string]any
	L = []any
)

var (
	Policies   = schema.GroupVersionResource{Group: Driver, Version: "v1alpha1", Resource: "sriovresourcepolicies"}
	Attributes = schema.GroupVersionResource{Group: Driver, Version: "v1alpha1", Resource: "deviceattributes"}
	// Exposures are cluster-scoped.
	Exposures = schema.GroupVersionResource{Group: "networking.dra.io", Version: "v1alpha1",
		Resource: "deviceexposurepolicies"}
	// Reports are cluster-scoped, and named as their nodes.
	Reports = schema.GroupVersionResource{Group: "networking.dra.io", Version: "v1alpha1", Resource: "nodedevicereports"}
	CRDs    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	classes = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}
)

// furnish makes what every scenario needs: permissions of the daemon, the DeviceClass, the CRDs.
func (p *Plane) furnish(crds bool) error {
	ctx := context.Background()
	client := p.Server.Client
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	read := []string{"get", "list", "watch"}
	// What runs on a node may read nodes and own slices; the policies' namespace is granted namespace by
	// namespace.
	roles := map[string][]rbac.PolicyRule{
		"sliced": {
			{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: read},
			{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceslices"}, Verbs: all},
			{APIGroups: []string{Exposures.Group}, Resources: []string{Exposures.Resource}, Verbs: read},
			{APIGroups: []string{Reports.Group}, Resources: []string{Reports.Resource}, Verbs: all},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update", "delete"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}},
		},
		ClaimsRole: {
			{APIGroups: []string{"resource.k8s.io"}, Resources: []string{"resourceclaims"}, Verbs: []string{"get", "list"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
			{APIGroups: []string{"k8s.cni.cncf.io"}, Resources: []string{"network-attachment-definitions"}, Verbs: []string{"get"}},
		},
		"sliced-policies": {
			{APIGroups: []string{Driver}, Resources: []string{"sriovresourcepolicies", "deviceattributes"}, Verbs: read},
		},
	}
	for name, rules := range roles {
		role := &rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for name, driver := range map[string]string{Class: Driver, ExposureClass: ExposureDriver, canary: canary} {
		class := &resource.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resource.DeviceClassSpec{
			Selectors: []resource.DeviceSelector{{CEL: &resource.CELDeviceSelector{
				Expression: fmt.Sprintf("device.driver == %q", driver)}}}}}
		if _, err := client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	deployed, err := ReadYAML("../../config/deploy/device-classes.yaml")
	if err != nil {
		return err
	}
	for _, class := range deployed {
		if _, err := p.Server.Dynamic.Resource(classes).Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if !crds {
		return nil
	}
	objects, err := ProjectCRDs()
	if err != nil {
		return err
	}
	networks, err := ReadYAML("testdata/network-attachment-definitions.yaml")
	if err != nil {
		return err
	}
	return p.Server.InstallCRDs(append(objects, networks...))
}

// ProjectCRDs are the CustomResourceDefinitions of config/crd.
func ProjectCRDs() ([]*unstructured.Unstructured, error) {
	all, err := ReadYAML("../../config/crd/*.yaml")
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, object := range all {
		if object.GetKind() == "CustomResourceDefinition" {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no CustomResourceDefinition in %s", Path("../../config/crd"))
	}
	return found, nil
}

// ReadYAML reads all objects of the files that match a pattern relative to t/cluster.
func ReadYAML(pattern string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(Path(pattern))
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if len(object.Object) > 0 {
				found = append(found, object)
			}
		}
	}
	return found, nil
}

// LooseCRD is a CRD of the policies' group whose spec has the given schema and nothing else.
func LooseCRD(kind, plural string, spec M) *unstructured.Unstructured {
	singular := strings.ToLower(kind)
	return &unstructured.Unstructured{Object: M{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": M{"name": plural + "." + Driver},
		"spec": M{"group": Driver, "scope": "Namespaced",
			"names": M{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": singular},
			"versions": L{M{"name": "v1alpha1", "served": true, "storage": true, "schema": M{"openAPIV3Schema": M{
				"type": "object", "properties": M{"spec": spec}}}}}}}}
}

// InstallCRDs creates them and returns once each is served: a first LIST may answer 429 while its storage
// starts.
func (s *APIServer) InstallCRDs(objects []*unstructured.Unstructured) error {
	ctx, cancel := context.WithDeadline(context.Background(), Limit())
	defer cancel()
	for _, object := range objects {
		if _, err := s.Dynamic.Resource(CRDs).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("CRD %s: %w", object.GetName(), err)
		}
	}
	for _, object := range objects {
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(object.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
		version, _, _ := unstructured.NestedString(versions[0].(M), "name")
		gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
		for {
			_, err := s.Dynamic.Resource(gvr).List(ctx, metav1.ListOptions{})
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("CRD %s is not served: %w", object.GetName(), err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// NewNode makes a Node as a kubelet that is ready would: with status, and without the taint of its first
// seconds.
func (s *APIServer) NewNode(t testing.TB, name string, labels map[string]string) *core.Node {
	t.Helper()
	ctx := context.Background()
	nodes := s.Client.CoreV1().Nodes()
	all := map[string]string{"kubernetes.io/hostname": name}
	for k, v := range labels {
		all[k] = v
	}
	node, err := nodes.Create(ctx, &core.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create node: %v", err)
	}
	room := core.ResourceList{core.ResourceCPU: quantity.MustParse("8"), core.ResourceMemory: quantity.MustParse("16Gi"),
		core.ResourcePods: quantity.MustParse("100")}
	node.Status = core.NodeStatus{Capacity: room, Allocatable: room, Conditions: []core.NodeCondition{{
		Type: core.NodeReady, Status: core.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}}
	if node, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("node status: %v", err)
	}
	node.Spec.Taints = nil
	if node, err = nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("node taints: %v", err)
	}
	return node
}

// NewNamespace makes a namespace in which users may read policies.
func (s *APIServer) NewNamespace(t testing.TB, name string, users ...User) {
	t.Helper()
	ctx := context.Background()
	ns := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	for _, u := range users {
		s.Bind(t, name, "sliced-policies", u)
		s.Bind(t, "", "sliced", u)
		s.Bind(t, "", ClaimsRole, u)
	}
}

// Bind grants a ClusterRole to u in a namespace, or in the whole cluster when namespace is "".
func (s *APIServer) Bind(t testing.TB, namespace, role string, u User) {
	t.Helper()
	ctx := context.Background()
	meta := metav1.ObjectMeta{Name: BindingName(role, u)}
	ref := rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role}
	subject := rbac.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: u.Name}
	var err error
	if namespace == "" {
		_, err = s.Client.RbacV1().ClusterRoleBindings().Create(ctx,
			&rbac.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbac.Subject{subject}}, metav1.CreateOptions{})
	} else {
		_, err = s.Client.RbacV1().RoleBindings(namespace).Create(ctx,
			&rbac.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbac.Subject{subject}}, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("bind %s to %s: %v", role, u.Name, err)
	}
}

// BindingName is the name of the binding that Bind makes.
func BindingName(role string, u User) string {
	return role + "-" + strings.ReplaceAll(u.Name, ":", "-")
}

// Unbind takes back what Bind granted in the whole cluster.
func (s *APIServer) Unbind(t testing.TB, role string, u User) {
	t.Helper()
	if err := s.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), BindingName(role, u),
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Apply creates the object or replaces its spec, and returns the revision of that write. It tries again after a conflict: a controller may
// write the status at any time.
func (s *APIServer) Apply(t testing.TB, gvr schema.GroupVersionResource, object *unstructured.Unstructured) int64 {
	t.Helper()
	ctx := context.Background()
	client := s.Dynamic.Resource(gvr).Namespace(object.GetNamespace())
	for {
		old, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		var now *unstructured.Unstructured
		if apierrors.IsNotFound(err) {
			now, err = client.Create(ctx, object, metav1.CreateOptions{})
		} else if err == nil {
			object = object.DeepCopy()
			object.SetResourceVersion(old.GetResourceVersion())
			now, err = client.Update(ctx, object, metav1.UpdateOptions{})
		}
		if apierrors.IsConflict(err) && time.Now().Before(Limit()) {
			continue
		}
		if err != nil {
			t.Fatalf("apply %s %s: %v", gvr.Resource, object.GetName(), err)
		}
		return revision(now)
	}
}

// Delete removes an object and returns a revision that every consequence of it is later than.
func (s *APIServer) Delete(t testing.TB, gvr schema.GroupVersionResource, namespace, name string) int64 {
	t.Helper()
	before := s.Revision(t)
	err := s.Dynamic.Resource(gvr).Namespace(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatalf("delete %s %s: %v", gvr.Resource, name, err)
	}
	return before
}

// Revision is the store's newest revision: whatever is written from now on is later.
func (s *APIServer) Revision(t testing.TB) int64 {
	t.Helper()
	list, err := s.Client.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return revision(list)
}

// Policy is a SriovResourcePolicy with the given configs.
func Policy(namespace, name string, configs ...any) *unstructured.Unstructured {
	return Object(Policies, "SriovResourcePolicy", namespace, name, M{"configs": L(configs)})
}

// Object is any object of a custom resource.
func Object(gvr schema.GroupVersionResource, kind, namespace, name string, spec M) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: M{"apiVersion": gvr.GroupVersion().String(), "kind": kind,
		"metadata": M{"namespace": namespace, "name": name}, "spec": spec}}
}

// Exposure is a DeviceExposurePolicy with the given spec.
func Exposure(name string, spec M) *unstructured.Unstructured {
	object := Object(Exposures, "DeviceExposurePolicy", "", name, spec)
	unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
	return object
}

// Config is one config of a policy: a resource name ("" for none) and filters, none of which matches every
// VF.
func Config(resourceName string, filters ...any) M {
	config := M{}
	if resourceName != "" {
		config["resourceName"] = resourceName
	}
	if len(filters) > 0 {
		config["resourceFilters"] = L(filters)
	}
	return config
}

// PFNames is the filter that most scenarios use.
func PFNames(names ...string) M {
	list := L{}
	for _, n := range names {
		list = append(list, n)
	}
	return M{"pfNames": list}
}

// NewPod makes a pod that claims count devices of Class on one node.
func (s *APIServer) NewPod(t testing.TB, namespace, name, node string, count int64) {
	t.Helper()
	s.NewTemplate(t, namespace, name, resource.ResourceClaimSpec{Devices: resource.DeviceClaim{
		Requests: []resource.DeviceRequest{{Name: "vf", Exactly: &resource.ExactDeviceRequest{
			DeviceClassName: Class, AllocationMode: resource.DeviceAllocationModeExactCount, Count: count}}}}})
	s.NewPodOf(t, namespace, name, node, name)
}

// NewTemplate makes a ResourceClaimTemplate.
func (s *APIServer) NewTemplate(t testing.TB, namespace, name string, spec resource.ResourceClaimSpec) {
	t.Helper()
	template := &resource.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	template.Spec.Spec = spec
	_, err := s.Client.ResourceV1().ResourceClaimTemplates(namespace).Create(context.Background(), template,
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
}

// NewPodOf makes a pod for one node with a claim of a template.
func (s *APIServer) NewPodOf(t testing.TB, namespace, name, node, template string) {
	t.Helper()
	no := false
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: core.PodSpec{
		AutomountServiceAccountToken: &no,
		NodeSelector:                 map[string]string{"kubernetes.io/hostname": node},
		ResourceClaims:               []core.PodResourceClaim{{Name: "net", ResourceClaimTemplateName: &template}},
		Containers: []core.Container{{Name: "c", Image: "example.test/none",
			Resources: core.ResourceRequirements{Claims: []core.ResourceClaim{{Name: "net"}}}}},
	}}
	if _, err := s.Client.CoreV1().Pods(namespace).Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// DeletePod takes a pod away as if its kubelet had ended it.
func (s *APIServer) DeletePod(t testing.TB, namespace, name string) {
	t.Helper()
	err := s.Client.CoreV1().Pods(namespace).Delete(context.Background(), name, *metav1.NewDeleteOptions(0))
	if err != nil {
		t.Fatal(err)
	}
}

// EndPod deletes a pod as a user does: its kubelet ends it.
func (s *APIServer) EndPod(t testing.TB, namespace, name string) {
	t.Helper()
	err := s.Client.CoreV1().Pods(namespace).Delete(context.Background(), name, *metav1.NewDeleteOptions(1))
	if err != nil {
		t.Fatal(err)
	}
}

// WaitReleased returns when the claim of a deleted pod is gone: what was allocated is free then.
func (s *APIServer) WaitReleased(t testing.TB, namespace, pod string, within time.Duration) {
	t.Helper()
	for deadline := endOf(within); ; time.Sleep(50 * time.Millisecond) {
		claim := s.Claim(t, namespace, pod)
		if claim == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for the claim of the deleted pod %s to go; it is: %+v %+v", pod, claim.ObjectMeta, claim.Status)
		}
	}
}

// WaitSchedulerSees returns when the scheduler knows every slice that is there now. It reads slices in the order in
// which they were written, so it knows them when it gives a pod a device that is written after them.
func (l *Lab) WaitSchedulerSees(within time.Duration) {
	l.T.Helper()
	ctx := context.Background()
	l.canaries++
	name := fmt.Sprintf("canary-%d", l.canaries)
	slices := l.Server.Client.ResourceV1().ResourceSlices()
	slice := &resource.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + l.Node}, Spec: resource.ResourceSliceSpec{
		Driver: canary, NodeName: &l.Node, Pool: resource.ResourcePool{Name: l.Node + "/" + name, ResourceSliceCount: 1},
		Devices: []resource.Device{{Name: name}}}}
	if _, err := slices.Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		l.T.Fatal(err)
	}
	l.Server.NewTemplate(l.T, l.Namespace, name, resource.ResourceClaimSpec{Devices: resource.DeviceClaim{
		Requests: []resource.DeviceRequest{{Name: "net", Exactly: &resource.ExactDeviceRequest{DeviceClassName: canary,
			AllocationMode: resource.DeviceAllocationModeExactCount, Count: 1}}}}})
	l.Server.NewPodOf(l.T, l.Namespace, name, l.Node, name)
	if got := l.Server.WaitScheduled(l.T, l.Namespace, name, within); got[0].Device != name {
		l.T.Fatalf("the canary of now is %s, allocated was %s", name, got[0].Device)
	}
	if err := slices.Delete(ctx, slice.Name, metav1.DeleteOptions{}); err != nil {
		l.T.Fatal(err)
	}
	l.Server.DeletePod(l.T, l.Namespace, name)
	l.Server.WaitReleased(l.T, l.Namespace, name, within)
}

// Claim is the resource claim that was made for a pod, nil as long as there is none.
func (s *APIServer) Claim(t testing.TB, namespace, pod string) *resource.ResourceClaim {
	t.Helper()
	claims, err := s.Client.ResourceV1().ResourceClaims(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, claim := range claims.Items {
		for _, owner := range claim.OwnerReferences {
			if owner.Kind == "Pod" && owner.Name == pod {
				return &claims.Items[i]
			}
		}
	}
	return nil
}

// WaitScheduled returns the devices allocated to a pod once the scheduler has bound it to a node.
func (s *APIServer) WaitScheduled(t testing.TB, namespace, pod string,
	within time.Duration) []resource.DeviceRequestAllocationResult {
	t.Helper()
	for deadline := endOf(within); ; time.Sleep(50 * time.Millisecond) {
		p, err := s.Client.CoreV1().Pods(namespace).Get(context.Background(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		claim := s.Claim(t, namespace, pod)
		if p.Spec.NodeName != "" && claim != nil && claim.Status.Allocation != nil {
			return claim.Status.Allocation.Devices.Results
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for pod %s to be scheduled; its conditions are %+v", pod, p.Status.Conditions)
		}
	}
}

// Unschedulable fails if the scheduler has not refused the pod within the time, for want of devices and of nothing
// else.
func (s *APIServer) Unschedulable(t testing.TB, namespace, pod string, within time.Duration) {
	t.Helper()
	said := "nothing"
	for deadline := endOf(within); ; time.Sleep(50 * time.Millisecond) {
		p, err := s.Client.CoreV1().Pods(namespace).Get(context.Background(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Spec.NodeName != "" {
			t.Fatalf("pod %s was bound to %s", pod, p.Spec.NodeName)
		}
		for _, c := range p.Status.Conditions {
			if c.Type == core.PodScheduled && c.Reason == core.PodReasonUnschedulable {
				if said = c.Message; strings.Contains(said, noDevices) {
					return
				}
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for the scheduler to refuse pod %s for want of devices; it said: %s", pod, said)
		}
	}
}

// noDevices is what the scheduler says of a node whose devices do not satisfy a pod's claims.
const noDevices = "cannot allocate all claims"
