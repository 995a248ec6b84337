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

// ApplyServerSide is kubectl apply --server-side of fields that the server knows only.
func (s *APIServer) ApplyServerSide(mapper meta.RESTMapper, object *unstructured.Unstructured, dryRun ...string) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = s.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = s.Dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	_, err = client.Patch(context.Background(), object.GetName(), "application/apply-patch+yaml", text, metav1.PatchOptions{
		FieldManager: "user", Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
	return err
}
