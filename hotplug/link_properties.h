#pragma once
// Facts of an interface that only RTM_GETLINK reports.
#include <optional>
#include <string>
#include <vector>

namespace sliced::hotplug {

struct LinkProperties {
  std::vector<std::string> alternative_names;  // IFLA_ALT_IFNAME, in the kernel's order
  /// IFLA_NETNS_IMMUTABLE: the kernel does not move it to another network namespace. nullopt: the kernel does
  /// not report it (before Linux 6.15).
  std::optional<bool> is_netns_immutable;
  bool operator==(const LinkProperties&) const = default;
};

}  // namespace sliced::hotplug
