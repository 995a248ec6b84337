package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	api "k8s.io/client-go/tools/clientcmd/api"

	"sliced.test/cluster/harness"
)

type (
	M = map[string]any
	L = []any
)

// The PFs that are there at boot, and how long the emulated kernel may take for what it does.
const (
	pf0, pf1 = "0000:21:00.0", "0000:41:00.0"
	patience = harness.Patience
)

// world is one scenario: a node, a user and a history on the control plane, a daemon in the guest.
type world struct {
	*harness.Lab
	t    testing.TB
	pid  string
	runs int
	log  string // on this machine
}

// The guest as it was at boot. What is busy is let go first.
const reset = `
killall -q -KILL sliced
for netns in /run/netns/*; do [ -e "$netns" ] && ip netns del "${netns##*/}"; done
[ -S /run/udev/control ] && pidof systemd-udevd >/dev/null || { rm -f /run/udev/control; systemd-udevd --daemon; }
killall -CONT systemd-udevd
ip link del br0 2>/dev/null
for pf in ` + pf0 + ` ` + pf1 + `; do
  for override in /sys/bus/pci/devices/$pf/virtfn*/driver_override; do [ -e "$override" ] && echo >"$override"; done
  echo 0 >/sys/bus/pci/devices/$pf/sriov_numvfs
done
udevadm settle --timeout=100000
for pair in ` + pf0 + `:ens1 ` + pf1 + `:ens2; do
  now=$(ls /sys/bus/pci/devices/${pair%:*}/net)
  [ "$now" = "${pair##*:}" ] || { ip link set "$now" down; ip link set "$now" name "${pair##*:}"; }
done
`

func newWorld(t testing.TB) *world {
	t.Helper()
	if guest.isStill {
		t.Fatal("the guest's kernel stands still, since an earlier scenario")
	}
	guest.heard = len(guest.process.Log())
	guest.Run(t, reset)
	w := &world{Lab: harness.NewHostlessLab(t, plane), t: t}
	_, port, _ := strings.Cut(strings.TrimPrefix(plane.Server.URL, "https://"), ":")
	config := plane.Kubeconfig(t, "https://10.0.2.2:"+port, &api.AuthInfo{Token: w.User.Token})
	text, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(filepath.Join(guest.Dir, "kubeconfig-"+w.Node), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", w.tail(60))
			guest.tellOfStandstill(t)
		}
		guest.Try("killall -q -KILL sliced", patience)
	})
	return w
}

// run starts the daemon in the guest.
func (w *world) run(extra ...string) {
	w.t.Helper()
	w.runs++
	name := fmt.Sprintf("%s-%d.log", w.Node, w.runs)
	w.log = filepath.Join(guest.Dir, name)
	w.pid = guest.Run(w.t, fmt.Sprintf("sliced run --cluster kubeconfig:/host/kubeconfig-%s --node-name %s --namespace %s %s "+
		">/host/%s 2>&1 </dev/null & echo $!", w.Node, w.Node, w.Namespace, strings.Join(extra, " "), name))
}

func (w *world) kill() { guest.Run(w.t, "kill -KILL "+w.pid) }

func (w *world) said() string {
	text, _ := os.ReadFile(w.log)
	return string(text)
}

func (w *world) tail(lines int) string {
	all := strings.Split(w.said(), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// running starts the daemon with one policy that takes every VF, and waits until it has synced.
func running(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.Apply("all", harness.Config("", M{"vendors": L{"8086"}}))
	w.run()
	w.History.WaitOffers(t, 0, patience)
	return w
}

// now is a revision: what is waited for must come of a write later than this.
func (w *world) now() int64 { return w.Watcher.Revision(w.t) }

// offers waits for a write after rv that leaves exactly these devices.
func (w *world) offers(rv int64, names ...[]string) harness.PoolState {
	w.t.Helper()
	var all []string
	for _, list := range names {
		all = append(all, list...)
	}
	return w.History.WaitOffers(w.t, rv, patience, all...)
}

// fewer waits for the first state after rv with fewer devices than n.
func (w *world) fewer(rv int64, n int) harness.PoolState {
	w.t.Helper()
	return w.History.Wait(w.t, fmt.Sprintf("fewer than %d devices", n), rv, patience, func(s harness.PoolState) bool { return len(s.Names()) < n })
}

// vf is the address of a VF: igb's begin 128 routing ids after the PF and lie two apart.
func vf(pf string, i int) string {
	id := 0x80 + 2*i
	return fmt.Sprintf("%s%02x.%d", pf[:len("0000:21:")], id>>3, id&7)
}

func vfs(pf string, n int) (names []string) {
	for i := range n {
		names = append(names, harness.DeviceName(vf(pf, i)))
	}
	return names
}

// setVFs has the kernel make n VFs, where there are none or n is 0, and returns how long that took until udev had named them.
func setVFs(t testing.TB, pf string, n int) time.Duration {
	t.Helper()
	out := guest.Run(t, fmt.Sprintf("cd /sys/bus/pci/devices/%s && read since rest </proc/uptime && echo %d >sriov_numvfs && "+
		"udevadm settle --timeout=100000 && read now rest </proc/uptime && echo $since $now", pf, n))
	since, now, _ := strings.Cut(out, " ")
	a, err := strconv.ParseFloat(since, 64)
	b, err2 := strconv.ParseFloat(now, 64)
	if err != nil || err2 != nil {
		t.Fatalf("uptimes %q", out)
	}
	return time.Duration((b - a) * float64(time.Second))
}

// writesAtMost counts what the daemon wrote since then and before the write that led to next, the consequence of a later change: the
// daemon does one thing after the other, so that all of it is in the log.
func (w *world) writesAtMost(since time.Time, next harness.PoolState, most int, what string) {
	w.t.Helper()
	plane.Server.Audit.AwaitSlices(w.t, next)
	writes := plane.Server.Audit.Writes(w.t, w.User, since)
	// A node's report and its events have times of their own.
	writes = slices.DeleteFunc(writes, func(r harness.Request) bool { return r.Ref.Resource != "resourceslices" })
	if end := slices.IndexFunc(writes, func(r harness.Request) bool { return r.Revision() == next.RV }); end >= 0 {
		writes = writes[:end]
	} else {
		w.t.Fatalf("%s: no write in the audit log led to %s", what, next)
	}
	if len(writes) > most {
		w.t.Errorf("%s: %d writes, at most %d", what, len(writes), most)
		for _, r := range writes {
			w.t.Logf("  %s %s %s %d", r.Received.Format("15:04:05.000"), r.Verb, r.Ref.Name, r.Answer.Code)
		}
	}
}

// grows and shrinks fail when a consumer ever saw fewer, or more, devices than just before.
func (w *world) grows(rv int64)   { w.t.Helper(); w.monotonic(rv, 1) }
func (w *world) shrinks(rv int64) { w.t.Helper(); w.monotonic(rv, -1) }

func (w *world) monotonic(rv int64, sign int) {
	w.t.Helper()
	states := w.History.States(w.t, rv)
	for i := 1; i < len(states); i++ {
		if sign*(len(states[i].Devices())-len(states[i-1].Devices())) < 0 {
			w.t.Fatalf("a consumer saw %s\nafter %s", states[i], states[i-1])
		}
	}
}
