#pragma once
// Entries published before a decision: by the previous decision, or at the start of the daemon by slices of this boot.
#include <string>
#include <string_view>

#include "kube/objects/resource_slice.h"
#include "policy/gates/gate.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// The place of an entry. References are valid for one call.
struct EntryPlace {
  PolicyKind kind;
  const std::string& pool;
  const std::string& entry;
};
inline EntryPlace place_of(const Offer& offer) { return {offer.kind, offer.pool, offer.entry}; }

/// The entry in the previous decision; nullptr if that had none of this name in this pool, or there was none.
const kube::Device* stood_as(const Inputs& in, std::string_view pool, std::string_view entry);
/// Whether it was published. For slices of the previous process only the name counts.
bool has_stood(const Inputs& in, const EntryPlace& place);
/// Whether it was published for the same device.
bool stands(const Inputs& in, const hotplug::HostDevice& device, const EntryPlace& place);

}  // namespace sliced::policy
