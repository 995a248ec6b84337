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
  PolicyKind kind;
  const std::string& pool;
  const std::string& entry;
};
inline EntryPlace place_of(const Offer& offer) { return {offer.kind, offer.pool, offer.entry}; }

/// Returns the entry as the previous decision published it; nullptr if it had no entry of this name in this
/// pool, or if there was no previous decision.
const kube::Device* stood_as(const Inputs& in, std::string_view pool, std::string_view entry);
/// Returns true if the entry was published. In the first decision only the name is compared, with slices of
/// the previous process.
bool has_stood(const Inputs& in, const EntryPlace& place);
/// Returns true if the entry was published for the same device: the device was not replaced since.
bool stands(const Inputs& in, const hotplug::HostDevice& device, const EntryPlace& place);

}  // namespace sliced::policy
