#pragma once
// A request on a node, device by device: how many match, how many are free, and what stands in the way of the others.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocation/scene.h"

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

/// One obstacle, with how many devices have it as their first.
struct Standing {
  Obstacle obstacle = Obstacle::kNone;
  std::string what;    // in words, of one of them
  std::string device;  // that one
  size_t devices = 0;
};

struct RequestView {
  std::string claim, request, device_class;  // "namespace/name"; "request" or "request/alternative"
  bool all = false;
  int64_t wanted = 0;
  size_t devices = 0;                     // that the node sees, in usable pools
  size_t matching = 0;                    // of them; a device that is shared counts while there is one of it
  size_t allocated = 0;                   // of those that match: held by somebody alone
  size_t free = 0;                        // of those that match: nothing stands in the way
  std::map<std::string, size_t> holders;  // claim -> how many of those that match
  std::vector<Standing> standing;         // of those that are not free, the nearest to it first
};

/// One for each request and alternative of the scene's claims. Bounded: `what` is made for one device of each kind.
std::vector<RequestView> view_requests(const Scene& scene);

}  // namespace sliced::allocation
