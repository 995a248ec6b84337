#include "policy/node_state/in_sync.h"

#include <algorithm>

#include "policy/node_state/drift.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace node_state_in_sync {

constexpr std::string_view kInProgress = "InProgress";

std::string first_of(const Problems& problems) {
  return problems.front().field + " " + problems.front().what;
}

// What differs before what is not known; the first of it, and how much more there is.
std::string why_not(const InterfaceDrift& drift) {
  if (!drift.problems.empty()) return first_of(drift.problems);
  std::string first_unknown, first_differing;
  size_t count = 0;
  for (const DriftFinding& finding : drift.findings) {
    if (finding.is == DriftIs::kExempt) continue;
    ++count;
    std::string& first = finding.is == DriftIs::kDiffers ? first_differing : first_unknown;
    if (first.empty()) first = text_of(finding);
  }
  const std::string& first = first_differing.empty() ? first_unknown : first_differing;
  return count == 1 ? first : first + "; " + and_more(count - 1, "field");
}

// Nobody can say of which PF that is.
const SriovNodeState::Wanted* without_address(const SriovNodeState& state) {
  for (const SriovNodeState::Wanted& wanted : state.wanted)
    if (!wanted.pci) return &wanted;
  return nullptr;
}

}  // namespace node_state_in_sync

NodeState in_sync(const NodeStateWord& word, const hotplug::Inventory& host) {
  using namespace node_state_in_sync;
  NodeState out;
  out.why = word.why;
  if (word.object == nullptr) return out;
  const SriovNodeState& state = *word.object;
  const std::string named = "SriovNetworkNodeState " + escaped(state.namespace_ + "/" + state.name);
  if (state.is_spec_unknown) {
    out.why = named + ": " + first_of(state.problems);
    return out;
  }
  if (const auto* wanted = without_address(state)) {
    out.why = named + ": " + first_of(wanted->problems);
    return out;
  }
  out.is_known = true;
  out.why.clear();
  for (const InterfaceDrift& drift : judge_drift({state, host})) {
    if (drift.is_by_word() && state.sync_status != kInProgress) out.by_word.insert(drift.pci);
    if (!drift.is_in_sync())
      out.out_of_sync.emplace(drift.pci, why_not(drift));
    else if (state.sync_status == kInProgress)
      out.out_of_sync.emplace(drift.pci, "the SR-IOV network operator is at it (syncStatus InProgress)");
  }
  return out;
}

std::string unconfigured_by(const NodeStateWord& word, const NodeState& now, bool allows_empty) {
  if (word.object == nullptr) return word.is_absent && allows_empty ? "" : word.why;
  if (!now.is_known) return now.why;
  const std::string named =
      "SriovNetworkNodeState " + escaped(word.object->namespace_ + "/" + word.object->name);
  if (word.object->wanted.empty())
    return allows_empty
               ? ""
               : named +
                     " wants nothing of any PF (spec.interfaces is empty); the operator may still fill it in, "
                     "else wait for node-state:allow-empty";
  if (now.out_of_sync.empty()) return "";
  const auto& [pf, why] = *now.out_of_sync.begin();
  const size_t more = now.out_of_sync.size() - 1;
  return named + ": PF " + pf + " is not in sync: " + why + (more == 0 ? "" : "; " + and_more(more, "PF"));
}

}  // namespace sliced::policy
