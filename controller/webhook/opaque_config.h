#pragma once
// Configurations for our drivers in claims, templates and DeviceClasses, judged as nodes read them. Pure.
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
/// One of spec.devices.config of a claim, or of spec.config of a class: by opaque.driver. What has no such
/// member is none.
bool is_our_config(const kube::Json& config, const Drivers& drivers);
/// What is wrong with one of ours: config must be one, by is_our_config(). The first mistake only, as
/// kubelet::VfConfigs finds it.
/// path: where it stands; a node will find it in the allocated claim (kubelet/claim.h).
/// is_claims: it is the claim's own, in that namespace.
std::optional<policy::Problem> problem_of_config(const kube::Json& config, std::string path, bool is_claims,
                                                 const std::string& namespace_);

/// That nodes ignore a configuration which was probably meant for them; nullopt where that is not known.
/// drivers_of_devices: drivers of the devices that it is for, as far as they are known; empty: not known. The configuration may be any.
///   known, and none is the configuration's driver, while one is ours: it may have been meant for that one (kubelet::may_be_meant_for()).
///   not known: it is a VfConfig, and its driver is neither one of ours nor dra-driver-sriov's, which has the same kind.
std::optional<policy::Problem> problem_of_ignored_config(const kube::Json& config, const std::string& path,
                                                         const std::set<std::string>& drivers_of_devices,
                                                         const Drivers& drivers);

/// "PATH is ..." in its two parts; without " is " all of it is the text.
policy::Problem problem_from(const Error& error, int line);

}  // namespace sliced::webhook
