#pragma once
// `allow` of SriovResourcePolicies and DeviceExposurePolicies: which settings of a VF the author of a network definition may make
// through its PF. Values are named as in sriov-cni, ib-sriov-cni and `ip link set PF vf N`.
#include <bitset>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::policy {

class FieldReader;

inline constexpr size_t kVfSettingCount = 10;
/// A bit for each of vf_setting_names().
using VfSettings = std::bitset<kVfSettingCount>;

/// The values that `allow` may have: "vlan", "vlanQoS", ... The same as cni::vf_settings(), in its order.
std::span<const std::string_view, kVfSettingCount> vf_setting_names();
std::vector<std::string> names_of(const VfSettings& settings);

/// spec.allow. nullopt: absent, so that --vf-settings decides. A value that cannot be understood is a problem of the policy, and
/// the list is then without it; so is null, which may be meant as an empty list. reader: of spec.
std::optional<VfSettings> decode_allow(const kube::Json& spec, FieldReader& reader);

}  // namespace sliced::policy
