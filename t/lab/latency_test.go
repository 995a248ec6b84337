package lab

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

const rounds = 20

// BenchmarkLatency prints how long it takes until a watcher of slices sees the consequence of a change, beside the least
// that it can take: udev's own word of the change in the same guest, and a bare PUT of the same bytes from there.
func BenchmarkLatency(b *testing.B) {
	w := newWorld(b)
	w.Apply("all", harness.Config("", M{"vendors": L{"8086"}}))
	w.run()
	w.History.WaitOffers(b, 0, patience)
	guest.Run(b, "udevadm monitor --kernel --udev -s net >/tmp/monitor 2>&1 & sleep 1")

	var made, told, edited, unplugged, gone []float64 // milliseconds
	for range rounds {
		clock := guestClock(b)
		rv := w.now()
		since := number(b, guest.Run(b, "read now rest </proc/uptime; echo 7 >/sys/bus/pci/devices/"+pf0+"/sriov_numvfs; echo $now"))
		state := w.offers(rv, vfs(pf0, 7))
		guest.Run(b, "udevadm settle")
		made = append(made, 1000*(clock(state.At)-since))
		told = append(told, 1000*(lastWord(b, "UDEV", "add", since)-since))
		rv = w.now()
		setVFs(b, pf0, 0)
		w.offers(rv)
	}
	setVFs(b, pf0, 7)
	wide := w.offers(0, vfs(pf0, 7))
	for i := range rounds {
		config, want := harness.Config("", M{"vendors": L{"8086"}}), 7
		if i%2 == 0 {
			config, want = harness.Config("", M{"pfNames": L{"ens1#0-2"}}), 3
		}
		since := time.Now()
		state := w.offers(w.Apply("all", config), vfs(pf0, want))
		edited = append(edited, 1000*state.At.Sub(since).Seconds())
	}
	for i := range rounds {
		id := fmt.Sprintf("latency%d", i)
		rv := w.now()
		card := plug(b, id, "slot2")
		setVFs(b, card, 2)
		w.offers(rv, vfs(pf0, 7), vfs(card, 2))
		clock := guestClock(b)
		rv = w.now()
		since := time.Now()
		guest.Unplug(b, id)
		state := w.offers(rv, vfs(pf0, 7))
		guest.Run(b, "udevadm settle")
		unplugged = append(unplugged, 1000*state.At.Sub(since).Seconds())
		gone = append(gone, 1000*(lastWord(b, "KERNEL", "remove", clock(since))-clock(since)))
	}
	put := w.barePuts(b, wide)
	report(b, "sriov_numvfs-to-slice", made, median(told)+median(put))
	report(b, "udev-has-named-7-vfs", told, 0)
	report(b, "policy-edit-to-slice", edited, median(put))
	report(b, "unplug-to-slice", unplugged, median(gone)+median(put))
	report(b, "kernel-says-removed", gone, 0)
	report(b, "bare-put", put, 0)
	b.ReportMetric(0, "ns/op")
}

// report prints the distribution, and the ratio of its median to the floor where there is one.
func report(b *testing.B, name string, all []float64, floor float64) {
	slices.Sort(all)
	p99 := all[int(math.Ceil(0.99*float64(len(all))))-1]
	b.Logf("%-24s min %8.1f  median %8.1f  p99 %8.1f ms", name, all[0], median(all), p99)
	if floor > 0 {
		b.Logf("%-24s %.2f times the floor of %.1f ms", name, median(all)/floor, floor)
		b.ReportMetric(median(all)/floor, name+"-ratio")
	}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func number(b *testing.B, text string) float64 {
	b.Helper()
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		b.Fatalf("%q is not a number", text)
	}
	return value
}

// guestClock turns this machine's time into the guest's uptime, by the quickest of five questions.
func guestClock(b *testing.B) func(time.Time) float64 {
	b.Helper()
	best, at, uptime := time.Hour, time.Time{}, 0.0
	for range 5 {
		before := time.Now()
		text := guest.Run(b, "read now rest </proc/uptime; echo $now")
		if took := time.Since(before); took < best {
			best, at, uptime = took, before.Add(took/2), number(b, text)
		}
	}
	return func(t time.Time) float64 { return uptime + t.Sub(at).Seconds() }
}

// KERNEL[12.345678] remove   /devices/pci0000:20/.../net/ens1v0 (net)
var word = regexp.MustCompile(`(?m)^(KERNEL|UDEV) *\[([0-9.]+)\] (\w+) .*v\d+ \(net\)$`)

// lastWord is the uptime of the monitor's last such line about a VF's interface after since.
func lastWord(b *testing.B, who, action string, since float64) float64 {
	b.Helper()
	latest := 0.0
	for _, line := range word.FindAllStringSubmatch(guest.Run(b, "cat /tmp/monitor"), -1) {
		if at := number(b, line[2]); line[1] == who && line[3] == action && at >= since {
			latest = max(latest, at)
		}
	}
	if latest == 0 {
		b.Fatalf("%s said no %s", who, action)
	}
	return latest
}

// barePuts sends a slice as large as the daemon's from the guest, by libuv and OpenSSL alone.
func (w *world) barePuts(b *testing.B, state harness.PoolState) (took []float64) {
	b.Helper()
	guest.Run(b, "kill -KILL "+w.pid)
	var input strings.Builder
	var name string
	for i := range rounds + 1 {
		for _, slice := range state.Slices {
			slice = slice.DeepCopy()
			name = slice.Name
			slice.ResourceVersion, slice.UID = "", ""
			slice.Annotations = map[string]string{"round": strconv.Itoa(i)}
			body, err := json.Marshal(slice)
			if err != nil {
				b.Fatal(err)
			}
			fmt.Fprintf(&input, "%d\n%s", len(body), body)
		}
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(plane.Server.URL, "https://"), ":")
	out := guest.Run(b, fmt.Sprintf("echo %s | base64 -d | bench_put_floor 10.0.2.2 %s '/apis/resource.k8s.io/v1/resourceslices/%s?fieldValidation=Strict' %s",
		base64.StdEncoding.EncodeToString([]byte(input.String())), port, name, w.User.Token))
	for _, line := range strings.Split(out, "\n")[1:] { // the first one warms up
		status, microseconds, _ := strings.Cut(line, " ")
		if status != "200" {
			b.Fatalf("a bare PUT was answered %s", line)
		}
		took = append(took, number(b, microseconds)/1000)
	}
	return took
}
