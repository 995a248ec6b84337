package lab

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

// Twenty changes, and at a random moment of each the daemon is killed. Red when a restart publishes before it knows
// everything, leaves a pool incomplete, or finds no way from what the killed one left. -seed chooses the moments.
func TestKilledDuringChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 0))
	w := running(t)
	setVFs(t, pf1, 7)
	constant := vfs(pf1, 7)
	first := w.offers(0, constant).RV
	count := 0
	for change := range 20 {
		rv := w.now()
		if count > 0 {
			count = 0
		} else {
			count = []int{2, 5, 7}[random.IntN(3)]
		}
		guest.Run(t, fmt.Sprintf("(echo %d >/sys/bus/pci/devices/%s/sriov_numvfs) >/dev/null 2>&1 &", count, pf0))
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		w.kill()
		w.run()
		want := append(append([]string{}, constant...), vfs(pf0, count)...)
		w.awake(change + 2)
		// What the killed daemon had already written counts: after it the newest state is the right one.
		for deadline := harness.Limit(); !w.History.Now().Offers(want...) || w.History.Now().RV < rv; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("change %d, %d VFs (seed %d): offered is %s", change, count, *seed, w.History.Now())
			}
		}
	}
	w.History.NeverBelow(t, first, constant...)
}

// Red when the daemon trusts a udevd that says nothing: only the kernel's own messages tell of the VFs then.
func TestUdevStopped(t *testing.T) {
	w := running(t)
	guest.Run(t, "killall -STOP systemd-udevd")
	rv := w.now()
	guest.Run(t, "echo 3 >/sys/bus/pci/devices/"+pf0+"/sriov_numvfs")
	// What udevd has not finished with waits, unless its policy does not ask for that.
	w.ApplyReady("all", M{"require": L{}}, harness.Config("", M{"vendors": L{"8086"}}))
	w.offers(rv, vfs(pf0, 3))
	rv = w.now()
	guest.Run(t, "echo 0 >/sys/bus/pci/devices/"+pf0+"/sriov_numvfs")
	w.offers(rv)
	guest.Run(t, "killall -CONT systemd-udevd; udevadm settle --timeout=100000")
	rv = w.now()
	setVFs(t, pf0, 2)
	w.offers(rv, vfs(pf0, 2))
}

// Red when events are collected without bound, when a loss goes unnoticed, or when each event is a reading of the host.
func TestUeventStorm(t *testing.T) {
	w := newWorld(t)
	w.Apply("all", harness.Config("", M{"vendors": L{"8086"}}))
	// Without udevd its events do not stand between the kernel's and the daemon.
	guest.Run(t, "killall -KILL systemd-udevd; rm -f /run/udev/control")
	w.run()
	w.History.WaitOffers(t, 0, patience)
	before := w.usage()
	rv := w.now()
	guest.Run(t, "kill -STOP "+w.pid+"; n=0; while [ $n -lt 20000 ]; do echo change; n=$((n+1)); done >/sys/class/net/ens1/uevent; "+
		"echo 2 >/sys/bus/pci/devices/"+pf0+"/sriov_numvfs; kill -CONT "+w.pid)
	w.offers(rv, vfs(pf0, 2))
	after := w.usage()
	if !strings.Contains(w.said(), "lost") && !strings.Contains(w.said(), "overflow") {
		t.Errorf("nothing is said of the loss of events:\n%s", w.tail(20))
	}
	if grown := after.peakKiB - before.peakKiB; grown > 4096 {
		t.Errorf("memory grew by %d KiB", grown)
	}
	// The start is one full reading. 20,000 readings of one interface would cost several hundred times as much, however slow the
	// machine is.
	if used, unit := after.cpu-before.cpu, before.cpu; used > 50*unit {
		t.Errorf("the storm took %v of processor time; starting took %v", used, unit)
	}
}

type usage struct {
	peakKiB int64
	cpu     time.Duration
}

func (w *world) usage() usage {
	w.t.Helper()
	out := guest.Run(w.t, "grep VmHWM /proc/"+w.pid+"/status; cat /proc/"+w.pid+"/stat")
	fields := strings.Fields(out)
	peak, err := strconv.ParseInt(fields[1], 10, 64)
	_, stat, _ := strings.Cut(out, ") ")
	after := strings.Fields(stat)
	user, err2 := strconv.ParseInt(after[11], 10, 64)
	system, err3 := strconv.ParseInt(after[12], 10, 64)
	if err != nil || err2 != nil || err3 != nil {
		w.t.Fatalf("usage of %s: %s", w.pid, out)
	}
	return usage{peak, time.Duration(user+system) * 10 * time.Millisecond} // USER_HZ is 100
}

// Red when what changed during an outage is replayed step by step, or lost; or when a timer hangs on the wall clock.
func TestOutageAndClockStep(t *testing.T) {
	w := running(t)
	setVFs(t, pf1, 2)
	w.offers(0, vfs(pf1, 2))
	rv, since := w.now(), time.Now()
	plane.Server.Kill(t)
	for _, n := range []int{7, 0, 3, 0, 5} {
		setVFs(t, pf0, n)
	}
	guest.Run(t, "date -s '+1 hour' >/dev/null || date -s @$(($(date +%s) + 3600))")
	time.Sleep(time.Until(since.Add(time.Minute)))
	back := time.Now()
	if err := plane.Server.Start(); err != nil {
		t.Fatal(err)
	}
	w.offers(rv, vfs(pf1, 2), vfs(pf0, 5))
	for _, s := range w.History.States(t, rv)[1:] {
		if s.Complete() && !s.Offers(append(vfs(pf1, 2), vfs(pf0, 5)...)...) {
			t.Errorf("a state of the past was published: %s", s)
		}
	}
	rv = w.now()
	setVFs(t, pf0, 0)
	w.offers(rv, vfs(pf1, 2))
	w.writesAtMost(back, w.fewer(rv, 7), 2, "one difference after the outage")
	guest.Run(t, "date -s @"+fmt.Sprint(time.Now().Unix())+" >/dev/null")
}
