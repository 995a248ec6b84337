#pragma once
// Problems of the devices that a driver offers or offered, from the host's facts. Pure.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hotplug/facts.h"
#include "kubelet/prepared.h"
#include "policy/desired.h"

namespace sliced::kubelet {

/// trouble: one sentence for people with the host's names. The text stays the same as long as the problem
/// does.
struct DeviceHealth {
  std::string pool, device;  // as in its device entry
  std::string trouble;       // "" if healthy
  bool operator==(const DeviceHealth&) const = default;
};

constexpr size_t kHealthEntriesMax = 16'384;  // per driver; the kubelet's own limit

/// The health of one driver's entries. An entry that is no longer offered may still be allocated, so its
/// health is still computed. If the book is full, entries that are not offered are dropped first. The kubelet
/// reports a dropped entry as unknown.
class HealthBook {
 public:
  explicit HealthBook(const std::string& driver) : interface_key_(driver + "/ifName") {}

  /// Returns the uids of the prepared claims that have the entry.
  using ClaimsOf = std::function<std::set<std::string>(const std::string& pool, const std::string& device)>;
  /// Returns whether a pod may have the interface of the entry, so that it is not on the host.
  using MayBeInPod = std::function<bool(const std::string& pool, const std::string& device)>;
  /// Returns whether an existing attachment has moved the entry's interface into a pod.
  using IsMoved = std::function<bool(const std::string& pool, const std::string& device)>;
  /// Returns all entries that are or were offered, sorted by pool and name. A device that is not in the
  /// inventory is reported as missing, except a link that a pod may have. A function without a driver is
  /// healthy if it had none when it was first seen (it may be for vfio-pci). A function that was missing
  /// while a claim had it stays in trouble until the claim ends, because the pod cannot use the new function.
  /// So does a function that has an interface on the host again while a pod's attachment exists: its driver
  /// was bound again or has recovered from an error, which creates a new interface in the host's namespace.
  std::vector<DeviceHealth> judge(const std::vector<policy::DesiredPool>& offered,
                                  const hotplug::Inventory& inventory, const ClaimsOf& claims_of,
                                  const MayBeInPod& may_be_in_pod = {}, const IsMoved& is_moved = {});

 private:
  struct Known {
    std::string id;           // of the host device
    bool had_driver = false;  // at the first judge()
    bool is_offered = false;
    std::set<std::string> missed_by;  // prepared claims that had it while it was missing
    bool was_seen_away = false;       // its interface, during the present attachment
  };
  // Adds new entries, in the order of the pools, and marks entries that are no longer offered.
  void learn(const std::vector<policy::DesiredPool>& offered, const hotplug::Inventory& inventory);
  // Drops all entries that are not offered, if the book is full.
  void make_room();

  const std::string interface_key_;
  std::map<std::pair<std::string, std::string>, Known> known_;  // by pool and entry
};

/// Returns the problem of an entry whose hardware was removed and created again before this process started,
/// while a pod had it (PreparedDevice::was_recreated); "" if none.
std::string trouble_of_recreated(const PreparedClaims& prepared, const std::string& driver,
                                 const std::string& pool, const std::string& device);

/// Returns the problem of a device; "" if none. A missing driver is a problem only if the function had one.
/// For a VF the PF's link state counts, because the VF's own interface is down while it is unused.
std::string trouble_of(const hotplug::HostDevice& device, const hotplug::Inventory& inventory,
                       bool had_driver);

}  // namespace sliced::kubelet
