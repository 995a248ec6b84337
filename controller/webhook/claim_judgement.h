#pragma once
// What is wrong with a ResourceClaim or a ResourceClaimTemplate that is for our drivers: its configurations and its selectors. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// kind: ResourceClaim or ResourceClaimTemplate, whose spec.spec is judged in the same way. namespace_: where it will be; "" not known.
/// nullopt: neither a configuration nor a selector is for our drivers, and no request is of one of our DeviceClasses.
/// Errors:   configurations that no node would understand; selectors that do not compile.
/// Warnings: what selectors read and no device has (selector_judgement.h); configurations that nodes ignore, since they name another
///           driver than that of the devices which they are for. The driver of a request is that of its DeviceClass, where it is known
///           (Drivers::classes, or a class that has the name of one of our drivers), else that which its selectors name.
///           Names of DeviceClasses that are nearly one of our drivers'.
///           Judgement::ignored_by_class has those that depend on a class which is not known.
/// Bounds:   32 requests with 8 alternatives each, 32 configurations, 32 selectors of a request, as resource.k8s.io/v1 has them;
///           selectors take about steps_max together to compile; where that is not enough,
///           Judgement::is_selector_unchecked says so.
std::optional<Judgement> judge_claim(const kube::Json& object, std::string_view kind, const Drivers& drivers,
                                     const std::string& namespace_, uint64_t steps_max);

}  // namespace sliced::webhook
