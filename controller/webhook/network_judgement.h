#pragma once
// NetworkAttachmentDefinitions, judged by the tables by which nodes read them when a claim names one (kubelet/cni/definition.h). Pure.
#include <set>
#include <string>
#include <utility>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// Label of a definition whose author wants the webhook to refuse what nodes would: `networking.dra.io/used-by: sliced`.
inline constexpr const char* kUsedByLabel = "networking.dra.io/used-by";
inline constexpr const char* kUsedBySliced = "sliced";

/// errors: what nodes refuse whoever names the definition. user_errors: what nodes refuse when a claim names it, and not when a
/// DeviceClass names it from another namespace. Which plugins may run, and which settings of a VF may be made, is said by policies
/// and options of nodes, which nobody knows here: warnings name what has to be listed.
/// namespace_: where it will be; "" not known. An object's own comes first.
Judgement judge_network(const kube::Json& object, const std::string& namespace_ = "");

/// Whether the definition has the label.
bool is_used_by_sliced(const kube::Json& definition);

/// Namespace and name of definitions.
using NetworkNames = std::set<std::pair<std::string, std::string>>;
/// Adds the definitions that a DeviceClass names with their namespace in configurations for our drivers.
void add_networks_of_class(const kube::Json& device_class, const Drivers& drivers, NetworkNames& out);

}  // namespace sliced::webhook
