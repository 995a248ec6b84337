#pragma once
// Which device entries may be allocated although they are no longer offered, and when that ends.
//
// A scheduler counts what is allocated by the slices that it sees: an entry that has left them takes no
// counters any more, while its claim still stands. So what is withdrawn stays charged until its function is
// gone, or a consistent list of ResourceClaims, begun long enough after the withdrawal was acknowledged,
// shows it free. There is no watch on claims: they are as many as pods. What was withdrawn is recorded in the
// slices; where slices were lost, a pool of which somebody wants something is charged as a whole until the
// claims tell.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/cluster.h"
#include "policy/decision.h"
#include "publishers/diff_pool.h"
#include "publishers/evidence.h"
#include "publishers/ports.h"
#include "publishers/recall.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

class Charges {
 public:
  /// A scheduler may bind a claim that it decided on slices of before the withdrawal.
  static constexpr Millis kGrace{10'000};
  static constexpr Millis kJitter{30'000};    // before claims are asked about what was withdrawn
  static constexpr Millis kInterval{60'000};  // between two lists, at least
  static constexpr Millis kRetryMax{300'000};
  /// Where there is no DeviceExposurePolicy at all, so long at most the other driver's VFs wait for the look.
  static constexpr Millis kLookMax{5'000};
  static constexpr int kLooksMax = 5;  // that fail, before the list of claims alone has to tell

  /// Twice and more what a node of 4,096 VFs in several shapes has; a name takes some 300 bytes.
  static constexpr size_t kNamesMax = 16'384, kPoolsMax = 1'024;

  struct Names {
    std::string sriov_driver, exposure_driver, node;
  };

  /// on_changed: the claims showed that something charged is free now, or that something unknown is
  /// allocated; may not destroy this.
  Charges(Ports ports, Names names, std::function<void()> on_changed);

  /// Once, before the first decision: where the record is not whole. Called again it changes nothing.
  /// was_possible: entries of the exposure driver may have been given away here; without, the pods are not
  /// looked at for the other driver's sake.
  void begin(RecordDoubt doubt, bool was_possible);

  /// An own slice as it is observed, of whichever boot, before it is overwritten: entries and records that
  /// are not known yet. True when there were some. An entry that stands there again after its withdrawal was
  /// acknowledged is withdrawn anew. Of more than kNamesMax names in a pool the pool is charged as a whole;
  /// more than kPoolsMax pools are none of ours.
  bool learn(const kube::ResourceSlice& slice);

  /// Before a decision on that inventory: functions have come that a claim of before is of.
  void look_for_awaited(const hotplug::Inventory& inventory);
  /// For policy::Inputs: of the exposure driver by pool, and of the other driver by name.
  std::map<std::string, std::vector<policy::Holding>> held() const;
  std::set<std::string> sriov_held() const;
  bool is_sriov_doubted() const;  // any VF may be
  const policy::Doubt& doubt() const { return doubt_.exposure; }
  /// For policy::Inputs: nobody has looked yet at what the pods of this node have of pools in doubt.
  bool awaits_pods(bool has_exposures) const;
  /// They are being looked at, and what waits for it comes in a moment.
  bool is_looking() const;

  /// What a decision makes of that; its pools have been taken out. sriov_pools: exactly as they will be
  /// published, in the same turn. Adds the record to them; the exposure driver's pools have theirs.
  void decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools);

  /// Nothing is left to write for the last decided(): withdrawals are acknowledged.
  void acknowledged(const std::string& driver);
  /// Claims are listed only while this is true: this daemon writes.
  void permit(bool lists);
  /// Pods may be looked at though this daemon never writes: it is asked what it would write.
  void permit_looks() { are_looks_permitted_ = true; }

 private:
  struct Entry {
    policy::Holding claim;
    std::optional<TimePoint> gone_since;  // withdrawn, and that is acknowledged
    bool was_seen = false;                // its device, by this process
    bool was_listed = false;              // a list of claims has shown it allocated
  };
  struct Pool {
    std::map<std::string, Entry> entries;  // offered and withdrawn
    std::set<std::string> released;        // shown free; the record in a slice may still have them
    bool is_wanted = false;                // somebody waits for what may be allocated
  };

  bool charge_whole(const std::string& name, Pool& pool);
  void materialise_doubt(const std::set<std::string>& pools);
  void forget_gone(const hotplug::Inventory& inventory);
  void note_record(policy::DesiredPool& desired) const;
  bool waits(const PoolKey& key, const Pool& pool, const Entry& entry) const;
  std::optional<TimePoint> next_list() const;
  bool is_unknown_wanted() const;
  void arm();
  void list_after(Millis delay);
  void begin_look();
  void end_look(Evidence::Look look);
  bool is_look_due() const;
  bool may_look() const { return is_permitted_ || are_looks_permitted_; }
  void see_pods(const Allocations& allocated, Evidence::Look look);
  void see_list(TimePoint begun, const Allocations& allocated);
  void await_functions(const PoolKey& key, const std::map<std::string, bool>& shared_by_name);
  size_t learn_allocated(const PoolKey& key, Pool& pool, const std::map<std::string, bool>& shared_by_name,
                         bool is_lost);
  void tell(size_t released, size_t found_out, bool is_looked);
  void fail(const kube::Failure& failure);

  Ports ports_;
  const Names names_;
  const std::function<void()> on_changed_;
  std::map<PoolKey, Pool> pools_;
  hotplug::InventoryPtr inventory_;  // of the last decision
  bool has_exposures_ = false;       // else nothing waits for the other driver's entries
  bool is_permitted_ = false, are_looks_permitted_ = false;

  std::optional<TimePoint> begun_;
  RecordDoubt doubt_;    // of pools that no decision has charged for it yet
  Allocations awaited_;  // claims of before: their functions have not been seen
  bool has_seen_pods_ = false;

  // The look at the pods for the sake of the other driver's VFs, of which no list of claims is made.
  bool is_look_open_ = false;    // it has not been made, and could show something
  bool is_look_wanted_ = false;  // something waits for it
  std::optional<TimePoint> look_since_, look_not_before_;
  int failed_looks_ = 0;
  reactor::Ticket look_due_, look_late_;
  reactor::Backoff look_backoff_;

  Evidence evidence_;
  reactor::Ticket due_;
  std::optional<TimePoint> listed_at_;
  reactor::Backoff backoff_;
  std::string told_, told_record_, told_slice_;  // said once while it lasts
};

}  // namespace sliced::publishers
