#include "config/values.h"

#include <arpa/inet.h>

#include <algorithm>

#include "kube/objects/names.h"
#include "kube/objects/selector.h"
#include "kube/objects/yaml.h"
#include "policy/readiness/decode_readiness.h"
#include "reactor/base/duration.h"
#include "reactor/base/text.h"

namespace sliced::config {
namespace {

constexpr size_t kNodeLabelsMax = 1000;

std::string remark(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean " + near + "?";
}

}  // namespace

std::string describe(const ClusterSpec& cluster) {
  if (const auto* kubeconfig = std::get_if<KubeconfigFile>(&cluster)) return "kubeconfig:" + kubeconfig->path;
  if (const auto* directory = std::get_if<ClusterDirectory>(&cluster)) return "dir:" + directory->path;
  return std::holds_alternative<ClusterSnapshot>(cluster) ? "snapshot" : "in-cluster";
}

bool has_api_server(const ClusterSpec& cluster) {
  return std::holds_alternative<InCluster>(cluster) || std::holds_alternative<KubeconfigFile>(cluster);
}

std::string not_one_of(std::string_view text, std::span<const std::string_view> texts) {
  return "must be one of " + join({texts.begin(), texts.end()}, ", ") +
         remark(text, {texts.begin(), texts.end()});
}

std::string parse_path(std::string_view text, std::string& value) {
  if (text.empty()) return "must be a path";
  if (text.find('\0') != std::string_view::npos) return "must not contain a NUL byte";
  value = text;
  return "";
}

std::string parse_context(std::string_view text, std::string& value) {
  if (text.empty()) return "must be a name";
  value = text;
  return "";
}

std::string add_path(std::string_view text, std::vector<std::string>& value) {
  std::string path;
  const std::string wrong = parse_path(text, path);
  if (wrong.empty()) value.push_back(path);
  return wrong;
}

namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool are_all(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
  });
}

}  // namespace

// With a number of four digits appended it is a valid interface name.
std::string parse_interface_prefix(std::string_view text, std::string& value) {
  if (text.empty() || text.size() > 11 || !are_all(text, "_.-"))
    return "must be 1 to 11 letters, digits and \"_.-\", such as vfnet";
  if (text.starts_with('.') || text.find("..") != std::string_view::npos)
    return "must not begin with \".\" or have \"..\", since CNI plugins may take the name for another interface's; use "
           "a prefix such as vfnet";
  if (text == "eth")
    return "must be another than eth, since eth0 is the pod's interface of the cluster's network";
  value = text;
  return "";
}

std::string parse_nri_name(std::string_view text, std::string& value) {
  if (text.empty() || text.size() > 128 || !are_all(text, "_.+-"))
    return "must be 1 to 128 letters, digits and \"_.+-\", such as dra-driver-sriov";
  value = text;
  return "";
}

std::string parse_nri_index(std::string_view text, std::string& value) {
  if (text.size() != 2 || !starts_with_digit(text) || !starts_with_digit(text.substr(1)))
    return "must be two digits, such as 42";
  value = text;
  return "";
}

std::string parse_cluster(std::string_view text, ClusterSpec& value) {
  const size_t colon = text.find(':');
  const std::string_view form = text.substr(0, colon);
  const std::string_view path = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  std::string bytes;
  if (text == "in-cluster") {
    value = InCluster{};
    return "";
  }
  if (form == "kubeconfig" && parse_path(path, bytes).empty()) {
    value = KubeconfigFile{.path = bytes};
    return "";
  }
  if (form == "dir" && parse_path(path, bytes).empty()) {
    value = ClusterDirectory{bytes};
    return "";
  }
  const std::string wanted = "must be in-cluster, kubeconfig:PATH or dir:PATH";
  if (text.find('/') != std::string_view::npos && colon == std::string_view::npos)
    return wanted + "; did you mean dir:" + escaped(text) + " or kubeconfig:" + escaped(text) + "?";
  return wanted + remark(form, {"in-cluster", "kubeconfig", "dir"});
}

std::string parse_sign(std::string_view text, ConfiguredBy& value) {
  if (text.empty()) {
    value = {};
    return "";
  }
  if (text == "annotation") {
    value = {ConfiguredBy::How::kAnnotation};
    return "";
  }
  if (text == "node-state" || text == "node-state:allow-empty") {
    value = {ConfiguredBy::How::kNodeState, "", text != "node-state"};
    return "";
  }
  const size_t colon = text.find(':');
  std::string path;
  if (text.substr(0, colon) == "file" && colon != std::string_view::npos &&
      parse_path(text.substr(colon + 1), path).empty() && path.front() == '/') {
    value = {ConfiguredBy::How::kFile, path};
    return "";
  }
  return "must be annotation, node-state, node-state:allow-empty or file:/PATH, such as file:/run/sliced/configured" +
         remark(text.substr(0, colon), {"annotation", "node-state", "file"});
}

std::string parse_pod_name(std::string_view text, std::string& value) {
  if (!text.empty() && !kube::is_dns_subdomain(text))
    return "must be the name of a Pod: lower-case letters, digits, '-' and '.', at most 253 bytes";
  value = text;
  return "";
}

std::string parse_pod_namespace(std::string_view text, std::string& value) {
  return text.empty() ? (value.clear(), "") : parse_namespace(text, value);
}

std::string parse_node_name(std::string_view text, std::string& value) {
  if (!kube::is_dns_subdomain(text))
    return "must be the name of a Node: lower-case letters, digits, '-' and '.', at most 253 bytes" +
           (kube::is_dns_subdomain(lower(text)) ? "; did you mean " + lower(text) + "?" : "");
  value = text;
  return "";
}

std::string parse_node_labels(std::string_view text, std::map<std::string, std::string>& value) {
  std::map<std::string, std::string> labels;
  if (text.empty()) {
    value = labels;
    return "";
  }
  for (const std::string_view pair : split(text, ',')) {
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return in_quotes(pair) + " has no '='; write key=value,key2=value2";
    const std::string_view key = pair.substr(0, equals), word = pair.substr(equals + 1);
    if (!kube::is_label_key(key))
      return in_quotes(key) + " is not a label key: [DNS name/]letters, digits, '-', '_', '.'";
    if (!kube::is_label_value(word))
      return "the value " + in_quotes(word) + " of " + std::string(key) +
             " is not a label value: at most 63 letters, digits, '-', '_', '.', the first and last a letter or "
             "digit";
    if (!labels.emplace(key, word).second) return in_quotes(key) + " is there twice";
    if (labels.size() > kNodeLabelsMax) return "more than " + std::to_string(kNodeLabelsMax) + " labels";
  }
  value = std::move(labels);
  return "";
}

std::string parse_readiness(std::string_view text, policy::Readiness& value) {
  if (text.empty()) {
    value = {};
    return "";
  }
  const kube::YamlDocuments yaml = kube::decode_yaml(text);
  if (!yaml.problems.empty() || yaml.documents.size() != 1)
    return "must be a map such as {require: [adminMac], stableFor: 2s}";
  policy::Problems problems;
  const policy::Readiness readiness = policy::decode_readiness(&yaml.documents.front(), "", problems);
  if (!problems.empty()) {
    const policy::Problem& first = problems.front();
    return first.field.empty() ? first.what : first.field + " " + first.what;
  }
  value = readiness;
  return "";
}

std::string parse_namespace(std::string_view text, std::string& value) {
  if (!kube::is_dns_label(text))
    return "must be a namespace: lower-case letters, digits and '-', at most 63 bytes";
  value = text;
  return "";
}

std::string parse_pod_uid(std::string_view text, std::string& value) {
  if (text.size() > 64 || !are_all(text, "-")) return "must be a UID: 1 to 64 letters, digits and '-'";
  value = text;
  return "";
}

std::string parse_listen_address(std::string_view text, std::string& value) {
  constexpr const char* kWrong =
      "must be ADDRESS:PORT or :PORT, an IP address and a port of 1 to 65535, such as 127.0.0.1:9810 or [::1]:9810";
  if (text.empty()) {
    value.clear();
    return "";
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return kWrong;
  const auto port = parse_int(text.substr(colon + 1));
  std::string host(text.substr(0, colon));
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  in_addr four{};
  in6_addr six{};
  const bool is_address =
      host.empty() || (is_bracketed ? inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six)
                                    : inet_pton(AF_INET, host.c_str(), &four)) == 1;
  if (!port || *port < 1 || *port > 65'535 || !is_address) return kWrong;
  value = (host.empty() ? "127.0.0.1" : host) + ":" + std::to_string(*port);
  return "";
}

std::string parse_annotation_key(std::string_view text, std::string& value) {
  if (!text.empty() && !kube::is_label_key(text))
    return "must be an annotation's key, as kubevirt.io/dra-networks: [DNS name/]letters, digits, '-', '_', '.'";
  value = text;
  return "";
}

std::string parse_resource_prefix(std::string_view text, std::string& value) {
  if (!kube::is_dns_subdomain(text) || text.ends_with("kubernetes.io"))
    return "must be a domain name such as example.com, and not one of kubernetes.io";
  value = text;
  return "";
}

std::string parse_driver_name(std::string_view text, std::string& value) {
  if (!kube::is_dns_subdomain(text, 63))
    return "must be a DNS name (lower-case letters, digits, '-', '.') of at most 63 bytes";
  value = text;
  return "";
}

std::string parse_scheduler_version(std::string_view text, std::string& value) {
  if (!text.empty() && !kube::decode_git_version(text)) return "must be a version such as v1.36.3";
  value = text;
  return "";
}

std::string parse_kinds(std::string_view text, std::set<std::string>& value) {
  std::set<std::string> kinds;
  if (text.empty()) {
    value = kinds;
    return "";
  }
  for (const std::string_view word : split(text, ',')) {
    const auto kind =
        std::find_if(kKinds.begin(), kKinds.end(), [&](auto k) { return lower(k) == lower(word); });
    if (kind == kKinds.end())
      return in_quotes(word) + " is not a kind that sliced watches" +
             remark(word, {kKinds.begin(), kKinds.end()});
    kinds.emplace(*kind);
  }
  value = std::move(kinds);
  return "";
}

std::string parse_cni_plugins(std::string_view text, std::set<std::string>& value) {
  constexpr size_t kPluginsMax = 32;
  std::set<std::string> plugins;
  if (text.empty()) {
    value = plugins;
    return "";
  }
  for (const std::string_view word : split(text, ',')) {
    if (word.empty() || word.size() > 128 || !are_all(word, "_.-") || word.starts_with("."))
      return in_quotes(word) +
             " is not the file name of a CNI plugin, such as sriov, or PLUGIN.FEATURE, such as "
             "bridge.ipMasq";
    plugins.emplace(word);
  }
  if (plugins.size() > kPluginsMax) return "must name at most " + std::to_string(kPluginsMax) + " plugins";
  value = std::move(plugins);
  return "";
}

std::string parse_configure(std::string_view text, std::set<std::string>& value) {
  std::set<std::string> words;
  if (text.empty()) {
    value = words;
    return "";
  }
  for (const std::string_view word : split(text, ',')) {
    if (std::find(kConfigurable.begin(), kConfigurable.end(), word) == kConfigurable.end())
      return in_quotes(word) + " is not a setting that sliced configures; expected " +
             std::string(kAdminMac) + remark(word, {kConfigurable.begin(), kConfigurable.end()});
    words.emplace(word);
  }
  value = std::move(words);
  return "";
}

std::string parse_ignored(std::string_view text, std::set<std::string>& value) {
  std::set<std::string> words;
  if (text.empty()) {
    value = words;
    return "";
  }
  for (const std::string_view word : split(text, ',')) {
    if (std::find(kIgnorable.begin(), kIgnorable.end(), word) == kIgnorable.end())
      return in_quotes(word) + " is unknown; expected failed, earlier-boot, or both separated by a comma" +
             remark(word, {kIgnorable.begin(), kIgnorable.end()});
    words.emplace(word);
  }
  value = std::move(words);
  return "";
}

std::string parse_time(std::string_view text, Millis& value) {
  const auto duration = parse_duration(text);
  if (!duration) return "must be a duration such as 5m, 90s, 1m30s or 100ms";
  value = *duration;
  return "";
}

std::string print(const std::string& value) { return value; }

std::string print(const std::vector<std::string>& value) { return join(value, " "); }

std::string print(const ClusterSpec& value) { return describe(value); }

std::string print(const ConfiguredBy& value) {
  if (value.how == ConfiguredBy::How::kNothing) return "";
  if (value.how == ConfiguredBy::How::kNodeState)
    return value.allows_empty ? "node-state:allow-empty" : "node-state";
  return value.how == ConfiguredBy::How::kAnnotation ? "annotation" : "file:" + value.path;
}

std::string print(const std::map<std::string, std::string>& value) {
  std::vector<std::string> pairs;
  for (const auto& [key, word] : value) pairs.push_back(key + "=" + word);
  return join(pairs, ",");
}

std::string print(const std::set<std::string>& value) { return join({value.begin(), value.end()}, ","); }

std::string print(const Millis& value) { return format_duration(value); }
std::string print(const policy::Readiness& value) { return policy::text_of(value); }

}  // namespace sliced::config
