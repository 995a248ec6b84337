#pragma once
// The host's own IP addresses are not a pod's: on a link that both have, packets for the host would go to the pod. ipvlan delivers
// by address, and macvlan's gratuitous ARP changes the neighbours' entries for the host at ADD.
#include <functional>
#include <string_view>
#include <vector>

#include "kubelet/cni/record.h"
#include "kubelet/link_network.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// read_addresses() of the host's network namespace. Blocks. Null: there are none.
using ReadHostAddresses = std::function<Result<std::vector<HostAddress>>()>;

/// Before ADD, of a namespace user's definition (Record::users_definition): the address ranges of host-local and whereabouts in
/// Record::config are left without the host's addresses. An administrator's definition stays as it is.
/// Errors: kInvalid, for an address of the definition that the host has, or a host-local range with no other one; names
/// definition, field, address, the host's interface and the remedy; kTooLarge, where the host has so many addresses in the ranges that
/// Record::config would have more than cni::kConfigBytesMax. Those of read.
Result<Unit> keep_host_addresses(cni::Record& record, const ReadHostAddresses& read);
/// Of IP addresses as text, with or without a prefix length, which does not count. False where either is none.
bool is_same_address(std::string_view a, std::string_view b);

/// Behind ADD: what was not known before it, as of dhcp, or which the host got meanwhile. Errors: as above, of Record::result.
Result<Unit> check_made_addresses(const cni::Record& record, const ReadHostAddresses& read);

}  // namespace sliced::kubelet
