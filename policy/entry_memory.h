#pragma once
// Device entries as the decision before made them. It is an argument and a result of decisions, and never
// changes what they are: an entry of a device whose facts, policy and settings are the same would be made the
// same, so it is not made anew, and whoever compares it with what is published finds one and the same object.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hotplug/facts.h"
#include "kube/resource_slice.h"
#include "policy/policy_set.h"

namespace sliced::policy {

/// A device entry as it would be sent, and why the API server would refuse it; "" it would not. What it takes
/// of counters is not of now.
struct Draft {
  kube::DevicePtr entry;
  std::string refusal;
};

/// Of one kind of policies.
struct KeptEntries {
  struct Kept {
    Draft draft;
    int32_t policy = -1, config = -1;  // indices into the policies of then
    bool is_plain = false;             // making it left nothing to say
  };
  std::unordered_map<std::string, Kept> by_name;  // only looked up, so that no order depends on it
  std::string driver;
  bool takes_lists = false;
};

struct EntryMemory {
  hotplug::InventoryPtr inventory;
  PolicySetPtr policies;
  KeptEntries sriov, exposure;
};
using EntryMemoryPtr = std::shared_ptr<const EntryMemory>;

}  // namespace sliced::policy
