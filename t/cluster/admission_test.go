package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"sliced.test/cluster/harness"
)

// refusal is an object that must be refused, and all that is said of it.
type refusal struct {
	why    string
	wants  []string
	object *unstructured.Unstructured
}

// refusals are those of t/fixture/refused.yaml, by whose words `validate` is judged (t/unit/webhook), for one webhook to judge.
func refusals(t *testing.T, webhook string) []refusal {
	t.Helper()
	text, err := os.ReadFile(harness.Path("../fixture/refused.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var found []refusal
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		row := struct {
			Why    string
			Wants  []string
			Object *unstructured.Unstructured
		}{}
		if err := decoder.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if row.Object == nil {
			continue // what stands before the first document
		}
		row.Object.SetLabels(map[string]string{"judged": webhook})
		found = append(found, refusal{row.Why, row.Wants, row.Object})
	}
	if len(found) < 100 {
		t.Fatalf("%d objects that are refused", len(found))
	}
	return found
}

func pluralOf(t *testing.T, object *unstructured.Unstructured) schema.GroupVersionResource {
	t.Helper()
	plural, known := map[string]string{"SriovResourcePolicy": "sriovresourcepolicies", "DeviceAttributes": "deviceattributes",
		"DeviceExposurePolicy": "deviceexposurepolicies", "ResourceClaim": "resourceclaims", "DeviceClass": "deviceclasses",
		"ResourceClaimTemplate": "resourceclaimtemplates"}[object.GetKind()]
	if !known {
		t.Fatalf("no test knows the kind %s", object.GetKind())
	}
	return object.GroupVersionKind().GroupVersion().WithResource(plural)
}

func creating(t *testing.T, client dynamic.Interface, object *unstructured.Unstructured) error {
	t.Helper()
	_, err := client.Resource(pluralOf(t, object)).Namespace(object.GetNamespace()).
		Create(context.Background(), object.DeepCopy(), metav1.CreateOptions{DryRun: []string{"All"}})
	return err
}

// judging is creating, by an API server that asks this webhook.
func (j judged) judging(t *testing.T, client dynamic.Interface, object *unstructured.Unstructured) error {
	t.Helper()
	return j.webhook.Judged(func() error { return creating(t, client, object) })
}

// openCRDs take anything as spec, so that nobody but the webhook judges.
func openCRDs() ([]*unstructured.Unstructured, error) {
	open := M{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	exposures := harness.LooseCRD("DeviceExposurePolicy", harness.Exposures.Resource, open)
	exposures.SetName(harness.Exposures.Resource + "." + harness.Exposures.Group)
	unstructured.SetNestedField(exposures.Object, harness.Exposures.Group, "spec", "group")
	unstructured.SetNestedField(exposures.Object, "Cluster", "spec", "scope")
	all, err := harness.ReadYAML("testdata/network-attachment-definitions.yaml")
	return append(all, harness.LooseCRD("SriovResourcePolicy", harness.Policies.Resource, open),
		harness.LooseCRD("DeviceAttributes", harness.Attributes.Resource, open), exposures), err
}

// validated are the lines of `sliced validate` about each object, without their places.
func validated(t *testing.T, objects ...*unstructured.Unstructured) (lines []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.json")
	for _, object := range objects {
		text, err := json.Marshal(object)
		if err != nil || os.WriteFile(file, text, 0o600) != nil {
			t.Fatal(err)
		}
		out, _ := exec.Command(harness.Program(t), "validate", file).Output()
		for _, line := range strings.Split(string(out), "\n") {
			if _, said, is := strings.Cut(line, ": error: "); is {
				lines = append(lines, said)
			}
		}
	}
	return lines
}

// warned keeps the warnings of a client's answers.
type warned struct {
	sync.Mutex
	texts []string
}

func (w *warned) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	if !strings.HasPrefix(text, harness.Unjudged) { // then it is asked again
		w.texts = append(w.texts, text)
	}
}

// unjudged is the control plane of all scenarios where nobody but a webhook judges policies: each scenario has one of its own.
var unjudged struct {
	sync.Once
	plane *harness.Plane
	err   error
}

// judged is a scenario's webhook there, the label by which objects are its own, and one that it refuses.
type judged struct {
	name    string
	plane   *harness.Plane
	webhook *harness.Webhook
	bad     *unstructured.Unstructured
}

func newJudged(t *testing.T, name string) judged {
	t.Helper()
	unjudged.Do(func() {
		if unjudged.plane, unjudged.err = harness.StartPlane(harness.Options{NoCRDs: true}); unjudged.err != nil {
			return
		}
		var crds []*unstructured.Unstructured
		if crds, unjudged.err = openCRDs(); unjudged.err != nil {
			return
		}
		if unjudged.err = unjudged.plane.Server.InstallCRDs(crds); unjudged.err == nil {
			home := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "refused"}}
			_, unjudged.err = unjudged.plane.Server.Client.CoreV1().Namespaces().Create(context.Background(), home, metav1.CreateOptions{})
		}
	})
	if unjudged.err != nil {
		t.Fatal("control plane:", unjudged.err)
	}
	return judged{name, unjudged.plane, unjudged.plane.StartWebhook(t), refusals(t, name)[0].object}
}

func (j judged) ask(t *testing.T) {
	t.Helper()
	j.webhook.Ask(t, j.name, admission.Fail)
	j.webhook.WaitAsked(t, func() error { return creating(t, j.plane.Server.Dynamic, j.bad) })
}

// Turns red when something that `validate` refuses is stored, or is refused in other words; when a field is no cause; when a
// warning does not come back; when what is well, or another's, is refused; or when an object that was there before can no more
// be labelled or deleted.
func TestWebhookRefusesWhatValidateRefuses(t *testing.T) {
	t.Parallel()
	j := newJudged(t, "words")
	before := j.bad.DeepCopy()
	before.SetName("before")
	policies := j.plane.Server.Dynamic.Resource(harness.Policies).Namespace("refused")
	if _, err := policies.Create(context.Background(), before, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	j.ask(t)
	j.judgeWords(t, refusals(t, j.name))
	j.judgeKubectl(t)
	j.judgeWarning(t)
	j.judgeWell(t)
	j.judgeEdits(t, policies, before.GetName())
	if log := j.webhook.Log(); !strings.Contains(log, "test-admin") {
		t.Errorf("the log does not name the user:\n%s", j.webhook.LogTail(5))
	}
}

// judgeWords: each is refused in the words that validate has for it, and its fields are causes.
func (j judged) judgeWords(t *testing.T, rows []refusal) {
	t.Helper()
	var all []*unstructured.Unstructured
	var words []string
	for _, row := range rows {
		all, words = append(all, row.object), append(words, row.wants...)
		err := j.judging(t, j.plane.Server.Dynamic, row.object)
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			t.Errorf("%s: is stored: %v", row.why, err)
			continue
		}
		said := status.Status()
		_, message, _ := strings.Cut(said.Message, "denied the request: ")
		if said.Code != http.StatusUnprocessableEntity || message != strings.Join(row.wants, "\n") {
			t.Errorf("%s: refused with %d\n%s\nwanted\n%s", row.why, said.Code, said.Message, strings.Join(row.wants, "\n"))
			continue
		}
		var causes []string
		for _, cause := range said.Details.Causes {
			causes = append(causes, row.object.GetKind()+" p: "+cause.Field+" "+cause.Message)
		}
		if !slices.Equal(causes, row.wants) {
			t.Errorf("%s: causes %q", row.why, causes)
		}
	}
	if got := validated(t, all...); !slices.Equal(got, words) {
		t.Errorf("validate says other words:\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(words, "\n"))
	}
}

func (j judged) judgeKubectl(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bad.json")
	if text, err := json.Marshal(j.bad); err != nil || os.WriteFile(file, text, 0o600) != nil {
		t.Fatal(err)
	}
	printed, err := exec.Command("kubectl", "--kubeconfig", j.plane.Server.AdminKubeconfig(t, "refused"), "apply", "-f", file).CombinedOutput()
	if want := `The SriovResourcePolicy "p" is invalid: spec.configs[0].resourceFilters[0].vendor: unknown field; did you mean vendors?`; err == nil ||
		!strings.Contains(string(printed), want) {
		t.Errorf("kubectl apply: %v\n%s\nwanted\n%s", err, printed, want)
	}
}

// labelled makes an object one of this scenario.
func (j judged) labelled(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetLabels(map[string]string{"judged": j.name})
	return object
}

// listening is a client, and the warnings that the API server answers it with.
func (j judged) listening(t *testing.T) (dynamic.Interface, *warned) {
	t.Helper()
	listener := &warned{}
	config := j.plane.Server.AdminConfig()
	config.WarningHandler = listener
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client, listener
}

func (j judged) judgeWarning(t *testing.T) {
	t.Helper()
	client, listener := j.listening(t)
	if err := j.judging(t, client, j.labelled(harness.Policy("refused", "open", harness.Config("x", M{"vendors": L{}})))); err != nil ||
		!slices.ContainsFunc(listener.texts, func(text string) bool {
			return strings.HasPrefix(text, "SriovResourcePolicy open: spec.configs[0].resourceFilters[0].vendors")
		}) {
		t.Errorf("an empty list: %v, warnings %q", err, listener.texts)
	}
}

func (j judged) judgeWell(t *testing.T) {
	t.Helper()
	for _, well := range []*unstructured.Unstructured{
		j.labelled(harness.Policy("refused", "well", harness.Config("x", harness.PFNames("ens1f0")))),
		j.labelled(harness.Exposure("well", M{"selector": M{"cel": "true"}})),
		j.labelled(harness.Object(schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}, "ResourceClaim", "refused", "others",
			M{"devices": M{"requests": L{M{"name": "a", "exactly": M{"deviceClassName": "gpu"}}},
				"config": L{M{"opaque": M{"driver": "gpu.example.com", "parameters": M{"ifNames": "x"}}}}}})),
	} {
		if err := j.judging(t, j.plane.Server.Dynamic, well); err != nil {
			t.Errorf("%s %s: %v", well.GetKind(), well.GetName(), err)
		}
	}
}

// networks are NetworkAttachmentDefinitions.
var networks = schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1", Resource: "network-attachment-definitions"}

// Turns red when the API server does not ask about a NetworkAttachmentDefinition, when one that its author does not say is for us is
// refused, when one that is for us is stored although nodes refuse it, or when validate finds other faults in the cluster.
func TestWebhookJudgesNetworkDefinitions(t *testing.T) {
	t.Parallel()
	j := newJudged(t, "networks")
	j.ask(t)
	client, listener := j.listening(t)
	network := func(name, text string, isOurs bool) *unstructured.Unstructured {
		object := harness.Object(networks, "NetworkAttachmentDefinition", "refused", name, M{"config": text})
		object.SetLabels(map[string]string{"judged": j.name})
		if isOurs {
			object.SetLabels(map[string]string{"judged": j.name, "networking.dra.io/used-by": "sliced"})
		}
		return object
	}
	create := func(object *unstructured.Unstructured, dryRun ...string) error {
		_, err := client.Resource(networks).Namespace("refused").Create(context.Background(), object.DeepCopy(), metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	const fault = "NetworkAttachmentDefinition refused/bad: spec.config: vlan is 4095: expected 0 to 4094"
	bad := `{"cniVersion":"1.0.0","type":"sriov","vlan":4095}`
	var status apierrors.APIStatus
	if err := create(network("bad", bad, true), "All"); !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity ||
		!strings.Contains(err.Error(), fault) {
		t.Errorf("a definition for us: %v", err)
	}
	if err := create(network("good", `{"cniVersion":"1.0.0","type":"sriov","vlan":5}`, true)); err != nil {
		t.Errorf("a good definition: %v", err)
	}
	listener.texts = nil
	if err := create(network("bad", bad, false)); err != nil || !slices.Equal(listener.texts, []string{fault + "; sliced prepares no claim with it"}) {
		t.Errorf("a definition that may be for Multus: %v, warnings %q", err, listener.texts)
	}
	out, _ := exec.Command(harness.Program(t), "validate", "--cluster", "kubeconfig:"+j.plane.Server.AdminKubeconfig(t, "refused")).CombinedOutput()
	if !strings.Contains(string(out), "cluster: error: "+fault+"\n") || strings.Contains(string(out), "refused/good") {
		t.Errorf("validate --cluster:\n%s", out)
	}
}

// judgeEdits of a bad object that was there before the webhook: by what an edit changes.
func (j judged) judgeEdits(t *testing.T, policies dynamic.ResourceInterface, name string) {
	t.Helper()
	patch := func(text string) error {
		return j.webhook.Judged(func() error {
			_, err := policies.Patch(context.Background(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
			return err
		})
	}
	if err := patch(`{"metadata":{"labels":{"more":"x"},"finalizers":["example.com/x"]}}`); err != nil {
		t.Errorf("labels and finalizers of what was stored before: %v", err)
	}
	if err := patch(`{"spec":{"configs":[{"resourceFilters":[{"vendorz":["8086"]}]}]}}`); err == nil || !strings.Contains(err.Error(), "did you mean vendors?") {
		t.Errorf("an edit from bad to bad: %v", err)
	}
	if err := patch(`{"spec":{"configs":[{"resourceFilters":[{"vendors":["8086"]}]}]}}`); err != nil {
		t.Errorf("an edit from bad to well: %v", err)
	}
	if err := patch(`{"metadata":{"finalizers":null}}`); err != nil {
		t.Error(err)
	}
	if err := policies.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// Turns red when, with the project's own CRDs, something that `validate` refuses is stored: whoever refuses it first.
func TestTheWebhookRefusesAllThatValidateRefuses(t *testing.T) {
	t.Parallel()
	webhook := shared.StartWebhook(t)
	webhook.Ask(t, "beside-the-schema", admission.Fail)
	home := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "refused"}}
	if _, err := shared.Server.Client.CoreV1().Namespaces().Create(context.Background(), home, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	rows := refusals(t, "beside-the-schema")
	// Of no field that a schema knows.
	misspelt := slices.IndexFunc(rows, func(row refusal) bool { return row.object.GetKind() == "ResourceClaim" })
	webhook.WaitAsked(t, func() error { return creating(t, shared.Server.Dynamic, rows[misspelt].object) })
	by := map[string]int{}
	for _, row := range rows {
		var stored *unstructured.Unstructured
		err := webhook.Judged(func() (err error) {
			stored, err = shared.Server.Dynamic.Resource(pluralOf(t, row.object)).Namespace(row.object.GetNamespace()).
				Create(context.Background(), row.object.DeepCopy(), metav1.CreateOptions{DryRun: []string{"All"}})
			return err
		})
		switch {
		case err == nil: // the server has left out what was wrong, as it does with null
			if said := validated(t, stored); len(said) > 0 {
				t.Errorf("%s: is stored, and refused by validate: %q", row.why, said)
			}
			by["nobody"]++
		case strings.Contains(err.Error(), "admission webhook"):
			by["webhook"]++
			if !strings.HasSuffix(err.Error(), strings.Join(row.wants, "\n")) {
				t.Errorf("%s: %v", row.why, err)
			}
		default:
			by["schema"]++
		}
	}
	t.Logf("refused by %v", by)
	if by["webhook"] < 50 || by["nobody"] > 1 {
		t.Errorf("the schema alone does not judge expressions, capacities and claims: refused by %v", by)
	}
}

// Turns red when an attribute that no device has is stored without a warning, or a class is refused for one; when a configuration that no
// node would understand is stored; when what does not compile is told by nobody: by the API server, and by `validate` of a file; or when
// what has become of all that is not counted.
func TestWebhookJudgesDeviceClasses(t *testing.T) {
	t.Parallel()
	j := newJudged(t, "classes")
	j.ask(t)
	client, listener := j.listening(t)
	class := func(name, expression string, config ...any) *unstructured.Unstructured {
		spec := M{"selectors": L{M{"cel": M{"expression": expression}}}}
		if len(config) > 0 {
			spec["config"] = L(config)
		}
		object := harness.Object(schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1"}, "DeviceClass", "", name, spec)
		unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
		object.SetLabels(map[string]string{"judged": j.name})
		return object
	}
	attribute := "device.attributes['" + harness.Driver + "']."
	for _, well := range []*unstructured.Unstructured{class("well", attribute+"?PFName.orValue('') == 'a'"), class("others", "device.driver == 'gpu.example.com'")} {
		if err := j.judging(t, client, well); err != nil || len(listener.texts) > 0 {
			t.Errorf("%s: %v, warnings %q", well.GetName(), err, listener.texts)
		}
	}
	if err := j.judging(t, client, class("odd", attribute+"pfname == 'a'")); err != nil || len(listener.texts) != 1 ||
		!strings.HasPrefix(listener.texts[0], "DeviceClass odd: spec.selectors[0].cel.expression column ") || !strings.Contains(listener.texts[0], "did you mean PFName?") {
		t.Errorf("an attribute that no device has: %v, warnings %q", err, listener.texts)
	}
	parameters := M{"apiVersion": harness.Driver + "/v1alpha1", "kind": "VfConfig", "ifNames": "a"}
	bad := class("bad", attribute+"PFName == 'a'", M{"opaque": M{"driver": harness.Driver, "parameters": parameters}})
	if err := j.judging(t, client, bad); err == nil || !strings.Contains(err.Error(), "spec.config[0].opaque.parameters.ifNames is an unknown field") {
		t.Errorf("a configuration that no node would understand: %v", err)
	}
	broken := class("broken", "device.driver == '"+harness.Driver+"' && device.typo == 1")
	if err := j.judging(t, client, broken); err == nil || strings.Contains(err.Error(), "admission webhook") {
		t.Errorf("what does not compile is the API server's to refuse: %v", err)
	}
	for path, wants := range map[string][]string{"/livez": {"ok"}, "/readyz": {"ok"}, "/metrics": {`sliced_webhook_reviews_total{result="refused"} `, "sliced_ready 1", "sliced_webhook_review_duration_seconds_count "}} {
		code, body := page(t, j.webhook.Health, path)
		for _, want := range wants {
			if code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s does not say %q: %d\n%s", path, want, code, body)
			}
		}
	}
	// A request that is repeated is counted twice.
	_, metrics := page(t, j.webhook.Health, "/metrics")
	for result, least := range map[string]int{"admitted": 2, "not-applicable": 1, "refused": 1} {
		count := regexp.MustCompile(`(?m)^sliced_webhook_reviews_total\{result="` + result + `"\} ([0-9]+)$`).FindStringSubmatch(metrics)
		if count == nil {
			t.Errorf("/metrics does not count %s reviews:\n%s", result, metrics)
		} else if n, _ := strconv.Atoi(count[1]); n < least {
			t.Errorf("%s reviews: %d, not at least %d", result, n, least)
		}
	}
	if said := validated(t, broken); len(said) != 1 || !strings.HasPrefix(said[0], "DeviceClass broken: spec.selectors[0].cel.expression column ") {
		t.Errorf("validate says %q", said)
	}
}

// Turns red when an object cannot be stored because the webhook is gone or hangs, or when one that comes back is not asked.
func TestWebhookFailsOpen(t *testing.T) {
	t.Parallel()
	j := newJudged(t, "open")
	j.webhook.Ask(t, j.name, admission.Ignore)
	j.webhook.WaitAsked(t, func() error { return creating(t, j.plane.Server.Dynamic, j.bad) })
	j.webhook.Kill()
	if err := creating(t, j.plane.Server.Dynamic, j.bad); err != nil {
		t.Errorf("without a webhook: %v", err)
	}
	j.webhook.Restart(t)
	j.webhook.WaitAsked(t, func() error { return creating(t, j.plane.Server.Dynamic, j.bad) })
	j.webhook.Signal(syscall.SIGSTOP)
	if err := creating(t, j.plane.Server.Dynamic, j.bad); err != nil {
		t.Errorf("with a webhook that hangs: %v", err)
	}
	j.webhook.Signal(syscall.SIGCONT)
	j.webhook.WaitAsked(t, func() error { return creating(t, j.plane.Server.Dynamic, j.bad) })
}

// Turns red when one of the objects that come while the certificate is replaced goes unjudged, or when the new one is not used.
func TestWebhookCertificateIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	j := newJudged(t, "replaced")
	j.ask(t)
	var asked, missed atomic.Int64
	ended := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Add(1)
		go func() {
			defer clients.Done()
			for {
				select {
				case <-ended:
					return
				default:
				}
				// A connection of its own for each, beside those that the API server keeps.
				if connection, err := j.webhook.Dial(); err == nil {
					connection.Close()
				} else {
					t.Errorf("a client was not served: %v", err)
				}
				asked.Add(1)
				if err := j.judging(t, j.plane.Server.Dynamic, j.bad); err == nil || !strings.Contains(err.Error(), "admission webhook") {
					missed.Add(1)
				}
			}
		}()
	}
	for _, name := range []string{"second", "third"} {
		j.webhook.Certify(t, name)
		for deadline := harness.Limit(); j.webhook.Subject() != name; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the certificate is still %s, wanted %s", j.webhook.Subject(), name)
			}
		}
	}
	waitUntil(t, "enough is asked", promptly, func() bool { return asked.Load() >= 20 })
	close(ended)
	clients.Wait()
	if missed.Load() > 0 {
		t.Errorf("of %d bad objects %d were not judged", asked.Load(), missed.Load())
	}
}

// Turns red when clients that keep to no rule hold up the API server, or when a body of 3 MiB is not judged, or a larger one is.
func TestWebhookUnderRudeClients(t *testing.T) {
	t.Parallel()
	j := newJudged(t, "rude")
	j.ask(t)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(j.plane.CA())
	client := http.Client{Timeout: harness.UntilLimit(), Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	post := func(body []byte) (int, string) {
		response, err := client.Post("https://"+j.webhook.Address+"/validate", "application/json", bytes.NewReader(body))
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	object, _ := json.Marshal(j.bad)
	review := fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","object":%s}}`, object)
	const largest = 3 << 20
	padded := append(bytes.Repeat([]byte(" "), largest-len(review)), review...)
	var code int
	var text string
	_ = j.webhook.Judged(func() error { // with a pause before it is asked again
		code, text = post(padded)
		return nil
	})
	if code != 200 || !strings.Contains(text, "did you mean vendors?") {
		t.Errorf("3 MiB: %d %.200s", code, text)
	}
	if code, text := post(append(padded, ' ')); code != http.StatusRequestEntityTooLarge {
		t.Errorf("3 MiB and a byte: %d %.200s", code, text)
	}
	for _, garbage := range []string{"", "{", "null", "\xff\xfe", strings.Repeat("[", 1<<20), `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`} {
		if code, text := post([]byte(garbage)); code != http.StatusBadRequest {
			t.Errorf("%.40q: %d %.200s", garbage, code, text)
		}
	}

	// Bytes that are no TLS, handshakes that nobody goes on with, requests that never end.
	for i := range 600 { // more than there are places
		raw, err := net.Dial("tcp", j.webhook.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if i%2 == 0 {
			raw.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		}
	}
	slow, err := j.webhook.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintf(slow, "POST /validate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(review), review[:20])
	if err := j.judging(t, j.plane.Server.Dynamic, j.bad); err == nil || !strings.Contains(err.Error(), "admission webhook") {
		t.Errorf("beside rude clients an object went unjudged: %v", err)
	}
	slow.SetReadDeadline(harness.Limit())
	answer := make([]byte, 64)
	if n, err := slow.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 408") {
		t.Errorf("a request that never ends: %q, %v", answer[:n], err)
	}
	j.webhook.Signal(syscall.SIGHUP)
	for deadline := harness.Limit(); !strings.Contains(j.webhook.Log(), "configuration reloaded"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) || j.webhook.Exited() {
			t.Fatal("SIGHUP does not read the configuration again")
		}
	}
	j.webhook.Signal(syscall.SIGTERM)
	if !j.webhook.Wait(harness.Patience) {
		t.Error("it does not end")
	} else if code := j.webhook.ExitCode(); code != 0 {
		t.Errorf("it ended with exit code %d", code)
	}
}
