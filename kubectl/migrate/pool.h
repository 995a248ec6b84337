#pragma once
// The configuration of another driver or plugin for SR-IOV devices, in one form for all sources: resources in
// order, and the devices of a host that each matches. The readers of this folder create it; objects.h
// converts it, and plugin_rules.h computes the resources that the plugin offered.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "reactor/base/first_few.h"

namespace sliced::migrate {

/// A place in a file. Lines count from 1; line 0: the whole file.
struct Place {
  std::string file;
  int line = 0;
  bool operator==(const Place&) const = default;
};

/// A PF by name or address, and the selected VFs. No ranges: all VFs. Names are compared case-insensitively,
/// as by the device plugin.
struct PfVfs {
  std::string pf;
  std::vector<std::pair<int, int>> ranges;  // VF indices, both included
  bool operator==(const PfVfs&) const = default;
};

/// A device matches if it matches every field that is set; it matches a field if it matches one of the
/// values. This is the device plugin's rule.
/// Values are checked: each can be written in a policy, with the same meaning. A field has at most 256
/// values.
/// vendors, devices: ids of four hexadecimal digits. pci_addresses: in the kernel's form. All are compared as
/// text.
struct Selector {
  Place place;
  std::vector<std::string> vendors, devices, drivers, pci_addresses;
  std::vector<PfVfs> pf_names, root_devices;  // without duplicates
  std::vector<std::string> link_types;        // "ethernet", "infiniband"
  bool needs_rdma = false;                    // only devices with an RDMA device
  bool selects_pfs = false;                   // PFs without VFs
  bool operator==(const Selector&) const = default;
};

/// A device belongs to the first resource of a configuration that has a matching selector. A resource without
/// selectors matches no device; an empty selector matches all.
struct Resource {
  Place place;
  std::string name;  // "intel.com/sriov_net": an extended resource
  std::vector<Selector> selectors;
  // Set for the whole resource, because a DeviceClass applies to all its devices.
  bool gives_vfio = false;
  bool gives_vhost = false;   // pods get /dev/vhost-net and /dev/net/tun
  bool is_auxiliary = false;  // deviceType auxNetDevice: only scalable functions, selected by their PFs
  bool operator==(const Resource&) const = default;
};

/// The nodes of a configuration: one by name, those with all the labels, those that a core NodeSelector
/// matches, or all.
struct Nodes {
  std::string name;
  kube::Labels labels;
  kube::Json terms;  // {"nodeSelectorTerms": [...]}, validated; null: none
  bool is_all() const { return name.empty() && labels.empty() && terms.is_null(); }
  bool selects(const kube::NodeView& node) const { return lacks(node).empty(); }
  /// Returns the unmet requirement, such as "requires label zone=a, which the node lacks", or "" if the node
  /// is selected.
  std::string lacks(const kube::NodeView& node) const;
  /// Returns true if no node can be selected by both: they differ in the name, or in the value of a label.
  bool is_disjoint(const Nodes& other) const;
  /// Returns true if each node that `other` selects is surely selected by this one too.
  bool covers(const Nodes& other) const;
  bool operator==(const Nodes&) const = default;
};

/// One configuration: the resources of a node, in order. If several select a node, the device plugin uses the
/// first (by_plugin()), the operator all of them (operators_config()).
struct Config {
  Place place;
  std::string origin;           // "ConfigMap kube-system/sriovdp-config, key config.json", for messages
  std::string name;             // name of the new objects: a DNS label
  bool has_own_name = false;    // named after an object, not after a file
  bool is_by_operator = false;  // as the name of its ConfigMap shows
  Nodes nodes;
  int64_t priority = 0;  // of several for a node, the highest is evaluated first
  std::vector<Resource> resources;
  bool operator==(const Config&) const = default;
};

/// An error (cannot be converted) or a warning.
struct Complaint {
  bool is_error = true;
  Place place;
  std::string what;  // object, field, value, remedy; input text is escaped
  bool operator==(const Complaint&) const = default;
};
inline void cut_message(Complaint& complaint) { sliced::cut_message(complaint.what); }

/// Keeps the first 100 errors and the first 100 warnings, and counts the others. After an error no result may
/// be used: a resource that is left out would leave its devices to the next one.
class Complaints {
 public:
  void error(const Place& place, std::string what) { errors_.push_back({true, place, std::move(what)}); }
  void warning(const Place& place, std::string what) { warnings_.push_back({false, place, std::move(what)}); }
  bool has_errors() const { return !errors_.empty(); }
  /// Returns the errors, then the warnings.
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

/// Returns "FILE:7: error: what", or "FILE: error: what" for the whole file.
std::string text_of(const Complaint& complaint);
/// Returns the text as a DNS subdomain of at most size_max bytes: in lower case, with '-' for other
/// characters.
std::string dns_name_of(const std::string& text, size_t size_max = 63);

}  // namespace sliced::migrate
