package cni

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

type command map[string]any

// interfaces are n host interfaces that one pod gets, each with an address and a route. A veth stands for a VF: the kernel moves and
// configures both in the same way, but a VF's driver may take longer to set it up.
func interfaces(n int, attach func(i int) command) (all []command) {
	for i := range n {
		one := attach(i)
		one["interface"] = fmt.Sprint("net", i+1)
		all = append(all, one)
	}
	return all
}

func benchInterface(i int) string { return fmt.Sprint("bench", i) }

func native(i int) command {
	return command{"hostInterface": benchInterface(i), "network": command{"addresses": []string{fmt.Sprintf("192.0.%d.7/24", i+2)},
		"routes": []command{{"destination": fmt.Sprintf("198.51.%d.0/24", i+2), "gateway": fmt.Sprintf("192.0.%d.1", i+2)}}}}
}

func static(i int) string {
	return fmt.Sprintf(`"ipam":{"type":"static","addresses":[{"address":"192.0.%d.7/24"}],"routes":[{"dst":"198.51.%d.0/24","gw":"192.0.%d.1"}]}`, i+2, i+2, i+2)
}

func hostDevice(i int) command {
	return command{"hostInterface": benchInterface(i),
		"config": `{"cniVersion":"1.0.0","name":"net","type":"host-device","device":"` + benchInterface(i) + `",` + static(i) + `}`}
}

func macvlan(i int) command {
	return command{"config": `{"cniVersion":"1.0.0","name":"net","type":"macvlan","master":"` + benchInterface(i) + `",` + static(i) + `}`}
}

func quantile(of []time.Duration, q float64) time.Duration {
	return of[min(len(of)-1, int(q*float64(len(of))))]
}

// byTwoBatches returns how long the kernel takes for what row "native" asks of it, and two starts of ip.
func (l *lab) byTwoBatches(b *testing.B, pod string, n int) time.Duration {
	run(b, "ip", "netns", "add", pod)
	var host, inPod strings.Builder
	for i := range n {
		fmt.Fprintf(&host, "link set %s netns %s name net%d\n", benchInterface(i), pod, i+1)
		fmt.Fprintf(&inPod, "link set net%d up\naddress add 192.0.%d.7/24 dev net%d\nroute add 198.51.%d.0/24 via 192.0.%d.1\n", i+1, i+2, i+1, i+2, i+2)
	}
	first, second := write(b, filepath.Join(b.TempDir(), "host"), host.String()), write(b, filepath.Join(b.TempDir(), "pod"), inPod.String())
	begun := time.Now()
	run(b, "ip", "-n", l.host, "-batch", first)
	run(b, "ip", "-n", pod, "-batch", second)
	took := time.Since(begun)
	for i := range n {
		run(b, "ip", "-n", pod, "link", "set", fmt.Sprint("net", i+1), "down", "netns", l.host, "name", benchInterface(i))
	}
	run(b, "ip", "netns", "del", pod)
	return took
}

// Interfaces of a pod: the time of kubelet::Attachments from the request to the answer, with the records on disk and what it reads of the host
// before and behind. All rows take turns, so that other load falls on all.
func BenchmarkAttach(b *testing.B) {
	b.StopTimer()
	l := newLab(b, buildPlugins(b))
	p := l.startAttachments()
	for i := range 8 {
		run(b, "ip", "-n", l.host, "link", "add", benchInterface(i), "type", "veth", "peer", "name", benchInterface(i)+"-far")
		run(b, "ip", "-n", l.host, "link", "set", benchInterface(i)+"-far", "up")
	}
	rows := []struct {
		name   string
		orders []command
		times  []time.Duration
	}{
		{name: "native, 1 interface", orders: interfaces(1, native)},
		{name: "host-device and static, 1 interface", orders: interfaces(1, hostDevice)},
		{name: "native, 8 interfaces", orders: interfaces(8, native)},
		{name: "host-device and static, 8 interfaces", orders: interfaces(8, hostDevice)},
		{name: "macvlan and static, 1 interface", orders: interfaces(1, macvlan)},
	}
	helper, err := filepath.Abs("../../../build/sliced")
	if err != nil {
		b.Fatal(err)
	}
	floors := map[int][]time.Duration{1: nil, 8: nil}
	var starts []time.Duration
	const rounds = 50
	for round := range rounds {
		for i := range rows {
			row := &rows[i]
			pod := fmt.Sprintf("%s-%d-%d", l.pod, round, i)
			run(b, "ip", "netns", "add", pod)
			for _, order := range row.orders {
				order["containerID"], order["netns"], order["command"] = pod, "/run/netns/"+pod, "attach"
			}
			begun := time.Now()
			if problem := p.tell(row.orders); problem != "" {
				b.Fatalf("%s: %s", row.name, problem)
			}
			row.times = append(row.times, time.Since(begun))
			if got := strings.Count(run(b, "ip", "-n", pod, "-br", "address"), "192.0."); got != len(row.orders) {
				b.Fatalf("%s: %d of %d interfaces have an address", row.name, got, len(row.orders))
			}
			for _, order := range row.orders {
				order["command"] = "detach"
			}
			if problem := p.tell(row.orders); problem != "" {
				b.Fatalf("%s: DEL: %s", row.name, problem)
			}
			run(b, "ip", "netns", "del", pod)
		}
		for n := range floors {
			floors[n] = append(floors[n], l.byTwoBatches(b, fmt.Sprintf("%s-%d-ip%d", l.pod, round, n), n))
		}
		begun := time.Now()
		exec.Command(helper, "attach-helper", fmt.Sprint(os.Getpid())).Run() // without an order it ends at once
		starts = append(starts, time.Since(begun))
	}
	slices.Sort(starts)
	for i := range rows {
		slices.Sort(rows[i].times)
	}
	for n, times := range floors {
		slices.Sort(times)
		b.Logf("%-40s median %6.2f ms", fmt.Sprintf("floor: ip -batch, %d at once", n), quantile(times, 0.5).Seconds()*1e3)
	}
	floor := quantile(rows[1].times, 0.5)
	for _, row := range rows {
		median := quantile(row.times, 0.5)
		b.Logf("%-40s median %6.2f ms  p99 %6.2f ms  %5.2fx of one host-device", row.name, median.Seconds()*1e3,
			quantile(row.times, 0.99).Seconds()*1e3, median.Seconds()/floor.Seconds())
	}
	b.Logf("%-40s median %6.2f ms", "a start of the program that attaches", quantile(starts, 0.5).Seconds()*1e3)
}

// 50 pods with an interface each, as after a restart of a node. containerd asks for one sandbox after the other (kubelet/interfaces/hook_time.h), and its
// limit is for each: the longest of 50 counts. "at once" is the time until the last of 50 that are begun together has its interface, as for a
// runtime that asks in parallel.
func BenchmarkFiftyPods(b *testing.B) {
	b.StopTimer()
	const pods, rounds = 50, 5
	l := newLab(b, buildPlugins(b))
	p := l.startAttachments()
	for i := range pods {
		run(b, "ip", "-n", l.host, "link", "add", benchInterface(i), "type", "veth", "peer", "name", benchInterface(i)+"-far")
		run(b, "ip", "-n", l.host, "link", "set", benchInterface(i)+"-far", "up")
	}
	leases := b.TempDir()
	rows := []struct {
		name  string
		order func(i int) command
		times []time.Duration // at once
		each  []time.Duration // one after the other
	}{
		{name: "native", order: native},
		{name: "native, with host-local", order: func(i int) command {
			return command{"hostInterface": benchInterface(i), "network": command{"ipam": command{"type": "host-local", "subnet": "192.0.2.0/24", "dataDir": leases}}}
		}},
		{name: "native macvlan, on one device", order: func(i int) command {
			return command{"parent": "eno1", "network": command{"type": "macvlan", "addresses": []string{fmt.Sprintf("192.0.2.%d/24", i+2)}}}
		}},
		{name: "host-device and static", order: hostDevice},
		{name: "macvlan and static, on one device", order: func(i int) command {
			return command{"config": fmt.Sprintf(`{"cniVersion":"1.0.0","name":"net","type":"macvlan","master":"eno1",%s}`, static(i))}
		}},
	}
	for round := range rounds {
		for r := range rows {
			row := &rows[r]
			var orders []command
			var batch strings.Builder
			for i := range pods {
				pod := fmt.Sprintf("%s-%d-%d-%d", l.pod, round, r, i)
				fmt.Fprintf(&batch, "netns add %s\n", pod)
				order := row.order(i)
				order["command"], order["containerID"], order["netns"] = "attach", pod, "/run/netns/"+pod
				orders = append(orders, order)
			}
			run(b, "ip", "-batch", write(b, filepath.Join(b.TempDir(), "pods"), batch.String()))
			detach := func() {
				for _, order := range orders {
					order["command"] = "detach"
				}
				if problem := p.tell(orders); problem != "" {
					b.Fatalf("%s: DEL: %s", row.name, problem)
				}
			}
			begun := time.Now()
			if problem := p.tell(orders); problem != "" {
				b.Fatalf("%s: %s", row.name, problem)
			}
			row.times = append(row.times, time.Since(begun))
			detach()
			for _, order := range orders {
				order["command"] = "attach"
				begun := time.Now()
				if problem := p.tell(order); problem != "" {
					b.Fatalf("%s: %s", row.name, problem)
				}
				row.each = append(row.each, time.Since(begun))
			}
			detach()
			run(b, "ip", "-batch", write(b, filepath.Join(b.TempDir(), "gone"), strings.ReplaceAll(batch.String(), "netns add", "netns del")))
		}
	}
	const limit = 1800 * time.Millisecond // of containerd's 2 s (kubelet/interfaces/hook_time.h)
	for _, row := range rows {
		slices.Sort(row.times)
		slices.Sort(row.each)
		late := 0
		for _, one := range row.each {
			if one > limit {
				late++
			}
		}
		b.Logf("50 pods: %-36s each median %6.1f ms, max %7.1f ms, %d of %d beyond the runtime's %v; at once median %7.1f ms", row.name,
			quantile(row.each, 0.5).Seconds()*1e3, row.each[len(row.each)-1].Seconds()*1e3, late, len(row.each), limit, quantile(row.times, 0.5).Seconds()*1e3)
	}
}
