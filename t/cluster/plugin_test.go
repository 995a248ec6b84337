package cluster

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"sliced.test/cluster/harness"
)

// dial is grpc-go's client at a unix socket, as the kubelet makes it.
func dial(t testing.TB, path string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// waitUntil polls; what names what is waited for.
func waitUntil(t testing.TB, what string, limit time.Duration, holds func() bool) {
	t.Helper()
	for deadline := harness.Limit(); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited until the limit of the test program for: %s", what)
		}
	}
}

// answers: somebody listens there.
func answers(path string) bool {
	connection, err := net.Dial("unix", path)
	if err == nil {
		connection.Close()
	}
	return err == nil
}

// Turns red when grpc-go's own client is not understood, or an error has another code than the protocol gives it.
func TestKubeletPluginImplementsGRPC(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	daemon := lab.Run(root.Flags()...)
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	waitUntil(t, "the service's socket", starting, func() bool { return answers(root.Service(harness.Driver)) })
	connection := dial(t, root.Service(harness.Driver))
	plugin := dra.NewDRAPluginClient(connection)
	answer, err := plugin.NodePrepareResources(harness.Patient(t), &dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{
		draClaim("ns", "a", "u1"), draClaim("ns", "b", "u2")}})
	if err != nil || len(answer.Claims) != 2 || answer.Claims["u2"].GetError() != "ResourceClaim ns/b: it no longer exists" {
		t.Errorf("prepare: %v %v", answer, err)
	}
	back, err := plugin.NodeUnprepareResources(harness.Patient(t), &dra.NodeUnprepareResourcesRequest{Claims: []*dra.Claim{
		draClaim("ns", "a", "u1")}})
	if err != nil || len(back.Claims) != 1 || back.Claims["u1"].GetError() != "" {
		t.Errorf("unprepare: %v %v", back, err)
	}
	answer, err = plugin.NodePrepareResources(harness.Patient(t), &dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{
		draClaim("ns", "ä%", ""), draClaim("ns", "b", "u2")}})
	if err != nil || len(answer.Claims) != 2 || answer.Claims["u2"].GetError() != "ResourceClaim ns/b: it no longer exists" ||
		answer.Claims[""].GetError() != `claims[0].uid: "" is not a UID` {
		t.Errorf("a claim that cannot be, and another: %v %v", answer, err)
	}
	for name, row := range map[string]struct {
		call func() error
		code codes.Code
		says string
	}{
		"an unknown method": {func() error {
			return connection.Invoke(harness.Patient(t), "/k8s.io.kubelet.pkg.apis.dra.v1alpha3.Node/100%",
				&dra.NodePrepareResourcesRequest{}, &dra.NodePrepareResourcesResponse{})
		}, codes.Unimplemented, "there is no method /k8s.io.kubelet.pkg.apis.dra.v1alpha3.Node/100%"},
		"gzip": {func() error {
			_, err := plugin.NodePrepareResources(harness.Patient(t), &dra.NodePrepareResourcesRequest{
				Claims: []*dra.Claim{draClaim("ns", "a", "u1")}}, grpc.UseCompressor(gzip.Name))
			return err
		}, codes.Unimplemented, `grpc-encoding "gzip" is not understood`},
		"2 MiB": {func() error {
			_, err := plugin.NodePrepareResources(harness.Patient(t), &dra.NodePrepareResourcesRequest{
				Claims: []*dra.Claim{draClaim("ns", strings.Repeat("x", 2<<20), "u")}})
			return err
		}, codes.ResourceExhausted, "at most 1048576 are taken"},
	} {
		if err := row.call(); status.Code(err) != row.code || !strings.Contains(status.Convert(err).Message(), row.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	judgeHealth(t, lab, health.NewDRAResourceHealthClient(connection))
	if daemon.Exited() {
		t.Error("the daemon ended")
	}
}

// Turns red when what the scheduler has allocated is not handed over by way of CDI specs, or not taken back.
func TestKubeletPluginPrepares(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0)
	lab.Apply("p", harness.Config("intel.com/vf", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	daemon := lab.Run(root.Flags()...)
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	waitUntil(t, "the service's socket", starting, func() bool { return answers(root.Service(harness.Driver)) })
	plugin := dra.NewDRAPluginClient(dial(t, root.Service(harness.Driver)))
	lab.Server.NewPod(t, lab.Namespace, "pod", lab.Node, 2)
	results := lab.Server.WaitScheduled(t, lab.Namespace, "pod", scheduling)
	claim := lab.Server.Claim(t, lab.Namespace, "pod")
	uid := string(claim.UID)
	named := []*dra.Claim{draClaim(claim.Namespace, claim.Name, uid)}
	prepare := func() *dra.NodePrepareResourceResponse {
		answer, err := plugin.NodePrepareResources(harness.Patient(t), &dra.NodePrepareResourcesRequest{Claims: named})
		if err != nil || answer.Claims[uid].GetError() != "" {
			t.Fatalf("%v: %v", err, answer)
		}
		return answer.Claims[uid]
	}
	first := prepare()
	specs := harness.Driver + "/vf="
	for i, device := range first.Devices {
		want := []string{specs + uid + "-" + results[i].Device, specs + string(claim.Status.ReservedFor[0].UID)}
		if device.DeviceName != results[i].Device || device.PoolName != lab.Node || device.RequestNames[0] != "vf" ||
			!slices.Equal(cdiOf(device), want) {
			t.Errorf("device %d: %v, wants %v", i, device, want)
		}
	}
	files := func() []string {
		found, _ := filepath.Glob(root.Path + "/cdi/*.yaml")
		return found
	}
	if len(first.Devices) != 2 || len(files()) != 2 {
		t.Errorf("devices %v, files %v", first.Devices, files())
	}
	if again := prepare(); !same(again, first) {
		t.Errorf("asked again: %v, then %v", first, again)
	}
	// Who comes after a kill answers the same, and takes back what it has not prepared itself.
	daemon.Kill()
	lab.Run(root.Flags()...)
	waitUntil(t, "the service's socket again", starting, func() bool { return answers(root.Service(harness.Driver)) })
	waitUntil(t, "the same answer", starting, func() bool {
		answer, err := plugin.NodePrepareResources(harness.Patient(t), &dra.NodePrepareResourcesRequest{Claims: named})
		return err == nil && same(answer.Claims[uid], first)
	})
	back, err := plugin.NodeUnprepareResources(harness.Patient(t), &dra.NodeUnprepareResourcesRequest{Claims: named})
	if err != nil || back.Claims[uid].GetError() != "" || len(files()) != 0 {
		t.Errorf("unprepare: %v %v, files %v", back, err, files())
	}
}

func same(one, other *dra.NodePrepareResourceResponse) bool {
	return one.GetError() == other.GetError() && slices.EqualFunc(one.GetDevices(), other.GetDevices(), func(a, b *dra.Device) bool {
		return a.PoolName == b.PoolName && a.DeviceName == b.DeviceName && slices.Equal(a.RequestNames, b.RequestNames) &&
			slices.Equal(cdiOf(a), cdiOf(b))
	})
}

// The first VF loses its driver and then its function; the watch hears of both.
func judgeHealth(t *testing.T, lab *harness.Lab, client health.DRAResourceHealthClient) {
	watch, err := client.NodeWatchResources(harness.Patient(t), &health.NodeWatchResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	address := harness.VFAddress(pf0.Address, 0)
	// The next list in which the device is so.
	await := func(want health.HealthStatus, message string) {
		for {
			list, err := watch.Recv()
			if err != nil {
				t.Fatalf("no list says %v %q: %v", want, message, err)
			}
			for _, device := range list.Devices {
				if device.Device.PoolName == lab.Node && device.Device.DeviceName == harness.DeviceName(address) &&
					device.Health == want && messageOf(device) == message {
					return
				}
			}
		}
	}
	await(health.HealthStatus_HEALTHY, "")
	lab.Host.Unbind(address)
	await(health.HealthStatus_UNHEALTHY, address+" has lost its driver")
	lab.Host.Rebind(address, "iavf")
	await(health.HealthStatus_HEALTHY, "")
	lab.Host.SetVFs(pf0.Address, 0)
	await(health.HealthStatus_UNHEALTHY, address+" no longer exists on the host")
}

// Turns red when the kubelet's second for GetInfo is over while the daemon decides on ten thousand devices.
func TestGetInfoWhileDeciding(t *testing.T) {
	t.Parallel()
	var pfs []harness.PF
	for i := range 42 {
		pfs = append(pfs, harness.E810(fmt.Sprintf("%02x", 3+i), fmt.Sprintf("ens%df0", i+1), 240))
	}
	lab := harness.NewLab(t, shared, pfs...)
	apply := func(i int) int64 {
		return lab.Apply("p", harness.Config(fmt.Sprintf("n%d", i), M{"vendors": L{"8086"}, "pfNames": L{"ens1f0#0-3"}}))
	}
	apply(0)
	root := lab.NewKubeletRoot()
	lab.Run(root.Flags()...)
	lab.History.WaitOffers(t, 0, harness.Patience, vfs(pfs[0], 0, 4)...)
	waitUntil(t, "the registration's socket", starting, func() bool { return answers(root.Registration(harness.Driver)) })
	slowest := time.Duration(0)
	for i := range 6 {
		edited := apply(i + 1)
		for range 30 {
			began := time.Now()
			connection := dial(t, root.Registration(harness.Driver))
			info, err := registration.NewRegistrationClient(connection).GetInfo(harness.Patient(t), &registration.InfoRequest{})
			if err != nil {
				t.Fatalf("edit %d: %v after %v", i, err, time.Since(began))
			}
			if info.Name != harness.Driver || info.Type != "DRAPlugin" || info.Endpoint != root.Service(harness.Driver) {
				t.Fatalf("%v", info)
			}
			slowest = max(slowest, time.Since(began))
			connection.Close()
		}
		all(lab, edited, harness.Patience, attr+"resourceName", fmt.Sprintf("n%d", i+1), vfs(pfs[0], 0, 4)...)
	}
	t.Logf("the slowest GetInfo of 180 took %v", slowest)
}
