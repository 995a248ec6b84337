#include "policy/node_state/in_sync.h"

#include <algorithm>

#include "policy/node_state/drift.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

constexpr std::string_view kInProgress = "InProgress", kFailed = "Failed", kSucceeded = "Succeeded";

std::string first_of(const Problems& problems) {
  return problems.front().field + " " + problems.front().what;
}

// Returns the first difference, or else the first unknown field, and the number of others.
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

// Such a problem may concern any PF.
const SriovNodeState::Wanted* without_address(const SriovNodeState& state) {
  for (const SriovNodeState::Wanted& wanted : state.wanted)
    if (!wanted.pci) return &wanted;
  return nullptr;
}

std::string named(const SriovNodeState& state) {
  return "SriovNetworkNodeState " + escaped(state.namespace_ + "/" + state.name);
}

std::string status_of(const SriovNodeState& state) {
  std::string out = "syncStatus " + (state.sync_status.empty() ? "is not set" : escaped(state.sync_status));
  if (!state.last_sync_error.empty()) out += ", lastSyncError: " + escaped(state.last_sync_error, 512);
  return out;
}

// The operator's daemon configures whenever it starts.
std::string restart_of_operator(const SriovNodeState& state) {
  return "kubectl -n " + escaped(state.namespace_) +
         " delete pod -l app=sriov-network-config-daemon --field-selector spec.nodeName=" +
         escaped(state.name);
}

}  // namespace

std::string describe_status(const SriovNodeState& state) { return named(state) + ": " + status_of(state); }

std::string unsettled_by(const NodeStateWord& word) {
  if (word.object == nullptr) return word.why;
  const SriovNodeState& state = *word.object;
  const std::string& sync = state.sync_status;
  const std::string said = status_of(state);
  if (sync == kInProgress) return said + ": the SR-IOV network operator is configuring this node";
  if (sync == kFailed && !word.ignored.failed)
    return said +
           "; the log of the operator's pod sriov-network-config-daemon on this node has the cause "
           "(--ignore-node-state failed passes over it)";
  if (!sync.empty() && sync != kFailed && sync != kSucceeded)
    return said + ", expected Succeeded, Failed or InProgress";
  if (word.ignored.earlier_boot) return "";
  if (sync.empty())
    return said +
           ": the SR-IOV network operator has not configured this node yet; does its pod "
           "sriov-network-config-daemon run here? (--ignore-node-state earlier-boot passes over it)";
  if (word.no_evidence.empty()) return "";
  return said +
         ", with no evidence that the SR-IOV network operator has configured this node since it booted: " +
         word.no_evidence +
         "; its pod sriov-network-config-daemon does so when it starts: " + restart_of_operator(state) +
         " (--ignore-node-state earlier-boot passes over it)";
}

NodeState in_sync(const NodeStateWord& word, const hotplug::Inventory& host) {
  NodeState out;
  out.why = word.why;
  if (word.object == nullptr) return out;
  const SriovNodeState& state = *word.object;
  if (state.is_spec_unknown) {
    out.why = named(state) + ": " + first_of(state.problems);
    return out;
  }
  if (const auto* wanted = without_address(state)) {
    out.why = named(state) + ": " + first_of(wanted->problems);
    return out;
  }
  out.is_known = true;
  out.why.clear();
  if (state.sync_status != kSucceeded || !state.last_sync_error.empty()) out.status = status_of(state);
  out.unsettled = state.wanted.empty() ? "" : unsettled_by(word);
  for (const InterfaceDrift& drift : judge_drift({state, host})) {
    if (drift.is_by_word() && out.unsettled.empty()) out.by_word.insert(drift.pci);
    if (!drift.is_in_sync())
      out.out_of_sync.emplace(drift.pci,
                              why_not(drift) + (out.unsettled.empty() ? "" : "; " + out.unsettled));
    else if (!out.unsettled.empty())
      out.out_of_sync.emplace(drift.pci, out.unsettled);
  }
  return out;
}

std::string unconfigured_by(const NodeStateWord& word, const NodeState& now, bool allows_empty) {
  if (word.object == nullptr) return word.is_absent && allows_empty ? "" : word.why;
  if (!now.is_known) return now.why;
  const std::string of = named(*word.object);
  if (word.object->wanted.empty())
    return allows_empty
               ? ""
               : of +
                     " lists no PF (spec.interfaces is empty); the operator may still fill it in, otherwise use node-state:allow-empty";
  if (now.out_of_sync.empty()) return "";
  const auto differs =
      std::ranges::find_if(now.out_of_sync, [&](const auto& one) { return one.second != now.unsettled; });
  if (differs == now.out_of_sync.end()) return of + ": " + now.unsettled;
  const size_t more = now.out_of_sync.size() - 1;
  return of + ": PF " + differs->first + " is not in sync: " + differs->second +
         (more == 0 ? "" : "; " + and_more(more, "PF"));
}

}  // namespace sliced::policy
