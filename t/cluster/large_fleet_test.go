package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

const (
	largeFleet    = 5000
	fleetMemory   = 200 // MiB at most that a command takes for it
	loadedAtOnce  = 16
	reportsHidden = 3
)

func largeNode(i int) string { return fmt.Sprintf("node-%04d", i) }

// largeReport is what a node with one PF of that many VFs reports, of which the last three are hidden.
func largeReport(node string, devices int) *unstructured.Unstructured {
	group := func(vfs, disposition string, first int, said M) M {
		address := fmt.Sprintf("0000:3b:%02x.%d", first/8+1, first%8)
		return M{"type": "vf", "pf": "0000:3b:00.0", "pfName": "ens1f0", "vfs": vfs, "pciAddress": address, "interfaceBase": "ens1f0v",
			"vendor": "8086", "product": "1889", "driver": "iavf", "linkType": "ethernet", "pfProduct": "1592", "numaNode": int64(0),
			"disposition": disposition, "verdicts": L{said}}
	}
	offered := devices - reportsHidden
	return &unstructured.Unstructured{Object: M{"apiVersion": "networking.dra.io/v1alpha1", "kind": "NodeDeviceReport",
		"metadata": M{"name": node},
		"status": M{"daemonVersion": "0.1.0", "bootID": "6d0c2f0e-6a3c-4f0e-9d6c-7a6f1d1f0c11",
			"lastChange": M{"time": "2026-11-21T00:17:41.296Z", "change": "offered", "devices": int64(offered), "policy": "policy ns/intel",
				"why": "policy ns/intel changed"},
			"counts": M{"devices": int64(devices + 1), "offered": int64(offered), "heldBack": int64(0), "hidden": int64(reportsHidden),
				"unmatched": int64(1), "problems": int64(0)},
			"pools": L{M{"driver": harness.Driver, "name": node, "generation": int64(3), "devices": int64(offered), "slices": int64(1)}},
			"policies": L{M{"kind": "SriovResourcePolicy", "namespace": "ns", "name": "intel", "generation": int64(1), "action": "expose",
				"matched": int64(devices), "offered": int64(offered), "hidden": M{"excluded": int64(reportsHidden)}}},
			"groups": L{
				group(fmt.Sprintf("%d-%d", offered, devices-1), "hidden", offered,
					M{"kind": "DeviceExposurePolicy", "name": "management", "outcome": "excluded"}),
				group(fmt.Sprintf("0-%d", offered-1), "offered", 0,
					M{"kind": "SriovResourcePolicy", "namespace": "ns", "name": "intel", "outcome": "offered"})}}}}
}

// loadFleet creates nodes with a report and a slice of that many devices each, at an API server. Their texts differ in the
// node's name alone, so each is made once.
func loadFleet(t testing.TB, server *harness.APIServer, nodes, devices int) {
	t.Helper()
	transport, err := rest.TransportFor(server.LoaderConfig())
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: transport}
	const anyNode = "any-node"
	node := anyNode
	texts := map[string]string{}
	for path, object := range map[string]any{
		"/api/v1/nodes": core.Node{ObjectMeta: metav1.ObjectMeta{Name: node,
			Labels: map[string]string{"kubernetes.io/hostname": node, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}}},
		"/apis/resource.k8s.io/v1/resourceslices": resource.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice-" + node},
			Spec: resource.ResourceSliceSpec{Driver: harness.Driver, NodeName: &node, Devices: largeDevices(devices),
				Pool: resource.ResourcePool{Name: node, Generation: 3, ResourceSliceCount: 1}}},
		"/apis/networking.dra.io/v1alpha1/nodedevicereports": largeReport(node, devices+reportsHidden).Object,
	} {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	load := func(i int) error {
		for path, text := range texts {
			response, err := client.Post(server.URL+path, "application/json", strings.NewReader(strings.ReplaceAll(text, anyNode, largeNode(i))))
			if err != nil {
				return err
			}
			said, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err == nil && response.StatusCode != http.StatusCreated {
				err = fmt.Errorf("%s: %s", path, said)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range loadedAtOnce {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < nodes; i = int(next.Add(1)) - 1 {
				if err := load(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func largeDevices(count int) (out []resource.Device) {
	for i := range count {
		address := fmt.Sprintf("0000:3b:%02x.%d", i/8+1, i%8)
		one := resource.Device{Name: harness.DeviceName(address), Attributes: map[resource.QualifiedName]resource.DeviceAttribute{}}
		for name, value := range map[string]any{"vendor": "8086", "deviceID": "1889", "pfDeviceID": "1592", "pciAddress": address,
			"pfPciAddress": "0000:3b:00.0", "PFName": "ens1f0", "EswitchMode": "legacy", "vfID": int64(i), "linkType": "ethernet",
			"rdmaCapable": true, "resourceName": "storage", "/dra.net/numaNode": int64(0), "/k8s.cni.cncf.io/deviceID": address,
			"/resource.kubernetes.io/numaNode": int64(0), "/resource.kubernetes.io/pciBusID": address,
			"/resource.kubernetes.io/pcieRoot": "pci0000:3a"} {
			attribute := resource.DeviceAttribute{}
			switch value := value.(type) {
			case string:
				attribute.StringValue = &value
			case int64:
				attribute.IntValue = &value
			case bool:
				attribute.BoolValue = &value
			}
			qualified, isForeign := strings.CutPrefix(name, "/")
			if !isForeign {
				qualified = harness.Driver + "/" + name
			}
			one.Attributes[resource.QualifiedName(qualified)] = attribute
		}
		out = append(out, one)
	}
	return out
}

// fleetCommand runs `kubectl sliced nodes` as data: its rows by name, and the most memory that it had, in MiB.
func fleetCommand(t *testing.T, kubeconfig string) (rows map[string]largeRow, peak float64) {
	t.Helper()
	command := exec.Command(harness.KubectlPlugin(t), "nodes", "--kubeconfig", kubeconfig, "-o", "json")
	var out, complaints strings.Builder
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	memory := peakMemory(command.Process.Pid)
	if err := command.Wait(); err != nil || complaints.Len() > 0 {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	var said struct{ Nodes []largeRow }
	if err := json.Unmarshal([]byte(out.String()), &said); err != nil {
		t.Fatal(err)
	}
	rows = map[string]largeRow{}
	for _, row := range said.Nodes {
		rows[row.Name] = row
	}
	if len(rows) != len(said.Nodes) {
		t.Errorf("%d rows of %d nodes", len(said.Nodes), len(rows))
	}
	return rows, <-memory
}

type largeRow struct {
	Name   string
	Usage  usage
	Report struct {
		DaemonVersion string
		Hidden        int
	}
	Problems []string
}

// Turns red when a node of a large fleet is left out or counted wrongly, when lists are not read in pages, when the command keeps
// what it need not, and when a server that has forgotten the state of its pages (410) ends it, or has it tell what is gone.
func TestALargeFleet(t *testing.T) {
	t.Parallel()
	const devices = 4
	plane := harness.NewPlane(t, harness.Options{})
	began := time.Now()
	loadFleet(t, plane.Server, largeFleet, devices)
	t.Logf("%d nodes are loaded after %v", largeFleet, time.Since(began))
	proxy := plane.NewProxy(t, plane.Server)
	user := plane.NewUser()
	plane.Server.Bind(t, "", "sliced", user)
	plane.Server.Bind(t, "", harness.ClaimsRole, user)
	plane.Server.Bind(t, "", "sliced-policies", user)
	readsLeases := &rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reads-leases"}, Rules: []rbac.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list"}}}}
	if _, err := plane.Server.Client.RbacV1().ClusterRoles().Create(context.Background(), readsLeases, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	plane.Server.Bind(t, "", readsLeases.Name, user)
	kubeconfig := plane.Kubeconfig(t, proxy.URL, &api.AuthInfo{Token: user.Token})

	judge := func(count int) {
		t.Helper()
		rows, peak := fleetCommand(t, kubeconfig)
		for i := largeFleet - count; i < largeFleet; i++ {
			found := rows[largeNode(i)]
			if found.Usage != (usage{Devices: devices, Free: devices}) || found.Report.DaemonVersion != "0.1.0" ||
				found.Report.Hidden != reportsHidden || len(found.Problems) > 0 {
				t.Fatalf("%s: %+v", largeNode(i), found)
			}
		}
		if len(rows) != count {
			t.Errorf("%d nodes, and there are %d", len(rows), count)
		}
		if peak > fleetMemory || peak == 0 {
			t.Errorf("%.0f MiB of memory", peak)
		}
		t.Logf("%.0f MiB of memory", peak)
	}
	judge(largeFleet)
	pages := map[string]int{}
	for _, request := range plane.Server.Audit.Of(t, user, began) {
		if !strings.Contains(request.URI, "limit=500") || pages[request.Ref.Resource] > 0 != strings.Contains(request.URI, "continue=") {
			t.Errorf("%s", request.URI)
		}
		pages[request.Ref.Resource]++
	}
	for _, plural := range []string{"nodes", "resourceslices", harness.Reports.Resource} {
		if pages[plural] != largeFleet/500 {
			t.Errorf("%d pages of %s", pages[plural], plural)
		}
	}

	// The first node is told on the first page, goes, and the state of that page with it; a server that was started again has
	// no copy of it.
	var once sync.Once
	var forgotten atomic.Int64
	proxy.Hook(func(r *http.Request, isAnswered bool) {
		if isAnswered || !strings.HasSuffix(r.URL.Path, "/nodes") || r.URL.Query().Get("continue") == "" {
			return
		}
		once.Do(func() {
			forgotten.Add(1)
			ctx := context.Background()
			for _, err := range []error{ // in this order; the handler's goroutine must not end the test
				plane.Server.Client.CoreV1().Nodes().Delete(ctx, largeNode(0), metav1.DeleteOptions{}),
				plane.Server.Client.ResourceV1().ResourceSlices().Delete(ctx, "slice-"+largeNode(0), metav1.DeleteOptions{}),
				plane.Server.Dynamic.Resource(harness.Reports).Delete(ctx, largeNode(0), metav1.DeleteOptions{}),
				plane.TryCompact(),
				plane.Server.TryKill(),
				plane.Server.Start(),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		})
	})
	since := time.Now()
	judge(largeFleet - 1)
	expired := plane.Server.Audit.Requests(t, func(r harness.Request) bool {
		return r.User.Username == user.Name && r.Received.After(since) && r.Answer.Code == http.StatusGone
	})
	if forgotten.Load() != 1 || len(expired) != 1 {
		t.Errorf("%d pages were forgotten, and %d were answered with 410", forgotten.Load(), len(expired))
	}
}
