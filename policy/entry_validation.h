#pragma once
// Whether the API server takes a device entry: by its rules, and by what it said of this very content before.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// Drops attributes that the API server would refuse alone (a note each). What is left to refuse; "" when the
/// entry is good. is_vital: an attribute that may not be dropped.
std::string drop_refused(kube::Device& entry, const std::function<bool(const std::string&)>& is_vital,
                         std::vector<std::string>& notes);

/// Nothing of it can be refused but what its policy adds, which is checked once: a text of the kernel's may
/// be wrong. False when it is worth a whole check.
bool is_trivially_valid(const kube::Device& entry);

/// Why the server refused this very content before; "" when it did not.
std::string refused_before(const kube::Device& entry, const QuarantinedEntries& quarantine);

/// A stable fingerprint of an entry's content, for Quarantine: of all but what it takes of counters, which
/// follows from what else is offered.
uint64_t content_hash(const kube::Device& device);

}  // namespace sliced::policy
