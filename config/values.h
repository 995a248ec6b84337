#pragma once
// The values of options as text, and back. Pure.
//
// parse_*: sets `value` from its text; "" when that went well, else what is wrong and what would be right, to
//          stand behind the value in quotes; `value` is then as it was.
// print:   the text that parses to the value; "" when it is unset.
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

/// A word that stands for a value: of those that have a short list of them.
/// The text is a literal.
template <class T>
struct Word {
  std::string_view text;
  T value;
};
/// None for any other type; each that has some stands below. The order is that of help and completion.
template <class T>
inline constexpr std::array<Word<T>, 0> kWords = {};
template <>
inline constexpr std::array kWords<bool> = {Word{"true", true}, Word{"false", false}};
template <>
inline constexpr std::array kWords<LogFormat> = {
    Word{"auto", LogFormat::kAuto}, Word{"text", LogFormat::kText}, Word{"json", LogFormat::kJson},
    Word{"journald", LogFormat::kJournald}};
template <>
inline constexpr std::array kWords<Level> = {Word{"debug", Level::kDebug}, Word{"info", Level::kInfo},
                                             Word{"warning", Level::kWarning}, Word{"error", Level::kError}};
template <>
inline constexpr std::array kWords<OutputFormat> = {
    Word{"table", OutputFormat::kTable}, Word{"yaml", OutputFormat::kYaml}, Word{"json", OutputFormat::kJson},
    Word{"diff", OutputFormat::kDiff}, Word{"wide", OutputFormat::kWide}};
template <>
inline constexpr std::array kWords<Switch> = {Word{"off", Switch::kOff}, Word{"on", Switch::kOn}};
template <>
inline constexpr std::array kWords<PolicyForm> = {Word{"auto", PolicyForm::kAuto},
                                                  Word{"sriov", PolicyForm::kSriov},
                                                  Word{"exposure", PolicyForm::kExposure}};
template <>
inline constexpr std::array kWords<ConfigurationMode> = {Word{"STANDALONE", ConfigurationMode::kStandalone},
                                                         Word{"MULTUS", ConfigurationMode::kMultus}};
template <>
inline constexpr std::array kWords<VfSettings> = {Word{"all", VfSettings::kAll},
                                                  Word{"none", VfSettings::kNone}};
template <>
inline constexpr std::array kWords<NumaNodeAttribute> = {Word{"scalar", NumaNodeAttribute::kScalar},
                                                         Word{"list", NumaNodeAttribute::kList}};
template <>
inline constexpr std::array kWords<ExclusionForm> = {
    Word{"counters", ExclusionForm::kCounters},
    Word{"compatibility-groups", ExclusionForm::kCompatibilityGroups}};
/// Their texts alone.
/// For help, completion and "must be one of".
template <class T>
inline constexpr auto kTexts = [] {
  std::array<std::string_view, kWords<T>.size()> texts{};
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = kWords<T>[i].text;
  return texts;
}();

/// What --kinds-off takes.
/// Spelled as the API has them; parse_kinds() takes any case.
inline constexpr std::array<std::string_view, 3> kKinds = {"SriovResourcePolicy", "DeviceAttributes",
                                                           "DeviceExposurePolicy"};

/// What --configure takes.
inline constexpr std::array<std::string_view, 1> kConfigurable = {kAdminMac};

/// What --ignore-node-state takes.
inline constexpr std::array<std::string_view, 2> kIgnorable = {kIgnoreFailed, kIgnoreEarlierBoot};

/// "must be one of auto, text, json, journald; did you mean json?"
/// A suggestion only where one word is near by what one mistypes.
std::string not_one_of(std::string_view text, std::span<const std::string_view> texts);

/// By the letter: no abbreviation, no other case.
template <class T>
std::string parse_word(std::string_view text, T& value) {
  for (const Word<T>& word : kWords<T>)
    if (word.text == text) {
      value = word.value;
      return "";
    }
  return not_one_of(text, kTexts<T>);
}
/// Not empty, and without NUL. Whether it is there is looked at by who opens it.
std::string parse_path(std::string_view text, std::string& value);
/// Of a kubeconfig: any text but none.
std::string parse_context(std::string_view text, std::string& value);
/// Adds to those that are there.
std::string add_path(std::string_view text, std::vector<std::string>& value);
/// "in-cluster", "kubeconfig:PATH" or "dir:PATH".
/// PATH may not be empty; what it names is looked at by who opens it.
std::string parse_cluster(std::string_view text, ClusterSpec& value);
/// "annotation", "node-state", "node-state:allow-empty" or "file:PATH"; PATH is absolute. "" is nobody.
std::string parse_sign(std::string_view text, ConfiguredBy& value);
/// This pod's, as the downward API tells it; "" is none.
std::string parse_pod_name(std::string_view text, std::string& value);
std::string parse_pod_namespace(std::string_view text, std::string& value);
/// A DNS subdomain, as the name of a Node is.
std::string parse_node_name(std::string_view text, std::string& value);
/// "KEY=VALUE,..." by Kubernetes' rules of labels, at most 1,000, none twice; "" is none.
std::string parse_node_labels(std::string_view text, std::map<std::string, std::string>& value);
/// A DNS label.
std::string parse_namespace(std::string_view text, std::string& value);
/// 1 to 11 bytes: with a number of four digits behind it the kernel still takes it (IFNAMSIZ).
std::string parse_interface_prefix(std::string_view text, std::string& value);
/// Both are sent to the container runtime, which calls plugins in the order of their indexes: two digits.
std::string parse_nri_name(std::string_view text, std::string& value);
std::string parse_nri_index(std::string_view text, std::string& value);
/// It stands in the names of sockets; "" is none.
std::string parse_pod_uid(std::string_view text, std::string& value);
/// HOST:PORT, HOST an IP address; "" is none, and without HOST it is 127.0.0.1.
std::string parse_listen_address(std::string_view text, std::string& value);
/// By Kubernetes' rules; "" reads no annotation.
std::string parse_annotation_key(std::string_view text, std::string& value);
/// A DNS subdomain that is not one of Kubernetes' own.
std::string parse_resource_prefix(std::string_view text, std::string& value);
/// A DNS subdomain of at most 63 bytes, as DRA has it.
std::string parse_driver_name(std::string_view text, std::string& value);
/// "v1.36.3", as Kubernetes' programs say it; "" is that of the API server.
std::string parse_scheduler_version(std::string_view text, std::string& value);
/// Of kKinds, separated by commas, in any case of letters; kept as kKinds has them.
std::string parse_kinds(std::string_view text, std::set<std::string>& value);
/// File names of CNI plugins, or PLUGIN.FEATURE, separated by commas, at most 32; "" is none.
std::string parse_cni_plugins(std::string_view text, std::set<std::string>& value);
/// Of kConfigurable, separated by commas; "" is nothing.
std::string parse_configure(std::string_view text, std::set<std::string>& value);
/// Words of kIgnorable.
std::string parse_ignored(std::string_view text, std::set<std::string>& value);
/// A map in YAML or JSON, as spec.readiness of policies; {} and "" are none.
std::string parse_readiness(std::string_view text, policy::Readiness& value);
/// As reactor/base/duration.h. Bounds of single options are load()'s to look at: some depend on other options.
std::string parse_time(std::string_view text, Millis& value);

template <class T>
  requires(kWords<T>.size() > 0)
/// A value without a word ends the process: a row that somebody forgot.
std::string print(const T& value) {
  for (const Word<T>& word : kWords<T>)
    if (word.value == value) return std::string(word.text);
  std::abort();  // an enumerator without its word
}
std::string print(const std::string& value);
/// Of maps and sets: their parts joined by commas, as parse_*() takes them apart; of paths by spaces, for people.
std::string print(const std::vector<std::string>& value);
std::string print(const ClusterSpec& value);
std::string print(const ConfiguredBy& value);
std::string print(const std::map<std::string, std::string>& value);
std::string print(const std::set<std::string>& value);
std::string print(const Millis& value);
std::string print(const policy::Readiness& value);

}  // namespace sliced::config
