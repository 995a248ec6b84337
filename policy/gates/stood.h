#pragma once
// What stood before a decision: by the one before it; when the daemon begins, in slices of this boot.
#include <string>
#include <string_view>

#include "kube/objects/resource_slice.h"
#include "policy/gates/gate.h"
#include "policy/inputs.h"

namespace sliced::policy {

/// An entry by its place. References: for one call.
struct EntryPlace {
  PolicyKind kind;
  const std::string& pool;
  const std::string& entry;
};
inline EntryPlace place_of(const Offer& offer) { return {offer.kind, offer.pool, offer.entry}; }

/// The entry as the decision before had it; nullptr: it had none of that name in that pool, or there was none.
const kube::Device* stood_as(const Inputs& in, std::string_view pool, std::string_view entry);
/// Whether it stood; of slices of the process before the name counts alone.
bool has_stood(const Inputs& in, const EntryPlace& place);
/// And the device was the one that it is.
bool stands(const Inputs& in, const hotplug::HostDevice& device, const EntryPlace& place);

}  // namespace sliced::policy
