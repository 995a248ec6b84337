// Package harness runs a real Kubernetes control plane, a fabricated host and the daemon under test, and
// keeps the two records that tests judge by: the API server's audit log and the history of what a consumer of
// slices saw.
package harness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	core "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// Options choose what beside etcd and one API server is started, and how old the server pretends to be.
type Options struct {
	Scheduler         bool
	ControllerManager bool
	SecondServer      bool     // a second API server on the same etcd, for what must go on while the first is down
	Flags             []string // for the API server: --emulated-version, --feature-gates
	Everywhere        []string // for the API server, the scheduler and the controllers: the same flags
	Controllers       []string // beside those that every plane has
	NoCRDs            bool
}

// Plane is one control plane. Test code uses Server (or Second), the daemon always talks to Server.
type Plane struct {
	Server *APIServer
	Second *APIServer // nil without Options.SecondServer
	dir    string
	cred   *credentials
	etcd   *Process
	etcdAt string
	others []*component
	users  []User
	next   atomic.Int64 // users handed out
	mu     sync.Mutex
	again  []string // guarded by mu: components that were started again
}

const daemonUsers = 200

// A refused pod is tried again a second after something was freed, and not up to ten: scenarios wait for it. (Beside a
// file the flags for kubeconfig and leader election do not count.)
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 500, burst: 1000}
leaderElection: {leaderElect: false}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 1
`

var (
	adminUser     = newUser("test-admin", "system:masters")
	schedulerUser = newUser("system:kube-scheduler", "")
	managerUser   = newUser("system:kube-controller-manager", "system:masters")
)

// Path finds a file of the repository: relative to t/cluster, wherever the test was started from.
func Path(relative string) string {
	if filepath.IsAbs(relative) {
		return relative
	}
	_, self, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(self) { // built with -trimpath: tests run in their package's directory
		return relative
	}
	return filepath.Join(filepath.Dir(self), "..", relative)
}

func binary(env, fallback string) string {
	path := os.Getenv(env)
	if path == "" {
		path = Path(fallback)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return absolute
}

// NewPlane starts a control plane of the test's own and stops it with the test.
func NewPlane(t testing.TB, o Options) *Plane {
	t.Helper()
	plane, err := StartPlane(o)
	if err != nil {
		t.Fatalf("control plane: %v", err)
	}
	t.Cleanup(func() { plane.Stop(t.Failed()) })
	return plane
}

// StartPlane starts everything and returns when pods can be scheduled.
func StartPlane(o Options) (*Plane, error) {
	program := binary("SLICED_CONTROLPLANE", "../../build/controlplane")
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%w: build it as t/cluster/README.md says", err)
	}
	dir, err := os.MkdirTemp(memory(4<<30), "sliced-cluster-")
	if err != nil {
		return nil, err
	}
	cred, err := newCredentials(dir)
	if err != nil {
		return nil, err
	}
	p := &Plane{dir: dir, cred: cred}
	if err := p.start(program, o); err != nil {
		p.Stop(true)
		return nil, err
	}
	return p, nil
}

func (p *Plane) start(program string, o Options) error {
	p.users = make([]User, daemonUsers)
	tokens := adminUser.tokenFileLine() + schedulerUser.tokenFileLine() + managerUser.tokenFileLine()
	for i := range p.users {
		p.users[i] = newUser(fmt.Sprintf("sliced-%02d", i), "")
		tokens += p.users[i].tokenFileLine()
	}
	for name, text := range map[string]string{"tokens.csv": tokens, "audit.yaml": auditPolicy} {
		if err := os.WriteFile(p.file(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := p.startEtcd(program); err != nil {
		return err
	}
	var err error
	flags := slices.Concat(o.Flags, o.Everywhere)
	if p.Server, err = p.newServer(program, "apiserver", flags); err != nil {
		return err
	}
	if err := p.Server.Start(); err != nil {
		return err
	}
	if o.SecondServer {
		if p.Second, err = p.newServer(program, "apiserver2", flags); err != nil {
			return err
		}
		if err := p.Second.Start(); err != nil {
			return err
		}
	}
	if o.Scheduler {
		config := p.file("scheduler.yaml")
		text := fmt.Sprintf(schedulerConfig, p.file("scheduler.kubeconfig"))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return err
		}
		if err := p.startOther(program, "scheduler", schedulerUser, append([]string{"--config=" + config}, o.Everywhere...)...); err != nil {
			return err
		}
	}
	if o.ControllerManager {
		controllers := "--controllers=resourceclaim-controller,garbage-collector-controller,namespace-controller," +
			"serviceaccount-controller,pod-garbage-collector-controller,deployment-controller,replicaset-controller"
		controllers = strings.Join(append([]string{controllers}, o.Controllers...), ",")
		if err := p.startOther(program, "controller-manager", managerUser, append([]string{controllers}, o.Everywhere...)...); err != nil {
			return err
		}
	}
	return p.furnish(!o.NoCRDs)
}

func (p *Plane) file(name string) string { return filepath.Join(p.dir, name) }

func (p *Plane) startEtcd(program string) error {
	client, err := FreePort()
	if err != nil {
		return err
	}
	peer, err := FreePort()
	if err != nil {
		return err
	}
	p.etcdAt = fmt.Sprintf("http://127.0.0.1:%d", client)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	p.etcd, err = StartProcess("etcd", p.file("etcd.log"), program, "etcd", "--data-dir="+p.file("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+p.etcdAt, "--advertise-client-urls="+p.etcdAt, "--listen-peer-urls="+peerURL,
		"--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL, "--log-level=warn")
	return err
}

func (p *Plane) startOther(program, name string, u User, extra ...string) error {
	config := p.file(name + ".kubeconfig")
	if err := p.cred.kubeconfig(config, p.Server.URL, &api.AuthInfo{Token: u.Token}); err != nil {
		return err
	}
	args := append([]string{name, "--kubeconfig=" + config, "--leader-elect=false", "--secure-port=0"}, extra...)
	c := &component{plane: p, name: name, program: program, args: args}
	err := c.start()
	if err == nil {
		p.others = append(p.others, c)
	}
	return err
}

// RestartOthers kills the scheduler and the controllers and starts them again. It does not wait until they are ready.
func (p *Plane) RestartOthers(t testing.TB) {
	t.Helper()
	for _, c := range p.others {
		c.stop()
		if err := c.start(); err != nil {
			t.Fatal(err)
		}
	}
}

// PauseEtcd makes etcd hang: connections stay, nothing is answered. ResumeEtcd ends that.
func (p *Plane) PauseEtcd()  { p.etcd.Signal(syscall.SIGSTOP) }
func (p *Plane) ResumeEtcd() { p.etcd.Signal(syscall.SIGCONT) }

// Compact makes etcd forget all history before now: a watch from an older resourceVersion then ends in 410.
func (p *Plane) Compact(t testing.TB) {
	t.Helper()
	if err := p.TryCompact(); err != nil {
		t.Fatal(err)
	}
}

// TryCompact is Compact for other goroutines than the test's.
func (p *Plane) TryCompact() error {
	ctx, cancel := context.WithDeadline(context.Background(), Limit())
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{p.etcdAt}, DialTimeout: UntilLimit()})
	if err != nil {
		return err
	}
	defer client.Close()
	now, err := client.Get(ctx, "any", clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	_, err = client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	return err
}

// Stop ends all processes and removes the files; after a failure they stay if SLICED_KEEP is set.
func (p *Plane) Stop(failed bool) {
	for _, c := range p.others {
		c.stop()
	}
	var all []*Process
	for _, s := range []*APIServer{p.Server, p.Second} {
		if s != nil && s.process != nil {
			all = append(all, s.process)
		}
	}
	if p.etcd != nil {
		all = append(all, p.etcd)
	}
	for _, process := range all {
		process.Kill()
	}
	if failed && os.Getenv("SLICED_KEEP") != "" {
		fmt.Fprintln(os.Stderr, "files of a control plane are kept in", p.dir)
		return
	}
	os.RemoveAll(p.dir)
}

// NewUser hands out a user that nobody else of this plane has, so that its requests can be counted.
func (p *Plane) NewUser() User { return p.users[p.next.Add(1)-1] }

// ServiceAccountToken signs a token for an existing service account. It is valid while the secret exists; without one, for longer
// than any test. Audit events name the token by its id (Request.UsedToken).
func (p *Plane) ServiceAccountToken(t testing.TB, account *core.ServiceAccount, id string, secret *core.Secret) string {
	t.Helper()
	var bound map[string]any
	if secret != nil {
		bound = map[string]any{"secret": map[string]any{"name": secret.Name, "uid": string(secret.UID)}}
	}
	token, err := p.cred.serviceAccountToken(account.Namespace, account.Name, string(account.UID), id, bound)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Kubeconfig writes a kubeconfig for server (usually p.Server.URL) and returns its path.
func (p *Plane) Kubeconfig(t testing.TB, server string, auth *api.AuthInfo) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := p.cred.kubeconfig(path, server, auth); err != nil {
		t.Fatal(err)
	}
	return path
}

// ClientCertificate issues a certificate that the API server takes for u.
func (p *Plane) ClientCertificate(t testing.TB, u User) (certPEM, keyPEM []byte) {
	t.Helper()
	cert, key, err := p.cred.issue(p.cred.template(u.Name, u.Group))
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// APIServer is one kube-apiserver at a fixed address; it can be killed and started again.
type APIServer struct {
	URL     string
	Audit   *Audit
	Client  *kubernetes.Clientset // as the administrator
	Dynamic *dynamic.DynamicClient
	name    string
	program string
	args    []string
	plane   *Plane
	process *Process
}

func (p *Plane) newServer(program, name string, flags []string) (*APIServer, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	s := &APIServer{URL: fmt.Sprintf("https://127.0.0.1:%d", port), name: name, program: program, plane: p}
	s.Audit = &Audit{path: p.file(name + "-audit.log")}
	s.args = append([]string{"apiserver",
		"--etcd-servers=" + p.etcdAt, "--service-cluster-ip-range=10.0.0.0/24",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + p.file("server.crt"), "--tls-private-key-file=" + p.file("server.key"),
		"--client-ca-file=" + p.file("ca.crt"), "--token-auth-file=" + p.file("tokens.csv"),
		"--service-account-issuer=" + issuer, "--service-account-key-file=" + p.file("sa.key"),
		"--service-account-signing-key-file=" + p.file("sa.key"),
		"--authorization-mode=Node,RBAC", "--disable-admission-plugins=ServiceAccount",
		"--audit-policy-file=" + p.file("audit.yaml"), "--audit-log-path=" + p.file(name+"-audit.log"),
		"--audit-log-maxsize=1000000", // MB; by default a new file is begun after 100
	}, flags...)
	config := p.cred.restConfig(s.URL, adminUser)
	if s.Client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	s.Dynamic, err = dynamic.NewForConfig(config)
	return s, err
}

// AdminKubeconfig is a kubeconfig of the administrator, for commands that name no namespace but mean this one.
func (s *APIServer) AdminKubeconfig(t testing.TB, namespace string) string {
	t.Helper()
	path := s.plane.Kubeconfig(t, s.URL, &api.AuthInfo{Token: adminUser.Token})
	config, err := clientcmd.LoadFromFile(path)
	if err == nil {
		config.Contexts[config.CurrentContext].Namespace = namespace
		err = clientcmd.WriteToFile(*config, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// RESTConfig is for clients of another identity than the administrator.
func (s *APIServer) RESTConfig(u User) *rest.Config { return s.plane.cred.restConfig(s.URL, u) }

// Start returns when the server is ready. The one before it must have ended, or that one would answer the
// probe.
func (s *APIServer) Start() error {
	if err := s.startProcess(); err != nil {
		return err
	}
	transport, err := rest.TransportFor(s.plane.cred.restConfig(s.URL, adminUser))
	if err != nil {
		return err
	}
	probe := http.Client{Transport: transport, Timeout: 30 * time.Second} // then it asks again
	for deadline := Limit(); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if s.process.Exited() {
			if err := s.plane.endedByLimit(s.process); err != nil {
				return err
			}
			if err := s.startProcess(); err != nil {
				return err
			}
		}
		answer, err := probe.Get(s.URL + "/readyz")
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("%s is not ready at the limit of the test program:\n%s", s.name, s.process.LogTail(20))
}

func (s *APIServer) startProcess() (err error) {
	s.process, err = StartProcess(s.name, s.plane.file(s.name+".log"), s.program, s.args...)
	return err
}

// Kill ends the server as a power cut would: no drain, connections reset, the port refuses.
func (s *APIServer) Kill(t testing.TB) {
	t.Helper()
	if err := s.TryKill(); err != nil {
		t.Fatal(err)
	}
}

// TryKill is Kill for other goroutines than the test's.
func (s *APIServer) TryKill() error {
	s.process.Kill()
	address := s.URL[len("https://"):]
	if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		c.Close()
		return fmt.Errorf("somebody still listens on %s", address)
	}
	return nil
}

// Pause makes the server hang: connections stay, nothing is answered. Resume ends that.
func (s *APIServer) Pause()  { s.process.Signal(syscall.SIGSTOP) }
func (s *APIServer) Resume() { s.process.Signal(syscall.SIGCONT) }

// AdminConfig is for clients of the administrator.
func (s *APIServer) AdminConfig() *rest.Config { return s.plane.cred.restConfig(s.URL, adminUser) }

// LoaderConfig is for a client that makes thousands of objects at once: what it does is not in the audit log.
func (s *APIServer) LoaderConfig() *rest.Config { return s.plane.cred.restConfig(s.URL, managerUser) }
