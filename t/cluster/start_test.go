package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sliced.test/cluster/harness"
)

const starts = 20

// BenchmarkStart prints how long it takes from the start of the process until the API server has answered the write that
// publishes the first slice, beside a bare client in a process that runs already: it shakes hands once, lists what the
// daemon has asked for at once, and sends the same bytes.
func BenchmarkStart(b *testing.B) {
	lab := harness.NewLab(b, shared, harness.E810("03", "ens1f0", 8))
	lab.Apply("p", harness.Config("intel", M{"vendors": L{"8086"}}))
	var ours, floors []time.Duration
	for i := range starts + 1 {
		daemon := lab.Run()
		write := firstWrite(b, lab, daemon.Started)
		asked := shared.Server.Audit.Of(b, lab.User, daemon.Started)
		daemon.Kill()
		unpublish(b, write)
		floor := bareStart(b, lab.User, asked, write)
		unpublish(b, write)
		if i > 0 { // the first ones warm up
			ours = append(ours, write.Staged.Sub(daemon.Started))
			floors = append(floors, floor)
		}
	}
	o, f := median(ours), median(floors)
	b.ReportMetric(float64(o.Microseconds())/1000, "start-to-published-ms")
	b.ReportMetric(float64(f.Microseconds())/1000, "bare-client-ms")
	b.ReportMetric(float64(o)/float64(f), "ratio")
	b.ReportMetric(0, "ns/op")
}

func firstWrite(b *testing.B, lab *harness.Lab, since time.Time) harness.Request {
	b.Helper()
	for deadline := since.Add(starting); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, write := range shared.Server.Audit.Writes(b, lab.User, since) {
			if write.Ref.Resource == "resourceslices" && write.Verb == "create" && write.Answer.Code == http.StatusCreated {
				return write
			}
		}
	}
	b.Fatalf("nothing published within %v", starting)
	return harness.Request{}
}

func unpublish(b *testing.B, write harness.Request) {
	b.Helper()
	name := write.Slice(b).Name
	if err := shared.Server.Client.ResourceV1().ResourceSlices().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
}

// bareStart lists over one new connection what was asked for, each scope once, and then sends the write.
func bareStart(b *testing.B, u harness.User, asked []harness.Request, write harness.Request) time.Duration {
	b.Helper()
	config := shared.Server.RESTConfig(u)
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		b.Fatal(err)
	}
	scopes := map[string]bool{}
	for _, r := range asked {
		if r.IsWrite() || r.Received.After(write.Received.Time) {
			continue
		}
		uri, err := url.ParseRequestURI(r.URI)
		if err != nil {
			b.Fatal(err)
		}
		query := url.Values{}
		for _, selector := range []string{"fieldSelector", "labelSelector"} {
			if value := uri.Query().Get(selector); value != "" {
				query.Set(selector, value)
			}
		}
		scopes[uri.Path+"?"+query.Encode()] = true
	}
	body, err := json.Marshal(write.Slice(b))
	if err != nil {
		b.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	call := func(method, uri string, body []byte, wanted int) {
		request, err := http.NewRequest(method, config.Host+uri, bytes.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		request.Header.Set("Authorization", "Bearer "+config.BearerToken)
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			b.Error(err)
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if wanted != 0 && answer.StatusCode != wanted {
			b.Errorf("%s %s: %s", method, uri, answer.Status)
		}
	}
	since := time.Now()
	var lists sync.WaitGroup
	for uri := range scopes {
		lists.Go(func() { call("GET", uri, nil, 0) })
	}
	lists.Wait()
	call("POST", "/apis/resource.k8s.io/v1/resourceslices", body, http.StatusCreated)
	return time.Since(since)
}
