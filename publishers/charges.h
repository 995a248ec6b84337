#pragma once
// Which device entries may be allocated although they are no longer offered, and when that ends.
//
// A scheduler counts what is allocated by the slices that it sees: an entry that has left them takes no
// counters any more, while its claim still stands. So what is withdrawn stays charged until its function is
// gone, the machine was booted again, or a consistent list of ResourceClaims, begun long enough after the
// withdrawal was acknowledged, shows it free. There is no watch on claims: they are as many as pods.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/cluster.h"
#include "policy/decide.h"
#include "publishers/diff_pool.h"
#include "publishers/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

class Charges {
 public:
  /// A scheduler may bind a claim that it decided on slices of before the withdrawal.
  static constexpr Millis kGrace{10'000};
  static constexpr Millis kJitter{30'000};    // before the claims are counted
  static constexpr Millis kInterval{60'000};  // between two lists, at least
  /// Over so long the nodes of a large cluster spread their lists. Claims counted tell how large it is.
  static constexpr Millis kSpreadMax{300'000};
  static constexpr int64_t kClaimsPerSecond = 50;

  /// on_changed: the claims showed that something charged is free now, or that something unknown is
  /// allocated; may not destroy this.
  Charges(Ports ports, std::string sriov_driver, std::string exposure_driver,
          std::function<void()> on_changed);

  /// An own slice of this boot as it is observed, before it is overwritten: entries and records that are not
  /// known yet. True when there were some. An entry that stands there again after its withdrawal was
  /// acknowledged is withdrawn anew.
  bool learn(const kube::ResourceSlice& slice);

  /// For policy::Inputs: of the exposure driver by pool, and of the other driver by name.
  std::map<std::string, std::vector<policy::PersonaClaim>> held() const;
  std::set<std::string> sriov_held(const hotplug::Inventory& inventory) const;

  /// What a decision makes of that; its pools have been taken out. sriov_pools: exactly as they will be
  /// published, in the same turn. Adds the record to them; the exposure driver's pools have theirs.
  void decided(const policy::Decision& decision, std::vector<policy::DesiredPool>& sriov_pools);

  /// Nothing is left to write for the last decided(): withdrawals are acknowledged.
  void acknowledged(const std::string& driver);
  /// Claims are listed only while this is true: this daemon writes.
  void permit(bool lists);

 private:
  struct Entry {
    policy::PersonaClaim claim;
    std::optional<TimePoint> gone_since;  // withdrawn, and that is acknowledged
  };
  struct Pool {
    std::map<std::string, Entry> entries;  // offered and withdrawn
    std::set<std::string> released;        // shown free; the record in a slice may still have them
  };
  using PoolKey = std::pair<std::string, std::string>;  // driver, name

  struct Listing {
    TimePoint begun;
    std::map<PoolKey, std::map<std::string, bool>> allocated;  // by entry: whether as one of its shares
    std::string problem;  // a claim that cannot be understood may hold anything
  };

  static bool is_any_charged(const Pool& pool);
  void forget_gone(const hotplug::Inventory& inventory);
  void note_record(policy::DesiredPool& desired) const;
  bool is_waiting() const;
  void arm();
  void arm(Millis delay, void (Charges::*next)());
  void count_claims();
  void list_claims();
  void note_claim(std::string_view object);
  void finish_list();
  void release(const Listing& listing);
  size_t learn_allocated(Pool& pool, const std::map<std::string, bool>& shared_by_name, bool of_links);
  void fail(const kube::Failure& failure);

  Ports ports_;
  const std::string sriov_driver_, exposure_driver_;
  const std::function<void()> on_changed_;
  std::map<PoolKey, Pool> pools_;
  hotplug::InventoryPtr inventory_;  // of the last decision
  bool has_exposures_ = false;       // else nothing waits for the other driver's entries
  bool is_permitted_ = false;

  std::optional<Listing> listing_;
  kube::CallPtr call_;
  reactor::Ticket due_;
  std::optional<TimePoint> listed_at_;
  reactor::Backoff backoff_;
  std::string told_, told_record_;  // said once while it lasts
};

}  // namespace sliced::publishers
