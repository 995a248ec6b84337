#include "cli/host_once.h"

namespace sliced::cli {

void complain_of_slow_host() {
  complain("the host could not be read within " + std::to_string(kReadHostMax.count() / 1000) + " s");
}

hotplug::InventoryPtr read_host_once(Process& process) {
  hotplug::InventoryPtr inventory;
  hotplug::HostSource source(process.host_ports(/*live_events=*/false),
                             [&](const hotplug::InventoryUpdate& update) { inventory = update.now; });
  source.start();
  if (!process.run_until([&] { return inventory != nullptr; }, kReadHostMax)) complain_of_slow_host();
  return inventory;
}

}  // namespace sliced::cli
