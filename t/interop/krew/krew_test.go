// Package krew installs kubectl-sliced as a user of krew does, from an archive and a manifest that packaging/krew/build has made.
package krew

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// place is a directory of an ordinary user.
func place(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("", "krew")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(path) })
	if os.Geteuid() == 0 {
		err = os.Chown(path, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// asUser runs a program without root, at home in a directory.
func asUser(t *testing.T, home, program string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = home
	command.Env = []string{"HOME=" + home, "KREW_ROOT=" + home + "/krew", "PATH=" + home + "/krew/bin:" + os.Getenv("PATH")}
	if os.Geteuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := command.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, out []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// Turns red when krew does not take the manifest or the archive of a release, when the plugin that it installs does not run without
// root or needs libraries that read hardware, or when an archive is installed that is not the one that the manifest names.
func TestKrewInstallsThePlugin(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	lists, err := os.ReadFile(filepath.Join(root, "CMakeLists.txt"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`project\(sliced VERSION ([0-9.]+)`).FindStringSubmatch(string(lists))[1]
	home := place(t)
	krew := filepath.Join(home, "kubectl-krew")
	build := exec.Command("go", "build", "-o", krew, "sigs.k8s.io/krew/cmd/krew")
	out, err := build.CombinedOutput()
	must(t, out, err)
	out, err = exec.Command(filepath.Join(root, "packaging/krew/build"), filepath.Join(root, "build/kubectl-sliced"), version, home).CombinedOutput()
	must(t, out, err)
	manifest := filepath.Join(home, "sliced.yaml")
	text, err := os.ReadFile(manifest)
	if strings.Contains(must(t, text, err), "@") {
		t.Errorf("the template is not filled in:\n%s", text)
	}
	archives, _ := filepath.Glob(filepath.Join(home, "kubectl-sliced-"+version+"-linux-*.tar.gz"))
	if len(archives) != 1 {
		t.Fatalf("archives: %v", archives)
	}

	other := filepath.Join(home, "other.tar.gz")
	if err := os.WriteFile(other, []byte("not what the manifest names"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := asUser(t, home, krew, "install", "--manifest="+manifest, "--archive="+other); err == nil {
		t.Errorf("another archive is installed: %s", said)
	}
	if said, err := asUser(t, home, krew, "install", "--manifest="+manifest, "--archive="+archives[0]); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if libraries, err := exec.Command("ldd", filepath.Join(home, "krew/bin/kubectl-sliced")).CombinedOutput(); err != nil ||
		strings.Contains(string(libraries), "libudev") || strings.Contains(string(libraries), "libnl-") {
		t.Errorf("the plugin needs libraries that read hardware: %v: %s", err, libraries)
	}
	for _, text := range []string{"LICENSE", "NOTICE"} {
		want, err := os.ReadFile(filepath.Join(root, text))
		if installed, _ := os.ReadFile(filepath.Join(home, "krew/store/sliced/v"+version, text)); err != nil || string(installed) != string(want) {
			t.Errorf("krew installs another %s: %v: %.200q", text, err, installed)
		}
	}
	// kubectl finds a plugin by its name in the PATH.
	plugin := filepath.Join(home, "krew/bin/kubectl-sliced")
	if said, err := asUser(t, home, plugin, "version"); err != nil || said != "kubectl-sliced "+version+"\n" {
		t.Errorf("%v: %q", err, said)
	}
	if said, err := asUser(t, home, plugin, "nodes", "--kubeconfig", home+"/nowhere"); err == nil || !strings.HasPrefix(said, "kubectl-sliced: ") {
		t.Errorf("%v: %q", err, said)
	}
	if _, err := os.Stat(filepath.Join(home, "krew/receipts/sliced.yaml")); err != nil {
		t.Errorf("krew does not know what it has installed: %v", err)
	}
}
