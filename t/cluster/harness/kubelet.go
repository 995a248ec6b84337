package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	api "k8s.io/client-go/tools/clientcmd/api"
)

// KubeletRoot is the directory of a node's kubelet; it outlives the kubelet. Its path is short: those of sockets below it
// must have less than 108 bytes.
type KubeletRoot struct {
	Path string
	lab  *Lab
	runs int
	nri  bool
	// RuntimeWaits is the time that the runtime of the next kubelet allows an NRI plugin for a request.
	RuntimeWaits time.Duration
	// Gates are feature gates of the next kubelet, as NAME=true,...
	Gates string
}

// NewKubeletRoot makes one as a kubelet that has run before leaves it.
func (l *Lab) NewKubeletRoot() *KubeletRoot {
	l.T.Helper()
	path, err := os.MkdirTemp("/tmp", "k")
	if err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(func() { os.RemoveAll(path) })
	if err := os.Mkdir(path+"/plugins_registry", 0o755); err != nil {
		l.T.Fatal(err)
	}
	return &KubeletRoot{Path: path, lab: l}
}

// Flags are those with which the daemon serves that kubelet.
func (k *KubeletRoot) Flags() []string {
	flags := []string{"--kubelet-plugin", "on", "--kubelet-plugins-directory-path", k.Path + "/plugins",
		"--kubelet-registrar-directory-path", k.Path + "/plugins_registry", "--cdi-root", k.Path + "/cdi"}
	if !k.nri {
		return append(flags, "--configuration-mode", "MULTUS")
	}
	return append(flags, "--nri-socket-path", k.Path+"/nri.sock", "--cni-path", k.Path+"/cni")
}

// Service and Registration are the paths of a driver's sockets.
func (k *KubeletRoot) Service(driver string) string {
	return k.Path + "/plugins/" + driver + "/dra.sock"
}
func (k *KubeletRoot) Registration(driver string) string {
	return k.Path + "/plugins_registry/" + driver + "-reg.sock"
}

// Kubelet is a running one (t/cluster/hollowkubelet).
type Kubelet struct {
	*Process
	Started time.Time
}

// Run starts a kubelet; it is killed with the test, and its log is shown if the test failed.
func (k *KubeletRoot) Run() *Kubelet {
	t := k.lab.T
	t.Helper()
	program := binary("SLICED_HOLLOWKUBELET", "../../build/hollowkubelet")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("the hollow kubelet is missing: %v (build it as t/cluster/README.md says)", err)
	}
	k.runs++
	name := "system:node:" + k.lab.Node
	cert, key := k.lab.ClientCertificate(t, User{Name: name, Group: "system:nodes"})
	config := k.lab.Kubeconfig(t, k.lab.Server.URL, &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
	log := filepath.Join(t.TempDir(), fmt.Sprintf("kubelet-%d.log", k.runs))
	started := time.Now()
	flags := []string{"--kubeconfig", config, "--node", k.lab.Node,
		"--root", k.Path, "--created", k.Path + "/created", "--nri", k.socketOfRuntime(),
		"--nri-request-timeout", k.RuntimeWaits.String(), "--v=4"}
	if k.Gates != "" {
		flags = append(flags, "--feature-gates", k.Gates)
	}
	process, err := StartProcess("hollowkubelet", log, program, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Logf("log of the kubelet of %s:\n%s", k.lab.Node, process.LogTail(60))
		}
	})
	return &Kubelet{Process: process, Started: started}
}
