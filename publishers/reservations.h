#pragma once
// Finds out which withdrawn devices are still allocated (policy/reserved/ledger.h), by reading ResourceClaims
// and pods, and reports changes.
//
// Claims are as many as pods, so they are read when a device waits for the answer, and never watched. If
// slices were lost, a pool that a policy needs is reserved as a whole until a list of all claims shows its
// allocations.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "policy/decision.h"
#include "policy/reserved/ledger.h"
#include "publishers/claim_reads.h"
#include "publishers/evidence.h"
#include "publishers/pod_poll.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// REQUIRES: `ports` must outlive this object. Destroying it cancels a running list. Loop thread only.
/// After a failed list all reservations remain: a device is offered again only when it was seen free.
class Reservations {
 public:
  static constexpr Millis kJitter{30'000};    // random delay between a withdrawal and its list of claims
  static constexpr Millis kInterval{60'000};  // minimum between two lists
  static constexpr Millis kRetryMax{300'000};
  static constexpr Millis kTurnMax{5'000};  // if the nodes are not counted by then

  /// on_changed: a reserved entry is free, or an unrecorded allocation was found.
  /// on_delay: awaits_turn() is false from now on. Optional.
  Reservations(kube::ClusterPorts ports, policy::Ledger::Names names, std::function<void()> on_changed,
               std::function<void()> on_delay = {});

  /// For policy::Inputs.
  const policy::Ledger& ledger() const { return ledger_; }

  /// Sets the unverified pools before the first decision. Later calls have no effect. was_possible: entries
  /// of the exposure driver may have been allocated on this node; if false, pods are not read for the VFs of
  /// the SR-IOV driver.
  void begin(policy::UnverifiedRecords unverified, bool was_possible);
  /// Reads a slice of ours before it is overwritten (Ledger::learn). Returns true if it added an entry.
  bool learn(const kube::ResourceSlice& slice);
  /// Called before each decision. Assigns allocations and prepared claims of devices that were absent, as
  /// after a reboot, to the devices that have appeared since (Ledger::find_awaited).
  void find_awaited(const hotplug::Inventory& inventory);

  /// For policy::Inputs: the pods of this node must be read before VFs of unverified pools are offered.
  bool awaits_pods(bool has_exposures) const { return pod_poll_.is_awaited(has_exposures); }
  /// Returns true while the first slices of unverified pools wait. Nothing of these pools can be allocated
  /// until the claims are read, so their slices are less urgent than all else that a start transfers. They
  /// wait for a part of the random delay before the pods are read, which keeps the writes of all nodes, with
  /// their answers and watch events, at kFleetBytesPerSecond: milliseconds in a small cluster. The wait ends
  /// at the latest when the pods or the claims are read.
  bool awaits_turn() const { return awaits_turn_; }
  /// Returns true while the pods are read.
  bool is_reading_pods() const { return pod_poll_.is_begun(); }

  /// The kubelet plugin prepared a device for a claim (also before this process started), or unprepared it.
  /// The device is reserved without a request to the API server. take(Prepared) and permit() may call
  /// on_changed before they return.
  void take(const policy::Prepared& prepared);
  void take(const policy::Unprepared& unprepared);

  /// Applies a decision and adds the records of withdrawn entries to its pools. REQUIRES: the pools are
  /// published in the same turn of the loop.
  void decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools,
               std::vector<policy::DesiredPool>& exposure_pools);

  /// The API server holds the pools of the last decided(), except `but`: their withdrawals are acknowledged.
  void acknowledged(const std::string& driver, const std::set<std::string>& but);
  /// Releases the entries of functions that the inventory confirms as removed. Returns true if a new decision
  /// is necessary (Ledger::confirm_gone).
  bool confirm_gone(const hotplug::InventoryPtr& inventory);
  /// true: this daemon holds the interlock and writes, so it may read pods and claims. false: cancels reads.
  void permit(bool lists);
  /// Allows reading the pods without permit(true), for commands that only print the pools.
  void allow_polling() { is_polling_allowed_ = true; }

 private:
  std::optional<TimePoint> next_list() const;
  bool is_unknown_requested() const;
  void arm();
  void note_urgency(const std::vector<policy::DesiredPool>& exposure_pools);
  void choose_turn(Millis until_pods);
  void end_turn();
  void list_after(Millis delay);
  bool may_poll() const { return is_permitted_ || is_polling_allowed_; }
  void on_pods(policy::PodClaims seen, EvidenceSource::Coverage coverage);
  void on_list(policy::ClaimList list);
  void on_claim(const policy::ClaimRead& seen);
  void report(const policy::Ledger::Change& change, bool is_polled);
  void fail(const kube::Failure& failure);

  kube::ClusterPorts ports_;
  const policy::Ledger::Names names_;
  const std::function<void()> on_changed_, on_turn_;
  CallbackGuard callbacks_{"Reservations"};
  policy::Ledger ledger_;
  bool has_exposures_ = false;
  bool is_permitted_ = false, is_polling_allowed_ = false;
  bool has_begun_ = false, has_read_pods_ = false;
  bool may_await_turn_ = false, awaits_turn_ = false;
  double first_bytes_ = 0;  // estimated bytes that the first slices transfer
  reactor::Ticket turn_;

  PodPoll pod_poll_;
  EvidenceSource evidence_;
  ClaimReads claim_reads_;
  reactor::Ticket due_;
  std::optional<TimePoint> listed_at_;
  reactor::Backoff backoff_;
  LastMessage last_failure_, last_record_problem_, last_slice_problem_;
};

}  // namespace sliced::publishers
