#pragma once
// rtnetlink messages (linux/rtnetlink.h, linux/if_link.h) -> events and VF facts. Bytes in, values out; every
// length is checked, whoever sent it.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/event_source.h"

namespace sliced::hotplug {

/// One datagram of the link and route groups. Messages of no interest give nothing. Errors: kInvalid for a
/// length that leads outside; what was decoded before it is lost, and the caller takes it as an Overflow.
Result<std::vector<HostEvent>> decode_link_events(std::string_view datagram);

/// The MACs a PF enforces on its VFs, by VF index, out of the answer to one RTM_GETLINK with RTEXT_FILTER_VF;
/// VFs with none (all zeros) are left out. Errors: kInvalid; kNotFound and others for an NLMSG_ERROR, by its
/// errno.
Result<std::map<int, std::string>> decode_vf_macs(std::string_view datagram);

/// One datagram of the answer to encode_route_dump(): adds the links of default routes of the main table, all
/// next hops. True when it was the last. Errors: kInvalid; others for an NLMSG_ERROR, by its errno.
Result<bool> decode_default_route_links(std::string_view datagram, std::set<int>& ifindexes);
/// A dump of the main table; family AF_INET or AF_INET6. Wants NETLINK_GET_STRICT_CHK, or all tables come.
std::string encode_route_dump(uint8_t family, uint32_t sequence);

/// The request for decode_vf_macs().
std::string encode_vf_request(int ifindex, uint32_t sequence);

}  // namespace sliced::hotplug
