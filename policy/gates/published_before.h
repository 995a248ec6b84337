#pragma once
// Entries that were published before a decision: by the previous decision of this process, or by the slices
// of this boot at the start of the daemon.
#include <string>
#include <string_view>

#include "kube/objects/resource_slice.h"
#include "policy/gates/gate.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// The pool and name of an entry. References are valid for one call.
struct EntryPlace {
  PolicyType kind;
  const std::string& pool;
  const std::string& entry;
};
inline EntryPlace place_of(const EntryCandidate& offer) { return {offer.kind, offer.pool, offer.entry}; }

/// Returns the entry as the previous decision published it; nullptr if it had no entry of this name in this
/// pool, or if there was no previous decision.
const kube::Device* entry_before(const Inputs& in, std::string_view pool, std::string_view entry);
/// Returns true if the previous decision published the entry. In the first decision: if the slices of this
/// boot contain an entry of this name, in any pool.
bool was_published(const Inputs& in, const EntryPlace& place);
/// Returns true if the entry was published, and the device was not replaced since. In the first decision
/// every device that was there at the start counts as the same.
bool is_published_for(const Inputs& in, const hotplug::HostDevice& device, const EntryPlace& place);

}  // namespace sliced::policy
