#include "kubelet/native_sysctls.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr std::string_view kInterface = "IFNAME";

// Sorted by name. Not in the list:
//  - sysctls that make the pod answer for other stations: proxy_arp, proxy_arp_pvlan, proxy_ndp,
//    bc_forwarding;
//  - sysctls that let the network reach services on the pod's loopback interface: route_localnet,
//    accept_source_route, accept_local;
//  - a sysctl that writes to the host's log: log_martians;
//  - sysctls that consume much memory of the host: unres_qlen, unres_qlen_bytes, proxy_qlen;
//  - sysctls that `network` sets or relies on: mtu, accept_dad.
constexpr AllowedSysctl kAllowedSysctls[] = {
    {"net.ipv4.conf.IFNAME.accept_redirects", 0, 1},
    {"net.ipv4.conf.IFNAME.arp_accept", 0, 2},
    {"net.ipv4.conf.IFNAME.arp_announce", 0, 2},
    {"net.ipv4.conf.IFNAME.arp_filter", 0, 1},
    {"net.ipv4.conf.IFNAME.arp_ignore", 0, 8},
    {"net.ipv4.conf.IFNAME.arp_notify", 0, 1},
    {"net.ipv4.conf.IFNAME.forwarding", 0, 1},
    {"net.ipv4.conf.IFNAME.ignore_routes_with_linkdown", 0, 1},
    {"net.ipv4.conf.IFNAME.promote_secondaries", 0, 1},
    {"net.ipv4.conf.IFNAME.rp_filter", 0, 2},
    {"net.ipv4.conf.IFNAME.secure_redirects", 0, 1},
    {"net.ipv4.conf.IFNAME.send_redirects", 0, 1},
    {"net.ipv4.conf.IFNAME.src_valid_mark", 0, 1},
    {"net.ipv4.neigh.IFNAME.base_reachable_time_ms", 1'000, 3'600'000},
    {"net.ipv4.neigh.IFNAME.delay_first_probe_time", 0, 60},
    {"net.ipv4.neigh.IFNAME.gc_stale_time", 1, 86'400},
    {"net.ipv4.neigh.IFNAME.mcast_solicit", 1, 10},
    {"net.ipv4.neigh.IFNAME.retrans_time_ms", 10, 60'000},
    {"net.ipv4.neigh.IFNAME.ucast_solicit", 1, 10},
    {"net.ipv6.conf.IFNAME.accept_ra", 0, 2},
    {"net.ipv6.conf.IFNAME.accept_ra_defrtr", 0, 1},
    {"net.ipv6.conf.IFNAME.accept_ra_pinfo", 0, 1},
    {"net.ipv6.conf.IFNAME.accept_redirects", 0, 1},
    {"net.ipv6.conf.IFNAME.addr_gen_mode", 0, 3},
    {"net.ipv6.conf.IFNAME.autoconf", 0, 1},
    {"net.ipv6.conf.IFNAME.dad_transmits", 0, 10},
    {"net.ipv6.conf.IFNAME.disable_ipv6", 0, 1},
    {"net.ipv6.conf.IFNAME.forwarding", 0, 1},
    {"net.ipv6.conf.IFNAME.hop_limit", 1, 255},
    {"net.ipv6.conf.IFNAME.ignore_routes_with_linkdown", 0, 1},
    {"net.ipv6.conf.IFNAME.keep_addr_on_down", 0, 1},
    {"net.ipv6.conf.IFNAME.ndisc_notify", 0, 1},
    {"net.ipv6.conf.IFNAME.router_solicitation_delay", 0, 60},
    {"net.ipv6.conf.IFNAME.router_solicitations", 0, 10},
    {"net.ipv6.conf.IFNAME.use_tempaddr", 0, 2},
    {"net.ipv6.neigh.IFNAME.base_reachable_time_ms", 1'000, 3'600'000},
    {"net.ipv6.neigh.IFNAME.delay_first_probe_time", 0, 60},
    {"net.ipv6.neigh.IFNAME.gc_stale_time", 1, 86'400},
    {"net.ipv6.neigh.IFNAME.mcast_solicit", 1, 10},
    {"net.ipv6.neigh.IFNAME.retrans_time_ms", 10, 60'000},
    {"net.ipv6.neigh.IFNAME.ucast_solicit", 1, 10},
};

Result<NativeSysctl> sysctl_in(const std::string& name, const Json& value, const std::string& path) {
  const std::string at = path + "." + escaped(name, 64);
  const auto allowed = std::ranges::find(kAllowedSysctls, std::string_view(name), &AllowedSysctl::name);
  if (allowed == std::end(kAllowedSysctls)) {
    std::vector<std::string_view> names;
    for (const AllowedSysctl& one : kAllowedSysctls) names.push_back(one.name);
    const std::string near = nearest(name, names);
    return Error{Errc::kInvalid,
                 at + " is not a sysctl that network sets; " +
                     (near.empty() ? "expected one of the list in docs/pods.md, such as "
                                     "net.ipv4.conf.IFNAME.arp_ignore, with IFNAME for the interface"
                                   : "did you mean " + near + "?")};
  }
  const std::string* text = value.string();
  const auto number = text == nullptr ? std::nullopt : parse_int(*text);
  if (!number || std::to_string(*number) != *text || *number < allowed->min || *number > allowed->max)
    return Error{Errc::kInvalid, at + " is " +
                                     (text ? in_quotes(*text, 64) : "a " + std::string(value.kind_name())) +
                                     ", expected a number from " + std::to_string(allowed->min) + " to " +
                                     std::to_string(allowed->max) + " as a string, such as \"" +
                                     std::to_string(allowed->min) + "\""};
  return NativeSysctl{name, *text};
}

}  // namespace

std::span<const AllowedSysctl> allowed_sysctls() { return kAllowedSysctls; }

Result<std::vector<NativeSysctl>> decode_native_sysctls(const Json& value, const std::string& path) {
  if (value.object() == nullptr)
    return Error{Errc::kInvalid, path + " is a " + std::string(value.kind_name()) + ", expected a map"};
  if (value.object()->size() > kNativeSysctlsMax)
    return Error{Errc::kTooLarge, path + " has " + std::to_string(value.object()->size()) +
                                      " entries, expected at most " + std::to_string(kNativeSysctlsMax)};
  std::vector<NativeSysctl> out;
  for (const auto& [name, one] : *value.object()) {
    auto sysctl = sysctl_in(name, one, path);
    if (!sysctl) return std::move(sysctl.error());
    out.push_back(*std::move(sysctl));
  }
  std::ranges::sort(out, {}, &NativeSysctl::name);
  return out;
}

Json encode_native_sysctls(const std::vector<NativeSysctl>& sysctls) {
  Json::Object out;
  for (const NativeSysctl& one : sysctls) out.emplace_back(one.name, one.value);
  return Json(std::move(out));
}

std::string path_of_sysctl(const NativeSysctl& sysctl, std::string_view interface) {
  std::string out;
  for (const std::string_view part : split(sysctl.name, '.'))
    out += (out.empty() ? "" : "/") + std::string(part == kInterface ? interface : part);
  return out;
}

}  // namespace sliced::kubelet
