#pragma once
// The VF settings that policies permit the authors of network definitions, and of claims with `network`, to
// set through the PF of a device. Pure.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "policy/decision.h"
#include "policy/exposure/policy.h"
#include "policy/vf_settings.h"

namespace sliced::policy {

/// The combined permission of all policies that match a device.
struct AllowedSettings {
  bool has_policy = false;  // a policy matches the device, or may match it depending on unknown facts
  /// Settings that `allow` of each matching policy with the field contains; nullopt if no policy has the
  /// field.
  std::optional<VfSettings> listed = std::nullopt;
  bool is_default_too =
      false;                  // a matching policy lacks the field, so that --vf-settings limits the settings
                              // too
  std::string policies = {};  // policies with the field: "SriovResourcePolicy ns/a and SriovResourcePolicy
                              // ns/b"
};

/// Returns the permission by SriovResourcePolicies that select the node and match the VF, including those
/// after the policy that decides.
AllowedSettings sriov_settings(const Decision& decision, const hotplug::HostDevice& vf);
/// Returns the permission by DeviceExposurePolicies that expose the device under this deviceNameSuffix,
/// including those after the policy that decides.
AllowedSettings exposure_settings(const Decision& decision, const hotplug::HostDevice& device,
                                  std::string_view suffix);

std::vector<std::string> plugin_names(const Exposure& exposure);
/// The CNI plugins that DeviceExposurePolicies permit for a device that none of them offers now.
struct AllowedPlugins {
  /// Plugins that each policy with supportedCNIPlugins lists; nullopt if no policy has the field.
  std::optional<std::vector<std::string>> listed = std::nullopt;
  bool is_default_too = false;  // a policy lacks the field, so that the option of the daemon limits them too
};
/// Returns the permission by the policies that expose the device under this suffix; if there is none, by all
/// policies of the node with this suffix, because a filter may name a fact that the device does not have yet. No
/// plugin without such a policy.
AllowedPlugins exposure_plugins(const Decision& decision, const hotplug::HostDevice& device,
                                std::string_view suffix);

/// Returns a text for people: "; network definitions and claims may set vlan, trust (spec.allow of
/// ...)"; "" if no policy has `allow`.
std::string text_of(const AllowedSettings& settings);

}  // namespace sliced::policy
