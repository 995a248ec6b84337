// Package upstream holds the evaluator against Kubernetes' own: k8s.io/dynamic-resource-allocation/cel over
// cel-go, as the scheduler of this module's release uses it.
package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

const (
	corpus = "../corpus"
	runner = "../../../build/t/cel_conformance"
)

// selectorCase is one line of a file of device-selector cases (corpus/README.md).
type selectorCase struct {
	ID         string          `json:"id"`
	Expression string          `json:"expression"`
	Device     json.RawMessage `json:"device"`
	Expect     answer          `json:"expect"`
	// Stricter says why an expression is refused here that upstream takes.
	Stricter string `json:"stricter,omitempty"`
}

// answer is what an expression gives: a match or not, or the time of its error.
type answer struct {
	Match   *bool   `json:"match,omitempty"`
	Error   string  `json:"error,omitempty"` // "compile", "runtime"
	Message string  `json:"message,omitempty"`
	Cost    *uint64 `json:"actual_cost,omitempty"`
}

func (a answer) String() string {
	if a.Match != nil {
		return fmt.Sprint(*a.Match)
	}
	return a.Error + " error: " + a.Message
}

func same(a, b answer) bool {
	return a.Error == b.Error && (a.Match == nil) == (b.Match == nil) && (a.Match == nil || *a.Match == *b.Match)
}

type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

func decodeDevice(t testing.TB, text []byte) cel.Device {
	t.Helper()
	var d device
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("no device: %v\n%s", err, text)
	}
	return cel.Device{Driver: d.Driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity}
}

// features are those that a cluster of this release has unless somebody turns them off.
var features = cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}

func compile(expression string) cel.CompilationResult {
	return cel.GetCompiler(features).CompileCELExpression(expression, cel.Options{DisableCostEstimation: true})
}

// ask is upstream's answer. cel-go panics while it folds some constants: that expression is not a program either.
func ask(expression string, d cel.Device) (out answer) {
	stage := "compile"
	defer func() {
		if panicked := recover(); panicked != nil {
			out = answer{Error: stage, Message: fmt.Sprint("panic: ", panicked)}
		}
	}()
	program := compile(expression)
	if program.Error != nil {
		return answer{Error: stage, Message: firstLine(program.Error.Detail)}
	}
	stage = "runtime"
	match, details, err := program.DeviceMatches(context.Background(), d)
	if details != nil {
		out.Cost = details.ActualCost()
	}
	if err != nil {
		out.Error, out.Message = stage, firstLine(err.Error())
		return out
	}
	out.Match = &match
	return out
}

func firstLine(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return line
}

// readCases skips the cases of the language alone, which have no device.
func readCases(t testing.TB, path string) []selectorCase {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []selectorCase
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(`"device":`)) {
			continue
		}
		var one selectorCase
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, one)
	}
	return out
}

func writeCases(t testing.TB, path string, cases []selectorCase) {
	t.Helper()
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	for _, one := range cases {
		if err := lines.Encode(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run lets build/t/cel_conformance judge the cases. What fails is its output.
func run(t testing.TB, cases []selectorCase) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cases.jsonl")
	writeCases(t, path, cases)
	out, err := exec.Command(runner, "--passed", fmt.Sprint(len(cases)), path).CombinedOutput()
	if err != nil {
		t.Fatalf("%s (built by ninja cel_conformance): %v\n%s", runner, err, out)
	}
}
