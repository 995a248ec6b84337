#pragma once
// Checks configurations for our drivers in claims, templates and DeviceClasses, as nodes read them. Pure.
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"
#include "policy/problem.h"
#include "reactor/base/result.h"

namespace sliced::webhook {

bool is_ours(const Drivers& drivers, std::string_view driver);
/// Returns true if opaque.driver is one of our drivers. config: an element of spec.devices.config of a claim,
/// or of spec.config of a class. Without opaque.driver false.
bool is_our_config(const kube::Json& config, const Drivers& drivers);
/// Returns the first mistake, as kubelet::VfConfigs finds it. Requires is_our_config(). path: of the config;
/// a node finds it in the allocated claim (kubelet/claim.h). is_claims: the claim's own config, in that
/// namespace.
std::optional<policy::Problem> problem_of_config(const kube::Json& config, std::string path, bool is_claims,
                                                 const std::string& namespace_);

/// Returns the first route of `network` that its `addresses` exclude, such as one with a gateway on none of their
/// subnets; nullopt without both fields. Requires is_our_config() and no problem_of_config().
std::optional<policy::Problem> problem_of_routes(const kube::Json& config, std::string path);

/// Returns a problem if nodes ignore a configuration that was probably meant for our drivers; nullopt if not,
/// or unknown. drivers_of_devices: known drivers of its devices; empty if unknown.
/// - Known: the configuration's driver is not among them, and one of ours is: it may have been meant for that
///   one (kubelet::may_be_meant_for()).
/// - Unknown: it is a VfConfig, and its driver is neither one of ours nor dra-driver-sriov's, which has the
///   same kind.
std::optional<policy::Problem> problem_of_ignored_config(const kube::Json& config, const std::string& path,
                                                         const std::set<std::string>& drivers_of_devices,
                                                         const Drivers& drivers);

/// Splits "PATH is ...", or another verb of such errors, into field and text. Without a verb the whole is the text.
policy::Problem problem_from(const Error& error, int line);

}  // namespace sliced::webhook
