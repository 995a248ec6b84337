#pragma once
// Prevents pods from using the host's own IP addresses. On a shared link, packets for the host would go to
// the pod: ipvlan delivers by address, and macvlan's gratuitous ARP changes the neighbors' entries for the
// host at ADD.
#include <functional>
#include <string_view>
#include <vector>

#include "kubelet/cni/record.h"
#include "kubelet/link_network.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// read_addresses() of the host's network namespace. Blocks. Null: no addresses.
using ReadHostAddresses = std::function<Result<std::vector<HostAddress>>()>;

/// Removes the host's addresses from the ranges of host-local and whereabouts in Record::config, before ADD,
/// for a namespace user's definition (Record::users_definition). An administrator's definition stays
/// unchanged.
/// Errors: kInvalid if the definition contains an address of the host, or a host-local range with no other
/// address; names definition, field, address, the host's interface and the remedy. kTooLarge if
/// Record::config would exceed cni::kConfigBytesMax. Those of read.
Result<Unit> exclude_host_addresses(cni::Record& record, const ReadHostAddresses& read);
/// Compares two IP addresses as text, ignoring a prefix length. False if either is not an address.
bool is_same_address(std::string_view a, std::string_view b);

/// Checks the result of ADD for addresses that were unknown before it, as with dhcp, or that the host got
/// meanwhile. Errors: as above, for Record::result.
Result<Unit> check_result_addresses(const cni::Record& record, const ReadHostAddresses& read);

}  // namespace sliced::kubelet
