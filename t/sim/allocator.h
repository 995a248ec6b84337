#pragma once
// What kube-scheduler does with slices (k8s.io/dynamic-resource-allocation/structured, 1.36.3), as far as
// entries of one device each go: pools of the highest generation that are whole, counters less what is
// allocated of the entries that stand there, capacities, and who has an exclusive entry.
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/objects/json.h"
#include "t/sim/oracle.h"

namespace sliced::sim {

using Tokens = std::map<std::string, int64_t>;

struct SlicedEntry {
  std::string name;
  bool is_shared = false;
  Tokens capacity;                         // of a shared one
  Tokens each;                             // what a claim takes of it that asks for no amount
  Tokens least, step;                      // of requestPolicy.validRange, where there is one
  std::map<std::string, Tokens> consumes;  // by counter set
  Entry attributes;
  std::set<std::string> taints;  // keys; whoever claims here tolerates them all
};
struct SliceContent {
  std::string name, driver, node, pool, record;  // of what is withdrawn
  int64_t generation = 0, slice_count = 0;
  std::map<std::string, Tokens> counters;
  std::vector<SlicedEntry> entries;
};
using SlicePtr = std::shared_ptr<const SliceContent>;
SliceContent slice_content(const kube::Json& object);

/// One pool as a consumer sees it. Entries live as long as the slices that are kept here.
struct SlicedPool {
  std::string driver, name;
  int64_t generation = 0;
  bool is_whole = false;
  bool may_count_as_whole =
      false;  // slices disagree on their number, and the scheduler goes by any one of them
  std::map<std::string, const SlicedEntry*> entries;  // by name
  std::map<std::string, Tokens> counters;
  std::vector<SlicePtr> slices;  // of that generation
};
/// By "driver/pool".
using SlicedPools = std::map<std::string, SlicedPool>;
SlicedPools pools_in(const std::vector<SlicePtr>& slices);

/// What claims have, by "driver/pool/entry".
struct Allocated {
  struct Share {
    bool is_exclusive = false;
    int64_t shares = 0;  // how often it was given away
    int64_t taken = 0;   // of its capacity
    bool is_any() const { return is_exclusive || shares > 0; }
  };
  std::map<std::string, Share> entries;
  const Share& of(const std::string& id) const;
};

/// By counter set; less than none where an edit made two exclude each other that are both allocated.
std::map<std::string, Tokens> tokens_left(const SlicedPool& pool, const Allocated& allocated);

/// Returns what a claim takes of each capacity of the entry when it asks for these amounts: the amount rounded up as the entry's
/// requestPolicy says, and the default of a capacity that the claim does not name.
Tokens taken_by(const SlicedEntry& entry, const Tokens& asked);

/// "" when the scheduler would give the entry away to a claim that asks for these amounts of its capacities, else what keeps it from that.
std::string why_not_given(const SlicedPool& pool, const SlicedEntry& entry, const Allocated& allocated,
                          const Tokens& asked = {});

/// Records that a claim has the entry and these amounts of its capacities (taken_by()).
void give_away(const SlicedPool& pool, const SlicedEntry& entry, const Tokens& taken, Allocated& allocated);

}  // namespace sliced::sim
