#pragma once
// Restores a record from a claim's CDI spec after the checkpoint was lost, with enough data to reserve its
// devices and to release them. Pure.
#include <optional>
#include <string>

#include "kubelet/prepared.h"

namespace sliced::kubelet {

/// Returns the record; nullopt if the spec is not a claim's (a pod's spec has no devices). id: of the spec's
/// file. The spec contains neither the claim's name and namespace, nor pools, requests and exclusion groups:
/// each entry counts as in every exclusion group of its device (policy::kAnyGroup). For a link, the holding's
/// device is the entry's name (kubelet/safety.h).
std::optional<PreparedClaim> recall(const std::string& driver, const std::string& id, const cdi::Spec& spec);
/// Returns whether the record was restored from a spec, so that its claim and pods are unknown.
bool is_nameless(const PreparedClaim& claim);
/// Returns "namespace/name", or "unknown name (uid x)"; for tables and Events.
std::string short_name(const PreparedClaim& claim);

/// Returns the VFIO nodes of a pod's function, from the edits of its CDI device; empty if it has none.
VfioNodes vfio_nodes_in(const cdi::Edits& edits);

/// Marks a record as incomplete, because a reboot undid its effects; the claim keeps its devices. Releasing
/// it then restores neither drivers nor settings. is_sure: false if the record may be of this boot; then a
/// function on vfio-pci returns to the driver that the kernel chooses.
void undo_by_reboot(PreparedClaim& claim, bool is_sure = true);

}  // namespace sliced::kubelet
