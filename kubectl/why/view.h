#pragma once
// A request on a node: the number of matching and free devices, and the obstacles of the others.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kubectl/why/capacity.h"
#include "kubectl/why/scene.h"

namespace sliced::why {

/// An obstacle between a device and a request, in the order of checks. Each device is checked alone: only
/// search() considers devices that exclude each other (constraints, counters).
enum class Obstacle : uint8_t {
  kNone,
  kClassSelector,  // the DeviceClass does not match
  kSelector,       // the request does not match
  kError,          // one of them fails
  kElsewhere,      // the device is for other nodes
  kHeld,           // allocated
  kCapacity,       // less than requested, or not enough left
  kCounters,       // its shared counters are used up
  kTaint,
  kNoAttribute,  // a constraint requires a missing attribute
};

/// One obstacle, with the number of devices for which it is the first. The text is that of the device with
/// the most true parts of the selector, among the first 64; for other obstacles, of the first device.
struct ObstacleGroup {
  Obstacle obstacle = Obstacle::kNone;
  /// Contains unescaped names and values: the caller escapes them.
  std::string what;    // text for one of them
  std::string device;  // that device
  size_t devices = 0;
};

inline constexpr size_t kValuesMax = 64;
struct RequestView {
  /// Without the DeviceClass only `devices` is counted. Devices of other nodes (kElsewhere) are only in
  /// `obstacles`.
  std::string claim, request, device_class;  // "namespace/name"; "request" or "request/alternative"
  bool all = false;
  int64_t wanted = 0;
  /// holders: "namespace/name (pod p)". Taints, counters and constraints are checked for matching devices
  /// only.
  size_t devices = 0;                     // visible to the node, in usable pools
  size_t matching = 0;                    // of these; a shared device counts while a share is available
  size_t allocated = 0;                   // matching devices with an exclusive holder
  size_t free = 0;                        // matching devices without an obstacle
  std::map<std::string, size_t> holders;  // claim -> number of matching devices
  std::vector<ObstacleGroup> obstacles;   // of devices that are not free, the closest to it first
  /// Capacities of which the request asks for more than a device gives to one claim, by name: the number of
  /// matching devices that give less, and the maximum that one of them gives.
  struct OverMost {
    size_t devices = 0;
    Amount most = 0;
  };
  std::map<std::string, OverMost> over_most;
  /// Capacities with too little left, by name: devices that match and are free otherwise. The devices are
  /// views into the slices.
  std::map<std::string, std::vector<DeviceId>> used_up;
  /// Selectors that fail on a device: of the class (true) or of the request, by index.
  std::set<std::pair<bool, size_t>> failing;
  /// By index of the claim's constraints: the values of free devices, with the number of devices for each. At
  /// most kValuesMax per constraint; none for a constraint that does not apply to the request.
  std::map<size_t, std::map<std::string, size_t>> values;
};

/// Returns one for each request and alternative of the scene's claims, in order. Bounded: `what` is built for
/// one device of each kind, and for each that is closer than the one before. Uses scene.selectors: invalid
/// after their budget is used up, because all results are kNo then.
std::vector<RequestView> view_requests(const Scene& scene);

}  // namespace sliced::why
