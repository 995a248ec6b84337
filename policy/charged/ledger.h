#pragma once
// Which device entries may be allocated although they are no longer offered, and when that ends.
//
// A scheduler counts what is allocated by the slices that it sees: an entry that has left them takes no
// counters any more, while its ResourceClaim still stands. So what is withdrawn stays charged until its
// function is gone, or a witness that can tell shows it free. The ledger is told what slices show, what is
// decided and acknowledged, and what witnesses have seen; it asks nobody (publishers/charges does). Pure: time
// is a parameter.
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"
#include "policy/charged/doubt.h"
#include "policy/charged/record.h"
#include "reactor/base/time.h"

namespace sliced::policy {

using PoolKey = std::pair<std::string, std::string>;  // driver, name
/// By pool, then entry: whether as one of its shares.
using Allocations = std::map<PoolKey, std::map<std::string, bool>>;

/// Names of the claims ("NAMESPACE/NAME") that have an entry, by pool, then entry. At most kClaimsNamedMax of one entry, as a
/// shared one has many.
using ClaimNames = std::map<PoolKey, std::map<std::string, std::set<std::string>>>;
inline constexpr size_t kClaimsNamedMax = 8;

// Witnesses, by what they can tell.

/// One consistent list of all ResourceClaims: what it does not show was free when it began.
struct Census {
  TimePoint begun;  // no claim was looked at before
  Allocations allocated;
  ClaimNames claims = {};  // of those
};
/// Some claims, as those of the pods of this node: what they have is allocated. It frees nothing, since a claim
/// may be allocated before there is a pod.
struct Sighting {
  Allocations allocated;
  ClaimNames claims = {};  // of those
};
/// A claim's device is handed over here (by the kubelet plugin, also of what it finds at its start): its claim
/// stands until that is taken back.
struct Prepared {
  PoolKey pool;
  std::string entry;
  std::string claim;  // uid
  bool is_share = false;
  std::string claim_namespace = {}, claim_name = {};  // "" not known: it cannot be asked for
};
/// That has been taken back. It frees nothing, since a standing claim goes to the next pod; but from now on it
/// is worth asking.
struct Unprepared {
  PoolKey pool;
  std::string entry;
  std::string claim;  // uid
};
/// One claim as a read of it alone shows it, from the server's own store.
struct Glimpse {
  TimePoint begun;  // the claim was not looked at before
  PoolKey pool;
  std::string entry;
  std::string claim;  // uid
  bool has = false;   // it is there, and is allocated the entry
};

/// Threads: the loop's; decisions on workers get copies (holdings()).
/// Memory:  kPoolsMax pools of kNamesMax names; what comes beyond charges its pool as a whole, so that bounds
///          never free anything.
/// Order:   learn() of what is observed, begin(), then for each decision find_awaited(), holdings(),
///          decided() and, once it is written, acknowledged(). Witnesses may speak at any time between.
class Ledger {
 public:
  /// A scheduler may bind a claim that it decided on slices of before the withdrawal.
  static constexpr Millis kGrace{10'000};
  /// Twice and more what a node of 4,096 VFs in several shapes has; a name takes some 300 bytes.
  static constexpr size_t kNamesMax = 16'384, kPoolsMax = 1'024;

  struct Names {
    std::string sriov_driver, exposure_driver, node;
  };
  explicit Ledger(Names names) : names_(std::move(names)) {}

  // ---- what slices show

  /// Once, before the first decision: where the record is not whole. Called again it changes nothing.
  void begin(RecordDoubt doubt, TimePoint now);
  /// This daemon writes the slices. Who has waited for another to end takes its records as they are.
  void set_writing(bool writes);

  struct Learned {
    bool is_new = false;       // entries or records that were not known
    bool is_overfull = false;  // the pool is charged as a whole from now on: it has named more than kNamesMax
    std::string problem;       // why its record cannot be understood; "" it can
  };
  /// A slice as it is observed, of whichever boot, before it is overwritten. An entry that stands there again
  /// after its withdrawal was acknowledged is withdrawn anew. More than kPoolsMax pools, and what is of other
  /// drivers, are none of ours.
  Learned learn(const kube::ResourceSlice& slice);

  // ---- what is decided

  /// Before a decision on that inventory: devices have come that a claim of before, or a prepared one, is of.
  void find_awaited(const hotplug::Inventory& inventory, TimePoint now);
  /// Of the exposure driver by pool, and of the other driver by name: what may be allocated, offered or not.
  HoldingsByPool holdings() const;
  /// One of them, of either driver; nullptr none. Valid until the ledger is told anything.
  const Holding* find(const PoolKey& pool, const std::string& entry) const;
  std::set<std::string> sriov_holdings() const;
  bool is_sriov_doubted() const;  // any VF may be
  /// It is prepared here, for whichever claim: no list of claims shows it free.
  bool is_prepared(const PoolKey& key, const std::string& entry) const;
  /// Host devices that a claim is known to have: prepared here, or in the last claims that were read. Of others it is
  /// not known: nobody asks for it.
  std::set<std::string> known_allocated() const;
  /// The same with the names of the claims, as far as they are known: of what is prepared here and of the last claims that were
  /// read.
  std::map<std::string, std::set<std::string>> known_claims() const;
  const Doubt& doubt() const { return doubt_.exposure; }

  /// What is to be published now, in the same turn. The inventory outlives the call, as it is shared.
  struct Decided {
    const HoldingsByPool& offered;                                 // of the exposure driver, by pool
    const HoldingsByPool& contested;                               // likewise: withdrawn, in another group
    const std::map<std::string, std::vector<std::string>>& sriov;  // entries of the other driver, by pool
    const std::set<std::string>& doubted;                          // pools to be charged as a whole for doubt
    const std::set<std::string>& wanted;  // pools of which somebody wants what may be allocated
    hotplug::InventoryPtr inventory;
    bool has_exposures = false;  // else nothing waits for the other driver's entries
    /// The pool of links gets a slice. With that slice and those of the other driver a later start takes the other
    /// driver's record for complete, so doubt of it has to be recorded.
    bool has_link_slice = false;
  };
  void decided(const Decided& now);
  /// What is withdrawn of a pool, for its first slice.
  Record record(const PoolKey& pool) const;
  /// exclusionGroups of what is offered of it.
  Groups groups(const PoolKey& pool) const;
  /// Nothing is left to write for the last decided(), but in those pools.
  void acknowledged(const std::string& driver, const std::set<std::string>& but, TimePoint now);

  // ---- what witnesses have seen

  struct Change {
    size_t released = 0;      // entries that are free now
    size_t found_out = 0;     // that are allocated, and were not known to be
    size_t contested = 0;     // that are offered, and allocated beside what excludes them
    bool ends_doubt = false;  // all that is allocated is known from now on
  };
  /// Frees what is withdrawn, was acknowledged as that kGrace before the census began, is not in it and is
  /// not prepared here. It ends doubt when it began kGrace after this process did.
  Change take(const Census& census, TimePoint now);
  /// Only of pools whose record is in doubt or charged as a whole: elsewhere the record knows more.
  Change take(const Sighting& seen, TimePoint now);
  /// Idempotent by claim. Beyond its bounds it is not noted, and the entry is then as one that no claim is
  /// known of.
  Change take(const Prepared& prepared, TimePoint now);
  /// One that was never prepared changes nothing.
  void take(const Unprepared& unprepared);

  /// Frees an exclusive entry that this very claim had kGrace after the withdrawal was acknowledged, and has no
  /// more: no other had it then, and none can be given it since. It is not prepared here for anybody.
  Change take(const Glimpse& seen);

  /// A claim that is worth reading: of one who has an exclusive entry here that was withdrawn, that it has it
  /// still; and once it was taken back, that it has it no more.
  struct Question {
    PoolKey pool;
    std::string entry;
    std::string claim, claim_namespace, claim_name;
    bool is_taken_back = false;
    TimePoint from;  // a read that began before tells nothing
    bool operator<(const Question& other) const { return key() < other.key(); }
    std::tuple<PoolKey, std::string, std::string, bool> key() const {
      return {pool, entry, claim, is_taken_back};
    }
  };
  std::vector<Question> questions() const;

  /// What a census could end. Nobody asks for the sake of what a prepared claim has, but once where that was found, nor
  /// of a pool charged as a whole of which nobody wants anything.
  struct Need {
    /// The first census that can tell of a pool that is charged as a whole begins then; nullopt: there is none.
    std::optional<TimePoint> unknown_from;
  };
  std::optional<Need> need() const;

 private:
  struct Claim {
    std::string claim_namespace, name;
  };
  // That had the entry then, alone as with every exclusive one.
  struct Holder {
    std::string uid;
    Claim claim;
    TimePoint seen;
  };
  struct Entry {
    Holding holding;
    std::optional<TimePoint> gone_since = {};  // withdrawn, and that is acknowledged
    bool was_seen = false;                     // its device, by this process
    /// It was offered until its device was said to be gone, which has not been looked at yet: it is kept until then, and not
    /// recorded, for one write is enough for what goes.
    bool is_leaving = false;
    bool was_listed = false;            // the last census has shown it allocated
    std::optional<Holder> holder = {};  // one claim, as it was read alone
    /// Found to be allocated, here or by the one before, as when its device came back; no census has told since what else is.
    std::optional<TimePoint> found = {};
  };
  struct Pool {
    std::map<std::string, Entry> entries;  // offered and withdrawn
    std::set<std::string> released;        // shown free; the record in a slice may still have them
    std::set<std::string> gone;            // with their devices; slices may still show them
    bool is_wanted = false;                // somebody waits for what may be allocated
    bool has_unknown() const { return entries.contains(std::string(kUnknownEntry)); }
    bool has_room(const std::string& name) const {
      return entries.size() < kNamesMax || entries.contains(name);
    }
  };

  struct Here {
    std::map<std::string, Claim> claims;  // by uid
    bool is_share = false;
  };

  // Nobody can have been given the entry since that claim had it.
  static bool is_sole(const Entry& entry) {
    return entry.holder && entry.gone_since && *entry.gone_since + kGrace <= entry.holder->seen;
  }
  const Here* here(const PoolKey& key, const std::string& entry) const;
  // nullopt: no claim's word alone could free it.
  std::optional<Question> question(const PoolKey& key, const Entry& entry) const;
  bool is_ours(const std::string& driver) const {
    return driver == names_.sriov_driver || driver == names_.exposure_driver;
  }
  // nullptr for another driver's pool, and for one too many.
  Pool* pool_of(const PoolKey& key);
  // What its devices are allocated as when a claim has them: of the SR-IOV driver functions by name, of the
  // other by their attributes.
  std::vector<Holding> entries_of(const kube::ResourceSlice& slice) const;
  // Awaited until its device is seen: a slice may be older than this boot. One that went meanwhile was seen.
  static Entry learned(Holding holding, const Pool& pool);
  // True when it was not yet.
  static bool charge_whole(const std::string& name, Pool& pool);
  // The withdrawn-annotation of a slice. What cannot be understood charges the pool as a whole.
  void learn_record(const kube::ResourceSlice& slice, Pool& pool, Learned& out);
  // A pool that was in doubt gets an entry that says so, which is recorded and freed like any other. So does the
  // other driver's where a DeviceExposurePolicy wants something of it, or its doubt would be forgotten.
  void materialise_doubt(const Decided& now);
  // What was withdrawn goes with its device, unless that has not been seen since this process began.
  void forget_gone(const hotplug::Inventory& inventory);
  // Whether a census could end it, or tell what is allocated beside it.
  bool waits(const PoolKey& key, const Pool& pool, const Entry& entry) const;
  // Allocated devices that are not there yet, as after another boot: find_awaited() takes them up.
  void await_functions(const PoolKey& key, const std::map<std::string, bool>& shared_by_name);
  size_t learn_allocated(const PoolKey& key, const std::string& entry, bool is_share,
                         const hotplug::Inventory& inventory, bool is_lost, TimePoint now);
  size_t learn_allocated(const PoolKey& key, const std::map<std::string, bool>& shared_by_name, bool is_lost,
                         TimePoint now);
  // How many offered entries are found to be allocated beside one that excludes them.
  size_t contest(const PoolKey& key, const std::map<std::string, bool>& shared_by_name);

  const Names names_;
  std::map<PoolKey, Pool> pools_;
  hotplug::InventoryPtr inventory_;  // of the last decision
  bool has_exposures_ = false, is_writing_ = false;
  // When begin() was called: claims that were looked at before it tell nothing of now.
  std::optional<TimePoint> begun_;
  RecordDoubt doubt_;    // of pools that no decision has charged for it yet
  ClaimNames claims_;    // of the last claims that were read
  Allocations awaited_;  // claims of before: their functions have not been seen
  std::map<PoolKey, std::map<std::string, Here>> prepared_;  // by entry
};

}  // namespace sliced::policy
