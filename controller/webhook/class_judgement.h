#pragma once
// Checks a DeviceClass for this project's drivers: selectors and configurations. Pure.
#include <optional>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// Returns nullopt if neither a selector nor a configuration has the name of one of our drivers, or a similar
/// one.
/// Errors:   selectors that do not compile, with the column; configurations that every node would refuse.
/// Warnings: attributes in selectors that no device has (selector_judgement.h): a DeviceAttributes or policy
/// may add them; otherwise reading them is an error, which ends the scheduler's attempt. Configurations that
/// nodes ignore, because they name another driver than the selectors. Names in a selector that resemble one
/// of our drivers', if it has neither.
/// Work:     a selector of more than 500,000 steps to compile is refused by the API server, too. After that
/// many steps in total no other one is checked, and the Judgement says so.
/// Bounds:   32 selectors and 32 configurations, as in resource.k8s.io/v1; others are not checked.
/// A selector is for our drivers if its text contains the name of one, also in a comment or a literal.
std::optional<Judgement> judge_class(const kube::Json& object, const Drivers& drivers, bool may_work);

/// Returns the driver whose devices the class selects; "" if another one, both, or unknown.
std::string driver_of_class(const kube::Json& object, const Drivers& drivers);

}  // namespace sliced::webhook
