// Package chart judges packaging/helm/sliced and packaging/manifests: what Helm's own engine makes of the chart, held against
// a real API server on which it is installed.
package chart

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
	if plane, err = harness.StartPlane(harness.Options{ControllerManager: true, NoCRDs: true, Controllers: []string{"clusterrole-aggregation-controller"}}); err == nil {
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
func render(files ...string) (string, error) { return rendering(nil, files...) }

// rendering is render with options before its arguments.
func rendering(options []string, files ...string) (string, error) {
	command := exec.Command("../../build/render", slices.Concat(options, []string{chartPath, home, "sliced"}, files)...)
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

// objects are those of a rendering, by kind and name.
func objects(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	all, err := harness.Decode(text)
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

// install applies install.yaml as a user does, and waits until its kinds are served and its admission policies judge.
func install() error {
	text, err := os.ReadFile(filepath.Join(manifests, "install.yaml"))
	if err != nil {
		return err
	}
	all, err := harness.Decode(string(text))
	if err != nil {
		return err
	}
	known, err := plane.Server.Mapper()
	if err != nil {
		return err
	}
	for _, object := range all {
		if err := plane.Server.ApplyServerSide(known, object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		_, err := plane.Server.Dynamic.Resource(harness.Policies).List(context.Background(), metav1.ListOptions{})
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}
