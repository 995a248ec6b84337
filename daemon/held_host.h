#pragma once
// Between the host and whoever decides: devices that pods have are shown with their facts of before
// (hotplug/held_facts.h), so that a prepare, an unprepare and an interface that moves decide nothing.
//
// End:       what is let go keeps its facts until the kernel says the same again (the driver is bound, the interface
//            is back and has its name), for kReturnMax at most: then the host is believed.
// Reentry:   on_update runs within take(), let_go() and on a turn of its own, never within hold().
#include <functional>
#include <map>
#include <set>
#include <string>

#include "hotplug/held_facts.h"
#include "hotplug/host_source.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

class HeldHost {
 public:
  static constexpr Millis kReturnMax{10'000};  // a driver probes, udev gives the interface its name

  /// on_update: what has changed of what is decided over, with an inventory of its own; the scheduler
  /// outlives this.
  HeldHost(reactor::Scheduler& scheduler, std::function<void(const hotplug::InventoryUpdate&)> on_update);

  /// What the host says; told on unless nothing of it shows.
  void take(const hotplug::InventoryUpdate& update);
  /// by: whoever has the device; several may. True when another inventory is to be decided over from now on.
  /// facts: as they were before whoever has it began. Of a device that is held already, or on its way back,
  /// the first ones stay.
  bool hold(const std::string& by, const hotplug::HostDevice& facts);
  /// All that it has.
  /// Nothing where it has none.
  void let_go(const std::string& by);

  /// Somebody has it, or it is on its way back.
  bool is_held(const std::string& id) const { return held_.contains(id); }

  /// To be decided over. Version 0 before the first take().
  const hotplug::InventoryPtr& inventory() const;

 private:
  struct Held {
    hotplug::HostDevice facts;
    std::set<std::string> by;       // empty: it is on its way back
    TimePoint until = TimePoint();  // then
  };
  hotplug::HeldFacts facts() const;
  // Ends those that are back or have had their time, and looks again when the next one has.
  void end_returns();
  // Only where something of it shows, but the first one and each relist in any case.
  void tell(const hotplug::InventoryPtr& before, hotplug::InventoryUpdate update);

  reactor::Scheduler& scheduler_;
  const std::function<void(const hotplug::InventoryUpdate&)> on_update_;
  std::map<std::string, Held> held_;  // by id
  hotplug::InventoryPtr host_ = std::make_shared<const hotplug::Inventory>();
  mutable hotplug::InventoryPtr shown_;  // null: to be made of the two
  reactor::Ticket ticket_;
};

}  // namespace sliced::daemon
