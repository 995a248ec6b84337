package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sliced.test/cluster/harness"
)

const edits = 30 // of each kind

// BenchmarkPolicyEdit prints, by the API server's own clock, how long it takes from the receipt of a policy
// edit until the last slice write that follows from it is answered, for edits that narrow and edits that
// widen by 128 VFs. Beside it runs the floor: a client that does nothing but watch the policy and send the
// very same requests the daemon had sent.
func BenchmarkPolicyEdit(b *testing.B) {
	big := func(bus, name string) harness.PF {
		pf := harness.E810(bus, name, 128)
		pf.TotalVFs = 128
		return pf
	}
	one, two := big("03", "ens1f0"), big("04", "ens2f0")
	wide := harness.Config("intel", harness.PFNames("ens1f0", "ens2f0"))
	narrow := harness.Config("intel", harness.PFNames("ens1f0"))
	lab := harness.NewLab(b, shared, one, two)
	lab.Apply("p", wide)
	daemon := lab.Run()
	wideNames, narrowNames := join(vfs(one, 0, 128), vfs(two, 0, 128)), vfs(one, 0, 128)
	lab.History.WaitOffers(b, 0, starting, wideNames...)

	var script map[string][]harness.Request // the daemon's writes for the last edit of each kind
	round := func(u harness.User) map[string][]time.Duration {
		took := map[string][]time.Duration{}
		script = map[string][]harness.Request{}
		for range edits {
			for _, kind := range []string{"narrow", "widen"} {
				config, names := wide, wideNames
				if kind == "narrow" {
					config, names = narrow, narrowNames
				}
				since := time.Now()
				lab.History.WaitOffers(b, lab.Apply("p", config), 10*time.Second, names...)
				time.Sleep(100 * time.Millisecond)
				edit := shared.Server.Audit.Requests(b, func(r harness.Request) bool {
					return r.Ref.Resource == "sriovresourcepolicies" && r.Verb == "update" && r.Ref.Name == "p" &&
						r.Received.After(since) && r.Stage == "ResponseComplete" && r.User.Username == "test-admin"
				})
				writes := shared.Server.Audit.Writes(b, u, since)
				if len(edit) != 1 || len(writes) == 0 {
					b.Fatalf("%d edits, %d writes", len(edit), len(writes))
				}
				took[kind] = append(took[kind], writes[len(writes)-1].Staged.Sub(edit[0].Received.Time))
				script[kind] = writes
			}
		}
		return took
	}
	ours := round(lab.User)
	daemon.Kill()

	floorUser := shared.NewUser()
	shared.Server.Bind(b, "", "sliced", floorUser)
	shared.Server.Bind(b, lab.Namespace, "sliced-policies", floorUser)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	floor(b, ctx, lab, floorUser, script)
	floors := round(floorUser)
	for _, kind := range []string{"narrow", "widen"} {
		o, f := median(ours[kind]), median(floors[kind])
		b.ReportMetric(float64(o.Microseconds())/1000, kind+"-ms")
		b.ReportMetric(float64(f.Microseconds())/1000, kind+"-floor-ms")
		b.ReportMetric(float64(o)/float64(f), kind+"-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// floor replays requests as soon as a watch event of the policy is there, unconditionally: bodies are made
// beforehand.
func floor(b *testing.B, ctx context.Context, lab *harness.Lab, u harness.User, script map[string][]harness.Request) {
	b.Helper()
	type step struct {
		verb, name string
		body       []byte
	}
	steps := map[string][]step{}
	for kind, writes := range script {
		for _, w := range writes {
			s := step{verb: w.Verb, name: w.Ref.Name}
			if w.Verb != "delete" {
				slice := w.Slice(b)
				s.name, slice.ResourceVersion, slice.UID = slice.Name, "", ""
				s.body, _ = json.Marshal(slice)
			}
			steps[kind] = append(steps[kind], s)
		}
	}
	client := kubernetes.NewForConfigOrDie(shared.Server.RESTConfig(u)).ResourceV1().RESTClient()
	watch, err := shared.Server.Dynamic.Resource(harness.Policies).Namespace(lab.Namespace).Watch(ctx, metav1.ListOptions{
		ResourceVersion: fmt.Sprint(shared.Server.Revision(b))})
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		kinds := []string{"narrow", "widen"}
		for i := 0; ; i++ {
			if _, more := <-watch.ResultChan(); !more {
				return
			}
			for _, s := range steps[kinds[i%2]] {
				request := client.Put().Name(s.name)
				switch s.verb {
				case "create":
					request = client.Post()
				case "delete":
					request = client.Delete().Name(s.name)
				}
				if s.body != nil {
					request = request.Body(s.body).SetHeader("Content-Type", "application/json")
				}
				if err := request.Resource("resourceslices").Do(ctx).Error(); err != nil && ctx.Err() == nil {
					b.Errorf("%s %s: %v", s.verb, s.name, err)
				}
			}
		}
	}()
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
