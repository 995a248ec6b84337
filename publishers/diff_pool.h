#pragma once
// desired pools x observed slices -> plan. Pure: compared in tests, printed by `plan`, run by the publisher.
//
// Generation (dra-api: ResourcePool, KEP-4381): consumers look at a pool's highest generation only, and only
// when it holds as many slices as each of them says. So one changed slice keeps the generation, anything more
// starts a new one.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/desired.h"

namespace sliced::publishers {

/// What every slice of ours says about this node, beside its devices.
struct NodeIdentity {
  std::string name;
  std::string uid;      // of the Node object; "" when there is none: no owner reference then
  std::string boot_id;  // "" leaves the annotation out
  bool operator==(const NodeIdentity&) const = default;
};

inline constexpr std::string_view kBootIdAnnotation = "dra.networking/boot-id";

inline constexpr int kSaltMax = 16;  // names that are tried before giving up
/// No base for a generation of ours: somebody else wrote it.
inline constexpr int64_t kTrustedGenerationMax = int64_t{1} << 62;

/// Observed slices by object name: all of this driver and node, ours or not, and what else was shown to us.
using ObservedSlices = std::map<std::string, kube::ResourceSlice>;

/// What the publisher remembers between plans.
struct Memory {
  std::map<std::string, int64_t>
      generations;  // by pool: the last one that the server holds, written or adopted
  std::map<std::string, int64_t> attempted;  // by pool: the highest one sent, whether or not it was answered
  std::map<std::string, int> salts;   // by slice name with salt 0: how often somebody else had the name
  std::set<std::string> full;         // slices of which others' metadata keeps the server from taking ours
  std::set<std::string> undeletable;  // slices that the server does not let us delete, or look at
};

struct Removal {
  std::string name, uid, resource_version;  // preconditions
  std::string why;                          // "not ours", "obsolete pool", "no longer needed"
  bool is_unread = false;    // whose it is could not be read: to be looked at before anything is done to it
  bool was_refused = false;  // by the server, before: nothing else waits for it
  bool operator==(const Removal&) const = default;
};

/// Deletes, then updates, then creates; each list in name order, deletes that were refused last.
/// first_write() says where that differs.
struct Plan {
  std::vector<Removal> deletes;
  std::vector<kube::ResourceSlice> updates;  // with the resourceVersion they replace
  std::vector<kube::ResourceSlice> creates;
  bool empty() const { return deletes.empty() && updates.empty() && creates.empty(); }
  size_t size() const { return deletes.size() + updates.size() + creates.size(); }
  bool operator==(const Plan&) const = default;
};

/// The slice that a plan begins with; nullptr when it begins with its first delete. A record of withdrawn
/// entries is written before they go, the counters of a pool before the devices that consume them. plan: not
/// empty, made from `observed`.
const kube::ResourceSlice* first_write(const Plan& plan, const ObservedSlices& observed);

/// Pools of which the API server does not hold what is wanted, before the plan is carried out; nullopt: of a slice
/// that must go it cannot be read which pool it is of. One that offers nothing any more, and only has not been
/// deleted yet, counts for no pool.
std::optional<std::set<std::string>> unsettled_pools(const Plan& plan, const ObservedSlices& observed);

/// driver: whose slices `observed` holds. Every pool of that driver that is not desired goes. What is of
/// another driver or node stays, whoever showed it to us. A slice that must go and that somebody's finalizer
/// holds, or that the server does not let us delete, is emptied first (an update, see kEmptiedGeneration); a
/// terminating one only keeps its name taken.
/// Where others' annotations leave no room for a record, it becomes one of the pool as a whole; where they
/// leave none for that either, the slice is made anew under another name, and goes after that.
Plan diff_pools(const std::vector<policy::DesiredPool>& desired, const ObservedSlices& observed,
                const NodeIdentity& node, const std::string& driver, const Memory& memory);

/// "<5 hex digits>-<driver>-<node>-<hash of pool and salt>", shortened by hash at 253 bytes. The number
/// orders the pool's slices for the scheduler's first fit.
std::string slice_name(size_t index, const std::string& driver, const std::string& node,
                       const std::string& pool, int salt);

/// Of a slice that offers nothing any more and only waits for a finalizer. Below every generation of ours, so
/// that consumers do not count the slice among those of its pool.
inline constexpr int64_t kEmptiedGeneration = 0;

/// True of a slice that is gone in all but name: it says nothing of its pool, nor what was recorded of that.
bool is_emptied(const kube::ResourceSlice& slice);

/// True when the slice says that it is of this driver and node: nothing else is ever written or deleted.
bool is_of(const kube::ResourceSlice& slice, std::string_view driver, std::string_view node);

/// True when somebody else has written labels, annotations or finalizers there.
bool has_metadata_of_others(const kube::ResourceSlice& slice);

/// A slice that could not be decoded, for whatever it says or for want of room: nothing is known of it but
/// this.
kube::ResourceSlice unread_slice(std::string name, std::string uid, std::string resource_version);

/// One that could not be decoded, or of which only a part could (kube::salvage_resource_slice).
bool is_unreadable(const kube::ResourceSlice& slice);
/// One of which not even whose it is is known.
bool is_unread(const kube::ResourceSlice& slice);

/// True when the slice is of this driver and node and has a name that we give to slices of its pool: we made
/// it, in this life or another.
bool is_ours(const kube::ResourceSlice& slice, const std::string& driver, const std::string& node);

/// True when `observed` says what is wanted: all of the spec, and what is ours of the metadata (our
/// annotations, our owner reference). What others wrote beside it is theirs.
bool same_content(const kube::ResourceSlice& observed, const kube::ResourceSlice& wanted);

}  // namespace sliced::publishers
