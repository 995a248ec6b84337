package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sliced.test/cluster/harness"
)

const (
	reviewsASecond = 500
	reviewSeconds  = 4 // of a round
	reviewClients  = 4 // connections that are kept, as those of API servers are
	reviewRounds   = 5 // of each, in turns
)

// reviewed are the bodies that are sent, one after the other: of each kind one that is well and one that is not.
func reviewed(b *testing.B) (bodies [][]byte) {
	claims := schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}
	claim := func(key string) *unstructured.Unstructured {
		return harness.Object(claims, "ResourceClaim", "n", "c", M{"devices": M{"requests": L{M{"name": "a", "exactly": M{"deviceClassName": "sriov"}}},
			"config": L{M{"opaque": M{"driver": harness.Driver, "parameters": M{"apiVersion": harness.Driver + "/v1alpha1", "kind": "VfConfig", key: "net1"}}}}}})
	}
	const selector = `device.attributes["dra.networking"].type == "vf" && device.attributes["dra.networking"].linkSpeed >= 25000`
	for _, object := range []*unstructured.Unstructured{
		harness.Policy("n", "p", harness.Config("intel", harness.PFNames("ens1f0#0-3,7"), M{"vendors": L{"8086"}, "drivers": L{"iavf"}})),
		harness.Policy("n", "p", harness.Config("intel", M{"vendor": L{"8086"}})),
		harness.Exposure("e", M{"selector": M{"cel": selector}, "exposure": M{"supportedCNIPlugins": L{M{"name": "sriov"}}}}),
		harness.Exposure("e", M{"selector": M{"cel": strings.Replace(selector, ">=", "==>", 1)}}),
		claim("ifName"), claim("ifNames"),
	} {
		text, err := json.Marshal(object)
		if err != nil {
			b.Fatal(err)
		}
		bodies = append(bodies, fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"0b1d3c5e-7777-4f4f-8e8e-123456789abc",`+
			`"namespace":"n","operation":"CREATE","userInfo":{"username":"ann"},"object":%s,"oldObject":null}}`, text))
	}
	return bodies
}

// BenchmarkReviews asks at 500 reviews a second, of policies and claims that are well and that are not, and prints the processor
// time of each and the time to its answer; beside it a bare echo of the same bytes over TLS, on libuv and OpenSSL alone.
func BenchmarkReviews(b *testing.B) {
	webhook := shared.StartWebhook(b)
	port, err := harness.FreePort()
	if err != nil {
		b.Fatal(err)
	}
	cert, key := webhook.CertificateFiles()
	echo, err := harness.StartProcess("echo", filepath.Join(b.TempDir(), "echo.log"), "../../build/t/bench_review_floor", fmt.Sprint(port), cert, key)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(echo.Kill)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(shared.CA())
	bodies := reviewed(b)

	round := func(pid int, url string) (each time.Duration, answers []time.Duration) {
		since := processorTime(b, pid)
		var clients sync.WaitGroup
		took := make([][]time.Duration, reviewClients)
		for c := range reviewClients {
			clients.Add(1)
			go func() {
				defer clients.Done()
				client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
				defer client.CloseIdleConnections()
				tick := time.NewTicker(time.Second * reviewClients / reviewsASecond)
				defer tick.Stop()
				for i := range reviewsASecond * reviewSeconds / reviewClients {
					<-tick.C
					from := time.Now()
					response, err := client.Post(url, "application/json", bytes.NewReader(bodies[(i+c)%len(bodies)]))
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
					if response.StatusCode != http.StatusOK {
						b.Errorf("%s: %s", url, response.Status)
					}
					took[c] = append(took[c], time.Since(from))
				}
			}()
		}
		clients.Wait()
		answers = slices.Concat(took...)
		return (processorTime(b, pid) - since) / time.Duration(len(answers)), answers
	}

	var ours, floors, answers, echoes []time.Duration
	for i := range reviewRounds + 1 {
		each, of := round(webhook.PID(), "https://"+webhook.Address+"/validate")
		bare, by := round(echo.PID(), fmt.Sprintf("https://127.0.0.1:%d/", port))
		if i == 0 {
			continue // to warm up
		}
		ours, floors, answers, echoes = append(ours, each), append(floors, bare), append(answers, of...), append(echoes, by...)
	}
	o, f := median(ours), median(floors)
	b.ReportMetric(float64(o.Microseconds()), "cpu-us")
	b.ReportMetric(float64(f.Microseconds()), "floor-cpu-us")
	b.ReportMetric(float64(o)/float64(f), "cpu-ratio")
	b.ReportMetric(100*o.Seconds()*reviewsASecond, "core-percent")
	for name, all := range map[string][]time.Duration{"": answers, "floor-": echoes} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"median-us")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), name+"p99-us")
	}
	b.ReportMetric(0, "ns/op")
}
