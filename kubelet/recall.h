#pragma once
// What a CDI spec tells of a claim whose record is lost: enough that nobody else gets its devices, and that it can
// be taken back. Pure.
#include <optional>
#include <string>

#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// id: of the spec's file. nullopt: it is no claim's (a pod's has no devices of its own). Name and namespace of the
/// claim, pools and requests are not told, nor are exclusion groups: each device counts as one of each. The holding of a link's
/// entry has the entry's name for its device (kubelet/safety.h).
std::optional<PreparedClaim> recall(const std::string& driver, const std::string& id, const cdi::Spec& spec);
/// Such a record: its claim and pods cannot be asked for.
bool is_nameless(const PreparedClaim& claim);
/// "namespace/name", or "unknown name (uid x)"; for tables and Events.
std::string short_name(const PreparedClaim& claim);

/// Of a function that a pod has through VFIO, by the edits of its CDI device; empty: it has none.
VfioNodes vfio_nodes_in(const cdi::Edits& edits);

/// A record of another boot: nothing of it is done any more, and it is still the claim's. What a function is bound to now
/// this boot has chosen, and nobody restores. is_sure: else it may be this boot's, and what is bound to vfio-pci goes
/// back to whichever driver the kernel chooses.
void forget_boot(PreparedClaim& claim, bool is_sure = true);

}  // namespace sliced::kubelet
