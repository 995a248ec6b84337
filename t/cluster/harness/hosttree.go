package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// PF describes a physical function and the VFs that it can have.
type PF struct {
	Address  string // "0000:03:00.0": its VFs follow it on the same bus
	Name     string // its netdev; "" for none
	Vendor   string // "8086"
	Device   string
	VFDevice string
	Driver   string
	VFDriver string // "" leaves VFs without a driver, and so without netdev
	Numa     int
	TotalVFs int
	VFs      int
	LinkType int // ARPHRD: 1 ethernet, 32 infiniband; 0 is taken as 1
}

// E810 is a usual Intel card: PF at bus, say "03", with vfs of 64 VFs.
func E810(bus, name string, vfs int) PF {
	return PF{Address: "0000:" + bus + ":00.0", Name: name, Vendor: "8086", Device: "1593", VFDevice: "1889",
		Driver: "ice", VFDriver: "iavf", TotalVFs: 64, VFs: vfs}
}

// HostTree fabricates /sys and /proc of a machine under Root in the kernel's layout, changes them as the
// kernel does, and sends the uevents of each change to the daemon.
type HostTree struct {
	Root   string
	Told   time.Time // when the latest removal of a function was told
	t      testing.TB
	pfs    map[string]*PF
	vfs    map[string]int // PF address -> VFs now
	names  map[string]string
	roots  int
	index  int
	seqnum int
	boots  int
}

// NewHostTree makes a machine with loopback and these cards; it goes with the test.
func NewHostTree(t testing.TB, pfs ...PF) *HostTree {
	t.Helper()
	h := &HostTree{Root: newRoot(t), t: t, pfs: map[string]*PF{}, vfs: map[string]int{}, names: map[string]string{}}
	for _, dir := range []string{"sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/class/net",
		"sys/class/infiniband", "run/sliced", "sys/devices/virtual/net/lo", "proc/net/vlan", "proc/sys/kernel/random"} {
		h.mkdir(dir)
	}
	h.write("proc/sys/kernel/random/boot_id", "6d0c2f0e-6a3c-4f0e-9d6c-0b5d5c2f7a11\n")
	h.write("proc/net/route", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n")
	h.write("proc/net/ipv6_route", "")
	h.write("proc/net/vlan/config", "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n")
	h.netdev("sys/devices/virtual/net/lo", "lo", "00:00:00:00:00:00", 772, "")
	for _, pf := range pfs {
		h.AddPF(pf)
	}
	return h
}

// VFAddress is where the i-th VF of a PF at "0000:03:00.0" is: routing identifiers 2, 3, ... of the same bus.
func VFAddress(pf string, i int) string {
	id := 2 + i
	return fmt.Sprintf("%s%02x.%d", pf[:len("0000:03:")], id>>3, id&7)
}

// DeviceName is the name under which a function is published.
func DeviceName(address string) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(address)
}

// VFDevices are the device names of VFs from..to-1 of a PF.
func VFDevices(pf string, from, to int) []string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, DeviceName(VFAddress(pf, i)))
	}
	return names
}

// AddInterfacesOfThisMachine is for a daemon that reads this tree in the place of /sys and asks the kernel for links and routes: there are
// this machine's interfaces, with their numbers, and what is added later has other ones.
func (h *HostTree) AddInterfacesOfThisMachine() {
	h.t.Helper()
	all, err := net.Interfaces()
	h.must(err)
	for _, one := range all {
		if one.Flags&net.FlagLoopback == 0 {
			h.index = one.Index - 1
			h.netdev("sys/devices/virtual/net/"+one.Name, one.Name, one.HardwareAddr.String(), 1, "")
		}
	}
	h.index = 1 << 20
}

func (h *HostTree) AddPF(pf PF) {
	h.t.Helper()
	if pf.LinkType == 0 {
		pf.LinkType = 1
	}
	port := fmt.Sprintf("sys/devices/pci%s:00/%s:00:%02x.0", pf.Address[:4], pf.Address[:4], 1+h.roots)
	h.roots++
	h.function(port, "8086", "347a", "060400", pf.Numa)
	h.publish(port)
	dir := port + "/" + pf.Address
	h.function(dir, pf.Vendor, pf.Device, "020000", pf.Numa)
	h.write(dir+"/sriov_totalvfs", fmt.Sprintln(pf.TotalVFs))
	h.write(dir+"/sriov_numvfs", "0\n")
	h.write(dir+"/sriov_offset", "2\n")
	h.write(dir+"/sriov_stride", "1\n")
	h.write(dir+"/sriov_vf_device", pf.VFDevice+"\n")
	h.pfs[pf.Address] = &pf
	h.publish(dir)
	h.send("add", dir, "pci")
	h.bind(pf.Address, pf.Driver)
	if pf.Name != "" {
		h.AddNetdev(pf.Address, pf.Name, pf.LinkType)
	}
	if pf.VFs > 0 {
		h.SetVFs(pf.Address, pf.VFs)
	}
}

// SetVFs is a write to sriov_numvfs that ends with n VFs: it takes away from the end or adds to it. (The
// kernel itself only goes through zero; a test that wants that calls SetVFs(pf, 0) first.)
func (h *HostTree) SetVFs(address string, n int) {
	h.t.Helper()
	pf := h.pfs[address]
	for i := h.vfs[address]; i < n; i++ {
		h.addVF(pf, i)
	}
	for i := h.vfs[address] - 1; i >= n; i-- {
		h.removeVF(pf, i)
	}
	h.vfs[address] = n
	h.write(h.path(address)+"/sriov_numvfs", fmt.Sprintln(n))
	h.send("change", h.path(address), "pci")
}

func (h *HostTree) addVF(pf *PF, i int) {
	h.t.Helper()
	address := VFAddress(pf.Address, i)
	pfDir := h.path(pf.Address)
	dir := filepath.Dir(pfDir) + "/" + address
	h.function(dir, pf.Vendor, pf.VFDevice, "020000", pf.Numa)
	h.link("../"+pf.Address, dir+"/physfn")
	h.link("../"+address, fmt.Sprintf("%s/virtfn%d", pfDir, i))
	h.publish(dir)
	h.send("add", dir, "pci")
	if pf.VFDriver != "" {
		h.bind(address, pf.VFDriver)
		if pf.Name != "" && pf.VFDriver != "vfio-pci" {
			h.AddNetdev(address, fmt.Sprintf("%sv%d", pf.Name, i), pf.LinkType)
		}
	}
}

func (h *HostTree) removeVF(pf *PF, i int) {
	h.t.Helper()
	address := VFAddress(pf.Address, i)
	dir := h.path(address)
	if h.names[address] != "" {
		h.RemoveNetdev(address)
	}
	h.unbind(address)
	h.remove("sys/bus/pci/devices/" + address)
	h.remove(fmt.Sprintf("%s/virtfn%d", h.path(pf.Address), i))
	h.remove(dir)
	h.Told = time.Now()
	h.send("remove", dir, "pci")
}

// Rebind moves a function to another driver; a netdev goes with its driver, and a new one comes unless it is
// vfio-pci.
func (h *HostTree) Rebind(address, driver string) {
	h.t.Helper()
	name := h.names[address]
	if name != "" {
		h.RemoveNetdev(address)
	}
	h.unbind(address)
	h.bind(address, driver)
	if name != "" && driver != "vfio-pci" {
		h.AddNetdev(address, name, 1)
	}
}

// Unbind takes the driver from a function, and with it its interface.
func (h *HostTree) Unbind(address string) {
	h.t.Helper()
	if h.names[address] != "" {
		h.RemoveNetdev(address)
	}
	h.unbind(address)
}

// AddNetdev is a driver that registers a network interface for its function.
func (h *HostTree) AddNetdev(address, name string, linkType int) {
	h.t.Helper()
	dir := h.path(address) + "/net/" + name
	h.netdev(dir, name, fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", h.index>>24, h.index>>16&255, h.index>>8&255, h.index&255),
		linkType, address)
	h.names[address] = name
	h.send("add", dir, "net")
}

// RemoveNetdev is an interface that goes away: unregistered, or moved into another network namespace.
func (h *HostTree) RemoveNetdev(address string) {
	h.t.Helper()
	name := h.names[address]
	dir := h.path(address) + "/net/" + name
	h.remove("sys/class/net/" + name)
	h.remove(h.path(address) + "/net")
	delete(h.names, address)
	h.send("remove", dir, "net")
}

// Rename is what udev or `ip link set name` does.
func (h *HostTree) Rename(address, name string) {
	h.t.Helper()
	old := h.names[address]
	oldDir, dir := h.path(address)+"/net/"+old, h.path(address)+"/net/"+name
	h.remove("sys/class/net/" + old)
	if err := os.Rename(h.at(oldDir), h.at(dir)); err != nil {
		h.t.Fatal(err)
	}
	h.write(dir+"/uevent", h.netUevent(dir, name))
	h.link(up("sys/class/net")+dir[len("sys/"):], "sys/class/net/"+name)
	h.names[address] = name
	h.send("move", dir, "net", "DEVPATH_OLD="+oldDir[len("sys"):])
}

// AddBridge is `ip link add NAME type bridge`.
func (h *HostTree) AddBridge(name string) {
	h.t.Helper()
	dir := "sys/devices/virtual/net/" + name
	h.netdev(dir, name, fmt.Sprintf("02:00:00:00:ff:%02x", h.index&255), 1, "")
	h.mkdir(dir + "/bridge")
	h.write(dir+"/bridge/vlan_filtering", "0\n")
	h.write(dir+"/uevent", "DEVTYPE=bridge\n"+h.netUevent(dir, name))
	h.send("add", dir, "net")
}

// Enslave puts an interface into a bridge, or takes it out of the one that it is in (""). The kernel says so by
// rtnetlink, which a host in files has not: a uevent stands for it.
func (h *HostTree) Enslave(netdev, bridge string) {
	h.t.Helper()
	target, err := os.Readlink(h.at("sys/class/net/" + netdev))
	h.must(err)
	dir := filepath.Join("sys/class/net", target)
	h.remove(dir + "/master")
	if bridge != "" {
		h.link(up(dir)+"devices/virtual/net/"+bridge, dir+"/master")
	}
	h.send("change", dir, "net")
}

// UnpackHost makes the machine that a script like config/examples/reference-node/unpack writes into a directory. Its
// cards cannot be changed.
func UnpackHost(t testing.TB, script string) *HostTree {
	t.Helper()
	h := &HostTree{Root: newRoot(t), t: t}
	if out, err := exec.Command(Path(script), h.Root).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return h
}

// newRoot is a folder in memory with a short name, which goes with the test: ROOT/run/sliced/uevents must fit in a
// socket address.
func newRoot(t testing.TB) string {
	t.Helper()
	root, err := os.MkdirTemp(memory(1<<30), "sh-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return root
}

// SetOperState changes the state of the link of a function's interface, such as "down".
func (h *HostTree) SetOperState(address, state string) {
	h.t.Helper()
	dir := h.path(address) + "/net/" + h.names[address]
	h.write(dir+"/operstate", state+"\n")
	h.send("change", dir, "net")
}

// Reboot makes it another boot; nothing else of the machine changes.
func (h *HostTree) Reboot() {
	h.boots++
	h.write("proc/sys/kernel/random/boot_id", fmt.Sprintf("6d0c2f0e-6a3c-4f0e-9d6c-%012x\n", h.boots))
}

// SetUptime says how long ago the kernel started.
func (h *HostTree) SetUptime(up time.Duration) {
	h.write("proc/uptime", fmt.Sprintf("%.2f 0.00\n", up.Seconds()))
}

// SetRoute makes name carry the default route; "" removes it. The kernel sends no uevent for that.
func (h *HostTree) SetRoute(name string) {
	text := "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	if name != "" {
		text += name + "\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
	}
	h.write("proc/net/route", text)
}

func (h *HostTree) function(dir, vendor, device, class string, numa int) {
	h.t.Helper()
	h.mkdir(dir)
	for name, value := range map[string]string{"vendor": "0x" + vendor, "device": "0x" + device, "class": "0x" + class,
		"subsystem_vendor": "0x" + vendor, "subsystem_device": "0x0001", "revision": "0x02",
		"numa_node": strconv.Itoa(numa), "enable": "1",
		"uevent": fmt.Sprintf("PCI_CLASS=%s\nPCI_ID=%s:%s\nPCI_SLOT_NAME=%s", strings.ToUpper(strings.TrimLeft(class, "0")),
			strings.ToUpper(vendor), strings.ToUpper(device), filepath.Base(dir))} {
		h.write(dir+"/"+name, value+"\n")
	}
	h.link(up(dir)+"bus/pci", dir+"/subsystem")
}

// publish makes a function visible on its bus, after everything that a reader would look at is there.
func (h *HostTree) publish(dir string) {
	h.link(up("sys/bus/pci/devices")+dir[len("sys/"):], "sys/bus/pci/devices/"+filepath.Base(dir))
}

func (h *HostTree) bind(address, driver string) {
	h.t.Helper()
	dir := h.path(address)
	h.mkdir("sys/bus/pci/drivers/" + driver)
	h.link(up("sys/bus/pci/drivers/x")+dir[len("sys/"):], "sys/bus/pci/drivers/"+driver+"/"+address)
	h.link(up(dir)+"bus/pci/drivers/"+driver, dir+"/driver")
	h.send("bind", dir, "pci", "DRIVER="+driver)
}

func (h *HostTree) unbind(address string) {
	h.t.Helper()
	dir := h.path(address)
	target, err := os.Readlink(h.at(dir + "/driver"))
	if err != nil {
		return
	}
	h.remove("sys/bus/pci/drivers/" + filepath.Base(target) + "/" + address)
	h.remove(dir + "/driver")
	h.send("unbind", dir, "pci")
}

func (h *HostTree) netdev(dir, name, mac string, linkType int, address string) {
	h.t.Helper()
	h.index++
	h.mkdir(dir)
	for file, value := range map[string]string{"address": mac, "type": strconv.Itoa(linkType), "mtu": "1500",
		"ifindex": strconv.Itoa(h.index), "iflink": strconv.Itoa(h.index), "operstate": "up", "carrier": "1", "speed": "25000",
		"duplex": "full", "flags": "0x1003", "dev_id": "0x0", "dev_port": "0", "addr_assign_type": "0", "addr_len": "6",
		"broadcast": "ff:ff:ff:ff:ff:ff"} {
		h.write(dir+"/"+file, value+"\n")
	}
	h.write(dir+"/uevent", h.netUevent(dir, name))
	if address != "" {
		h.link("../../../"+address, dir+"/device")
	}
	h.link(up(dir)+"class/net", dir+"/subsystem")
	h.link(up("sys/class/net")+dir[len("sys/"):], "sys/class/net/"+name)
}

func (h *HostTree) netUevent(dir, name string) string {
	index, _ := os.ReadFile(h.at(dir + "/ifindex"))
	return fmt.Sprintf("INTERFACE=%s\nIFINDEX=%s\n", name, strings.TrimSpace(string(index)))
}

// path is the folder of a function below Root, "sys/devices/...".
func (h *HostTree) path(address string) string {
	target, err := os.Readlink(h.at("sys/bus/pci/devices/" + address))
	if err != nil {
		h.t.Helper()
		h.t.Fatalf("no function %s in the tree", address)
	}
	return filepath.Join("sys/bus/pci/devices", target)
}

// up is the way from a folder of the tree to its "sys/".
func up(dir string) string { return strings.Repeat("../", strings.Count(dir, "/")) }

func (h *HostTree) at(relative string) string { return filepath.Join(h.Root, relative) }

func (h *HostTree) mkdir(dir string) {
	h.t.Helper()
	h.must(os.MkdirAll(h.at(dir), 0o755))
}

// write makes a file, or replaces it in one step: the kernel never shows half of a value.
func (h *HostTree) write(file, text string) {
	h.t.Helper()
	if _, err := os.Lstat(h.at(file)); err != nil {
		h.must(os.WriteFile(h.at(file), []byte(text), 0o644))
		return
	}
	h.must(os.WriteFile(h.at(file)+".new", []byte(text), 0o644))
	h.must(os.Rename(h.at(file)+".new", h.at(file)))
}

func (h *HostTree) link(target, name string) {
	h.t.Helper()
	h.must(os.Symlink(target, h.at(name)))
}

// remove deletes a link or a folder with all in it.
func (h *HostTree) remove(name string) {
	h.t.Helper()
	h.must(os.RemoveAll(h.at(name)))
}

func (h *HostTree) must(err error) {
	if err != nil {
		h.t.Helper()
		h.t.Fatal(err)
	}
}

// send writes one kernel uevent to the daemon's socket. As with the kernel, nobody need be listening.
func (h *HostTree) send(action, dir, subsystem string, more ...string) {
	h.seqnum++
	path := dir[len("sys"):]
	fields := []string{action + "@" + path, "ACTION=" + action, "DEVPATH=" + path, "SUBSYSTEM=" + subsystem}
	if text, err := os.ReadFile(h.at(dir + "/uevent")); err == nil {
		fields = append(fields, strings.Fields(string(text))...)
	} else if subsystem == "net" {
		fields = append(fields, "INTERFACE="+filepath.Base(dir))
	} else {
		fields = append(fields, "PCI_SLOT_NAME="+filepath.Base(dir))
	}
	fields = append(fields, more...)
	fields = append(fields, fmt.Sprintf("SEQNUM=%d", h.seqnum))
	socket, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: h.at("run/sliced/uevents"), Net: "unixgram"})
	if err != nil {
		return
	}
	defer socket.Close()
	socket.SetWriteDeadline(Limit()) // a full queue waits for its reader
	if _, err := socket.Write([]byte(strings.Join(fields, "\x00") + "\x00")); err != nil {
		h.t.Logf("uevent %s@%s: %v", action, path, err)
	}
}

// AddRDMA gives a function an RDMA device with the node /dev/infiniband/uverbsN, as a driver such as mlx5_ib does.
func (h *HostTree) AddRDMA(address, name string, n int) {
	h.t.Helper()
	function := h.path(address)
	dir := function + "/infiniband/" + name
	h.mkdir(dir)
	h.mkdir(fmt.Sprintf("%s/infiniband_verbs/uverbs%d", function, n))
	h.link("../../../"+dir, "sys/class/infiniband/"+name)
	h.send("add", dir, "infiniband")
}
