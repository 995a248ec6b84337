#pragma once
// The counters that make the scheduler see which entries of a pool exclude each other.
//
// A counter is a heap of tokens: an entry takes its tokens once while it is allocated at all, however many
// shares of it are (KEP-4815 with KEP-5075; kube-scheduler from 1.36.2). Pure; checked by brute force.
//
// With compatibility groups no entry's tokens depend on how many others there are, so a VF that comes or goes changes no other entry. An
// entry that is withdrawn and may still be allocated has no groups for the scheduler to compare, so totals of zero keep the others from
// what it excludes, with groups and without.
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
  std::string pf;  // host device id of the pool's PF; "" in the pool of everything else
  struct Vf {
    std::string device;
    bool is_host_used = false;
  };
  std::vector<Vf> vfs;  // all that are present, offered or not
  std::vector<Holding> personas;
  /// A PF as a whole and its parts (its shared personas and VFs) are kept apart by compatibility groups (KEP-5963) in place of a count of
  /// tokens.
  bool uses_groups = false;
};

/// Holdings that may be allocated at the same time although they exclude each other today: an edit has put what may
/// be allocated into one exclusionGroup, or claims show both. What both consume would be more than their counter
/// has: then a scheduler gives away nothing of the pool that consumes any, but more shares of what is allocated. So
/// none of them can be offered until at most one of them may be allocated. holdings: what may be allocated, of one
/// pool; offers: what policies offer of it today; pf: as for exclude_each_other(). Returned with their groups of
/// today, as withdrawn and contested.
std::vector<Holding> contested(const std::vector<Holding>& offers, const std::vector<Holding>& holdings,
                               const std::string& pf);

struct Exclusion {
  std::vector<kube::CounterSet> counters;  // empty: no two entries exclude each other
  std::map<std::string, std::vector<kube::CounterConsumption>>
      consumed;  // by entry; of those that are offered
  /// Entries that no counter can be given for any more, and why.
  std::map<std::string, std::string> refused;
};
Exclusion exclude(const PoolMembers& members);

/// Entries that can stand beside each other without counters: those that come first keep their place.
std::vector<std::string> without_conflict(const std::vector<Holding>& in_order, const std::string& pf);

}  // namespace sliced::policy
