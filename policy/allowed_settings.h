#pragma once
// What the policies that match a device allow the authors of network definitions, and of claims with `network`, to set through its PF. Pure.
#include <optional>
#include <string>
#include <string_view>

#include "hotplug/facts.h"
#include "policy/decision.h"
#include "policy/vf_settings.h"

namespace sliced::policy {

/// What the policies that match a device allow together.
struct AllowedSettings {
  bool has_policy = false;  // a policy matches the device, or may: facts that it asks for are unknown
  /// Those in `allow` of each policy that matches and has the field; nullopt: none has it.
  std::optional<VfSettings> listed = std::nullopt;
  bool is_default_too =
      false;                  // a policy that matches does not have the field: --vf-settings limits them, too
  std::string policies = {};  // that have the field: "SriovResourcePolicy ns/a and SriovResourcePolicy ns/b"
};

/// SriovResourcePolicies that select the node and match the VF, also those behind the one that decides.
AllowedSettings sriov_settings(const Decision& decision, const hotplug::HostDevice& vf);
/// DeviceExposurePolicies that expose the device under this deviceNameSuffix, also those behind the one that decides.
AllowedSettings exposure_settings(const Decision& decision, const hotplug::HostDevice& device,
                                  std::string_view suffix);

/// For people: "; network definitions and claims may set vlan, trust through the PF (spec.allow of ...)"; "" where no policy has `allow`.
std::string text_of(const AllowedSettings& settings);

}  // namespace sliced::policy
