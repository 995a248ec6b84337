#pragma once
// Asks the API server about what may be allocated although it is no longer offered (policy/charged/ledger.h),
// when there is something to be asked and somebody to ask, and says when an answer changes anything.
//
// There is no watch on claims: they are as many as pods. Where slices were lost, a pool of which somebody wants
// something is charged as a whole until the claims tell.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "policy/charged/ledger.h"
#include "policy/decision.h"
#include "publishers/claim_looks.h"
#include "publishers/evidence.h"
#include "publishers/pod_look.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/said_once.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// Ownership: the ports outlive it. Dropping it drops the list under way.
/// Failure: a list that fails leaves everything charged: what nobody has seen free is not offered twice.
/// Threads: the loop's.
class Charges {
 public:
  static constexpr Millis kJitter{30'000};    // before claims are asked about what was withdrawn
  static constexpr Millis kInterval{60'000};  // between two lists, at least
  static constexpr Millis kRetryMax{300'000};

  /// on_changed: the claims showed that a reserved entry is free now, or that an unknown one is allocated.
  Charges(kube::Ports ports, policy::Ledger::Names names, std::function<void()> on_changed);

  /// For policy::Inputs.
  const policy::Ledger& ledger() const { return ledger_; }

  /// Once, before the first decision: where the record is not whole. Called again it changes nothing.
  /// was_possible: entries of the exposure driver may have been given away here; without, the pods are not
  /// looked at for the other driver's sake.
  void begin(policy::RecordDoubt doubt, bool was_possible);
  /// An own slice as it is observed, before it is overwritten (Ledger::learn). True when it told something new.
  bool learn(const kube::ResourceSlice& slice);
  /// Before a decision on that inventory.
  void find_awaited(const hotplug::Inventory& inventory);

  /// For policy::Inputs: nobody has looked yet at what the pods of this node have of pools in doubt.
  bool awaits_pods(bool has_exposures) const { return look_.is_awaited(has_exposures); }
  /// They are being looked at, and what waits for it comes in a moment.
  bool is_looking() const { return look_.is_begun(); }

  /// A claim's device is handed over here, or was before this process; or that has been taken back.
  /// Charged at once, without asking the API server. The first may call on_changed, before it returns; so may
  /// permit().
  void take(const policy::Prepared& prepared);
  void take(const policy::Unprepared& unprepared);

  /// What a decision makes of that; its pools have been taken out, and are given exactly as they will be
  /// published, in the same turn. Adds their records to them.
  void decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools,
               std::vector<policy::DesiredPool>& exposure_pools);

  /// Nothing is left to write for the last decided() but of those pools: withdrawals are acknowledged.
  void acknowledged(const std::string& driver, const std::set<std::string>& but);
  /// Claims are listed only while this is true: this daemon writes.
  void permit(bool lists);
  /// Pods may be looked at though this daemon never writes: it is asked what it would write.
  void permit_looks() { are_looks_permitted_ = true; }

 private:
  std::optional<TimePoint> next_list() const;
  bool is_unknown_wanted() const;
  void arm();
  void list_after(Millis delay);
  bool may_look() const { return is_permitted_ || are_looks_permitted_; }
  void see_pods(policy::Sighting seen, Evidence::Look look);
  void see_list(policy::Census census);
  void see_claim(const policy::Glimpse& seen);
  void tell(const policy::Ledger::Change& change, bool is_looked);
  void fail(const kube::Failure& failure);

  kube::Ports ports_;
  const policy::Ledger::Names names_;
  const std::function<void()> on_changed_;
  CallbackGuard callbacks_{"Charges"};
  policy::Ledger ledger_;
  bool has_exposures_ = false;
  bool is_permitted_ = false, are_looks_permitted_ = false;
  bool has_begun_ = false, has_seen_pods_ = false;

  PodLook look_;
  Evidence evidence_;
  ClaimLooks claims_;
  reactor::Ticket due_;
  std::optional<TimePoint> listed_at_;
  reactor::Backoff backoff_;
  SaidLast told_, told_record_, told_slice_;
};

}  // namespace sliced::publishers
