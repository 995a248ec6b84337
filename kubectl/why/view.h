#pragma once
// A request on a node, device by device: how many match, how many are free, and what stands in the way of the others.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kubectl/why/capacity.h"
#include "kubectl/why/scene.h"

namespace sliced::allocation {

/// What keeps a device from a request, in the order in which it is looked at. Each alone: that devices keep each other
/// away (constraints, counters of what is picked with them) is seen by search() only.
enum class Obstacle : uint8_t {
  kNone,
  kClassSelector,  // the DeviceClass says no
  kSelector,       // the request says no
  kError,          // one of them fails
  kElsewhere,      // the device is for other nodes
  kHeld,           // allocated
  kCapacity,       // not as much, or not enough left
  kCounters,       // what it shares with others is used up
  kTaint,
  kNoAttribute,  // a constraint wants one that it lacks
};

/// One obstacle, with how many devices have it as their first. Of selectors the words are those of the device
/// of which most holds, among the first 64; of other obstacles, of the first device.
struct ObstacleGroup {
  Obstacle obstacle = Obstacle::kNone;
  /// Names and values of others stand in it as they came: whoever shows it makes it fit for people.
  std::string what;    // in words, of one of them
  std::string device;  // that one
  size_t devices = 0;
};

inline constexpr size_t kValuesMax = 64;
struct RequestView {
  /// Without the DeviceClass only `devices` is counted. Devices of other nodes (kElsewhere) stand in `obstacles` alone.
  std::string claim, request, device_class;  // "namespace/name"; "request" or "request/alternative"
  bool all = false;
  int64_t wanted = 0;
  /// holders: "namespace/name (pod p)". Taints, counters and constraints are asked of what matches alone.
  size_t devices = 0;                     // that the node sees, in usable pools
  size_t matching = 0;                    // of them; a device that is shared counts while there is one of it
  size_t allocated = 0;                   // of those that match: held by somebody alone
  size_t free = 0;                        // of those that match: nothing stands in the way
  std::map<std::string, size_t> holders;  // claim -> how many of those that match
  std::vector<ObstacleGroup> obstacles;   // of those that are not free, the nearest to it first
  /// Capacities of which the request wants more than a device gives to one claim, by name: the number of matching devices that
  /// give less, and the most that one of them gives.
  struct OverMost {
    size_t devices = 0;
    Amount most = 0;
  };
  std::map<std::string, OverMost> over_most;
  /// Capacities of which too little is left, by name: devices that match and are free otherwise. The devices are views into the slices.
  std::map<std::string, std::vector<DeviceId>> used_up;
  /// Selectors that are an error on a device: of the class (true) or of the request, by index.
  std::set<std::pair<bool, size_t>> failing;
  /// By index of the claim's constraints: the values of those that are free, with how many devices have each. At most
  /// kValuesMax of a constraint; of one that does not concern the request there is none.
  std::map<size_t, std::map<std::string, size_t>> values;
};

/// One for each request and alternative of the scene's claims, in their order. Bounded: `what` is made for
/// one device of each kind, and for each that is nearer than the one before.
/// It asks scene.selectors: of no use once those are spent, because they say no to everything then.
std::vector<RequestView> view_requests(const Scene& scene);

}  // namespace sliced::allocation
