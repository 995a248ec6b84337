// Goplugin is what stands beside sliced in BenchmarkPrepare: a kubelet plugin on Kubernetes' own helper library, which does
// for a claim what sliced does and no more. The library reads the claim; here its CDI specs and the record of all that is
// prepared are written, each file durably, before the answer.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"os"
	"path/filepath"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	cdi "tags.cncf.io/container-device-interface/specs-go"
)

type plugin struct {
	driver, root string
	Prepared     map[types.UID]prepared
}

// prepared is what the record keeps of a claim.
type prepared struct {
	Namespace, Name string
	Pod             types.UID
	Devices         []kubeletplugin.Device
	Spec            *cdi.Spec
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the node's driver")
	node := flag.String("node", "", "name of the Node")
	driver := flag.String("driver", "", "whose results are prepared")
	root := flag.String("root", "", "directory, of which sockets, CDI specs and the record are below")
	flag.Parse()
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS, config.Burst = -1, -1 // nothing is to wait for client-go
	p := &plugin{driver: *driver, root: *root, Prepared: map[types.UID]prepared{}}
	for _, name := range []string{"plugin", "registry", "cdi"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(*root, name), 0o755))
	}
	client, failed := kubernetes.NewForConfig(config)
	if err := errors.Join(err, failed); err != nil {
		log.Fatal(err)
	}
	if _, err := kubeletplugin.Start(ctx, p, kubeletplugin.DriverName(*driver), kubeletplugin.NodeName(*node),
		kubeletplugin.KubeClient(client), kubeletplugin.HealthService(false),
		kubeletplugin.PluginDataDirectoryPath(filepath.Join(*root, "plugin")),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(*root, "registry"))); err != nil {
		log.Fatal(err)
	}
	select {}
}

// The library calls one after the other.
func (p *plugin) PrepareResourceClaims(_ context.Context, claims []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	answer := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		one := p.plan(claim)
		p.Prepared[claim.UID] = one
		answer[claim.UID] = kubeletplugin.PrepareResult{Devices: one.Devices, Err: errors.Join(
			p.write(p.spec(claim.UID), one.Spec), p.write(p.spec(one.Pod), p.ofPod(one.Pod)), p.record())}
	}
	return answer, nil
}

func (p *plugin) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	answer := map[types.UID]error{}
	for _, claim := range claims {
		pod := p.Prepared[claim.UID].Pod
		delete(p.Prepared, claim.UID)
		answer[claim.UID] = errors.Join(os.Remove(p.spec(claim.UID)), os.Remove(p.spec(pod)), p.record())
	}
	return answer, nil
}

func (p *plugin) HandleError(_ context.Context, err error, message string) {
	log.Print(message, ": ", err)
}

func (p *plugin) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

func (p *plugin) kind() string { return p.driver + "/vf" }

func (p *plugin) plan(claim *resource.ResourceClaim) prepared {
	one := prepared{Namespace: claim.Namespace, Name: claim.Name, Pod: claim.Status.ReservedFor[0].UID,
		Spec: &cdi.Spec{Version: "0.6.0", Kind: p.kind()}}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.Driver != p.driver {
			continue
		}
		name := string(claim.UID) + "-" + result.Device
		one.Devices = append(one.Devices, kubeletplugin.Device{Requests: []string{result.Request}, PoolName: result.Pool,
			DeviceName: result.Device, CDIDeviceIDs: []string{p.kind() + "=" + name, p.kind() + "=" + string(one.Pod)}})
		one.Spec.Devices = append(one.Spec.Devices, cdi.Device{Name: name, ContainerEdits: cdi.ContainerEdits{
			Env: []string{"SRIOVNETWORK_VF_DEVICE_" + result.Device + "=" + result.Device}}})
	}
	return one
}

// ofPod is what all containers of a pod get.
func (p *plugin) ofPod(pod types.UID) *cdi.Spec {
	var env []string
	for _, one := range p.Prepared {
		if one.Pod == pod {
			for _, device := range one.Spec.Devices {
				env = append(env, device.ContainerEdits.Env...)
			}
		}
	}
	return &cdi.Spec{Version: "0.6.0", Kind: p.kind(),
		Devices: []cdi.Device{{Name: string(pod), ContainerEdits: cdi.ContainerEdits{Env: env}}}}
}

func (p *plugin) spec(id types.UID) string { return filepath.Join(p.root, "cdi", string(id)+".json") }

func (p *plugin) record() error {
	claims, err := json.Marshal(p.Prepared)
	sum := sha256.Sum256(claims)
	return errors.Join(err, p.write(filepath.Join(p.root, "plugin", "checkpoint"), map[string]any{
		"checksum": hex.EncodeToString(sum[:]), "claims": json.RawMessage(claims)}))
}

// write is done once the file and its name are on the disk.
func (p *plugin) write(path string, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close(), os.Rename(path+".tmp", path)); err != nil {
		return err
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
