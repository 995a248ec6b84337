// The checkpoint of dra-driver-sriov as it, a disk or a person may leave it; also with the checksum that fits.
#include "kubelet/checkpoint.h"
#include "kubelet/peer_checkpoint.h"
#include "kubelet/plan.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::peer_checkpoint_target {

namespace {

void try_peers(const std::string& text) {
  const auto found = kubelet::decode_peer_checkpoint(text);
  if (!found) return fuzz::check(found.error());
  for (const auto& [key, claim] : *found) {
    fuzz::must(!claim.devices.empty() && key == kubelet::key_of(claim),
               "each claim has devices, under its uid");
    for (const auto& device : claim.devices)
      fuzz::must(hotplug::PciAddress::decode(device.pci).has_value(), "each device is a function",
                 device.pci);
    kubelet::answer_of(claim, true);
  }
  const auto again = kubelet::decode_checkpoint(kubelet::encode_checkpoint({"boot", *found}));
  fuzz::must(again.ok() && again->claims == *found, "it can be kept as ours");
}

}  // namespace

FUZZ_TARGET(peer_checkpoint) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_peers(text);
  const std::string rest = ",\"v1\":" + text + "}";
  try_peers("{\"checksum\":" + std::to_string(kubelet::peer_checksum("{\"checksum\":0" + rest)) + rest);
  return 0;
}

}  // namespace sliced::fuzz::peer_checkpoint_target
