#pragma once
// A *gate* is a rule that withholds a device that a policy offers. Example: the policy matches ens1f0, but
// the host has its default route there, so the gate host-use withholds it.
//
// All gates are checked in the order of gates.cpp, for both kinds of policies. The first gate that rejects an
// offer decides its verdict, and explain() takes its text from that gate. gates.h lists all gates.
//
// To add a gate: one file here, one line in gates.cpp, and an Outcome in verdict.h if none of the present
// ones fits. docs/concepts.md lists the outcomes.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "hotplug/facts.h"
#include "policy/allowed_routes.h"
#include "policy/decision.h"
#include "policy/entry_memory.h"
#include "policy/identity.h"
#include "policy/readiness/readiness.h"
#include "policy/verdict.h"

namespace sliced::policy {

/// SriovResourcePolicy; DeviceExposurePolicy.
enum class PolicyType : uint8_t { kSriov, kExposure };

/// A device entry that a policy offers, before the gates have checked it. References are valid for one call.
struct EntryCandidate {
  PolicyType kind;
  const hotplug::HostDevice& device;
  const std::string& entry;  // name of the device entry; "" if the pool has no free name
  const std::string& pool;
  bool is_exclusive;
  HostUseAllowance host_use;            // of the policy
  std::function<const Draft&()> draft;  // the entry as it would be sent; created on first use
  Demand demand = {};                   // the readiness that the policy requires
  std::string_view group = {};          // spec.exposure.exclusionGroup; "" if none
  bool is_moved = false;                // a CNI plugin of the entry moves the interface into the pod
  std::string_view base = {};           // the entry's name without the suffix of a persona; "" for a VF
                                        // of a SriovResourcePolicy
};

/// The answer of a gate that withholds an offer.
struct Rejection {
  Outcome outcome;
  std::string why = {};  // details if the outcome alone does not explain it
  /// For kNotReady: equal for all devices that wait for the same condition, so that the log reports them
  /// together. "": use `why`.
  std::string reason = {};
};

/// Inputs of all gates in one decision, and the results that they add. Used by one thread, the one that makes
/// the decision: the loop's or a worker's.
struct DecisionContext {
  const Inputs& in;
  PoolNames& pools;  // of DeviceExposurePolicies
  /// Index into PolicySet::exposures of the first invalid exclude that may select this node; -1 if there is
  /// none.
  int32_t unreadable_exclude = -1;
  /// Unverified pools from which DeviceExposurePolicies offer devices.
  std::set<std::string> unverified_pools = {};
  /// Host devices that a SriovResourcePolicy offers, will offer once a gate passes, or may offer depending on
  /// unknown facts.
  std::set<std::string_view> offered_by_sriov = {};
  std::set<std::string_view> perhaps_offered_by_sriov = {};  // the subset that depends on unknown facts
  // Results, which become the fields of Decision with the same names (policy/decision.h).
  std::set<std::string> wanted = {};
  bool awaits_pod_claims = false;
  std::optional<TimePoint> due = {};
  std::set<hotplug::PciAddress> unanswered_pfs = {};
  std::map<std::string, TimePoint> unready_since = {};
  UnreadyByReason unready = {};
  std::map<std::string, PfQuery, std::less<>> pf_queries = {};
  std::set<hotplug::PciAddress> pfs_to_query = {};
};

/// One gate during one decision. It may index the inputs once in its constructor.
class Gate {
 public:
  virtual ~Gate() = default;
  /// Returns the reason to withhold the offer; nullopt if the offer passes. May add results to the context.
  virtual std::optional<Rejection> ask(const EntryCandidate& offer) = 0;
};

/// Arguments of the text for a withheld offer. References are valid for one call.
struct GateExplanation {
  const Decision& decision;
  const hotplug::HostDevice& device;
  PolicyType kind;
  Outcome outcome;
  const std::string& why;  // Rejection::why
  const std::string&
      by;  // the SriovResourcePolicy: "policy ns/name, spec.configs[0]"; "" for a DeviceExposurePolicy
};

struct GateKind {
  std::string_view name;              // "host-use", as in docs/concepts.md
  std::span<const Outcome> outcomes;  // outcomes of this gate; no other gate returns them
  std::unique_ptr<Gate> (*make)(DecisionContext& context);
  std::string (*say)(const GateExplanation& explanation);  // returns one sentence for explain()
};

/// Returns the row of a gate for all_gates(). Requires: OneGate has a constructor from DecisionContext&, an
/// array kOutcomes, and a static function say().
template <class OneGate>
GateKind gate_kind(std::string_view name) {
  const auto make = [](DecisionContext& context) -> std::unique_ptr<Gate> {
    return std::make_unique<OneGate>(context);
  };
  return {name, OneGate::kOutcomes, make, &OneGate::say};
}

}  // namespace sliced::policy
