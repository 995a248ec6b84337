package chart

import (
	"context"
	"encoding/base64"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sliced.test/cluster/harness"
)

// typed is an object of a rendering as its own type.
func typed[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	if object == nil {
		t.Fatal("there is no such object")
	}
	var made T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &made, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return &made
}

func withWebhook(t *testing.T, more string) map[string]*unstructured.Unstructured {
	t.Helper()
	bundle := base64.StdEncoding.EncodeToString(plane.CA())
	text, err := with(t, fmt.Sprintf("webhook: {enabled: true, tls: {caBundle: %s}%s}", bundle, more))
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, text)
}

// Turns red when the webhook is there although nobody asked for it.
func TestWebhookIsOffByDefault(t *testing.T) {
	for name := range objects(t, must(render())) {
		if strings.Contains(name, "ebhook") {
			t.Errorf("%s is made by default", name)
		}
	}
}

// Turns red when its pods may do anything, are taken for the daemons', are not those of their Service, or have no certificate; or
// when an option is none of the program's.
func TestWebhookPods(t *testing.T) {
	made := withWebhook(t, "")
	deployment := typed[apps.Deployment](t, made["Deployment sliced-webhook"])
	pod, own := deployment.Spec.Template.Spec, labels.Set(deployment.Spec.Template.Labels)
	container := pod.Containers[0]
	may := container.SecurityContext
	if pod.HostNetwork || pod.HostPID || *pod.AutomountServiceAccountToken || !*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.RunAsUser == 0 ||
		!*may.ReadOnlyRootFilesystem || *may.AllowPrivilegeEscalation || may.Privileged != nil || len(may.Capabilities.Add) > 0 ||
		!slices.Equal(may.Capabilities.Drop, []core.Capability{"ALL"}) || pod.SecurityContext.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%+v %+v", pod, may)
	}
	for _, volume := range pod.Volumes {
		if volume.Secret == nil || volume.Secret.SecretName != "sliced-webhook-tls" {
			t.Errorf("volume %+v", volume)
		}
	}
	if mounts := container.VolumeMounts; len(mounts) != 1 || !mounts[0].ReadOnly || mounts[0].SubPath != "" ||
		!slices.Contains(container.Args, "--tls-cert-file="+mounts[0].MountPath+"/tls.crt") ||
		!slices.Contains(container.Args, "--tls-private-key-file="+mounts[0].MountPath+"/tls.key") {
		t.Errorf("mounts %+v, arguments %v", mounts, container.Args)
	}
	help, err := exec.Command(harness.Controller(t), "webhook", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	options := regexp.MustCompile(`--[a-z-]+`).FindAllString(string(help), -1)
	for _, argument := range container.Args[1:] {
		if name, _, _ := strings.Cut(argument, "="); !slices.Contains(options, name) {
			t.Errorf("the program has no option %s", name)
		}
	}
	for object, selector := range map[string]labels.Selector{
		"Deployment": selectorOf(t, deployment.Spec.Selector),
		"Service":    labels.SelectorFromSet(typed[core.Service](t, made["Service sliced-webhook"]).Spec.Selector),
		"budget":     selectorOf(t, typed[policy.PodDisruptionBudget](t, made["PodDisruptionBudget sliced-webhook"]).Spec.Selector),
	} {
		if !selector.Matches(own) {
			t.Errorf("the pods %v are not those of the %s, which are %v", own, object, selector)
		}
	}
	daemons := typed[apps.DaemonSet](t, made["DaemonSet sliced"])
	if selectorOf(t, daemons.Spec.Selector).Matches(own) {
		t.Errorf("the pods %v are taken for the daemons', which are %v", own, daemons.Spec.Selector)
	}
	for name, object := range made {
		if !strings.HasSuffix(object.GetKind(), "RoleBinding") && object.GetKind() != "ClusterRoleBinding" {
			continue
		}
		for _, subject := range typed[rbac.ClusterRoleBinding](t, object).Subjects {
			if subject.Name == pod.ServiceAccountName {
				t.Errorf("%s grants something to %s", name, subject.Name)
			}
		}
	}
	if *deployment.Spec.Replicas != 2 || withWebhook(t, ", replicas: 1")["PodDisruptionBudget sliced-webhook"] != nil {
		t.Errorf("%d replicas, or a single pod that nothing may move", *deployment.Spec.Replicas)
	}
	annotated := objects(t, must(with(t, "webhook: {enabled: true, tls: {injectCAFrom: a/b}}")))
	if got := annotated["ValidatingWebhookConfiguration sliced-webhook"].GetAnnotations()["cert-manager.io/inject-ca-from"]; got != "a/b" {
		t.Errorf("cert-manager is told %q", got)
	}
}

// Turns red when there is a NetworkPolicy that nobody asked for, when it is not of these pods, lets anybody in to the metrics, or keeps the API
// server out: who is named, at the port that is served; and what the pods may ask: nobody.
func TestWebhookNetworkPolicy(t *testing.T) {
	if withWebhook(t, "")["NetworkPolicy sliced-webhook"] != nil {
		t.Error("it is made by default")
	}
	made := withWebhook(t, ", networkPolicy: {enabled: true}")
	rules := typed[network.NetworkPolicy](t, made["NetworkPolicy sliced-webhook"]).Spec
	pod := typed[apps.Deployment](t, made["Deployment sliced-webhook"]).Spec.Template
	if !selectorOf(t, &rules.PodSelector).Matches(labels.Set(pod.Labels)) {
		t.Errorf("it is of %v, the pods are %v", rules.PodSelector, pod.Labels)
	}
	if len(rules.Egress) != 0 || !slices.Contains(rules.PolicyTypes, network.PolicyTypeEgress) || !slices.Contains(rules.PolicyTypes, network.PolicyTypeIngress) {
		t.Errorf("it may ask: %+v", rules)
	}
	if len(rules.Ingress) != 1 || len(rules.Ingress[0].From) != 0 || len(rules.Ingress[0].Ports) != 1 || rules.Ingress[0].Ports[0].Port.StrVal != "https" {
		t.Errorf("whoever may come in: %+v", rules.Ingress)
	}
	named := typed[network.NetworkPolicy](t, withWebhook(t, ", networkPolicy: {enabled: true, from: [{ipBlock: {cidr: 10.0.0.0/24}}], metricsFrom: [{podSelector: {}}]}")["NetworkPolicy sliced-webhook"]).Spec
	if len(named.Ingress) != 2 || named.Ingress[0].From[0].IPBlock.CIDR != "10.0.0.0/24" || named.Ingress[1].Ports[0].Port.StrVal != "health" || len(named.Ingress[1].From) != 1 {
		t.Errorf("those who are named: %+v", named.Ingress)
	}
	for _, rule := range named.Ingress {
		if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(port core.ContainerPort) bool { return port.Name == rule.Ports[0].Port.StrVal }) {
			t.Errorf("the pod has no port %s", rule.Ports[0].Port.StrVal)
		}
	}
}

func selectorOf(t *testing.T, selector *metav1.LabelSelector) labels.Selector {
	t.Helper()
	made, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func claimOf(kind, namespace, name, driver string) *unstructured.Unstructured {
	devices := M{"requests": L{M{"name": "a", "exactly": M{"deviceClassName": "x"}}}, "config": L{M{"opaque": M{"driver": driver,
		"parameters": M{"apiVersion": "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1", "kind": "VfConfig", "ifNames": "net1"}}}}}
	if driver == "gpu.example.com" {
		devices["config"].(L)[0].(M)["opaque"].(M)["parameters"] = M{"kind": "GpuConfig"}
	}
	return claimWith(kind, namespace, name, devices)
}

func claimWith(kind, namespace, name string, devices M) *unstructured.Unstructured {
	spec := M{"devices": devices}
	if kind == "ResourceClaimTemplate" {
		spec = M{"spec": spec}
	}
	return harness.Object(schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1"}, kind, namespace, name, spec)
}

// one is a request for a device of the class, as one alternative or alone, with a selector unless that is "".
func one(form, class, selector string) M {
	asked := M{"deviceClassName": class}
	if selector != "" {
		asked["selectors"] = L{M{"cel": M{"expression": selector}}}
	}
	if form == "firstAvailable" {
		asked["name"] = "x"
		return M{"name": "a", form: L{asked}}
	}
	return M{"name": "a", form: asked}
}

var classes = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}

// Turns red when the API server does not ask of one of the kinds, or asks of what it must not be held up by: claims of others,
// those in the webhook's own namespace, labels, and deletions. Asked is what cannot be stored while the webhook is away and its
// failure policy is Fail.
func TestWebhookReceivesReviewsAsConfiguredByTheChart(t *testing.T) {
	ctx := context.Background()
	webhook := plane.StartWebhook(t)
	configuration := typed[admission.ValidatingWebhookConfiguration](t, withWebhook(t, ", failurePolicy: Fail")["ValidatingWebhookConfiguration sliced-webhook"])
	url := "https://" + webhook.Address + *configuration.Webhooks[0].ClientConfig.Service.Path
	for i := range configuration.Webhooks {
		if client := &configuration.Webhooks[i].ClientConfig; client.Service.Name != "sliced-webhook" || client.Service.Namespace != home {
			t.Errorf("the service is %+v", client.Service)
		} else {
			client.Service, client.URL = nil, &url
		}
		// This chart's own classes must not wait for its pods. Here a refusal shows that the server asks.
		if one := &configuration.Webhooks[i]; strings.HasPrefix(one.Name, "classes.") || strings.HasPrefix(one.Name, "networks.") {
			if *one.FailurePolicy != admission.Ignore {
				t.Errorf("%s: objects wait for the webhook: %v", one.Name, *one.FailurePolicy)
			}
			fail := admission.Fail
			one.FailurePolicy = &fail
		}
	}
	plane.Server.NewNamespace(t, "apps")
	crds, err := harness.ReadYAML("../cluster/testdata/network-attachment-definitions.yaml")
	if err == nil {
		err = plane.Server.InstallCRDs(crds)
	}
	if err != nil {
		t.Fatal(err)
	}
	create := func(gvr schema.GroupVersionResource, object *unstructured.Unstructured, dryRun ...string) error {
		_, err := plane.Server.Dynamic.Resource(gvr).Namespace(object.GetNamespace()).Create(ctx, object.DeepCopy(), metav1.CreateOptions{DryRun: dryRun})
		return err
	}
	class := func(name, expression string) *unstructured.Unstructured {
		return harness.Object(classes, "DeviceClass", "", name, M{"selectors": L{M{"cel": M{"expression": expression}}}})
	}
	claims := schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}
	templates := claims.GroupVersion().WithResource("resourceclaimtemplates")
	stored := harness.Policy("apps", "stored", harness.Config("x", harness.PFNames("ens1#5-2")))
	if err := create(harness.Policies, stored); err != nil {
		t.Fatal(err)
	}
	all := plane.Server.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := all.Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { all.Delete(ctx, configuration.Name, metav1.DeleteOptions{}) })

	asked := map[string]func() error{
		"a policy": func() error {
			return create(harness.Policies, harness.Policy("apps", "p", harness.Config("x", harness.PFNames("ens1#5-2"))), "All")
		},
		"attributes": func() error {
			return create(harness.Attributes, harness.Object(harness.Attributes, "DeviceAttributes", "apps", "a", M{"attributes": M{"vendor": M{"string": "x"}}}), "All")
		},
		"an exposure": func() error {
			return create(harness.Exposures, harness.Exposure("e", M{"selector": M{"cel": "device.typo == 1"}}), "All")
		},
		"a claim": func() error { return create(claims, claimOf("ResourceClaim", "apps", "c", harness.Driver), "All") },
		"a template": func() error {
			return create(templates, claimOf("ResourceClaimTemplate", "apps", "c", harness.ExposureDriver), "All")
		},
		"a network for us": func() error { return create(networks, networkOf("n", `{"type":"sriov","vlan":4095}`), "All") },
		"another's edit": func() error {
			return edit(stored, `{"spec":{"configs":[{"resourceFilters":[{"pfNames":["ens1#6-2"]}]}]}}`)
		},
	}
	// First what stores nothing: an edit that is stored before the server has heard of the webhook is none the second time.
	webhook.WaitAsked(t, asked["a policy"])
	for _, refused := range asked {
		webhook.WaitAsked(t, refused)
	}
	webhook.Kill()
	// Of these the webhook warns, so that an answer would store them.
	for what, devices := range map[string]M{
		"of our class":                      {"requests": L{one("exactly", harness.ExposureDriver, "")}},
		"with our selector":                 {"requests": L{one("exactly", "x", `device.driver == "`+harness.Driver+`"`)}},
		"with our selector, as alternative": {"requests": L{one("firstAvailable", "x", `device.driver == "`+harness.Driver+`"`)}},
		"with a VfConfig for another driver": {"requests": L{one("exactly", "x", "")},
			"config": L{M{"opaque": M{"driver": "other.example.com", "parameters": M{"kind": "VfConfig"}}}}},
	} {
		asked["a claim "+what] = func() error { return create(claims, claimWith("ResourceClaim", "apps", "c", devices), "All") }
		asked["a template "+what] = func() error {
			return create(templates, claimWith("ResourceClaimTemplate", "apps", "c", devices), "All")
		}
	}
	for what, refused := range asked {
		if err := refused(); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("%s: without a webhook: %v", what, err)
		}
	}
	if err := create(classes, class("ours", "device.driver == '"+harness.Driver+"'"), "All"); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("a class of ours: without a webhook: %v", err)
	}
	for what, err := range map[string]error{
		"a class of another driver":    create(classes, class("other", "device.driver == 'gpu.example.com'"), "All"),
		"a claim of another driver":    create(claims, claimOf("ResourceClaim", "apps", "c", "gpu.example.com"), "All"),
		"a template of another driver": create(templates, claimOf("ResourceClaimTemplate", "apps", "c", "gpu.example.com"), "All"),
		"a claim of another class":     create(claims, claimWith("ResourceClaim", "apps", "c", M{"requests": L{one("exactly", "gpu", `device.driver == "gpu"`)}}), "All"),
		"a claim of two classes":       create(claims, claimWith("ResourceClaim", "apps", "c", M{"requests": L{one("firstAvailable", "gpu", "")}}), "All"),
		"a claim of nothing":           create(claims, claimWith("ResourceClaim", "apps", "c", M{}), "All"),
		"a template of nothing":        create(templates, claimWith("ResourceClaimTemplate", "apps", "c", M{}), "All"),
		"a claim beside the webhook":   create(claims, claimOf("ResourceClaim", home, "c", harness.Driver), "All"),
		"a label":                      edit(stored, `{"metadata":{"labels":{"a":"b"}}}`),
		"a deletion":                   plane.Server.Dynamic.Resource(harness.Policies).Namespace("apps").Delete(ctx, "stored", metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Errorf("%s waits for the webhook: %v", what, err)
		}
	}
}

var networks = schema.GroupVersionResource{Group: "k8s.cni.cncf.io", Version: "v1", Resource: "network-attachment-definitions"}

func networkOf(name, config string) *unstructured.Unstructured {
	object := harness.Object(networks, "NetworkAttachmentDefinition", "apps", name, M{"config": config})
	object.SetLabels(map[string]string{"networking.dra.io/used-by": "sliced"})
	return object
}

// Turns red when whoever does not want NetworkAttachmentDefinitions judged cannot say so.
func TestJudgingNetworkDefinitionsIsOptional(t *testing.T) {
	for _, one := range typed[admission.ValidatingWebhookConfiguration](t, withWebhook(t, ", networkDefinitions: false")["ValidatingWebhookConfiguration sliced-webhook"]).Webhooks {
		if strings.HasPrefix(one.Name, "networks.") {
			t.Errorf("%s is made", one.Name)
		}
	}
}

func edit(object *unstructured.Unstructured, patch string) error {
	_, err := plane.Server.Dynamic.Resource(harness.Policies).Namespace(object.GetNamespace()).
		Patch(context.Background(), object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
