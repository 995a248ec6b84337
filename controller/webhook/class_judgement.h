#pragma once
// What is wrong with a DeviceClass that speaks of our drivers: its selectors, and its configurations. Pure.
#include <optional>

#include "controller/webhook/judged.h"
#include "kube/objects/json.h"

namespace sliced::webhook {

/// nullopt: neither a selector nor a configuration names one of our drivers, or nearly.
/// Errors:   selectors that cannot be compiled, with their column, and configurations that no node would understand.
/// Warnings: what selectors read and no device has (selector_judgement.h). A DeviceAttributes or a policy may give attributes, so that
///           they are no mistakes; where none does, reading them is an error, which ends the scheduler's attempt. And configurations
///           that nodes ignore, since they name another driver than that of the devices which the selectors select.
///           Also names in a selector that are nearly one of our drivers', where it names neither.
/// Work:     one that takes more than 500,000 steps to compile is refused by the API server, too; behind that many together no
///           further one is looked at, and the Judgement says so.
/// Bounds:   32 selectors and 32 configurations, which is what resource.k8s.io/v1 takes; those behind are not
///           looked at.
/// A selector speaks of our drivers where the name of one stands in its text, in a comment or a literal too.
std::optional<Judgement> judge_class(const kube::Json& object, const Drivers& drivers, bool may_work);

/// The one of our drivers whose devices the class selects; "" another's, both or not known.
std::string driver_of_class(const kube::Json& object, const Drivers& drivers);

}  // namespace sliced::webhook
