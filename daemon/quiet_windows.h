#pragma once
// Host devices that settle (daemon/debouncer.h), with the timer that ends it. Units: Millis, of --settle and
// --settle-max. Ownership: the scheduler outlives this object. Reentry: on_settled runs on a turn of its own.
#include <functional>
#include <set>
#include <string>

#include "daemon/debouncer.h"
#include "hotplug/host_source.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

class QuietWindows {
 public:
  QuietWindows(reactor::Scheduler& scheduler, Millis quiet, Millis longest, std::function<void()> on_settled);

  /// Starts or extends the windows of added and changed devices. VFs settle with their PF, other devices on
  /// their own; removals do not wait. follows: a decision was published before; if false, no window starts,
  /// so that the first publication is not delayed.
  void note(const hotplug::InventoryUpdate& update, bool follows);
  void set_windows(Millis quiet, Millis longest) { debouncer_.set_windows(quiet, longest); }
  /// Returns the devices of the inventory that settle.
  std::set<std::string> of(const hotplug::Inventory& inventory) const;

 private:
  void arm();

  reactor::Scheduler& scheduler_;
  const std::function<void()> on_settled_;
  Debouncer debouncer_;
  reactor::Ticket ticket_;
};

}  // namespace sliced::daemon
