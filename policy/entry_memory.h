#pragma once
// Device entries of the previous decision. A decision reuses the entry of a device whose facts, policy and
// settings are unchanged, so that comparing it with the published one is a comparison of pointers. The memory
// never changes a result.
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

/// A device entry as it would be sent, without its counters, and the reason that the API server would refuse
/// it; "" if it would accept it. A refused one has an entry too, for explain().
struct Draft {
  kube::DevicePtr entry;
  std::string refusal;
};

/// Entries of one kind of policies. Valid only for the same driver name and the same support of list
/// attributes.
/// Memory: one pointer and a name for each entry; the pools share the entries.
struct KeptEntries {
  struct Kept {
    std::string name;
    Draft draft;
    int32_t policy = -1, config = -1;  // indices into the policies of that decision
    bool is_plain = false;             // created without notes
  };
  std::deque<Kept> all;  // in order of creation, which is similar in each decision. References remain valid
  std::string driver;
  bool takes_lists = false, lists_numa_nodes = false, has_dranet = false;
};

/// Returns an index of the entries by name. before: nullptr for none; must outlive the result.
inline auto former_entries(const KeptEntries* before) {
  static const KeptEntries kNone;
  return InOrder((before == nullptr ? kNone : *before).all, &KeptEntries::Kept::name);
}
using FormerEntries = decltype(former_entries(nullptr));

/// The memory of one decision. Holds the inventory and policies with which the entries are compared.
/// Immutable once the decision is done, and readable on any thread.
struct EntryMemory {
  hotplug::InventoryPtr inventory;
  PolicySetPtr policies;
  KeptEntries sriov, exposure;
};
using EntryMemoryPtr = std::shared_ptr<const EntryMemory>;

}  // namespace sliced::policy
