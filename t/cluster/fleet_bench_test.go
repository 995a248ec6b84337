package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
			page, err := json.Marshal(harness.M{"kind": "List", "apiVersion": "v1", "items": all,
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
			if fmt.Sscan(rest, &kib); strings.HasPrefix(string(name), "sliced") {
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
	for b.Loop() {
		began := time.Now()
		var bytes int64
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
		bare := time.Since(began)
		command := exec.Command(harness.Program(b), "nodes", "--kubeconfig", kubeconfig)
		began = time.Now()
		var said strings.Builder
		command.Stdout = &said
		if err := command.Start(); err != nil {
			b.Fatal(err)
		}
		peak := peakMemory(command.Process.Pid)
		err := command.Wait()
		took, out := time.Since(began), said.String()
		if err != nil || !strings.Contains(string(out), "5000 nodes: 320000 devices, 5000 allocated, 315000 free") {
			b.Fatalf("%v: %s", err, out[max(0, len(out)-200):])
		}
		used := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		b.ReportMetric(float64(bytes)/(1<<20), "MiB-read")
		b.ReportMetric(took.Seconds(), "s/nodes")
		b.ReportMetric(bare.Seconds(), "s/bare-list")
		b.ReportMetric(took.Seconds()/bare.Seconds(), "times-bare")
		b.ReportMetric(used.Seconds(), "cpu-s/nodes")
		b.ReportMetric(<-peak, "MiB")
	}
}
