#pragma once
// What a policy's readiness finds at a device, for all who say something of it: the gate, what is published, a prepare,
// explain. So none of them contradicts another.
#include <functional>
#include <string>

#include "policy/gates/pf_word.h"
#include "policy/inputs.h"
#include "policy/readiness/conditions.h"
#include "policy/readiness/track.h"

namespace sliced::policy {

/// How conditions count that wait for the PF's word.
enum class Waiting {
  kMissing,  // of what would be added
  kPassed,   // of what stands: it stays as it was
  kAsKnown,  // where nobody asks
};

class Findings {
 public:
  /// waiting: called once at most, where it matters. What is taken for granted since the start (Track::taken) is so but for
  /// kMissing.
  Findings(const Inputs& in, const hotplug::HostDevice& device, const Readiness& readiness,
           const std::function<Waiting()>& waiting);
  Findings(const Findings&) = delete;

  const Demand& demand() const { return demand_; }
  /// What is missing, with those that count so; since when, without those that are passed.
  const Readied& found() const { return found_; }
  const Untold& untold() const { return untold_; }
  /// Since when the device is the one that it is.
  TimePoint born() const { return known_ == nullptr ? kEver : known_->born; }
  /// One that the demand has. What waits is kNotMet, and says so.
  Finding of(Condition condition) const;
  /// "adminMac: VF 3 of ens1f0 has admin MAC 00:00:00:00:00:00; mtuAtLeast: ..."
  std::string text_of(const ConditionSet& conditions) const;
  /// The same without what differs between devices: "adminMac; mtuAtLeast". A node state's reason is of the whole PF or node.
  std::string reason_of(const ConditionSet& conditions) const;

 private:
  void count(Waiting waiting);

  const Inputs& in_;
  const hotplug::HostDevice& device_;
  const Demand demand_;
  const Track* known_;
  Track adjusted_;  // what known_ points to where it is not as the tracks have it
  Readied found_;
  Untold untold_;
};

}  // namespace sliced::policy
