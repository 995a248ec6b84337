package cni

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// shape is what a plugin decodes at one place of its configuration: the kind of a scalar ("string", "int", "bool", "any"), the fields
// of a structure by their names in JSON, or the elements of a list.
type shape struct {
	kind    string
	fields  map[string]shape
	element *shape
}

var anything = shape{kind: "any"}

// What the plugins decode beside their own fields: PluginConf of github.com/containernetworking/cni/pkg/types, and what its own
// UnmarshalJSON reads of Route, DNS and IPNet there.
var (
	cniDNS    = shape{fields: map[string]shape{"nameservers": listOf("string"), "domain": {kind: "string"}, "search": listOf("string"), "options": listOf("string")}}
	cniRoutes = shape{element: &shape{fields: map[string]shape{"dst": {kind: "string"}, "gw": {kind: "string"}, "mtu": {kind: "int"}, "advmss": {kind: "int"},
		"priority": {kind: "int"}, "table": {kind: "int"}, "scope": {kind: "int"}}}}
	pluginConf = map[string]shape{"cniVersion": {kind: "string"}, "name": {kind: "string"}, "type": {kind: "string"}, "capabilities": anything,
		"ipam": {fields: map[string]shape{"type": {kind: "string"}}}, "dns": cniDNS, "prevResult": anything}
	foreign = map[string]shape{"types.DNS": cniDNS, "types.Route": *cniRoutes.element, "types.IPNet": {kind: "string"}, "net.IP": {kind: "string"}, "ip.IP": {kind: "string"}}
)

func listOf(kind string) shape { return shape{element: &shape{kind: kind}} }

// source is a package of containernetworking/plugins, read as text: a "package main" cannot be imported.
type source struct {
	structs map[string]*ast.StructType
	aliases map[string]ast.Expr
}

func moduleDirectory(t *testing.T, module string) string {
	t.Helper()
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := command.Output()
	if err != nil || len(strings.TrimSpace(string(out))) == 0 {
		t.Fatalf("go list -m %s: %v %s", module, err, out)
	}
	return strings.TrimSpace(string(out))
}

func readSource(t *testing.T, directory string) *source {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v %v", directory, files, err)
	}
	s := &source{structs: map[string]*ast.StructType{}, aliases: map[string]ast.Expr{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if structure, ok := spec.Type.(*ast.StructType); ok {
					s.structs[spec.Name.Name] = structure
				} else {
					s.aliases[spec.Name.Name] = spec.Type
				}
			}
			return true
		})
	}
	return s
}

// fieldsOf are the fields that encoding/json sets, by name: that of the tag, or the Go name of an exported field without one.
func (s *source) fieldsOf(structure *ast.StructType) map[string]shape {
	found := map[string]shape{}
	for _, field := range structure.Fields.List {
		tag := ""
		if field.Tag != nil {
			tag, _, _ = strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
		}
		if tag == "-" {
			continue
		}
		if len(field.Names) == 0 {
			maps.Copy(found, s.embedded(field.Type))
			continue
		}
		for _, name := range field.Names {
			if !name.IsExported() {
				continue
			}
			key := tag
			if key == "" {
				key = name.Name
			}
			found[key] = s.shapeOf(field.Type)
		}
	}
	return found
}

func (s *source) embedded(expression ast.Expr) map[string]shape {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return s.embedded(e.X)
	case *ast.Ident:
		return s.fieldsOf(s.structs[e.Name])
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "NetConf", "PluginConf":
			return pluginConf
		case "CommonArgs":
			return map[string]shape{"IgnoreUnknown": anything}
		case "IPAM":
			return map[string]shape{"type": {kind: "string"}}
		}
	}
	ast.Print(nil, expression)
	panic("an embedded field of a type that is not understood")
}

func (s *source) shapeOf(expression ast.Expr) shape {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return s.shapeOf(e.X)
	case *ast.ArrayType:
		element := s.shapeOf(e.Elt)
		return shape{element: &element}
	case *ast.StructType:
		return shape{fields: s.fieldsOf(e)}
	case *ast.SelectorExpr:
		if known, ok := foreign[e.X.(*ast.Ident).Name+"."+e.Sel.Name]; ok {
			return known
		}
	case *ast.Ident:
		if structure, ok := s.structs[e.Name]; ok {
			return shape{fields: s.fieldsOf(structure)}
		}
		if alias, ok := s.aliases[e.Name]; ok {
			return s.shapeOf(alias)
		}
		switch e.Name {
		case "string", "bool":
			return shape{kind: e.Name}
		case "int", "uint32", "uint64", "int32":
			return shape{kind: "int"}
		}
	}
	return anything // maps, and types of other packages
}

// Where the structure of each plugin's configuration is, in containernetworking/plugins.
var sources = map[string][2]string{
	"host-device": {"main/host-device", "NetConf"}, "macvlan": {"main/macvlan", "NetConf"}, "ipvlan": {"main/ipvlan", "NetConf"},
	"bridge": {"main/bridge", "NetConf"}, "vlan": {"main/vlan", "NetConf"}, "ptp": {"main/ptp", "NetConf"},
	"tuning": {"meta/tuning", "TuningConf"}, "sbr": {"meta/sbr", "PluginConf"}, "vrf": {"meta/vrf", "VRFNetConf"},
	"bandwidth": {"meta/bandwidth", "PluginConf"}, "portmap": {"meta/portmap", "PortMapConf"}, "firewall": {"meta/firewall", "FirewallNetConf"},
	"static": {"ipam/static", "Net"}, "dhcp": {"ipam/dhcp", "NetConf"}, "host-local": {"ipam/host-local/backend/allocator", "Net"},
}

// recorded are facts of a plugin that is in no registry that Go reaches.
type recorded struct {
	Source string
	Fields map[string]any
	Oldest string            // a release, and those fields of our table that it knows
	Later  map[string]string // the others: the first release that knows the field, and what older ones do without it
}

func recordedFacts(t *testing.T) (facts map[string]recorded) {
	t.Helper()
	text, err := os.ReadFile("structures.json")
	if err == nil {
		err = json.Unmarshal(text, &facts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// structures are what each plugin decodes at the top of its configuration. IPAM plugins are given the whole of it as well.
func structures(t *testing.T) map[string]shape {
	t.Helper()
	found := map[string]shape{}
	module := moduleDirectory(t, "github.com/containernetworking/plugins")
	for plugin, at := range sources {
		s := readSource(t, filepath.Join(module, "plugins", at[0]))
		structure := s.structs[at[1]]
		if structure == nil {
			t.Fatalf("%s has no type %s", at[0], at[1])
		}
		found[plugin] = shape{fields: s.fieldsOf(structure)}
	}
	for plugin, fact := range recordedFacts(t) {
		own := shapeOfFact(fact.Fields)
		for name, field := range pluginConf {
			if _, is := own.fields[name]; !is {
				own.fields[name] = field
			}
		}
		found[plugin] = own
	}
	for _, plugin := range []string{"rdma", "route-override"} { // their own fields are in docs/interfaces.md's tables; none names a device or a path
		found[plugin] = shape{fields: maps.Clone(pluginConf)}
	}
	return found
}

func shapeOfFact(fact any) shape {
	switch f := fact.(type) {
	case string:
		if f == "any" {
			return anything
		}
		return shape{kind: f}
	case []any:
		element := shapeOfFact(f[0])
		return shape{element: &element}
	}
	own := shape{fields: map[string]shape{}}
	for name, field := range fact.(map[string]any) {
		own.fields[name] = shapeOfFact(field)
	}
	return own
}

// typeOf is a Go type that encoding/json decodes as it decodes the plugin's own.
func (s shape) typeOf() reflect.Type {
	switch {
	case s.fields != nil:
		var fields []reflect.StructField
		for i, name := range slices.Sorted(maps.Keys(s.fields)) {
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.PointerTo(s.fields[name].typeOf()),
				Tag: reflect.StructTag(fmt.Sprintf("json:%q", name+",omitempty"))})
		}
		return reflect.StructOf(fields)
	case s.element != nil:
		return reflect.SliceOf(s.element.typeOf())
	}
	return reflect.TypeFor[any]()
}
