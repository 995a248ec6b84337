package chart

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

// blob is a file of an OCI layout, by its digest.
func blob(layout, digest string) string {
	return filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1))
}

func read[T any](t *testing.T, path string) (value T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}

type descriptor struct{ Digest string }

type imageConfig struct {
	Config struct {
		Entrypoint, Cmd []string
		User            string
	}
}

// unpack lays the layers of a program's image out below root, as a runtime does, and returns its configuration and its files with
// sizes.
func unpack(t *testing.T, program, root string) (imageConfig, map[string]int64) {
	t.Helper()
	archives, _ := filepath.Glob("../../build/package/" + program + "-[0-9]*.oci.tar")
	if len(archives) != 1 {
		t.Fatalf("images: %v (./dev package container makes one)", archives)
	}
	layout := t.TempDir()
	if out, err := exec.Command("tar", "-C", layout, "-xf", archives[0]).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	index := read[struct{ Manifests []descriptor }](t, filepath.Join(layout, "index.json"))
	manifest := read[struct {
		Config descriptor
		Layers []descriptor
	}](t, blob(layout, index.Manifests[0].Digest))
	files := map[string]int64{}
	for _, layer := range manifest.Layers {
		unpackLayer(t, blob(layout, layer.Digest), root, files)
	}
	return read[imageConfig](t, blob(layout, manifest.Config.Digest)), files
}

func unpackLayer(t *testing.T, path, root string, files map[string]int64) {
	t.Helper()
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for entries := tar.NewReader(plain); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := "/" + strings.Trim(entry.Name, "/")
		if entry.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(root+name, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if entry.Typeflag != tar.TypeReg || entry.Uid != 0 || entry.Mode&0o7022 != 0 {
			t.Errorf("%s is of type %c, uid %d, mode %o", name, entry.Typeflag, entry.Uid, entry.Mode)
		}
		text, err := io.ReadAll(entries)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = entry.Size
		if err := os.WriteFile(root+name, text, os.FileMode(entry.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// Turns red when an image has anything but its program and the program's libraries, lacks one of those, or has what the list of
// its parts does not name. So the image of the node has neither the controller nor the plugin of kubectl.
func TestImagesContainOnlyAProgramAndItsLibraries(t *testing.T) {
	for _, program := range []string{"sliced", "sliced-controller"} {
		t.Run(program, func(t *testing.T) { judgeImage(t, program) })
	}
}

func judgeImage(t *testing.T, program string) {
	root := t.TempDir()
	config, files := unpack(t, program, root)
	if !slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/" + program}) {
		t.Errorf("entrypoint %v", config.Config.Entrypoint)
	}
	size := int64(0)
	for name, bytes := range files {
		size += bytes
		if !strings.HasPrefix(name, "/licenses/") && name != "/usr/bin/"+program && !strings.Contains(filepath.Base(name), ".so") {
			t.Errorf("the image has %s", name)
		}
		if program != "sliced" && (strings.Contains(name, "libudev") || strings.Contains(name, "libnl-")) {
			t.Errorf("%s is linked with %s, which reads hardware", program, name)
		}
	}
	for _, text := range []string{"LICENSE", "NOTICE"} {
		want, err := os.ReadFile("../../" + text)
		if got, _ := os.ReadFile(root + "/licenses/" + text); err != nil || string(got) != string(want) {
			t.Errorf("the image has another /licenses/%s: %v: %.200q", text, err, got)
		}
	}
	t.Logf("%d files, %d bytes; the program has %d", len(files), size, files["/usr/bin/"+program])
	type file struct{ FileName string }
	lists, _ := filepath.Glob("../../build/package/" + program + "-[0-9]*.spdx.json")
	if len(lists) != 1 {
		t.Fatalf("lists of parts: %v", lists)
	}
	named := read[struct {
		Files    []file
		Packages []struct{ Name, VersionInfo string }
	}](t, lists[0])
	for name := range files {
		if !slices.Contains(named.Files, file{"." + name}) {
			t.Errorf("the list of parts lacks %s", name)
		}
	}
	for _, of := range named.Packages {
		if of.Name == "" || of.VersionInfo == "" {
			t.Errorf("a package without name or version: %+v", named.Packages)
		}
	}
	// Nothing is found outside of it.
	out, err := exec.Command("chroot", root, "/usr/bin/"+program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), program+" ") {
		t.Errorf("version: %v: %s", err, out)
	}
}

// Turns red when the image with iptables that docs/install-kubernetes.md makes lacks a library that sliced is linked with.
func TestTheImageWithIptablesHasAllLibraries(t *testing.T) {
	lists, _ := filepath.Glob("../../build/package/sliced-[0-9]*.spdx.json")
	if len(lists) != 1 {
		t.Fatalf("lists of parts: %v", lists)
	}
	text, err := os.ReadFile("../../docs/install-kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "    FROM debian:12-slim\n")
	steps, _, isWhole := strings.Cut(rest, "&& rm -rf")
	installed := strings.Fields(steps)
	if !isWhole || !slices.Contains(installed, "iptables") {
		t.Fatalf("docs/install-kubernetes.md makes no image with iptables: %q", steps)
	}
	parts := read[struct{ Packages []struct{ Name string } }](t, lists[0])
	if len(parts.Packages) < 8 {
		t.Errorf("the list of parts is short: %v", parts)
	}
	inEveryDebian := []string{"libc6", "libgcc-s1", "libstdc++6"} // apt needs them
	for _, one := range parts.Packages {
		if one.Name != "sliced" && !slices.Contains(inEveryDebian, one.Name) && !slices.Contains(installed, one.Name) {
			t.Errorf("the image lacks %s", one.Name)
		}
	}
}

// Turns red when the image, run as the DaemonSet's pod is (its arguments, mounts, user and capabilities, a read-only root, the
// token of a pod with the chart's rules), does not publish, asks for what it may not do, or leaves its node half offered when
// its pod is replaced.
func TestImageRunsWithThePodsSecurityContext(t *testing.T) {
	pod := podOf(t, must(render(filepath.Join(manifests, "publisher-only-values.yaml"))))
	lab := harness.NewHostlessLab(t, plane)
	judging(t, lab.Node)
	since := time.Now()
	machine, before := offering(t, lab)
	sandbox := newSandbox(t, pod, machine.Root, lab.Node, podToken(t, lab.Node))
	first := sandbox.run(t)
	offered := harness.VFDevices("0000:03:00.0", 0, 4)
	lab.History.WaitOffers(t, before, harness.Patience, offered...)
	published := plane.Server.Revision(t)
	if status := first.status(t); status["CapBnd"] != "0000000000000000" || status["CapEff"] != "0000000000000000" || status["NoNewPrivs"] != "1" {
		t.Errorf("the daemon runs with %v", status)
	}

	sandbox.probe(t, pod.Containers[0].LivenessProbe)
	sandbox.probe(t, pod.Containers[0].ReadinessProbe)

	// The pod is replaced, and two functions go while there is none.
	first.end(t)
	machine.SetVFs("0000:03:00.0", 2)
	second := sandbox.run(t)
	lab.History.WaitOffers(t, published, harness.Patience, offered[:2]...)
	lab.History.NeverEmpty(t, published)
	lab.History.NeverBelow(t, published, offered[:2]...)
	second.end(t)
	for _, request := range plane.Server.Audit.Of(t, harness.User{Name: account}, since) {
		if request.Answer.Code == 403 && strings.Contains(request.UserAgent, "sliced") {
			t.Errorf("%s %s was refused: %s", request.Verb, request.URI, request.Answer.Message)
		}
	}
}

// offering makes a machine with four functions, and a policy that offers them, whose revision it returns.
func offering(t *testing.T, lab *harness.Lab) (*harness.HostTree, int64) {
	t.Helper()
	// Its functions have no interfaces: the daemon asks the kernel about those.
	card := harness.E810("03", "ens1f0", 4)
	card.VFDriver = ""
	machine := harness.NewHostTree(t)
	machine.AddInterfacesOfThisMachine()
	machine.AddPF(card)
	policy := harness.Policy(home, lab.Node, M{"resourceFilters": L{M{"vendors": L{"8086"}}}})
	policy.Object["spec"].(M)["nodeSelector"] = M{"kubernetes.io/hostname": lab.Node}
	return machine, plane.Server.Apply(t, harness.Policies, policy)

}

// Turns red when the plugin's profile lacks what the program needs to serve a kubelet: its directories, or what it may write to.
func TestImageServesTheKubeletWithThePluginsProfile(t *testing.T) {
	pod := podOf(t, must(render(filepath.Join(manifests, "values.yaml"))))
	lab := harness.NewHostlessLab(t, plane)
	judging(t, lab.Node)
	machine, before := offering(t, lab)
	sandbox := newSandbox(t, pod, machine.Root, lab.Node, podToken(t, lab.Node))
	daemon := sandbox.run(t)
	lab.History.WaitOffers(t, before, harness.Patience, harness.VFDevices("0000:03:00.0", 0, 4)...)
	sandbox.probe(t, pod.Containers[0].ReadinessProbe)
	if status := daemon.status(t); status["CapBnd"] != "0000000000281004" || status["CapEff"] != "0000000000281004" {
		t.Errorf("the daemon runs with %v", status)
	}
	registrar := machine.Root + "/var/lib/kubelet/plugins_registry"
	for deadline := harness.Limit(); ; time.Sleep(100 * time.Millisecond) {
		sockets, _ := filepath.Glob(registrar + "/*-reg.sock")
		if len(sockets) == 2 { // one a driver; the pod is in their names, whole or shortened
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a kubelet finds %v in %s", sockets, registrar)
		}
	}
	daemon.end(t)
}
