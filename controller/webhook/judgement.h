#pragma once
// What is wrong with an object that somebody wants to apply: one judgement behind `validate` and the webhook, of the
// decoders by which nodes read policies and prepare claims. Pure.
#include <cstdint>
#include <optional>
#include <string>

#include "cel/evaluation.h"
#include "controller/webhook/judged.h"
#include "kube/objects/json.h"
#include "policy/problem.h"

namespace sliced::webhook {

/// SriovResourcePolicy, DeviceAttributes and DeviceExposurePolicy, configurations for our drivers in ResourceClaims and their
/// templates, DeviceClasses that speak of our drivers (class_judgement.h), and NetworkAttachmentDefinitions (network_judgement.h). nullopt:
/// of no kind that is ours, or of a claim or a class that is others'.
/// namespace_: where it will be; "" where that is not known, and then what hangs on it is not judged. An object's own
///            comes first.
/// may_work:  false leaves selectors uncompiled. One takes at most 500,000 steps to compile, and 8 times 1,000,000 to ask.
/// A kind or an apiVersion that is nearly ours is an error, with the one that is meant (Judgement::is_read is
/// false): no node would read the object, and whoever wrote it would not learn of it.
std::optional<Judgement> judge(const kube::Json& object, const Drivers& drivers,
                               const std::string& namespace_ = "", bool may_work = true,
                               uint64_t claim_steps_max = cel::kCompileStepsMax);

/// "DeviceExposurePolicy nics: spec.priority is 1001, wants 0 to 1000": the words that everybody is told.
std::string text_of(const Judgement& judgement, const policy::Problem& problem);

}  // namespace sliced::webhook
