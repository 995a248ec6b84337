package harness

import (
	"os"
)

// KubeletRoot is the directory of a node's kubelet; it outlives the kubelet. Its path is short: those of sockets below it
// must have less than 108 bytes.
type KubeletRoot struct {
	Path string
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
	return &KubeletRoot{Path: path}
}

// Flags are those with which the daemon serves that kubelet.
func (k *KubeletRoot) Flags() []string {
	return []string{"--kubelet-plugin", "on", "--kubelet-plugins-directory-path", k.Path + "/plugins",
		"--kubelet-registrar-directory-path", k.Path + "/plugins_registry"}
}

// Service and Registration are the paths of a driver's sockets.
func (k *KubeletRoot) Service(driver string) string {
	return k.Path + "/plugins/" + driver + "/dra.sock"
}
func (k *KubeletRoot) Registration(driver string) string {
	return k.Path + "/plugins_registry/" + driver + "-reg.sock"
}
