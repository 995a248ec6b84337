#pragma once
// Records since when each readiness condition has held, for each device. Time is a parameter, and equal calls
// give equal results: the daemon passes every inventory (daemon/daemon.h), and decisions read the tracks.
//
// New:       the times of a device that appears, comes back, or gets another interface start at that moment.
// Away:      while a function's interface is in another network namespace, or a pod has the function, its
// results stay; after a return until udevd has initialized the interface. The result of udevInitialized is
// not kept for an interface that may be another one (ifindex): events may be lost, and another function may
// have the address.
// Unknown:   a fact that a PF no longer reports (its interface is in another namespace) keeps its value. So
// does carrier while the link state cannot be read.
// Flapping:  each loss of a condition delays when it counts again (damping()). The count survives a replaced
// interface, and ends with the device or the daemon.
// Start:     an entry in slices of this boot whose device is ready counts as ready ever since. Conditions
// that cannot be read then count as met, for the published entries only.
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

/// Damping of conditions that flap: a condition that was lost n times must hold for damping(n) before its
/// device is offered again or loses its taint. 0 for one loss, then 1 s, 2 s, 4 s, 8 s, 16 s, and at most
/// kDampingMax. The count restarts after the condition has held for kLossesExpireAfter. So a flapping device changes
/// at most 14 times in the first minute and 4 times in each later one.
inline constexpr Millis kDampingMax{30'000};
inline constexpr Millis kLossesExpireAfter{60'000};
Millis damping(int losses);

/// The time of a state without a known start.
inline constexpr TimePoint kUnknownStart = TimePoint::min();

/// The track of one device.
struct Track {
  TimePoint born = kUnknownStart;  // when it appeared or was replaced
  /// By Condition, without mtuAtLeast.
  ConditionSet met;
  ConditionSet not_applicable;                     // the part of `met` that does not apply to the device
  std::array<TimePoint, kConditionCount> since{};  // start of being met, or not met
  // The facts of mtuAtLeast, for any required value.
  Finding::Is mtu_is = Finding::Is::kNotMet;
  int mtu = 0;
  TimePoint mtu_since = kUnknownStart;
  /// Earlier smaller MTUs and their ends, each smaller than all later ones.
  struct Low {
    int mtu = 0;
    TimePoint until = kUnknownStart;
    bool operator==(const Low&) const = default;
  };
  std::vector<Low> lows;
  /// By Condition: number of losses, each within kLossesExpireAfter of being met again.
  std::array<uint8_t, kConditionCount> losses{};
  int ifindex = 0;       // of its interface; 0 if none
  bool is_away = false;  // its interface is known to be in another network namespace
  // Assumptions for entries that were published when the daemon started: conditions that count as met without
  // having been read, and the time of the first read, before which the state counts as unchanged. kUnknownStart:
  // none.
  ConditionSet assumed;
  TimePoint assumed_at = kUnknownStart;

  bool is_met(Condition condition, int mtu_at_least) const;
  /// Returns the start of that state.
  TimePoint since_of(Condition condition, int mtu_at_least) const;
  /// Returns the track without the assumptions.
  Track without_assumptions() const;
  bool operator==(const Track&) const = default;
};
using Tracks = SharedMap<Track>;  // by host device id

/// The result of a demand for a device. An interface that udevd has not initialized prevents an offer and is
/// no loss: an interface that appears late, or comes back, withdraws nothing.
struct Readied {
  ConditionSet missing;
  TimePoint since = kUnknownStart;  // start of all conditions being met; if one is missing, of the first one
                                    // missing
  ConditionSet lost;                // the part of `missing` that a published entry must have
  TimePoint intact_since = kUnknownStart;  // start of no withdrawing loss, while nothing is lost
  /// End of the last damping of a condition that is met again; kUnknownStart if none is damped.
  TimePoint calm_at = kUnknownStart;
  std::optional<Condition> flapping;  // the condition of calm_at
  int losses = 0;                     // its losses
};
Readied readied(const Track& track, const Demand& demand);

/// Returns the track of a device that is seen for the first time.
Track track_of(const Subject& subject, TimePoint now);

/// The tracks of all devices. Not thread-safe. Deterministic. Requires: times do not decrease.
class ReadinessBook {
 public:
  /// Called once, before the first look(). published: host devices with an entry in slices of this boot. all:
  /// for commands that read the host once, ready devices count as ready ever since.
  void begin(const hotplug::InventoryPtr& host, const NodeState& node_state,
             const std::set<std::string>& published, bool all, TimePoint now);
  bool has_begun() const { return host_ != nullptr; }
  /// Cheap if both inventories share their devices and the node state is unchanged.
  void look(const hotplug::InventoryPtr& host, const NodeState& node_state, TimePoint now);
  /// A pod has the device or will get it: its interface may return as another one.
  void hold(const std::string& id) { held_.insert(id); }
  const Tracks& now() const { return tracks_; }
  /// Returns true if udevd has not initialized the interface of some device.
  bool is_any_unfinished() const;
  /// Returns true if an assumption about a published entry is in effect.
  bool is_any_assumed() const;
  const NodeState& node_state() const { return node_state_; }

 private:
  void update_vfs(const std::set<hotplug::PciAddress>& pfs, TimePoint now);
  void update_device(const std::string& id, const hotplug::HostDevice& device, TimePoint now);
  void keep_results(const std::string& id, const Track& known, const hotplug::HostDevice& device,
                    TimePoint now);
  bool is_elsewhere(const std::string& id, const Track& known, const hotplug::HostDevice& device) const;

  hotplug::InventoryPtr host_;
  NodeState node_state_;
  Tracks tracks_;
  std::set<std::string> held_;  // until their interface returns
};

}  // namespace sliced::policy
