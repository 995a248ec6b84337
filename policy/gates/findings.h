#pragma once
// Evaluates the readiness conditions of a policy for one device. The gate, publishing, prepare and explain share this result, so that they
// agree.
#include <functional>
#include <string>

#include "policy/gates/pf_word.h"
#include "policy/inputs.h"
#include "policy/readiness/conditions.h"
#include "policy/readiness/track.h"

namespace sliced::policy {

/// How conditions count whose VF settings have not been read from the PF since they are required.
enum class Waiting {
  kMissing,  // for additions
  kPassed,   // for published entries, which stay unchanged
  kAsKnown,  // if no query is pending: by the known values
};

class Findings {
 public:
  /// waiting: called at most once, only if the result depends on it. Conditions assumed at the start (Track::taken) count as met, except with
  /// kMissing.
  Findings(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
           const std::function<Waiting()>& waiting);
  Findings(const Findings&) = delete;

  const Demand& demand() const { return demand_; }
  /// Conditions that are not met, including those that count as such; and since when, without those that count as met.
  const Readied& found() const { return found_; }
  const Untold& untold() const { return untold_; }
  /// Since when the device has its present identity.
  TimePoint born() const { return known_ == nullptr ? kEver : known_->born; }
  /// Requires: condition is in the demand. A waiting condition is kNotMet, with the reason.
  Finding of(Condition condition) const;
  /// "adminMac: VF 3 of ens1f0 has admin MAC 00:00:00:00:00:00; mtuAtLeast: ..."
  std::string text_of(const ConditionSet& conditions) const;
  /// The same without device-specific parts: "adminMac; mtuAtLeast". The reason of a node state is that of the PF or node.
  std::string reason_of(const ConditionSet& conditions) const;

 private:
  void count(Waiting waiting);

  const Inputs& in_;
  const hotplug::HostDevice& device_;
  const Demand demand_;
  const Track* known_;
  Track adjusted_;  // target of known_ if it differs from the tracks
  Readied found_;
  Untold untold_;
};

}  // namespace sliced::policy
