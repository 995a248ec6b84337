#pragma once
// A *gate* is a rule that withholds devices that a policy offers. Policies of both kinds check all gates in the order of gates.cpp; the
// first gate that rejects a device decides, and explain() takes its text from that gate.
//
// To add a gate: one file here, one line in gates.cpp, and an Outcome in verdict.h if none of the present ones fits. docs/concepts.md
// lists the outcomes.
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

enum class PolicyKind : uint8_t { kSriov, kExposure };

/// A device entry that a policy offers, before the gates have checked it.
struct Offer {
  PolicyKind kind;
  const hotplug::HostDevice& device;
  const std::string& entry;  // its name; "" if the pool has no free name
  const std::string& pool;
  bool is_exclusive;
  HostUseAllowance host_use;            // of its policy
  std::function<const Draft&()> draft;  // created on first use
  Readiness readiness = {};             // of its policy
  std::string_view group = {};          // exclusionGroup; "" none
  bool is_moved = false;                // a CNI plugin of the entry moves the interface into the pod
  std::string_view base = {};           // as Holding::base; "" for a function of a SriovResourcePolicy
};

/// The result of a gate that withholds an offer.
struct Rejection {
  Outcome outcome;
  std::string why = {};  // details, if the outcome alone does not explain it
  /// For kNotReady: a text that is equal for all devices that wait for the same condition, so that it is logged once. "": use `why`.
  std::string reason = {};
};

/// Inputs and results that gates share during one decision.
struct DecisionContext {
  const Inputs& in;
  PoolNames& pools;
  /// Index of the first invalid exclude that may select this node; -1 if there is none.
  int32_t unreadable_exclude = -1;
  /// Unverified pools from which DeviceExposurePolicies offer devices.
  std::set<std::string> unverified_pools = {};
  /// Host devices that SriovResourcePolicies offer, offer after a gate passes, or may offer once unknown facts are known.
  std::set<std::string_view> taken_by_sriov = {};
  std::set<std::string_view> perhaps_sriovs = {};  // those that depend on unknown facts
  // Results of gates, which become fields of Decision.
  std::set<std::string> wanted = {};
  bool awaits_pods = false;
  std::optional<TimePoint> due = {};
  std::set<hotplug::PciAddress> awaited_pfs = {};
  std::map<std::string, TimePoint> unready_since = {};
  UnreadyByReason unready = {};
  std::map<std::string, AskedOfPf, std::less<>> asked_of_pfs = {};
  std::set<hotplug::PciAddress> untold_pfs = {};
};

/// The state of a gate during one decision.
class Gate {
 public:
  virtual ~Gate() = default;
  /// Returns the reason to withhold the offer; nullopt if it passes.
  virtual std::optional<Rejection> ask(const Offer& offer) = 0;
};

/// Arguments for the text of a withheld offer.
struct GateExplanation {
  const Decision& decision;
  const hotplug::HostDevice& device;
  PolicyKind kind;
  Outcome outcome;
  const std::string& why;  // as Rejection::why
  const std::string&
      by;  // of a SriovResourcePolicy: "policy ns/name, spec.configs[0]"; "" for a DeviceExposurePolicy
};

struct GateKind {
  std::string_view name;              // "host-use"
  std::span<const Outcome> outcomes;  // its results; no other gate has them
  std::unique_ptr<Gate> (*make)(DecisionContext& context);
  std::string (*say)(const GateExplanation& explanation);  // one sentence
};

template <class OneGate>
GateKind gate_kind(std::string_view name) {
  const auto make = [](DecisionContext& context) -> std::unique_ptr<Gate> {
    return std::make_unique<OneGate>(context);
  };
  return {name, OneGate::kOutcomes, make, &OneGate::say};
}

}  // namespace sliced::policy
