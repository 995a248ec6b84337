package chart

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authorization "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sliced.test/cluster/harness"
)

// documentsOf are all of the files, as kubectl apply -f reads a folder: without those below it.
func documentsOf(t *testing.T, folders ...string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, folder := range folders {
		files, err := filepath.Glob(folder)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", folder, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all, err := harness.Decode(string(text))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			found = append(found, all...)
		}
	}
	return found
}

// Turns red when the first command of docs/install.md fails on one without the SR-IOV operator, or when its next one, install.yaml
// applied server-side, is then a conflict: after the same way of applying and after the older one.
func TestInstallAppliesAfterTheFirstCommand(t *testing.T) {
	for _, isServerSide := range []bool{true, false} {
		fresh, err := harness.StartPlane(harness.Options{NoCRDs: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { fresh.Stop(t.Failed()) })
		space := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
		if _, err := fresh.Server.Client.CoreV1().Namespaces().Create(context.Background(), space, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		// What the harness itself brings for other tests.
		ctx, all := context.Background(), metav1.ListOptions{}
		if err := errors.Join(fresh.Server.Client.RbacV1().ClusterRoles().Delete(ctx, "sliced", metav1.DeleteOptions{}),
			fresh.Server.Client.ResourceV1().DeviceClasses().DeleteCollection(ctx, metav1.DeleteOptions{}, all)); err != nil {
			t.Fatal(err)
		}
		known, err := fresh.Server.Mapper()
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range documentsOf(t, "../../config/crd/*.yaml", "../../config/deploy/*.yaml") {
			apply := fresh.Server.CreateAsKubectl
			if isServerSide {
				apply = fresh.Server.ApplyAsKubectl
			}
			if err := apply(known, object); err != nil {
				t.Errorf("the first command: %s %s: %v", object.GetKind(), object.GetName(), err)
			}
		}
		for _, object := range documentsOf(t, filepath.Join(manifests, "install.yaml")) {
			if err := fresh.Server.ApplyAsKubectl(known, object); err != nil {
				t.Errorf("server-side %t, then install.yaml: %s %s: %v", isServerSide, object.GetKind(), object.GetName(), err)
			}
		}
	}
}

// Turns red when who may view a namespace may not read our kinds there, or may change them; or when sliced-device-viewer reads less
// than what is not in a namespace, or more. That sliced-viewer is enough for every command is judged in t/cluster.
func TestReadersMayRead(t *testing.T) {
	view, err := plane.Server.Client.RbacV1().ClusterRoles().Get(context.Background(), "sliced-view", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	devices, err := plane.Server.Client.RbacV1().ClusterRoles().Get(context.Background(), "sliced-device-viewer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := plane.Server.Client.RbacV1().ClusterRoles().Get(context.Background(), "sliced-viewer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if view.Labels["rbac.authorization.k8s.io/aggregate-to-view"] != "true" || viewer.Labels["rbac.authorization.k8s.io/aggregate-to-view"] != "" {
		t.Errorf("labels: %v, %v", view.Labels, viewer.Labels)
	}
	for _, rule := range slices.Concat(view.Rules, devices.Rules, viewer.Rules) {
		for _, verb := range rule.Verbs {
			if verb != "get" && verb != "list" && verb != "watch" {
				t.Errorf("a reader may %s %v", verb, rule.Resources)
			}
		}
	}
	ctx, client := context.Background(), plane.Server.Client
	plane.Server.NewNamespace(t, "developers")
	developer := []rbac.Subject{{Kind: "User", APIGroup: rbac.GroupName, Name: "developer"}}
	if _, err := client.RbacV1().RoleBindings("developers").Create(ctx, &rbac.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "developer"},
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "view"}, Subjects: developer}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "developer"},
		RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "sliced-device-viewer"}, Subjects: developer}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	may := func(verb, group, resource, namespace string) bool {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
			User: "developer", ResourceAttributes: &authorization.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace}}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Allowed
	}
	// The role `view` has them once the controller of aggregated roles has seen sliced-view, which install.yaml has brought.
	for deadline := harness.Limit(); !may("list", "resource.k8s.io", "resourceclaims", "developers"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited until the limit of the test program for the role view to list claims, which the API server still refuses")
		}
	}
	for _, one := range []struct {
		verb, group, resource, namespace string
		allowed                          bool
	}{
		{"get", "resource.k8s.io", "resourceclaimtemplates", "developers", true},
		{"list", "sriovnetwork.k8snetworkplumbingwg.io", "sriovresourcepolicies", "developers", true},
		{"get", "", "pods", "developers", true},
		{"list", "events.k8s.io", "events", "developers", true},
		{"list", "coordination.k8s.io", "leases", "", true},
		{"list", "", "nodes", "", true},
		{"list", "resource.k8s.io", "resourceslices", "", true},
		{"list", "resource.k8s.io", "deviceclasses", "", true},
		{"list", "resource.k8s.io", "devicetaintrules", "", true},
		{"list", "networking.dra.io", "deviceexposurepolicies", "", true},
		{"list", "networking.dra.io", "nodedevicereports", "", true},
		{"list", "sriovnetwork.k8snetworkplumbingwg.io", "sriovresourcepolicies", "", true},
		{"list", "resource.k8s.io", "resourceclaims", "", false},
		{"list", "", "pods", "", false},
		{"get", "", "secrets", "developers", false},
		{"update", "resource.k8s.io", "resourceslices", "", false},
		{"update", "networking.dra.io", "deviceexposurepolicies", "", false},
		{"create", "sriovnetwork.k8snetworkplumbingwg.io", "sriovresourcepolicies", "developers", false},
	} {
		if may(one.verb, one.group, one.resource, one.namespace) != one.allowed {
			t.Errorf("%s %s in %q: want %t", one.verb, one.resource, one.namespace, one.allowed)
		}
	}
}
