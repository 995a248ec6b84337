#pragma once
// What another way of offering VFs was configured to do, in one form whatever it was read from: resources in order,
// and which devices of a host each of them takes. Made by the readers of this room, and from it objects of ours
// (objects.h) and what was offered before (plugin_rules.h).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
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
  bool selects_pfs = false;                   // PFs themselves, which have no VFs
  bool operator==(const Selector&) const = default;
};

/// A device belongs to the first resource of a configuration with a selector that takes it. Without selectors
/// it takes none; with one that asks for nothing, all.
struct Resource {
  Place place;
  std::string name;  // "intel.com/sriov_net": an extended resource
  std::vector<Selector> selectors;
  // What pods get beside the device, of whichever selector it is: a DeviceClass says that for all its devices.
  // All its devices are bound to vfio-pci. Of devices of several drivers the driver at allocation decides which nodes pods
  // get (kubelet/plan.h).
  bool gives_vfio = false;
  bool gives_vhost = false;   // /dev/vhost-net and /dev/net/tun
  bool is_auxiliary = false;  // deviceType auxNetDevice: scalable functions alone, by their PFs
  bool operator==(const Resource&) const = default;
};

/// Which nodes a configuration is for: one by name, those with all the labels, those that a core NodeSelector matches, or
/// every one.
struct Nodes {
  std::string name;
  kube::Labels labels;
  kube::Json terms;  // {"nodeSelectorTerms": [...]}, valid; null: none
  bool is_all() const { return name.empty() && labels.empty() && terms.is_null(); }
  bool selects(const kube::NodeView& node) const { return lacks(node).empty(); }
  /// Returns what the node lacks, as "requires label zone=a, which the node lacks"; "" where it is selected.
  std::string lacks(const kube::NodeView& node) const;
  /// Returns true where no node is selected by both: they differ in the name, or in the value of a label.
  bool is_disjoint(const Nodes& other) const;
  /// Returns true where each node that `other` selects is selected by this one too. False where that is not known.
  bool covers(const Nodes& other) const;
  bool operator==(const Nodes&) const = default;
};

/// What is decided for a node as one: its resources in order. Of several that select a node the device plugin
/// has the first (by_plugin()), the operator's all of them (operators_config()).
struct Config {
  Place place;
  std::string origin;           // "ConfigMap kube-system/sriovdp-config, key config.json": for people
  std::string name;             // what objects that are made of it are called: a DNS label
  bool has_own_name = false;    // of an object; else a file, whose name says nothing
  bool is_by_operator = false;  // by the name of its ConfigMap
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

/// The first 100 errors and the first 100 warnings; the others are counted. Warnings take no room from errors. With an
/// error nothing of what was read may be used: a resource that is left out would leave its devices to the next one.
class Complaints {
 public:
  void error(const Place& place, std::string what) { errors_.push_back({true, place, std::move(what)}); }
  void warning(const Place& place, std::string what) { warnings_.push_back({false, place, std::move(what)}); }
  bool has_errors() const { return !errors_.empty(); }
  /// Errors first.
  std::vector<Complaint> all() const {
    std::vector<Complaint> out(errors_.begin(), errors_.end());
    out.insert(out.end(), warnings_.begin(), warnings_.end());
    return out;
  }
  size_t more_errors() const { return errors_.more(); }
  size_t more_warnings() const { return warnings_.more(); }

 private:
  FirstFew<Complaint> errors_{100}, warnings_{100};
};

/// "FILE:7: error: what". Without a line the file alone stands in front.
std::string text_of(const Complaint& complaint);
/// A text as a DNS subdomain of at most size_max bytes: lower case, '-' for what cannot stand there.
std::string dns_name_of(const std::string& text, size_t size_max = 63);

}  // namespace sliced::migrate
