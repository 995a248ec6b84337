#pragma once
// Counters by which the scheduler sees which entries of a pool exclude each other.
//
// A counter is a number of tokens: an allocated entry takes its tokens once, independent of its number of
// shares (KEP-4815 with KEP-5075; kube-scheduler from 1.36.2). Pure; tested by brute force.
//
// With compatibility groups an entry's tokens do not depend on the number of other entries, so that a VF that
// appears or disappears changes no other entry. A withdrawn entry has no groups in the slices; totals of zero
// exclude the entries that conflict with it, with groups and without.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/holding.h"

namespace sliced::policy {

/// The devices that share a pool.
struct PoolMembers {
  std::string pf;  // host device id of the pool's PF; "" in the pool of links
  struct Vf {
    std::string device;
    bool is_host_used = false;
  };
  std::vector<Vf> vfs;  // all present VFs, offered or not
  std::vector<Holding> personas;
  /// Compatibility groups (KEP-5963), not a count of tokens, exclude a PF as a whole and its parts (shared
  /// personas and VFs) from each other.
  bool uses_groups = false;
};

/// Returns holdings that may be allocated at the same time although they exclude each other now: an edit put
/// possibly allocated ones into one exclusionGroup, or claims show both. Both together would take more than
/// their counter has, and a scheduler then allocates no other entry of the pool that takes tokens. So none of
/// them is offered until at most one may be allocated.
/// holdings: possibly allocated entries of one pool. offers: the present offers of it. pf: as for
/// exclude_each_other(). The result has the present groups, and is marked as withdrawn and contested.
std::vector<Holding> contested(const std::vector<Holding>& offers, const std::vector<Holding>& holdings,
                               const std::string& pf);

struct Exclusion {
  std::vector<kube::CounterSet> counters;  // empty: no two entries exclude each other
  std::map<std::string, std::vector<kube::CounterConsumption>> consumed;  // by entry; of offered ones
  /// Entries that cannot get a counter, with the reason.
  std::map<std::string, std::string> refused;
};
Exclusion exclude(const PoolMembers& members);

/// Returns entries that do not exclude each other, without counters; earlier ones have precedence.
std::vector<std::string> without_conflict(const std::vector<Holding>& in_order, const std::string& pf);

}  // namespace sliced::policy
