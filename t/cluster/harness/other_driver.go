package harness

import (
	"context"
	"os"
	"testing"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// GPUs is a driver beside ours.
const GPUs = "gpu.example.com"

// OtherDriver is a driver on Kubernetes' own helper.
type OtherDriver struct {
	lab     *Lab
	name    string
	prepare func(*resource.ResourceClaim, resource.DeviceRequestAllocationResult) []string
	helper  *kubeletplugin.Helper
	cancel  context.CancelFunc
}

// RunOtherDriver serves the kubelet as a driver until Stop or the test's end. prepare yields the CDI devices of a result of its own.
func (k *KubeletRoot) RunOtherDriver(name string,
	prepare func(*resource.ResourceClaim, resource.DeviceRequestAllocationResult) []string) *OtherDriver {
	t := k.lab.T
	t.Helper()
	data := k.Path + "/plugins/" + name
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(k.lab.Server.RESTConfig(adminUser))
	if err != nil {
		t.Fatal(err)
	}
	d := &OtherDriver{lab: k.lab, name: name, prepare: prepare}
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(context.Background())
	d.helper, err = kubeletplugin.Start(ctx, d, kubeletplugin.DriverName(name), kubeletplugin.NodeName(k.lab.Node),
		kubeletplugin.NodeUID(types.UID(k.lab.NodeUID)), kubeletplugin.KubeClient(client),
		kubeletplugin.PluginDataDirectoryPath(data), kubeletplugin.RegistrarDirectoryPath(k.Path+"/plugins_registry"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	return d
}

// Stop ends it, and takes its sockets away.
func (d *OtherDriver) Stop() {
	d.cancel()
	d.helper.Stop()
}

// RunGPUs publishes a device with a pcieRoot for each name; containers get "gpu.example.com/device=NAME".
func (k *KubeletRoot) RunGPUs(t testing.TB, pcieRoots map[string]string) {
	t.Helper()
	driver := k.RunOtherDriver(GPUs, func(_ *resource.ResourceClaim, result resource.DeviceRequestAllocationResult) []string {
		return []string{GPUs + "/device=" + result.Device}
	})
	var devices []resource.Device
	for name, root := range pcieRoots {
		devices = append(devices, resource.Device{Name: name, Attributes: map[resource.QualifiedName]resource.DeviceAttribute{
			"resource.kubernetes.io/pcieRoot": {StringValue: &root}}})
	}
	published := resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		k.lab.Node: {Slices: []resourceslice.Slice{{Devices: devices}}}}}
	if err := driver.helper.PublishResources(context.Background(), published); err != nil {
		t.Fatal(err)
	}
}

// PrepareResourceClaims is what the helper asks for.
func (d *OtherDriver) PrepareResourceClaims(_ context.Context, claims []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	answers := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		var answer kubeletplugin.PrepareResult
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.Driver == d.name {
				answer.Devices = append(answer.Devices, kubeletplugin.Device{Requests: []string{result.Request},
					PoolName: result.Pool, DeviceName: result.Device, CDIDeviceIDs: d.prepare(claim, result)})
			}
		}
		answers[claim.UID] = answer
	}
	return answers, nil
}

// UnprepareResourceClaims is what the helper asks for.
func (d *OtherDriver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	answers := map[types.UID]error{}
	for _, claim := range claims {
		answers[claim.UID] = nil
	}
	return answers, nil
}

// HandleError is what the helper says.
func (d *OtherDriver) HandleError(_ context.Context, err error, said string) {
	d.lab.T.Logf("%s: %s: %v", d.name, said, err)
}
