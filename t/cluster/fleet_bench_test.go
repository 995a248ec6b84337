package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sliced.test/cluster/harness"
)

// fleetPages are lists of a large cluster as an API server sends them, by plural, in pages of 500.
func fleetPages(b *testing.B, nodes, devices int) map[string][][]byte {
	entries := harness.L{}
	for i := range devices {
		address := fmt.Sprintf("0000:3b:%02x.%d", i/8+1, i%8)
		p := harness.Driver + "/"
		text := func(s string) harness.M { return harness.M{"string": s} }
		entries = append(entries, harness.M{"name": harness.DeviceName(address), "attributes": harness.M{
			p + "vendor": text("8086"), p + "deviceID": text("1889"), p + "pfDeviceID": text("1592"), p + "pciAddress": text(address),
			p + "pfPciAddress": text("0000:3b:00.0"), p + "PFName": text("ens1f0"), p + "EswitchMode": text("legacy"),
			p + "vfID": harness.M{"int": i}, p + "linkType": text("ethernet"), p + "rdmaCapable": harness.M{"bool": true},
			p + "resourceName": text("storage"), "dra.net/numaNode": harness.M{"int": 0}, "k8s.cni.cncf.io/deviceID": text(address),
			"resource.kubernetes.io/numaNode": harness.M{"int": 0}, "resource.kubernetes.io/pciBusID": text(address),
			"resource.kubernetes.io/pcieRoot": text("pci0000:3a")}})
	}
	out := map[string][][]byte{}
	for from := 0; from < nodes; from += 500 {
		items := map[string]harness.L{}
		for i := from; i < from+500; i++ {
			node := fmt.Sprintf("node-%d", i)
			items["nodes"] = append(items["nodes"], harness.M{"metadata": harness.M{"name": node}})
			items["resourceslices"] = append(items["resourceslices"], harness.M{"metadata": harness.M{"name": "slice-" + node},
				"spec": harness.M{"driver": harness.Driver, "nodeName": node, "devices": entries,
					"pool": harness.M{"name": node, "generation": 3, "resourceSliceCount": 1}}})
			items["resourceclaims"] = append(items["resourceclaims"], harness.M{"metadata": harness.M{"name": "claim-" + node, "namespace": "ns"},
				"status": harness.M{"allocation": harness.M{"devices": harness.M{"results": harness.L{harness.M{
					"request": "r", "driver": harness.Driver, "pool": node, "device": harness.DeviceName("0000:3b:01.0")}}}}}})
		}
		next := ""
		if from+500 < nodes {
			next = strconv.Itoa(from/500 + 1)
		}
		for plural, all := range items {
			kind := map[string]string{"nodes": "NodeList", "resourceslices": "ResourceSliceList", "resourceclaims": "ResourceClaimList"}[plural]
			page, err := json.Marshal(harness.M{"kind": kind, "apiVersion": "v1", "items": all,
				"metadata": harness.M{"resourceVersion": "7", "continue": next}})
			if err != nil {
				b.Fatal(err)
			}
			out[plural] = append(out[plural], page)
		}
	}
	return out
}

// peakMemory follows a process to its end, and tells how much memory it had at most, in MiB. What wait4(2) tells of that is at
// least what this process had when it forked.
func peakMemory(pid int) <-chan float64 {
	out := make(chan float64, 1)
	go func() {
		peak := 0.0
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			_, rest, found := strings.Cut(string(status), "VmHWM:")
			if !found {
				out <- peak
				return
			}
			var kib float64
			if fmt.Sscan(rest, &kib); strings.Contains(string(name), "sliced") {
				peak = max(peak, kib/1024)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return out
}

// BenchmarkFleet is `kubectl sliced nodes` over 5,000 nodes with 64 devices each, beside a client that reads the same pages and
// throws them away: seconds, MiB of memory at most, and how often as long it takes.
func BenchmarkFleet(b *testing.B) {
	pages := fleetPages(b, 5000, 64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plural := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		at, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		w.Header().Set("Content-Type", "application/json")
		if at >= len(pages[plural]) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		w.Write(pages[plural][at])
	}))
	defer server.Close()
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("clusters: [{name: c, cluster: {server: '"+server.URL+"'}}]\nusers: [{name: u, user: {}}]\n"+
		"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	benchFleet(b, kubeconfig, 5000*64, 5000, func() (bytes int64) {
		for plural, all := range pages {
			for at := range all {
				response, err := http.Get(fmt.Sprintf("%s/%s?continue=%d", server.URL, plural, at))
				if err != nil {
					b.Fatal(err)
				}
				size, _ := io.Copy(io.Discard, response.Body)
				response.Body.Close()
				bytes += size
			}
		}
		return bytes
	})
}

// BenchmarkFleetOfAServer is the same with an API server that has 5,000 nodes with a report and a slice of 64 devices each,
// beside a client that asks it for the same pages.
func BenchmarkFleetOfAServer(b *testing.B) {
	plane := harness.NewPlane(b, harness.Options{})
	loadFleet(b, plane.Server, largeFleet, 64)
	transport, err := rest.TransportFor(plane.Server.LoaderConfig())
	if err != nil {
		b.Fatal(err)
	}
	client := http.Client{Transport: transport}
	benchFleet(b, plane.Server.AdminKubeconfig(b, "default"), largeFleet*64, 0, func() (bytes int64) {
		for _, list := range []struct{ path, accept string }{
			{"/api/v1/nodes", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"},
			{"/apis/resource.k8s.io/v1/resourceslices", "application/json"},
			{"/apis/networking.dra.io/v1alpha1/nodedevicereports", "application/json"},
			{"/apis/resource.k8s.io/v1/resourceclaims", "application/json"},
		} {
			for next := "first"; next != ""; {
				page, err := barePage(&client, plane.Server.URL+list.path+"?limit=500&continue="+strings.TrimPrefix(next, "first"), list.accept)
				if err != nil {
					b.Fatal(err)
				}
				bytes += int64(len(page))
				// Its metadata are the first of a list; nothing else is read.
				_, next, _ = strings.Cut(string(page[:min(len(page), 1000)]), `"continue":"`)
				next, _, _ = strings.Cut(next, `"`)
				next = url.QueryEscape(next)
			}
		}
		return bytes
	})
}

func barePage(client *http.Client, address, accept string) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Accept-Encoding", "identity")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, page)
	}
	return page, err
}

// benchFleet runs `kubectl sliced nodes`, which finds that many devices, and the bare list in turns; the medians of five rounds.
func benchFleet(b *testing.B, kubeconfig string, devices, allocated int, bareList func() (bytes int64)) {
	wanted := fmt.Sprintf("5000 nodes: %d devices, %d allocated, %d free", devices, allocated, devices-allocated)
	var bytes int64
	var bare, took, used []time.Duration
	most := 0.0
	for range 6 {
		began := time.Now()
		bytes = bareList()
		bare = append(bare, time.Since(began))
		command := exec.Command(harness.KubectlPlugin(b), "nodes", "--kubeconfig", kubeconfig)
		began = time.Now()
		var said, complaints strings.Builder
		command.Stdout, command.Stderr = &said, &complaints
		if err := command.Start(); err != nil {
			b.Fatal(err)
		}
		peak := peakMemory(command.Process.Pid)
		err := command.Wait()
		took = append(took, time.Since(began))
		if out := said.String(); err != nil || !strings.Contains(out, wanted) {
			b.Fatalf("%v: %s%s", err, out[max(0, len(out)-200):], complaints.String())
		}
		used = append(used, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
		most = max(most, <-peak)
	}
	bareTime, ourTime := median(bare[1:]), median(took[1:]) // without the round that warms up
	b.ReportMetric(float64(bytes)/(1<<20), "MiB-read")
	b.ReportMetric(ourTime.Seconds(), "s/nodes")
	b.ReportMetric(bareTime.Seconds(), "s/bare-list")
	b.ReportMetric(ourTime.Seconds()/bareTime.Seconds(), "times-bare")
	b.ReportMetric((ourTime - bareTime).Seconds(), "s/beside-it")
	b.ReportMetric(median(used[1:]).Seconds(), "cpu-s/nodes")
	b.ReportMetric(most, "MiB")
	b.ReportMetric(0, "ns/op")
}
