#pragma once
// What of a World is about DeviceExposurePolicies and ResourceClaims: the policies, a scheduler that gives
// away what is published, with its own record of that, pods, and what is judged of it.
//
// Judged: E1 an entry is added that no recent state of device, policies and node offers · E2 at rest
// offered = allowed ∩ present, minus excluded, minus held back · E4 pools whole at rest, changed in place one
// slice at a time · E5 nothing is offered beside what excludes it: whatever the scheduler would give away
// after a write excludes nothing that it has given away, and of two that exclude each other it would not give
// both · E6 what is free is given away again once the claims have had time to show it · E7 nothing is given
// away twice · E8 no counter is overdrawn.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/reserved/ledger.h"
#include "t/fake/fake_cluster.h"
#include "t/sim/allocator.h"
#include "t/sim/companion.h"
#include "t/sim/excludes.h"
#include "t/sim/exposure.h"
#include "t/sim/past.h"

namespace sliced::sim {

class World;

/// An entry that a claim has, until the claim is released.
struct Grant {
  uint64_t claim = 0;  // one that asks for several devices has several grants
  Offer offer;         // as its policy was when it was given away
  /// Groups that policies have given the entry since the last rest; the newest last.
  std::vector<std::string> groups;
  bool is_alive = true;       // the device that was given away is there
  bool awaits_boot = false;   // it went with the machine, and is the pod's again once it is back
  bool is_returning = false;  // it is back since, and the daemon may not have seen it
  bool is_lost = false;       // somebody took entry and record out of slices that look whole; nobody can know
  bool is_wiped = false;      // its slices were gone when the daemon started
  bool is_of_former = false;  // given away by an entry that may be of the device that was there before
  int moved = 0;              // the interface that the pod has
  bool is_ending = false;     // its pod has ended, the claim stands for a moment yet
};

class ExposureWorld final : public Companion {
 public:
  explicit ExposureWorld(World& world) : world_(world) {}

  // Prepared claims outlive the daemon; a daemon that starts gets them.
  void begin(std::function<void()> ready) override;
  void end() override {}

  /// False: none of this happens in this history.
  bool is_used() const;
  bool has_policies() const { return !policies_.empty(); }

  // Policies.
  void put(Exposure exposure);
  void remove(const std::string& name);
  Exposure random_policy(const std::string& name);
  /// Changes the entry of an allocated PF or VF: the whole PF instead of its VFs, shared instead of
  /// exclusive, the other driver.
  void change_shape();
  const Exposures& policies() const { return policies_; }
  void forget_policies();  // their kind is uninstalled
  /// VFs that stand by a policy that asks for their MAC lose it; without any there is such a policy now.
  void lose_macs();

  // The scheduler and the pods.
  void allocate();
  void release();
  void release_all();
  /// For so long it sees the slices as they are now.
  void lag(Millis time);
  size_t claims() const { return grants_.size(); }

  // What happens around it.
  void machine_changed(const std::string& function);
  void links_changed();
  void disturb(Millis recovery);
  void inputs_changed();  // labels, or excludes
  /// The daemon may assume for a moment that no objects of their kind exist.
  void note_absence();
  void tampered(const std::string& slice) { tampered_.insert(slice); }
  void others_wrote();
  void daemon_starts();
  void decided(const policy::Decision& decision);
  void boots(bool begins);

  // Judging.
  void judge_sent(const fake::Request& request, const kube::Json& object, bool is_old);
  void judge_stored(const std::string& slice);
  void judge_rest();
  void rested(TimePoint before);
  /// Everything that claims could show has been shown.
  bool is_calm() const;
  TimePoint calm_due() const { return calm_due_; }
  /// Returns whether a VF that a SriovResourcePolicy offers may be withheld because of allocations.
  bool may_hold_back(const std::string& vf) const;
  /// The same at rest.
  bool may_lack(const std::string& vf) const;
  /// An entry of that name stood lately.
  bool stood(const std::string& entry) const;

  /// Since the last rest.
  bool was_mac_asked_for() const;

 private:
  struct Expected {
    Offer offer;
    ExposurePtr policy;
    bool is_sure = true;
    Answer ready = Answer::kYes;
    bool may_lack = false;
  };
  struct Later {  // what a scheduler sees that lags
    SlicedPools pools;
    std::map<std::string, uint64_t> births;
  };

  // facts
  DeviceFacts facts_of(const std::string& id) const;
  DeviceFacts link_facts(int ifindex) const;
  void remember_device(const std::string& id, DeviceFacts now);
  bool is_name_open(const DeviceFacts& before, const DeviceFacts& now) const;
  void appeared(const std::string& id);
  void disappeared(const std::string& id);
  uint64_t birth_of(const std::string& id) const;
  std::set<std::string> pf_names(const DeviceFacts& device) const;
  template <class Visit>
  bool any_recent(const std::string& id, const Visit& visit) const;
  void regroup();

  // slices
  const SlicedPools& pools();
  bool is_tampered(const SlicedPool& pool) const;
  std::map<std::string, std::set<std::string>> names_told();
  std::optional<Offer> offer_of(const SlicedPool& pool, const SlicedEntry& entry) const;
  bool is_known_to_be_of(const std::string& id, const Offer& offer) const;
  Offer offer_of(const DeviceFacts& device, const Exposure& policy) const;

  // scheduler
  /// One claim gets them all.
  void give(const std::vector<Offer>& offers, bool is_late);
  Grant granted(const Offer& offer, bool is_late);
  static kube::Json result_of(const Grant& grant);
  void put_claim(uint64_t claim, bool is_late);
  void release(size_t index);
  void let_go(size_t index);
  // The kubelet plugin, as far as the ledger hears of it.
  void prepare(uint64_t claim);
  void unprepare(uint64_t claim);
  template <class Told>
  void tell(const Told& told);
  Grant* find(uint64_t claim);
  void let_pod_have_interface(uint64_t claim);
  std::string held_against(const Offer& offer, const Grant& grant) const;
  std::string held_against_any(const Offer& offer) const;

  // judging
  bool could_be_added(const Offer& offer, const Exposure& policy) const;
  bool could_be_ready(const Offer& offer, const Exposure& policy) const;
  bool must_stay(const Offer& offer) const;
  bool is_left_by_sriov(const Offer& offer) const;
  void judge_added(const SliceContent& slice);
  void judge_in_place(const SliceContent& slice, const kube::Json& object, bool is_restored, bool is_old);
  void judge_exclusion();
  void judge_pairs();
  void compare_with_kubernetes(size_t entries_max, size_t pairs_max);
  std::string capacity_problem(const Expected& wanted, const SlicedEntry& entry) const;
  bool is_known_to_daemon(const Grant& grant) const;
  Allocated allocated_here() const;
  void judge_counters(bool have_claims_told);
  bool is_overdrawn_by_host(const SlicedPool& pool) const;
  bool is_overdrawn(const SlicedPool& pool) const;
  void judge_slices();
  using Everything = std::map<std::string, Expected>;  // by key_of()
  static std::string key_of(const Offer& offer) { return offer.device + " " + offer.suffix; }
  Answer is_ready(const DeviceFacts& device, const Exposure& policy) const;
  Everything expected() const;
  void note_expected(const DeviceFacts& device, Everything& out) const;
  std::set<Said> said_now(const DeviceFacts& device) const;
  bool is_let_through(const Offer& offer) const;
  bool is_left_by_sriov(const std::string& vf) const;
  bool may_lack_for_want_of_counters(const Expected& wanted, const Everything& all) const;
  Answer taken_by_sriov(const DeviceFacts& vf) const;
  void judge_published(const Everything& all);
  void judge_missing(const Everything& all);
  void judge_free(const SlicedPool& pool, const SlicedEntry& entry, const Expected& wanted);
  bool is_obstructed(const Offer& offer) const;
  bool is_held_by_exposures(const std::string& vf) const;
  bool has_vf_of_host(const Offer& offer) const;
  std::string attribute_problem(const Offer& offer, const SlicedEntry& entry) const;
  std::string taint_problem(const Expected& wanted, const SlicedEntry& entry) const;

  World& world_;
  Exposures policies_;
  std::map<int64_t, ExposurePtr> revs_;
  int64_t next_rev_ = 0;
  Past<Exposures> policies_past_;
  bool may_hold_ = false;  // there were policies since the claims had last shown what is free
  std::map<std::string, Past<DeviceFacts>> devices_;
  std::map<std::string, uint64_t> births_;  // of what is there
  std::map<std::string, TimePoint> born_at_, named_at_;
  uint64_t next_birth_ = 0;
  bool is_booting_ = false;

  std::vector<Grant> grants_;
  Allocated allocated_;
  std::map<uint64_t, std::vector<policy::Prepared>> prepared_;  // by claim
  uint64_t next_claim_ = 0;
  std::optional<Later> lagging_;
  uint64_t lags_ = 0;

  int64_t seen_version_ = -1;
  std::map<std::string, std::pair<std::string, SlicePtr>> slices_;  // by name, with their version
  SlicedPools pools_;
  std::map<std::string, TimePoint> stands_since_;  // entries by id
  std::set<std::string> stood_lately_;             // the same, since the last rest or start
  std::set<std::string> rested_with_;              // the same, at the last rest
  std::set<std::string> tampered_;                 // slices that others edited, and nobody has mended
  std::map<std::pair<std::string, int64_t>, std::set<std::string>> in_place_;  // by pool and generation
  std::map<std::string, Tokens> overdrawn_;  // counters by pool, when last judged
  TimePoint rested_at_{}, calm_due_{}, started_at_{};
  std::set<std::string> was_blocked_;  // entries, by what was allocated, at a rest
};

}  // namespace sliced::sim
