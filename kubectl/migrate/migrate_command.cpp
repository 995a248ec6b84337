#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "cli/host_files.h"
#include "cli/host_once.h"
#include "cli/read_file.h"
#include "cli/show.h"
#include "controller/webhook/judgement.h"
#include "daemon/process.h"
#include "kube/objects/kinds.h"
#include "kube/objects/names.h"
#include "kube/objects/yaml.h"
#include "kubectl/commands.h"
#include "kubectl/migrate/comparing.h"
#include "kubectl/migrate/dra_driver.h"
#include "kubectl/migrate/dranet.h"
#include "kubectl/migrate/node_policies.h"
#include "kubectl/migrate/objects.h"
#include "kubectl/migrate/plugin_config.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using migrate::ComparedDevice;
using migrate::Complaints;
using migrate::Config;
using migrate::ConvertedObject;

migrate::Target target_of(const config::Options& options) {
  migrate::Target target{.namespace_ = options.namespace_,
                         .sriov_driver = options.sriov_driver_name,
                         .exposure_driver = options.exposure_driver_name};
  if (options.form == config::PolicyForm::kSriov) target.form = migrate::Form::kSriov;
  if (options.form == config::PolicyForm::kExposure) target.form = migrate::Form::kExposure;
  return target;
}

constexpr const char* kHostnameLabel = "kubernetes.io/hostname";
constexpr const char* kOperatorsPrefix = "openshift.io";
constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

// The content of all files.
struct Sources {
  std::vector<Config> plugin, node_policies;
  std::vector<ConvertedObject> of_dra_driver;
  migrate::DranetObjects dranet;
  std::vector<migrate::Network> networks;
  Complaints complaints;
  /// Returns the number of kinds of sources, without dranet, which --check refuses.
  size_t kinds() const { return !plugin.empty() + !node_policies.empty() + !of_dra_driver.empty(); }
};

class Reader {
 public:
  Reader(const config::Options& options, const migrate::Target& target, Sources& out)
      : target_(target), plugin_{options.resource_prefix}, node_prefix_(options.resource_prefix), out_(out) {
    if (node_prefix_.empty()) node_prefix_ = kOperatorsPrefix;
  }

  void read_files(const std::vector<std::string>& files) {
    std::vector<File> all;
    for (const std::string& file : files) {
      auto text = cli::read_whole(file, kube::JsonLimits{}.size_max);
      if (!text) {
        out_.complaints.error({file, 0}, "cannot be read: " + text.error().what);
        continue;
      }
      all.push_back({file, *std::move(text), {}});
      all.back().yaml = kube::decode_yaml(all.back().text);
    }
    for (const File& file : all)
      for (const kube::Json& document : file.yaml.documents) read_prefix(document, file.name);
    apply_prefix();
    for (const File& file : all) read_file(file);
  }

  // Adds the checks and warnings that depend on all files.
  void finish() {
    for (const MissingNetwork& one : missing_networks_)
      if (std::ranges::none_of(out_.networks, [&](const migrate::Network& given) {
            return given.name == one.name && (one.namespace_.empty() || given.namespace_ == one.namespace_);
          }))
        out_.complaints.warning(one.place, one.text);
    take_ids_of_states(facts_);
    for (const auto& [file, object] : node_policies_)
      read_node_policy(object, file, node_prefix_, facts_, out_.node_policies, out_.complaints);
    if (node_policies_.empty())
      for (const migrate::NodeInterfaces& state : facts_.states)
        out_.complaints.warning(state.place,
                                "SriovNetworkNodeState " + escaped(state.node) +
                                    " serves to read SriovNetworkNodePolicies, and none is given: give "
                                    "them as another FILE (kubectl -n sriov-network-operator get "
                                    "sriovnetworknodepolicies -o yaml)");
    if (std::ranges::any_of(out_.plugin, [](const Config& one) { return one.nodes.is_all(); }))
      for (const auto& [place, text] : plugin_nodes_) out_.complaints.warning(place, text);
    order_node_policies(out_.node_policies, out_.complaints);
    check_one_config_a_node(out_.plugin, out_.complaints);
    check_filters(out_.of_dra_driver, out_.complaints);
  }

 private:
  struct File {
    std::string name, text;
    kube::YamlDocuments yaml;
  };
  void read_file(const File& file) {
    if (is_plugin_json_only(file)) {
      migrate::read_plugin_config(file.name, file.text, plugin_, out_.plugin, out_.complaints);
    } else {
      for (const auto& problem : file.yaml.problems)
        out_.complaints.error({file.name, problem.line}, problem.what);
    }
    const migrate::Lines lines = split(file.text, '\n');
    for (const kube::Json& document : file.yaml.documents)
      read_document(document, file.name, file.text, lines);
    if (!out_.complaints.has_errors()) return;
    // Delimiters of Go's text/template (Helm) and of Jinja (Ansible).
    for (const char* mark : {"{{", "{%"})
      if (file.text.find(mark) != std::string::npos)
        return out_.complaints.error({file.name, 0},
                                     std::string("has ") + mark +
                                         ": is this a template? Fill it in first (helm template), "
                                         "and give its output");
    if (file.text.starts_with("Name:") && file.text.find("\n====") != std::string::npos)
      out_.complaints.error({file.name, 0},
                            "is this the output of kubectl describe? Give that of kubectl get -o yaml");
  }

  // The errors of the YAML reader do not name the faults of JSON, such as a comment.
  static bool is_plugin_json_only(const File& file) {
    return !file.yaml.problems.empty() && file.yaml.documents.empty() && trim(file.text).starts_with('{') &&
           file.text.find("\"resourceList\"") != std::string::npos &&
           file.text.find("{{") == std::string::npos;
  }

  // The device plugin's own option, of a DaemonSet or another object with a pod's template. Any file may have
  // it.
  struct PluginPod {
    std::string who, prefix;
    migrate::Place place;
  };
  void read_prefix(const kube::Json& document, const std::string& file) {
    if (const kube::Json* items = document.find("items"); items != nullptr && items->array() != nullptr)
      for (const kube::Json& item : *items->array()) read_prefix(with_kind(item, document), file);
    const kube::Json* spec = document.find({"spec", "template", "spec"});
    if (spec == nullptr && document.text("kind") == "Pod") spec = document.find("spec");
    const kube::Json* containers = spec != nullptr ? spec->find("containers") : nullptr;
    if (containers == nullptr || containers->array() == nullptr) return;
    for (const kube::Json& container : *containers->array()) {
      std::string prefix;
      for (const char* list : {"command", "args"})
        if (prefix.empty()) prefix = prefix_in(container.find(list));
      if (!prefix.empty() || is_plugins_image(container.text("image")))
        plugin_pods_.push_back({who_of(document), prefix, {file, document.line()}});
    }
  }
  // Names of the image: the project's, with and without the prefix of the project, and that of its older releases.
  static bool is_plugins_image(std::string_view image) {
    image = image.substr(image.rfind('/') + 1);
    image = image.substr(0, image.find_first_of(":@"));
    return image.ends_with("sriov-network-device-plugin") || image.ends_with("sriov-device-plugin") ||
           image.ends_with("sriovdp");
  }
  // Returns the position of the flag as a word of its own, or of a shell's command; not as part of another flag.
  static size_t flag_in(std::string_view word, std::string_view flag) {
    for (size_t at = word.find(flag); at != std::string_view::npos; at = word.find(flag, at + 1)) {
      const size_t dashes = at > 0 && word[at - 1] == '-' ? at - 1 : at;
      const bool begins =
          dashes == 0 || std::string_view(" \t\n\"'").find(word[dashes - 1]) != std::string_view::npos;
      const std::string_view rest = word.substr(at + flag.size());
      if (begins && (rest.empty() || rest.front() == '=' || rest.front() == ' ')) return at;
    }
    return std::string_view::npos;
  }
  // Go's flags: -name=value, --name=value, and the value as the next word. A shell's command is one word.
  static std::string prefix_in(const kube::Json* words) {
    constexpr std::string_view kFlag = "-resource-prefix";
    if (words == nullptr || words->array() == nullptr) return "";
    for (size_t i = 0; i < words->array()->size(); ++i) {
      const std::string* word = (*words->array())[i].string();
      const size_t at = word == nullptr ? std::string::npos : flag_in(*word, kFlag);
      if (at == std::string::npos) continue;
      std::string_view rest = std::string_view(*word).substr(at + kFlag.size());
      if (rest.empty() && i + 1 < words->array()->size()) {
        const std::string* next = (*words->array())[i + 1].string();
        return next == nullptr ? "" : *next;
      }
      if (rest.empty()) continue;
      rest.remove_prefix(1);
      if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
      rest = rest.substr(0, rest.find_first_of(" \t\n\"'"));
      return std::string(rest);
    }
    return "";
  }
  void apply_prefix() {
    if (plugin_pods_.empty() || !plugin_.resource_prefix.empty()) return;
    const PluginPod& first = plugin_pods_.front();
    const auto text_of_prefix = [](const PluginPod& pod) {
      return pod.prefix.empty() ? std::string("the plugin's default") : in_quotes(pod.prefix, 128);
    };
    const auto effective = [](const PluginPod& pod) {
      return pod.prefix.empty() ? migrate::kPluginsPrefix : std::string_view(pod.prefix);
    };
    for (const PluginPod& other : plugin_pods_)
      if (effective(other) != effective(first))
        return out_.complaints.error(
            other.place, other.who + " has --resource-prefix " + text_of_prefix(other) + ", and " +
                             first.who + " has " + text_of_prefix(first) +
                             ": carry over the configuration of one plugin after the other, each with its "
                             "--resource-prefix");
    if (first.prefix.empty()) return;
    if (!kube::is_dns_subdomain(first.prefix))
      return out_.complaints.error(first.place,
                                   first.who + " has --resource-prefix " + in_quotes(first.prefix, 128) +
                                       ", expected a domain name such as example.com: for a variable "
                                       "give migrate its value by --resource-prefix");
    plugin_.resource_prefix = node_prefix_ = first.prefix;
  }

  void read_document(const kube::Json& document, const std::string& file, const std::string& text,
                     const migrate::Lines& lines) {
    if (migrate::is_plugin_config(document)) {
      // Such a file has one document; its text is read once, as a whole.
      if (std::exchange(plugin_file_, file) != file)
        migrate::read_plugin_config(file, text, plugin_, out_.plugin, out_.complaints);
      return;
    }
    if (const kube::Json* items = document.find("items"); items != nullptr && items->array() != nullptr) {
      for (const kube::Json& item : *items->array())
        read_document(with_kind(item, document), file, text, lines);
      return;
    }
    const bool has_rdma_shared = warn_of_rdma_shared(document, file);
    if (document.text("kind") == "ConfigMap" && migrate::is_plugin_config_map(document))
      return migrate::read_plugin_config_map(document, file, lines, plugin_, out_.plugin, out_.complaints);
    if (migrate::is_nic_ids(document))
      return migrate::read_nic_ids(document, file, facts_.ids, out_.complaints);
    if (migrate::is_node_state(document))
      return migrate::read_node_state(document, file, facts_.states, out_.complaints);
    if (migrate::is_network(document)) return read_network(document, file);
    if (migrate::is_node_policy(document)) {
      node_policies_.emplace_back(file, document);
      return;
    }
    if (migrate::is_of_dra_driver(document))
      return migrate::read_dra_object(document, file, target_, out_.of_dra_driver, out_.complaints);
    if (out_.dranet.add(document, file)) return;
    if (std::ranges::any_of(plugin_pods_, [&](const PluginPod& one) {
          return one.place.file == file && one.place.line == document.line();
        }))
      return read_plugin_nodes(document, file);
    read_other(document, file, lines, has_rdma_shared);
  }

  // A ConfigMap does not name its nodes: the pods of the plugin that read it do. The warning depends on whether such
  // a ConfigMap is among the files.
  void read_plugin_nodes(const kube::Json& document, const std::string& file) {
    read_plugin_affinity(document, file);
    const kube::Json* labels = document.find({"spec", "template", "spec", "nodeSelector"});
    if (labels == nullptr || labels->object() == nullptr) return;
    std::vector<std::string> others;
    for (const auto& [key, value] : *labels->object())
      if (!is_of_machine(key))
        others.push_back(escaped(key, 128) + (value.string() != nullptr && !value.string()->empty()
                                                  ? "=" + escaped(*value.string(), 128)
                                                  : ""));
    if (!others.empty())
      plugin_nodes_.emplace_back(
          migrate::Place{file, labels->line()},
          who_of(document) + " runs on nodes with " + join(others, ", ") +
              " alone, and the printed policies are for every node: add this nodeSelector "
              "to them if other nodes have such devices");
  }

  static bool is_of_machine(std::string_view label) {
    return label == "kubernetes.io/os" || label == "kubernetes.io/arch" || label == "beta.kubernetes.io/os" ||
           label == "beta.kubernetes.io/arch";
  }

  void read_plugin_affinity(const kube::Json& document, const std::string& file) {
    const kube::Json* required =
        document.find({"spec", "template", "spec", "affinity", "nodeAffinity", kRequired});
    const kube::Json* terms = required == nullptr ? nullptr : required->find("nodeSelectorTerms");
    if (terms == nullptr || terms->array() == nullptr) return;
    std::vector<std::string> keys;
    for (const kube::Json& term : *terms->array())
      for (const char* field : {"matchExpressions", "matchFields"}) {
        const kube::Json* all = term.find(field);
        if (all == nullptr || all->array() == nullptr) continue;
        for (const kube::Json& one : *all->array()) {
          const std::string key = escaped(one.text("key"), 128);
          if (!is_of_machine(one.text("key")) && std::find(keys.begin(), keys.end(), key) == keys.end())
            keys.push_back(key);
        }
      }
    if (!keys.empty())
      plugin_nodes_.emplace_back(
          migrate::Place{file, required->line()},
          who_of(document) + " runs on the nodes of its node affinity (" + join(keys, ", ") +
              ") alone, and the printed policies are for every node: if other nodes have such devices, "
              "copy nodeSelectorTerms into a nodeSelector of the policies");
  }

  // A definition is carried over by its name alone, so a definition that is refused when a claim is prepared
  // is reported here.
  void read_network(const kube::Json& document, const std::string& file) {
    const size_t before = out_.networks.size();
    migrate::read_network(document, file, out_.networks, out_.complaints);
    if (out_.networks.size() == before) return;
    const auto judged =
        webhook::judge(document, {target_.sriov_driver, target_.exposure_driver, target_.namespace_});
    if (!judged) return;
    // Errors for users do not count: the printed DeviceClass names the definition with its namespace.
    const std::string pods = "pods with " + escaped(out_.networks.back().resource) +
                             " do not start with it (docs/interfaces.md#fields-of-a-definition)";
    const auto warn = [&](const policy::Problem& problem, const char* before) {
      out_.complaints.warning({file, problem.line > 0 ? problem.line : document.line()},
                              webhook::text_of(*judged, problem) + before + pods);
    };
    for (const policy::Problem& problem : judged->errors) warn(problem, "; ");
    for (const policy::Problem& problem : judged->warnings) warn(problem, "; otherwise ");
  }

  // "NicClusterPolicy policy-a".
  static std::string who_of(const kube::Json& document) {
    const std::string_view kind = document.text("kind");
    const kube::Json* meta = document.find("metadata");
    const std::string name(meta != nullptr ? meta->text("name") : "");
    return kind.empty() ? "a document without a kind"
                        : escaped(kind) + (name.empty() ? "" : " " + escaped(name));
  }

  // In a list of one kind (kubectl get --raw) the API server omits kind and apiVersion of the items.
  static kube::Json with_kind(const kube::Json& item, const kube::Json& list) {
    kube::Json out = item;
    const std::string_view kind = list.text("kind");
    constexpr std::string_view kList = "List";
    if (item.object() == nullptr || item.find("kind") != nullptr || kind == kList || !kind.ends_with(kList))
      return out;
    out.set("kind", std::string(kind.substr(0, kind.size() - kList.size())));
    if (item.find("apiVersion") == nullptr) out.set("apiVersion", std::string(list.text("apiVersion")));
    return out;
  }

  // The RDMA shared device plugin's configuration may be alone, or beside the SR-IOV plugin's in one
  // NicClusterPolicy. Returns whether the document has one.
  bool warn_of_rdma_shared(const kube::Json& document, const std::string& file) {
    const kube::Json* config = rdma_shared_config(document, 0);
    if (config != nullptr)
      out_.complaints.warning(
          {file, config->line()},
          who_of(document) +
              " contains a configuration of the RDMA shared device plugin (configList), which is not "
              "carried over: offer these devices by a DeviceExposurePolicy with "
              "allowMultipleAllocations: true (docs/policy-reference.md)");
    return config != nullptr;
  }
  static const kube::Json* rdma_shared_config(const kube::Json& value, int depth) {
    constexpr int kDepthMax = 16;
    if (depth > kDepthMax) return nullptr;
    if (value.string() != nullptr) {
      const std::string text = lower(*value.string());
      // Annotations are skipped: last-applied-configuration repeats the object.
      return text.find("\"configlist\"") != std::string::npos &&
                     text.find("\"rdmahcamax\"") != std::string::npos
                 ? &value
                 : nullptr;
    }
    const kube::Json* found = nullptr;
    if (value.array() != nullptr)
      for (const kube::Json& item : *value.array())
        if (found == nullptr) found = rdma_shared_config(item, depth + 1);
    if (value.object() != nullptr)
      for (const auto& [key, member] : *value.object())
        if (found == nullptr && key != "annotations") found = rdma_shared_config(member, depth + 1);
    return found;
  }

  // Reads an object of another kind, which may contain a configuration.
  void read_other(const kube::Json& document, const std::string& file, const migrate::Lines& lines,
                  bool has_rdma_shared) {
    const migrate::Place place{file, document.line()};
    const std::string_view kind = document.text("kind");
    const kube::Json* meta = document.find("metadata");
    const std::string name(meta != nullptr ? meta->text("name") : "");
    const std::string who = who_of(document);
    if (const std::string group = migrate::group_of_unknown_node_policy(document); !group.empty())
      return out_.complaints.error(
          place,
          who + ": group " + escaped(group) +
              " is not known; policies of sriovnetwork.openshift.io are read. Where yours have the same fields, "
              "write apiVersion: sriovnetwork.openshift.io/v1, and --resource-prefix as your operator has it");
    const auto embedded = migrate::embedded_configs(document);
    const bool is_read = kind.empty() || kind == "NicClusterPolicy" || kind == "NicNodePolicy";
    for (const migrate::Embedded& one : embedded) {
      const migrate::Place at{file, one.value->line()};
      migrate::Nodes nodes;
      if (!is_read)
        out_.complaints.error(
            at, who + ": " + one.path +
                    " contains a configuration of the device plugin, and the nodes that have it cannot be "
                    "read from this kind: give the JSON alone as FILE, or the ConfigMap that is made of it");
      else if (read_nodes(document, who, file, nodes))
        read_embedded_config(*one.value, file, who + ", " + one.path,
                             name.empty() ? std::string("device-plugin") : name, nodes, lines, plugin_,
                             out_.plugin, out_.complaints);
    }
    if (const auto path = path_of_node_policy(document, "", 0); !path.empty())
      return out_.complaints.error(
          place, who + ": " + path +
                     " contains a SriovNetworkNodePolicy: give it as an object of its own (the output of a "
                     "template; for a policy of ACM the objects in the cluster: kubectl get "
                     "sriovnetworknodepolicies -A -o yaml)");
    if (document.find({"sriovDevicePlugin", "resources"}) != nullptr)
      return out_.complaints.error(
          place, who +
                     ": sriovDevicePlugin.resources are values of a chart: give the output of "
                     "helm template, or the NicClusterPolicy of the cluster");
    if (auto missing = network_made_of(document)) {
      missing->place = place;
      missing->text =
          who +
          " is ignored: its operator makes a NetworkAttachmentDefinition of it; give that as another FILE (" +
          missing->text + ")";
      return missing_networks_.push_back(*std::move(missing));
    }
    if (embedded.empty() && !has_rdma_shared)
      out_.complaints.warning(
          place, who + " is ignored: it contains no configuration of devices" +
                     (kind.empty() ? "; of values of a chart give the output of helm template" : "") +
                     (document.find("binaryData") != nullptr
                          ? "; its binaryData is not read: give the file that it was made of"
                          : ""));
  }

  // Reads the nodes of NicClusterPolicies and NicNodePolicies (Mellanox/network-operator, api/v1alpha1).
  // Returns false after an error.
  bool read_nodes(const kube::Json& document, const std::string& who, const std::string& file,
                  migrate::Nodes& out) {
    const kube::Json* labels = document.find({"spec", "nodeSelector"});
    const kube::Json* affinity = document.find({"spec", "nodeAffinity"});
    const migrate::Place place{file, document.line()};
    if (labels != nullptr && !labels->is_null()) {
      kube::FieldProblems problems;
      (void)kube::decode_node_selector(*labels, problems);
      if (labels->object() == nullptr || !problems.empty()) {
        out_.complaints.error(place, who + ": spec.nodeSelector is not a map of labels");
        return false;
      }
      for (const auto& [key, value] : *labels->object())
        if (value.string() != nullptr) out.labels[key] = *value.string();
      if (out.labels.size() != labels->object()->size()) {
        out_.complaints.error(
            place, who + ": spec.nodeSelector has values that are not strings: put them in quotes");
        return false;
      }
    }
    if (affinity == nullptr || affinity->is_null()) return true;
    const kube::Json* terms = affinity->find("requiredDuringSchedulingIgnoredDuringExecution");
    if (terms == nullptr || terms->is_null()) return true;
    kube::FieldProblems problems;
    (void)kube::decode_node_selector(*terms, problems);
    if (terms->find("nodeSelectorTerms") == nullptr || !problems.empty() || !out.labels.empty()) {
      out_.complaints.error(
          place,
          who + ": spec.nodeAffinity cannot be read" +
              (problems.empty() ? "" : " (" + problems.begin()->field + " " + problems.begin()->what + ")") +
              ": give the JSON of the configuration alone, and add a nodeSelector to the printed objects");
      return false;
    }
    out.terms = *terms;
    return true;
  }

  // A NetworkAttachmentDefinition that an operator creates for an object in the files.
  struct MissingNetwork {
    std::string namespace_, name;  // namespace_ "": unknown
    std::string text;              // of the warning
    migrate::Place place = {};
  };
  // Returns the definition that an operator makes of the object, with the command that prints it as text.
  // Both operators name it as the object, in the namespace of pods (api/v1 of sriov-network-operator,
  // api/v1alpha1 of Mellanox/network-operator).
  static std::optional<MissingNetwork> network_made_of(const kube::Json& document) {
    const std::string_view version = document.text("apiVersion"), kind = document.text("kind");
    const bool is_sriov = version.starts_with("sriovnetwork.openshift.io/") &&
                          (kind == "SriovNetwork" || kind == "SriovIBNetwork" || kind == "OVSNetwork");
    const bool is_mellanox =
        version.starts_with("mellanox.com/") &&
        (kind == "HostDeviceNetwork" || kind == "IPoIBNetwork" || kind == "MacvlanNetwork");
    const kube::Json* meta = document.find("metadata");
    if ((!is_sriov && !is_mellanox) || meta == nullptr) return std::nullopt;
    const kube::Json* spec = document.find("spec");
    std::string space(spec != nullptr ? spec->text("networkNamespace") : "");
    if (space.empty()) space = is_sriov ? std::string(meta->text("namespace")) : "default";
    const std::string name(meta->text("name"));
    return MissingNetwork{space, name,
                          "kubectl" + (space.empty() ? "" : " -n " + escaped(space)) +
                              " get network-attachment-definitions " + escaped(name) + " -o yaml"};
  }

  // An object, and not a reference to one (ownerReferences, a CRD's names).
  static bool is_whole_node_policy(const kube::Json& value) {
    return value.text("kind") == "SriovNetworkNodePolicy" &&
           (value.find("spec") != nullptr || value.find("metadata") != nullptr);
  }
  // Manifests as text: values of an Argo CD Application, a script's here-document.
  static bool has_text_of_node_policy(const std::string& text) {
    return text.find("SriovNetworkNodePolicy") != std::string::npos &&
           text.find("nicSelector") != std::string::npos;
  }
  // Returns whether a policy generator of Red Hat ACM fills in SriovNetworkNodePolicy.yaml here
  // (PolicyGenTemplate: fileName and spec; PolicyGenerator: path and patches).
  static bool fills_node_policy(const kube::Json& value) {
    for (const auto& [file, content] : {std::pair("fileName", "spec"), std::pair("path", "patches")}) {
      const std::string_view path = value.text(file);
      const std::string_view last = path.substr(path.rfind('/') + 1);
      if (last.starts_with("SriovNetworkNodePolicy") && value.find(content) != nullptr) return true;
    }
    return false;
  }

  static std::string path_of_node_policy(const kube::Json& value, const std::string& path, int depth) {
    constexpr int kDepthMax = 16;
    if (depth > kDepthMax) return "";
    if (value.string() != nullptr) return has_text_of_node_policy(*value.string()) ? path : "";
    std::string found;
    if (value.array() != nullptr)
      for (size_t i = 0; i < value.array()->size() && found.empty(); ++i)
        found = path_of_node_policy((*value.array())[i], path + "[" + std::to_string(i) + "]", depth + 1);
    if (value.object() == nullptr) return found;
    if (depth > 0 && (is_whole_node_policy(value) || fills_node_policy(value))) return path;
    for (const auto& [key, member] : *value.object()) {
      // Annotations repeat objects: last-applied-configuration, and the examples of an operator of OLM.
      if (key == "annotations") continue;
      found = path_of_node_policy(member, path + (path.empty() ? "" : ".") + escaped(key, 64), depth + 1);
      if (!found.empty()) return found;
    }
    return found;
  }

  const migrate::Target& target_;
  migrate::PluginSettings plugin_;
  std::string node_prefix_;
  std::string plugin_file_;  // the file whose JSON was read last
  migrate::OperatorFacts facts_;
  std::vector<std::pair<std::string, kube::Json>> node_policies_;  // with their files
  std::vector<MissingNetwork> missing_networks_;
  std::vector<PluginPod> plugin_pods_;
  std::vector<std::pair<migrate::Place, std::string>> plugin_nodes_;  // warnings of finish()
  Sources& out_;
};

void complain_of_all(const Complaints& complaints) {
  std::string lines;
  for (const migrate::Complaint& complaint : complaints.all()) lines += text_of(complaint) + "\n";
  if (const size_t more = complaints.more_errors(); more > 0) lines += and_more(more, "error") + "\n";
  if (const size_t more = complaints.more_warnings(); more > 0) lines += and_more(more, "warning") + "\n";
  std::fputs(lines.c_str(), stderr);
}

std::string text_of(const std::vector<ConvertedObject>& objects, config::OutputFormat format) {
  if (format == config::OutputFormat::kJson) {
    std::vector<kube::Json> all;
    for (const ConvertedObject& made : objects) all.push_back(made.object);
    return cli::formatted(kube::list_of(std::move(all)), format);
  }
  std::string out;
  for (const ConvertedObject& made : objects) {
    if (!out.empty()) out += "---\n";
    for (const std::string& comment : made.comments) out += "# " + comment + "\n";
    out += kube::encode_yaml(made.object);
  }
  return out;
}

std::string text_of(const std::vector<ComparedDevice>& rows, config::OutputFormat format) {
  const auto differ =
      std::count_if(rows.begin(), rows.end(), [](const ComparedDevice& row) { return !row.is_same(); });
  if (format == config::OutputFormat::kTable) {
    std::vector<std::vector<std::string>> cells;
    for (const ComparedDevice& row : rows)
      cells.push_back({row.device, row.interface, row.before, row.after, row.why});
    return table({"DEVICE", "INTERFACE", "BEFORE", "AFTER", "WHY"}, cells) + std::to_string(rows.size()) +
           (rows.size() == 1 ? " device, " : " devices, ") + std::to_string(differ) +
           (differ == 1 ? " differs\n" : " differ\n");
  }
  std::vector<kube::Json> items;
  for (const ComparedDevice& row : rows) {
    kube::Json item = kube::Json::Object{};
    item.set("device", row.device);
    for (const auto& [key, text] : {std::pair("interface", &row.interface), std::pair("before", &row.before),
                                    std::pair("after", &row.after)})
      if (!text->empty()) item.set(key, *text);
    item.set("same", row.is_same());
    if (!row.is_same()) item.set("why", row.why);
    items.push_back(std::move(item));
  }
  return cli::formatted(kube::list_of(std::move(items)), format);
}

// Returns the resources as the source configuration assigned them on the node.
migrate::Before before_of(const Sources& sources, const hotplug::InventoryPtr& inventory,
                          const kube::NodeView& node, const migrate::Target& target) {
  if (!sources.plugin.empty()) return migrate::by_plugin(sources.plugin, node);
  if (!sources.of_dra_driver.empty()) return by_dra_driver(sources.of_dra_driver, inventory, node, target);
  return migrate::by_plugin({operators_config(sources.node_policies, node)}, node);
}

// The unmet requirements of the configurations that do not select the node. all: the number of
// configurations.
struct NodeDemands {
  size_t all = 0;
  std::vector<std::string> lacks;
};

NodeDemands demands_of(const Sources& sources, const kube::NodeView& node, const migrate::Target& target) {
  NodeDemands out;
  for (const auto* configs : {&sources.plugin, &sources.node_policies})
    for (const Config& config : *configs) {
      ++out.all;
      if (const std::string lacks = config.nodes.lacks(node); !lacks.empty())
        out.lacks.push_back(config.origin + " " + lacks);
    }
  for (const auto& policy : policies_among(sources.of_dra_driver, target).sriov) {
    ++out.all;
    const auto match = match_node(policy->node_selector, node);
    if (!match.matched)
      out.lacks.push_back("SriovResourcePolicy " + escaped(policy->id.name) + " requires " +
                          escaped(match.field, 128) + " " + escaped(match.wanted, 256) +
                          (match.found.empty() ? ", which the node lacks"
                                               : ", and the node has " + in_quotes(match.found, 128)));
  }
  return out;
}

// Returns why the configurations cannot be compared on the node, "" if they can. A configuration that selects
// no node, or requires unknown labels, must not count as "the same".
std::string wrong_with_node(const Sources& sources, const kube::NodeView& node, bool are_labels_known,
                            const migrate::Target& target) {
  const NodeDemands demands = demands_of(sources, node, target);
  const bool is_for_none = demands.lacks.size() == demands.all;
  // A configuration for a node by name requires no labels.
  const bool lacks_labels =
      std::any_of(demands.lacks.begin(), demands.lacks.end(), [](const std::string& one) {
        return one.find(" requires ") != std::string::npos && one.find("metadata.name") == std::string::npos;
      });
  if (!is_for_none && (are_labels_known || !lacks_labels)) return "";
  std::vector<std::string> labels,
      lacks(demands.lacks.begin(),
            demands.lacks.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(demands.lacks.size(), 5)));
  for (const auto& [key, value] : node.labels)
    labels.push_back(escaped(key, 128) + "=" + escaped(value, 128));
  if (demands.lacks.size() > lacks.size())
    lacks.push_back(and_more(demands.lacks.size() - lacks.size(), "configuration"));
  return (is_for_none ? "no configuration is for node "
                      : std::to_string(demands.lacks.size()) + " of " + std::to_string(demands.all) +
                            " configurations are for labels that are not given of node ") +
         escaped(node.name) + " (labels: " + (labels.empty() ? "none" : join(labels, ", ")) +
         "): " + join(lacks, "; ") +
         ". Give the node's labels with --node-labels KEY=VALUE,..., another --node-name, or a snapshot of the node as --host";
}

// Returns the node's resources without a device. They have no row in the table, so they are reported
// separately.
std::vector<std::string> resources_without_device(const Sources& sources,
                                                  const std::vector<ComparedDevice>& rows,
                                                  const kube::NodeView& node) {
  std::vector<std::string> out;
  for (const auto* configs : {&sources.plugin, &sources.node_policies})
    for (const Config& config : *configs) {
      if (!config.nodes.selects(node)) continue;
      for (const migrate::Resource& resource : config.resources)
        if (std::none_of(rows.begin(), rows.end(),
                         [&](const ComparedDevice& row) {
                           return row.before == resource.name || row.after == resource.name;
                         }) &&
            std::find(out.begin(), out.end(), resource.name) == out.end())
          out.push_back(resource.name);
    }
  return out;
}

int check_host(const config::Options& options, const Sources& sources,
               const std::vector<ConvertedObject>& objects) {
  if (sources.kinds() > 1) {
    daemon::print_error(
        "--check compares with one way of offering devices, and the files are of several: check them one "
        "after the other");
    return daemon::kExitError;
  }
  kube::NodeView node{options.node_name, options.node_labels};
  node.labels.try_emplace(kHostnameLabel, node.name);  // the kubelet's default
  const migrate::Target target = target_of(options);
  if (const std::string wrong = wrong_with_node(sources, node, !options.node_labels.empty(), target);
      !wrong.empty()) {
    daemon::print_error(wrong);
    return daemon::kExitError;
  }
  const auto files = cli::open_host_files(options);
  if (!files) {
    daemon::print_error(files.error().what);
    return daemon::kExitError;
  }
  const auto process = daemon::Process::open_bare(options);
  const hotplug::InventoryPtr inventory = cli::read_host_once(*process, cli::file_ports(*process, *files));
  if (inventory == nullptr) return process->leave(daemon::kExitError);
  auto rows = compare(before_of(sources, inventory, node, target), objects, inventory, node, target);
  if (sources.of_dra_driver.empty()) migrate::mark_lost_uio_nodes(rows, *inventory);
  if (rows.empty())
    daemon::print_error(
        "no device of this host is offered before or after: nothing was compared. Run it on a node with the "
        "devices, or give a snapshot of the node as --host");
  const bool is_same =
      std::all_of(rows.begin(), rows.end(), [](const ComparedDevice& row) { return row.is_same(); });
  const bool is_printed = daemon::print(text_of(rows, options.output));
  if (const auto none = resources_without_device(sources, rows, node); !none.empty() && !rows.empty())
    daemon::print_error("no device of this host is or was offered as " + join(none, ", "));
  const bool has_lost_nics = std::any_of(rows.begin(), rows.end(), [&](const ComparedDevice& row) {
    const hotplug::HostDevice* device = inventory->devices.find(row.device);
    return row.after.empty() && device != nullptr && device->type != hotplug::DeviceType::kVf;
  });
  if (has_lost_nics && options.form != config::PolicyForm::kExposure)
    daemon::print_error(
        "functions without a PF, as in a VM, and PFs are not offered by SriovResourcePolicies: --as exposure offers "
        "them");
  return process->leave(!is_printed ? daemon::kExitError
                        : is_same   ? daemon::kExitSame
                                    : daemon::kExitChanges);
}

// Converts the plugin's and the operator's configurations separately: both may have the same resource.
std::vector<ConvertedObject> objects_of_all(Sources& sources, const migrate::Target& target) {
  std::vector<ConvertedObject> out = sources.of_dra_driver;
  for (const auto* configs : {&sources.plugin, &sources.node_policies})
    for (ConvertedObject& made : objects_of(*configs, target, sources.complaints))
      out.push_back(std::move(made));
  return out;
}

// DeviceClasses and claims are checked as by `validate`.
std::vector<ConvertedObject> objects_of_dranet(const config::Options& options, const migrate::Target& target,
                                               Sources& sources, size_t& lost) {
  const migrate::Place place{options.arguments.front(), 0};
  if (target.form == migrate::Form::kSriov && sources.dranet.has_any(target)) {
    sources.complaints.error(
        place,
        "--as sriov has no counterpart of dranet's devices, which are not VFs alone: leave "
        "it out, or set --as exposure");
    return {};
  }
  auto converted = sources.dranet.convert(target, sources.complaints);
  lost = converted.lost;
  check(converted.objects, target, place, sources.complaints);
  webhook::Drivers drivers{target.sriov_driver, target.exposure_driver, target.namespace_};
  for (const ConvertedObject& made : converted.objects)
    if (made.object.text("kind") == kube::kDeviceClasses.kind)
      drivers.classes.emplace(made.object.find("metadata")->text("name"), target.exposure_driver);
  for (const ConvertedObject& made : converted.objects)
    if (const auto judged = webhook::judge(made.object, drivers))
      for (const policy::Problem& problem : judged->errors)
        sources.complaints.error(place, webhook::text_of(*judged, problem) +
                                            "; the object would be refused: correct the input (" +
                                            (made.comments.empty() ? "" : made.comments.front()) + ")");
  return std::move(converted.objects);
}

// Warns about definitions for resources that no configuration has.
void warn_of_unknown_resources(const std::vector<ConvertedObject>& objects, Sources& sources) {
  if (sources.complaints.has_errors()) return;
  std::set<std::string> resources;
  for (const ConvertedObject& made : objects)
    if (const kube::Json* name = made.object.find({"spec", "extendedResourceName"});
        name != nullptr && name->string() != nullptr)
      resources.insert(*name->string());
  for (const migrate::Network& one : sources.networks)
    if (!resources.contains(one.resource))
      sources.complaints.warning(one.place, "NetworkAttachmentDefinition " + escaped(one.text()) +
                                                " names resource " + escaped(one.resource) +
                                                ", which no configuration here has");
}

}  // namespace

int migrate(const config::Options& options) {
  Sources sources;
  migrate::Target target = target_of(options);
  target.is_compared = options.check;
  Reader reader(options, target, sources);
  reader.read_files(options.arguments);
  reader.finish();
  target.networks = sources.networks;
  std::vector<ConvertedObject> objects;
  size_t lost = 0;
  if (options.check && sources.dranet.has_any(target))
    sources.complaints.error(
        {options.arguments.front(), 0},
        "--check does not compare with dranet: apply the objects to a directory cluster and look at "
        "`sliced plan` (docs/from-dranet.md)");
  if (!sources.complaints.has_errors()) objects = objects_of_all(sources, target);
  if (!sources.complaints.has_errors() && !sources.dranet.empty())
    for (ConvertedObject& made : objects_of_dranet(options, target, sources, lost))
      objects.push_back(std::move(made));
  warn_of_unknown_resources(objects, sources);
  if (!sources.complaints.has_errors() && objects.empty())
    sources.complaints.error(
        {options.arguments.front(), 0},
        "has nothing to carry over: give a ConfigMap of the SR-IOV network device plugin or its JSON, "
        "SriovNetworkNodePolicies, objects of dra-driver-sriov, or DeviceClasses and claims for dranet");
  complain_of_all(sources.complaints);
  if (sources.complaints.has_errors()) return daemon::kExitError;
  if (options.check) return check_host(options, sources, objects);
  if (!daemon::print(text_of(objects, options.output))) return daemon::kExitError;
  return lost == 0 ? daemon::kExitSame : daemon::kExitChanges;
}

}  // namespace sliced::kubectl
