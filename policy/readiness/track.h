#pragma once
// Since when each condition of readiness has held, device by device. Time is an argument, and the same calls give
// the same answers: the daemon looks at every inventory (daemon/daemon.h), a decision reads what came of it.
//
// New:      a device that appears, or comes back, has been ready since that moment at the earliest; so has one whose
//           interface was replaced by another one unseen.
// Away:     while a function's interface is in another network namespace, or a pod has the function, its results stay
//           what they were; of an interface that comes back until udevd has finished with it. That udevd has finished is
//           not known of one that is not known to be the same (ifindex): events may have been lost, and the function be
//           another one at its address.
// Untold:   what a PF does not tell any more (its interface is elsewhere) stays as it was told, where it was told and
//           concerns the device still. So does carrier while the link state cannot be read.
// Flapping: losses of a condition are counted, and each makes it wait for longer before it counts (damping()). The count outlives
//           a replaced interface, and is forgotten with the device or the daemon.
// Start:    what stands in slices of this boot and is ready when the daemon begins has been ready ever since; what
//           nobody can tell of it then counts as met. That is so for the entries that stand, and for no others of it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "policy/readiness/conditions.h"
#include "policy/readiness/readiness.h"
#include "reactor/base/shared_map.h"
#include "reactor/base/time.h"

namespace sliced::policy {

/// Damping of conditions that come and go: what was lost n times has to hold for damping(n) before its device is offered again, or
/// loses its taint. 0 for one loss, then 1 s, 2 s, 4 s, 8 s, 16 s, and at most kDampingMax. A condition that has held for kCalmAfter
/// counts from 0 again. So a device that flaps changes at most 14 times in the first minute and 4 times in each later one.
inline constexpr Millis kDampingMax{30'000};
inline constexpr Millis kCalmAfter{60'000};
Millis damping(int losses);

/// What has been so ever since.
inline constexpr TimePoint kEver = TimePoint::min();

/// Of one device.
struct Track {
  TimePoint born = kEver;  // when it appeared, or was replaced
  /// By Condition; of mtuAtLeast nothing is here.
  ConditionSet met;
  ConditionSet not_for_it;                         // of what is met: that does not apply to it
  std::array<TimePoint, kConditionCount> since{};  // that it is met, or that it is not
  // What mtuAtLeast is told by, whatever it asks for.
  Finding::Is mtu_is = Finding::Is::kNotMet;
  int mtu = 0;
  TimePoint mtu_since = kEver;
  /// What the MTU was before, and until when: each smaller than all that came later.
  struct Low {
    int mtu = 0;
    TimePoint until = kEver;
    bool operator==(const Low&) const = default;
  };
  std::vector<Low> lows;
  /// By Condition: how often it was lost with less than kCalmAfter between being met again and the next loss.
  std::array<uint8_t, kConditionCount> losses{};
  int ifindex = 0;       // of its interface, 0 none
  bool is_away = false;  // its interface is elsewhere, as far as is known
  // What is taken for granted since entries of it stood when the daemon began: that these are met, which nobody has
  // seen yet, and what has been so ever since, though it was seen at this time first. kEver: nothing.
  ConditionSet taken;
  TimePoint taken_at = kEver;

  bool is_met(Condition condition, int mtu_at_least) const;
  /// Since when that is so.
  TimePoint since_of(Condition condition, int mtu_at_least) const;
  /// Without what is taken for granted.
  Track as_seen() const;
  bool operator==(const Track&) const = default;
};
using Tracks = SharedMap<Track>;  // by host device id

/// What a demand finds at a device. What udevd has not finished with is not offered, and is not lost either: an
/// interface that comes later to a device, or comes back, takes away nothing that stands.
struct Readied {
  ConditionSet missing;
  TimePoint since = kEver;        // that all of it holds; with something missing: that the first of it is
  ConditionSet lost;              // of what is missing, what an entry that stands is not to lack
  TimePoint whole_since = kEver;  // that nothing is lost whose loss withdraws it, while nothing is
  /// When the last damping of a condition ends that holds again; kEver none is damped.
  TimePoint calm_at = kEver;
  std::optional<Condition> flapping;  // the condition of calm_at
  int losses = 0;                     // of it
};
Readied readied(const Track& track, const Demand& demand);

/// Of a device of which nothing was seen before.
Track track_of(const Subject& subject, TimePoint now);

/// The memory. Not thread-safe; each call is a pure function of its arguments and the calls before. Times never go
/// back.
class ReadinessBook {
 public:
  /// Once, before the first look(). published: host devices with an entry in slices of this boot; all: commands
  /// that look once take what is ready as ready ever since.
  void begin(const hotplug::InventoryPtr& host, const NodeState& node_state,
             const std::set<std::string>& published, bool all, TimePoint now);
  bool has_begun() const { return host_ != nullptr; }
  /// Costs little where both inventories share their devices and the node state is the same.
  void look(const hotplug::InventoryPtr& host, const NodeState& node_state, TimePoint now);
  /// A pod has the device, or is about to: its interface may come back as another one.
  void hold(const std::string& id) { held_.insert(id); }
  const Tracks& now() const { return tracks_; }
  /// udevd has not finished with some device's interface.
  bool is_any_unfinished() const;
  /// What stands counts as ready somewhere though nobody has seen that: what was published before is asked for.
  bool is_any_taken() const;
  const NodeState& node_state() const { return node_state_; }

 private:
  void look_at_vfs(const std::set<hotplug::PciAddress>& pfs, TimePoint now);
  void look_at(const std::string& id, const hotplug::HostDevice& device, TimePoint now);
  void stay_away(const std::string& id, const Track& known, const hotplug::HostDevice& device, TimePoint now);
  bool is_elsewhere(const std::string& id, const Track& known, const hotplug::HostDevice& device) const;

  hotplug::InventoryPtr host_;
  NodeState node_state_;
  Tracks tracks_;
  std::set<std::string> held_;  // until their interface has come back
};

}  // namespace sliced::policy
