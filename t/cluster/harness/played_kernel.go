package harness

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// PlayedKernel does for a HostTree what the kernel does when sysfs is written to: functions change their drivers. Nothing
// else may change the tree's functions meanwhile.
type PlayedKernel struct {
	host   *HostTree
	mu     sync.Mutex
	names  map[string]string // interfaces as they were called when they were last there
	writes []string          // all that was done, "path text"
	hook   func(write string, isDone bool)
	refuse func(write string) syscall.Errno
}

// Refuse lets writes fail with what refuse returns for "PATH TEXT"; 0 and nil let them be done.
func (k *PlayedKernel) Refuse(refuse func(write string) syscall.Errno) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refuse = refuse
}

// Hook is called before each write is done, and again (true) before it is answered. It may block.
func (k *PlayedKernel) Hook(hook func(write string, isDone bool)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hook = hook
}

// PlayKernel gives each VF that is there an IOMMU group, and answers the daemon until the test ends.
func (h *HostTree) PlayKernel() *PlayedKernel {
	h.t.Helper()
	listener, err := net.Listen("unix", h.at("run/sliced/kernel"))
	h.must(err)
	h.t.Cleanup(func() { listener.Close() })
	k := &PlayedKernel{host: h, names: map[string]string{}}
	h.mkdir("sys/bus/pci/drivers/vfio-pci")
	h.mkdir("dev/vfio")
	h.mkdir("run/sliced/vf-macs")
	for pf, count := range h.vfs {
		for i := range count {
			k.isolate(VFAddress(pf, i))
		}
	}
	go k.serve(listener)
	return k
}

// Group is the number of a function's IOMMU group.
func (k *PlayedKernel) Group(address string) string {
	target, err := os.Readlink(k.host.at(k.host.path(address) + "/iommu_group"))
	k.host.must(err)
	return filepath.Base(target)
}

// Driver is whom a function is bound to, "" nobody.
func (k *PlayedKernel) Driver(address string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.driver(address)
}

func (k *PlayedKernel) driver(address string) string {
	target, err := os.Readlink(k.host.at(k.host.path(address) + "/driver"))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// MAC is the address that a PF gives one of its VFs.
func (k *PlayedKernel) MAC(pfIfindex, vf int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := os.ReadFile(k.host.at(fmt.Sprintf("run/sliced/vf-macs/%d-%d", pfIfindex, vf)))
	if err != nil {
		return "00:00:00:00:00:00"
	}
	return strings.TrimSpace(string(text))
}

// Writes are all that was done so far.
func (k *PlayedKernel) Writes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.writes...)
}

func (k *PlayedKernel) isolate(address string) {
	h := k.host
	h.index++
	group, dir := fmt.Sprintf("sys/kernel/iommu_groups/%d", h.index), h.path(address)
	h.mkdir(group + "/devices")
	h.link(up(group+"/devices/x")+dir[len("sys/"):], group+"/devices/"+address)
	h.link(up(dir)+group[len("sys/"):], dir+"/iommu_group")
	h.write(dir+"/driver_override", "(null)\n")
}

func (k *PlayedKernel) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		question, _ := io.ReadAll(client)
		path, text, _ := strings.Cut(string(question), "\n")
		text = strings.TrimSpace(text)
		k.mu.Lock()
		hook := k.hook
		k.mu.Unlock()
		if hook != nil {
			hook(path+" "+text, false)
		}
		answer := k.write(path, text)
		if hook != nil {
			hook(path+" "+text, true)
		}
		client.Write([]byte(strconv.Itoa(int(answer))))
		client.Close()
	}
}

func (k *PlayedKernel) write(path, text string) syscall.Errno {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.host
	k.writes = append(k.writes, path+" "+text)
	if k.refuse != nil {
		if errno := k.refuse(path + " " + text); errno != 0 {
			return errno
		}
	}
	if path == "sys/bus/pci/drivers_probe" {
		return k.probe(text)
	}
	if strings.HasPrefix(path, "vf-macs/") {
		h.write("run/sliced/"+path, text+"\n")
		return 0
	}
	address, attribute := strings.TrimPrefix(path, "sys/bus/pci/devices/"), ""
	address, attribute, _ = strings.Cut(address, "/")
	if _, err := os.Stat(h.at("sys/bus/pci/devices/" + address)); err != nil {
		return syscall.ENOENT
	}
	switch attribute {
	case "driver_override":
		if text == "" {
			text = "(null)"
		}
		h.write(h.path(address)+"/driver_override", text+"\n")
	case "driver/unbind":
		driver := k.driver(address)
		if driver == "" {
			return syscall.ENOENT
		}
		if name := h.names[address]; name != "" {
			k.names[address] = name
		}
		if driver == "vfio-pci" {
			h.remove("dev/vfio/" + k.Group(address))
		}
		h.Unbind(address)
	default:
		return syscall.EACCES
	}
	return 0
}

// probe finds a driver for a function that has none: the one that is asked for, else the usual one.
func (k *PlayedKernel) probe(address string) syscall.Errno {
	h := k.host
	if k.driver(address) != "" {
		return 0
	}
	text, err := os.ReadFile(h.at(h.path(address) + "/driver_override"))
	h.must(err)
	driver := strings.TrimSpace(string(text))
	if driver == "(null)" {
		pf, err := os.Readlink(h.at(h.path(address) + "/physfn"))
		h.must(err)
		driver = h.pfs[filepath.Base(pf)].VFDriver
	}
	h.bind(address, driver)
	if driver == "vfio-pci" {
		h.write("dev/vfio/"+k.Group(address), "")
	} else if name := k.names[address]; name != "" {
		h.AddNetdev(address, name, 1)
	}
	return 0
}
