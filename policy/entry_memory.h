#pragma once
// Device entries as the decision before made them. It is an argument and a result of decisions, and never
// changes what they are: an entry of a device whose facts, policy and settings are the same would be made the
// same, so it is not made anew, and whoever compares it with what is published finds one and the same object.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"
#include "policy/in_order.h"
#include "policy/policy_set.h"

namespace sliced::policy {

/// A device entry as it would be sent, and why the API server would refuse it; "" it would not. What it takes
/// of counters is not of now.
/// A refused one has an entry all the same, so that whoever explains can show what would have been sent.
struct Draft {
  kube::DevicePtr entry;
  std::string refusal;
};

/// Of one kind of policies, and for what they were made: under another driver's name, or for a server that takes
/// list attributes where the one before did not, nothing of it is used.
/// Memory: one pointer and a name for each entry that was made; the entries are those of the pools.
struct KeptEntries {
  struct Kept {
    std::string name;
    Draft draft;
    int32_t policy = -1, config = -1;  // indices into the policies of then
    bool is_plain = false;             // making it left nothing to say
  };
  std::deque<Kept> all;  // as they were made: in much the same order each time. References last
  std::string driver;
  bool takes_lists = false, lists_numa_nodes = false;
};

/// What is looked up in it. before: nullptr none; outlives what is returned.
inline auto former_entries(const KeptEntries* before) {
  static const KeptEntries kNone;
  return InOrder((before == nullptr ? kNone : *before).all, &KeptEntries::Kept::name);
}
using FormerEntries = decltype(former_entries(nullptr));

/// Of a whole decision. Entries are compared by the inventory and the policies that they were made of, which it
/// therefore holds.
/// Immutable once the decision is done; the next one reads it on whichever thread it runs.
struct EntryMemory {
  hotplug::InventoryPtr inventory;
  PolicySetPtr policies;
  KeptEntries sriov, exposure;
};
using EntryMemoryPtr = std::shared_ptr<const EntryMemory>;

}  // namespace sliced::policy
