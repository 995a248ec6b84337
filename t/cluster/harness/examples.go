package harness

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var classOfExample = regexp.MustCompile("(?m)^kind: DeviceClass\nmetadata:\n  name: (\\S+)$")
var fencedExample = regexp.MustCompile("(?ms)^```yaml\n# example: ([a-z-]+)\n(.*?)^```$")

// Examples returns the names of a page's complete examples: YAML blocks whose first line is "# example: NAME".
func Examples(page string) ([]string, error) {
	text, err := os.ReadFile(Path(page))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, match := range fencedExample.FindAllStringSubmatch(string(text), -1) {
		names = append(names, match[1])
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no example", page)
	}
	return names, nil
}

// ReadExample reads one example of a page for this lab. It does for the reader what the page asks of them: replace the names of the
// namespaces, of the interface (ens1f0) and of the image. Policies and DeviceClasses get a name of their own, and policies are for the lab's node
// alone.
func (l *Lab) ReadExample(page, name, interfaceName, image string, pull core.PullPolicy) *Manifest {
	l.T.Helper()
	return l.ReadExamples(page, []string{name}, name+"-"+l.Node, interfaceName, image, pull)
}

// ReadExamples reads several examples for one namespace, as if the reader applied one after the other. An object that several of them
// have must be the same in each.
func (l *Lab) ReadExamples(page string, names []string, namespace, interfaceName, image string, pull core.PullPolicy) *Manifest {
	l.T.Helper()
	text, err := os.ReadFile(Path(page))
	if err != nil {
		l.T.Fatal(err)
	}
	m := &Manifest{lab: l, Namespace: namespace}
	for _, name := range names {
		found := false
		for _, match := range fencedExample.FindAllStringSubmatch(string(text), -1) {
			if match[1] != name {
				continue
			}
			found = true
			filled := strings.NewReplacer("ens1f0", interfaceName, "example.com/toolbox:1", image).Replace(match[2])
			for _, class := range classOfExample.FindAllStringSubmatch(filled, -1) {
				of := "deviceClassName: " + class[1]
				filled = strings.ReplaceAll(filled, of+"\n", of+"-"+l.Node+"\n")
			}
			objects, err := Decode(filled)
			if err != nil {
				l.T.Fatalf("%s: example %s: %v", page, name, err)
			}
			for _, object := range objects {
				l.adopt(object, m.Namespace, pull)
				m.add(object)
			}
		}
		if !found {
			l.T.Fatalf("%s has no example %s", page, name)
		}
	}
	return m
}

// add appends an object, unless the same one is there.
func (m *Manifest) add(object *unstructured.Unstructured) {
	m.lab.T.Helper()
	for _, other := range m.objects {
		if other.GroupVersionKind() != object.GroupVersionKind() || other.GetNamespace() != object.GetNamespace() || other.GetName() != object.GetName() {
			continue
		}
		if !reflect.DeepEqual(other.Object, object.Object) {
			m.lab.T.Fatalf("two examples have a different %s %s", object.GetKind(), object.GetName())
		}
		return
	}
	m.objects = append(m.objects, object)
}

func (l *Lab) adopt(object *unstructured.Unstructured, namespace string, pull core.PullPolicy) {
	l.T.Helper()
	set := func(value any, path ...string) {
		if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
			l.T.Fatal(err)
		}
	}
	node := M{"kubernetes.io/hostname": l.Node}
	switch object.GetKind() {
	case "Namespace":
		object.SetName(namespace)
	case "SriovResourcePolicy":
		object.SetNamespace(l.Namespace)
		set(node, "spec", "nodeSelector")
	case "DeviceClass":
		object.SetName(object.GetName() + "-" + l.Node)
	case "DeviceExposurePolicy":
		object.SetName(object.GetName() + "-" + l.Node)
		set(M{"matchLabels": node}, "spec", "nodeSelector")
	case "Pod":
		set(int64(1), "spec", "terminationGracePeriodSeconds")
		object.SetNamespace(namespace)
		containers := object.Object["spec"].(M)["containers"].(L)
		for _, container := range containers {
			container.(M)["imagePullPolicy"] = string(pull)
		}
	default:
		object.SetNamespace(namespace)
	}
}
