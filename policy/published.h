#pragma once
#include <map>
#include <set>
#include <string>

namespace sliced::policy {

/// What stands in our slices: where a decision may depend on what was offered before.
/// Of this boot alone: what stood there before another boot says nothing of devices of now.
struct Published {
  std::set<std::string> sriov, exposure;     // names of device entries, by kind of policy
  bool is_sriov_pool_there = false;          // a slice of it
  std::map<std::string, std::string> links;  // entry name -> interface, of entries without a PCI address
  /// Entry name -> published_resource() (sriov/attributes.h), of VFs in slices of this boot whose PF's interface is
  /// elsewhere.
  std::map<std::string, std::string> resources;
  /// Host device id -> under which excludes it stands in slices of this boot, a record for each that differs
  /// (exposure/exclude_record.h): what any of them names has been asked of the device. Of functions whose
  /// interface, or whose PF's, may be elsewhere.
  std::map<std::string, std::set<std::string>> stood_under;
};

}  // namespace sliced::policy
