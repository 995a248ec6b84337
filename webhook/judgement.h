#pragma once
// What is wrong with an object that somebody wants to apply: one judgement behind `validate` and the webhook, of the
// decoders by which nodes read policies and prepare claims. Pure.
#include <cstdint>
#include <optional>
#include <string>

#include "kube/json.h"
#include "policy/exposure/dearest.h"
#include "policy/problem.h"

namespace sliced::webhook {

/// Under which names devices are published; policies and claims of other drivers are nobody's here.
struct Drivers {
  std::string sriov, exposure;
};

struct Judgement {
  std::string who;  // "DeviceExposurePolicy nics"; "" where the object does not say what it is
  int line = 0;     // of the object, where it came from a file
  /// False of a kind that was only meant to be one of ours: nothing more of the object was read.
  bool is_read = true;
  /// Not empty: it is refused. On a node such a policy offers nothing, such a claim is not prepared.
  policy::Problems errors;
  policy::Problems warnings;  // legal, and probably not meant
  /// Of a DeviceExposurePolicy's selector, where it can be compiled.
  std::optional<policy::Dearest> dearest;
  uint64_t selector_work = 0;          // that it took, as decisions count it
  bool is_selector_unchecked = false;  // for want of work
};

/// SriovResourcePolicy, DeviceAttributes and DeviceExposurePolicy, and configurations for our drivers in ResourceClaims
/// and their templates. nullopt: of no kind that is ours, or of a claim without such a configuration.
/// namespace_: where it will be; "" where that is not known, and then what hangs on it is not judged. An object's own
///            comes first.
/// may_work:  false leaves selectors uncompiled. One takes at most 500,000 steps to compile, and 8 times 1,000,000 to ask.
std::optional<Judgement> judge(const kube::Json& object, const Drivers& drivers,
                               const std::string& namespace_ = "", bool may_work = true);

/// "DeviceExposurePolicy nics: spec.priority is 1001, wants 0 to 1000": the words that everybody is told.
std::string text_of(const Judgement& judgement, const policy::Problem& problem);

}  // namespace sliced::webhook
