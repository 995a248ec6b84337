package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Webhook is a running `sliced-controller webhook` with a certificate of the plane's authority.
type Webhook struct {
	*Process
	Address string // 127.0.0.1:PORT
	Health  string // likewise, for metrics
	plane   *Plane
	dir     string
}

// CA is the authority of everything on the plane.
func (p *Plane) CA() []byte { return p.cred.caPEM }

// StartWebhook starts it and returns when it answers.
func (p *Plane) StartWebhook(t testing.TB) *Webhook {
	t.Helper()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	health, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	w := &Webhook{plane: p, dir: t.TempDir(), Address: fmt.Sprintf("127.0.0.1:%d", port), Health: fmt.Sprintf("127.0.0.1:%d", health)}
	w.Certify(t, "first")
	w.Restart(t)
	t.Cleanup(func() {
		w.Kill()
		if t.Failed() {
			t.Logf("log of the webhook:\n%s", w.LogTail(60))
		}
	})
	return w
}

// Restart is for one that was killed.
func (w *Webhook) Restart(t testing.TB) {
	t.Helper()
	var err error
	w.Process, err = StartProcess("webhook", filepath.Join(w.dir, "webhook.log"), Controller(t), "webhook", "--webhook-address", w.Address, "--health-address", w.Health,
		"--tls-cert-file", filepath.Join(w.dir, "tls.crt"), "--tls-private-key-file", filepath.Join(w.dir, "tls.key"), "--log-format", "text")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := Limit(); w.Subject() == ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) || w.Exited() {
			t.Fatalf("the webhook does not answer:\n%s", w.LogTail(20))
		}
	}
}

// Certify puts another certificate and key in the place of those that are there, as a mounted Secret does: in one step.
func (w *Webhook) Certify(t testing.TB, name string) {
	t.Helper()
	template := w.plane.cred.template(name)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	cert, key, err := w.plane.cred.issue(template)
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(w.dir, "..data-"+name)
	if err := os.Mkdir(made, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(made, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
		os.Symlink(filepath.Join("..data", file), filepath.Join(w.dir, file)) // there already from the second on
	}
	if err := os.Symlink(filepath.Base(made), filepath.Join(w.dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w.dir, "..data_tmp"), filepath.Join(w.dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// CertificateFiles are those that it reads.
func (w *Webhook) CertificateFiles() (cert, key string) {
	return filepath.Join(w.dir, "tls.crt"), filepath.Join(w.dir, "tls.key")
}

// Dial is a connection that trusts the plane's authority.
func (w *Webhook) Dial() (*tls.Conn, error) {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(w.plane.CA())
	return tls.DialWithDialer(&net.Dialer{Timeout: UntilLimit()}, "tcp", w.Address, &tls.Config{RootCAs: trusted})
}

// Subject is the name in the certificate that a new client sees; "" where there is no server.
func (w *Webhook) Subject() string {
	connection, err := w.Dial()
	if err != nil {
		return ""
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// WebhookRules are what the API server asks of: as the chart has them.
func WebhookRules() []admission.RuleWithOperations {
	rule := func(group, version string, operations []admission.OperationType, resources ...string) admission.RuleWithOperations {
		return admission.RuleWithOperations{Operations: operations,
			Rule: admission.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources}}
	}
	both := []admission.OperationType{admission.Create, admission.Update}
	return []admission.RuleWithOperations{
		rule(Driver, "v1alpha1", both, Policies.Resource, Attributes.Resource),
		rule(Exposures.Group, "v1alpha1", both, Exposures.Resource),
		rule("resource.k8s.io", "v1", both[:1], "resourceclaims", "resourceclaimtemplates"),
		rule("resource.k8s.io", "v1", both, "deviceclasses"),
		rule("k8s.cni.cncf.io", "v1", both, "network-attachment-definitions"),
	}
}

// Ask has the API server ask it of objects with the label judged=NAME, and of no others. Registered is not asked yet: see
// WaitAsked. unanswered is what becomes of an object of which the webhook says nothing.
func (w *Webhook) Ask(t testing.TB, name string, unanswered admission.FailurePolicyType) {
	t.Helper()
	// As long as it may be; where silence admits, a test waits for it.
	seconds := int32(30)
	if unanswered == admission.Ignore {
		seconds = 2
	}
	url, path, none := "https://"+w.Address+"/validate", name+".sliced.test", admission.SideEffectClassNone
	configuration := &admission.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admission.ValidatingWebhook{{
		Name: path, ClientConfig: admission.WebhookClientConfig{URL: &url, CABundle: w.plane.CA()}, Rules: WebhookRules(),
		FailurePolicy: &unanswered, SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"judged": name}}}}}
	all := w.plane.Server.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := all.Create(context.Background(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { all.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// WaitAsked repeats what the webhook refuses until it does so.
func (w *Webhook) WaitAsked(t testing.TB, refused func() error) {
	t.Helper()
	for deadline := Limit(); ; time.Sleep(50 * time.Millisecond) {
		err := refused()
		if err != nil && strings.Contains(err.Error(), "admission webhook") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the webhook is not asked: %v", err)
		}
	}
}

// Unjudged begins the warning about an object that took longer than the webhook takes for one.
const Unjudged = "sliced did not check this object"

// Judged is the answer to a request that the webhook judges: it is repeated where, on a slow machine, the webhook did not answer the API
// server in time or admitted the object without having judged it.
func (w *Webhook) Judged(request func() error) error {
	for deadline := Limit(); ; time.Sleep(50 * time.Millisecond) {
		before := strings.Count(w.Log(), "object admitted without a check")
		err := request()
		again := err != nil && strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), "deadline exceeded") ||
			err == nil && strings.Count(w.Log(), "object admitted without a check") > before
		if !again || time.Now().After(deadline) {
			return err
		}
	}
}
