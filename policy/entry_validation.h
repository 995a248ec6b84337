#pragma once
// Checks whether the API server accepts a device entry: by its rules, and by its answers to the same content.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// Drops attributes that the API server would refuse (a note each). Returns the remaining reason to refuse
/// the entry; "" if it is valid. is_vital: returns true for an attribute that must not be dropped.
std::string drop_refused(kube::Device& entry, const std::function<bool(const std::string&)>& is_vital,
                         std::vector<std::string>& notes);

/// Returns true if only the parts that the policy adds can be invalid, which are checked once. False if the
/// entry needs a whole check, because a text from the kernel may be invalid.
bool is_trivially_valid(const kube::Device& entry);

/// Returns why the server refused this content before; "" if it did not.
std::string refused_before(const kube::Device& entry, const QuarantinedEntries& quarantine);

/// Returns a stable hash of the entry's content for Quarantine, without its counters, which depend on other
/// entries.
uint64_t content_hash(const kube::Device& device);

}  // namespace sliced::policy
