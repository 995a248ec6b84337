#pragma once
// Evaluates the readiness conditions of a policy for one device. The gate readiness, publishing, prepare and
// explain use the same result.
#include <functional>
#include <string>

#include "policy/gates/stale_conditions.h"
#include "policy/inputs.h"
#include "policy/readiness/conditions.h"
#include "policy/readiness/track.h"

namespace sliced::policy {

/// How a condition on VF settings counts while a query of the PF is pending (stale_conditions.h): the
/// settings were last read before a policy began to require them.
enum class Waiting {
  kMissing,  // as missing: for new entries
  kPassed,   // as met: for published entries, which stay unchanged
  kAsKnown,  // by the last value that was read, however old
};

/// The readiness of one device in one decision, or in one check by prepare or explain.
class Findings {
 public:
  /// demand: the readiness that the policy requires, with the daemon's defaults (demand_of()). waiting:
  /// returns the mode for the entry; called at most once, and only if the result depends on it. Conditions
  /// that the daemon assumed at its start (Track::assumed) count as met, except with kMissing.
  /// Requires: inputs and device outlive this object.
  Findings(const Inputs& in, const hotplug::HostDevice& device, const Demand& demand,
           const std::function<Waiting()>& waiting);
  Findings(const Findings&) = delete;

  const Demand& demand() const { return demand_; }
  /// Returns the conditions that are not met, including those that count as missing, and the time since which
  /// the others hold. That time ignores conditions that are only assumed to be met.
  const Readied& found() const { return found_; }
  /// Returns the conditions that wait for the query of the PF; empty with kAsKnown.
  const StaleConditions& stale() const { return stale_; }
  /// Returns the time at which the device appeared or was replaced by another one; kUnknownStart if it was
  /// there at the start of the daemon.
  TimePoint born() const { return known_ == nullptr ? kUnknownStart : known_->born; }
  /// Returns the result for one condition. Requires: the demand contains it. A condition that waits for its
  /// PF is kNotMet, with the reason.
  Finding of(Condition condition) const;
  /// Returns each condition with its reason, "adminMac: VF 3 of ens1f0 has admin MAC 00:00:00:00:00:00;
  /// mtuAtLeast: ...".
  std::string text_of(const ConditionSet& conditions) const;
  /// The same without the parts that differ between devices: "adminMac; mtuAtLeast". nodeState keeps its
  /// reason, which is the same for the PF or the node.
  std::string reason_of(const ConditionSet& conditions) const;

 private:
  void count(Waiting waiting);

  const Inputs& in_;
  const hotplug::HostDevice& device_;
  const Demand demand_;
  const Track* known_;
  Track adjusted_;  // known_ points here if it differs from the tracks
  Readied found_;
  StaleConditions stale_;
};

}  // namespace sliced::policy
