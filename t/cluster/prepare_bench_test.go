package cluster

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"sliced.test/cluster/harness"
)

const (
	claimsAtOnce  = 50 // that a node has prepared at the end of a round
	prepareRounds = 20
)

// BenchmarkPrepare prints how long a prepare call takes, of claims whose VF stays a network device, beside that of a bare
// server which reads the same claim, writes as many bytes to as many files as durably and echoes the call, and beside that
// of a plugin on Kubernetes' helper library. One after the other for each claim, who is first changes; the client is the
// same for all. Claims are given back between rounds, and that is not measured, nor is what we write of a claim into its
// status behind the answer: the next call waits for it.
func BenchmarkPrepare(b *testing.B) {
	wide := harness.E810("03", "ens1f0", claimsAtOnce)
	lab := harness.NewLab(b, shared, wide)
	lab.RunAsDeployed()
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	daemon := lab.Run(root.Flags()...)
	lab.History.WaitOffers(b, 0, starting, vfs(wide, 0, claimsAtOnce)...)
	waitUntil(b, "the service's socket", starting, func() bool { return answers(root.Service(harness.Driver)) })
	claims := allocate(b, lab, claimsAtOnce)

	ours := subject{plugin: dra.NewDRAPluginClient(dial(b, root.Service(harness.Driver)))}
	library := subject{plugin: startGoPlugin(b, lab, root)}
	floor := startPrepareFloor(b, lab, root)
	var times [3][]time.Duration
	for round := range prepareRounds + 1 { // the first one warms up
		for i, claim := range claims {
			calls := []func() time.Duration{
				func() time.Duration {
					took := ours.prepare(b, claim)
					waitUntil(b, "the claim's status", promptly, func() bool { return tellsDevices(b, lab, claim) })
					return took
				},
				func() time.Duration { return library.prepare(b, claim) },
				func() time.Duration { return floor.call(b, claim) },
			}
			for _, which := range turns[(i+round)%len(turns)] {
				if took := calls[which](); round > 0 {
					times[which] = append(times[which], took)
				}
			}
			floor.learn(b, claim)
		}
		ours.unprepare(b, claims)
		library.unprepare(b, claims)
		floor.clear(b)
		waitUntil(b, "the claims' statuses are empty", promptly, func() bool {
			return !slices.ContainsFunc(claims, func(c *resource.ResourceClaim) bool { return tellsDevices(b, lab, c) })
		})
	}
	for i, name := range []string{"ours", "library", "floor"} {
		b.ReportMetric(percentile(times[i], 50), name+"-p50-ms")
		b.ReportMetric(percentile(times[i], 99), name+"-p99-ms")
	}
	for i, name := range []string{"", "library", "floor"} {
		if i > 0 {
			b.ReportMetric(percentile(times[0], 50)/percentile(times[i], 50), "p50-to-"+name)
			b.ReportMetric(percentile(times[0], 99)/percentile(times[i], 99), "p99-to-"+name)
		}
	}
	b.ReportMetric(memory(b, daemon.PID(), "VmRSS")/1024, "rss-MiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPrepareAtOnce prints how long the claims of fifty pods that come together take: in one call, and in a call for each
// claim at the same time, as the kubelet makes them. Beside it: the plugin on Kubernetes' helper library, and the bare server
// of BenchmarkPrepare, which takes one claim after the other and writes the record of each. Who is first changes.
func BenchmarkPrepareAtOnce(b *testing.B) {
	wide := harness.E810("03", "ens1f0", claimsAtOnce)
	lab := harness.NewLab(b, shared, wide)
	lab.RunAsDeployed()
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	root := lab.NewKubeletRoot()
	lab.Run(root.Flags()...)
	lab.History.WaitOffers(b, 0, starting, vfs(wide, 0, claimsAtOnce)...)
	waitUntil(b, "the service's socket", starting, func() bool { return answers(root.Service(harness.Driver)) })
	claims := allocate(b, lab, claimsAtOnce)

	ours := subject{plugin: dra.NewDRAPluginClient(dial(b, root.Service(harness.Driver)))}
	library := subject{plugin: startGoPlugin(b, lab, root)}
	floor := startPrepareFloor(b, lab, root)
	quiet := func(has bool) { // what is written behind the answers
		waitUntil(b, "the claims' statuses", promptly, func() bool {
			return !slices.ContainsFunc(claims, func(c *resource.ResourceClaim) bool { return tellsDevices(b, lab, c) != has })
		})
	}
	ways := []struct {
		name string
		run  func() time.Duration
	}{
		{"ours-one-call", func() time.Duration { return ours.prepareTogether(b, claims) }},
		{"ours-calls", func() time.Duration { return ours.prepareAtOnce(b, claims) }},
		{"library-one-call", func() time.Duration { return library.prepareTogether(b, claims) }},
		{"library-calls", func() time.Duration { return library.prepareAtOnce(b, claims) }},
		{"floor", func() time.Duration {
			floor.clear(b) // what is given back may take its directories along
			began := time.Now()
			for _, claim := range claims {
				floor.call(b, claim)
			}
			return time.Since(began)
		}},
	}
	times := make([][]time.Duration, len(ways))
	for round := range prepareRounds + 1 { // the first one warms up
		for i := range ways {
			which := (i + round) % len(ways)
			took := ways[which].run()
			if round > 0 {
				times[which] = append(times[which], took)
			}
			switch which {
			case 0, 1:
				quiet(true)
				for _, claim := range claims {
					floor.learn(b, claim)
				}
				ours.unprepare(b, claims)
				quiet(false)
			case 2, 3:
				library.unprepare(b, claims)
			default:
				floor.clear(b)
			}
		}
	}
	for i, way := range ways {
		b.ReportMetric(percentile(times[i], 50), way.name+"-p50-ms")
		b.ReportMetric(percentile(times[i], 99), way.name+"-p99-ms")
	}
	b.ReportMetric(percentile(times[1], 50)/percentile(times[4], 50), "calls-to-floor")
	b.ReportMetric(0, "ns/op")
}

// prepareTogether has all claims in one call.
func (s subject) prepareTogether(b *testing.B, claims []*resource.ResourceClaim) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	request := &dra.NodePrepareResourcesRequest{}
	for _, claim := range claims {
		request.Claims = append(request.Claims, claimOf(claim))
	}
	began := time.Now()
	answer, err := s.plugin.NodePrepareResources(ctx, request)
	took := time.Since(began)
	if err != nil || len(answer.Claims) != len(claims) {
		b.Fatalf("prepare: %v %v", answer, err)
	}
	for uid, claim := range answer.Claims {
		if claim.Error != "" || len(claim.Devices) != 1 {
			b.Fatalf("prepare of %s: %v", uid, claim)
		}
	}
	return took
}

// prepareAtOnce has a call for each claim, and returns the time until all are answered.
func (s subject) prepareAtOnce(b *testing.B, claims []*resource.ResourceClaim) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	problems := make(chan error, len(claims))
	began := time.Now()
	for _, claim := range claims {
		go func() {
			answer, err := s.plugin.NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{claimOf(claim)}})
			if err == nil && len(answer.Claims[string(claim.UID)].GetDevices()) != 1 {
				err = fmt.Errorf("prepare: %v", answer)
			}
			problems <- err
		}()
	}
	for range claims {
		if err := <-problems; err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// turns are those in which one claim may go through ours, the library's and the floor.
var turns = [][3]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}, {1, 0, 2}}

// percentile of durations, in milliseconds.
func percentile(all []time.Duration, of int) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return float64(sorted[(len(sorted)*of-1)/100].Microseconds()) / 1000
}

// allocate has the scheduler give a device to each of so many pods, and returns their claims.
func allocate(b *testing.B, lab *harness.Lab, count int) []*resource.ResourceClaim {
	b.Helper()
	lab.Server.NewPod(b, lab.Namespace, "p0", lab.Node, 1)
	for i := range count - 1 {
		lab.Server.NewPodOf(b, lab.Namespace, fmt.Sprintf("p%d", i+1), lab.Node, "p0")
	}
	var claims []*resource.ResourceClaim
	waitUntil(b, "every pod has its device", 2*promptly, func() bool {
		list, err := lab.Server.Client.ResourceV1().ResourceClaims(lab.Namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		claims = nil
		for i, claim := range list.Items {
			if claim.Status.Allocation != nil && len(claim.Status.ReservedFor) == 1 {
				claims = append(claims, &list.Items[i])
			}
		}
		return len(claims) == count
	})
	return claims
}

func tellsDevices(b *testing.B, lab *harness.Lab, claim *resource.ResourceClaim) bool {
	b.Helper()
	now, err := lab.Server.Client.ResourceV1().ResourceClaims(claim.Namespace).Get(context.Background(), claim.Name, metav1.GetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return len(now.Status.Devices) > 0
}

// subject is a kubelet plugin.
type subject struct{ plugin dra.DRAPluginClient }

func claimOf(claim *resource.ResourceClaim) *dra.Claim {
	return draClaim(claim.Namespace, claim.Name, string(claim.UID))
}

func (s subject) prepare(b *testing.B, claim *resource.ResourceClaim) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 45*time.Second)
	defer cancel()
	began := time.Now()
	answer, err := s.plugin.NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{claimOf(claim)}})
	took := time.Since(began)
	if err != nil || len(answer.Claims[string(claim.UID)].GetDevices()) != 1 {
		b.Fatalf("prepare: %v %v", answer, err)
	}
	return took
}

func (s subject) unprepare(b *testing.B, claims []*resource.ResourceClaim) {
	b.Helper()
	request := &dra.NodeUnprepareResourcesRequest{}
	for _, claim := range claims {
		request.Claims = append(request.Claims, claimOf(claim))
	}
	answer, err := s.plugin.NodeUnprepareResources(context.Background(), request)
	if err != nil || len(answer.Claims) != len(claims) {
		b.Fatalf("unprepare: %v %v", answer, err)
	}
	for _, claim := range answer.Claims {
		if claim.Error != "" {
			b.Fatal(claim.Error)
		}
	}
}

// startGoPlugin starts t/cluster/goplugin.
func startGoPlugin(b *testing.B, lab *harness.Lab, root *harness.KubeletRoot) dra.DRAPluginClient {
	b.Helper()
	process, err := harness.StartProcess("goplugin", filepath.Join(b.TempDir(), "goplugin.log"), harness.Path("../../build/t/goplugin"),
		"--kubeconfig", lab.Config, "--node", lab.Node, "--driver", harness.Driver, "--root", root.Path+"/go")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		process.Kill()
		if b.Failed() {
			b.Logf("log of the plugin on the helper library:\n%s", process.LogTail(20))
		}
	})
	socket := root.Path + "/go/plugin/dra.sock"
	waitUntil(b, "the other plugin's socket", starting, func() bool { return answers(socket) })
	return dra.NewDRAPluginClient(dial(b, socket))
}

// prepareFloor is t/bench/prepare_floor.cpp.
type prepareFloor struct {
	connection *grpc.ClientConn
	root       *harness.KubeletRoot
	sizes      [3]int64 // of what we have written for a claim
}

func startPrepareFloor(b *testing.B, lab *harness.Lab, root *harness.KubeletRoot) *prepareFloor {
	b.Helper()
	config := shared.Server.RESTConfig(lab.User)
	server, err := url.Parse(config.Host)
	if err != nil {
		b.Fatal(err)
	}
	socket := root.Path + "/floor.sock"
	process, err := harness.StartProcess("floor", filepath.Join(b.TempDir(), "floor.log"), harness.Path("../../build/t/bench_prepare_floor"),
		socket, server.Hostname(), server.Port(), config.BearerToken)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		process.Kill()
		if b.Failed() {
			b.Logf("log of the floor:\n%s", process.LogTail(20))
		}
	})
	waitUntil(b, "the floor's socket", starting, func() bool { return answers(socket) })
	floor := &prepareFloor{connection: dial(b, socket), root: root}
	floor.clear(b)
	return floor
}

// clear forgets the claims' files; the record stays.
func (f *prepareFloor) clear(b *testing.B) {
	b.Helper()
	for _, directory := range []string{"/cdi/floor", "/plugins/floor"} {
		if err := os.MkdirAll(f.root.Path+directory, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	specs, _ := filepath.Glob(f.root.Path + "/cdi/floor/*")
	for _, spec := range specs {
		if err := os.Remove(spec); err != nil {
			b.Fatal(err)
		}
	}
}

// learn looks at how large is what we have written for a claim: its CDI spec, its pod's and the record.
func (f *prepareFloor) learn(b *testing.B, claim *resource.ResourceClaim) {
	b.Helper()
	for i, pattern := range []string{"cdi/*" + string(claim.UID) + "*", "cdi/*" + string(claim.Status.ReservedFor[0].UID) + "*",
		"plugins/" + harness.Driver + "/sliced-checkpoint.json"} {
		found, _ := filepath.Glob(f.root.Path + "/" + pattern)
		if len(found) != 1 {
			b.Fatalf("%s: %v", pattern, found)
		}
		info, err := os.Stat(found[0])
		if err != nil {
			b.Fatal(err)
		}
		f.sizes[i] = info.Size()
	}
}

func (f *prepareFloor) call(b *testing.B, claim *resource.ResourceClaim) time.Duration {
	b.Helper()
	specs := f.root.Path + "/cdi/floor/" + string(claim.UID)
	ctx := metadata.AppendToOutgoingContext(context.Background(),
		"x-write", fmt.Sprintf("%s-a=%d,%s-b=%d,%s/plugins/floor/record=%d", specs, f.sizes[0], specs, f.sizes[1], f.root.Path, f.sizes[2]),
		"x-get", "/apis/resource.k8s.io/v1/namespaces/"+claim.Namespace+"/resourceclaims/"+claim.Name)
	request, echo := &dra.NodePrepareResourcesRequest{Claims: []*dra.Claim{claimOf(claim)}}, &dra.NodePrepareResourcesRequest{}
	began := time.Now()
	err := f.connection.Invoke(ctx, "/floor/Echo", request, echo)
	took := time.Since(began)
	if err != nil || len(echo.Claims) != 1 {
		b.Fatalf("the floor: %v %v", echo, err)
	}
	return took
}

// BenchmarkPluginMemory prints the daemon's resident memory with 256 VFs offered, with the kubelet plugin and without, in turns.
func BenchmarkPluginMemory(b *testing.B) {
	lab, daemon, _ := big(b, 2)
	root := lab.NewKubeletRoot()
	measured := map[bool][]float64{}
	for turn := range 6 {
		with := turn%2 == 1
		if with {
			daemon.Kill()
			daemon = lab.Run(root.Flags()...)
			waitUntil(b, "the service's socket", starting, func() bool { return answers(root.Service(harness.Driver)) })
		} else if turn > 0 {
			daemon.Kill()
			daemon = lab.Run()
		}
		time.Sleep(15 * time.Second) // the start is over
		measured[with] = append(measured[with], memory(b, daemon.PID(), "VmRSS"))
	}
	slices.Sort(measured[true])
	slices.Sort(measured[false])
	with, without := measured[true][1], measured[false][1]
	b.ReportMetric(with/1024, "with-MiB")
	b.ReportMetric(without/1024, "without-MiB")
	b.ReportMetric(with/without, "ratio")
	b.ReportMetric(0, "ns/op")
}
