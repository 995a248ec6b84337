package guest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"sliced.test/cluster/harness"
)

type (
	M = map[string]any
	L = []any
)

// programs are what the node runs, beside what the lab's image has.
var programs = map[string]string{
	"kubelet": "opt/bin", "containerd": "opt/bin", "containerd-shim-runc-v2": "opt/bin", "ctr": "opt/bin", "runc": "opt/bin",
	"host-device": "opt/cni/bin", "macvlan": "opt/cni/bin", "static": "opt/cni/bin", "tuning": "opt/cni/bin",
}

// makeDisk makes the file system that outlives the guest: programs, their configuration (node/) and the one image.
func makeDisk(path string) error {
	root, err := os.MkdirTemp(filepath.Dir(path), "root-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if err := os.CopyFS(root, os.DirFS("node")); err != nil {
		return err
	}
	for name, to := range programs {
		from := harness.Path("../../build/guest/" + name)
		if out, err := exec.Command("install", "-D", from, filepath.Join(root, to, name)).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s (./dev guest builds it)", err, out)
		}
	}
	if *given != "" {
		if err := os.CopyFS(filepath.Join(root, "opt/cni/bin"), os.DirFS(*given)); err != nil {
			return err
		}
	}
	image, err := toolbox()
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "toolbox.tar"), image, 0o644)
	}
	if err == nil {
		err = copyImage(filepath.Join(root, "sliced.tar"))
	}
	if err != nil {
		return err
	}
	if out, err := exec.Command("/sbin/mkfs.ext4", "-q", "-F", "-E", "root_owner=0:0", "-d", root, path, "2G").CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4: %w\n%s", err, out)
	}
	return nil
}

// copyImage copies the image of sliced, as ./dev package container makes it.
func copyImage(to string) error {
	archives, _ := filepath.Glob(harness.Path("../../build/package/sliced-[0-9]*.oci.tar"))
	if len(archives) != 1 {
		return fmt.Errorf("images of sliced: %v (./dev package container makes one)", archives)
	}
	text, err := os.ReadFile(archives[0])
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	return err
}

// toolbox is an OCI image with nothing but busybox, for containers and for sandboxes.
func toolbox() ([]byte, error) {
	program, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return nil, err
	}
	layer := archive{}
	layer.add("bin/busybox", program)
	for _, applet := range []string{"cat", "env", "find", "grep", "ip", "ls", "readlink", "sh", "sleep"} {
		layer.link("bin/"+applet, "busybox")
	}
	image := archive{}
	blob := func(kind string, content []byte) M {
		sum := fmt.Sprintf("%x", sha256.Sum256(content))
		image.add("blobs/sha256/"+sum, content)
		return M{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + sum, "size": len(content)}
	}
	object := func(kind string, content M) M {
		text, err := json.Marshal(content)
		if err != nil {
			panic(err) // it is written here
		}
		return blob(kind, text)
	}
	files := blob("layer.v1.tar", layer.bytes())
	config := object("config.v1+json", M{"architecture": "amd64", "os": "linux", "rootfs": M{"type": "layers", "diff_ids": L{files["digest"]}},
		"config": M{"Cmd": L{"/bin/sleep", "1000000"}, "Env": L{"PATH=/bin"}}})
	manifest := object("manifest.v1+json", M{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": L{files}})
	manifest["annotations"] = M{"io.containerd.image.name": "example.test/toolbox:1"}
	index, err := json.Marshal(M{"schemaVersion": 2, "manifests": L{manifest}})
	if err != nil {
		return nil, err
	}
	image.add("index.json", index)
	image.add("oci-layout", []byte(`{"imageLayoutVersion": "1.0.0"}`))
	return image.bytes(), nil
}

// archive is a tar file in the making.
type archive struct {
	buffer bytes.Buffer
	writer *tar.Writer
}

func (a *archive) put(header tar.Header, content []byte) {
	if a.writer == nil {
		a.writer = tar.NewWriter(&a.buffer)
	}
	if err := a.writer.WriteHeader(&header); err != nil {
		panic(err) // of memory
	}
	a.writer.Write(content)
}

func (a *archive) add(name string, content []byte) {
	a.put(tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}, content)
}

func (a *archive) link(name, to string) {
	a.put(tar.Header{Name: name, Mode: 0o777, Linkname: to, Typeflag: tar.TypeSymlink}, nil)
}

func (a *archive) bytes() []byte {
	a.writer.Close()
	return slices.Clone(a.buffer.Bytes())
}
