// The room cni/ judged by libcni: what a plugin is told by either for the same network, and what either makes of its answers.
package cni

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"

	"sliced.test/interop"
)

// With this in the environment the test's program is a plugin: it writes down what it was told, and says what it finds in a
// file beside it.
const pluginDirectory = "SLICED_TEST_CNI_RECORDS"

type told struct {
	Plugin      string
	Environment []string
	Input       any
}

func TestMain(m *testing.M) {
	if arguments := os.Getenv(withLibcni); arguments != "" {
		if err := addWithLibcni(arguments); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	directory := os.Getenv(pluginDirectory)
	if directory == "" || os.Getenv("CNI_COMMAND") == "" {
		os.Exit(m.Run())
	}
	name := filepath.Base(os.Args[0])
	t := told{Plugin: name, Environment: os.Environ()}
	sort.Strings(t.Environment)
	if err := json.NewDecoder(os.Stdin).Decode(&t.Input); err != nil {
		t.Input = err.Error()
	}
	line, _ := json.Marshal(t)
	calls, err := os.OpenFile(filepath.Join(directory, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(calls, "%s\n", line)
	calls.Close()
	answer, err := os.ReadFile(filepath.Join(directory, name+".says"))
	if err != nil {
		answer = []byte("{}")
	}
	os.Stdout.Write(answer)
	if strings.Contains(string(answer), `"code"`) {
		os.Exit(1)
	}
	os.Exit(0)
}

func callsIn(t *testing.T, directory string) []told {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(directory, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(directory, "calls"))
	var all []told
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" {
			continue
		}
		var one told
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

type attachment struct {
	ContainerID    string         `json:"containerID"`
	NetNS          string         `json:"netns"`
	IfName         string         `json:"ifName"`
	Args           [][2]string    `json:"args,omitempty"`
	CapabilityArgs map[string]any `json:"capabilityArgs,omitempty"`
}

type world struct {
	t         *testing.T
	directory string
	libcni    *libcni.CNIConfig
	list      *libcni.NetworkConfigList
	runtime   *libcni.RuntimeConf
}

func write(t testing.TB, path string, content any) string {
	t.Helper()
	text, isText := content.(string)
	if !isText {
		bytes, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		text = string(bytes)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func listOfPlugins(config string) (*libcni.NetworkConfigList, error) {
	if strings.Contains(config, `"plugins"`) {
		return libcni.NetworkConfFromBytes([]byte(config))
	}
	one, err := libcni.NetworkPluginConfFromBytes([]byte(config))
	if err != nil {
		return nil, err
	}
	return libcni.ConfListFromConf(one)
}

func newWorld(t *testing.T, config string, says map[string]string, with attachment) *world {
	directory := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range says {
		if err := os.Symlink(self, filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(directory, name+".says"), answer)
	}
	t.Setenv(pluginDirectory, directory)
	t.Setenv("CNI_IFNAME", "of the caller's own")
	list, err := listOfPlugins(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(directory, "config"), config)
	write(t, filepath.Join(directory, "attachment"), with)
	return &world{t, directory,
		libcni.NewCNIConfigWithCacheDir([]string{"/nowhere", directory}, filepath.Join(directory, "cache"), nil), list,
		&libcni.RuntimeConf{ContainerID: with.ContainerID, NetNS: with.NetNS, IfName: with.IfName, Args: with.Args, CapabilityArgs: with.CapabilityArgs}}
}

func (w *world) ours(command string, previous string) (string, error) {
	arguments := []string{command, "/nowhere:" + w.directory, filepath.Join(w.directory, "config"), filepath.Join(w.directory, "attachment")}
	if previous != "" {
		arguments = append(arguments, write(w.t, filepath.Join(w.directory, "previous"), previous))
	}
	out, err := exec.Command(interop.Program("cni_chain"), arguments...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// The calls of both are the same.
func (w *world) compare(what string, theirs, ours []told) {
	w.t.Helper()
	if len(theirs) != len(ours) {
		w.t.Fatalf("%s: libcni calls %d plugins, we %d", what, len(theirs), len(ours))
	}
	for i := range theirs {
		if !reflect.DeepEqual(theirs[i], ours[i]) {
			a, _ := json.MarshalIndent(theirs[i], "", " ")
			b, _ := json.MarshalIndent(ours[i], "", " ")
			w.t.Errorf("%s: call %d differs\nlibcni: %s\nours: %s", what, i, a, b)
		}
	}
}

func sameJSON(t *testing.T, what, a, b string) {
	t.Helper()
	var left, right any
	if err := json.Unmarshal([]byte(a), &left); err != nil {
		t.Fatalf("%s: %v: %s", what, err, a)
	}
	if err := json.Unmarshal([]byte(b), &right); err != nil {
		t.Fatalf("%s: %v: %s", what, err, b)
	}
	if !reflect.DeepEqual(left, right) {
		t.Errorf("%s differs\nlibcni: %s\nours: %s", what, a, b)
	}
}

const rich = `{"cniVersion":%q,
 "interfaces":[{"name":"ens1f0v0","mac":"02:00:00:00:00:01","unknown":{"a":1}},
               {"name":"net1","mac":"02:00:00:00:00:01","sandbox":"/run/netns/a","mtu":9000,"pciID":"0000:3b:01.0"}],
 "ips":[{"version":"4","interface":1,"address":"10.1.0.7/24","gateway":"10.1.0.1"},{"version":"6","address":"FD00:0::7/64"}],
 "routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1"},{"dst":"10.9.0.0/16"}],
 "dns":{"nameservers":["10.1.0.1"],"domain":"example.test","search":["a","b"],"options":["ndots:5"]},
 "more":"unknown"}`

func TestPluginsReceiveTheSameInput(t *testing.T) {
	with := attachment{ContainerID: "0123abc", NetNS: "/run/netns/a", IfName: "net1",
		Args:           [][2]string{{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", "ns"}, {"K8S_POD_NAME", "p"}},
		CapabilityArgs: map[string]any{"mac": "02:00:00:00:00:01", "ips": []string{"10.1.0.7/24"}, "bandwidth": map[string]int{"ingressRate": 5}}}
	for _, version := range []string{"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"} {
		configs := map[string]string{
			"one": fmt.Sprintf(`{"cniVersion":%q,"name":"net","type":"sriov","vlan":100,"ipam":{"type":"x","ranges":[[{"a":1.5}]]}}`, version),
			"list": fmt.Sprintf(`{"cniVersion":%q,"name":"net","plugins":[
				{"type":"sriov","vlan":100,"spoofchk":"off","capabilities":{"mac":true,"ips":true,"dns":true},"name":"other","cniVersion":"0.1.0"},
				{"type":"tuning","sysctl":{"net.a":"1"},"capabilities":{"mac":false,"bandwidth":true},"nothing":null},
				{"type":"silent"}]}`, version),
			"versions": fmt.Sprintf(`{"cniVersion":%q,"cniVersions":["0.3.1",%q,"7.0.0"],"name":"net","plugins":[{"type":"sriov"}]}`, version, version),
		}
		for form, config := range configs {
			for _, answer := range []string{fmt.Sprintf(rich, version), "{}", `{"interfaces":[],"ips":[],"dns":{}}`} {
				t.Run(version+" "+form, func(t *testing.T) {
					w := newWorld(t, config, map[string]string{"sriov": answer, "tuning": fmt.Sprintf(rich, version), "silent": answer, "x": ""}, with) // x: its IPAM plugin, which only the plugin would run
					theirs, err := w.libcni.AddNetworkList(context.Background(), w.list, w.runtime)
					if err != nil {
						t.Fatal(err)
					}
					their := callsIn(t, w.directory)
					made, err := w.ours("ADD", "")
					if err != nil {
						t.Fatal(made)
					}
					w.compare("ADD", their, callsIn(t, w.directory))
					result, _ := json.Marshal(theirs)
					sameJSON(t, "result", string(result), made)

					if version >= "0.4.0" {
						if err := w.libcni.CheckNetworkList(context.Background(), w.list, w.runtime); err != nil {
							t.Fatal(err)
						}
						their = callsIn(t, w.directory)
						if said, err := w.ours("CHECK", made); err != nil {
							t.Fatal(said)
						}
						w.compare("CHECK", their, callsIn(t, w.directory))
					}
					if err := w.libcni.DelNetworkList(context.Background(), w.list, w.runtime); err != nil {
						t.Fatal(err)
					}
					their = callsIn(t, w.directory)
					if said, err := w.ours("DEL", made); err != nil {
						t.Fatal(said)
					}
					w.compare("DEL", their, callsIn(t, w.directory))
				})
			}
		}
	}
}

// What libcni takes for an error we do, and say as much of it.
func TestErrorsMatchKubernetes(t *testing.T) {
	with := attachment{ContainerID: "c", NetNS: "/run/netns/a", IfName: "net1"}
	config := `{"cniVersion":"1.0.0","name":"net","plugins":[{"type":"sriov"},{"type":"tuning"}]}`
	for name, answer := range map[string]string{
		"error":              `{"cniVersion":"1.0.0","code":7,"msg":"no VF left","details":"of ens1f0"}`,
		"junk":               `junk`,
		"a list":             `[]`,
		"unknown version":    `{"cniVersion":"8.0.0"}`,
		"no address":         `{"ips":[{"address":"10.1.0.7"}]}`,
		"no prefix":          `{"ips":[{"address":"10.1.0.7/x"}]}`,
		"prefix too long":    `{"ips":[{"address":"10.1.0.7/33"}]}`,
		"no gateway":         `{"ips":[{"address":"10.1.0.7/24","gateway":"nobody"}]}`,
		"no route":           `{"routes":[{"dst":"default"}]}`,
		"a name of numbers":  `{"interfaces":[{"name":5}]}`,
		"interfaces no list": `{"interfaces":{"name":"a"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, config, map[string]string{"sriov": answer, "tuning": "{}"}, with)
			_, err := w.libcni.AddNetworkList(context.Background(), w.list, w.runtime)
			if err == nil {
				t.Fatal("libcni takes it")
			}
			their := callsIn(t, w.directory)
			said, failed := w.ours("ADD", "")
			if failed == nil {
				t.Fatalf("libcni says %v, we take it: %s", err, said)
			}
			w.compare("ADD", their, callsIn(t, w.directory))
			if !strings.Contains(said, "network net: plugin sriov: ADD: ") {
				t.Errorf("says neither plugin nor network: %s", said)
			}
			if name == "error" && !(strings.Contains(said, "no VF left; of ens1f0") && strings.Contains(said, "code 7")) {
				t.Errorf("the plugin's words are lost: %s", said)
			}
		})
	}
}

// Names that libcni refuses run nothing here either.
func TestNamesAreRefusedLikeInKubernetes(t *testing.T) {
	config := `{"cniVersion":"1.0.0","name":"net","type":"sriov"}`
	for _, with := range []attachment{
		{ContainerID: "../c", IfName: "net1"}, {ContainerID: "", IfName: "net1"}, {ContainerID: "c", IfName: ""},
		{ContainerID: "c", IfName: "a/b"}, {ContainerID: "c", IfName: "a:b"}, {ContainerID: "c", IfName: "sixteen-bytes-xx"},
		{ContainerID: "c", IfName: ".."}, {ContainerID: "c", IfName: "a b"},
	} {
		w := newWorld(t, config, map[string]string{"sriov": "{}"}, with)
		if _, err := w.libcni.AddNetworkList(context.Background(), w.list, w.runtime); err == nil {
			t.Errorf("libcni takes %v", with)
		}
		if said, err := w.ours("ADD", ""); err == nil {
			t.Errorf("we take %v: %s", with, said)
		}
		if calls := callsIn(t, w.directory); len(calls) != 0 {
			t.Errorf("%v ran a plugin", with)
		}
	}
}
