#include "controller/webhook/network_judgement.h"

#include "controller/webhook/opaque_config.h"
#include "kubelet/cni/definition.h"
#include "kubelet/cni/network.h"
#include "kubelet/prepared.h"
#include "reactor/base/text.h"

namespace sliced::webhook {
namespace {

using kube::Json;

// The device, policies and options of nodes are unknown, so fields that depend on them are not checked.
Result<std::string> canonical(const std::string& config, const std::string& name, cni::Author author) {
  return cni::canonical_definition(config, name, {.author = author}, std::nullopt);
}

void judge_config(const std::string& config, const std::string& name, int line, Judgement& out) {
  if (config.size() > kubelet::kNetworkBytesMax)
    return out.errors.push_back({"spec.config",
                                 "has " + std::to_string(config.size()) + " bytes; expected at most " +
                                     std::to_string(kubelet::kNetworkBytesMax),
                                 line});
  const auto by_administrator = canonical(config, name, cni::Author::kAdministrator);
  if (!by_administrator) return out.errors.push_back(problem_from(by_administrator.error(), line));
  const auto by_user = canonical(config, name, cni::Author::kNamespaceUser);
  if (!by_user) out.user_errors.push_back(problem_from(by_user.error(), line));
  for (const std::string& listed : cni::names_to_list(config))
    out.warnings.push_back(
        {"spec.config",
         "has " + in_quotes(listed, 64) +
             ", which runs only when listed: in supportedCNIPlugins of the device's policy, or "
             "in --cni-plugins-exclusive or --cni-plugins-shared",
         line});
}

}  // namespace

Judgement judge_network(const kube::Json& object, const std::string& namespace_) {
  const Json* meta = object.find("metadata");
  const std::string name(meta == nullptr ? "" : meta->text("name"));
  std::string home(meta == nullptr ? "" : meta->text("namespace"));
  if (home.empty()) home = namespace_;
  Judgement out{
      .who = "NetworkAttachmentDefinition " + escaped(home) + (home.empty() ? "" : "/") + escaped(name),
      .line = object.line()};
  const Json* written = object.find({"spec", "config"});
  const int line = written == nullptr ? 0 : written->line();
  const auto config = cni::config_of_definition(object);
  if (!config)
    out.errors.push_back(problem_from(config.error(), line));
  else
    judge_config(*config, name, line, out);
  return out;
}

bool is_used_by_sliced(const kube::Json& definition) {
  const kube::Json* labels = definition.find({"metadata", "labels"});
  return labels != nullptr && labels->text(kUsedByLabel) == kUsedBySliced;
}

void add_networks_of_class(const kube::Json& device_class, const Drivers& drivers, NetworkNames& out) {
  const kube::Json* configs = device_class.find({"spec", "config"});
  if (configs == nullptr || configs->array() == nullptr) return;
  for (const kube::Json& config : *configs->array()) {
    if (!is_our_config(config, drivers)) continue;
    const kube::Json* parameters = config.find({"opaque", "parameters"});
    if (parameters == nullptr || parameters->text("netAttachDefNamespace").empty()) continue;
    out.emplace(parameters->text("netAttachDefNamespace"), parameters->text("netAttachDefName"));
  }
}

}  // namespace sliced::webhook
