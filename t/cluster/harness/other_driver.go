package harness

import (
	"context"
	"fmt"
	"os"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// OtherDriver is a driver beside ours, on Kubernetes' own helper: its devices have a pcieRoot, and containers get
// "<driver>/device=<device>".
const OtherDriver = "gpu.example.com"

type otherDriver struct{ failed func(error) }

// RunOtherDriver publishes a device for each name and serves its kubelet until the test ends.
func (k *KubeletRoot) RunOtherDriver(pcieRoots map[string]string) {
	t := k.lab.T
	t.Helper()
	data := k.Path + "/plugins/" + OtherDriver
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	client, err := kubernetes.NewForConfig(k.lab.Server.RESTConfig(adminUser))
	if err != nil {
		t.Fatal(err)
	}
	helper, err := kubeletplugin.Start(ctx, otherDriver{func(err error) { t.Logf("%s: %v", OtherDriver, err) }},
		kubeletplugin.DriverName(OtherDriver), kubeletplugin.NodeName(k.lab.Node), kubeletplugin.NodeUID(types.UID(k.lab.NodeUID)),
		kubeletplugin.KubeClient(client), kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.RegistrarDirectoryPath(k.Path+"/plugins_registry"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		helper.Stop()
	})
	var devices []resource.Device
	for name, root := range pcieRoots {
		devices = append(devices, resource.Device{Name: name, Attributes: map[resource.QualifiedName]resource.DeviceAttribute{
			"resource.kubernetes.io/pcieRoot": {StringValue: &root}}})
	}
	published := resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		k.lab.Node: {Slices: []resourceslice.Slice{{Devices: devices}}}}}
	if err := helper.PublishResources(ctx, published); err != nil {
		t.Fatal(err)
	}
}

func (otherDriver) PrepareResourceClaims(_ context.Context, claims []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	answers := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		var answer kubeletplugin.PrepareResult
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.Driver == OtherDriver {
				answer.Devices = append(answer.Devices, kubeletplugin.Device{Requests: []string{result.Request},
					PoolName: result.Pool, DeviceName: result.Device, CDIDeviceIDs: []string{OtherDriver + "/device=" + result.Device}})
			}
		}
		answers[claim.UID] = answer
	}
	return answers, nil
}

func (otherDriver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	answers := map[types.UID]error{}
	for _, claim := range claims {
		answers[claim.UID] = nil
	}
	return answers, nil
}

func (d otherDriver) HandleError(_ context.Context, err error, said string) {
	d.failed(fmt.Errorf("%s: %w", said, err))
}
