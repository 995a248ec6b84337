package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

// big is a host of PFs with 128 VFs each, all offered by one policy.
func big(b *testing.B, cards int) (*harness.Lab, *harness.Daemon, []harness.PF) {
	b.Helper()
	var pfs []harness.PF
	var names []string
	for i := range cards {
		pf := harness.E810(fmt.Sprintf("%02x", 3+i), fmt.Sprintf("ens%df0", 1+i), 128)
		pf.TotalVFs = 128
		pfs = append(pfs, pf)
		names = append(names, vfs(pf, 0, 128)...)
	}
	lab := harness.NewLab(b, shared, pfs...)
	lab.Apply("p", harness.Config("intel", M{"vendors": L{"8086"}}))
	daemon := lab.Run()
	lab.History.WaitOffers(b, 0, starting, names...)
	return lab, daemon, pfs
}

// BenchmarkFootprint prints the daemon's resident memory with 256 VFs offered and all watches open, beside that of a
// process with the same libraries and one connection, and the system calls of an idle minute.
func BenchmarkFootprint(b *testing.B) {
	lab, daemon, _ := big(b, 2)
	idle, err := harness.StartProcess("idle", filepath.Join(b.TempDir(), "idle.log"), harness.Path("../../build/t/bench_idle"),
		"run", "--cluster", "kubeconfig:"+lab.Config, "--node-name", "idle")
	if err != nil {
		b.Fatal(err)
	}
	defer idle.Kill()
	time.Sleep(65 * time.Second) // the start is over, and the schemas were read
	trace := filepath.Join(b.TempDir(), "strace")
	minute, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	strace := exec.CommandContext(minute, "strace", "-c", "-f", "-o", trace, "-p", strconv.Itoa(daemon.PID()))
	strace.Cancel = func() error { return strace.Process.Signal(os.Interrupt) }
	strace.Run()
	counted, err := os.ReadFile(trace)
	if err != nil {
		b.Fatal(err)
	}
	calls := 0
	if total := regexp.MustCompile(`(?m)^\s*100\.00\s+\S+\s+\S+\s+(\d+).*total$`).FindSubmatch(counted); total != nil {
		calls, _ = strconv.Atoi(string(total[1]))
	} else if len(counted) > 0 {
		b.Fatalf("strace said:\n%s", counted)
	}
	ours, floor := memory(b, daemon.PID(), "VmRSS"), memory(b, idle.PID(), "VmRSS")
	b.ReportMetric(ours/1024, "rss-MiB")
	b.ReportMetric(memory(b, daemon.PID(), "RssAnon")/1024, "anon-MiB")
	b.ReportMetric(floor/1024, "idle-rss-MiB")
	b.ReportMetric(ours/floor, "rss-ratio")
	b.ReportMetric(float64(calls), "syscalls/idle-minute")
	b.ReportMetric(0, "ns/op")
}

// memory is a field of /proc/PID/status in KiB.
func memory(b *testing.B, pid int, field string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == field+":" {
			kib, _ := strconv.ParseFloat(words[1], 64)
			return kib
		}
	}
	b.Fatalf("no %s in\n%s", field, text)
	return 0
}

// BenchmarkHostEvent prints how long it takes from the uevent of a VF's removal until the API server has answered the write
// that withdraws it (removals do not settle), beside a bare PUT of the same bytes over an open connection; what is left of
// it when that is taken away; and our own processor time, with the reading and the watch events that follow.
func BenchmarkHostEvent(b *testing.B) {
	for _, cards := range []int{2, 32} {
		b.Run(fmt.Sprintf("%d-VFs", 128*cards), func(b *testing.B) { hostEvent(b, cards) })
	}
}

func hostEvent(b *testing.B, cards int) {
	lab, daemon, pfs := big(b, cards)
	for before := time.Duration(-1); before != processorTime(b, daemon.PID()); time.Sleep(500 * time.Millisecond) {
		before = processorTime(b, daemon.PID()) // until the start is over
	}
	var ours []time.Duration
	var last harness.Request
	busy := processorTime(b, daemon.PID())
	for i := range 20 {
		since := time.Now()
		lab.Host.SetVFs(pfs[0].Address, 127-i)
		for deadline := since.Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if writes := shared.Server.Audit.Writes(b, lab.User, since); len(writes) > 0 && writes[0].Stage == "ResponseComplete" {
				last = writes[0]
				break
			}
			if time.Now().After(deadline) {
				b.Fatal("no write in 5 s")
			}
		}
		ours = append(ours, last.Staged.Sub(lab.Host.Told))
		time.Sleep(200 * time.Millisecond) // events that come apart are what is measured
	}
	busy = processorTime(b, daemon.PID()) - busy
	daemon.Kill()
	slice := last.Slice(b)
	slice.ResourceVersion, slice.UID = "", ""
	var floors []time.Duration
	put := barePut(b, lab.User, slice.Name)
	for i := range 21 {
		slice.Annotations = map[string]string{"round": strconv.Itoa(i)} // an equal PUT would not be stored
		body, _ := json.Marshal(slice)
		took := put(body)
		if i > 0 { // the first one warms up
			floors = append(floors, took)
		}
		time.Sleep(100 * time.Millisecond)
	}
	o, f := median(ours), median(floors)
	b.ReportMetric(float64(o.Microseconds())/1000, "event-to-answer-ms")
	b.ReportMetric(float64(f.Microseconds())/1000, "bare-put-ms")
	b.ReportMetric(float64(o)/float64(f), "ratio")
	b.ReportMetric(float64((o-f).Microseconds())/1000, "left-ms")
	b.ReportMetric(float64(busy.Microseconds())/1000/20, "our-cpu-ms")
	b.ReportMetric(0, "ns/op")
}

// processorTime is that of all threads of a process (/proc/PID/task/TID/schedstat: nanoseconds).
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		b.Fatalf("no threads of %d: %v", pid, err)
	}
	var sum time.Duration
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		nanoseconds, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(nanoseconds)
	}
	return sum
}

// barePut starts the floor: a program of libuv and OpenSSL alone, with one connection open. What it returns puts a body and
// says how long the answer took.
func barePut(b *testing.B, u harness.User, name string) func(body []byte) time.Duration {
	b.Helper()
	config := shared.Server.RESTConfig(u)
	server, err := url.Parse(config.Host)
	if err != nil {
		b.Fatal(err)
	}
	path := "/apis/resource.k8s.io/v1/resourceslices/" + name + "?fieldValidation=Strict"
	floor := exec.Command("../../build/t/bench_put_floor", server.Hostname(), server.Port(), path, config.BearerToken)
	in, err := floor.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := floor.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	floor.Stderr = os.Stderr
	if err := floor.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); floor.Wait() })
	return func(body []byte) time.Duration {
		fmt.Fprintf(in, "%d\n%s", len(body), body)
		var status, microseconds int
		if _, err := fmt.Fscan(out, &status, &microseconds); err != nil || status != 200 {
			b.Fatalf("the bare PUT was answered %d (%v)", status, err)
		}
		return time.Duration(microseconds) * time.Microsecond
	}
}
