#pragma once
// Checks an object before it is applied. `validate` and the webhook share it, with the decoders by which
// nodes read policies and prepare claims. Pure.
#include <cstdint>
#include <optional>
#include <string>

#include "cel/evaluation.h"
#include "controller/webhook/judged.h"
#include "kube/objects/json.h"
#include "policy/problem.h"

namespace sliced::webhook {

/// Checks SriovResourcePolicy, DeviceAttributes and DeviceExposurePolicy, configurations for our drivers in
/// ResourceClaims and their templates, DeviceClasses for our drivers (class_judgement.h), and
/// NetworkAttachmentDefinitions (network_judgement.h). Returns nullopt for another kind, and for a claim or
/// class of other drivers.
/// namespace_: for an object without a namespace; "" if unknown: checks that depend on it are skipped.
/// may_work:   false: selectors are not compiled. One takes at most 500,000 steps to compile, and 8 times
/// 1,000,000 to evaluate.
/// A kind or apiVersion that resembles one of ours is an error with the correct one (Judgement::is_read is
/// false): no node would read the object, without any message to its author.
std::optional<Judgement> judge(const kube::Json& object, const Drivers& drivers,
                               const std::string& namespace_ = "", bool may_work = true,
                               uint64_t claim_steps_max = cel::kCompileStepsMax);

/// Returns "DeviceExposurePolicy nics: spec.priority is 1001, wants 0 to 1000", the text of all reports.
std::string text_of(const Judgement& judgement, const policy::Problem& problem);

}  // namespace sliced::webhook
