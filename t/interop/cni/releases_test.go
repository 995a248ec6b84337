package cni

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sliced.test/interop"
)

// Releases of containernetworking/plugins that nodes may have.
var releases = []string{"v0.8.6", "v0.9.1", "v1.0.1", "v1.1.1", "v1.2.0", "v1.3.0", "v1.4.1", "v1.5.1", "v1.6.2", "v1.7.1", "v1.8.0", "v1.9.1"}

// laterFields are the fields of our tables that the oldest release with the plugin does not know: the first of `releases` that knows the field,
// and what an older one does. As a definition may leave the field out as well, that is safe. A field that changes the meaning of another one, such
// as linkInContainer, is not, and is in no table.
var laterFields = map[string]string{
	"bridge.macspoofchk":               "v1.1.1: no check of the pod's MAC address",
	"bridge.enabledad":                 "v1.1.1: no duplicate address detection",
	"bridge.vlanTrunk":                 "v1.3.0: the port is in the bridge's default VLAN",
	"bridge.preserveDefaultVlan":       "v1.3.0: the port is in the bridge's default VLAN",
	"bridge.disableContainerInterface": "v1.4.1: the pod's interface is up",
	"bridge.ipMasqBackend":             "v1.6.2: iptables",
	"bridge.portIsolation":             "v1.7.1: the port reaches isolated ports",
	"dhcp.provide":                     "v1.1.1: the plugin's own options",
	"dhcp.request":                     "v1.1.1: the plugin's own options",
	"dhcp.priority":                    "v1.6.2: routes without a metric",
	"firewall.ingressPolicy":           "v1.1.1: open",
	"macvlan.mac":                      "v0.9.1: a random address",
	"macvlan.bcqueuelen":               "v1.6.2: the kernel's length of the queue",
	"portmap.masqAll":                  "v1.2.0: hairpin traffic alone is masqueraded",
	"portmap.backend":                  "v1.6.2: iptables",
	"ptp.ipMasqBackend":                "v1.6.2: iptables",
	"sbr.table":                        "v1.6.2: the next free table",
	"tuning.allmulti":                  "v1.0.1: the mode as it is",
	"tuning.txQLen":                    "v1.4.1: the length as it is",
	"tuning.dataDir":                   "v0.9.1: nothing is kept",
}

func download(t *testing.T, release string) string {
	t.Helper()
	command := exec.Command("go", "mod", "download", "-json", "github.com/containernetworking/plugins@"+release)
	command.Dir, command.Env = t.TempDir(), append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := command.Output()
	var module struct{ Dir, Error string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil || module.Dir == "" {
		t.Fatalf("%s: %v %s %s", release, err, module.Error, out)
	}
	return module.Dir
}

func tablesOfFields(t *testing.T) (tables map[string][]string) {
	t.Helper()
	command := exec.Command(interop.Program("cni_admit"))
	command.Stdin = strings.NewReader(`{"tables":true}` + "\n")
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &tables)
	}
	if err != nil || len(tables) < 17 {
		t.Fatalf("tables: %v %s", err, out)
	}
	return tables
}

// namesAt are the fields that a release of a plugin decodes, at the top or in its ipam; nil where the release does not have the plugin.
func namesAt(t *testing.T, module string, plugin string) []string {
	t.Helper()
	directory := filepath.Join(module, "plugins", sources[plugin][0])
	if files, _ := filepath.Glob(filepath.Join(directory, "*.go")); len(files) == 0 {
		return nil
	}
	s := readSource(t, directory)
	var structure = s.structs[sources[plugin][1]]
	for _, other := range []string{"NetConf", "PluginConf", "VRFNetConf", "TuningConf", "TempNetConf"} { // as older releases call it
		if structure == nil {
			structure = s.structs[other]
		}
	}
	if structure == nil {
		t.Fatalf("%s: %s has no structure of its configuration", module, plugin)
	}
	fields := s.fieldsOf(structure)
	if slices.Contains([]string{"static", "dhcp", "host-local"}, plugin) {
		fields = fields["ipam"].fields
	}
	names := []string{"dns"}
	for name := range fields {
		names = append(names, name)
	}
	return names
}

// Red when a field of our tables is unknown to a release, and laterFields does not say what that release does.
func TestFieldsUnknownToOlderReleases(t *testing.T) {
	tables := tablesOfFields(t)
	found := map[string]string{}
	for plugin := range sources {
		missing := map[string]bool{}
		for _, release := range releases {
			names := namesAt(t, download(t, release), plugin)
			if names == nil {
				continue
			}
			for _, field := range tables[plugin] {
				if !slices.Contains(names, field) {
					missing[field] = true
				} else if missing[field] && found[plugin+"."+field] == "" {
					found[plugin+"."+field] = release
				}
			}
		}
		for field := range missing {
			if found[plugin+"."+field] == "" {
				found[plugin+"."+field] = "later"
			}
		}
	}
	for field, release := range found {
		if said, is := laterFields[field]; !is || !strings.HasPrefix(said, release) {
			t.Errorf("%q: \"%s: \",", field, release)
		}
	}
	for field := range laterFields {
		if found[field] == "" {
			t.Errorf("%s is known to all releases", field)
		}
	}
	for plugin, facts := range recordedFacts(t) {
		known := strings.Fields(facts.Oldest)
		for field := range facts.Later {
			known = append(known, field)
		}
		for _, field := range tables[plugin] {
			if !slices.Contains(known, field) {
				t.Errorf("structures.json does not say which release of %s knows %s", plugin, field)
			}
		}
	}
}

// Red when a definition with linkInContainer reaches a release of macvlan that ignores the field and takes a NIC of the host.
func TestOldReleasesNeverReadNewFields(t *testing.T) {
	plugins := t.TempDir()
	install := exec.Command("go", "install", "github.com/containernetworking/plugins/plugins/main/macvlan@v1.1.1")
	install.Env = append(os.Environ(), "GOBIN="+plugins, "GOFLAGS=-mod=mod", "CGO_ENABLED=0")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	row := effectCase{config: `{"cniVersion":"1.0.0","name":"net","type":"macvlan","master":"eno1","linkInContainer":true}`, on: "ens1f0v0", shared: true}
	l := newLab(t, plugins)
	if got := l.admit(row); !strings.Contains(got.Refused, "linkInContainer is not a field") {
		t.Errorf("%+v", got)
	}
	before := l.state()
	said, err := l.libcni(row.config)
	if found := changes(before, l.state()); !slices.Contains(found, "+parent of net1 eno1") {
		t.Errorf("run as it is, it does not take the host's NIC (%v %s): %q", err, said, found)
	}
}
