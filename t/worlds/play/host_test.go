package play

import (
	"fmt"
	"sort"
	"strings"
)

// A device is a PCI function or a link of the host, as whoever runs the machine knows it.
type device struct {
	id      string // "0000:10:00.0", or the interface of a link
	kind    string // pf vf nic bridge vlan
	pf      string // of a VF: its PF's id
	index   int
	vendor  string
	driver  string
	numa    int
	ifName  string // "" for a VF at vfio-pci
	master  string // bridge
	parent  string // of a VLAN: an interface
	route   bool   // carries a default route
	away    bool   // a pod has the interface
	born    int    // no two devices are born at the same time, also where they have the same id
	slot    int
	totalVF int
}

// base is the device's name in slices, without a suffix.
func (d *device) base() string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(d.id)
}

func (d *device) isFunction() bool { return d.kind == "pf" || d.kind == "vf" || d.kind == "nic" }

type host struct {
	devices map[string]*device
	births  int
}

func pfAddress(slot int) string { return fmt.Sprintf("0000:%02x:00.0", 0x10+3*slot) }

func vfAddress(pf string, index int) string {
	return fmt.Sprintf("%s%02x.%d", pf[:len("0000:10:")], (index+1)/8, (index+1)%8)
}

func (h *host) add(d device) *device {
	h.births++
	d.born = h.births
	h.devices[d.id] = &d
	return &d
}

func (h *host) sorted() []*device {
	out := make([]*device, 0, len(h.devices))
	for _, d := range h.devices {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

func (h *host) of(kinds ...string) []*device {
	var out []*device
	for _, d := range h.sorted() {
		for _, kind := range kinds {
			if d.kind == kind {
				out = append(out, d)
			}
		}
	}
	return out
}

func (h *host) vfs(pf *device) []*device {
	var out []*device
	for i := 0; ; i++ {
		vf, ok := h.devices[vfAddress(pf.id, i)]
		if !ok {
			return out
		}
		out = append(out, vf)
	}
}

func (h *host) named(ifName string) *device {
	for _, d := range h.devices {
		if d.ifName == ifName && !d.away {
			return d
		}
	}
	return nil
}

// isUsed says that the host itself uses the device: it is enslaved, or it or a VLAN on it carries a default route.
func (h *host) isUsed(d *device) bool {
	if d.away || d.ifName == "" {
		return false
	}
	if d.master != "" || d.route {
		return true
	}
	for _, above := range h.devices {
		if above.parent == d.ifName && h.isUsed(above) {
			return true
		}
	}
	return false
}

func (h *host) removeLink(d *device) {
	for _, other := range h.devices {
		if other.master == d.ifName {
			other.master = ""
		}
	}
	for _, other := range h.sorted() {
		if other.parent == d.ifName {
			h.removeLink(other)
		}
	}
	delete(h.devices, d.id)
}

func (d *device) String() string { return d.kind + " " + d.id }
