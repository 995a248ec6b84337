package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// tellingRuntime tells plugins of pods as containerd and cri-o do, by the library that both have. A sandbox's network namespace
// is a file that is there as long as it is.
type tellingRuntime struct {
	internalapi.RuntimeService
	nri        *adaptation.Adaptation
	namespaces string
	lock       sync.Mutex
	pods       map[string]*api.PodSandbox
	containers map[string]*api.Container
}

func newTellingRuntime(behind internalapi.RuntimeService, socket, root string, timeout time.Duration) (*tellingRuntime, error) {
	r := &tellingRuntime{RuntimeService: behind, namespaces: filepath.Join(root, "netns"),
		pods: map[string]*api.PodSandbox{}, containers: map[string]*api.Container{}}
	if err := os.MkdirAll(r.namespaces, 0o755); err != nil {
		return nil, err
	}
	adaptation.SetPluginRequestTimeout(timeout)
	var err error
	r.nri, err = adaptation.New("hollow", "v1",
		func(ctx context.Context, all adaptation.SyncCB) error {
			r.lock.Lock()
			pods, containers := slices.Collect(maps.Values(r.pods)), slices.Collect(maps.Values(r.containers))
			r.lock.Unlock()
			_, err := all(ctx, pods, containers)
			return err
		},
		func(context.Context, []*adaptation.ContainerUpdate) ([]*adaptation.ContainerUpdate, error) {
			return nil, nil
		},
		adaptation.WithSocketPath(socket),
		adaptation.WithPluginPath(filepath.Join(root, "nri", "plugins")),
		adaptation.WithPluginConfigPath(filepath.Join(root, "nri", "conf.d")))
	if err != nil {
		return nil, err
	}
	return r, r.nri.Start()
}

func (r *tellingRuntime) RunPodSandbox(ctx context.Context, conf *runtimeapi.PodSandboxConfig, handler string) (string, error) {
	id, err := r.RuntimeService.RunPodSandbox(ctx, conf, handler)
	if err != nil {
		return "", err
	}
	namespace := filepath.Join(r.namespaces, conf.Metadata.Uid)
	if err := os.WriteFile(namespace, nil, 0o600); err != nil {
		return "", err
	}
	pod := &api.PodSandbox{Id: id, Name: conf.Metadata.Name, Uid: conf.Metadata.Uid, Namespace: conf.Metadata.Namespace,
		Annotations: conf.Annotations, Labels: conf.Labels, Linux: &api.LinuxPodSandbox{
			Namespaces: []*api.LinuxNamespace{{Type: "network", Path: namespace}}}}
	if err := r.nri.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Pod: pod}); err != nil {
		os.Remove(namespace)
		r.RuntimeService.StopPodSandbox(ctx, id)
		r.RuntimeService.RemovePodSandbox(ctx, id)
		return "", err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.pods[id] = pod
	return id, nil
}

func (r *tellingRuntime) StopPodSandbox(ctx context.Context, id string) error {
	if pod := r.pod(id); pod != nil {
		if err := r.nri.StopPodSandbox(ctx, &api.StopPodSandboxRequest{Pod: pod}); err != nil {
			println("NRI StopPodSandbox: " + err.Error()) // containerd says so, too, and goes on
		}
		os.Remove(filepath.Join(r.namespaces, pod.Uid))
	}
	return r.RuntimeService.StopPodSandbox(ctx, id)
}

func (r *tellingRuntime) RemovePodSandbox(ctx context.Context, id string) error {
	if pod := r.pod(id); pod != nil {
		if err := r.nri.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{Pod: pod}); err != nil {
			println("NRI RemovePodSandbox: " + err.Error())
		}
		r.lock.Lock()
		delete(r.pods, id)
		for name, container := range r.containers {
			if container.PodSandboxId == id {
				delete(r.containers, name)
			}
		}
		r.lock.Unlock()
	}
	return r.RuntimeService.RemovePodSandbox(ctx, id)
}

func (r *tellingRuntime) CreateContainer(ctx context.Context, sandbox string, conf *runtimeapi.ContainerConfig,
	of *runtimeapi.PodSandboxConfig) (string, error) {
	container := &api.Container{Id: conf.Metadata.Name + "-" + of.Metadata.Uid, PodSandboxId: sandbox, Name: conf.Metadata.Name,
		State: api.ContainerState_CONTAINER_RUNNING}
	if pod := r.pod(sandbox); pod != nil {
		if _, err := r.nri.CreateContainer(ctx, &api.CreateContainerRequest{Pod: pod, Container: container}); err != nil {
			return "", err
		}
	}
	id, err := r.RuntimeService.CreateContainer(ctx, sandbox, conf, of)
	if err == nil {
		r.lock.Lock()
		r.containers[id] = container
		r.lock.Unlock()
	}
	return id, err
}

func (r *tellingRuntime) pod(id string) *api.PodSandbox {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.pods[id]
}
