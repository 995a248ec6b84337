package harness

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Created is a container that the kubelet has made, with the names of its CDI devices (t/cluster/hollowkubelet/created.go).
type Created struct {
	Namespace, Pod, UID, Container string
	CDI                            []string
}

// Created are all containers so far, in order.
func (k *KubeletRoot) Created() []Created {
	k.lab.T.Helper()
	file, err := os.Open(k.Path + "/created")
	if err != nil {
		return nil
	}
	defer file.Close()
	var all []Created
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var one Created
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			k.lab.T.Fatalf("%s: %v", file.Name(), err)
		}
		all = append(all, one)
	}
	return all
}

// Edits are what a container gets of CDI devices, each in order of name.
type Edits struct {
	Env   []string
	Nodes []string // "path" or "path=host path"
}

type specFile struct {
	Kind    string `json:"kind"`
	Devices []struct {
		Name  string `json:"name"`
		Edits struct {
			Env   []string `json:"env"`
			Nodes []struct {
				Path     string `json:"path"`
				HostPath string `json:"hostPath"`
			} `json:"deviceNodes"`
		} `json:"containerEdits"`
	} `json:"devices"`
}

// SpecFiles are the paths of all CDI specs.
func (k *KubeletRoot) SpecFiles() []string {
	found, _ := filepath.Glob(k.Path + "/cdi/*")
	return found
}

// EditsOf is what a runtime would do for these CDI devices; one that no spec defines fails the test, as it would the
// container.
func (k *KubeletRoot) EditsOf(t testing.TB, devices []string) Edits {
	t.Helper()
	known := map[string]Edits{}
	for _, path := range k.SpecFiles() {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // taken away since
		}
		var spec specFile
		if err := yaml.Unmarshal(text, &spec); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, device := range spec.Devices {
			edits := Edits{Env: device.Edits.Env}
			for _, node := range device.Edits.Nodes {
				name := node.Path
				if node.HostPath != "" && node.HostPath != node.Path {
					name += "=" + node.HostPath
				}
				edits.Nodes = append(edits.Nodes, name)
			}
			known[spec.Kind+"="+device.Name] = edits
		}
	}
	var all Edits
	for _, device := range devices {
		edits, is := known[device]
		if !is {
			t.Errorf("no CDI spec defines %s", device)
		}
		all.Env = append(all.Env, edits.Env...)
		all.Nodes = append(all.Nodes, edits.Nodes...)
	}
	return Edits{Env: sorted(all.Env), Nodes: sorted(all.Nodes)}
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
