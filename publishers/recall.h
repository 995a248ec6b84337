#pragma once
// What our own slices tell of the time before this process: entries that stand in them, and facts of
// interfaces that are away. Pure.
#include <map>
#include <string>
#include <vector>

#include "policy/inputs.h"
#include "publishers/diff_pool.h"

namespace sliced::publishers {

/// The observed slices of both kinds of policy, and whose they are.
struct OwnSlices {
  const ObservedSlices& sriov;
  const ObservedSlices& exposure;
  const std::string& sriov_driver;
  const std::string& exposure_driver;
  const std::string& node;
};

/// Of what is found at a start. While there is no slice of the exposure driver's pool of links, which every
/// node has that a DeviceExposurePolicy is for, nobody has looked after the other driver's record either.
policy::RecordDoubt find_doubt(const OwnSlices& slices);

/// False for a slice of another boot: nothing that it says counts. One that names none may be of this one.
bool is_of_boot(const kube::ResourceSlice& slice, const std::string& boot_id);

/// Names of entries in slices that say that they are of this boot; none where it is not known which boot that is. why
/// is handed through.
policy::Unconfigured unconfigured(const OwnSlices& slices, const std::string& boot_id, std::string why);

/// For policy::Inputs. holdings: entries that may be allocated, of the exposure driver by pool.
policy::Published published(const OwnSlices& slices, const hotplug::Inventory& inventory,
                            const std::map<std::string, std::vector<policy::Holding>>& holdings);

/// Facts of netdevs that are not there now, from what was published in this boot.
std::vector<hotplug::RecoveredNetdev> recall_netdevs(const OwnSlices& slices,
                                                     const hotplug::Inventory& inventory);

}  // namespace sliced::publishers
