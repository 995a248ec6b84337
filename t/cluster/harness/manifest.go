package harness

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Manifest is a file as users write it, applied for one lab: NODE in it is the lab's name, POLICIES the namespace that
// its daemon reads. Its pods are for the lab's node alone.
type Manifest struct {
	lab       *Lab
	objects   []*unstructured.Unstructured
	Namespace string // of the pods
}

// ReadManifest reads a file of t/cluster/testdata/pods. It replaces more texts in it: old, new.
func (l *Lab) ReadManifest(name string, more ...string) *Manifest {
	l.T.Helper()
	text, err := os.ReadFile(Path("testdata/pods/" + name))
	if err != nil {
		l.T.Fatal(err)
	}
	copied := filepath.Join(l.T.TempDir(), name)
	filled := strings.NewReplacer(append(more, "NODE", l.Node, "POLICIES", l.Namespace)...).Replace(string(text))
	if err := os.WriteFile(copied, []byte(filled), 0o600); err != nil {
		l.T.Fatal(err)
	}
	m := &Manifest{lab: l, Namespace: "team-" + l.Node}
	if m.objects, err = ReadYAML(copied); err != nil {
		l.T.Fatal(err)
	}
	return m
}

func isWorkload(object *unstructured.Unstructured) bool {
	return slices.Contains([]string{"Pod", "Deployment"}, object.GetKind())
}

// Furnish creates all that is not a pod, ApplyPods the rest.
func (m *Manifest) Furnish() {
	m.lab.T.Helper()
	m.create(func(o *unstructured.Unstructured) bool { return !isWorkload(o) })
}

func (m *Manifest) ApplyPods() {
	m.lab.T.Helper()
	m.create(isWorkload)
}

func (m *Manifest) create(which func(*unstructured.Unstructured) bool) {
	m.lab.T.Helper()
	for _, object := range m.objects {
		if !which(object) {
			continue
		}
		spec := map[string][]string{"Pod": {"spec"}, "Deployment": {"spec", "template", "spec"}}[object.GetKind()]
		if spec != nil {
			selector := map[string]string{"kubernetes.io/hostname": m.lab.Node}
			if err := unstructured.SetNestedStringMap(object.Object, selector, append(spec, "nodeSelector")...); err != nil {
				m.lab.T.Fatal(err)
			}
		}
		options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
		if _, err := m.client(object).Create(context.Background(), object, options); err != nil {
			m.lab.T.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (m *Manifest) client(object *unstructured.Unstructured) interface {
	Create(context.Context, *unstructured.Unstructured, metav1.CreateOptions, ...string) (*unstructured.Unstructured, error)
	Delete(context.Context, string, metav1.DeleteOptions, ...string) error
} {
	kind := object.GroupVersionKind()
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	if kind.Kind == "NetworkAttachmentDefinition" {
		plural.Resource = "network-attachment-definitions"
	}
	all := m.lab.Server.Dynamic.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version,
		Resource: strings.Replace(plural.Resource, "attributeses", "attributes", 1)})
	if namespace := object.GetNamespace(); namespace != "" {
		return all.Namespace(namespace)
	}
	return all
}

// DeletePods takes the pods away as a user does: their kubelet ends them.
func (m *Manifest) DeletePods() {
	m.lab.T.Helper()
	m.delete(isWorkload)
}

// DeleteRest takes away what Furnish made.
func (m *Manifest) DeleteRest() {
	m.lab.T.Helper()
	m.delete(func(o *unstructured.Unstructured) bool { return !isWorkload(o) })
}

func (m *Manifest) delete(which func(*unstructured.Unstructured) bool) {
	m.lab.T.Helper()
	background := metav1.DeletePropagationBackground
	for _, object := range slices.Backward(m.objects) {
		if !which(object) {
			continue
		}
		err := m.client(object).Delete(context.Background(), object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			m.lab.T.Fatalf("delete %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// Server is where it was applied.
func (m *Manifest) Server() *APIServer { return m.lab.Server }

// Pods are those of the manifest's namespace.
func (m *Manifest) Pods() []core.Pod {
	m.lab.T.Helper()
	list, err := m.lab.Server.Client.CoreV1().Pods(m.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		m.lab.T.Fatal(err)
	}
	return list.Items
}

// Claims are the ResourceClaims of a namespace, by name.
func (s *APIServer) Claims(t testing.TB, namespace string) map[string]*resource.ResourceClaim {
	t.Helper()
	list, err := s.Client.ResourceV1().ResourceClaims(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*resource.ResourceClaim{}
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	return found
}

// WaitDeallocated returns when nothing is allocated to the claims of a namespace any more.
func (s *APIServer) WaitDeallocated(t testing.TB, namespace string, within time.Duration) {
	t.Helper()
	for deadline := endOf(within); ; time.Sleep(50 * time.Millisecond) {
		var held []string
		for name, claim := range s.Claims(t, namespace) {
			if claim.Status.Allocation != nil {
				held = append(held, name)
			}
		}
		if len(held) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v after the pods were deleted, devices are allocated to %v", within, held)
		}
	}
}
