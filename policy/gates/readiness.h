#pragma once
// The gate readiness: what is not configured yet is not offered, and what loses that follows onLoss. What is published of
// what passes, what of it a prepare refuses, and the words of it for explain.
#include <optional>
#include <string>
#include <vector>

#include "policy/explanation.h"
#include "policy/gates/gate.h"
#include "policy/gates/settling.h"
#include "policy/gates/stood.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// Before any gate is asked: what its policy asks of its PF's word is asked at once, whatever holds the offer back.
void note_asked_of_pf(Circumstances& now, const hotplug::HostDevice& device, const Readiness& readiness);

/// As an offer that passes is published: what stands as it was while its device is in motion or its PF is asked
/// (pf_word.h); with a taint where its device is not ready (onLoss or onLinkDown: taint). entry: as it would be now.
kube::DevicePtr as_published(const Inputs& in, const Settling& settling, const Offer& offer,
                             kube::DevicePtr entry);

/// Of an entry that stays published although its device is not ready (onLoss: taint or keep): ", with taint ...: ..."; "" it
/// is ready. place: of the entry.
std::string offered_unready(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                            const EntryPlace& place);

/// Why it may not be handed over now: what is missing, and what its PF is still asked for where it is offered; "" nothing
/// is, or its policy keeps it (onLoss or onLinkDown: keep; taint, where taintEffect is None).
std::string unreadiness(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
                        bool is_offered);

/// A rule for each condition that the policy asks for, where it says anything of readiness or the device is not
/// ready; none otherwise. place: of the entry that it offers, or would; nullptr: it would offer none.
std::vector<Rule> readiness_rules(const Inputs& in, const hotplug::HostDevice& device,
                                  const Readiness& readiness, const std::string& policy,
                                  const EntryPlace* place);

}  // namespace sliced::policy
