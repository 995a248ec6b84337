package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

const waitAnnotation = "sriovnetwork.openshift.io/device-plugin-wait-config"

// applyAll installs a text beside install.yaml, and takes it away with the test.
func applyAll(t *testing.T, text string, kinds ...string) {
	t.Helper()
	known, err := plane.Server.Mapper()
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range objects(t, text) {
		kind, _, _ := strings.Cut(name, " ")
		wanted := len(kinds) == 0
		for _, one := range kinds {
			wanted = wanted || name == one
		}
		if !wanted {
			continue
		}
		if err := plane.Server.ApplyServerSide(known, object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.HasPrefix(kind, "ValidatingAdmissionPolicy") {
			continue
		}
		mapping, err := known.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			plane.Server.Dynamic.Resource(mapping.Resource).Delete(context.Background(), object.GetName(), metav1.DeleteOptions{})
		})
	}
}

// somePod makes a pod of an account on a node.
func somePod(t *testing.T, node, account string, labels map[string]string) *core.Pod {
	t.Helper()
	no := false
	pod, err := plane.Server.Client.CoreV1().Pods(home).Create(context.Background(), &core.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "waits-", Labels: labels, Annotations: map[string]string{"other": "stays"}},
		Spec: core.PodSpec{NodeName: node, ServiceAccountName: account, AutomountServiceAccountToken: &no,
			Containers: []core.Container{{Name: "sliced", Image: "sliced"}}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func tokenOf(t *testing.T, account string, ref *authentication.BoundObjectReference) string {
	t.Helper()
	seconds := int64(3600)
	answer, err := plane.Server.Client.CoreV1().ServiceAccounts(home).CreateToken(context.Background(), account,
		&authentication.TokenRequest{Spec: authentication.TokenRequestSpec{ExpirationSeconds: &seconds, BoundObjectRef: ref}}, now)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

func patch(client kubernetes.Interface, pod, text string) error {
	_, err := client.CoreV1().Pods(home).Patch(context.Background(), pod, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	return err
}

// judged waits until a policy that was just installed refuses what it must.
func judged(t *testing.T, try func() error) {
	t.Helper()
	for deadline := harness.Limit(); try() == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited until the limit of the test program for the admission policy to refuse what it still lets pass")
		}
	}
}

func annotated(t *testing.T, pod string) bool {
	t.Helper()
	found, err := plane.Server.Client.CoreV1().Pods(home).Get(context.Background(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, has := found.Annotations[waitAnnotation]
	return has
}

func program(t *testing.T, token string, arguments ...string) *harness.Process {
	t.Helper()
	config := plane.Kubeconfig(t, plane.Server.URL, &api.AuthInfo{Token: token})
	process, err := harness.StartProcess("sliced", filepath.Join(t.TempDir(), "log"), harness.Program(t),
		append(arguments, "--cluster", "kubeconfig:"+config)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.LogTail(40))
		}
	})
	return process
}

// Turns red when the chart's role is too little for the init container, or when its admission policy lets the account of the pods
// change another pod, or anything of its own but annotations.
func TestAPodChangesItsOwnAnnotationsOnly(t *testing.T) {
	text := must(with(t, "{untilConfigured: annotation, waitForConfig: {enabled: true}}"))
	applyAll(t, text, "Role sliced-own-pod", "RoleBinding sliced-own-pod", "ValidatingAdmissionPolicy sliced-own-pod",
		"ValidatingAdmissionPolicyBinding sliced-own-pod")
	node := plane.Server.NewNode(t, "own-pod", nil)
	own, other := somePod(t, node.Name, "sliced", nil), somePod(t, node.Name, "sliced", nil)
	token := tokenOf(t, "sliced", &authentication.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: own.Name, UID: own.UID})
	client := as(t, token)
	judged(t, func() error { return patch(client, other.Name, `{"metadata":{"annotations":{"probe":"x"}}}`) })

	refused(t, "another pod's annotations", patch(client, other.Name, `{"metadata":{"annotations":{"a":"b"}}}`),
		"the pod "+own.Name+" is expected")
	for what, change := range map[string]string{
		"labels":          `{"metadata":{"labels":{"a":"b"}}}`,
		"finalizers":      `{"metadata":{"finalizers":["example.com/a"]}}`,
		"ownerReferences": `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"x","uid":"y"}]}}`,
		"spec":            `{"spec":{"activeDeadlineSeconds":1}}`,
		"the image":       `{"spec":{"containers":[{"name":"sliced","image":"evil"}]}}`,
	} {
		refused(t, what, patch(client, own.Name, change), "metadata.annotations: nothing else")
	}
	nodes := tokenOf(t, "sliced", &authentication.BoundObjectReference{Kind: "Node", APIVersion: "v1", Name: node.Name, UID: node.UID})
	refused(t, "a token of no pod", patch(as(t, nodes), own.Name, `{"metadata":{"annotations":{"a":"b"}}}`), "this token is of no pod")

	process := program(t, token, "wait-for-config", "--pod-name", own.Name, "--pod-namespace", home)
	for deadline := harness.Limit(); !annotated(t, own.Name); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) || process.Exited() {
			t.Fatalf("waited for the annotation to be set (the program has ended: %v); it said:\n%s", process.Exited(), process.LogTail(20))
		}
	}
	allowed(t, "an administrator lets it go", patch(plane.Server.Client, own.Name, `{"metadata":{"annotations":{"`+waitAnnotation+`":null}}}`))
	if !process.Wait(harness.Patience) || process.ExitCode() != 0 {
		t.Errorf("exit code %d", process.ExitCode())
	}
	if strings.Contains(process.Log(), "forbidden") {
		t.Error("something that it asks for is refused")
	}
}

// Turns red when the account for scripts cannot let go the pods of its node, or can do anything else to a pod.
func TestTheScriptAccountRemovesOnlyOneAnnotation(t *testing.T) {
	text, err := os.ReadFile("../../config/deploy/optional/configured.yaml")
	if err != nil {
		t.Fatal(err)
	}
	applyAll(t, string(text))
	a, b := plane.Server.NewNode(t, "configured-a", nil), plane.Server.NewNode(t, "configured-b", nil)
	here, there := somePod(t, a.Name, "sliced", map[string]string{"app": "sliced"}), somePod(t, b.Name, "sliced", map[string]string{"app": "sliced"})
	wait := `{"metadata":{"annotations":{"` + waitAnnotation + `":"true"}}}`
	for _, pod := range []*core.Pod{here, there} {
		allowed(t, "an administrator has them wait", patch(plane.Server.Client, pod.Name, wait))
	}
	token := tokenOf(t, "node-configured", &authentication.BoundObjectReference{Kind: "Node", APIVersion: "v1", Name: a.Name, UID: a.UID})
	client := as(t, token)
	tries := 0
	judged(t, func() error {
		tries++ // one that changes nothing is not refused
		return patch(client, here.Name, fmt.Sprintf(`{"metadata":{"annotations":{"probe":"%d"}}}`, tries))
	})

	letGo := `{"metadata":{"annotations":{"` + waitAnnotation + `":null}}}`
	refused(t, "a pod of another node", patch(client, there.Name, letGo), "a pod of the node configured-a is expected")
	refused(t, "another annotation", patch(client, here.Name, `{"metadata":{"annotations":{"other":"changed"}}}`), "takes "+waitAnnotation+" away")
	refused(t, "another annotation goes", patch(client, here.Name, `{"metadata":{"annotations":{"other":null}}}`), "takes "+waitAnnotation+" away")
	refused(t, "labels", patch(client, here.Name, `{"metadata":{"labels":{"a":"b"}}}`), "metadata.annotations: nothing else")
	refused(t, "a pod of no node's token", patch(as(t, tokenOf(t, "node-configured", nil)), here.Name, letGo), "the token is not bound to a Node")

	config := plane.Kubeconfig(t, plane.Server.URL, &api.AuthInfo{Token: token})
	said, err := exec.Command(harness.Program(t), "configured", "--for", "annotation", "--cluster", "kubeconfig:"+config, "--node-name", a.Name).CombinedOutput()
	if err != nil || string(said) != "pod "+here.Name+" is let go\n" {
		t.Errorf("sliced configured: %v\n%s", err, said)
	}
	if annotated(t, here.Name) || !annotated(t, there.Name) {
		t.Error("the wrong pods wait")
	}
}
