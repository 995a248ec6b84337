#pragma once
// Which host devices are in motion, of what the host says (daemon/debouncer.h), with the clock that ends it.
//
// Units:     Millis, of --settle and --settle-max.
// Ownership: the scheduler outlives this.
// Reentry:   on_settled runs on a turn of its own.
#include <functional>
#include <set>
#include <string>

#include "daemon/debouncer.h"
#include "hotplug/host_source.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

class Settling {
 public:
  Settling(reactor::Scheduler& scheduler, Millis quiet, Millis longest, std::function<void()> on_settled);

  /// follows: what comes now may wait. Before the first decision nothing does.
  /// VFs settle with their PF, all else by itself; what is removed does not settle at all.
  void note(const hotplug::InventoryUpdate& update, bool follows);
  void set_windows(Millis quiet, Millis longest) { debouncer_.set_windows(quiet, longest); }
  /// Those of the inventory that are.
  std::set<std::string> of(const hotplug::Inventory& inventory) const;

 private:
  void arm();

  reactor::Scheduler& scheduler_;
  const std::function<void()> on_settled_;
  Debouncer debouncer_;
  reactor::Ticket ticket_;
};

}  // namespace sliced::daemon
