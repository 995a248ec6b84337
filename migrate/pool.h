#pragma once
// What another way of offering VFs was configured to do, in one form whatever it was read from: resources in order,
// and which devices of a host each of them takes. Made by the readers of this room, and from it objects of ours
// (objects.h) and what was offered before (plugin_rules.h).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kube/selector.h"
#include "reactor/base/first_few.h"

namespace sliced::migrate {

/// Where something stands that was read. Lines count from 1; line 0: of the whole file.
struct Place {
  std::string file;
  int line = 0;
  bool operator==(const Place&) const = default;
};

/// A PF by name or address, and which of its VFs. No ranges: all of them. Names are compared in any case of
/// letters, as the device plugin does.
struct PfVfs {
  std::string pf;
  std::vector<std::pair<int, int>> ranges;  // VF indices, both included
  bool operator==(const PfVfs&) const = default;
};

/// AND over the fields that are set, OR inside a field, as the device plugin has it.
/// Values are checked: each can be said in a policy, and means the same there. At most 256 in a field, as
/// they are read.
/// vendors, devices: ids of four hexadecimal digits. pci_addresses: as the kernel writes them. All are
/// compared as text.
struct Selector {
  Place place;
  std::vector<std::string> vendors, devices, drivers, pci_addresses;
  std::vector<PfVfs> pf_names, root_devices;  // each PF once
  std::vector<std::string> link_types;        // "ethernet", "infiniband"
  bool needs_rdma = false;                    // only devices that have RDMA
  bool operator==(const Selector&) const = default;
};

/// A device belongs to the first resource of a configuration with a selector that takes it. Without selectors
/// it takes none; with one that asks for nothing, all.
struct Resource {
  Place place;
  std::string name;  // "intel.com/sriov_net": an extended resource
  std::vector<Selector> selectors;
  // What pods get beside the device, of whichever selector it is: a DeviceClass says that for all its devices.
  bool gives_vfio = false;   // /dev/vfio nodes: its devices are bound to vfio-pci
  bool gives_vhost = false;  // /dev/vhost-net and /dev/net/tun
  bool operator==(const Resource&) const = default;
};

/// Which nodes a configuration is for: one by name, those with all the labels, or every one.
struct Nodes {
  std::string name;
  kube::Labels labels;
  bool is_all() const { return name.empty() && labels.empty(); }
  bool selects(const kube::NodeView& node) const;
  bool operator==(const Nodes&) const = default;
};

/// What is decided for a node as one: its resources in order. Of several that select a node the device plugin
/// has the first (by_plugin()), the operator's all of them (operators_config()).
struct Config {
  Place place;
  std::string origin;  // "ConfigMap kube-system/sriovdp-config, key config.json": for people
  std::string name;    // what objects that are made of it are called: a DNS label
  Nodes nodes;
  int64_t priority = 0;  // of several that select a node the higher is asked first
  std::vector<Resource> resources;
  bool operator==(const Config&) const = default;
};

/// Something that cannot be carried over, or that is to be known of what is.
struct Complaint {
  bool is_error = true;
  Place place;
  std::string what;  // object, field, value and what to do; foreign text is escaped
  bool operator==(const Complaint&) const = default;
};
inline void cut_message(Complaint& complaint) { sliced::cut_message(complaint.what); }

/// The first of them; errors are counted, all of them. With an error nothing of what was read may be used: a
/// resource that is left out would leave its devices to the next one.
class Complaints {
 public:
  void error(const Place& place, std::string what) { add(true, place, std::move(what)); }
  void warning(const Place& place, std::string what) { add(false, place, std::move(what)); }
  bool has_errors() const { return errors_ > 0; }
  const FirstFew<Complaint>& all() const { return all_; }

 private:
  void add(bool is_error, const Place& place, std::string what) {
    if (is_error) ++errors_;
    all_.push_back({is_error, place, std::move(what)});
  }
  FirstFew<Complaint> all_{100};
  size_t errors_ = 0;
};

/// "FILE:7: error: what". Without a line the file alone stands in front.
std::string text_of(const Complaint& complaint);
/// A text as a DNS subdomain of at most size_max bytes: lower case, '-' for what cannot stand there.
std::string dns_name_of(const std::string& text, size_t size_max = 63);

}  // namespace sliced::migrate
