#pragma once
// What is wrong with the devices that a driver offers, and has offered, by the host's facts. Pure.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hotplug/facts.h"
#include "policy/desired.h"

namespace sliced::kubelet {

/// trouble is one sentence for people with the host's names in it; it stays the same as long as the trouble
/// does.
struct DeviceHealth {
  std::string pool, device;  // as its entry says
  std::string trouble;       // "" healthy
  bool operator==(const DeviceHealth&) const = default;
};

constexpr size_t kHealthEntriesMax = 16'384;  // of a driver: the kubelet keeps no more

/// One driver's. An entry that is no longer offered may still be a pod's: it goes on being judged, as long as
/// this lives and there is room. Where there is none, entries that are not offered are forgotten first, and an entry
/// that finds no room is not judged: of it the kubelet says that it does not know.
class HealthBook {
 public:
  explicit HealthBook(const std::string& driver) : interface_key_(driver + "/ifName") {}

  /// Of all entries that are or were offered, sorted by pool and name. A device that is not in the inventory is gone,
  /// and says so; a function that had no driver when it was first seen (it may be for vfio-pci) is not missing one.
  std::vector<DeviceHealth> judge(const std::vector<policy::DesiredPool>& offered,
                                  const hotplug::Inventory& inventory);

 private:
  struct Known {
    std::string id;           // of the host device
    bool had_driver = false;  // when it was first judged
    bool is_offered = false;  // now
  };
  // New entries are taken in, in the order of pools, and those that are gone from the offer are marked.
  void learn(const std::vector<policy::DesiredPool>& offered, const hotplug::Inventory& inventory);
  // Forgets what is not offered, all of it at once: of those the kubelet then says that it does not know.
  void make_room();

  const std::string interface_key_;
  std::map<std::pair<std::string, std::string>, Known> known_;  // by pool, entry
};

/// "" nothing. A function without a driver is in trouble where it had one. A VF's link is its PF's: its own
/// interface is down as long as nobody uses it.
std::string trouble_of(const hotplug::HostDevice& device, const hotplug::Inventory& inventory,
                       bool had_driver);

}  // namespace sliced::kubelet
