#pragma once
// The ledger of reserved entries: withdrawn device entries that may still be allocated.
//
// A scheduler computes the use of counters from the slices that it sees: an entry that was removed from them
// uses no counters, although its ResourceClaim may still be allocated. So a withdrawn entry stays reserved
// until its function is gone or an evidence source shows that it is free. Inputs are slices, decisions,
// acknowledged writes and evidence; publishers/reservations.h sends the requests. Pure: time is a parameter.
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
#include "policy/reserved/record.h"
#include "policy/reserved/unverified.h"
#include "reactor/base/time.h"

namespace sliced::policy {

using PoolKey = std::pair<std::string, std::string>;  // driver, name
/// By pool, then entry; the value is true if the allocation has a share id. Without one it may be of a shared
/// entry, too: a scheduler without the gate DRAConsumableCapacity gives it to one claim as a whole.
using Allocations = std::map<PoolKey, std::map<std::string, bool>>;

/// Names of the claims ("NAMESPACE/NAME") of an entry, by pool, then entry; at most kClaimsNamedMax per
/// entry.
using ClaimNames = std::map<PoolKey, std::map<std::string, std::set<std::string>>>;
inline constexpr size_t kClaimsNamedMax = 8;

// Evidence sources.

/// One consistent list of all ResourceClaims: entries that it does not contain were free when it began.
struct ClaimList {
  TimePoint begun;  // no claim was read before
  Allocations allocated;
  ClaimNames claims = {};  // of those
};
/// The claims of this node's pods. They show allocations and free nothing, since a claim may be allocated
/// before its pod exists.
struct PodClaims {
  Allocations allocated;
  ClaimNames claims = {};  // of those
};
/// The kubelet plugin has prepared a device for a claim (also an earlier process): the claim exists until the
/// unprepare.
struct Prepared {
  PoolKey pool;
  std::string entry;
  std::string claim;      // uid
  bool is_share = false;  // it was prepared as a shared device, which stays on the host
  std::string claim_namespace = {}, claim_name = {};  // "": unknown, so that it cannot be read
};
/// The kubelet plugin has unprepared the device. It frees nothing, since the next pod may use an existing
/// claim; but reading the claim may show now that it is deallocated.
struct Unprepared {
  PoolKey pool;
  std::string entry;
  std::string claim;  // uid
};
/// The result of a read of one claim, from the API server's store.
struct ClaimRead {
  TimePoint begun;  // the start of the read
  PoolKey pool;
  std::string entry;
  std::string claim;  // uid
  bool has = false;   // the claim exists, and the entry is allocated to it
};

/// Threads: the loop thread; decisions on workers get copies (holdings()).
/// Memory:  kPoolsMax pools of kNamesMax names; beyond that the whole pool is reserved, so that a limit never
///          frees an entry.
/// Order:   learn() for observed slices, begin(), then for each decision find_awaited(), holdings(),
///          decided() and, after the write, acknowledged(). take() at any time.
class Ledger {
 public:
  /// Time in which a scheduler may still allocate a claim from slices that it read before the withdrawal.
  static constexpr Millis kGrace{10'000};
  /// More than twice the entries of a node with 4,096 VFs; about 300 bytes per name.
  static constexpr size_t kNamesMax = 16'384, kPoolsMax = 1'024;

  struct Names {
    std::string sriov_driver, exposure_driver, node;
  };
  explicit Ledger(Names names) : names_(std::move(names)) {}

  // ---- slices

  /// Sets the pools whose record may be incomplete, before the first decision. Later calls have no effect.
  void begin(UnverifiedRecords unverified, TimePoint now);
  /// Set while this daemon writes the slices. A daemon that waits for another one accepts its records
  /// unchanged.
  void set_writing(bool writes);

  struct Learned {
    bool is_new = false;       // new entries or records
    bool is_overfull = false;  // the whole pool is reserved from now on: more than kNamesMax names
    std::string problem;       // error of its record; "": valid
  };
  /// Reads an observed slice of any boot, before it is overwritten. An entry that is present again after its
  /// acknowledged withdrawal counts as withdrawn again. Ignores slices of other drivers, and pools beyond
  /// kPoolsMax.
  Learned learn(const kube::ResourceSlice& slice);

  // ---- decisions

  /// Called before each decision: finds new devices of earlier allocations and prepared claims.
  void find_awaited(const hotplug::Inventory& inventory, TimePoint now);
  /// Returns the entries that may be allocated, offered or not, of the exposure driver by pool.
  /// sriov_holdings(): those of the SR-IOV driver, by name.
  HoldingsByPool holdings() const;
  /// Returns one of them, of either driver; nullptr if absent. Valid until the next change.
  const Holding* find(const PoolKey& pool, const std::string& entry) const;
  std::set<std::string> sriov_holdings() const;
  bool is_sriov_unverified() const;  // any VF may be
  /// Returns true if the entry is prepared for a claim; lists of claims do not free it.
  bool is_prepared(const PoolKey& key, const std::string& entry) const;
  /// Returns the host devices with known allocations: prepared ones, and those of the last claims that were
  /// read. Other devices may be allocated, too.
  std::set<std::string> known_allocated() const;
  /// The same with the known names of the claims.
  std::map<std::string, std::set<std::string>> known_claims() const;
  const UnverifiedPools& unverified() const { return unverified_.exposure; }

  /// A decision whose pools are published in the same turn of the loop.
  struct Decided {
    const HoldingsByPool& offered;    // entries of the exposure driver, by pool
    const HoldingsByPool& contested;  // withdrawn entries in another group, likewise
    const std::map<std::string, std::vector<std::string>>& sriov;  // entries of the other driver, by pool
    const std::set<std::string>& unverified;  // unverified pools to be reserved as a whole
    const std::set<std::string>& wanted;      // pools with a policy that needs reserved entries
    hotplug::InventoryPtr inventory;
    bool has_exposures = false;  // if false, no device waits for entries of the SR-IOV driver
    /// The pool of links gets a slice. With it, a later start considers the SR-IOV driver's record complete,
    /// so that an unverified record of that driver must be recorded.
    bool has_link_slice = false;
  };
  void decided(const Decided& now);
  /// Confirms that functions which had vanished in the inventory of the last decision are gone
  /// (hotplug::is_confirmation), and releases their entries. Returns true if a new decision is necessary: a
  /// record contains one of the entries, or there are DeviceExposurePolicies, whose devices may wait for
  /// them.
  bool confirm_gone(const hotplug::InventoryPtr& inventory);
  /// Returns the record of a pool's withdrawn entries, for its first slice.
  Record record(const PoolKey& pool) const;
  /// Returns the exclusionGroups of its offered entries.
  Groups groups(const PoolKey& pool) const;
  /// The API server holds the pools of the last decided(), except `but`.
  void acknowledged(const std::string& driver, const std::set<std::string>& but, TimePoint now);

  // ---- evidence

  struct Change {
    size_t released = 0;           // released entries
    size_t newly_found = 0;        // newly found allocated entries
    size_t contested = 0;          // offered entries whose allocation excludes another allocated entry
    bool ends_unverified = false;  // the records are complete from now on
  };
  /// Releases each withdrawn entry that is not in the list and not prepared, if its withdrawal was
  /// acknowledged kGrace before the list began. A list that began kGrace after begin() makes all records
  /// complete.
  Change take(const ClaimList& list, TimePoint now);
  /// Used for pools that are unverified or reserved as a whole; other records are more complete.
  Change take(const PodClaims& seen, TimePoint now);
  /// Idempotent per claim. Ignored beyond the limits of memory.
  Change take(const Prepared& prepared, TimePoint now);
  void take(const Unprepared& unprepared);

  /// Releases an exclusive, unprepared entry that this claim had kGrace after the acknowledged withdrawal and
  /// no longer has: no other claim had it then, and none can have got it since.
  Change take(const ClaimRead& seen);

  /// A claim to be read: while it has a withdrawn exclusive entry, to confirm that; after the unprepare, to
  /// show that it no longer has it.
  struct ClaimQuery {
    PoolKey pool;
    std::string entry;
    std::string claim, claim_namespace, claim_name;
    bool is_taken_back = false;
    TimePoint from;  // earliest start of a useful read
    bool operator<(const ClaimQuery& other) const { return key() < other.key(); }
    std::tuple<PoolKey, std::string, std::string, bool> key() const {
      return {pool, entry, claim, is_taken_back};
    }
  };
  std::vector<ClaimQuery> questions() const;

  /// Set if a list of all claims could release something: reserved entries, except those of prepared claims,
  /// or a pool that is reserved as a whole and that a policy needs.
  struct Need {
    /// Earliest start of a list that verifies a pool that is reserved as a whole; nullopt: no such pool.
    std::optional<TimePoint> unknown_from;
  };
  std::optional<Need> need() const;

 private:
  struct Claim {
    std::string claim_namespace, name;
  };
  // The only claim of an exclusive entry, at that time.
  struct Holder {
    std::string uid;
    Claim claim;
    TimePoint seen;
  };
  struct Entry {
    Holding holding;
    std::optional<TimePoint> gone_since = {};  // time of the acknowledged withdrawal
    bool was_seen = false;                     // its device was seen by this process
    /// Its device was reported as removed and has not been checked yet. Not recorded, so that a removal
    /// causes one write.
    bool is_leaving = false;
    bool was_listed = false;            // allocated in the last list
    std::optional<Holder> holder = {};  // by a ClaimRead
    /// Time at which the allocation was found; no later list has been read.
    std::optional<TimePoint> found = {};
  };
  struct Pool {
    std::map<std::string, Entry> entries;  // offered and withdrawn entries
    std::set<std::string> released;        // released; records in slices may still have them
    std::set<std::string> gone;            // removed with their devices; slices may still have them
    bool is_wanted = false;                // a device waits for its reserved entries
    bool has_unknown() const { return entries.contains(std::string(kUnknownEntry)); }
    bool has_room(const std::string& name) const {
      return entries.size() < kNamesMax || entries.contains(name);
    }
  };

  struct Preparation {
    std::map<std::string, Claim> claims;  // by uid
    bool is_share = false;
  };

  // No other claim can have got the entry after that claim.
  static bool is_sole(const Entry& entry) {
    return entry.holder && entry.gone_since && *entry.gone_since + kGrace <= entry.holder->seen;
  }
  const Preparation* here(const PoolKey& key, const std::string& entry) const;
  // nullopt: a read of one claim cannot release it.
  std::optional<ClaimQuery> question(const PoolKey& key, const Entry& entry) const;
  bool is_ours(const std::string& driver) const {
    return driver == names_.sriov_driver || driver == names_.exposure_driver;
  }
  // nullptr for another driver's pool, and beyond kPoolsMax.
  Pool* pool_of(const PoolKey& key);
  // Holdings of the slice's devices: of the SR-IOV driver by the names of functions, of the other driver by
  // attributes.
  std::vector<Holding> entries_of(const kube::ResourceSlice& slice) const;
  // The device is awaited until it is seen, since the slice may be of an earlier boot.
  static Entry learned(Holding holding, const Pool& pool);
  // Returns true if the pool was not reserved as a whole before.
  static bool reserve_whole(const std::string& name, Pool& pool);
  // Reads kWithdrawnAnnotation. An invalid one reserves the whole pool.
  void learn_record(const kube::ResourceSlice& slice, Pool& pool, Learned& out);
  // Adds whole_holding() to unverified pools, which is recorded and released like other entries; also to the
  // SR-IOV driver's pool if a DeviceExposurePolicy needs its devices.
  void record_unverified(const Decided& now);
  // Removes withdrawn entries whose device is gone, unless this process has never seen it. Returns true if a
  // record contained one.
  bool forget_gone(const hotplug::Inventory& inventory);
  // Returns true if a list could release the entry or verify its pool.
  bool waits(const PoolKey& key, const Pool& pool, const Entry& entry) const;
  // Stores allocations of devices that are not present yet, as after a reboot, for find_awaited().
  void await_functions(const PoolKey& key, const std::map<std::string, bool>& shared_by_name);
  // An entry that was prepared as exclusive is exclusive. An allocation without a share id shows only that no
  // other claim has the entry.
  enum class Source { kClaims, kPrepared };
  size_t learn_allocated(const PoolKey& key, const std::string& entry, bool is_share, Source source,
                         const hotplug::Inventory& inventory, bool is_lost, TimePoint now);
  size_t learn_allocated(const PoolKey& key, const std::map<std::string, bool>& shared_by_name, Source source,
                         bool is_lost, TimePoint now);
  // Returns the number of offered entries whose allocation excludes another one.
  size_t contest(const PoolKey& key, const std::map<std::string, bool>& shared_by_name);

  const Names names_;
  std::map<PoolKey, Pool> pools_;
  hotplug::InventoryPtr inventory_;  // of the last decision
  bool has_exposures_ = false, is_writing_ = false;
  // Time of begin(); earlier reads of claims are not evidence.
  std::optional<TimePoint> begun_;
  UnverifiedRecords unverified_;  // pools that no decision has reserved yet
  ClaimNames claims_;             // from the last claims that were read
  Allocations awaited_;           // earlier allocations whose functions have not been seen
  std::map<PoolKey, std::map<std::string, Preparation>> prepared_;  // by entry
};

}  // namespace sliced::policy
