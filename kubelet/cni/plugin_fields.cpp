#include "kubelet/cni/plugin_fields.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "kubelet/cni/names.h"
#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::cni {
namespace {

using kube::Json;
using Writer = Field::Writer;
using Context = FieldContext;

constexpr size_t kTextMax = 253;
constexpr size_t kPathMax = 1'024;
constexpr size_t kFreeTextMax = 16u << 10;  // of a plugin without a table

bool is_printable(std::string_view text, size_t size_max) {
  return text.size() <= size_max && is_utf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
         });
}

std::string shown(const Json& value) {
  return value.string() != nullptr ? in_quotes(*value.string(), 64) : printable(kube::encode_json(value), 64);
}

std::string_view text_in(const Json& value) {
  return value.string() != nullptr ? std::string_view(*value.string()) : std::string_view();
}

// ---- values. Each function returns null for a bad value; the caller formats the error.

Json good_boolean(const Json& value) { return value.boolean() != nullptr ? value : Json(); }

template <int64_t kMin, int64_t kMax>
Json good_integer(const Json& value) {
  return value.integer() != nullptr && *value.integer() >= kMin && *value.integer() <= kMax ? value : Json();
}

Json good_text(const Json& value) {
  return value.string() != nullptr && is_printable(*value.string(), kTextMax) ? value : Json();
}

template <const auto& kWords>
Json good_word(const Json& value) {
  return value.string() != nullptr &&
                 std::find(std::begin(kWords), std::end(kWords), *value.string()) != std::end(kWords)
             ? value
             : Json();
}

// Go treats an IPv4-mapped IPv6 address (::ffff:10.0.0.1) as an IPv4 address, with another prefix length than
// the written one.
bool is_address(std::string_view text) {
  const auto address = IpAddress::decode(text);
  return address && !address->is_ipv4_mapped();
}

std::optional<IpPrefix> cidr_in(std::string_view text) {
  const auto prefix = IpPrefix::decode(text);
  return prefix && prefix->address.is_ipv4_mapped() ? std::nullopt : prefix;
}

Json good_address(const Json& value) { return is_address(text_in(value)) ? value : Json(); }

Json good_cidr(const Json& value) { return cidr_in(text_in(value)) ? value : Json(); }

// Limit for networks that whereabouts excludes. Releases before 0.6.2 compare each address with each excluded
// one, as the elected leader.
constexpr size_t kExcludedMax = 256;
constexpr int64_t kExcludedAddressesMax = 65'536;  // of a definition: a second

// Returns nullopt if an element is not a network, or alone is too large.
std::optional<int64_t> addresses_of(const Json::Array& networks) {
  int64_t out = 0;
  for (const Json& one : networks) {
    const auto network = cidr_in(text_in(one));
    if (!network) return std::nullopt;
    const int bits = network->address.bits() - network->length;
    if (bits > 16) return std::nullopt;
    out += int64_t{1} << bits;
  }
  return out;
}

Result<Json> read_excluded(const Json& given, const std::string&, const FieldContext&) {
  if (given.array() == nullptr || given.array()->size() > kExcludedMax) return Json();
  const auto addresses = addresses_of(*given.array());
  return addresses && *addresses <= kExcludedAddressesMax ? given : Json();
}

// whereabouts: "10.0.0.0/24", "10.0.0.5-10.0.0.20/24". It searches a free address by incrementing. In a
// network of all addresses the last one wraps to the first, so it would search forever, as the elected leader
// of the whole cluster.
Json good_range(const Json& value) {
  const std::string_view text = text_in(value);
  const size_t dash = text.find('-');
  const auto network = cidr_in(dash == std::string_view::npos ? text : text.substr(dash + 1));
  const bool is_good =
      network && network->length > 0 && (dash == std::string_view::npos || is_address(text.substr(0, dash)));
  return is_good ? value : Json();
}

// A name that the kernel gives to a new VRF unchanged. With the name of another interface, as with one that
// the kernel refuses, the plugin fails at ADD and at each DEL, which would never succeed.
Json good_vrf(const Json& value) {
  const std::string_view name = text_in(value);
  const bool is_taken = name == "lo" || name == "eth0" || name == "all" || name == "default";
  return is_interface_name(name) && !is_taken && name.find('%') == std::string_view::npos ? value : Json();
}

// Accepts the address of a station: neither multicast nor all zeros.
Json good_mac(const Json& value) {
  const std::string_view text = text_in(value);
  if (text.size() != 17) return {};
  bool is_zero = true;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 2 ? text[i] != ':' : !parse_hex(text.substr(i, 1))) return {};
    is_zero = is_zero && (text[i] == '0' || text[i] == ':');
  }
  return is_zero || *parse_hex(text.substr(1, 1)) % 2 == 1 ? Json() : value;
}

Json good_path(const Json& value) {
  const std::string_view text = text_in(value);
  const auto parts = split(text, '/');
  return text.starts_with("/") && is_printable(text, kPathMax) &&
                 std::find(parts.begin(), parts.end(), "..") == parts.end()
             ? value
             : Json();
}

Json good_pkey(const Json& value) {
  std::string_view text = text_in(value);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return !text.empty() && text.size() <= 4 && parse_hex(text) ? value : Json();
}

// A name of dhcp-options(5), or a number.
Json good_dhcp_option(const Json& value) {
  const std::string_view text = text_in(value);
  return !text.empty() && text.size() <= 64 &&
                 std::all_of(
                     text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; })
             ? value
             : Json();
}

// An argument of CNI_ARGS, which are ours.
Json good_argument_name(const Json& value) {
  const std::string_view text = text_in(value);
  return !text.empty() && text.size() <= 64 &&
                 std::all_of(
                     text.begin(), text.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; })
             ? value
             : Json();
}

template <Json (*kGood)(const Json&)>
Result<Json> read_value(const Json& given, const std::string&, const Context&) {
  return kGood(given);
}

template <Json (*kGood)(const Json&), size_t kMax>
Result<Json> read_list(const Json& given, const std::string&, const Context&) {
  if (given.array() == nullptr || given.array()->size() > kMax) return Json();
  Json::Array out;
  for (const Json& item : *given.array()) {
    Json good = kGood(item);
    if (good.is_null()) return Json();
    out.push_back(std::move(good));
  }
  return Json(std::move(out));
}

template <const auto& kFields>
Result<Json> read_map(const Json& given, const std::string& path, const Context& context) {
  if (given.object() == nullptr) return Json();
  return read_fields(given, kFields, path, context);
}

template <Field::Read kRead, size_t kMax>
Result<Json> read_list_of(const Json& given, const std::string& path, const Context& context) {
  if (given.array() == nullptr || given.array()->size() > kMax) return Json();
  Json::Array out;
  for (size_t i = 0; i < given.array()->size(); ++i) {
    auto good = kRead((*given.array())[i], path + "[" + std::to_string(i) + "]", context);
    if (!good || good->is_null()) return good;
    out.push_back(*std::move(good));
  }
  return Json(std::move(out));
}

// ---- sysctls (tuning)

// The sysctls below net that the kubelet considers safe (pkg/kubelet/sysctl/safe_sysctls.go).
constexpr std::array<std::string_view, 11> kSafeSysctls = {"net.ipv4.ip_local_port_range",
                                                           "net.ipv4.tcp_syncookies",
                                                           "net.ipv4.ping_group_range",
                                                           "net.ipv4.ip_unprivileged_port_start",
                                                           "net.ipv4.ip_local_reserved_ports",
                                                           "net.ipv4.tcp_keepalive_time",
                                                           "net.ipv4.tcp_fin_timeout",
                                                           "net.ipv4.tcp_keepalive_intvl",
                                                           "net.ipv4.tcp_keepalive_probes",
                                                           "net.ipv4.tcp_rmem",
                                                           "net.ipv4.tcp_wmem"};
constexpr std::array<std::string_view, 5> kInterfaceSysctls = {
    "net.ipv4.conf.IFNAME.", "net.ipv6.conf.IFNAME.", "net.ipv4.neigh.IFNAME.", "net.ipv6.neigh.IFNAME.",
    "net.mpls.conf.IFNAME."};
constexpr std::string_view kSysctlsWanted =
    "net.ipv4.conf.IFNAME.X, net.ipv6.conf.IFNAME.X, net.ipv4.neigh.IFNAME.X, net.ipv6.neigh.IFNAME.X or "
    "net.mpls.conf.IFNAME.X, or one that the kubelet counts as safe (net.ipv4.ip_local_port_range, "
    "net.ipv4.tcp_syncookies, net.ipv4.ping_group_range, net.ipv4.ip_unprivileged_port_start, "
    "net.ipv4.ip_local_reserved_ports, net.ipv4.tcp_keepalive_time, net.ipv4.tcp_fin_timeout, "
    "net.ipv4.tcp_keepalive_intvl, net.ipv4.tcp_keepalive_probes, net.ipv4.tcp_rmem, net.ipv4.tcp_wmem)";

// Not for a namespace user, as in `network` (kubelet/native_sysctls.cpp): they write to the log of the host,
// use its memory without a bound, or answer for other stations of the network.
constexpr std::array<std::string_view, 9> kForeignSysctls = {
    "log_martians", "unres_qlen", "unres_qlen_bytes", "proxy_qlen",   "max_addresses",
    "proxy_arp",    "proxy_ndp",  "proxy_arp_pvlan",  "bc_forwarding"};

bool is_sysctl_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_sysctl_of_pod(std::string_view name) {
  return std::find(kSafeSysctls.begin(), kSafeSysctls.end(), name) != kSafeSysctls.end() ||
         std::any_of(kInterfaceSysctls.begin(), kInterfaceSysctls.end(), [&](std::string_view start) {
           if (!name.starts_with(start)) return false;
           const std::string_view last = name.substr(start.size());
           return is_sysctl_word(last) &&
                  std::find(kForeignSysctls.begin(), kForeignSysctls.end(), last) == kForeignSysctls.end();
         });
}

// Each part after "net" is a word; an empty part would give "..".
bool is_net_sysctl(std::string_view name) {
  const auto parts = split(name, '.');
  return name.size() <= kTextMax && name.starts_with("net.") &&
         std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return part == "IFNAME" || is_sysctl_word(part); });
}

Result<Json> sysctls(const Json& given, const std::string& path, const Context& context) {
  if (given.object() == nullptr) return Json();
  Json::Object out;
  for (const auto& [name, value] : *given.object()) {
    const bool is_good =
        context.rules.author == Author::kAdministrator ? is_net_sysctl(name) : is_sysctl_of_pod(name);
    if (!is_good)
      return Error{Errc::kInvalid, path + " has " + in_quotes(name, 64) + ": expected " +
                                       std::string(context.rules.author == Author::kAdministrator
                                                       ? "names below net, with \".\" between their parts"
                                                       : kSysctlsWanted)};
    if (good_text(value).is_null())
      return wrong_value(path + "[" + in_quotes(name, 64) + "]", value, "text in one line, such as \"1\"");
    out.emplace_back(name, value);
  }
  return Json(std::move(out));
}

// ---- values of several plugins

constexpr Field kDnsFields[] = {
    {"nameservers", read_list<good_address, 16>, "at most 16 IP addresses"},
    {"domain", read_value<good_text>, "text in one line"},
    {"search", read_list<good_text, 32>, "at most 32 domains"},
    {"options", read_list<good_text, 32>, "at most 32 texts in one line"},
};

constexpr Field kRouteFields[] = {
    {"dst", read_value<good_cidr>, "a network such as 10.0.0.0/8"},
    {"gw", read_value<good_address>, "an IP address"},
    {"mtu", read_value<good_integer<0, 65'535>>, "0 to 65535"},
    {"advmss", read_value<good_integer<0, 65'535>>, "0 to 65535"},
    {"priority", read_value<good_integer<0, 2'147'483'647>>, "0 to 2147483647"},
    {"table", read_value<good_integer<0, 2'147'483'647>>, "0 to 2147483647"},
    {"scope", read_value<good_integer<0, 255>>, "0 to 255"},
};
constexpr Field::Read kRoutes = read_list_of<read_map<kRouteFields>, 256>;
constexpr std::string_view kRoutesWanted = "at most 256 routes: dst, gw, mtu, advmss, priority, table, scope";

constexpr Field kAddressFields[] = {
    {"address", read_value<good_cidr>, "an address with its prefix length, such as 10.0.0.5/24"},
    {"gateway", read_value<good_address>, "an IP address"},
};
constexpr Field::Read kAddresses = read_list_of<read_map<kAddressFields>, 64>;
constexpr std::string_view kAddressesWanted = "at most 64 addresses: address, gateway";

constexpr std::string_view kBoolean = "true or false";
constexpr Field::Read kFlag = read_value<good_boolean>;
constexpr Field::Read kMtu = read_value<good_integer<0, 65'535>>;
constexpr std::string_view kMtuWanted = "0 to 65535";
constexpr std::string_view kMacWanted = "the MAC address of a station, such as 02:00:00:00:00:01";
constexpr std::string_view kPathWanted = "an absolute path without \"..\"";
constexpr Field kMac = {"mac", read_value<good_mac>, kMacWanted, Writer::kAddress, "mac"};
constexpr Field kMtuField = {"mtu", kMtu, kMtuWanted};

constexpr std::array<std::string_view, 3> kOnOff = {"on", "off", ""};
constexpr std::array<std::string_view, 4> kLinkStates = {"auto", "enable", "disable", ""};
constexpr std::array<std::string_view, 4> kVlanProtocols = {"802.1q", "802.1Q", "802.1ad", "802.1AD"};
constexpr std::array<std::string_view, 5> kLogLevels = {"panic", "error", "warning", "info", "debug"};
constexpr std::array<std::string_view, 6> kWhereaboutsLevels = {"panic",   "error", "warning",
                                                                "verbose", "debug", ""};
constexpr std::array<std::string_view, 1> kKubernetes = {"kubernetes"};
constexpr std::array<std::string_view, 4> kMacvlanModes = {"", "bridge", "private", "vepa"};
constexpr std::array<std::string_view, 2> kIpvlanSharedModes = {"", "l2"};
constexpr std::array<std::string_view, 4> kIpvlanModes = {"", "l2", "l3", "l3s"};
constexpr std::array<std::string_view, 2> kMasqueradeBackends = {"iptables", "nftables"};
constexpr std::array<std::string_view, 3> kFirewallBackends = {"", "iptables", "firewalld"};
constexpr std::array<std::string_view, 4> kIngressPolicies = {"", "open", "same-bridge", "isolated"};

// passthru changes the parent's own address and excludes all other interfaces on it.
Result<Json> macvlan_mode(const Json& given, const std::string& path, const Context& context) {
  if (text_in(given) != "passthru") return good_word<kMacvlanModes>(given);
  if (!context.is_shared) return given;
  return wrong_value(path, given, "bridge, private or vepa: passthru takes a device that others have, too");
}

// All ipvlan interfaces of one parent have the mode of the last that was made (ipvlan_set_port_mode), so a
// shared parent has one mode for all authors.
Result<Json> ipvlan_mode(const Json& given, const std::string& path, const Context& context) {
  if (!context.is_shared || !good_word<kIpvlanSharedModes>(given).is_null())
    return good_word<kIpvlanModes>(given);
  return wrong_value(path, given, "l2: the mode is that of all interfaces on a device that others have, too");
}

// macvlan, ipvlan and vlan pass these modes of their interface on to the parent (ndo_change_rx_flags). Its
// driver then receives other stations' frames, too, as long as the pod runs.
Result<Json> receive_mode(const Json& given, const std::string& path, const Context& context) {
  const bool may_change = !context.is_shared || context.rules.author == Author::kAdministrator;
  if (may_change || given != Json(true)) return good_boolean(given);
  return wrong_value(path, given, "false: the device gets the mode as well, and others have it, too");
}

// ---- main plugins

constexpr Field kSriov[] = {
    {"vlan", read_value<good_integer<0, 4'094>>, "0 to 4094", Writer::kSetting, "vlan"},
    {"vlanQoS", read_value<good_integer<0, 7>>, "0 to 7", Writer::kSetting, "vlanQoS"},
    {"vlanProto", read_value<good_word<kVlanProtocols>>, "802.1q or 802.1ad", Writer::kSetting, "vlanProto"},
    {"mac", read_value<good_mac>, kMacWanted, Writer::kSetting, "mac"},
    {"spoofchk", read_value<good_word<kOnOff>>, "on or off", Writer::kSetting, "spoofchk"},
    {"trust", read_value<good_word<kOnOff>>, "on or off", Writer::kSetting, "trust"},
    {"link_state", read_value<good_word<kLinkStates>>, "auto, enable or disable", Writer::kSetting,
     "link_state"},
    {"min_tx_rate", read_value<good_integer<0, 10'000'000>>, "0 to 10000000 (Mbit/s)", Writer::kSetting,
     "min_tx_rate"},
    {"max_tx_rate", read_value<good_integer<0, 10'000'000>>, "0 to 10000000 (Mbit/s)", Writer::kSetting,
     "max_tx_rate"},
    kMtuField,
    {"logLevel", read_value<good_word<kLogLevels>>, "panic, error, warning, info or debug"},
    {"logFile", read_value<good_path>, kPathWanted, Writer::kAdministrator},
};

constexpr Field kIbSriov[] = {
    {"pkey", read_value<good_pkey>, "a partition key such as 0x7fff", Writer::kSetting, "pkey"},
    {"link_state", read_value<good_word<kLinkStates>>, "auto, enable or disable", Writer::kSetting,
     "link_state"},
    {"rdmaIsolation", kFlag, kBoolean},
    // With vfioPciMode no interface is moved, and a companion would change an existing interface of the pod.
    {"vfioPciMode", kFlag, kBoolean, Writer::kAdministrator},
    {"ibKubernetesEnabled", kFlag, kBoolean, Writer::kAdministrator},
    {"kubeconfig", read_value<good_path>, kPathWanted, Writer::kAdministrator},
    {"publishPfGuid", kFlag, kBoolean, Writer::kAdministrator},
};

constexpr Field kMacvlan[] = {
    {"mode", macvlan_mode, "bridge, private, vepa or, for an exclusive device, passthru"},
    kMtuField,
    kMac,
    {"bcqueuelen", read_value<good_integer<0, 1'000>>, "0 to 1000"},
};
constexpr Field kIpvlan[] = {
    {"mode", ipvlan_mode, "l2 or, for an exclusive device, l3 and l3s"},
    kMtuField,
};
constexpr Field kMacvtap[] = {
    {"mode", macvlan_mode, "bridge, private, vepa or, for an exclusive device, passthru"},
    kMtuField,
};
constexpr Field kVlan[] = {
    {"vlanId", read_value<good_integer<0, 4'094>>, "0 to 4094", Writer::kSetting, "vlan"},
    kMtuField,
};

constexpr Field kTrunkFields[] = {
    {"minID", read_value<good_integer<1, 4'094>>, "1 to 4094"},
    {"maxID", read_value<good_integer<1, 4'094>>, "1 to 4094"},
    {"id", read_value<good_integer<1, 4'094>>, "1 to 4094"},
};
constexpr Field kBridge[] = {
    // The MTU of a bridge is the smallest of its ports' (br_mtu_auto_adjust), which affects the host's own
    // address on it.
    {"mtu", kMtu, kMtuWanted, Writer::kListed, "bridge.mtu"},
    {"hairpinMode", kFlag, kBoolean},
    {"portIsolation", kFlag, kBoolean},
    {"enabledad", kFlag, kBoolean},
    {"disableContainerInterface", kFlag, kBoolean},
    {"vlan", read_value<good_integer<0, 4'094>>, "0 to 4094", Writer::kSetting, "vlan"},
    {"vlanTrunk", read_list_of<read_map<kTrunkFields>, 64>, "at most 64 ranges: minID, maxID, id",
     Writer::kSetting, "vlan"},
    {"preserveDefaultVlan", kFlag, kBoolean, Writer::kSetting, "vlan"},
    {"isGateway", kFlag, kBoolean, Writer::kListedHost, "bridge.isGateway"},
    {"isDefaultGateway", kFlag, kBoolean, Writer::kListedHost, "bridge.isGateway"},
    {"forceAddress", kFlag, kBoolean, Writer::kListedHost, "bridge.isGateway"},
    {"ipMasq", kFlag, kBoolean, Writer::kListedHost, "bridge.ipMasq"},
    {"ipMasqBackend", read_value<good_word<kMasqueradeBackends>>, "iptables or nftables", Writer::kListedHost,
     "bridge.ipMasq"},
    {"macspoofchk", kFlag, kBoolean, Writer::kListed, "bridge.macspoofchk"},
    {"promiscMode", kFlag, kBoolean, Writer::kListed, "bridge.promiscMode"},
};

constexpr Field kPtp[] = {
    kMtuField,
    {"ipMasq", kFlag, kBoolean},
    {"ipMasqBackend", read_value<good_word<kMasqueradeBackends>>, "iptables or nftables"},
};

// ---- companions

constexpr Field kTuning[] = {
    {"sysctl", sysctls, "a map of sysctls of the interface"},
    kMac,
    kMtuField,
    {"promisc", receive_mode, kBoolean},
    {"allmulti", receive_mode, kBoolean},
    {"txQLen", read_value<good_integer<0, 100'000>>, "0 to 100000"},
    {"dataDir", read_value<good_path>, kPathWanted, Writer::kAdministrator},
};
constexpr Field kSbr[] = {{"table", read_value<good_integer<1, 2'147'483'647>>, "1 to 2147483647"}};
constexpr Field kVrf[] = {
    {"vrfname", read_value<good_vrf>,
     "a name of 1 to 15 bytes without \"/\", \":\", \"%\" and white space, and not lo, eth0, all or default"},
    {"table", read_value<good_integer<0, 4'294'967'295>>, "0 to 4294967295"},
};
constexpr Field kRouteOverride[] = {
    {"flushroutes", kFlag, kBoolean},      {"flushgateway", kFlag, kBoolean},
    {"delroutes", kRoutes, kRoutesWanted}, {"addroutes", kRoutes, kRoutesWanted},
    {"skipcheck", kFlag, kBoolean},
};

constexpr int64_t kRateMax = 1'000'000'000'000'000;
constexpr Field::Read kRate = read_value<good_integer<0, kRateMax>>;
constexpr std::string_view kRateWanted = "0 to 1000000000000000";
constexpr Field kBandwidth[] = {
    {"ingressRate", kRate, kRateWanted},
    {"ingressBurst", kRate, kRateWanted},
    {"egressRate", kRate, kRateWanted},
    {"egressBurst", kRate, kRateWanted},
};
constexpr Field kPortmap[] = {
    {"snat", kFlag, kBoolean},
    {"backend", read_value<good_word<kMasqueradeBackends>>, "iptables or nftables"},
    {"conditionsV4", read_list<good_text, 64>, "at most 64 texts in one line", Writer::kAdministrator},
    {"conditionsV6", read_list<good_text, 64>, "at most 64 texts in one line", Writer::kAdministrator},
    {"masqAll", kFlag, kBoolean, Writer::kAdministrator},
    {"markMasqBit", read_value<good_integer<0, 31>>, "0 to 31", Writer::kAdministrator},
    {"externalSetMarkChain", read_value<good_text>, "text in one line", Writer::kAdministrator},
};
constexpr Field kFirewall[] = {
    {"backend", read_value<good_word<kFirewallBackends>>, "iptables or firewalld"},
    {"ingressPolicy", read_value<good_word<kIngressPolicies>>, "open, same-bridge or isolated"},
    {"iptablesAdminChainName", read_value<good_text>, "text in one line", Writer::kAdministrator},
    {"firewalldZone", read_value<good_text>, "text in one line", Writer::kAdministrator},
};

constexpr std::span<const Field> kNoFields = {};
constexpr PluginFields kPlugins[] = {
    {"sriov", Use::kMain, kSriov, "", true, true},
    {"ib-sriov", Use::kMain, kIbSriov, "", true, true},
    {"host-device", Use::kMain, kNoFields, "device", true, true},
    {"macvlan", Use::kMain, kMacvlan, "master", false, true},
    {"ipvlan", Use::kMain, kIpvlan, "master", false, true},
    {"macvtap", Use::kMain, kMacvtap, "master", false, true},
    {"vlan", Use::kMain, kVlan, "master", false, true},
    {"ipoib", Use::kMain, kNoFields, "master", false, true},
    {"bridge", Use::kMain, kBridge, "bridge", false, true},
    {"tuning", Use::kCompanion, kTuning},
    {"sbr", Use::kCompanion, kSbr},
    {"vrf", Use::kCompanion, kVrf},
    {"route-override", Use::kCompanion, kRouteOverride},
    {"rdma", Use::kCompanion, kNoFields, "", true},
    {"ptp", Use::kHost, kPtp, "", false, true, true},
    {"bandwidth", Use::kHost, kBandwidth},
    {"portmap", Use::kHost, kPortmap},
    {"firewall", Use::kHost, kFirewall, "", false, false, true},
};

// ---- IPAM plugins

constexpr Field kStatic[] = {
    {"addresses", kAddresses, kAddressesWanted},
    {"routes", kRoutes, kRoutesWanted},
    {"dns", read_map<kDnsFields>, "a map: nameservers, domain, search, options"},
};

constexpr Field kHostLocalRange[] = {
    {"subnet", read_value<good_cidr>, "a network such as 10.0.0.0/24"},
    {"rangeStart", read_value<good_address>, "an IP address"},
    {"rangeEnd", read_value<good_address>, "an IP address"},
    {"gateway", read_value<good_address>, "an IP address"},
};
constexpr Field kHostLocal[] = {
    kHostLocalRange[0],
    kHostLocalRange[1],
    kHostLocalRange[2],
    kHostLocalRange[3],
    {"ranges", read_list_of<read_list_of<read_map<kHostLocalRange>, 64>, 64>,
     "lists of ranges: subnet, rangeStart, rangeEnd, gateway"},
    {"routes", kRoutes, kRoutesWanted},
    {"dataDir", read_value<good_path>, kPathWanted, Writer::kAdministrator},
    {"resolvConf", read_value<good_path>, kPathWanted, Writer::kAdministrator},
};

constexpr Field kWhereaboutsRange[] = {
    {"range", read_value<good_range>,
     "a network such as 10.0.0.0/24, or 10.0.0.5-10.0.0.20/24, and not one of all addresses"},
    {"range_start", read_value<good_address>, "an IP address"},
    {"range_end", read_value<good_address>, "an IP address"},
    {"exclude", read_excluded,
     "at most 256 networks such as 10.0.0.0/30 with 65536 addresses together; range_start and range_end leave out more"},
};
constexpr Field kKubernetesFields[] = {
    {"kubeconfig", read_value<good_path>, kPathWanted},
    {"k8s_api_root", read_value<good_text>, "text in one line"},
};
constexpr Field kWhereabouts[] = {
    kWhereaboutsRange[0],
    kWhereaboutsRange[1],
    kWhereaboutsRange[2],
    kWhereaboutsRange[3],
    {"ipRanges", read_list_of<read_map<kWhereaboutsRange>, 64>,
     "at most 64 of range, range_start, range_end, exclude"},
    {"gateway", read_value<good_address>, "an IP address"},
    {"routes", kRoutes, kRoutesWanted},
    {"addresses", kAddresses, kAddressesWanted},
    {"dns", read_map<kDnsFields>, "a map: nameservers, domain, search, options"},
    {"enable_overlapping_ranges", kFlag, kBoolean},
    {"datastore", read_value<good_word<kKubernetes>>, "kubernetes"},
    {"log_level", read_value<good_word<kWhereaboutsLevels>>, "panic, error, warning, verbose or debug"},
    {"node_slice_size", read_value<good_text>, "text in one line", Writer::kAdministrator},
    {"network_name", read_value<good_text>, "text in one line", Writer::kAdministrator},
    {"log_file", read_value<good_path>, kPathWanted, Writer::kAdministrator},
    {"configuration_path", read_value<good_path>, kPathWanted, Writer::kAdministrator},
    {"kubernetes", read_map<kKubernetesFields>, "a map: kubeconfig, k8s_api_root", Writer::kAdministrator},
    {"leader_lease_duration", read_value<good_integer<0, 3'600'000>>, "0 to 3600000", Writer::kAdministrator},
    {"leader_renew_deadline", read_value<good_integer<0, 3'600'000>>, "0 to 3600000", Writer::kAdministrator},
    {"leader_retry_period", read_value<good_integer<0, 3'600'000>>, "0 to 3600000", Writer::kAdministrator},
    {"sleep_for_race", read_value<good_integer<0, 60>>, "0 to 60", Writer::kAdministrator},
};

constexpr Field kDhcpProvide[] = {
    {"option", read_value<good_dhcp_option>, "the name or the number of a DHCP option"},
    {"value", read_value<good_text>, "text in one line"},
    {"fromArg", read_value<good_argument_name>, "the name of an argument, such as K8S_POD_NAME"},
};
constexpr Field kDhcpRequest[] = {
    {"option", read_value<good_dhcp_option>, "the name or the number of a DHCP option"},
    {"skipDefault", kFlag, kBoolean},
};
constexpr Field kDhcp[] = {
    {"provide", read_list_of<read_map<kDhcpProvide>, 64>, "at most 64 options: option, value, fromArg"},
    {"request", read_list_of<read_map<kDhcpRequest>, 64>, "at most 64 options: option, skipDefault"},
    {"priority", read_value<good_integer<0, 2'147'483'647>>, "0 to 2147483647"},
    {"daemonSocketPath", read_value<good_path>, kPathWanted, Writer::kAdministrator},
};

constexpr PluginFields kIpamPlugins[] = {
    {"static", Use::kMain, kStatic},
    {"host-local", Use::kMain, kHostLocal},
    {"whereabouts", Use::kMain, kWhereabouts},
    {"dhcp", Use::kMain, kDhcp},
};

constexpr Field kCommon[] = {{"dns", read_map<kDnsFields>, "a map: nameservers, domain, search, options"}};

constexpr std::array<std::string_view, 10> kVfSettings = {
    "vlan",       "vlanQoS",     "vlanProto",   "trust", "spoofchk",
    "link_state", "min_tx_rate", "max_tx_rate", "mac",   "pkey"};
constexpr std::array<std::string_view, 2> kCapabilities = {"mac", "infinibandGUID"};

// They name a device, an interface of the host or another plugin's input, at any depth.
constexpr std::array<std::string_view, 14> kSelectors = {
    "device",        "hwaddr",     "kernelpath", "pciBusID",  "deviceID", "master", "bridge",
    "runtimeConfig", "prevResult", "args",       "delegates", "delegate", "ipam",   "plugins"};
// Set by us or by libcni, or read before a plugin runs.
constexpr std::array<std::string_view, 7> kEnvelope = {
    "type", "name", "cniVersion", "cniVersions", "capabilities", "disableCheck", "disableGC"};

// By the folded form. A name with two spellings in the tables would be refused in one of them; no such name
// exists.
using Reserved = std::map<std::string, std::string_view, std::less<>>;

void add_names(std::span<const Field> fields, Reserved& out) {
  for (const Field& field : fields) out.emplace(folded_key(field.name), field.name);
}

Reserved reserved_names() {
  Reserved out;
  for (const auto& names :
       {std::span<const std::string_view>(kSelectors), std::span<const std::string_view>(kEnvelope)})
    for (const std::string_view name : names) out.emplace(folded_key(name), name);
  for (const auto& plugins :
       {std::span<const PluginFields>(kPlugins), std::span<const PluginFields>(kIpamPlugins)})
    for (const PluginFields& plugin : plugins) add_names(plugin.fields, out);
  for (const std::span<const Field> fields :
       {std::span<const Field>(kDnsFields), std::span<const Field>(kRouteFields),
        std::span<const Field>(kAddressFields), std::span<const Field>(kTrunkFields),
        std::span<const Field>(kHostLocalRange), std::span<const Field>(kWhereaboutsRange),
        std::span<const Field>(kKubernetesFields), std::span<const Field>(kDhcpProvide),
        std::span<const Field>(kDhcpRequest)})
    add_names(fields, out);
  return out;
}

bool is_of_administrators(std::string_view key) {
  const auto has = [&](std::span<const PluginFields> plugins) {
    return std::any_of(plugins.begin(), plugins.end(), [&](const PluginFields& plugin) {
      return std::any_of(plugin.fields.begin(), plugin.fields.end(), [&](const Field& field) {
        return field.writer == Writer::kAdministrator && field.name == key;
      });
    });
  };
  return has(kPlugins) || has(kIpamPlugins);
}

// Fields of plugins without a table that require a permission.
constexpr Field kOfOthers[] = {
    // accelerated-bridge, ovs
    {"trunk", kFlag, kBoolean, Writer::kSetting, "vlan"},
    {"setUplinkVlan", kFlag, kBoolean, Writer::kSetting, "vlan"},
};

constexpr std::string_view kNamedByClass = "have a DeviceClass name a definition of another namespace";

// Returns the VLANs of a field that counts as the setting vlan: a number, or a trunk's list. `true` keeps the
// bridge's own VLANs, which are unknown here.
VlanIds vlans_of(const Json& value) {
  VlanIds out;
  const auto add = [&](const std::string& text) {
    const auto ids = VlanIds::decode(text);
    out |= ids ? *ids : VlanIds::all();  // another check, or this one, refuses a value that is not a VLAN
  };
  if (value.array() == nullptr && value != Json(false)) add(kube::encode_json(value));
  for (const Json& one : value.array() != nullptr ? *value.array() : Json::Array{}) {
    const Json *first = one.find("minID"), *last = one.find("maxID"), *id = one.find("id");
    if (first != nullptr || last != nullptr)
      add((first != nullptr ? kube::encode_json(*first) : "") + "-" +
          (last != nullptr ? kube::encode_json(*last) : ""));
    if (id != nullptr) add(kube::encode_json(*id));
    // A plugin without a table of fields may have a list of another form.
    const size_t known = (first != nullptr) + (last != nullptr) + (id != nullptr);
    if (one.object() == nullptr || one.object()->size() != known) add("");
  }
  return out;
}

Result<Unit> may_set(std::string_view setting, const Json& value, const std::string& path,
                     const Context& context) {
  const DefinitionRules& rules = context.rules;
  if (rules.author == Author::kAdministrator || !rules.settings) return Unit{};
  const bool is_listed =
      std::find(rules.settings->begin(), rules.settings->end(), setting) != rules.settings->end();
  const VlanIds vlans = is_listed && setting == "vlan" ? vlans_of(value) : VlanIds();
  if (is_listed && rules.vlans.contains_all(vlans)) return Unit{};
  return Error{Errc::kInvalid,
               path + " is " + shown(value) + ", and " + rules.settings_source +
                   " allows a definition to set " +
                   (rules.settings->empty() ? (context.is_shared ? "no VLAN" : "nothing")
                                            : join(with_vlan_ids(*rules.settings, rules.vlans), ", ")) +
                   (context.is_shared ? "" : " through the PF") + ": leave it out, or have " +
                   (is_listed ? join(with_vlan_ids({"vlan"}, vlans), ", ") : std::string(setting)) +
                   " added to spec.allow of each policy that matches the device"};
}

// A shared link delivers frames by address. With macvlan and bridge, a pod with the gateway's address would
// receive the traffic to the gateway.
Result<Unit> may_set_address(const Json& value, const std::string& path, const Context& context) {
  if (!context.is_shared || context.rules.author == Author::kAdministrator)
    return may_set("mac", value, path, context);
  return Error{
      Errc::kInvalid,
      path + " is " + shown(value) +
          ", and the device is shared: a pod with the MAC address of another station or of the gateway receives its traffic. Remove it, so that the kernel assigns an address, or " +
          std::string(kNamedByClass)};
}

Result<Unit> may_use(std::string_view feature, const Json& value, const std::string& path,
                     const DefinitionRules& rules) {
  if (rules.lists(feature)) return Unit{};
  return Error{Errc::kInvalid, path + " is " + shown(value) +
                                   ", which changes the host: leave it out, or have " + std::string(feature) +
                                   " added to " + rules.plugins_source};
}

Result<Unit> may_write(const Field& field, const Json& value, const std::string& path,
                       const Context& context) {
  const DefinitionRules& rules = context.rules;
  // A value that switches a feature off requires no permission.
  const bool is_off = value.boolean() != nullptr && !*value.boolean();
  switch (field.writer) {
    case Writer::kAuthor:
      break;
    case Writer::kSetting:
      return may_set(field.condition, value, path, context);
    case Writer::kAddress:
      return may_set_address(value, path, context);
    case Writer::kListed:
      return is_off ? Unit{} : may_use(field.condition, value, path, rules);
    case Writer::kListedHost:
      if (is_off) break;
      if (auto listed = may_use(field.condition, value, path, rules); !listed) return listed;
      if (rules.author == Author::kAdministrator) break;
      return Error{Errc::kInvalid,
                   path + " is " + shown(value) +
                       ", by which the host gets addresses or rules from ipam: leave it out, or " +
                       std::string(kNamedByClass)};
    case Writer::kAdministrator:
      if (rules.author == Author::kAdministrator) break;
      return Error{Errc::kInvalid, path + " is " + shown(value) +
                                       ", and only an administrator sets it: leave it out, or " +
                                       std::string(rules.by_administrator)};
  }
  return Unit{};
}

}  // namespace

bool DefinitionRules::lists(std::string_view name) const {
  return !plugins || std::find(plugins->begin(), plugins->end(), name) != plugins->end();
}

const PluginFields* plugin_fields(std::string_view type) {
  for (const PluginFields& one : all_plugins())
    if (one.type == type) return &one;
  return nullptr;
}

const PluginFields* ipam_fields(std::string_view type) {
  for (const PluginFields& one : all_ipam_plugins())
    if (one.type == type) return &one;
  return nullptr;
}

std::span<const PluginFields> all_plugins() { return kPlugins; }
std::span<const PluginFields> all_ipam_plugins() { return kIpamPlugins; }
std::span<const Field> common_fields() { return kCommon; }
std::span<const std::string_view> vf_settings() { return kVfSettings; }
std::span<const std::string_view> capability_names() { return kCapabilities; }

Result<Unit> check_capability(std::string_view capability, const kube::Json& wanted,
                              const FieldContext& context) {
  const bool is_asked = capability == "mac" && wanted != kube::Json(false) && !wanted.is_null();
  return is_asked ? may_set_address(wanted, "capabilities.mac", context) : Unit{};
}

Error wrong_value(const std::string& path, const kube::Json& value, std::string_view wanted) {
  return {Errc::kInvalid, path + " is " + shown(value) + ": expected " + std::string(wanted)};
}

Error unknown_field(const std::string& path, std::string_view key, const std::vector<std::string_view>& known,
                    std::string_view of) {
  const std::string near = nearest(key, known);
  std::vector<std::string> all(known.begin(), known.end());
  return {Errc::kInvalid, path + (path.empty() ? "" : ".") + escaped(key, 64) +
                              " is not a field that a definition may set" +
                              (of.empty() ? "" : " for plugin " + std::string(of)) +
                              (near.empty() ? "" : "; did you mean " + near + "?") + ": expected " +
                              (all.empty() ? "none" : "only " + join(all, ", "))};
}

Result<kube::Json> read_fields(const kube::Json& object, std::span<const Field> fields,
                               const std::string& path, const FieldContext& context) {
  kube::Json::Object out;
  for (const auto& [key, value] : *object.object()) {
    const auto field =
        std::find_if(fields.begin(), fields.end(),
                     [&, name = std::string_view(key)](const Field& one) { return one.name == name; });
    if (field == fields.end()) {
      std::vector<std::string_view> known;
      for (const Field& one : fields)
        if (one.writer != Field::Writer::kAdministrator || context.rules.author == Author::kAdministrator)
          known.push_back(one.name);
      return unknown_field(path, key, known, context.plugin);
    }
    if (value.is_null()) continue;
    const std::string place = path + (path.empty() ? "" : ".") + key;
    if (auto allowed = may_write(*field, value, place, context); !allowed) return std::move(allowed.error());
    auto good = field->read(value, place, context);
    if (!good) return good;
    if (good->is_null()) return wrong_value(place, value, field->wanted);
    out.emplace_back(key, *std::move(good));
  }
  return kube::Json(std::move(out));
}

const Field* permitted_field(std::string_view key) {
  const Field* out = nullptr;
  for (const Field& field : kOfOthers)
    if (field.name == key) return &field;
  for (const PluginFields& plugin : kPlugins)
    for (const Field& field : plugin.fields) {
      if (field.name != key) continue;
      if (field.writer == Writer::kAuthor && plugin.use != Use::kHost) return nullptr;
      if (field.writer != Writer::kAuthor && out == nullptr) out = &field;
    }
  return out;
}

Result<kube::Json> read_free(const kube::Json& value, const std::string& path, const FieldContext& context) {
  if (value.string() != nullptr && context.rules.author != Author::kAdministrator)
    return Error{
        Errc::kInvalid,
        path + " is text, which may name an interface, a path or a program of the host, and " +
            in_quotes(context.plugin, 64) +
            " is a plugin without a table of fields: expected true, false or a number, or have a DeviceClass "
            "name a definition of another namespace"};
  if (value.string() != nullptr)
    return is_printable(*value.string(), kFreeTextMax)
               ? Result<Json>(value)
               : wrong_value(path, value, "text without control characters");
  if (value.array() != nullptr) {
    Json::Array out;
    for (size_t i = 0; i < value.array()->size(); ++i) {
      auto good = read_free((*value.array())[i], path + "[" + std::to_string(i) + "]", context);
      if (!good) return good;
      out.push_back(*std::move(good));
    }
    return Json(std::move(out));
  }
  if (value.object() == nullptr) return value;
  Json::Object out;
  for (const auto& [key, item] : *value.object()) {
    const std::string place = path + (path.empty() ? "" : ".") + escaped(key, 64);
    const bool is_administrators = context.rules.author == Author::kAdministrator;
    const bool is_delegate = key == "delegates" || key == "delegate";
    if (std::find(kSelectors.begin(), kSelectors.end(), key) != kSelectors.end() &&
        !(is_delegate && is_administrators))
      return Error{Errc::kInvalid,
                   place + " is set by sliced, or would name another device or plugin: leave it out"};
    if (is_of_administrators(key) && !is_administrators)
      return Error{Errc::kInvalid,
                   place +
                       " is a path or a store, and only an administrator sets it: leave it out, "
                       "or have a DeviceClass name a definition of another namespace"};
    if (item.is_null()) continue;
    if (const Field* field = permitted_field(key); field != nullptr && !is_administrators)
      if (auto allowed = may_write(*field, item, place, context); !allowed) return std::move(allowed.error());
    auto good = read_free(item, place, context);
    if (!good) return good;
    out.emplace_back(key, *std::move(good));
  }
  return Json(std::move(out));
}

Result<Unit> check_excluded(const kube::Json& ipam) {
  int64_t addresses = 0;
  const auto add = [&](const Json& range) {
    const Json* excluded = range.find("exclude");
    if (excluded != nullptr && excluded->array() != nullptr)
      addresses += addresses_of(*excluded->array()).value_or(kExcludedAddressesMax + 1);
  };
  add(ipam);
  const Json* ranges = ipam.find("ipRanges");
  for (const Json& range : ranges != nullptr && ranges->array() != nullptr ? *ranges->array() : Json::Array{})
    add(range);
  if (addresses <= kExcludedAddressesMax) return Unit{};
  return Error{Errc::kInvalid, "exclude of all ranges has " + std::to_string(addresses) +
                                   " addresses: expected at most " + std::to_string(kExcludedAddressesMax) +
                                   " together; range_start and range_end leave out more"};
}

std::string folded_key(std::string_view key) {
  // unicode.SimpleFold: these two are the only runes beside ASCII letters that fold to one.
  constexpr std::string_view kLongS = "\xc5\xbf", kKelvin = "\xe2\x84\xaa";  // U+017F, U+212A
  std::string out;
  for (size_t i = 0; i < key.size();) {
    const std::string_view rest = key.substr(i);
    if (rest.starts_with(kLongS)) {
      out += 's';
      i += kLongS.size();
    } else if (rest.starts_with(kKelvin)) {
      out += 'k';
      i += kKelvin.size();
    } else {
      out += lower(rest.substr(0, 1));
      ++i;
    }
  }
  return out;
}

std::string_view reserved_spelling(std::string_view key) {
  static const Reserved kReserved = reserved_names();
  const auto at = kReserved.find(folded_key(key));
  return at == kReserved.end() ? "" : at->second;
}

Result<Unit> check_keys(const kube::Json& value, const std::string& path) {
  if (value.array() != nullptr)
    for (size_t i = 0; i < value.array()->size(); ++i)
      if (auto good = check_keys((*value.array())[i], path + "[" + std::to_string(i) + "]"); !good)
        return good;
  if (value.object() == nullptr) return Unit{};
  std::map<std::string, std::string_view> seen;  // by its folded form
  for (const auto& [key, member] : *value.object()) {
    const std::string place = path + (path.empty() ? "" : ".") + escaped(key, 64);
    const std::string_view meant = reserved_spelling(key);
    const auto [first, is_new] = seen.emplace(folded_key(key), key);
    if (!is_new)
      return Error{Errc::kInvalid, place + " and " + in_quotes(first->second, 64) +
                                       " are one field to a CNI plugin, which ignores case: write it once" +
                                       (meant.empty() ? "" : ", as " + std::string(meant))};
    if (!meant.empty() && meant != key)
      return Error{Errc::kInvalid,
                   place + " differs in case from the field that a CNI plugin reads it as: expected " +
                       std::string(meant)};
    if (key.empty() || std::any_of(key.begin(), key.end(), [](char c) { return c < ' ' || c > '~'; }))
      return Error{Errc::kInvalid,
                   place +
                       " has a character that is not printable ASCII: expected letters, digits and "
                       "punctuation of ASCII"};
    if (auto good = check_keys(member, place); !good) return good;
  }
  return Unit{};
}

}  // namespace sliced::cni
