package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorization "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

// reconnecting bounds how long a daemon may take to find a server that came back: its longest pause, with
// jitter, twice.
const reconnecting = harness.Patience

// Turns red when the daemon does not live through half a minute without API server, or replays what happened
// meanwhile instead of writing the one difference that is left, or shows a hole on the way.
func TestAPIServerOutage(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{SecondServer: true})
	lab := harness.NewLab(t, plane, pf0, pf1)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	lab.Apply("q", harness.Config("", harness.PFNames("ens2f0")))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2))...)
	// With the consequence of an edit everything is written that the start led to.
	rv := lab.Apply("p", harness.Config("before", harness.PFNames("ens1f0")))
	published := all(lab, rv, promptly, attr+"resourceName", "before", vfs(pf0, 0, 4)...).RV

	plane.Server.Kill(t)
	down := time.Now()
	for i := range 9 { // ends with ens1f0 only, 5 VFs; the daemon sees the host change while nobody answers
		said := daemon.Said("offer changed")
		lab.Host.SetVFs(pf0.Address, 5+i%2)
		lab.Host.Rename(pf1.Address, fmt.Sprintf("ens2f%d", i+1))
		lab.Apply("p", harness.Config(fmt.Sprintf("n%d", i), harness.PFNames("ens1f0")))
		daemon.WaitSaid(promptly, "offer changed", said+1)
	}
	plane.Second.Delete(t, harness.Policies, lab.Namespace, "q")
	time.Sleep(time.Until(down.Add(30 * time.Second)))
	if err := plane.Server.Start(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	state := all(lab, published, reconnecting, attr+"resourceName", "n8", vfs(pf0, 0, 5)...)
	t.Logf("what was edited during the outage was published %v after the server was back", state.At.Sub(back))
	if !state.Offers(vfs(pf0, 0, 5)...) {
		t.Errorf("after the outage %s", state)
	}
	// Whatever was still to be written is written before the next edit's consequence.
	rv = lab.Apply("p", harness.Config("last", harness.PFNames("ens1f0")))
	plane.Server.Audit.AwaitSlices(t, all(lab, rv, promptly, attr+"resourceName", "last", vfs(pf0, 0, 5)...))
	if writes := plane.Server.Audit.Writes(t, lab.User, down); len(writes) != 2 {
		t.Errorf("after the outage these were written, want one difference, and that of the last edit:\n%s", describe(writes))
	}
	lab.History.NeverBelow(t, published, vfs(pf0, 0, 4)...)
}

// Turns red when a 404 that any load balancer may give counts as "the kind is not installed": the pool goes for a moment,
// or what an exclude holds back is offered.
func TestLoadBalancerWithoutServers(t *testing.T) {
	t.Parallel()
	plane := exposingPlane(t)
	lab := harness.NewLab(t, plane, pf0, pf1)
	proxy := plane.NewProxy(t, plane.Server)
	lab.Config = plane.Kubeconfig(t, proxy.URL, &api.AuthInfo{Token: lab.User.Token})
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0", "ens2f0")))
	lab.Expose("none", harness.M{"action": "exclude", "priority": 100, "selector": harness.M{"cel": "device.attributes['dra.networking'].pfName == 'ens2f0'"}})
	lab.Run()
	published := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...).RV
	kinds := []string{harness.Policies.Resource, harness.Exposures.Resource}
	for range 2 {
		before := len(proxy.Lost())
		proxy.Lose()
		waitUntil(t, "two requests are answered with 404 by the load balancer", promptly, func() bool { return len(proxy.Lost()) >= before+2 })
		since := time.Now()
		proxy.Find()
		for _, kind := range kinds {
			waitUntil(t, "the daemon watches "+kind+" again", promptly, func() bool {
				return slices.ContainsFunc(plane.Server.Audit.Of(t, lab.User, since), func(r harness.Request) bool {
					return r.Verb == "watch" && r.Ref.Resource == kind && r.Answer.Code < 300
				})
			})
		}
	}
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#0-1", "ens2f0")))
	lab.History.WaitOffers(t, rv, reconnecting, vfs(pf0, 0, 2)...)
	lab.History.NeverBelow(t, published, vfs(pf0, 0, 2)...)
	for _, name := range vfs(pf1, 0, 2) {
		lab.History.NeverOffered(t, published, name)
	}
}

// Turns red when a server that accepts requests and does not answer (stopped, swapping, behind a dead proxy)
// wedges the daemon, keeps it from following its host, or gets every request again and again once it wakes
// up.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{SecondServer: true})
	lab := harness.NewLab(t, plane, pf0)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	published := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...).RV
	plane.Server.Pause()
	paused := time.Now()
	for i := range 10 {
		said := daemon.Said("offer changed")
		lab.Host.SetVFs(pf0.Address, 2+i%2)
		daemon.WaitSaid(promptly, "offer changed", said+1)
	}
	time.Sleep(time.Until(paused.Add(20 * time.Second))) // so long that requests are given up
	plane.Server.Resume()
	lab.History.WaitOffers(t, published, reconnecting, vfs(pf0, 0, 3)...)
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#1")))
	lab.History.WaitOffers(t, rv, reconnecting, vfs(pf0, 1, 2)...)
	if writes := plane.Server.Audit.Writes(t, lab.User, paused); len(writes) > 5 {
		t.Errorf("these were written:\n%s", describe(writes))
	}
	lab.History.NeverEmpty(t, published)
}

// Turns red when a watch that cannot be resumed (its history was compacted away) leaves the daemon with what
// it knew.
func TestCompaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	plane := harness.NewPlane(t, harness.Options{SecondServer: true})
	lab := harness.NewLab(t, plane, pf0, pf1)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0", "ens2f0")))
	lab.Apply("q", harness.Config("", harness.PFNames("ens2f0")))
	lab.Run()
	published := lab.History.WaitOffers(t, 0, starting, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2))...).RV

	plane.Server.Kill(t)
	plane.Second.Delete(t, harness.Policies, lab.Namespace, "q") // only a list can tell of this deletion
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0#1-3")))
	plane.Compact(t)
	if err := plane.Server.Start(); err != nil {
		t.Fatal(err)
	}
	old, err := plane.Server.Dynamic.Resource(harness.Policies).Namespace(lab.Namespace).Watch(ctx,
		metav1.ListOptions{ResourceVersion: fmt.Sprint(published)})
	if err == nil {
		event := <-old.ResultChan()
		err = apierrors.FromObject(event.Object)
		old.Stop()
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Fatalf("the old revision can still be watched (%v): the provocation does not provoke", err)
	}
	lab.History.WaitOffers(t, published, reconnecting, vfs(pf0, 1, 4)...)
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens2f0"))) // the new watch is alive
	lab.History.WaitOffers(t, rv, promptly, vfs(pf1, 0, 2)...)
	lab.History.NeverEmpty(t, published)
}

// newAccountLab is a lab whose daemon is a ServiceAccount.
func newAccountLab(t *testing.T) (*harness.Lab, *core.ServiceAccount) {
	t.Helper()
	lab := harness.NewLab(t, shared, pf0, pf1)
	account, err := shared.Server.Client.CoreV1().ServiceAccounts(lab.Namespace).Create(context.Background(),
		&core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sliced"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lab.User = harness.User{Name: "system:serviceaccount:" + lab.Namespace + ":sliced"}
	shared.Server.Bind(t, lab.Namespace, "sliced-policies", lab.User)
	shared.Server.Bind(t, "", "sliced", lab.User)
	return lab, account
}

// Turns red when the daemon goes on using a token that has expired although the file has a new one.
func TestTokenExpiryAndRotation(t *testing.T) {
	t.Parallel()
	lab, account := newAccountLab(t)
	file := filepath.Join(t.TempDir(), "token")
	rotate := func(token string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	bound := tokenSecret(t, lab)
	first := shared.ServiceAccountToken(t, account, lab.Node+"-first", bound)
	rotate(first)
	lab.Config = shared.Kubeconfig(t, shared.Server.URL, &api.AuthInfo{TokenFile: file})
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)

	invalidate(t, bound, first)
	lab.Apply("p", harness.Config("", harness.PFNames("ens2f0"))) // its write meets a 401, and no better token is there yet
	refused := func(r harness.Request) bool {
		for name := range state.Slices {
			if r.Verb == "update" && r.Answer.Code == http.StatusUnauthorized && strings.Contains(r.URI, "/resourceslices/"+name) {
				return true
			}
		}
		return false
	}
	for deadline := harness.Limit(); len(shared.Server.Audit.Requests(t, refused)) == 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was tried to be written with the token that has expired")
		}
	}
	if now := lab.History.Now(); now.RV != state.RV {
		t.Fatalf("written with an expired token: %s", now)
	}
	rotated := shared.Server.Revision(t)
	rotate(shared.ServiceAccountToken(t, account, lab.Node+"-second", nil))
	lab.History.WaitOffers(t, rotated, reconnecting, vfs(pf1, 0, 2)...)
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...)
	lab.History.NeverEmpty(t, state.RV)
}

// tokenSecret is what tokens are bound to, whose end does not come by the clock: they are valid while it exists.
func tokenSecret(t *testing.T, lab *harness.Lab) *core.Secret {
	t.Helper()
	secret, err := shared.Server.Client.CoreV1().Secrets(lab.Namespace).Create(context.Background(),
		&core.Secret{ObjectMeta: metav1.ObjectMeta{Name: "binds-a-token"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// invalidate returns when the server refuses the token that is bound to the secret.
func invalidate(t *testing.T, secret *core.Secret, token string) {
	t.Helper()
	ctx := context.Background()
	if err := shared.Server.Client.CoreV1().Secrets(secret.Namespace).Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	probe := kubernetes.NewForConfigOrDie(shared.Server.RESTConfig(harness.User{Token: token}))
	waitUntil(t, "the server refuses the token", promptly, func() bool {
		_, err := probe.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{Limit: 1})
		return apierrors.IsUnauthorized(err)
	})
}

// Turns red when a token that is replaced in time, as the kubelet does, is not taken up: nothing may fail at
// all.
func TestTokenReplacedInTime(t *testing.T) {
	t.Parallel()
	lab, account := newAccountLab(t)
	dir := t.TempDir()
	publish := func(version, token string) { // as a projected volume does: a link to a folder is swapped
		t.Helper()
		os.Mkdir(filepath.Join(dir, version), 0o700)
		if err := os.WriteFile(filepath.Join(dir, version, "token"), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Symlink(version, filepath.Join(dir, "new"))
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	bound := tokenSecret(t, lab)
	first, second := shared.ServiceAccountToken(t, account, lab.Node+"-first", bound), lab.Node+"-second"
	publish("1", first)
	os.Symlink("..data/token", filepath.Join(dir, "token"))
	lab.Config = shared.Kubeconfig(t, shared.Server.URL, &api.AuthInfo{TokenFile: filepath.Join(dir, "token")})
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	publish("2", shared.ServiceAccountToken(t, account, second, nil))
	edits := 0
	waitUntil(t, "a write with the second token", promptly, func() bool {
		edits++
		name := fmt.Sprintf("n%d", edits)
		all(lab, lab.Apply("p", harness.Config(name, harness.PFNames("ens1f0"))), promptly, attr+"resourceName", name, vfs(pf0, 0, 4)...)
		time.Sleep(time.Second) // the daemon reads the file once a minute
		return len(shared.Server.Audit.Requests(t, func(r harness.Request) bool { return r.IsWrite() && r.UsedToken(second) })) > 0
	})
	invalidate(t, bound, first)
	rv := lab.Apply("p", harness.Config("", harness.PFNames("ens2f0")))
	lab.History.WaitOffers(t, rv, promptly, vfs(pf1, 0, 2)...)
	refused := shared.Server.Audit.Requests(t, func(r harness.Request) bool {
		return r.Answer.Code == 401 && r.Received.After(daemon.Started) && strings.Contains(r.URI, lab.Node)
	})
	if len(refused) > 1 {
		t.Errorf("requests with the old token:\n%s", describe(refused))
	}
}

// Turns red when one of the ways to authenticate does not work.
func TestCredentials(t *testing.T) {
	t.Parallel()
	forms := map[string]func(*testing.T, *harness.Lab) *api.AuthInfo{
		"client certificate data": func(t *testing.T, lab *harness.Lab) *api.AuthInfo {
			cert, key := shared.ClientCertificate(t, lab.User)
			return &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
		},
		"client certificate files": func(t *testing.T, lab *harness.Lab) *api.AuthInfo {
			cert, key := shared.ClientCertificate(t, lab.User)
			dir := t.TempDir()
			os.WriteFile(dir+"/cert", cert, 0o600)
			os.WriteFile(dir+"/key", key, 0o600)
			return &api.AuthInfo{ClientCertificate: dir + "/cert", ClientKey: dir + "/key"}
		},
		"exec plugin": func(t *testing.T, lab *harness.Lab) *api.AuthInfo {
			credential := `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",` +
				`"status":{"token":"` + lab.User.Token + `"}}`
			print := "echo " + base64.StdEncoding.EncodeToString([]byte(credential)) + " | base64 -d"
			return &api.AuthInfo{Exec: &api.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1",
				Args:            []string{"-c", `test -n "$KUBERNETES_EXEC_INFO" && ` + print},
				InteractiveMode: api.NeverExecInteractiveMode}}
		},
	}
	for form, auth := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			lab := harness.NewLab(t, shared, pf0)
			lab.Config = shared.Kubeconfig(t, shared.Server.URL, auth(t, lab))
			lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
			lab.Run()
			lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
		})
	}
}

// permitted waits until the API server's authorizer has taken a change of bindings in.
func permitted(t *testing.T, u harness.User, want bool) {
	t.Helper()
	client, err := kubernetes.NewForConfig(rest.CopyConfig(shared.Server.RESTConfig(u)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := harness.Limit(); ; time.Sleep(50 * time.Millisecond) {
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(context.Background(),
			&authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorization.ResourceAttributes{
					Group: "resource.k8s.io", Resource: "resourceslices", Verb: "update"}}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Status.Allowed == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("update of slices is allowed: %v", answer.Status.Allowed)
		}
	}
}

func mayListPolicies(t *testing.T, lab *harness.Lab) bool {
	t.Helper()
	client, err := kubernetes.NewForConfig(rest.CopyConfig(shared.Server.RESTConfig(lab.User)))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(context.Background(),
		&authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorization.ResourceAttributes{Namespace: lab.Namespace,
				Group: harness.Policies.Group, Resource: harness.Policies.Resource, Verb: "list"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// Turns red when permissions that are taken away end the daemon, make it loop, go unsaid, or are not noticed
// when they come back.
func TestPermissionsRemovedAndRestored(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	state := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	shared.Server.Unbind(t, "sliced", lab.User)
	permitted(t, lab.User, false)
	refused := time.Now()
	lab.Apply("p", harness.Config("", harness.PFNames("ens2f0")))
	// How soon it tries again is judged where time is stepped (t/unit/publishers/publisher_test.cpp).
	waitUntil(t, "three writes have been refused", promptly, func() bool {
		writes := slices.DeleteFunc(shared.Server.Audit.Writes(t, lab.User, refused), func(r harness.Request) bool { return r.Answer.Code != 403 })
		return len(writes) >= 3
	})
	if now := lab.History.Now(); now.RV != state.RV {
		t.Fatalf("somebody wrote: %s", now)
	}
	daemon.WaitLog(promptly, `cannot update resource \"resourceslices\"`) // as the server put it
	before := shared.Server.Revision(t)
	shared.Server.Bind(t, "", "sliced", lab.User)
	permitted(t, lab.User, true)
	lab.History.WaitOffers(t, before, reconnecting, vfs(pf1, 0, 2)...)
	lab.History.NeverEmpty(t, state.RV)
}

// Turns red when a daemon that may not read policies yet takes that for "there are none" and empties the
// pool.
func TestNoPermissionAtStartPublishesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lab := harness.NewLab(t, shared, pf0, pf1)
	lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	published := lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...).RV
	daemon.Kill()
	bindings := shared.Server.Client.RbacV1().RoleBindings(lab.Namespace)
	if err := bindings.Delete(ctx, harness.BindingName("sliced-policies", lab.User), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.Apply("p", harness.Config("", harness.PFNames("ens2f0")))
	waitUntil(t, "the authorizer refuses to list policies", promptly, func() bool { return !mayListPolicies(t, lab) })
	daemon = lab.Run()
	// The third attempt comes seconds after the first refusal, of which a daemon that takes it for "there are none" writes at once.
	waitUntil(t, "the daemon has been refused the policies three times", promptly, func() bool {
		refused := 0
		for _, r := range shared.Server.Audit.Of(t, lab.User, daemon.Started) {
			if r.Ref.Resource == "sriovresourcepolicies" && r.Answer.Code == 403 {
				refused++
			}
		}
		return refused >= 3
	})
	if now := lab.History.Now(); now.RV != published {
		t.Fatalf("the daemon wrote without having read the policies: %s", now)
	}
	daemon.WaitLog(promptly, `resource \"sriovresourcepolicies\"`, "403")
	before := shared.Server.Revision(t)
	shared.Server.Bind(t, lab.Namespace, "sliced-policies", lab.User)
	lab.History.WaitOffers(t, before, reconnecting, vfs(pf1, 0, 2)...)
	lab.History.NeverEmpty(t, published)
}

// Turns red when a CRD that is missing or goes away ends the daemon, keeps it from saying "no devices", or is
// not found when it is installed (again).
func TestCRDsDeletedAndReinstalled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	plane := harness.NewPlane(t, harness.Options{NoCRDs: true})
	lab := harness.NewLab(t, plane, pf0)
	lab.Run()
	lab.History.WaitOffers(t, 0, starting) // confirmed absent means none
	crds, err := harness.ProjectCRDs()
	if err != nil {
		t.Fatal(err)
	}
	install := func() {
		t.Helper()
		if err := plane.Server.InstallCRDs(crds); err != nil {
			t.Fatal(err)
		}
		rv := lab.Apply("p", harness.Config("", harness.PFNames("ens1f0")))
		lab.History.WaitOffers(t, rv, reconnecting, vfs(pf0, 0, 4)...)
	}
	install()
	before := plane.Server.Revision(t)
	for _, crd := range crds {
		if err := plane.Server.Dynamic.Resource(harness.CRDs).Delete(ctx, crd.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lab.History.WaitOffers(t, before, harness.Patience) // its policies went with it
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		left, err := plane.Server.Dynamic.Resource(harness.CRDs).List(ctx, metav1.ListOptions{})
		if err == nil && len(left.Items) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the CRDs are still there: %v", err)
		}
	}
	install()
}

// Turns red when the daemon needs an ability that a server without it does not have: one that
// behaves as 1.35 or before, without streaming lists.
func TestOlderServer(t *testing.T) {
	t.Parallel()
	plane := harness.NewPlane(t, harness.Options{
		Flags: []string{olderRelease(t), "--feature-gates=WatchList=false"}})
	lab := harness.NewLab(t, plane, pf0, pf1)
	lab.Apply("p", harness.Config("intel", harness.PFNames("ens1f0")))
	daemon := lab.Run()
	lab.History.WaitOffers(t, 0, starting, vfs(pf0, 0, 4)...)
	rv := lab.Apply("p", harness.Config("intel", harness.PFNames("ens1f0", "ens2f0")))
	lab.History.WaitOffers(t, rv, promptly, join(vfs(pf0, 0, 4), vfs(pf1, 0, 2))...)
	rv = plane.Server.Delete(t, harness.Policies, lab.Namespace, "p")
	lab.History.WaitOffers(t, rv, promptly)
	// A write too many after the third change comes before the consequence of the fourth.
	rv = lab.Apply("p", harness.Config("intel", harness.PFNames("ens1f0")))
	plane.Server.Audit.AwaitSlices(t, lab.History.WaitOffers(t, rv, promptly, vfs(pf0, 0, 4)...))
	if writes := plane.Server.Audit.Writes(t, lab.User, daemon.Started); len(writes) != 4 {
		t.Errorf("four changes wrote:\n%s", describe(writes))
	}
	lists := 0
	for _, r := range plane.Server.Audit.Of(t, lab.User, daemon.Started) {
		if r.Verb == "list" && r.Answer.Code == 200 {
			lists++
		}
	}
	if lists == 0 {
		t.Error("no list was made: the server streams after all, and the test shows nothing")
	}
}
