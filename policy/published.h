#pragma once
#include <map>
#include <set>
#include <string>

namespace sliced::policy {

/// Entries in this daemon's slices of this boot, for decisions that depend on them. Slices of an earlier boot
/// are ignored.
struct Published {
  std::set<std::string> sriov, exposure;     // names of device entries, by kind of policy
  bool is_sriov_pool_there = false;          // its pool has a slice
  std::map<std::string, std::string> links;  // interface by entry name, of entries without a PCI address
  /// published_resource() (sriov/attributes.h) by entry name, of VFs whose PF's interface is in another
  /// network namespace.
  std::map<std::string, std::string> resources;
  /// Exclude records by host device id, each distinct one (exposure/exclude_record.h): the excludes in them
  /// were evaluated for the device. For functions whose own or PF's interface may be in another network
  /// namespace.
  std::map<std::string, std::set<std::string>> exclude_records;
};

}  // namespace sliced::policy
