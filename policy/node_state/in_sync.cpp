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

std::string unsettled_by(const NodeStateReading& reading) {
  if (reading.object == nullptr) return reading.why;
  const SriovNodeState& state = *reading.object;
  const std::string& sync = state.sync_status;
  const std::string status = status_of(state);
  if (sync == kInProgress) return status + ": the SR-IOV network operator is configuring this node";
  if (sync == kFailed && !reading.ignored.failed)
    return status +
           "; the log of the operator's pod sriov-network-config-daemon on this node has the cause "
           "(--ignore-node-state failed ignores this)";
  if (!sync.empty() && sync != kFailed && sync != kSucceeded)
    return status + ", expected Succeeded, Failed or InProgress";
  if (reading.ignored.earlier_boot) return "";
  if (sync.empty())
    return status +
           ": the SR-IOV network operator has not configured this node yet; does its pod "
           "sriov-network-config-daemon run here? (--ignore-node-state earlier-boot ignores this)";
  if (reading.no_evidence.empty()) return "";
  return status +
         ", with no evidence that the SR-IOV network operator has configured this node since it booted: " +
         reading.no_evidence +
         "; its pod sriov-network-config-daemon does so when it starts: " + restart_of_operator(state) +
         " (--ignore-node-state earlier-boot ignores this)";
}

NodeState in_sync(const NodeStateReading& reading, const hotplug::Inventory& host) {
  NodeState out;
  out.why = reading.why;
  if (reading.object == nullptr) return out;
  const SriovNodeState& state = *reading.object;
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
  out.unsettled = state.wanted.empty() ? "" : unsettled_by(reading);
  for (const InterfaceDrift& drift : judge_drift({state, host})) {
    if (drift.depends_on_vf_settings() && out.unsettled.empty()) out.by_vf_settings.insert(drift.pci);
    if (!drift.is_in_sync())
      out.out_of_sync.emplace(drift.pci,
                              why_not(drift) + (out.unsettled.empty() ? "" : "; " + out.unsettled));
    else if (!out.unsettled.empty())
      out.out_of_sync.emplace(drift.pci, out.unsettled);
  }
  return out;
}

std::string unconfigured_by(const NodeStateReading& reading, const NodeState& now, bool allows_empty) {
  if (reading.object == nullptr) return reading.is_absent && allows_empty ? "" : reading.why;
  if (!now.is_known) return now.why;
  const std::string of = named(*reading.object);
  if (reading.object->wanted.empty())
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
