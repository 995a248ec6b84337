#pragma once
// All gates, in order of evaluation. Each gate's file states its evidence and its end in detail.
//
// gate              withholds                              until                     evidence
// broken-identity   a device that is partly removed        it can be read            HostDevice::broken
//                   or unreadable
// not-returned      a device still held for a deleted      it is restored            Inputs::not_returned
//                   claim, and entries that cannot be
//                   allocated together with it
// host-use          an exclusive offer of an interface     the use ends, or the      HostDevice::host_use
//                   that the host uses (default route)     policy allows it
// immovable         an interface that a plugin would move  the plugins leave it      immovable_kind()
//                   and the kernel refuses to move         on the host               (hotplug/facts.h)
// sharing           a shared entry in a cluster that       the API server stores     Settings::
//                   cannot count shares                    shares                    shared_devices
// unknown-exclude   a new entry while an invalid exclude   the exclude is corrected  DecisionContext::
//                   may select the device                  or deleted                unreadable_exclude
// other-driver      a function that the other kind of      that offer ends and its   offered_by_sriov,
//                   policy offers, or that may be          claims are gone           Inputs::holdings
//                   allocated by that policy's driver
// may-be-allocated  an entry whose former version may be   ResourceClaims show it    Inputs::holdings
//                   allocated in a conflicting way         free
// configuration     a new entry before the hardware is     the signal arrives        Inputs::unconfigured
//                   configured (--until-configured)
// settling          a new entry of a device that just      the quiet period ends     Inputs::settling
//                   appeared or changed
// readiness         a device that lacks a condition that   it holds for stableFor    Inputs::tracks
//                   its policy requires
// quarantine        an entry that the API server refuses   its content changes       Draft::refusal,
//                   or has refused                                                   Inputs::quarantine
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policy/gates/gate.h"

namespace sliced::policy {

std::span<const GateKind> all_gates();
/// Returns the gate that has this outcome; nullptr if the outcome is not a gate's.
const GateKind* gate_of(Outcome outcome);

/// The gates of one decision, in order of evaluation.
class Gates {
 public:
  /// Requires: context outlives this object. Gates read and extend it in each ask().
  explicit Gates(DecisionContext& context);
  /// Returns the rejection of the first gate that withholds the offer; nullopt if all pass it.
  std::optional<Rejection> ask(const EntryCandidate& offer) const;

 private:
  std::vector<std::unique_ptr<Gate>> gates_;
};

}  // namespace sliced::policy
