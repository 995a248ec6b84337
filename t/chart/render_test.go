package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"sliced.test/cluster/harness"
)

// valuesFiles are all that the repository has.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartPath, "ci/*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("values files: %v, %v", files, err)
	}
	examples, err := filepath.Glob(filepath.Join(chartPath, "examples/*.yaml"))
	if err != nil || len(examples) < 8 {
		t.Fatalf("examples: %v, %v", examples, err)
	}
	return append(append(files, examples...), filepath.Join(manifests, "values.yaml"), filepath.Join(manifests, "publisher-only-values.yaml"))
}

// Turns red when a manifest is not what the chart makes.
func TestManifestsAreRenderedFromTheChart(t *testing.T) {
	for manifest, values := range map[string]string{"install.yaml": "values.yaml", "publisher-only.yaml": "publisher-only-values.yaml",
		"webhook.yaml": "webhook-values.yaml"} {
		var only []string
		if manifest == "webhook.yaml" {
			only = []string{"-only", "templates/webhook.yaml"}
		}
		want, err := rendering(only, filepath.Join(manifests, values))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(manifests, manifest))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(string(got), want) {
			t.Errorf("packaging/manifests/%s is not what the chart renders: run ./dev package chart", manifest)
		}
	}
}

// Turns red when pods with claims do not start after the documented installation: without the kubelet's plugin they are allocated
// devices and hang. Publishing only has a file of its own.
func TestTheDefaultInstallationStartsPods(t *testing.T) {
	for file, is := range map[string]bool{"install.yaml": true, "publisher-only.yaml": false} {
		text, err := os.ReadFile(filepath.Join(manifests, file))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(podOf(t, string(text)).Containers[0].Args, "--kubelet-plugin=on") != is {
			t.Errorf("%s: the plugin is not as it should be: %v", file, podOf(t, string(text)).Containers[0].Args)
		}
	}
	if !slices.Contains(podOf(t, must(render())).Containers[0].Args, "--kubelet-plugin=on") {
		t.Error("the chart's defaults have no plugin")
	}
}

// Turns red when a column of policies has nothing in it after the documented installation, or when status is written without reports.
func TestPoliciesHaveStatusByDefault(t *testing.T) {
	if objects(t, must(render()))["Deployment sliced-aggregate"] == nil {
		t.Error("nobody writes the status that kubectl get shows")
	}
	if objects(t, must(with(t, "report: false")))["Deployment sliced-aggregate"] != nil {
		t.Error("reports that nobody writes are summed up")
	}
}

// Turns red when a values file makes something that the API server refuses, or a field that it does not know.
func TestEveryDocumentIsAccepted(t *testing.T) {
	known, err := plane.Server.Mapper()
	if err != nil {
		t.Fatal(err)
	}
	plane.Server.NewNamespace(t, "sriov-policies") // of two values files
	plane.Server.NewNamespace(t, "sriov-network-operator")
	plane.Server.NewNamespace(t, "openshift-sriov-network-operator")
	for _, file := range append(valuesFiles(t), "") {
		var files []string
		if file != "" {
			files = []string{file}
		}
		text, err := render(files...)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for name, object := range objects(t, text) {
			if object.GetKind() == constraintsKind { // of OpenShift's API server: TestSecurityContextConstraintsAllowWhatPodsAskFor
				continue
			}
			if err := plane.Server.ApplyServerSide(known, object, "All"); err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
			}
		}
	}
}

// Turns red when a value is misspelt or impossible and is taken all the same, or when the answer does not name it.
func TestValuesAreRefusedByName(t *testing.T) {
	for values, words := range map[string]string{
		"syncIntervall: 1m":                                  "syncIntervall",
		"syncInterval: often":                                "syncInterval",
		"logging: {format: xml}":                             "format",
		"kubeletPlugin: {configurationMode: multus}":         "configurationMode",
		"kubeletPlugin: {cniPath: [bin]}":                    "cniPath",
		"kindsOff: [Policy]":                                 "kindsOff",
		"image: {tags: x}":                                   "tags",
		"serviceAccount: {create: false}":                    "serviceAccount.name",
		"namespaceOverride: default":                         "allowDefaultNamespace",
		"sriovDriverName: dra.networking":                    "exposureDriverName",
		"{ownNodeOnly: false, nodeTokens: {enabled: true}}":  "nodeTokens.enabled",
		"untilConfigured: annotations":                       "untilConfigured",
		"untilConfigured: file:/etc/x":                       "untilConfigured",
		"waitForConfig: {for: file:/run/sliced/../x}":        "waitForConfig",
		"waitForConfig: {until: annotation}":                 "until",
		"configure: [mac]":                                   "configure",
		"untilConfigured: node-state":                        "untilConfigured: set nodeStateNamespace",
		"waitForConfig: {enabled: true, for: node-state}":    "waitForConfig.for: set nodeStateNamespace",
		"nodeStateNamespace: Operators":                      "nodeStateNamespace",
		"seLinuxType: spc_t":                                 "seLinuxType",
		"seLinuxOptions: {types: spc_t}":                     "types",
		"openshift: {scc: true}":                             "scc",
		"skipNodeOperations: true":                           "skipNodeOperations: kubelets would not call the plugin",
		"resourceQuota: {pods: many}":                        "pods",
		"kubeletPlugin: {kubeletRootDirectoryPath: kubelet}": "kubeletRootDirectoryPath",
		"kubeletPlugin: {networkNamespacesPath: ''}":         "networkNamespacesPath",
		"extraVolumes: [{hostPath: {path: /x}}]":             "name",
		"extraVolumes: [{name: sys, emptyDir: {}}]":          "extraVolumes: the name sys is there already",
		"extraVolumeMounts: [{name: ovs, mountPath: /ovs}]":  "extraVolumeMounts: no volume has the name ovs: add it to extraVolumes",
		"{extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /var/lib/cni/}]}": "something is mounted at /var/lib/cni/ already",
		"extraEnv: [{name: NODE_NAME, value: x}]":                                                             "extraEnv: NODE_NAME is set already",
		// Of dra-driver-sriov's chart, with another name here.
		"selectorLabelsOverride: {a: b}":                                       "selectorLabelsOverride: set nameOverride",
		"controller: {replicas: 1}":                                            "controller: remove it",
		"kubeletPlugin: {priorityClassName: x}":                                "kubeletPlugin.priorityClassName: use priorityClassName",
		"kubeletPlugin: {updateStrategy: {type: OnDelete}}":                    "kubeletPlugin.updateStrategy: use updateStrategy",
		"kubeletPlugin: {podAnnotations: {a: b}}":                              "kubeletPlugin.podAnnotations: use podAnnotations",
		"kubeletPlugin: {podSecurityContext: {runAsUser: 1}}":                  "kubeletPlugin.podSecurityContext: remove it",
		"kubeletPlugin: {nodeSelector: {a: b}}":                                "kubeletPlugin.nodeSelector: use nodeSelector",
		"kubeletPlugin: {tolerations: []}":                                     "kubeletPlugin.tolerations: use tolerations",
		"kubeletPlugin: {affinity: {}}":                                        "kubeletPlugin.affinity: use affinity",
		"kubeletPlugin: {containers: {init: {resources: {}}}}":                 "kubeletPlugin.containers.init: remove it",
		"kubeletPlugin: {containers: {plugin: {resources: {}}}}":               "kubeletPlugin.containers.plugin.resources: use resources",
		"kubeletPlugin: {containers: {plugin: {securityContext: {a: b}}}}":     "kubeletPlugin.containers.plugin.securityContext: remove it",
		"logging: {alsologtostderr: true}":                                     "logging.alsologtostderr: remove it",
		"logging: {logFile: /x}":                                               "logging.logFile: remove it",
		"{controller: {a: b}, kubeletPlugin: {tolerations: [], affinity: {}}}": "kubeletPlugin.affinity: use affinity\n  kubeletPlugin.tolerations: use tolerations",
		"kubeletPlugin: {containers: {plugin: {healthcheckPort: 1}}}":          "kubeletPlugin.containers.plugin.healthcheckPort: use healthAddress",
		"webhook: {enabled: true}":                                             "webhook.tls.caBundle",
		"webhook: {failurePolicy: Maybe}":                                      "failurePolicy",
		"webhook: {tls: {caBundle: '-----BEGIN'}}":                             "caBundle",
		"podMonitor: {enabled: true}":                                          "podMonitor.enabled: set healthAddress",
		"{podMonitor: {enabled: true}, healthAddress: ':9810'}":                "podMonitor.enabled: set healthAddress",
	} {
		if _, err := with(t, values); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: want an answer with %q, got %v", values, words, err)
		}
	}
}

// rulesOf are the rules of a role, with every list sorted: what it grants, however it is written.
func rulesOf(t *testing.T, object *unstructured.Unstructured) []M {
	t.Helper()
	if object == nil {
		t.Fatal("there is no such role")
	}
	rules, _, _ := unstructured.NestedSlice(object.Object, "rules")
	var found []M
	for _, rule := range rules {
		one := M{}
		for key, value := range rule.(M) {
			var words []string
			for _, word := range value.(L) {
				words = append(words, word.(string))
			}
			slices.Sort(words)
			one[key] = words
		}
		found = append(found, one)
	}
	return found
}

// Turns red when the chart grants anything else than config/deploy/rbac.yaml, which the cluster's scenarios are judged with:
// a plugin all of it, a publisher what is left without the rules of claims that are prepared.
func TestRulesMatchTheChart(t *testing.T) {
	text, err := os.ReadFile("../../config/deploy/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	judged := objects(t, string(text))
	plugin, err := with(t, "kubeletPlugin: {enabled: true}")
	if err != nil {
		t.Fatal(err)
	}
	publisher, err := with(t, "kubeletPlugin: {enabled: false}")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"ClusterRole sliced", "Role sliced"} {
		all := rulesOf(t, judged[role])
		if got := rulesOf(t, objects(t, plugin)[role]); !reflect.DeepEqual(got, all) {
			t.Errorf("%s of a plugin:\n%v\nwanted:\n%v", role, got, all)
		}
		var less []M
		for _, rule := range all {
			switch rule["resources"].([]string)[0] {
			case "resourceclaims/status", "resourceclaims/driver", "network-attachment-definitions":
				continue
			case "resourceclaims":
				rule["verbs"] = []string{"list"}
			}
			less = append(less, rule)
		}
		if got := rulesOf(t, objects(t, publisher)[role]); !reflect.DeepEqual(got, less) {
			t.Errorf("%s of a publisher:\n%v\nwanted:\n%v", role, got, less)
		}
	}
	asked, err := with(t, "kubeletPlugin: {enabled: true, macAnnotation: a/b}")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(rulesOf(t, objects(t, asked)["ClusterRole sliced"]), func(rule M) bool {
		return reflect.DeepEqual(rule["resources"], []string{"pods"}) && reflect.DeepEqual(rule["verbs"], []string{"get", "list"})
	}) {
		t.Error("macAnnotation takes get on pods")
	}
}

// Turns red when a daemon that is told where node states are may not read them, or reads anything else there.
func TestNodeStatesAreRead(t *testing.T) {
	made := objects(t, must(with(t, "nodeStateNamespace: operators")))
	role := made["Role sliced-node-state"]
	want := []M{{"apiGroups": []string{"sriovnetwork.openshift.io"}, "resources": []string{"sriovnetworknodestates"}, "verbs": []string{"get", "list", "watch"}}}
	if got := rulesOf(t, role); !reflect.DeepEqual(got, want) || role.GetNamespace() != "operators" {
		t.Errorf("%s: %v", role.GetNamespace(), got)
	}
	subjects, _, _ := unstructured.NestedSlice(made["RoleBinding sliced-node-state"].Object, "subjects")
	if want := (L{M{"kind": "ServiceAccount", "name": "sliced", "namespace": home}}); !reflect.DeepEqual(subjects, want) {
		t.Errorf("it is %v's", subjects)
	}
}

func podOf(t *testing.T, text string) core.PodSpec {
	t.Helper()
	for _, object := range objects(t, text) {
		if object.GetKind() != "DaemonSet" {
			continue
		}
		template, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "spec")
		var spec core.PodSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &spec); err != nil {
			t.Fatal(err)
		}
		return spec
	}
	t.Fatal("no DaemonSet")
	return core.PodSpec{}
}

// Turns red when the pod is given an option that the program does not have.
func TestArgumentsAreOptionsOfTheProgram(t *testing.T) {
	containers := 0
	for _, file := range valuesFiles(t) {
		text, err := render(file)
		if err != nil {
			t.Fatal(err)
		}
		pod := podOf(t, text)
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			containers++
			help, err := exec.Command(harness.Program(t), container.Args[0], "--help").Output()
			if err != nil {
				t.Fatal(err)
			}
			options := regexp.MustCompile(`--[a-z-]+`).FindAllString(string(help), -1)
			for _, argument := range container.Args[1:] {
				if name, _, _ := strings.Cut(argument, "="); !slices.Contains(options, name) {
					t.Errorf("%s: %s has no option %s", file, container.Args[0], name)
				}
			}
		}
	}
	if want := len(valuesFiles(t)) + 1; containers != want {
		t.Errorf("%d containers, want %d: one of the values files has an init container", containers, want)
	}
}

// Turns red when the pods that need no rights on a node run the image of those that have them, or an image from a registry that
// nobody named.
func TestControllersRunTheirOwnImage(t *testing.T) {
	for values, want := range map[string]string{
		"{image: {repository: r.example/sliced, tag: '7'}}":                                                  "r.example/sliced-controller:7",
		"{image: {repository: r.example/sliced}, controllerImage: {repository: r.example/own, tag: '8'}}":    "r.example/own:8",
		"{image: {repository: r.example/sliced, tag: '7'}, controllerImage: {tag: '9', pullPolicy: Always}}": "r.example/sliced-controller:9",
	} {
		made := objects(t, must(with(t, strings.TrimSuffix(values, "}")+", webhook: {enabled: true, tls: {injectCAFrom: a/b}}}")))
		found := 0
		for _, object := range made {
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			for _, of := range containers {
				container := of.(map[string]any)
				isNode := object.GetKind() == "DaemonSet"
				command := container["command"].([]any)[0]
				if isNode != (command == "/usr/bin/sliced") || !isNode && (command != "/usr/bin/sliced-controller" || container["image"] != want) {
					t.Errorf("%s: %s %s runs %v of %v", values, object.GetKind(), object.GetName(), command, container["image"])
				}
				if !isNode {
					found++
				}
			}
		}
		if found != 2 {
			t.Errorf("%s: %d containers of sliced-controller, want those of the webhook and of aggregate", values, found)
		}
	}
}

// Turns red when a pod may do more to its node than its profile takes.
func TestPermissionsOfPods(t *testing.T) {
	writable := func(pod core.PodSpec) (paths []string) {
		for _, mount := range pod.Containers[0].VolumeMounts {
			if !mount.ReadOnly {
				paths = append(paths, mount.MountPath)
			}
		}
		return paths
	}
	publisher, plugin := podOf(t, must(with(t, "kubeletPlugin: {enabled: false}"))), podOf(t, must(render()))
	for name, pod := range map[string]core.PodSpec{"publisher": publisher, "plugin": plugin} {
		may := pod.Containers[0].SecurityContext
		if !pod.HostNetwork || pod.HostPID != (name == "plugin") || pod.HostIPC || may.Privileged != nil || !*may.ReadOnlyRootFilesystem ||
			!slices.Equal(may.Capabilities.Drop, []core.Capability{"ALL"}) || *pod.AutomountServiceAccountToken {
			t.Errorf("%s: %+v %+v", name, pod, may)
		}
	}
	if add := publisher.Containers[0].SecurityContext.Capabilities.Add; len(add) > 0 {
		t.Errorf("a publisher has %v", add)
	}
	configuring := podOf(t, must(with(t, "{kubeletPlugin: {enabled: false}, configure: [admin-mac]}")))
	if may := configuring.Containers[0].SecurityContext; !slices.Equal(may.Capabilities.Add, []core.Capability{"NET_ADMIN"}) ||
		*may.AllowPrivilegeEscalation || !slices.Equal(writable(configuring), []string{"/run/sliced"}) {
		t.Errorf("a publisher that sets addresses: %+v, writes to %v", may, writable(configuring))
	}
	if got := writable(publisher); !slices.Equal(got, []string{"/run/sliced"}) {
		t.Errorf("a publisher writes to %v", got)
	}
	if add := plugin.Containers[0].SecurityContext.Capabilities.Add; !slices.Equal(add, []core.Capability{"NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH"}) {
		t.Errorf("a plugin has %v", add)
	}
	want := []string{"/run/sliced", "/sys", "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry", "/var/run/cdi",
		"/var/run/k8s.cni.cncf.io/devinfo/dp", "/var/run/nri", "/var/run/netns", "/var/lib/cni"}
	if got := writable(plugin); !slices.Equal(got, want) {
		t.Errorf("a plugin writes to %v", got)
	}
	// With the runtime's type, container_t, SELinux denies the lock, the kubelet's sockets and /sys.
	for values, want := range map[string]*core.SELinuxOptions{
		"waitForConfig: {enabled: true}":                                               {Type: "spc_t", Level: "s0"},
		"{seLinuxOptions: {type: super_t, level: s1}, waitForConfig: {enabled: true}}": {Type: "super_t", Level: "s1"},
		"{seLinuxOptions: null, waitForConfig: {enabled: true}}":                       nil,
	} {
		confined := podOf(t, must(with(t, values)))
		for _, one := range append(confined.InitContainers, confined.Containers...) {
			if may := one.SecurityContext.SELinuxOptions; !reflect.DeepEqual(may, want) {
				t.Errorf("%s: %s has the SELinux options %v", values, one.Name, may)
			}
		}
	}
	// Off by default: each gives the container more of the host. Turns red when a CNI plugin that is run in it lacks what it needs.
	mounting := podOf(t, must(with(t, "kubeletPlugin: {cniMounts: {whereabouts: /etc/cni/net.d/whereabouts.d, dhcp: true, iptables: true}}")))
	if got := writable(mounting); !slices.Equal(got, append(slices.Clone(want), "/run/xtables.lock")) {
		t.Errorf("with all cniMounts a plugin writes to %v", got)
	}
	types := map[string]core.HostPathType{}
	for _, volume := range mounting.Volumes {
		if volume.HostPath != nil {
			types[volume.HostPath.Path] = *volume.HostPath.Type
		}
	}
	for path, kind := range map[string]core.HostPathType{"/etc/cni/net.d/whereabouts.d": core.HostPathDirectoryOrCreate,
		"/run/cni": core.HostPathDirectoryOrCreate, "/run/xtables.lock": core.HostPathFileOrCreate} {
		mounted := slices.ContainsFunc(mounting.Containers[0].VolumeMounts, func(one core.VolumeMount) bool { return one.MountPath == path })
		if types[path] != kind || !mounted {
			t.Errorf("%s is of type %q, mounted: %v", path, types[path], mounted)
		}
	}
	// Else interfaces of pods from before the mode was changed would be undone by nobody.
	multus := podOf(t, must(with(t, "kubeletPlugin: {enabled: true, configurationMode: MULTUS}")))
	if got := writable(multus); !slices.Equal(got, want) || !slices.Contains(multus.Containers[0].Args, "--cni-path=/opt/cni/bin") {
		t.Errorf("a plugin in mode MULTUS writes to %v and is run with %v", got, multus.Containers[0].Args)
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

// Turns red when the archive lacks what the chart's folder only leads to, or has another version than the program.
func TestArchiveIsComplete(t *testing.T) {
	made, err := exec.Command("../../build/render", "-pack", chartPath, t.TempDir()).Output()
	if err != nil {
		t.Fatal(err)
	}
	archive := strings.TrimSpace(string(made))
	packed, err := exec.Command("../../build/render", archive, home, "sliced").Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(packed) != must(render()) {
		t.Error("the archive makes something else than the chart's folder")
	}
	version, err := exec.Command(harness.Program(t), "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`).FindString(string(version))
	if filepath.Base(archive) != "sliced-"+number+".tgz" || !strings.Contains(string(packed), `image: "sliced:`+number+`"`) {
		t.Errorf("%s, of the program %s", archive, version)
	}
}

// Turns red when what Prometheus' operator is told of is not the pods, or not their port. (The API server here knows no such kind.)
func TestPodMonitorSelectsThePods(t *testing.T) {
	text := must(with(t, "{podMonitor: {enabled: true, labels: {release: prometheus}}, healthAddress: '0.0.0.0:9810'}"))
	made := objects(t, text)
	spec := func(object string, path ...string) any {
		value, there, _ := unstructured.NestedFieldNoCopy(made[object].Object, path...)
		if !there {
			t.Fatalf("%s has no %v", object, path)
		}
		return value
	}
	selected, pods := spec("PodMonitor sliced", "spec", "selector"), spec("DaemonSet sliced", "spec", "selector")
	if !reflect.DeepEqual(selected, pods) {
		t.Errorf("%v is selected, the pods are %v", selected, pods)
	}
	want := L{M{"port": "status", "path": "/metrics", "interval": "30s"}}
	if got := spec("PodMonitor sliced", "spec", "podMetricsEndpoints"); !reflect.DeepEqual(got, want) {
		t.Errorf("endpoints %v", got)
	}
	if made["PodMonitor sliced-aggregate"] == nil || made["PodMonitor sliced-webhook"] != nil {
		t.Error("pods that are not there are read, or others are not")
	}
	all := objects(t, must(with(t, "{podMonitor: {enabled: true, labels: {release: prometheus}}, healthAddress: '0.0.0.0:9810', aggregate: {enabled: true}, "+
		"webhook: {enabled: true, tls: {injectCAFrom: a/b}}}")))
	for _, of := range []string{"aggregate", "webhook"} {
		monitor, deployment := all["PodMonitor sliced-"+of], all["Deployment sliced-"+of]
		if monitor == nil || monitor.GetLabels()["release"] != "prometheus" {
			t.Fatalf("no monitor of %s", of)
		}
		selected, _, _ := unstructured.NestedFieldNoCopy(monitor.Object, "spec", "selector")
		pods, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, "spec", "selector")
		if !reflect.DeepEqual(selected, pods) {
			t.Errorf("%v is selected, the pods are %v", selected, pods)
		}
		endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "podMetricsEndpoints")
		container := typed[apps.Deployment](t, deployment).Spec.Template.Spec.Containers[0]
		if len(endpoints) != 1 || !slices.ContainsFunc(container.Ports, func(port core.ContainerPort) bool { return port.Name == endpoints[0].(M)["port"] }) ||
			!slices.Contains(container.Args, "--health-address=[::]:9810") {
			t.Errorf("%v of %v, %v", endpoints, container.Ports, container.Args)
		}
	}
	container := podOf(t, text).Containers[0]
	if len(container.Ports) != 1 || container.Ports[0].Name != "status" || container.Ports[0].ContainerPort != 9810 ||
		!slices.Contains(container.Args, "--health-address=0.0.0.0:9810") {
		t.Errorf("ports %v, arguments %v", container.Ports, container.Args)
	}
}

// Turns red when what the operator of Prometheus and the sidecar of Grafana are given is not what the tests of alerts and dashboard judge,
// or when it is there although nobody asked for it. (The API server here knows no PrometheusRule.)
func TestAlertsAndDashboardMatchTheChart(t *testing.T) {
	for name := range objects(t, must(render())) {
		if strings.HasPrefix(name, "PrometheusRule ") || strings.HasSuffix(name, "-dashboard") {
			t.Errorf("%s is made by default", name)
		}
	}
	made := objects(t, must(with(t, "{prometheusRule: {enabled: true, labels: {release: prometheus}}, dashboard: {enabled: true}}")))
	text, err := os.ReadFile("../../packaging/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &file.Object); err != nil {
		t.Fatal(err)
	}
	rule := made["PrometheusRule sliced"]
	if rule == nil || rule.GetLabels()["release"] != "prometheus" || !reflect.DeepEqual(rule.Object["spec"].(M)["groups"], file.Object["groups"]) {
		t.Errorf("the rule: %v", rule)
	}
	dashboard, err := os.ReadFile("../../packaging/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	config := made["ConfigMap sliced-dashboard"]
	if config == nil || config.GetLabels()["grafana_dashboard"] != "1" || strings.TrimSpace(config.Object["data"].(M)["sliced.json"].(string)) != strings.TrimSpace(string(dashboard)) {
		t.Error("the dashboard is another one")
	}
}
