#include "kubelet/native_vf.h"

#include <optional>

#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr int64_t kVlanMax = 4'094, kPriorityMax = 7, kRateMax = 10'000'000;
constexpr std::string_view kDefaultProtocol = "802.1Q";

struct VfField {
  std::string_view field, setting, expected;
  bool (*read)(const Json& value, hotplug::VfConfig& out);
  Json (*write)(const hotplug::VfConfig& from);  // null: not set
  void (*copy)(const hotplug::VfConfig& from, hotplug::VfConfig& to);
};

template <auto Member>
void copy_member(const hotplug::VfConfig& from, hotplug::VfConfig& to) {
  to.*Member = from.*Member;
}

template <auto Member>
Json json_of_member(const hotplug::VfConfig& from) {
  return from.*Member ? Json(*(from.*Member)) : Json();
}

template <auto Member, int64_t kMax>
bool read_number(const Json& value, hotplug::VfConfig& out) {
  const int64_t* number = value.integer();
  if (number == nullptr || *number < 0 || *number > kMax) return false;
  (out.*Member).emplace(static_cast<typename std::decay_t<decltype(out.*Member)>::value_type>(*number));
  return true;
}

template <auto Member>
bool read_switch(const Json& value, hotplug::VfConfig& out) {
  if (value.boolean() == nullptr) return false;
  out.*Member = *value.boolean();
  return true;
}

// The kernel's facts have the spelling of IEEE 802.1Q, sriov-cni's field has 802.1q.
bool read_vlan_protocol(const Json& value, hotplug::VfConfig& out) {
  const std::string_view text = value.string() == nullptr ? "" : std::string_view(*value.string());
  out.vlan_protocol = text == "802.1q" ? "802.1Q" : text == "802.1ad" ? "802.1ad" : "";
  return !out.vlan_protocol.empty();
}

bool read_link_state(const Json& value, hotplug::VfConfig& out) {
  const std::string_view text = value.string() == nullptr ? "" : std::string_view(*value.string());
  if (text != "auto" && text != "enable" && text != "disable") return false;
  out.link_state = text;
  return true;
}

template <auto Member, int64_t kMax>
constexpr VfField number_field(std::string_view field, std::string_view setting, std::string_view expected) {
  return {
      field, setting, expected, &read_number<Member, kMax>, &json_of_member<Member>, &copy_member<Member>};
}

template <auto Member>
constexpr VfField switch_field(std::string_view field, std::string_view setting) {
  return {
      field, setting, "true or false", &read_switch<Member>, &json_of_member<Member>, &copy_member<Member>};
}

constexpr VfField kVfFields[] = {
    number_field<&hotplug::VfConfig::vlan, kVlanMax>("vlan", "vlan", "a number from 0 (untagged) to 4094"),
    number_field<&hotplug::VfConfig::vlan_qos, kPriorityMax>("vlanQoS", "vlanQoS", "a number from 0 to 7"),
    {"vlanProto", "vlanProto", "802.1q or 802.1ad", &read_vlan_protocol,
     [](const hotplug::VfConfig& from) {
       return from.vlan_protocol.empty() ? Json() : Json(lower(from.vlan_protocol));
     },
     &copy_member<&hotplug::VfConfig::vlan_protocol>},
    switch_field<&hotplug::VfConfig::trust>("trust", "trust"),
    switch_field<&hotplug::VfConfig::spoof_check>("spoofCheck", "spoofchk"),
    {"linkState", "link_state", "auto, enable or disable", &read_link_state,
     [](const hotplug::VfConfig& from) { return from.link_state.empty() ? Json() : Json(from.link_state); },
     &copy_member<&hotplug::VfConfig::link_state>},
    number_field<&hotplug::VfConfig::min_rate_mbps, kRateMax>(
        "minTxRate", "min_tx_rate", "a number from 0 (none) to 10000000, in Mbit/s"),
    number_field<&hotplug::VfConfig::max_rate_mbps, kRateMax>(
        "maxTxRate", "max_tx_rate", "a number from 0 (no limit) to 10000000, in Mbit/s"),
};

std::string text_of_value(const Json& value) {
  return value.string() != nullptr ? *value.string() : kube::encode_json(value);
}

Error wrong_vf_field(const std::string& path, std::string_view field, const std::string& what) {
  return {Errc::kInvalid, path + "." + std::string(field) + " " + what};
}

}  // namespace

std::vector<std::string_view> native_vf_fields() {
  std::vector<std::string_view> out;
  for (const VfField& one : kVfFields) out.push_back(one.field);
  return out;
}

Result<hotplug::VfConfig> decode_native_vf(const Json& network, const std::string& path) {
  hotplug::VfConfig out;
  for (const VfField& one : kVfFields) {
    const Json* value = network.find(one.field);
    if (value == nullptr || value->is_null() || one.read(*value, out)) continue;
    const bool is_scalar =
        value->integer() != nullptr || value->string() != nullptr || value->boolean() != nullptr;
    const std::string is = value->string() != nullptr ? in_quotes(*value->string(), 64)
                           : is_scalar                ? kube::encode_json(*value)
                                                      : "a " + std::string(value->kind_name());
    return wrong_vf_field(path, one.field, "is " + is + ", expected " + std::string(one.expected));
  }
  return out;
}

void encode_native_vf(const hotplug::VfConfig& vf, Json& network) {
  for (const VfField& one : kVfFields)
    if (Json value = one.write(vf); !value.is_null()) network.set(one.field, std::move(value));
}

Result<hotplug::VfConfig> merge_native_vf(const hotplug::VfConfig& by_class,
                                          const hotplug::VfConfig& by_claim, const std::string& claim_path) {
  hotplug::VfConfig out = by_class;
  for (const VfField& one : kVfFields) {
    const Json ours = one.write(by_class), theirs = one.write(by_claim);
    if (theirs.is_null() || theirs == ours) continue;
    if (!ours.is_null())
      return wrong_vf_field(claim_path, one.field,
                            "is " + text_of_value(theirs) + ", and the DeviceClass sets " +
                                text_of_value(ours) + ", which a claim cannot change: leave it out");
    // The same id is another VLAN with the other protocol.
    if (one.field == "vlanProto" && by_class.vlan && by_claim.vlan_protocol != kDefaultProtocol)
      return wrong_vf_field(claim_path, one.field,
                            "is " + text_of_value(theirs) + ", and the DeviceClass sets vlan " +
                                std::to_string(*by_class.vlan) +
                                ", which a claim cannot change: leave it out");
    one.copy(by_claim, out);
  }
  return out;
}

void overlay_native_vf(const hotplug::VfConfig& later, hotplug::VfConfig& vf) {
  for (const VfField& one : kVfFields)
    if (!one.write(later).is_null()) one.copy(later, vf);
}

hotplug::VfConfig fields_of_claim_only(const hotplug::VfConfig& by_claim, const hotplug::VfConfig& by_class) {
  hotplug::VfConfig out;
  for (const VfField& one : kVfFields)
    if (one.write(by_class).is_null()) one.copy(by_claim, out);
  return out;
}

Result<Unit> check_native_vf(const hotplug::VfConfig& vf, const std::string& path) {
  const bool has_tag = vf.vlan.value_or(0) != 0;
  for (const NativeVfSetting& one : native_vf_settings(vf))
    if (!has_tag && (one.field == "vlanQoS" || one.field == "vlanProto"))
      return wrong_vf_field(path, one.field,
                            "is " + one.value + ", and vlan is " + (vf.vlan ? "0" : "not set") +
                                ": set vlan to a number from 1 to 4094, or leave " + std::string(one.field) +
                                " out");
  const int64_t max = vf.max_rate_mbps.value_or(0);
  if (max != 0 && vf.min_rate_mbps.value_or(0) > max)
    return wrong_vf_field(path, "minTxRate",
                          "is " + std::to_string(*vf.min_rate_mbps) +
                              ", expected at most maxTxRate, which is " + std::to_string(max));
  return Unit{};
}

std::vector<NativeVfSetting> native_vf_settings(const hotplug::VfConfig& vf) {
  std::vector<NativeVfSetting> out;
  for (const VfField& one : kVfFields)
    if (const Json value = one.write(vf); !value.is_null())
      out.push_back({one.field, one.setting, text_of_value(value)});
  return out;
}

}  // namespace sliced::kubelet
