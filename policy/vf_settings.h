#pragma once
// `allow` of SriovResourcePolicies and DeviceExposurePolicies: the VF settings that the author of a network
// definition, or of a claim with `network`, may make through the PF. Names are those of sriov-cni,
// ib-sriov-cni and `ip link set PF vf N`.
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
  std::bitset<kVfSettingCount> names;  // one bit for each of vf_setting_names()
  VlanIds vlans;                       // permitted ids of the setting vlan; none without it
  bool operator==(const VfSettings&) const = default;
};
/// Returns the settings that both permit.
VfSettings operator&(const VfSettings& one, const VfSettings& other);

/// Returns the values of `allow`: "vlan", "vlanQoS", ... The same as cni::vf_settings(), in its order. `vlan`
/// may be followed by ids: "vlan=100", "vlan=100-199".
std::span<const std::string_view, kVfSettingCount> vf_setting_names();
/// Returns the names without the ids of vlan.
std::vector<std::string> names_of(const VfSettings& settings);
/// Returns the values as in `allow`, with the ids of vlan.
std::vector<std::string> entries_of(const VfSettings& settings);

/// Decodes spec.allow. nullopt if absent, so that --vf-settings decides. An invalid value is a problem of the
/// policy and left out; so is null, which may be meant as an empty list. reader: of spec.
std::optional<VfSettings> decode_allow(const kube::Json& spec, FieldReader& reader);

}  // namespace sliced::policy
