#include "policy/vf_settings.h"

#include <algorithm>
#include <array>

#include "policy/field_reader.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

constexpr std::array<std::string_view, kVfSettingCount> kVfSettingNames = {
    "vlan",       "vlanQoS",     "vlanProto",   "trust", "spoofchk",
    "link_state", "min_tx_rate", "max_tx_rate", "mac",   "pkey"};
constexpr size_t kAllowEntriesMax = 64, kSettingBytesMax = 64;
constexpr size_t kVlan = 0;  // index into kVfSettingNames
constexpr std::string_view kVlanIds = "vlan=";

std::string expected_settings(std::string_view text) {
  const std::string near = nearest(text, {kVfSettingNames.begin(), kVfSettingNames.end()});
  return (near.empty() ? "" : "; did you mean " + near + "?") + "; expected some of " +
         join(std::vector<std::string>(kVfSettingNames.begin(), kVfSettingNames.end()), ", ") +
         ", vlan=ID, vlan=FIRST-LAST";
}

// Adds one value of `allow`. Returns the error; "" if valid.
std::string add_setting(const std::string& text, VfSettings& out) {
  const std::string has = "has " + in_quotes(text, kSettingBytesMax);
  if (text.starts_with(kVlanIds)) {
    const auto ids = VlanIds::decode(std::string_view(text).substr(kVlanIds.size()));
    if (!ids) return has + ", expected vlan=ID or vlan=FIRST-LAST with ids from 0 (no VLAN) to 4094";
    if (out.vlans.contains_all(*ids)) return has + ", which another value allows, too: remove one of them";
    out.names.set(kVlan), out.vlans |= *ids;
    return "";
  }
  const auto at = std::find(kVfSettingNames.begin(), kVfSettingNames.end(), text);
  const auto index = static_cast<size_t>(at - kVfSettingNames.begin());
  if (at == kVfSettingNames.end()) return has + expected_settings(text);
  if (index == kVlan && out.names.test(kVlan) && !out.vlans.is_all())
    return has + " beside " + join(with_vlan_ids({"vlan"}, out.vlans), ", ") +
           ": remove vlan, which allows every id, or the ids";
  if (out.names.test(index)) return has + " twice: remove one of them";
  out.names.set(index);
  if (index == kVlan) out.vlans = VlanIds::all();
  return "";
}

}  // namespace

VfSettings operator&(const VfSettings& one, const VfSettings& other) {
  VfSettings out = one;
  out.names &= other.names, out.vlans &= other.vlans;
  if (out.vlans.empty()) out.names.reset(kVlan);
  return out;
}

std::span<const std::string_view, kVfSettingCount> vf_setting_names() { return kVfSettingNames; }

std::vector<std::string> names_of(const VfSettings& settings) {
  std::vector<std::string> out;
  for (size_t i = 0; i < kVfSettingCount; ++i)
    if (settings.names.test(i)) out.emplace_back(kVfSettingNames[i]);
  return out;
}

std::vector<std::string> entries_of(const VfSettings& settings) {
  return with_vlan_ids(names_of(settings), settings.vlans);
}

std::optional<VfSettings> decode_allow(const kube::Json& spec, FieldReader& reader) {
  constexpr std::string_view kAllow = "allow";
  const kube::Json* value = spec.find(kAllow);
  if (value == nullptr) return std::nullopt;
  VfSettings out;
  if (value->is_null())
    reader.problem(kAllow,
                   "is null, expected a list: [] allows nothing, without the field --vf-settings decides",
                   value->line());
  for (const auto& [text, line] : reader.texts(kAllow, kAllowEntriesMax, kSettingBytesMax))
    if (std::string why = add_setting(text, out); !why.empty()) reader.problem(kAllow, std::move(why), line);
  return out;
}

}  // namespace sliced::policy
