#pragma once
// `allow` of SriovResourcePolicies and DeviceExposurePolicies: which settings of a VF the author of a network definition, or of a claim with
// `network`, may make through its PF. Values are named as in sriov-cni, ib-sriov-cni and `ip link set PF vf N`.
#include <bitset>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/vlan_ids.h"

namespace sliced::policy {

class FieldReader;

inline constexpr size_t kVfSettingCount = 10;
struct VfSettings {
  std::bitset<kVfSettingCount> names;  // a bit for each of vf_setting_names()
  VlanIds vlans;                       // that the setting vlan may have; none without it
  bool operator==(const VfSettings&) const = default;
};
/// What both allow.
VfSettings operator&(const VfSettings& one, const VfSettings& other);

/// The values that `allow` may have: "vlan", "vlanQoS", ... The same as cni::vf_settings(), in its order. `vlan` may have ids behind it:
/// "vlan=100", "vlan=100-199".
std::span<const std::string_view, kVfSettingCount> vf_setting_names();
/// Without the ids of vlan.
std::vector<std::string> names_of(const VfSettings& settings);
/// As `allow` has them, with the ids of vlan.
std::vector<std::string> entries_of(const VfSettings& settings);

/// spec.allow. nullopt: absent, so that --vf-settings decides. A value that cannot be understood is a problem of the policy, and
/// the list is then without it; so is null, which may be meant as an empty list. reader: of spec.
std::optional<VfSettings> decode_allow(const kube::Json& spec, FieldReader& reader);

}  // namespace sliced::policy
