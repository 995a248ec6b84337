// Package chart judges packaging/helm/sliced and packaging/manifests: what Helm's own engine makes of the chart, held against
// a real API server on which it is installed.
package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"sliced.test/cluster/harness"
)

const (
	chartPath = "../../packaging/helm/sliced"
	manifests = "../../packaging/manifests"
	home      = "dra-driver-sriov" // the namespace of install.yaml
	account   = "system:serviceaccount:" + home + ":sliced"
)

type (
	M = harness.M
	L = harness.L
)

// plane has nothing on it but what install.yaml brings.
var plane *harness.Plane

func TestMain(m *testing.M) {
	if order := os.Getenv(asSandbox); order != "" {
		becomeContainer(order)
	}
	var err error
	if plane, err = harness.StartPlane(harness.Options{ControllerManager: true, NoCRDs: true}); err == nil {
		err = install()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
	} else {
		code = m.Run()
	}
	if plane != nil {
		plane.Stop(code != 0)
	}
	os.Exit(code)
}

// render is what `helm template` prints, or why it refuses.
func render(files ...string) (string, error) {
	command := exec.Command("../../build/render", append([]string{chartPath, home, "sliced"}, files...)...)
	var said, text bytes.Buffer
	command.Stdout, command.Stderr = &text, &said
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said.String())
	}
	return text.String(), nil
}

// with renders these values.
func with(t *testing.T, values string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return render(file)
}

func decode(text string) ([]*unstructured.Unstructured, error) {
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

// objects are those of a rendering, by kind and name.
func objects(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	all, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, object := range all {
		key := object.GetKind() + " " + object.GetName()
		if found[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		found[key] = object
	}
	return found
}

func mapper() (meta.RESTMapper, error) {
	client, err := discovery.NewDiscoveryClientForConfig(plane.Server.AdminConfig())
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return nil, err
	}
	return restmapper.NewDiscoveryRESTMapper(groups), nil
}

// apply is kubectl apply --server-side, of fields that the server knows only.
func apply(mapper meta.RESTMapper, object *unstructured.Unstructured, dryRun ...string) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = plane.Server.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = plane.Server.Dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	_, err = client.Patch(context.Background(), object.GetName(), "application/apply-patch+yaml", text, metav1.PatchOptions{
		FieldManager: "chart", Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun})
	return err
}

// install applies install.yaml as a user does, and waits until its kinds are served and its admission policies judge.
func install() error {
	text, err := os.ReadFile(filepath.Join(manifests, "install.yaml"))
	if err != nil {
		return err
	}
	all, err := decode(string(text))
	if err != nil {
		return err
	}
	known, err := mapper()
	if err != nil {
		return err
	}
	for _, object := range all {
		if err := apply(known, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := plane.Server.Dynamic.Resource(harness.Policies).List(context.Background(), metav1.ListOptions{})
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}
