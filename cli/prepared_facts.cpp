#include "cli/prepared_facts.h"

#include "cli/process.h"
#include "hotplug/held_facts.h"
#include "kubelet/checkpoint.h"
#include "reactor/base/text.h"
#include "reactor/durable_file.h"

namespace sliced::cli {

std::string checkpoint_path(const config::Options& options) {
  return options.kubelet_plugins_directory + "/" + options.sriov_driver_name + "/sliced-checkpoint.json";
}

HostWithPrepared with_prepared(hotplug::InventoryPtr host, const config::Options& options) {
  HostWithPrepared out{std::move(host), {}};
  const std::string path = checkpoint_path(options);
  const auto text = reactor::read_whole(path, kubelet::kCheckpointBytesMax);
  if (!text && text.error().code == Errc::kNotFound) return out;
  const auto found = text ? kubelet::decode_checkpoint(*text) : Result<kubelet::Checkpoint>(text.error());
  if (!found) {
    complain(escaped(path) + ": " + found.error().what + "; no device is taken for a pod's");
    return out;
  }
  if (found->boot_id != out.inventory->boot_id) return out;
  hotplug::HeldFacts held;
  for (const auto& [key, claim] : found->claims)
    for (const kubelet::PreparedDevice& device : claim.devices) {
      if (device.is_admin) continue;
      if (!device.pci.empty()) out.prepared.insert(device.pci);
      if (device.held) held.emplace(device.held->id.text, *device.held);
    }
  out.inventory = hotplug::with_held(out.inventory, held);
  return out;
}

}  // namespace sliced::cli
