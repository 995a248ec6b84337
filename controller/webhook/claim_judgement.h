#pragma once
// Checks a ResourceClaim or ResourceClaimTemplate for this project's drivers: configurations and selectors.
// Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// kind: ResourceClaim or ResourceClaimTemplate, of which spec.spec is checked alike. namespace_: of the
/// object; "" if unknown. Returns nullopt if neither a configuration nor a selector is for our drivers, and
/// no request is for one of our DeviceClasses.
/// Errors:   configurations that every node would refuse; selectors that do not compile; requests in the form of
/// another API version.
/// Warnings: attributes in selectors and constraints that no device has (selector_judgement.h); configurations that nodes
/// ignore, because they name another driver than the devices'; names of DeviceClasses that resemble those of
/// our drivers. The driver of a request is that of its DeviceClass, if known (Drivers::classes, or a class
/// with the name of one of our drivers), otherwise the one in its selectors. Judgement::ignored_by_class has
/// the warnings that depend on an unknown class.
/// Bounds:   32 requests with 8 alternatives each, 32 configurations, 32 selectors of a request, as in
/// resource.k8s.io/v1. Selectors take about steps_max together to compile; if that does not suffice,
/// Judgement::is_selector_unchecked is set.
std::optional<Judgement> judge_claim(const kube::Json& object, std::string_view kind, const Drivers& drivers,
                                     const std::string& namespace_, uint64_t steps_max);

}  // namespace sliced::webhook
