#include "kubelet/recall.h"

#include <algorithm>

#include "hotplug/facts.h"
#include "kubelet/claim.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

// The name of a share's device ends with the share's id.
std::string entry_in(const std::string& text) {
  constexpr size_t kShareId = 36;  // a UUID
  const size_t end = text.size() > kShareId + 1 ? text.size() - kShareId - 1 : std::string::npos;
  const bool has_share = end != std::string::npos && text[end] == '-' &&
                         std::count(text.begin() + static_cast<long>(end) + 1, text.end(), '-') == 4;
  return has_share ? text.substr(0, end) : text;
}

}  // namespace

std::optional<PreparedClaim> recall(const std::string& driver, const std::string& id, const cdi::Spec& spec) {
  PreparedClaim out{.driver = driver,
                    .namespace_ = std::string(kUnknownClaimName),
                    .name = std::string(kUnknownClaimName),
                    .uid = id,
                    .cdi_pod_id = id};
  for (const cdi::Device& one : spec.devices) {
    if (!one.name.starts_with(id + "-")) continue;
    const std::string named = one.name.substr(id.size() + 1);
    PreparedDevice device{.device = entry_in(named), .edits = one.edits};
    const auto function = policy::function_named_by(device.device);
    if (function) device.pci = function->text();
    device.holding = {.entry = device.device,
                      .device = function ? function->text() : device.device,
                      .base = function ? policy::function_name(*function) : device.device,
                      .is_exclusive = named == device.device,
                      .group = std::string(policy::kAnyGroup)};
    if (const VfioNodes nodes = vfio_nodes_in(one.edits); !nodes.empty()) {
      device.vfio = VfioBinding{.group = nodes.group, .cdev = nodes.cdev};
      device.config.driver = kVfioDriver;
    }
    out.devices.push_back(std::move(device));
  }
  if (out.devices.empty()) return std::nullopt;
  return out;
}

VfioNodes VfioNodes::decode(std::string_view text) {
  constexpr std::string_view kNoIommu = "noiommu-";
  VfioNodes out;
  for (const std::string_view word : split(text, ' ')) {
    const std::string_view name = word.starts_with(kNoIommu) ? word.substr(kNoIommu.size()) : word;
    (name.starts_with("vfio") ? out.cdev : out.group) = std::string(word);
  }
  return out;
}

std::string VfioNodes::text() const { return group + (group.empty() || cdev.empty() ? "" : " ") + cdev; }

bool is_nameless(const PreparedClaim& claim) { return claim.name == kUnknownClaimName; }

std::string short_name(const PreparedClaim& claim) {
  return is_nameless(claim) ? "unknown name (uid " + escaped(claim.uid) + ")"
                            : claim.namespace_ + "/" + claim.name;
}

VfioNodes vfio_nodes_in(const cdi::Edits& edits) {
  constexpr std::string_view kStart = "/dev/vfio/", kDevices = "/dev/vfio/devices/";
  VfioNodes out;
  for (const cdi::DeviceNode& node : edits.nodes)
    if (node.host_path.starts_with(kDevices))
      out.cdev = node.host_path.substr(kDevices.size());
    else if (node.host_path.starts_with(kStart) && node.host_path != "/dev/vfio/vfio")
      out.group = node.host_path.substr(kStart.size());
  return out;
}

void undo_by_reboot(PreparedClaim& claim, bool is_sure) {
  claim.is_complete = false;
  for (PreparedDevice& device : claim.devices) {
    device.held.reset();
    device.is_of_peer = false;
    if (is_sure) device.has_original_settings = false;
    if (is_sure)
      device.vfio.reset();
    else if (device.vfio)
      device.vfio = VfioBinding{};
  }
}

}  // namespace sliced::kubelet
