#pragma once
// The host as decisions see it: devices of pods have the facts from before the pod got them (*pinned*,
// hotplug/pinned_facts.h). So a prepare, an unprepare or an interface that moves does not change a decision.
//
// End:     after let_go() the facts stay pinned until the kernel reports the same again (the driver is bound,
//          the interface has returned with its name), at most for kReturnMax.
// Reentry: on_update runs within take(), let_go() and on a turn of its own, never within hold().
#include <functional>
#include <map>
#include <set>
#include <string>

#include "hotplug/host_source.h"
#include "hotplug/pinned_facts.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

class PinnedHost {
 public:
  static constexpr Millis kReturnMax{10'000};  // time for a driver to probe, and for udev to rename the
                                               // interface

  /// on_update: gets the changes of the inventory with pinned facts. The scheduler outlives this object.
  PinnedHost(reactor::Scheduler& scheduler, std::function<void(const hotplug::InventoryUpdate&)> on_update);

  /// Takes a host update, and calls on_update unless pinned facts hide all of it.
  void take(const hotplug::InventoryUpdate& update);
  /// Pins facts from before `by`, a prepared claim, got the device; several holders are possible. Returns
  /// true if the inventory for decisions differs now. The first facts stay if the device is pinned already,
  /// or is returning.
  bool hold(const std::string& by, const hotplug::HostDevice& facts);
  /// Ends all holds of `by`.
  void let_go(const std::string& by);

  /// Returns whether the device has a holder, or is returning.
  bool is_pinned(const std::string& id) const { return pinned_.contains(id); }

  /// The inventory for decisions. Version 0 before the first take().
  const hotplug::InventoryPtr& inventory() const;

 private:
  struct Pinned {
    hotplug::HostDevice facts;
    std::set<std::string> by;       // holders; empty: returning
    TimePoint until = TimePoint();  // end of the return
  };
  hotplug::PinnedFacts facts() const;
  // Ends the returns that are complete or over, and arms the timer for the next one.
  void end_returns();
  // Calls on_update if a difference is visible, and for the first update and each relist.
  void notify(const hotplug::InventoryPtr& before, hotplug::InventoryUpdate update);

  reactor::Scheduler& scheduler_;
  const std::function<void(const hotplug::InventoryUpdate&)> on_update_;
  std::map<std::string, Pinned> pinned_;  // by id
  hotplug::InventoryPtr host_ = std::make_shared<const hotplug::Inventory>();
  mutable hotplug::InventoryPtr merged_;  // null: to be computed from the two
  reactor::Ticket ticket_;
};

}  // namespace sliced::daemon
