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

  /// on_released: something that was charged is free now; may not destroy this.
  Charges(Ports ports, std::string sriov_driver, std::string exposure_driver,
          std::function<void()> on_released);

  /// An own slice as it is observed, before it is overwritten, of this boot: entries and records that are not
  /// known yet. True when there were some.
  bool learn(const kube::ResourceSlice& slice);

  /// For policy::Inputs.
  std::map<std::string, std::vector<policy::PersonaClaim>> held() const;
  const std::set<std::string>& sriov_withdrawn() const { return sriov_.names; }

  /// What a decision makes of that; its pools have been taken out. sriov_pools: exactly as they will be
  /// published, in the same turn. sriov_gone: entries of that driver that were offered or stood in slices
  /// until now. Adds the record to the SR-IOV driver's pools; the other driver's have theirs.
  void decided(const policy::Decision& decision, const std::vector<std::string>& sriov_gone,
               std::vector<policy::DesiredPool>& sriov_pools);

  /// Nothing is left to write for the last decided(): withdrawals are acknowledged.
  void acknowledged(const std::string& driver);
  /// Claims are listed only while this is true: this daemon writes.
  void permit(bool lists);

 private:
  using EntryKey = std::pair<std::string, std::string>;  // pool, entry
  struct Entry {
    policy::PersonaClaim claim;
    bool is_withdrawn = false;
    std::optional<TimePoint> gone_since;  // acknowledged
  };
  struct SriovEntries {
    std::set<std::string> names;
    std::map<std::string, TimePoint> gone_since;
  };

  struct Listing {
    TimePoint begun;
    std::set<EntryKey> allocated;  // of the exposure driver
    std::set<std::string> sriov_allocated;
    std::string problem;  // a claim that cannot be understood may hold anything
  };

  void decide_exposures(const policy::Decision& decision);
  void decide_sriov(const policy::Decision& decision, const std::vector<std::string>& gone);
  bool is_waiting() const;
  void arm();
  void arm(Millis delay, void (Charges::*next)());
  void count_claims();
  void list_claims();
  void note_claim(std::string_view object);
  void finish_list();
  void release(const Listing& listing);
  void fail(const kube::Failure& failure);

  Ports ports_;
  const std::string sriov_driver_, exposure_driver_;
  const std::function<void()> on_released_;
  std::map<EntryKey, Entry> entries_;  // of the exposure driver: offered and withdrawn
  SriovEntries sriov_;                 // withdrawn ones
  std::string sriov_pool_;
  /// Shown free or offered again; the record in the slice may still have them.
  std::set<EntryKey> released_;
  std::set<std::string> sriov_released_;
  bool has_exposures_ = false;  // else nothing waits for the other driver's entries
  bool is_permitted_ = false;

  std::optional<Listing> listing_;
  kube::CallPtr call_;
  reactor::Ticket due_;
  std::optional<TimePoint> listed_at_;
  reactor::Backoff backoff_;
  std::string told_, told_record_;  // said once while it lasts
};

}  // namespace sliced::publishers
