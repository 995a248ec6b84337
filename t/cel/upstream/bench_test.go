package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

const (
	benchmark = "../../../build/t/bench_cel"
	driver    = "dra.networking"
)

// selectors are of the kind that classes and claims have.
var selectors = []string{
	`device.driver == "dra.networking"`,
	`device.attributes["dra.networking"].type == "vf"`,
	`device.attributes["dra.networking"].type == "vf" && device.attributes["dra.networking"].pfName == "enp3s0f1"`,
	`device.attributes["dra.networking"].vendor in ["15b3", "8086"]`,
	`has(device.attributes["dra.networking"].rdma) && device.attributes["dra.networking"].rdma`,
	`device.attributes["dra.networking"].numaNode == 1 && device.attributes["dra.networking"].mtu >= 9000`,
	`device.attributes["dra.networking"].supportedCNIs.includes("macvlan")`,
	`device.attributes["dra.networking"].ifName.startsWith("enp3s0f1v") || device.attributes["dra.networking"].ifName.matches("^ens[0-9]+$")`,
	`device.capacity["dra.networking"].bandwidth.compareTo(quantity("25G")) >= 0`,
	`device.attributes["dra.networking"].?physicalNetworkName.orValue("none") == "fabric-a"`,
}

// workload is 1,000 devices in slices of 100, each with twelve attributes and a capacity.
func workload() []resourceapi.ResourceSlice {
	text := func(s string) resourceapi.DeviceAttribute { return resourceapi.DeviceAttribute{StringValue: &s} }
	number := func(n int) resourceapi.DeviceAttribute {
		return resourceapi.DeviceAttribute{IntValue: ptr.To(int64(n))}
	}
	var out []resourceapi.ResourceSlice
	for s := range 10 {
		slice := resourceapi.ResourceSlice{
			TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSlice"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", s)},
			Spec: resourceapi.ResourceSliceSpec{
				Driver: driver, NodeName: ptr.To("n"),
				Pool: resourceapi.ResourcePool{Name: "n", Generation: 1, ResourceSliceCount: 10},
			},
		}
		for d := range 100 {
			i := s*100 + d
			device := resourceapi.Device{
				Name: fmt.Sprint("d", i),
				Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
					"type":                            text([]string{"vf", "vf", "vf", "pf"}[i%4]),
					"pfName":                          text(fmt.Sprint("enp3s0f", i%3)),
					"ifName":                          text(fmt.Sprintf("enp3s0f%dv%d", i%3, i)),
					"vendor":                          text([]string{"15b3", "8086", "14e4"}[i%3]),
					"product":                         text("101e"),
					"hwDriver":                        text("mlx5_core"),
					"numaNode":                        number(i % 2),
					"vfIndex":                         number(i),
					"mtu":                             number([]int{1500, 9000}[i/2%2]),
					"supportedCNIs":                   {StringValues: []string{"sriov", "macvlan", "ipvlan"}[i%2:]},
					"resource.kubernetes.io/pciBusID": text(fmt.Sprintf("0000:%02x:%02x.%d", i/256, i/8%32, i%8)),
					"resource.kubernetes.io/pcieRoot": text("pci0000:00"),
				},
				Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
					"bandwidth": {Value: resource.MustParse([]string{"10G", "25G", "100G"}[i%3])},
				},
			}
			if i%2 == 0 {
				device.Attributes["rdma"] = resourceapi.DeviceAttribute{BoolValue: ptr.To(i%4 == 0)}
			}
			if i%5 == 0 {
				device.Attributes["physicalNetworkName"] = text("fabric-a")
			}
			slice.Spec.Devices = append(slice.Spec.Devices, device)
		}
		out = append(out, slice)
	}
	return out
}

// figures are what a side of the benchmark measures of itself: an evaluation, an expression compiled, and the whole
// of ten of them with the environment that they share.
type figures struct {
	Nanoseconds float64 `json:"ns"`
	Matches     int     `json:"matches"`
	Errors      int     `json:"errors"`
	BytesEach   uint64  `json:"bytes_each"`
	BytesWhole  uint64  `json:"bytes_whole"`
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func compileAll(b *testing.B) []cel.CompilationResult {
	var out []cel.CompilationResult
	for _, selector := range selectors {
		program := compile(selector)
		if program.Error != nil {
			b.Fatal(program.Error)
		}
		out = append(out, program)
	}
	return out
}

func measure(programs []cel.CompilationResult, slices []resourceapi.ResourceSlice) (out figures) {
	ctx := context.Background()
	evaluations := 0
	start := time.Now()
	for _, slice := range slices {
		for _, d := range slice.Spec.Devices {
			one := cel.Device{Driver: driver, Attributes: d.Attributes, Capacity: d.Capacity}
			for _, program := range programs {
				match, _, err := program.DeviceMatches(ctx, one)
				if err != nil {
					out.Errors++
				} else if match {
					out.Matches++
				}
				evaluations++
			}
		}
	}
	out.Nanoseconds = float64(time.Since(start).Nanoseconds()) / float64(evaluations)
	return out
}

// 1,000 devices x 10 selectors: upstream's package, and build/t/bench_cel over the same devices, in turns. Fails when the
// answers differ; figures are only printed.
func BenchmarkSelectors(b *testing.B) {
	devices := workload()
	before := heap()
	programs := compileAll(b)
	theirs := figures{BytesWhole: heap() - before}
	again := heap()
	const times = 20
	var more [][]cel.CompilationResult
	for range times {
		more = append(more, compileAll(b))
	}
	theirs.BytesEach = (heap() - again) / uint64(times*len(selectors))
	runtime.KeepAlive(more)
	more = nil

	path := filepath.Join(b.TempDir(), "work.json")
	text, err := json.Marshal(map[string]any{"expressions": selectors, "slices": devices})
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
	var a, c []float64
	var ours figures
	for range 7 {
		round := measure(programs, devices)
		theirs.Matches, theirs.Errors = round.Matches, round.Errors
		a = append(a, round.Nanoseconds)
		out, err := exec.Command(benchmark, path).Output()
		if err == nil {
			err = json.Unmarshal(out, &ours)
		}
		if err != nil {
			b.Fatalf("%s: %v", benchmark, err)
		}
		c = append(c, ours.Nanoseconds)
	}
	slices.Sort(a)
	slices.Sort(c)
	theirs.Nanoseconds, ours.Nanoseconds = a[len(a)/2], c[len(c)/2]
	if theirs.Matches != ours.Matches || theirs.Matches < 2000 || theirs.Errors+ours.Errors > 0 {
		b.Errorf("upstream: %+v, ours: %+v", theirs, ours)
	}
	fmt.Printf("CEL, 1,000 devices x 10 selectors        upstream %8.0f ns each (%.0f to %.0f)   ours %6.0f ns (%.0f to %.0f)   %.1fx faster\n",
		theirs.Nanoseconds, a[0], a[len(a)-1], ours.Nanoseconds, c[0], c[len(c)-1], theirs.Nanoseconds/ours.Nanoseconds)
	fmt.Printf("CEL, a compiled selector                 upstream %8d bytes   ours %8d bytes   ratio %.3f\n",
		theirs.BytesEach, ours.BytesEach, float64(ours.BytesEach)/float64(theirs.BytesEach))
	fmt.Printf("CEL, the environment and 10 selectors    upstream %8d bytes   ours %8d bytes   ratio %.3f\n",
		theirs.BytesWhole, ours.BytesWhole, float64(ours.BytesWhole)/float64(theirs.BytesWhole))
	b.ReportMetric(theirs.Nanoseconds/ours.Nanoseconds, "x")
}
