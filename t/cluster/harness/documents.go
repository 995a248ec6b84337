package harness

import (
	"context"
	"errors"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// Decode reads the objects of a text with documents, as a chart makes it.
func Decode(text string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}

// Mapper tells where the server has the objects of a kind.
func (s *APIServer) Mapper() (meta.RESTMapper, error) {
	client, err := discovery.NewDiscoveryClientForConfig(s.AdminConfig())
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return nil, err
	}
	return restmapper.NewDiscoveryRESTMapper(groups), nil
}

// ApplyServerSide is kubectl apply --server-side --force-conflicts of fields that the server knows only.
func (s *APIServer) ApplyServerSide(mapper meta.RESTMapper, object *unstructured.Unstructured, dryRun ...string) error {
	client, err := s.clientOf(mapper, object)
	if err != nil {
		return err
	}
	force := true
	return apply(client, object, metav1.PatchOptions{FieldManager: "user", Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
}

// ApplyAsKubectl is kubectl apply --server-side: a field that another manager has with another value is a conflict.
func (s *APIServer) ApplyAsKubectl(mapper meta.RESTMapper, object *unstructured.Unstructured) error {
	client, err := s.clientOf(mapper, object)
	if err != nil {
		return err
	}
	return apply(client, object, metav1.PatchOptions{FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict})
}

// CreateAsKubectl is kubectl apply of an object that is not there.
func (s *APIServer) CreateAsKubectl(mapper meta.RESTMapper, object *unstructured.Unstructured) error {
	client, err := s.clientOf(mapper, object)
	if err != nil {
		return err
	}
	_, err = client.Create(context.Background(), object, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply", FieldValidation: metav1.FieldValidationStrict})
	return err
}

func apply(client dynamic.ResourceInterface, object *unstructured.Unstructured, options metav1.PatchOptions) error {
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = client.Patch(context.Background(), object.GetName(), "application/apply-patch+yaml", text, options)
	return err
}

func (s *APIServer) clientOf(mapper meta.RESTMapper, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return s.Dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return s.Dynamic.Resource(mapping.Resource), nil
}
