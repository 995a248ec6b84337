#pragma once
// Parses option values from text, and formats them. Pure.
//
// parse_*: sets `value` from its text. Returns "", or the error and the expected value, as a text to follow
//          the quoted value; `value` is then unchanged.
// print:   returns the text that parses to the value; "" if it is unset.
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.h"

namespace sliced::config {

/// A text of an enumerated option, with its value. The text is a literal.
template <class T>
struct EnumValue {
  std::string_view text;
  T value;
};
/// The texts of an enumerated type; empty for other types. Specializations follow. The order is that of help
/// and completion.
template <class T>
inline constexpr std::array<EnumValue<T>, 0> kWords = {};
template <>
inline constexpr std::array kWords<bool> = {EnumValue{"true", true}, EnumValue{"false", false}};
template <>
inline constexpr std::array kWords<LogFormat> = {
    EnumValue{"auto", LogFormat::kAuto}, EnumValue{"text", LogFormat::kText},
    EnumValue{"json", LogFormat::kJson}, EnumValue{"journald", LogFormat::kJournald}};
template <>
inline constexpr std::array kWords<Level> = {
    EnumValue{"debug", Level::kDebug}, EnumValue{"info", Level::kInfo}, EnumValue{"warning", Level::kWarning},
    EnumValue{"error", Level::kError}};
template <>
inline constexpr std::array kWords<OutputFormat> = {
    EnumValue{"table", OutputFormat::kTable}, EnumValue{"yaml", OutputFormat::kYaml},
    EnumValue{"json", OutputFormat::kJson}, EnumValue{"diff", OutputFormat::kDiff},
    EnumValue{"wide", OutputFormat::kWide}};
template <>
inline constexpr std::array kWords<Switch> = {EnumValue{"off", Switch::kOff}, EnumValue{"on", Switch::kOn}};
template <>
inline constexpr std::array kWords<PolicyForm> = {EnumValue{"auto", PolicyForm::kAuto},
                                                  EnumValue{"sriov", PolicyForm::kSriov},
                                                  EnumValue{"exposure", PolicyForm::kExposure}};
template <>
inline constexpr std::array kWords<ConfigurationMode> = {
    EnumValue{"STANDALONE", ConfigurationMode::kStandalone}, EnumValue{"MULTUS", ConfigurationMode::kMultus}};
template <>
inline constexpr std::array kWords<VfSettings> = {EnumValue{"all", VfSettings::kAll},
                                                  EnumValue{"none", VfSettings::kNone}};
template <>
inline constexpr std::array kWords<NumaNodeAttribute> = {EnumValue{"scalar", NumaNodeAttribute::kScalar},
                                                         EnumValue{"list", NumaNodeAttribute::kList}};
template <>
inline constexpr std::array kWords<ExclusionForm> = {
    EnumValue{"counters", ExclusionForm::kCounters},
    EnumValue{"compatibility-groups", ExclusionForm::kCompatibilityGroups}};
/// The texts, for help, completion and "must be one of".
template <class T>
inline constexpr auto kTexts = [] {
  std::array<std::string_view, kWords<T>.size()> texts{};
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = kWords<T>[i].text;
  return texts;
}();

/// Values of --kinds-off, spelled as in the API; parse_kinds() ignores case.
inline constexpr std::array<std::string_view, 3> kKinds = {"SriovResourcePolicy", "DeviceAttributes",
                                                           "DeviceExposurePolicy"};

/// Values of --configure.
inline constexpr std::array<std::string_view, 1> kConfigurable = {kAdminMac};

/// Values of --ignore-node-state.
inline constexpr std::array<std::string_view, 2> kIgnorable = {kIgnoreFailed, kIgnoreEarlierBoot};

/// Returns "must be one of auto, text, json, journald; did you mean json?" with a suggestion only if a word
/// is similar.
std::string not_one_of(std::string_view text, std::span<const std::string_view> texts);

/// Exact match: no abbreviation, no other case.
template <class T>
std::string parse_word(std::string_view text, T& value) {
  for (const EnumValue<T>& word : kWords<T>)
    if (word.text == text) {
      value = word.value;
      return "";
    }
  return not_one_of(text, kTexts<T>);
}
/// Not empty, and without NUL. Existence is checked when it is opened.
std::string parse_path(std::string_view text, std::string& value);
/// Name of a kubeconfig's context: any non-empty text.
std::string parse_context(std::string_view text, std::string& value);
/// Appends to the list.
std::string add_path(std::string_view text, std::vector<std::string>& value);
/// "in-cluster", "kubeconfig:PATH" or "dir:PATH". PATH is not empty; its existence is checked when it is
/// opened.
std::string parse_cluster(std::string_view text, ClusterSpec& value);
/// "annotation", "node-state", "node-state:allow-empty" or "file:PATH"; PATH is absolute. "": no signal.
std::string parse_sign(std::string_view text, ConfiguredBy& value);
/// This pod's, from the downward API; "" if none.
std::string parse_pod_name(std::string_view text, std::string& value);
std::string parse_pod_namespace(std::string_view text, std::string& value);
/// A DNS subdomain, like the name of a Node.
std::string parse_node_name(std::string_view text, std::string& value);
/// "KEY=VALUE,..." by Kubernetes' rules of labels, at most 1,000, without duplicates; "" if none.
std::string parse_node_labels(std::string_view text, std::map<std::string, std::string>& value);
/// A DNS label.
std::string parse_namespace(std::string_view text, std::string& value);
/// 1 to 11 bytes: with a number of four digits appended it is a valid interface name (IFNAMSIZ).
std::string parse_interface_prefix(std::string_view text, std::string& value);
/// Both are sent to the container runtime, which calls plugins in the order of their indexes: two digits.
std::string parse_nri_name(std::string_view text, std::string& value);
std::string parse_nri_index(std::string_view text, std::string& value);
/// Part of socket names; "" if none.
std::string parse_pod_uid(std::string_view text, std::string& value);
/// HOST:PORT, HOST an IP address, by default 127.0.0.1; "" if none.
std::string parse_listen_address(std::string_view text, std::string& value);
/// By Kubernetes' rules; "": no annotation is read.
std::string parse_annotation_key(std::string_view text, std::string& value);
/// A DNS subdomain that is not one of Kubernetes' own.
std::string parse_resource_prefix(std::string_view text, std::string& value);
/// A DNS subdomain of at most 63 bytes, as in DRA.
std::string parse_driver_name(std::string_view text, std::string& value);
/// "v1.36.3", as Kubernetes' programs print it; "": that of the API server.
std::string parse_scheduler_version(std::string_view text, std::string& value);
/// Elements of kKinds, separated by commas, ignoring case; stored as in kKinds.
std::string parse_kinds(std::string_view text, std::set<std::string>& value);
/// File names of CNI plugins, or PLUGIN.FEATURE, separated by commas, at most 32; "" if none.
std::string parse_cni_plugins(std::string_view text, std::set<std::string>& value);
/// Elements of kConfigurable, separated by commas; "" if none.
std::string parse_configure(std::string_view text, std::set<std::string>& value);
/// Elements of kIgnorable.
std::string parse_ignored(std::string_view text, std::set<std::string>& value);
/// A map in YAML or JSON, as spec.readiness of policies; {} and "" are empty.
std::string parse_readiness(std::string_view text, policy::Readiness& value);
/// Format: reactor/base/duration.h. load() checks the bounds of options, because some depend on other
/// options.
std::string parse_time(std::string_view text, Millis& value);

template <class T>
  requires(kWords<T>.size() > 0)
/// Aborts for a value without a row in the table.
std::string print(const T& value) {
  for (const EnumValue<T>& word : kWords<T>)
    if (word.value == value) return std::string(word.text);
  std::abort();  // an enumerator without a row
}
std::string print(const std::string& value);
/// Maps and sets: elements joined by commas, as for parse_*(); paths: joined by spaces, for people.
std::string print(const std::vector<std::string>& value);
std::string print(const ClusterSpec& value);
std::string print(const ConfiguredBy& value);
std::string print(const std::map<std::string, std::string>& value);
std::string print(const std::set<std::string>& value);
std::string print(const Millis& value);
std::string print(const policy::Readiness& value);

}  // namespace sliced::config
