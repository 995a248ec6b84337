#pragma once
// Checks NetworkAttachmentDefinitions by the tables by which nodes read them for a claim
// (kubelet/cni/definition.h). Pure.
#include <set>
#include <string>
#include <utility>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// Label by which an author requests that the webhook refuses a definition that nodes would refuse:
/// `networking.dra.io/used-by: sliced`.
inline constexpr const char* kUsedByLabel = "networking.dra.io/used-by";
inline constexpr const char* kUsedBySliced = "sliced";

/// errors: reasons for which nodes always refuse the definition. user_errors: reasons for which nodes refuse
/// it if a claim names it, but not if a DeviceClass names it from another namespace. Policies and options of
/// nodes, which are unknown here, decide which plugins may run and which VF settings are permitted; warnings
/// name the required permissions.
/// namespace_: for an object without a namespace; "" if unknown.
Judgement judge_network(const kube::Json& object, const std::string& namespace_ = "");

/// Returns true if the definition has the label.
bool is_used_by_sliced(const kube::Json& definition);

/// Namespace and name of definitions.
using NetworkNames = std::set<std::pair<std::string, std::string>>;
/// Adds the definitions that a DeviceClass names with their namespace in configurations for our drivers.
void add_networks_of_class(const kube::Json& device_class, const Drivers& drivers, NetworkNames& out);

}  // namespace sliced::webhook
