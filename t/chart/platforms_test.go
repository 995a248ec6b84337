package chart

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"sliced.test/cluster/harness"
)

const constraintsKind = "SecurityContextConstraints"

// What GKE's API server is configured with: pods of these classes need a quota that matches them.
const limitedClasses = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ResourceQuota
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: ResourceQuotaConfiguration
      limitedResources:
        - resource: pods
          matchScopes:
            - {scopeName: PriorityClass, operator: In, values: [system-node-critical, system-cluster-critical]}
`

// podsOf are the pods that a rendering makes, by the object that makes them.
func podsOf(t *testing.T, text string) map[string]core.PodSpec {
	t.Helper()
	pods := map[string]core.PodSpec{}
	for name, object := range objects(t, text) {
		if template, found, _ := unstructured.NestedMap(object.Object, "spec", "template"); found {
			pods[name] = typed[core.PodTemplate](t, &unstructured.Unstructured{Object: M{"apiVersion": "v1", "kind": "PodTemplate", "template": template}}).Template.Spec
		}
	}
	return pods
}

// tryPod asks a server whether it would store such a pod.
func tryPod(server *harness.APIServer, namespace string, spec core.PodSpec) error {
	_, err := server.Client.CoreV1().Pods(namespace).Create(context.Background(), &core.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-"}, Spec: spec},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func namespaceWith(t *testing.T, server *harness.APIServer, name string, labels map[string]string) {
	t.Helper()
	space := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if _, err := server.Client.CoreV1().Namespaces().Create(context.Background(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Turns red when no pod of the daemons is created on a cluster that limits the classes of system pods, as GKE does.
func TestPodsAreCreatedWhereSystemClassesAreLimited(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(file, []byte(limitedClasses), 0o600); err != nil {
		t.Fatal(err)
	}
	limiting, err := harness.StartPlane(harness.Options{NoCRDs: true, ControllerManager: true, Flags: []string{"--admission-control-config-file=" + file},
		Controllers: []string{"resourcequota-controller"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiting.Stop(t.Failed()) })
	namespaceWith(t, limiting.Server, home, nil)
	text := must(render())
	daemons := podsOf(t, text)["DaemonSet sliced"]
	if err := tryPod(limiting.Server, home, daemons); err == nil || !strings.Contains(err.Error(), "insufficient quota to match these scopes") {
		t.Fatalf("without a quota: %v", err)
	}
	known, err := limiting.Server.Mapper()
	if err != nil {
		t.Fatal(err)
	}
	quota := objects(t, text)["ResourceQuota sliced-critical-pods"]
	if quota == nil {
		t.Fatal("there is no quota for the class of the daemons")
	}
	if err := limiting.Server.ApplyServerSide(known, quota); err != nil {
		t.Fatal(err)
	}
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) { // the controller writes the quota's status first
		err := tryPod(limiting.Server, home, daemons)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for values, want := range map[string]L{
		"resourceQuota: {enabled: false}": nil,
		"priorityClassName: ''":           nil,
		"priorityClassName: own-class":    nil,
		"{priorityClassName: '', aggregate: {priorityClassName: system-cluster-critical}}": {"system-cluster-critical"},
	} {
		var got any
		if made := objects(t, must(with(t, values)))["ResourceQuota sliced-critical-pods"]; made != nil {
			terms, _, _ := unstructured.NestedSlice(made.Object, "spec", "scopeSelector", "matchExpressions")
			got = terms[0].(M)["values"]
		}
		if want == nil && got != nil || want != nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: a quota for %v, want one for %v", values, got, want)
		}
	}
}

// Turns red when docs/install-kubernetes.md names a Pod Security level that the API server does not accept the pods at, or a higher
// one than they need. A pod that uses devices needs no label.
func TestPodSecurityLevels(t *testing.T) {
	plugin := podsOf(t, must(with(t, "{waitForConfig: {enabled: true}, webhook: {enabled: true, tls: {injectCAFrom: a/b}}}")))
	publisher := podsOf(t, must(with(t, "kubeletPlugin: {enabled: false}")))
	name := "nic"
	user := core.PodSpec{SecurityContext: plugin["Deployment sliced-webhook"].SecurityContext, ResourceClaims: []core.PodResourceClaim{{Name: name, ResourceClaimName: &name}},
		Containers: []core.Container{{Name: "app", Image: "app", SecurityContext: plugin["Deployment sliced-webhook"].Containers[0].SecurityContext,
			Resources: core.ResourceRequirements{Claims: []core.ResourceClaim{{Name: name}}}}}}
	levels := []string{"restricted", "baseline", "privileged"}
	for _, level := range levels {
		namespaceWith(t, plane.Server, "security-"+level, map[string]string{"pod-security.kubernetes.io/enforce": level})
	}
	for _, one := range []struct {
		what, lowest string
		pod          core.PodSpec
	}{
		{"the daemons, with the kubelet's plugin", "privileged", plugin["DaemonSet sliced"]},
		{"the daemons, publishing only", "privileged", publisher["DaemonSet sliced"]},
		{"the webhook", "restricted", plugin["Deployment sliced-webhook"]},
		{"aggregate", "restricted", plugin["Deployment sliced-aggregate"]},
		{"a pod that uses devices", "restricted", user},
	} {
		for at, level := range levels {
			err := tryPod(plane.Server, "security-"+level, one.pod)
			if accepts := at >= slices.Index(levels, one.lowest); accepts != (err == nil) {
				t.Errorf("%s at level %s: %v", one.what, level, err)
			} else if err != nil && !strings.Contains(err.Error(), "violates PodSecurity") {
				t.Errorf("%s at level %s is refused for another reason: %v", one.what, level, err)
			}
		}
	}
	made := objects(t, must(with(t, "createNamespace: true")))["Namespace "+home]
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if got := made.GetLabels()["pod-security.kubernetes.io/"+mode]; got != "privileged" {
			t.Errorf("the namespace of the chart has the level %q for %s", got, mode)
		}
	}
}

// constraints are the fields of security.openshift.io/v1 that the chart writes.
type constraints struct {
	APIVersion, Kind                                                                       string
	Metadata                                                                               metav1.ObjectMeta
	AllowHostDirVolumePlugin, AllowHostIPC, AllowHostNetwork, AllowHostPID, AllowHostPorts bool
	AllowPrivilegeEscalation, AllowPrivilegedContainer, ReadOnlyRootFilesystem             bool
	AllowedCapabilities, DefaultAddCapabilities, RequiredDropCapabilities                  []core.Capability
	FSGroup, RunAsUser, SELinuxContext, SupplementalGroups                                 struct{ Type string }
	SeccompProfiles, Volumes, Users, Groups                                                []string
	Priority                                                                               *int
}

// Turns red when OpenShift's admission would refuse a pod of the daemons, or when the constraints allow what none of them asks for;
// when another account than theirs may use them; and when the pods without rights have more than nonroot-v2.
func TestSecurityContextConstraintsAllowWhatPodsAskFor(t *testing.T) {
	if objects(t, must(render()))[constraintsKind+" sliced"] != nil {
		t.Error("they are there although nobody asked for them")
	}
	for _, values := range []string{"", "kubeletPlugin: {hostPID: false}", "kubeletPlugin: {enabled: false}", "{kubeletPlugin: {enabled: false}, configure: [admin-mac]}",
		"{podMonitor: {enabled: true}, healthAddress: '0.0.0.0:9810'}", "{extraVolumes: [{name: a, configMap: {name: b}}], waitForConfig: {enabled: true}}"} {
		more := strings.TrimSuffix(strings.TrimPrefix(values, "{"), "}")
		if !strings.HasPrefix(values, "{") {
			more = values
		}
		made := objects(t, must(with(t, strings.TrimSuffix("{openshift: {securityContextConstraints: true}, webhook: {enabled: true, tls: {injectCAFrom: a/b}}, "+more, ", ")+"}")))
		text, err := json.Marshal(made[constraintsKind+" sliced"].Object)
		if err != nil {
			t.Fatal(err)
		}
		var may constraints
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&may); err != nil {
			t.Fatal(err)
		}
		pod := typed[core.PodTemplate](t, &unstructured.Unstructured{Object: M{"apiVersion": "v1", "kind": "PodTemplate", "template": made["DaemonSet sliced"].Object["spec"].(M)["template"]}}).Template.Spec
		var ports, escalates bool
		kinds := map[string]bool{}
		var added []core.Capability
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			asks := container.SecurityContext
			added = append(added, asks.Capabilities.Add...)
			escalates = escalates || asks.AllowPrivilegeEscalation == nil || *asks.AllowPrivilegeEscalation
			ports = ports || len(container.Ports) > 0
			if !slices.Equal(asks.Capabilities.Drop, may.RequiredDropCapabilities) || asks.Privileged != nil ||
				may.ReadOnlyRootFilesystem != *asks.ReadOnlyRootFilesystem || "runtime/default" != may.SeccompProfiles[0] || asks.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %s asks for %+v", values, container.Name, asks)
			}
		}
		for _, volume := range pod.Volumes {
			kind := "hostPath"
			if volume.Projected != nil {
				kind = "projected"
			} else if volume.ConfigMap != nil {
				kind = "configMap"
			}
			kinds[kind] = true
		}
		if !slices.Equal(added, may.AllowedCapabilities) && len(added)+len(may.AllowedCapabilities) > 0 {
			t.Errorf("%s: %v are added, %v allowed", values, added, may.AllowedCapabilities)
		}
		if may.AllowPrivilegeEscalation != escalates || may.AllowHostPorts != ports || may.AllowHostPID != pod.HostPID || may.AllowHostNetwork != pod.HostNetwork ||
			may.AllowHostIPC || may.AllowPrivilegedContainer || !may.AllowHostDirVolumePlugin || len(may.Volumes) != len(kinds) ||
			may.RunAsUser.Type != "RunAsAny" || may.SELinuxContext.Type != "RunAsAny" || len(may.Users)+len(may.Groups) > 0 {
			t.Errorf("%s: %+v", values, may)
		}
		for _, kind := range may.Volumes {
			if !kinds[kind] {
				t.Errorf("%s: volumes of the kind %s are allowed, and there is none", values, kind)
			}
		}
		for name, uses := range map[string]string{"sliced": "sliced", "sliced-webhook": "nonroot-v2", "sliced-aggregate": "nonroot-v2"} {
			role, binding := typed[rbac.Role](t, made["Role "+name+"-scc"]), typed[rbac.RoleBinding](t, made["RoleBinding "+name+"-scc"])
			want := []rbac.PolicyRule{{APIGroups: []string{"security.openshift.io"}, Resources: []string{"securitycontextconstraints"}, ResourceNames: []string{uses}, Verbs: []string{"use"}}}
			if !reflect.DeepEqual(role.Rules, want) || role.Namespace != home || binding.RoleRef.Name != role.Name ||
				!reflect.DeepEqual(binding.Subjects, []rbac.Subject{{Kind: "ServiceAccount", Name: name, Namespace: home}}) {
				t.Errorf("%s: %+v %+v", name, role, binding)
			}
		}
	}
}

// flannel-io/flannel#1459, kubernetes/kubernetes#94366: a DaemonSet that tolerates each taint also runs on Windows nodes. Turns red when a pod
// of the chart does, or when a user's selector replaces that of Linux.
func TestPodsRunOnLinuxNodesOnly(t *testing.T) {
	selectors := func(values string) map[string]map[string]string {
		made := map[string]map[string]string{}
		for name, pod := range podsOf(t, must(with(t, values))) {
			made[name] = pod.NodeSelector
		}
		return made
	}
	const all = "webhook: {enabled: true, tls: {injectCAFrom: a/b}}"
	linux := map[string]string{"kubernetes.io/os": "linux"}
	if got := selectors(all); !reflect.DeepEqual(got, map[string]map[string]string{"DaemonSet sliced": linux, "Deployment sliced-webhook": linux, "Deployment sliced-aggregate": linux}) {
		t.Errorf("node selectors %v", got)
	}
	if got := selectors("nodeSelector: {a: b}")["DaemonSet sliced"]; !reflect.DeepEqual(got, map[string]string{"kubernetes.io/os": "linux", "a": "b"}) {
		t.Errorf("a user's selector: %v", got)
	}
	if got := selectors("nodeSelector: {kubernetes.io/os: null}")["DaemonSet sliced"]; len(got) != 0 {
		t.Errorf("a label that is removed: %v", got)
	}
}

// KohlsTechnology/eunomia#99, openshift/cluster-network-operator#2848: OpenShift adds the cluster's default node selector to the pods of namespaces
// that do not annotate another one. Turns red when the daemons run on the nodes of that selector alone.
func TestANamespaceOfOpenShiftHasNoDefaultNodeSelector(t *testing.T) {
	for values, want := range map[string]bool{"createNamespace: true": false, "{createNamespace: true, openshift: {securityContextConstraints: true}}": true} {
		selector, is := objects(t, must(with(t, values)))["Namespace "+home].GetAnnotations()["openshift.io/node-selector"]
		if is != want || selector != "" {
			t.Errorf("%s: annotated %v with %q", values, is, selector)
		}
	}
}

// mountsOf are the paths of the node that the daemons' container has, by where they are mounted, with "ro" or "rw".
func mountsOf(pod core.PodSpec) map[string][2]string {
	paths := map[string]string{}
	for _, volume := range pod.Volumes {
		if volume.HostPath != nil {
			paths[volume.Name] = volume.HostPath.Path
		}
	}
	found := map[string][2]string{}
	for _, mount := range pod.Containers[0].VolumeMounts {
		how := "rw"
		if mount.ReadOnly {
			how = "ro"
		}
		if path, is := paths[mount.Name]; is {
			found[mount.MountPath] = [2]string{path, how}
		}
	}
	return found
}

// Turns red when a directory of the node cannot be set, is mounted and not told to the daemon, or told and not mounted.
func TestNodeDirectoriesAreChartValues(t *testing.T) {
	for values, want := range map[string]struct{ path, inside, argument string }{
		"kubeletPlugin: {kubeletRootDirectoryPath: /k/}":     {"/k/plugins", "/k/plugins", "--kubelet-plugins-directory-path=/k/plugins"},
		"kubeletPlugin: {kubeletRootDirectoryPath: /k}":      {"/k/plugins_registry", "/k/plugins_registry", "--kubelet-registrar-directory-path=/k/plugins_registry"},
		"kubeletPlugin: {kubeletPluginsDirectoryPath: /p}":   {"/p", "/p", "--kubelet-plugins-directory-path=/p"},
		"kubeletPlugin: {cdiRoot: /c}":                       {"/c", "/c", "--cdi-root=/c"},
		"kubeletPlugin: {nriSocketPath: /n/nri.sock}":        {"/n", "/n", "--nri-socket-path=/n/nri.sock"},
		"kubeletPlugin: {networkNamespacesPath: /run/netns}": {"/run/netns", "/run/netns", ""},  // the runtime names each with its path
		"kubeletPlugin: {cniStatePath: /data/cni}":           {"/data/cni", "/var/lib/cni", ""}, // plugins know no other path
		"kubeletPlugin: {cniPath: [/b]}":                     {"/b", "/b", "--cni-path=/b"},
	} {
		pod := podOf(t, must(with(t, values)))
		if got := mountsOf(pod)[want.inside]; got[0] != want.path || want.argument != "" && !slices.Contains(pod.Containers[0].Args, want.argument) {
			t.Errorf("%s: %s has %v; %v", values, want.inside, got, pod.Containers[0].Args)
		}
	}
	for file, want := range map[string][]string{
		"k3s":         {"/var/lib/rancher/k3s/data/cni", "/var/lib/kubelet/plugins"},
		"k0s":         {"/var/lib/k0s/kubelet/plugins", "/var/lib/k0s/kubelet/plugins_registry", "/opt/cni/bin"},
		"gke":         {"/home/kubernetes/bin", "/var/lib/kubelet/plugins"},
		"talos":       {"/var/cdi/dynamic", "/opt/cni/bin"},
		"microk8s":    {"/var/snap/microk8s/common/var/lib/kubelet/plugins", "/var/snap/microk8s/common/var/lib/kubelet/plugins_registry", "/var/snap/microk8s/current/opt/cni/bin"},
		"whereabouts": {"/etc/cni/net.d/whereabouts.d"}, "dhcp": {"/run/cni"}, "ovs": {"/var/run/openvswitch"},
	} {
		mounts := mountsOf(podOf(t, must(render(filepath.Join(chartPath, "examples", file+".yaml")))))
		for _, path := range want {
			if mounts[path][0] != path {
				t.Errorf("examples/%s.yaml mounts no %s: %v", file, path, mounts)
			}
		}
	}
	// k8snetworkplumbingwg/multus-cni#620, cilium/cilium#35336: /opt of Container-Optimized OS is read-only, so the pod does not start with it.
	for inside, path := range mountsOf(podOf(t, must(render(filepath.Join(chartPath, "examples/gke.yaml"))))) {
		if strings.HasPrefix(path[0], "/opt") {
			t.Errorf("examples/gke.yaml mounts %s at %s", path[0], inside)
		}
	}
	env := podOf(t, must(with(t, "extraEnv: [{name: HTTPS_PROXY, value: http://p:1}]"))).Containers[0].Env
	if !slices.Contains(env, core.EnvVar{Name: "HTTPS_PROXY", Value: "http://p:1"}) {
		t.Errorf("environment %v", env)
	}
}

// Turns red when docs/host-access.md lists another path of the node than the pods have, or says read where they may write.
func TestThePageOfHostAccessListsEachMount(t *testing.T) {
	text, err := os.ReadFile("../../docs/host-access.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(/[^`]+)` \\| (read|write|no) \\| (read|write) \\|")
	plugin, publisher := map[string]string{}, map[string]string{}
	for _, found := range row.FindAllStringSubmatch(string(text), -1) {
		publisher[found[1]], plugin[found[1]] = found[2], found[3]
	}
	for name, one := range map[string]struct {
		values string
		page   map[string]string
	}{"plugin": {"", plugin}, "publisher": {"kubeletPlugin: {enabled: false}", publisher}} {
		mounts := mountsOf(podOf(t, must(with(t, one.values))))
		for path, how := range one.page {
			word := map[string]string{"ro": "read", "rw": "write", "": "no"}[mounts[path][1]]
			if word != how {
				t.Errorf("%s: the page says %s of %s, the pod has %q", name, how, path, word)
			}
			delete(mounts, path)
		}
		if len(mounts) > 0 {
			t.Errorf("%s: the page lacks %v", name, mounts)
		}
	}
}

// shown is the text of the command in docs/install-kubernetes.md that contains a word, on a line of its own.
func shown(t *testing.T, word string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/install-kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "    ") && strings.Contains(line, word) {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("docs/install-kubernetes.md shows no %s", word)
	return ""
}

// Turns red when a manifest names an image that some registry may have, or when the documented command makes none that can be pulled.
func TestManifestsNameTheirRegistry(t *testing.T) {
	reference := regexp.MustCompile(`^[a-z0-9.:-]+(/[a-z0-9._-]+)+:[A-Za-z0-9._-]+$`)
	for _, manifest := range []string{"install.yaml", "publisher-only.yaml", "webhook.yaml"} {
		text, err := os.ReadFile(filepath.Join(manifests, manifest))
		if err != nil {
			t.Fatal(err)
		}
		command, _, _ := strings.Cut(shown(t, "packaging/manifests/install.yaml | kubectl"), " | kubectl")
		shell := exec.Command("bash", "-c", "REGISTRY=registry.example:5000/net; "+strings.ReplaceAll(command, "packaging/manifests/install.yaml", filepath.Join(manifests, manifest)))
		given, err := shell.Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		before, after := podsOf(t, string(text)), podsOf(t, string(given))
		if len(before) == 0 {
			t.Errorf("%s has no pods", manifest)
		}
		for name := range before {
			if image := before[name].Containers[0].Image; reference.MatchString(image) || !strings.HasPrefix(image, "${REGISTRY}/") {
				t.Errorf("%s: %s: %s is an image", manifest, name, image)
			}
			if image := after[name].Containers[0].Image; !reference.MatchString(image) || !strings.HasPrefix(image, "registry.example:5000/net/sliced") {
				t.Errorf("%s: %s: %s after %s", manifest, name, image, command)
			}
		}
	}
}

// Turns red when the documented removal of install.yaml deletes a policy, its kind, or the namespace that it is in; or leaves a pod
// or a permission.
func TestRemovalByManifestKeepsPolicies(t *testing.T) {
	fresh, err := harness.StartPlane(harness.Options{NoCRDs: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fresh.Stop(t.Failed()) })
	ctx := context.Background()
	if err := fresh.Server.Client.RbacV1().ClusterRoles().Delete(ctx, "sliced", metav1.DeleteOptions{}); err != nil { // the harness's own
		t.Fatal(err)
	}
	known, err := fresh.Server.Mapper()
	if err != nil {
		t.Fatal(err)
	}
	all := documentsOf(t, filepath.Join(manifests, "install.yaml"))
	for _, object := range all {
		if err := fresh.Server.ApplyServerSide(known, object); err != nil {
			t.Fatal(err)
		}
	}
	policy := &unstructured.Unstructured{Object: M{"apiVersion": "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1", "kind": "SriovResourcePolicy",
		"metadata": M{"name": "kept", "namespace": home}, "spec": M{"configs": L{M{"resourceName": "a.example/b"}}}}}
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		if _, err = fresh.Server.Dynamic.Resource(harness.Policies).Namespace(home).Create(ctx, policy, metav1.CreateOptions{}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	selected := regexp.MustCompile(`kubectl delete -f \S+ -l (\S+)`).FindStringSubmatch(shown(t, "kubectl delete -f"))
	if selected == nil {
		t.Fatal("the documented removal selects nothing")
	}
	selector, err := labels.Parse(selected[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range all {
		if !selector.Matches(labels.Set(object.GetLabels())) {
			switch object.GetKind() { // what is not a pod's and no permission of one
			case "CustomResourceDefinition", "Namespace", "DeviceClass":
			case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding": // of fields of the kinds that stay
				if !strings.Contains(object.GetName(), ".") {
					t.Errorf("%s %s is left", object.GetKind(), object.GetName())
				}
			default:
				t.Errorf("%s %s is left", object.GetKind(), object.GetName())
			}
			continue
		}
		mapping, err := known.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.Server.Dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	space, err := fresh.Server.Client.CoreV1().Namespaces().Get(ctx, home, metav1.GetOptions{})
	if err != nil || space.DeletionTimestamp != nil {
		t.Errorf("the namespace goes: %v", err)
	}
	if _, err := fresh.Server.Dynamic.Resource(harness.Policies).Namespace(home).Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if kept := objects(t, must(with(t, "createNamespace: true")))["Namespace "+home].GetAnnotations()["helm.sh/resource-policy"]; kept != "keep" {
		t.Error("Helm deletes the namespace, and with it each policy in it, when the release is removed")
	}
}

// Turns red when webhook.yaml lacks an object that the chart makes for the webhook, or is refused by an API server.
func TestWebhookWithoutHelm(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(manifests, "webhook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	bundle := base64.StdEncoding.EncodeToString(plane.CA())
	given := strings.NewReplacer("${REGISTRY}", "registry.example", "${CA_BUNDLE}", bundle).Replace(string(text))
	if strings.Contains(given, "${") {
		t.Error("a variable is left")
	}
	made := objects(t, given)
	known, err := plane.Server.Mapper()
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range made {
		if err := plane.Server.ApplyServerSide(known, object, "All"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, object := range objects(t, must(with(t, "{image: {repository: registry.example/sliced}, webhook: {enabled: true, tls: {caBundle: "+bundle+"}}}"))) {
		if strings.Contains(object.GetName(), "webhook") && !strings.HasSuffix(object.GetName(), "-scc") && !reflect.DeepEqual(made[name], object) {
			t.Errorf("%s is another one than the chart makes", name)
		}
	}
}
