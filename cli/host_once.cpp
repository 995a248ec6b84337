#include "cli/host_once.h"

#include <utility>

namespace sliced::cli {

void print_slow_host() {
  daemon::print_error("the host could not be read within " + std::to_string(kReadHostMax.count() / 1000) +
                      " s");
}

hotplug::InventoryPtr read_host_once(daemon::Process& process, hotplug::HostSourcePorts ports) {
  hotplug::InventoryPtr inventory;
  hotplug::HostSource source(std::move(ports),
                             [&](const hotplug::InventoryUpdate& update) { inventory = update.now; });
  source.start();
  if (!process.run_until([&] { return inventory != nullptr; }, kReadHostMax)) print_slow_host();
  return inventory;
}

}  // namespace sliced::cli
