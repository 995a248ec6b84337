#pragma once
// A *gate* is a reason for which what a policy offers is held back. Both kinds of policies ask all gates, in
// the order of gates.cpp, and the first that says no decides; explain() has its words from the same gate.
//
// A new gate is one file here and its line in gates.cpp; where none of the outcomes says it, one more in
// verdict.h. docs/concepts.md lists them.
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

/// One entry that a policy offers.
struct Offer {
  PolicyKind kind;
  const hotplug::HostDevice& device;
  const std::string& entry;  // its name; "" where there is none left
  const std::string& pool;
  bool is_exclusive;
  HostUseAllowance host_use;            // of its policy
  std::function<const Draft&()> draft;  // made when it is asked for
  Readiness readiness = {};             // as its policy has it
  std::string_view group = {};          // exclusionGroup; "" none
  bool is_moved = false;                // a plugin of the entry moves its interface into the pod
  std::string_view base = {};           // as Holding has it; "" for a function of a SriovResourcePolicy
};

/// What a gate says no with.
struct HeldBack {
  Outcome outcome;
  std::string why = {};  // where the outcome alone does not say it
  /// Of kNotReady: the same for all devices that wait for one thing, so that people read it once. "" why.
  std::string reason = {};
};

/// What gates know beside the offer, one decision long.
struct Circumstances {
  const Inputs& in;
  PoolNames& pools;
  /// The first exclude that cannot be understood and may mean this node; -1 none.
  int32_t unreadable_exclude = -1;
  /// Pools in unverified that DeviceExposurePolicies want something of.
  std::set<std::string> unverified_pools = {};
  /// Host devices that SriovResourcePolicies offer, or will when what holds them back has passed, or may when it is
  /// known what they are.
  std::set<std::string_view> taken_by_sriov = {};
  std::set<std::string_view> perhaps_sriovs = {};  // the last of these
  // What gates find to be waited for: of Decision.
  std::set<std::string> wanted = {};
  bool awaits_pods = false;
  std::optional<TimePoint> due = {};
  std::set<hotplug::PciAddress> awaited_pfs = {};
  std::map<std::string, TimePoint> unready_since = {};
  UnreadyByReason unready = {};
  std::map<std::string, AskedOfPf, std::less<>> asked_of_pfs = {};
  std::set<hotplug::PciAddress> untold_pfs = {};
};

/// One decision's worth of a gate.
class Gate {
 public:
  virtual ~Gate() = default;
  /// nullopt: the offer passes.
  virtual std::optional<HeldBack> ask(const Offer& offer) = 0;
};

/// What people are told of an offer that a gate holds back.
struct Telling {
  const Decision& decision;
  const hotplug::HostDevice& device;
  PolicyKind kind;
  Outcome outcome;
  const std::string& why;  // as HeldBack has it
  const std::string& by;   // of a SriovResourcePolicy: "policy ns/name, spec.configs[0]"; "" of the other
};

struct GateKind {
  std::string_view name;              // "host-use"
  std::span<const Outcome> outcomes;  // that it says no with; no other gate does
  std::unique_ptr<Gate> (*make)(Circumstances& circumstances);
  std::string (*say)(const Telling& telling);  // one sentence
};

template <class OneGate>
GateKind gate_kind(std::string_view name) {
  const auto make = [](Circumstances& circumstances) -> std::unique_ptr<Gate> {
    return std::make_unique<OneGate>(circumstances);
  };
  return {name, OneGate::kOutcomes, make, &OneGate::say};
}

}  // namespace sliced::policy
