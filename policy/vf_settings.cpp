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

std::string expected_settings(std::string_view text) {
  const std::string near = nearest(text, {kVfSettingNames.begin(), kVfSettingNames.end()});
  return (near.empty() ? "" : "; did you mean " + near + "?") + " Wants some of " +
         join(std::vector<std::string>(kVfSettingNames.begin(), kVfSettingNames.end()), ", ");
}

}  // namespace

std::span<const std::string_view, kVfSettingCount> vf_setting_names() { return kVfSettingNames; }

std::vector<std::string> names_of(const VfSettings& settings) {
  std::vector<std::string> out;
  for (size_t i = 0; i < kVfSettingCount; ++i)
    if (settings.test(i)) out.emplace_back(kVfSettingNames[i]);
  return out;
}

std::optional<VfSettings> decode_allow(const kube::Json& spec, FieldReader& reader) {
  constexpr std::string_view kAllow = "allow";
  const kube::Json* value = spec.find(kAllow);
  if (value == nullptr) return std::nullopt;
  VfSettings out;
  if (value->is_null())
    reader.problem(kAllow,
                   "is null, wants a list: [] allows nothing, without the field --vf-settings decides",
                   value->line());
  for (const auto& [text, line] : reader.texts(kAllow, kAllowEntriesMax, kSettingBytesMax)) {
    const auto at = std::find(kVfSettingNames.begin(), kVfSettingNames.end(), text);
    const auto index = static_cast<size_t>(at - kVfSettingNames.begin());
    if (at == kVfSettingNames.end())
      reader.problem(kAllow, "has " + in_quotes(text, kSettingBytesMax) + expected_settings(text), line);
    else if (out.test(index))
      reader.problem(kAllow, "has " + in_quotes(text, kSettingBytesMax) + " twice: remove one of them", line);
    else
      out.set(index);
  }
  return out;
}

}  // namespace sliced::policy
