#pragma once
// VF settings that the PF applies, as fields of `network` in a VfConfig: vlan, vlanQoS, vlanProto, trust,
// spoofCheck, linkState, minTxRate, maxTxRate. A field that is not set is empty in hotplug::VfConfig. Its
// addresses and query_rss are not used. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Returns the names of the fields, in the order of the documentation.
std::vector<std::string_view> native_vf_fields();
/// network: a map; its other fields are ignored. path: of network, for error texts. Errors: kInvalid; each
/// names field, value and expected value.
Result<hotplug::VfConfig> decode_native_vf(const kube::Json& network, const std::string& path);
/// Adds the fields that are set to `network`, as decode_native_vf() reads them.
void encode_native_vf(const hotplug::VfConfig& vf, kube::Json& network);

/// Merges the settings of a DeviceClass and of a claim, field by field. Errors: kInvalid if the claim sets a
/// field that the class sets to another value.
Result<hotplug::VfConfig> merge_native_vf(const hotplug::VfConfig& by_class,
                                          const hotplug::VfConfig& by_claim, const std::string& claim_path);
/// Copies the fields that `later` sets.
void overlay_native_vf(const hotplug::VfConfig& later, hotplug::VfConfig& vf);
/// Returns the fields of `by_claim` that `by_class` does not set. The device's policies must allow them.
hotplug::VfConfig fields_of_claim_only(const hotplug::VfConfig& by_claim, const hotplug::VfConfig& by_class);
/// Checks rules between fields: vlanQoS and vlanProto require a VLAN, minTxRate is at most maxTxRate. Errors:
/// kInvalid.
Result<Unit> check_native_vf(const hotplug::VfConfig& vf, const std::string& path);

/// A field that is set. setting: its name in `allow` of policies (policy/vf_settings.h).
struct NativeVfSetting {
  std::string_view field, setting;
  std::string value;  // for people: "100", "true", "auto"
  bool operator==(const NativeVfSetting&) const = default;
};
std::vector<NativeVfSetting> native_vf_settings(const hotplug::VfConfig& vf);

}  // namespace sliced::kubelet
