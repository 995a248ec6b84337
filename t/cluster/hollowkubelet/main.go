// Hollowkubelet is a kubelet without containers: its plugin watcher, its DRA manager with checkpoint, wiping of slices and
// health of devices, its pod workers and their events are the real ones, and so are the sockets; container runtime, cgroups,
// mounts and network are fakes in the process. It opens no port, so many fit on one machine.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	fakecri "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	fakecadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/cm/resourceupdates"
	"k8s.io/kubernetes/pkg/kubelet/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/kubernetes/pkg/kubemark"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the node's own user")
	node := flag.String("node", "", "name of the Node")
	root := flag.String("root", "", "the kubelet's directory: plugins, plugins_registry and its checkpoints are below it")
	created := flag.String("created", "", "file: a line of JSON for each container, with its CDI devices")
	nri := flag.String("nri", "", "path: the runtime tells NRI plugins of pods that connect to this socket")
	timeout := flag.Duration("nri-request-timeout", 0, "how long the runtime waits for a plugin")
	gates := flag.String("feature-gates", "", "of the kubelet, as NAME=true,...")
	klog.InitFlags(nil)
	flag.Parse()
	if *gates != "" {
		if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
			klog.ErrorS(err, "feature gates")
			os.Exit(1)
		}
	}
	if err := run(context.Background(), *kubeconfig, *node, *root, *created, *nri, *timeout); err != nil {
		klog.ErrorS(err, "hollow kubelet")
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, node, root, created, nri string, timeout time.Duration) error {
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	rest.QPS, rest.Burst = 50, 100 // a kubelet's
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	manager, err := dra.NewManager(klog.Background(), client, root)
	if err != nil {
		return err
	}
	flags := options.NewKubeletFlags()
	flags.RootDirectory, flags.HostnameOverride = root, node
	conf, err := options.NewKubeletConfiguration()
	if err != nil {
		return err
	}
	conf.ContainerRuntimeEndpoint = "unix:///unused"
	conf.PodLogsDir = root + "/pod-logs"
	conf.SyncFrequency.Duration = 1e9
	conf.EnableServer, conf.CgroupsPerQOS, conf.EnableControllerAttachDetach = false, false, false
	conf.EnforceNodeAllocatable, conf.ReadOnlyPort, conf.HealthzPort = nil, 0, 0
	runtime := fakecri.NewFakeRuntimeService()
	runtime.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{ // else the node never is Ready
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true}}}
	record, err := os.OpenFile(created, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	var pods internalapi.RuntimeService = &recordingRuntime{RuntimeService: runtime, to: record}
	if nri != "" {
		if pods, err = newTellingRuntime(pods, nri, root, timeout); err != nil {
			return err
		}
	}
	hollow := kubemark.NewHollowKubelet(flags, conf, client, client, &fakecadvisor.Fake{NodeName: node},
		fakecri.NewFakeImageService(), pods,
		&draContainers{ContainerManager: cm.NewStubContainerManager(), dra: manager})
	hollow.KubeletDeps.Recorder = nil // its fake swallows all events
	hollow.KubeletDeps.EventClient = client.CoreV1()
	hollow.Run(ctx)
	return nil
}

// draContainers is what a kubelet keeps of containers: nothing but what the DRA manager says.
type draContainers struct {
	cm.ContainerManager
	dra *dra.Manager
}

func (c *draContainers) Start(ctx context.Context, node *core.Node, active cm.ActivePodsFunc, get cm.GetNodeFunc,
	ready config.SourcesReady, pods status.PodStatusProvider, runtime internalapi.RuntimeService, isolates bool) error {
	if err := c.dra.Start(ctx, dra.ActivePodsFunc(active), dra.GetNodeFunc(get), ready); err != nil {
		return err
	}
	return c.ContainerManager.Start(ctx, node, active, get, ready, pods, runtime, isolates)
}

func (c *draContainers) GetPluginRegistrationHandlers() map[string]cache.PluginHandler {
	return map[string]cache.PluginHandler{"DRAPlugin": c.dra.GetWatcherHandler()}
}

func (c *draContainers) GetResources(_ context.Context, pod *core.Pod, container *core.Container) (*kubecontainer.RunContainerOptions, error) {
	resources, err := c.dra.GetResources(pod, container)
	if err != nil {
		return nil, err
	}
	return &kubecontainer.RunContainerOptions{CDIDevices: resources.CDIDevices}, nil
}

func (c *draContainers) PrepareDynamicResources(ctx context.Context, pod *core.Pod) error {
	return c.dra.PrepareResources(ctx, pod)
}

func (c *draContainers) UnprepareDynamicResources(ctx context.Context, pod *core.Pod) error {
	return c.dra.UnprepareResources(ctx, pod)
}

func (c *draContainers) PodMightNeedToUnprepareResources(uid types.UID) bool {
	return c.dra.PodMightNeedToUnprepareResources(uid)
}

func (c *draContainers) UpdateAllocatedResourcesStatus(logger klog.Logger, pod *core.Pod, status *core.PodStatus) {
	c.dra.UpdateAllocatedResourcesStatus(logger, pod, status)
}

func (c *draContainers) Updates() <-chan resourceupdates.Update { return c.dra.Updates() }

// recordingRuntime tells what containers are created with: the fake forgets it.
type recordingRuntime struct {
	internalapi.RuntimeService
	to *os.File
}

func (r *recordingRuntime) CreateContainer(ctx context.Context, sandbox string, conf *runtimeapi.ContainerConfig,
	of *runtimeapi.PodSandboxConfig) (string, error) {
	if err := writeCreated(r.to, conf, of); err != nil {
		return "", err
	}
	return r.RuntimeService.CreateContainer(ctx, sandbox, conf, of)
}
