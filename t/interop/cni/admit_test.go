package cni

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sliced.test/interop"
)

// definition is a case of the program cni_admit: spec.config of a definition, and the device that its claim was allocated.
type definition struct {
	Config    string   `json:"config"`
	PCI       string   `json:"pci"`
	Interface string   `json:"interface"`
	Exclusive bool     `json:"exclusive"`
	Plugins   []string `json:"plugins,omitempty"` // supportedCNIPlugins of the device's policy
}

type admitted struct {
	Refused string
	Network string
	Inputs  []string
}

// What a claim was allocated, and what it was not: another claim's VF, the host's NIC, a path of the host.
const (
	ownPCI, ownInterface         = "0000:3b:01.0", "ens1f0v0"
	otherPCI, hostInterface      = "0000:66:00.6", "eno1"
	hostPath, anyText, otherText = "/evil", "evil", "mac evil"
)

func admit(t testing.TB, cases []definition) []admitted {
	t.Helper()
	var input bytes.Buffer
	for _, one := range cases {
		line, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
	}
	command := exec.Command(interop.Program("cni_admit"))
	command.Stdin = &input
	out, err := command.Output()
	if err != nil {
		t.Fatalf("cni_admit: %v", err)
	}
	var all []admitted
	lines := bufio.NewReader(bytes.NewReader(out))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		var one admitted
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, one)
	}
	if len(all) != len(cases) {
		t.Fatalf("%d answers to %d cases", len(all), len(cases))
	}
	return all
}

// baseCase is a definition that must be accepted: a plugin, and what of its device and policy it needs.
type baseCase struct {
	plugin    string
	config    string // of the plugin alone; in a chain it stands behind "first"
	first     string // the plugin that makes the interface, "" none
	exclusive bool
	listed    bool // runs only where the policy lists it
}

const (
	staticIPAM = `"ipam":{"type":"static","addresses":[{"address":"192.0.2.7/24","gateway":"192.0.2.1"}],"routes":[{"dst":"198.51.100.0/24","gw":"192.0.2.1"}]}`
	localIPAM  = `"ipam":{"type":"host-local","ranges":[[{"subnet":"192.0.2.0/24","rangeStart":"192.0.2.10","rangeEnd":"192.0.2.20"}]]}`
	whereIPAM  = `"ipam":{"type":"whereabouts","range":"192.0.2.0/24"}`
	dhcpIPAM   = `"ipam":{"type":"dhcp"}`
	moved      = `{"type":"host-device"}`
)

var bases = []baseCase{
	{plugin: "sriov", config: `{"type":"sriov","vlan":100,"spoofchk":"on","trust":"off",` + staticIPAM + `}`, exclusive: true},
	{plugin: "sriov", config: `{"type":"sriov",` + whereIPAM + `}`, exclusive: true},
	{plugin: "sriov", config: `{"type":"sriov",` + dhcpIPAM + `}`, exclusive: true},
	{plugin: "host-device", config: `{"type":"host-device",` + localIPAM + `}`, exclusive: true},
	{plugin: "ib-sriov", config: `{"type":"ib-sriov","link_state":"enable"}`, exclusive: true},
	{plugin: "macvlan", config: `{"type":"macvlan","mode":"bridge","mtu":1500,` + staticIPAM + `}`},
	{plugin: "macvlan", config: `{"type":"macvlan","master":"` + ownInterface + `",` + localIPAM + `}`},
	{plugin: "ipvlan", config: `{"type":"ipvlan","mode":"l2",` + staticIPAM + `}`},
	{plugin: "vlan", config: `{"type":"vlan","vlanId":5,` + staticIPAM + `}`},
	{plugin: "bridge", config: `{"type":"bridge","hairpinMode":true,` + staticIPAM + `}`},
	{plugin: "tuning", first: moved, config: `{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.arp_filter":"1"},"mtu":1500}`, exclusive: true},
	{plugin: "sbr", first: moved, config: `{"type":"sbr","table":100}`, exclusive: true},
	{plugin: "vrf", first: moved, config: `{"type":"vrf","vrfname":"blue"}`, exclusive: true},
	{plugin: "bandwidth", first: moved, config: `{"type":"bandwidth","ingressRate":1000,"ingressBurst":1000}`, exclusive: true, listed: true},
	{plugin: "portmap", first: moved, config: `{"type":"portmap","snat":true}`, exclusive: true, listed: true},
}

func (b baseCase) with(plugin string) definition {
	d := definition{PCI: ownPCI, Interface: ownInterface, Exclusive: b.exclusive}
	if b.listed {
		d.Plugins = []string{"host-device", b.plugin}
	}
	chain := plugin
	if b.first != "" {
		chain = b.first + "," + plugin
	}
	d.Config = `{"cniVersion":"1.0.0","name":"net","plugins":[` + chain + `]}`
	return d
}

// foldedTwice names two keys of one object that encoding/json takes for the same field.
func foldedTwice(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	var walk func() string
	walk = func() string {
		token, err := decoder.Token()
		if err != nil {
			return err.Error()
		}
		switch token {
		case json.Delim('{'):
			var keys []string
			for decoder.More() {
				key, _ := decoder.Token()
				for _, before := range keys {
					if strings.EqualFold(before, key.(string)) {
						return fmt.Sprintf("%q and %q", before, key)
					}
				}
				keys = append(keys, key.(string))
				if found := walk(); found != "" {
					return found
				}
			}
			decoder.Token()
		case json.Delim('['):
			for decoder.More() {
				if found := walk(); found != "" {
					return found
				}
			}
			decoder.Token()
		}
		return ""
	}
	return walk()
}

// otherSpelling names a key that encoding/json decodes into a field that is spelled otherwise.
func (s shape) otherSpelling(value any, path string) string {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			field, is := s.fields[key]
			for name := range s.fields {
				if !is && strings.EqualFold(name, key) {
					return path + "." + key + " is decoded as " + name
				}
			}
			if found := field.otherSpelling(v[key], path+"."+key); found != "" {
				return found
			}
		}
	case []any:
		for _, element := range v {
			if s.element == nil {
				break
			}
			if found := s.element.otherSpelling(element, path+"[]"); found != "" {
				return found
			}
		}
	}
	return ""
}

// of is the part of a value that has fields in a structure, and is not null.
func (s shape) of(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if s.fields == nil {
			return v
		}
		own := map[string]any{}
		for key, field := range s.fields {
			if at, is := v[key]; is && at != nil {
				own[key] = field.of(at)
			}
		}
		return own
	case []any:
		if s.element == nil {
			return v
		}
		own := []any{}
		for _, element := range v {
			own = append(own, s.element.of(element))
		}
		return own
	}
	return value
}

// Fields of the plugins that lead to another device, to the host, or past the runtime: each with the values that sliced may give it.
var ours = map[string][]any{
	"deviceID": {ownPCI}, "pciBusID": {ownPCI}, "device": {ownInterface}, "master": {ownInterface}, "bridge": {ownInterface}, "Master": nil,
	"hwaddr": nil, "kernelpath": nil, "runtimeConfig": nil, "prevResult": nil, "args": nil, "delegates": nil, "OrigVfState": nil, "VFID": nil,
	"HostIFNames": nil, "HostIFGUID": nil, "ContIFNames": nil, "RdmaNetState": nil, "logFile": nil, "isGateway": {false}, "isDefaultGateway": {false},
	"ipMasq": {false}, "macspoofchk": {false}, "ibKubernetesEnabled": {false},
}

// judge says what is wrong with what a plugin reads, "" nothing.
func judge(plugin string, s shape, text string) string {
	if found := foldedTwice(text); found != "" {
		return "keys of one object: " + found
	}
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return err.Error()
	}
	if found := s.otherSpelling(value, plugin); found != "" {
		return found
	}
	decoded := reflect.New(s.typeOf())
	if err := json.Unmarshal([]byte(text), decoded.Interface()); err != nil {
		return err.Error()
	}
	again, err := json.Marshal(decoded.Interface())
	if err != nil {
		return err.Error()
	}
	var got any
	if err := json.Unmarshal(again, &got); err != nil {
		return err.Error()
	}
	if want := s.of(value); !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("the plugin decodes %v, the text has %v", got, want)
	}
	for key, at := range value {
		if allowed, is := ours[key]; is && !slices.Contains(allowed, at) {
			return fmt.Sprintf("%s is %v", key, at)
		}
		for field := range ours {
			if _, is := ours[key]; !is && strings.EqualFold(field, key) {
				return fmt.Sprintf("%s is another spelling of %s", key, field)
			}
		}
	}
	for _, strange := range []string{otherPCI, hostInterface + `"`, hostPath, anyText} {
		if strings.Contains(text, strange) {
			return fmt.Sprintf("%q reaches the plugin: %s", strange, text)
		}
	}
	return ""
}

// judgeAll holds what every plugin of an admitted chain reads against its structure, and against that of its IPAM plugin.
func judgeAll(all map[string]shape, got admitted) string {
	for _, input := range got.Inputs {
		var head struct {
			Type string
			IPAM struct{ Type string }
		}
		if err := json.Unmarshal([]byte(input), &head); err != nil {
			return err.Error()
		}
		for _, plugin := range []string{head.Type, head.IPAM.Type} {
			if plugin == "" {
				continue
			}
			s, known := all[plugin]
			if !known {
				return "no structure is known of plugin " + plugin
			}
			if found := judge(plugin, s, input); found != "" {
				return plugin + ": " + found
			}
		}
	}
	return ""
}

// spellings are texts of a JSON string that encoding/json takes for the same field.
func spellings(name string) []string {
	escaped := fmt.Sprintf(`\u%04x`, name[0]) + name[1:]
	folded := strings.NewReplacer("s", "\u017f", "S", "\u017f", "k", "\u212a", "K", "\u212a").Replace(name)
	all := []string{name, strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:], escaped, folded}
	slices.Sort(all)
	return slices.Compact(all)
}

var strangeValues = []string{`"` + anyText + `"`, `"` + hostInterface + `"`, `"` + otherPCI + `"`, `"` + hostPath + `"`, `7`, `true`, `null`,
	`{"deviceID":"` + otherPCI + `","mac":"` + otherText + `","DeviceID":"` + otherPCI + `","type":"` + anyText + `"}`, `["` + anyText + `"]`,
	`[{"subnet":"10.0.0.0/8","hostPort":443,"type":"` + anyText + `"}]`}

// mutants puts every name in every spelling with every value into each object of a plugin's configuration, before and behind what is there.
func mutants(config string, names []string) (all []string) {
	for i, c := range config {
		if c != '{' {
			continue
		}
		end, depth := i, 0
		for ; end < len(config); end++ {
			if config[end] == '{' {
				depth++
			} else if config[end] == '}' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		for _, name := range names {
			for _, key := range spellings(name) {
				for _, value := range strangeValues {
					all = append(all, config[:i+1]+`"`+key+`":`+value+`,`+config[i+1:], config[:end]+`,"`+key+`":`+value+config[end:])
				}
			}
		}
	}
	return all
}

// namesOf are all names of fields of a structure, at every depth.
func (s shape) namesOf(into map[string]bool) {
	for name, field := range s.fields {
		into[name] = true
		field.namesOf(into)
	}
	if s.element != nil {
		s.element.namesOf(into)
	}
}

// Red when a definition is accepted whose text a plugin decodes into anything but our value, or by which it is given another device, a
// path of the host, or a setting that is not its author's to make. Every field of every plugin is tried, and every name that leads to
// another device, in spellings that encoding/json takes for the same, in every object of the configuration.
func TestNoSpellingReachesAPlugin(t *testing.T) {
	all := structures(t)
	for _, base := range bases {
		t.Run(base.plugin, func(t *testing.T) {
			set := map[string]bool{}
			for name := range ours {
				set[name] = true
			}
			all[base.plugin].namesOf(set)
			for _, ipam := range []string{"static", "host-local", "whereabouts", "dhcp"} {
				if strings.Contains(base.config, `"`+ipam+`"`) {
					all[ipam].namesOf(set)
				}
			}
			cases := []definition{base.with(base.config)}
			for _, mutant := range mutants(base.config, slices.Sorted(maps.Keys(set))) {
				cases = append(cases, base.with(mutant))
			}
			answers := admit(t, cases)
			if answers[0].Refused != "" {
				t.Fatalf("%s is refused: %s", cases[0].Config, answers[0].Refused)
			}
			accepted, wrong := 0, 0
			for i, answer := range answers {
				if answer.Refused != "" {
					if strings.HasPrefix(answer.Refused, "kept and not readable") {
						t.Errorf("%s: %s", cases[i].Config, answer.Refused)
					}
					continue
				}
				accepted++
				if found := judgeAll(all, answer); found != "" {
					if wrong++; wrong <= 5 {
						t.Errorf("%s\n  %s", cases[i].Config, found)
					}
				}
			}
			if wrong > 5 {
				t.Errorf("and %d more", wrong-5)
			}
			t.Logf("%d of %d definitions are accepted", accepted, len(cases))
		})
	}
}

// The judge itself: each of these texts must be found out. Red when a judgement above could never fail.
func TestTheSpellingChecker(t *testing.T) {
	all := structures(t)
	for text, plugin := range map[string]string{
		`{"type":"host-device","Device":"x"}`:                                            "host-device",
		`{"type":"host-device","device":"ens1f0v0","DEVICE":"x"}`:                        "host-device",
		`{"type":"host-device","hwaddr":"02:00:00:00:00:01"}`:                            "host-device",
		`{"type":"host-device","runtimeConfig":{"deviceID":"0000:66:00.6"}}`:             "host-device",
		`{"type":"host-device","pciBu\u017fID":"0000:66:00.6"}`:                          "host-device",
		`{"type":"sriov","origVFState":{"HostIFName":"x"}}`:                              "sriov",
		`{"type":"sriov","VFID":3}`:                                                      "sriov",
		`{"type":"macvlan","master":"eno1"}`:                                             "macvlan",
		`{"type":"bridge","ipMasq":true}`:                                                "bridge",
		`{"type":"tuning","dataDir":"/evil"}`:                                            "tuning",
		`{"type":"x","ipam":{"type":"host-local","DataDir":"/y"}}`:                       "host-local",
		`{"type":"x","ipam":{"type":"host-local","ranges":[[{"Subnet":"10.0.0.0/8"}]]}}`: "host-local",
		`{"type":"x","ipam":{"type":"whereabouts","Kubernetes":{"kubeconfig":"/y"}}}`:    "whereabouts",
		`{"type":"portmap","args":{"a":1}}`:                                              "portmap",
	} {
		if found := judge(plugin, all[plugin], text); found == "" {
			t.Errorf("%s: the judge finds nothing", text)
		}
	}
	for _, plugin := range []string{"host-device", "macvlan", "static", "host-local", "tuning"} {
		if count := len(all[plugin].fields); count < 4 {
			t.Errorf("%s has %d fields: its source was not understood", plugin, count)
		}
	}
}
