// Package lab runs build/sliced on a real Linux kernel with real SR-IOV functions, hot-plug and udev, in a QEMU guest, and
// judges it by what a consumer of slices saw on the control plane outside.
package lab

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sliced.test/cluster/harness"
)

// Guest is one running machine. Its /host is Dir on this machine.
type Guest struct {
	Dir     string
	process *harness.Process
	mu      sync.Mutex // one command at a time
	agent   net.Conn
	answers *bufio.Reader
	qmp     net.Conn
	replies chan map[string]any // to commands
	deleted chan string         // devices that are gone
	isStill bool                // and of no use any more
	gaveUp  bool                // the agent is out of step: it may still answer an earlier script
	heard   int                 // how much of the console belongs to earlier scenarios
}

// The machine: two NUMA nodes, an IOMMU for vfio-pci, two PFs of an Intel 82576 (one a node) and two empty slots. The
// devices of the second node have a PCI root of their own.
func machine(mebibytes int) []string {
	half := fmt.Sprintf("%dM", mebibytes/2)
	return []string{
		"-accel", "tcg,thread=multi", "-cpu", "max", "-machine", "q35,kernel-irqchip=split", "-smp", "2", "-m", strconv.Itoa(mebibytes),
		"-object", "memory-backend-ram,id=m0,size=" + half, "-object", "memory-backend-ram,id=m1,size=" + half,
		"-numa", "node,nodeid=0,cpus=0,memdev=m0", "-numa", "node,nodeid=1,cpus=1,memdev=m1",
		"-device", "intel-iommu,intremap=on",
		"-device", "pxb-pcie,id=px1,bus=pcie.0,bus_nr=64,numa_node=1",
		"-device", "pxb-pcie,id=px0,bus=pcie.0,bus_nr=32,numa_node=0",
		"-device", "pcie-root-port,id=rp0,bus=px0,chassis=1,slot=1",
		"-device", "pcie-root-port,id=rp1,bus=px1,chassis=2,slot=2",
		"-device", "pcie-root-port,id=slot2,bus=pcie.0,chassis=3,slot=3",
		"-device", "pcie-root-port,id=slot3,bus=pcie.0,chassis=4,slot=4",
		"-device", "igb,bus=rp0,id=pf0,mac=02:00:00:00:01:00", "-device", "igb,bus=rp1,id=pf1,mac=02:00:00:00:02:00",
		"-netdev", "user,id=lan", "-device", "virtio-net-pci,netdev=lan,bus=pcie.0",
		"-nographic", "-nodefaults", "-no-reboot", "-serial", "stdio",
	}
}

// kernelCommand is what the kernel is told.
const kernelCommand = "console=ttyS0 quiet panic=-1 no_timer_check intel_iommu=on iommu=pt"

// MachineOn has the guest become the machine whose root is on that disk (t/guest/bare/run machine), which stays as it is: more arguments
// of Boot.
func MachineOn(disk string) []string {
	return []string{"-device", "virtio-blk-pci,drive=disk,bus=pcie.0", "-drive", "if=none,id=disk,format=raw,cache=unsafe,snapshot=on,file=" + disk,
		"-append", kernelCommand + " machine=/dev/vda"}
}

// MachineThatKeeps is MachineOn a disk that is written to, so that the machine can be booted again from what it left.
func MachineThatKeeps(disk string) []string {
	return []string{"-device", "virtio-blk-pci,drive=disk,bus=pcie.0", "-drive", "if=none,id=disk,format=raw,cache=unsafe,file=" + disk,
		"-append", kernelCommand + " machine=/dev/vda"}
}

// Boot starts a guest from the image in dir (vmlinuz, initrd.gz) and returns when its agent answers. What more it has than the
// machine above, or otherwise, follows as QEMU's arguments.
func Boot(image, dir string, mebibytes int, more ...string) (*Guest, error) {
	return BootBy("/usr/bin/qemu-system-x86_64", image, dir, mebibytes, more...)
}

// BootBy is Boot by a QEMU elsewhere.
func BootBy(qemu, image, dir string, mebibytes int, more ...string) (*Guest, error) {
	if _, err := os.Stat(qemu); err != nil {
		return nil, fmt.Errorf("%w: the lab wants QEMU >= 8.0; ./dev lab installs it", err)
	}
	g := &Guest{Dir: dir, replies: make(chan map[string]any, 16), deleted: make(chan string, 64)}
	agent, qmp := filepath.Join(dir, "agent"), filepath.Join(dir, "qmp")
	args := append(machine(mebibytes),
		"-kernel", filepath.Join(image, "vmlinuz"), "-initrd", filepath.Join(image, "initrd.gz"),
		"-append", kernelCommand,
		"-device", "virtio-serial-pci,bus=pcie.0", "-chardev", "socket,id=agent,server=on,wait=off,path="+agent,
		"-device", "virtserialport,chardev=agent",
		"-fsdev", "local,id=host,security_model=none,path="+dir, "-device", "virtio-9p-pci,fsdev=host,mount_tag=host,bus=pcie.0",
		"-qmp", "unix:"+qmp+",server=on,wait=off")
	var err error
	if g.process, err = harness.StartProcess("qemu", filepath.Join(dir, "console.log"), qemu, append(args, more...)...); err != nil {
		return nil, err
	}
	if err := g.connect(agent, qmp); err != nil {
		g.Stop()
		return nil, fmt.Errorf("%w; the guest's console:\n%s", err, g.process.LogTail(30))
	}
	return g, nil
}

func (g *Guest) connect(agent, qmp string) error {
	deadline := harness.Limit()
	dial := func(path string) (c net.Conn, err error) {
		for time.Now().Before(deadline) && !g.process.Exited() {
			if c, err = net.Dial("unix", path); err == nil {
				return c, nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return nil, fmt.Errorf("QEMU does not listen on %s: %v", path, err)
	}
	var err error
	if g.agent, err = dial(agent); err != nil {
		return err
	}
	g.answers = bufio.NewReaderSize(g.agent, 1<<20)
	if g.qmp, err = dial(qmp); err != nil {
		return err
	}
	go g.listen()
	if _, err := g.command("qmp_capabilities", map[string]any{}); err != nil {
		return err
	}
	// Waits in QEMU until the guest opens its end.
	if out, status := g.Try("echo ready", time.Until(deadline)); status != 0 || out != "ready" {
		return fmt.Errorf("the agent said %q (%d)", out, status)
	}
	return nil
}

// Stop pulls the plug.
func (g *Guest) Stop() {
	g.process.Kill()
	for _, c := range []net.Conn{g.agent, g.qmp} {
		if c != nil {
			c.Close()
		}
	}
}

// stillReports is how often the guest's kernel reports the same blocked task, or an RCU stall, between the start and the end of a
// script until the guest counts as standing still. The kernel repeats its report of a task only if the task has not run since.
const stillReports = 3

// Try runs a shell script in the guest and returns its output and status; -1 when there was no answer, and the guest is of no use
// any more. It waits until harness.Limit (without a limit of its own, harness.Patience), or until stillReports of a time in which QEMU had
// processors to run on.
func (g *Guest) Try(script string, within time.Duration) (string, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gaveUp {
		return "the guest did not answer before", -1
	}
	end := harness.Limit()
	if within < harness.Patience {
		end = time.Now().Add(within)
	}
	before := len(g.process.Log())
	ran, waited := g.process.Scheduled()
	g.agent.SetWriteDeadline(end)
	if _, err := fmt.Fprintln(g.agent, base64.StdEncoding.EncodeToString([]byte(script))); err != nil {
		return err.Error(), -1
	}
	line, err := "", error(nil)
	for {
		g.agent.SetReadDeadline(minTime(end, time.Now().Add(time.Second))) // then the console is read
		part := ""
		part, err = g.answers.ReadString('\n')
		line += part
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(end) {
			return fmt.Sprintf("waited for the end of %q: %v", script, err), -1
		}
		log := g.process.Log()
		if what := repeated(log[before:]); what != "" {
			ranNow, waitedNow := g.process.Scheduled()
			isStarved := starved(ranNow-ran, waitedNow-waited)
			before, ran, waited = len(log), ranNow, waitedNow
			if isStarved {
				continue // the reports show that the machine is slow
			}
			g.gaveUp = true
			return fmt.Sprintf("waited for the end of %q: the kernel reported %d times: %s", script, stillReports, what), -1
		}
	}
	status, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	code, err := strconv.Atoi(status)
	output, err2 := base64.StdEncoding.DecodeString(text)
	if err != nil || err2 != nil {
		return "no answer of the agent's: " + line, -1
	}
	return strings.TrimRight(string(output), "\n"), code
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// starved returns whether threads waited for processors for longer than they ran. Those of a guest whose kernel stands still wait for
// interrupts, or run without end.
func starved(ran, waited time.Duration) bool { return waited > ran && waited > time.Minute }

var still = regexp.MustCompile(`detected stall|task \S+ blocked for more than`)

// repeated returns what the console reports stillReports times; "" if nothing.
func repeated(console string) string {
	times := map[string]int{}
	for _, what := range still.FindAllString(console, -1) {
		if times[what]++; times[what] == stillReports {
			return what
		}
	}
	return ""
}

// Run is Try for what must succeed.
func (g *Guest) Run(t testing.TB, script string) string {
	t.Helper()
	out, status := g.Try(script, harness.Patience)
	if status != 0 {
		g.tellOfStandstill(t)
		t.Fatalf("in the guest: %s\nended with %d: %s\nconsole:\n%s", script, status, out, g.process.LogTail(15))
	}
	return out
}

// standstill is what the kernel has said in this scenario of tasks that wait for ever, or of a processor that does not leave the
// kernel, the first of it and what came after it; else "". Tasks that wait count when nothing answers any more.
func (g *Guest) standstill() string {
	said := g.process.Log()[g.heard:]
	before, _, isStalled := strings.Cut(said, "detected stall") // of RCU
	if !isStalled {
		var isBlocked bool
		if before, _, isBlocked = strings.Cut(said, " blocked for more than "); !isBlocked {
			return ""
		}
		if out, status := g.Try("echo here", harness.Patience); status == 0 && out == "here" {
			return ""
		}
	}
	lines := strings.Split(said[strings.LastIndexByte(before, '\n')+1:], "\n")
	return strings.Join(lines[:min(len(lines), 150)], "\n")
}

// tellOfStandstill says so in words that ./dev looks for: what failed with them was not the daemon's fault.
func (g *Guest) tellOfStandstill(t testing.TB) {
	t.Helper()
	if g.isStill {
		return
	}
	if console := g.standstill(); console != "" {
		g.isStill = true
		t.Logf("the guest's kernel stands still\n%s", console)
	}
}

// listen sorts what QEMU says: replies to commands, and the removal of devices.
func (g *Guest) listen() {
	decoder := json.NewDecoder(g.qmp)
	for {
		var said map[string]any
		if err := decoder.Decode(&said); err != nil {
			if err != io.EOF {
				close(g.replies)
			}
			return
		}
		switch {
		case said["event"] == "DEVICE_DELETED":
			if data, _ := said["data"].(map[string]any); data["device"] != nil {
				g.deleted <- fmt.Sprint(data["device"])
			}
		case said["return"] != nil || said["error"] != nil:
			g.replies <- said
		}
	}
}

func (g *Guest) command(name string, arguments map[string]any) (any, error) {
	text, err := json.Marshal(map[string]any{"execute": name, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	if _, err := g.qmp.Write(append(text, '\n')); err != nil {
		return nil, err
	}
	select {
	case said := <-g.replies:
		if said["error"] != nil {
			return nil, fmt.Errorf("QEMU refuses %s: %v", text, said["error"])
		}
		return said["return"], nil
	case <-time.After(harness.UntilLimit()):
		return nil, fmt.Errorf("waited for QEMU to answer %s; console:\n%s", text, g.process.LogTail(15))
	}
}

// Plug puts a PF into a free slot: "slot2" or "slot3".
func (g *Guest) Plug(t testing.TB, id, slot, mac string) {
	t.Helper()
	if _, err := g.command("device_add", map[string]any{"driver": "igb", "bus": slot, "id": id, "mac": mac}); err != nil {
		t.Fatal(err)
	}
}

// Unplug asks the guest to let go of a device and returns when it is gone.
func (g *Guest) Unplug(t testing.TB, id string) {
	t.Helper()
	if _, err := g.command("device_del", map[string]any{"id": id}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.After(harness.UntilLimit()); ; {
		select {
		case gone := <-g.deleted:
			if gone == id {
				return
			}
		case <-deadline:
			t.Fatalf("the guest did not let go of %s; console:\n%s", id, g.process.LogTail(15))
		}
	}
}
