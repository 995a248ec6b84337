#pragma once
// Attributes that dranet (kubernetes-sigs/dranet, pkg/apis/attributes.go and pkg/inventory/db.go) publishes
// below dra.net/, for selectors that were written for it (--dranet-attributes).
#include <span>

#include "policy/exposure/attributes.h"

namespace sliced::policy {

/// Not among them: state, which changes with the link and would write a slice each time; ipv4, ipv6, alias,
/// ebpf, tcFilterNames and tcxProgramNames, which the inventory does not have; pciVendor and pciDevice, which
/// are names of a PCI database.
std::span<const AddedAttribute> dranet_attributes();

}  // namespace sliced::policy
