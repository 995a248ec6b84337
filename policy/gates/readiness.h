#pragma once
// The gate readiness: what is not configured yet is not offered, and what loses that follows onLoss. The words of it
// for explain, and the taint of what stays.
#include <optional>
#include <string>
#include <vector>

#include "policy/explanation.h"
#include "policy/gates/gate.h"
#include "policy/inputs.h"
#include "policy/readiness/track.h"

namespace sliced::policy {

/// Of the device as it stands; of one of which nothing was seen before, by its facts, as if it had ever been so.
Readied readied_in(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand);

/// Before any gate is asked: what its policy asks of its PF's word is asked, whatever holds the offer back.
void note_asked_of_pf(Circumstances& now, const hotplug::HostDevice& device, const Readiness& readiness);

/// Of an entry that passes: it stays as it was until its PF has been asked (pf_word.h).
bool awaits_word(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness);

/// Why it may not be handed over now: what is missing; "" nothing is, or its policy keeps it (onLoss: keep).
std::string unreadiness(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness);

/// What is published of an entry that passes although its device is not ready (onLoss: taint); nullopt: nothing.
std::optional<kube::Taint> taint_of(const Inputs& in, const hotplug::HostDevice& device,
                                    const Readiness& readiness, const std::string& driver);
/// The entry with it.
kube::DevicePtr as_tainted(kube::DevicePtr entry, std::optional<kube::Taint> taint);

/// A rule for each condition that the policy asks for, where it says anything of readiness or the device is not
/// ready; none otherwise.
std::vector<Rule> readiness_rules(const Inputs& in, const hotplug::HostDevice& device,
                                  const Readiness& readiness, const std::string& policy);

}  // namespace sliced::policy
