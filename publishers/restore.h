#pragma once
// Restores state from the slices of an earlier process: published entries, and facts of interfaces that are
// in a pod's namespace. Pure.
#include <map>
#include <string>
#include <vector>

#include "policy/inputs.h"
#include "publishers/diff_pool.h"

namespace sliced::publishers {

/// The observed slices of both drivers of one node.
struct OwnSlices {
  const ObservedSlices& sriov;
  const ObservedSlices& exposure;
  const std::string& sriov_driver;
  const std::string& exposure_driver;
  const std::string& node;
};

/// Returns the pools whose record of withdrawn entries may be incomplete at the start: those of which a slice
/// is missing or cannot be decoded. A node with DeviceExposurePolicies always has a slice of its pool of
/// links (interfaces that are not PCI functions). Without it, the record of the SR-IOV driver is unverified,
/// too.
policy::UnverifiedRecords find_unverified(const OwnSlices& slices);

/// Returns false if the slice names another boot: its content is outdated. A slice without the annotation may
/// be of this boot.
bool is_of_boot(const kube::ResourceSlice& slice, const std::string& boot_id);

/// Returns the entries that stay published while the node is not configured yet (--until-configured): those
/// in slices of this boot; none if boot_id is "". why: the missing signal, copied to the result.
policy::Unconfigured unconfigured(const OwnSlices& slices, const std::string& boot_id, std::string why);

/// Returns the entries that were published before this process, for policy::Inputs. holdings: reserved and
/// allocated entries of the exposure driver, by pool.
policy::Published published(const OwnSlices& slices, const hotplug::Inventory& inventory,
                            const std::map<std::string, std::vector<policy::Holding>>& holdings);

/// Returns facts of netdevs that are not in the host's namespace now, from slices of this boot.
std::vector<hotplug::RecoveredNetdev> restore_netdevs(const OwnSlices& slices,
                                                      const hotplug::Inventory& inventory);

}  // namespace sliced::publishers
