#pragma once
// Checks configurations for our drivers in claims, templates and DeviceClasses, as nodes read them. Pure.
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"
#include "kubelet/native_network.h"
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

/// Returns `network` of the config's parameters; nullopt without one. Requires no problem_of_config().
std::optional<kubelet::NativeNetwork> network_in(const kube::Json& config, bool is_claims);
/// Returns the first contradiction between fields of the network that one author sets, which nodes find after
/// they merge it with that of the other author (kubelet/partial_network.h). config: has the last part of the
/// network, with the path `path`.
std::optional<policy::Problem> problem_of_network(const kubelet::NativeNetwork& network,
                                                  const kube::Json& config, const std::string& path);

/// Returns a problem if nodes ignore a configuration that was probably meant for our drivers; nullopt if not,
/// or unknown. drivers_of_devices: known drivers of its devices; empty if unknown.
/// - Known: the configuration's driver is not among them, and one of ours is: it may have been meant for that
///   one (kubelet::may_be_meant_for()).
/// - Unknown: it is a VfConfig, and its driver is neither one of ours nor dra-driver-sriov's, which has the
///   same kind.
std::optional<policy::Problem> problem_of_ignored_config(const kube::Json& config, const std::string& path,
                                                         const std::set<std::string>& drivers_of_devices,
                                                         const Drivers& drivers);

/// Splits "PATH is ...", or another verb of such errors, into field and text. Without a verb the whole is the
/// text.
policy::Problem problem_from(const Error& error, int line);

}  // namespace sliced::webhook
