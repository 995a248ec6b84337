#include "cli/prepared_facts.h"

#include "cli/process.h"
#include "kubelet/checkpoint.h"
#include "reactor/base/text.h"
#include "reactor/durable_file.h"

namespace sliced::cli {

std::string checkpoint_path(const config::Options& options) {
  return options.kubelet_plugins_directory + "/" + options.sriov_driver_name + "/sliced-checkpoint.json";
}

PreparedFacts read_prepared(const std::string& boot_id, const config::Options& options) {
  PreparedFacts out;
  if (boot_id.empty()) return out;  // no record can be of this boot
  const std::string path = checkpoint_path(options);
  const auto text = reactor::read_whole(path, kubelet::kCheckpointBytesMax);
  if (!text && text.error().code == Errc::kNotFound) return out;
  const auto found = text ? kubelet::decode_checkpoint(*text) : Result<kubelet::Checkpoint>(text.error());
  if (!found) {
    complain(
        "prepared devices are unknown: " + escaped(path) + ": " + found.error().what +
        "; devices that pods hold are judged as the host shows them now, which may differ from the daemon" +
        (found.error().code == Errc::kDenied ? "; run as root, or ask `sliced status verdicts`" : ""));
    return out;
  }
  if (found->boot_id != boot_id) return out;
  for (const auto& [key, claim] : found->claims)
    for (const kubelet::PreparedDevice& device : claim.devices) {
      if (device.is_admin) continue;
      if (!device.pci.empty()) out.prepared.insert(device.pci);
      if (device.held) out.held.emplace(device.held->id.text, *device.held);
    }
  return out;
}

HostWithPrepared with_prepared(hotplug::InventoryPtr host, const config::Options& options) {
  PreparedFacts facts = read_prepared(host->boot_id, options);
  return {hotplug::with_held(host, facts.held), std::move(facts.prepared)};
}

}  // namespace sliced::cli
