#pragma once
// Computes the changes that turn the observed slices into the desired pools. Pure: compared in tests, printed
// by `plan`, executed by the publisher.
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

/// The node's part of each slice.
struct NodeIdentity {
  std::string name;
  std::string uid;      // of the Node object; "" if it does not exist: slices have no owner reference
  std::string boot_id;  // "": no annotation
  bool operator==(const NodeIdentity&) const = default;
};

inline constexpr std::string_view kBootIdAnnotation = "dra.networking/boot-id";

inline constexpr int kSaltMax = 16;  // names that are tried per slice
/// Generations above this limit were written by another program. They are ignored when the next generation of
/// a pool is computed.
inline constexpr int64_t kTrustedGenerationMax = int64_t{1} << 62;

/// Observed slices by object name: all that name this driver and node, and any others that the server
/// returned.
using ObservedSlices = std::map<std::string, kube::ResourceSlice>;

/// State of the publisher between two plans.
struct PublisherState {
  std::map<std::string, int64_t> generations;  // by pool: the last one that the server holds
  std::map<std::string, int64_t> attempted;    // by pool: the highest one sent, answered or not
  std::map<std::string, int> salts;            // by slice name with salt 0: the salt to use, one more for
                                               // each name that another object has
  std::set<std::string> full;  // slices without room for our annotations, because of the metadata of others
  std::set<std::string> undeletable;  // slices that the server refuses to delete or return
};

struct Removal {
  std::string name, uid, resource_version;  // preconditions
  std::string why;                          // "not ours", "obsolete pool", "no longer needed"
  bool is_unread = false;                   // not decoded: to be read before anything else
  bool was_refused = false;                 // by the server before; other writes do not wait for it
  bool operator==(const Removal&) const = default;
};

/// The writes after which the API server holds the desired pools. The publisher sends deletes, then updates,
/// then creates; first_write() documents the exceptions. Each list is sorted by name; deletes that the server
/// has refused before come last.
struct SliceChanges {
  std::vector<Removal> deletes;
  std::vector<kube::ResourceSlice> updates;  // with the resourceVersion they replace
  std::vector<kube::ResourceSlice> creates;
  bool empty() const { return deletes.empty() && updates.empty() && creates.empty(); }
  size_t size() const { return deletes.size() + updates.size() + creates.size(); }
  bool operator==(const SliceChanges&) const = default;
};

/// Returns the slice to write first; nullptr: the first delete comes first. The record of withdrawn entries
/// is written before the entries are removed, and counters before the devices that consume them. REQUIRES:
/// plan is not empty and was made from `observed`.
const kube::ResourceSlice* first_write(const SliceChanges& plan, const ObservedSlices& observed);

/// Returns the pools whose desired content the API server does not hold yet; nullopt: the pool of a slice to
/// be deleted is unknown. An emptied slice that is not deleted yet does not count.
std::optional<std::set<std::string>> unsettled_pools(const SliceChanges& plan,
                                                     const ObservedSlices& observed);

/// Returns the changes of one driver's slices. Pools that are not desired are deleted. Slices of other
/// drivers and nodes are not modified.
/// - A slice with a foreign finalizer, or one that the server refuses to delete, is emptied by an update
///   first (kEmptiedGeneration). The name of a terminating slice stays in use.
/// - If annotations of others leave no room for the record of withdrawn entries, a record that reserves the
///   whole pool replaces it (policy::whole_holding). If they leave no room for that, a slice with another
///   name is created, and then this one is deleted.
SliceChanges diff_pools(const std::vector<policy::DesiredPool>& desired, const ObservedSlices& observed,
                        const NodeIdentity& node, const std::string& driver, const PublisherState& memory);

/// Returns "<5 hex digits>-<driver>-<node>-<hash of pool and salt>", shortened with a hash to 253 bytes. The
/// scheduler tries slices in the order of their names, so that the number gives the order of the pool's
/// slices.
std::string slice_name(size_t index, const std::string& driver, const std::string& node,
                       const std::string& pool, int salt);

/// Generation of an emptied slice that waits for a finalizer. It is lower than all others, so that consumers
/// ignore the slice.
inline constexpr int64_t kEmptiedGeneration = 0;

/// Returns true for a slice of kEmptiedGeneration; its content and record are ignored.
bool is_emptied(const kube::ResourceSlice& slice);

/// Returns true if the slice names this driver and node. Other slices are never written or deleted.
bool is_of(const kube::ResourceSlice& slice, std::string_view driver, std::string_view node);

/// Returns true if the slice has labels, annotations or finalizers of others.
bool has_metadata_of_others(const kube::ResourceSlice& slice);

/// Returns a placeholder for a slice that is invalid or too large to decode: is_unread() is true.
kube::ResourceSlice unread_slice(std::string name, std::string uid, std::string resource_version);

/// Returns true if the slice could not be decoded, or only in part (kube::salvage_resource_slice).
bool is_unreadable(const kube::ResourceSlice& slice);
/// Returns true if the slice is unreadable and its driver and node are unknown.
bool is_unread(const kube::ResourceSlice& slice);

/// Returns true if the slice names this driver and node and has a name that slice_name() gives to its pool:
/// this or an earlier process created it.
bool is_ours(const kube::ResourceSlice& slice, const std::string& driver, const std::string& node);

/// Returns true if the spec, our annotations and our owner reference are equal. Metadata of others is
/// ignored.
bool same_content(const kube::ResourceSlice& observed, const kube::ResourceSlice& wanted);

}  // namespace sliced::publishers
