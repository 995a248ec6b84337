#include "kubelet/interfaces/host_addresses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/objects/json.h"
#include "kubelet/cni/network.h"
#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

// Decodes "10.0.0.1" and "10.0.0.1/24". Go treats an IPv4-mapped IPv6 address as an IPv4 address.
std::optional<IpAddress> address_in(std::string_view text) {
  const auto address = IpAddress::decode(text.substr(0, text.find('/')));
  return address ? std::optional(address->unmapped()) : std::nullopt;
}

struct Range {
  IpAddress first, last;
};

std::optional<Range> network_in(std::string_view cidr) {
  auto prefix = IpPrefix::decode(cidr);
  if (!prefix) return std::nullopt;
  prefix->address = prefix->address.unmapped();
  if (prefix->length > prefix->address.bits()) return std::nullopt;
  return Range{prefix->first(), prefix->last()};
}

const IpAddress& last_of_all() {
  static const IpAddress kLast = *IpAddress::decode("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
  return kLast;
}

// The name of the interface by its address.
using Hosts = std::map<IpAddress, std::string>;

Hosts hosts_of(const std::vector<HostAddress>& all) {
  Hosts out;
  for (const HostAddress& one : all)
    if (const auto address = address_in(one.address)) out.emplace(*address, one.interface);
  return out;
}

std::string remedy(const IpAddress& address, const Hosts& hosts) {
  return "which the host has itself (interface " + escaped(hosts.at(address)) +
         "): use another address, or a definition of an administrator's (netAttachDefNamespace of a "
         "DeviceClass)";
}

// Limits the growth of a definition. A node may have thousands of addresses (kube-proxy in mode ipvs adds
// each Service's to an interface), and a definition many ranges over all of them.
class Room {
 public:
  explicit Room(size_t bytes) : left_(bytes) {}

  Result<Unit> take(const Json& added, const std::string& path) {
    constexpr size_t kComma = 1;
    const size_t size = kube::encode_json(added).size() + kComma;
    if (size > left_)
      return Error{
          Errc::kTooLarge,
          path + " has too many addresses of the host: without them the definition would have more than " +
              std::to_string(cni::kConfigBytesMax) +
              " bytes. Use fewer or smaller ranges, or a network in which the host has fewer addresses"};
    left_ -= size;
    return Unit{};
  }

 private:
  size_t left_;
};

// host-local cannot exclude addresses, but accepts several ranges of one subnet. Its first and last address
// without range_start and range_end: Range.Canonicalize(). Values that the plugin refuses stay unchanged.
Result<Json::Array> parts_of(const Json& range, const std::string& path, const Hosts& hosts, Room& room) {
  const auto subnet = network_in(range.text("subnet"));
  if (!subnet) return Json::Array{range};
  const auto end_at = [&](std::string_view key, const IpAddress& otherwise) {
    return range.text(key).empty() ? std::optional(otherwise) : address_in(range.text(key));
  };
  const auto first = end_at("rangeStart", subnet->first.next());
  const auto last = end_at("rangeEnd", subnet->last.is_ipv6() ? subnet->last : subnet->last.previous());
  if (!first || !last || *first > *last) return Json::Array{range};
  Json::Array out;
  const auto add = [&](const IpAddress& from, const IpAddress& to) -> Result<Unit> {
    if (from > to) return Unit{};
    Json part = range;
    part.set("rangeStart", Json(from.text()));
    part.set("rangeEnd", Json(to.text()));
    auto added = room.take(part, path);
    if (added) out.push_back(std::move(part));
    return added;
  };
  IpAddress from = *first;
  const auto begin = hosts.lower_bound(*first), end = hosts.upper_bound(*last);
  if (begin == end) return Json::Array{range};
  bool is_at_end = false;
  for (auto at = begin; at != end; ++at) {
    if (from < at->first)
      if (auto added = add(from, at->first.previous()); !added) return std::move(added.error());
    from = at->first.next();
    is_at_end = at->first == *last;
  }
  if (!is_at_end)
    if (auto added = add(from, *last); !added) return std::move(added.error());
  if (out.empty())
    return Error{Errc::kInvalid, path + " has no address but " + first->text() +
                                     (*first == *last ? "" : " to " + last->text()) + ", " +
                                     remedy(*first, hosts)};
  return out;
}

bool is_set(const Json& map, std::string_view key) { return !map.text(key).empty(); }

Result<Unit> keep_host_local(Json& ipam, const std::string& path, const Hosts& hosts, Room& room) {
  Json::Array sets;
  if (is_set(ipam, "subnet")) {  // the plugin puts it before the others
    auto parts = parts_of(ipam, path, hosts, room);
    if (!parts) return std::move(parts.error());
    if (parts->size() != 1 || parts->front() != ipam) {
      Json::Array set;
      for (const Json& part : *parts) {
        Json range{Json::Object{}};
        for (const char* key : {"subnet", "rangeStart", "rangeEnd", "gateway"})
          if (const Json* value = part.find(key)) range.set(key, *value);
        set.push_back(std::move(range));
      }
      sets.push_back(Json(std::move(set)));
      Json::Object rest;
      for (const auto& member : *ipam.object())
        if (member.first != "subnet" && member.first != "rangeStart" && member.first != "rangeEnd" &&
            member.first != "gateway")
          rest.push_back(member);
      ipam = Json(std::move(rest));
    }
  }
  const Json* ranges = ipam.find("ranges");
  const Json::Array given =
      ranges != nullptr && ranges->array() != nullptr ? *ranges->array() : Json::Array{};
  for (size_t i = 0; i < given.size(); ++i) {
    Json::Array set;
    for (size_t j = 0; given[i].array() != nullptr && j < given[i].array()->size(); ++j) {
      auto parts =
          parts_of((*given[i].array())[j],
                   path + ".ranges[" + std::to_string(i) + "][" + std::to_string(j) + "]", hosts, room);
      if (!parts) return std::move(parts.error());
      set.insert(set.end(), parts->begin(), parts->end());
    }
    sets.push_back(Json(std::move(set)));
  }
  if (!sets.empty()) ipam.set("ranges", Json(std::move(sets)));
  return Unit{};
}

// Returns the range that whereabouts searches. Releases before 0.6.2 also search outside the network: from
// range_start to range_end, to the last address of all if these are reversed, and to the end of a network
// around range_start without range_end.
std::optional<Range> looked_at(const Json& range) {
  const std::string_view text = range.text("range");
  const size_t dash = text.find('-');
  auto out = network_in(dash == std::string_view::npos ? text : text.substr(dash + 1));
  if (!out || dash != std::string_view::npos) return out;
  const auto start = address_in(range.text("range_start")), end = address_in(range.text("range_end"));
  const IpAddress first = start.value_or(out->first);
  if (end && first > *end) {
    out->last = last_of_all();
  } else if (end) {
    out->last = std::max(out->last, *end);
  } else if (start) {
    const auto around = network_in(start->text() + std::string(text.substr(text.find('/'))));
    out->last = std::max(out->last, around ? around->last : *start);
  }
  out->first = std::min(out->first, first);
  return out;
}

// "10.0.0.0/24", "10.0.0.5-10.0.0.20/24".
Result<Unit> exclude_from(Json& range, const std::string& path, const Hosts& hosts, Room& room) {
  const auto looked = looked_at(range);
  if (!looked) return Unit{};
  const Json* given = range.find("exclude");
  Json::Array out = given != nullptr && given->array() != nullptr ? *given->array() : Json::Array{};
  const size_t before = out.size();
  for (auto at = hosts.lower_bound(looked->first); at != hosts.end() && at->first <= looked->last; ++at) {
    Json one(at->first.text() + (at->first.is_ipv6() ? "/128" : "/32"));
    if (auto added = room.take(one, path); !added) return added;
    out.push_back(std::move(one));
  }
  if (out.size() > before) range.set("exclude", Json(std::move(out)));
  return Unit{};
}

Result<Unit> keep_whereabouts(Json& ipam, const std::string& path, const Hosts& hosts, Room& room) {
  if (auto kept = exclude_from(ipam, path + ".range", hosts, room); !kept) return kept;
  const Json* ranges = ipam.find("ipRanges");
  if (ranges == nullptr || ranges->array() == nullptr) return Unit{};
  Json::Array out = *ranges->array();
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].object() != nullptr)
      if (auto kept = exclude_from(out[i], path + ".ipRanges[" + std::to_string(i) + "]", hosts, room); !kept)
        return kept;
  ipam.set("ipRanges", Json(std::move(out)));
  return Unit{};
}

Result<Unit> keep_ipam(Json& ipam, const std::string& path, const Hosts& hosts, Room& room) {
  const Json* addresses = ipam.find("addresses");
  if (addresses != nullptr && addresses->array() != nullptr)
    for (size_t i = 0; i < addresses->array()->size(); ++i) {
      const std::string_view text = (*addresses->array())[i].text("address");
      if (const auto address = address_in(text); address && hosts.contains(*address))
        return Error{Errc::kInvalid, path + ".addresses[" + std::to_string(i) + "].address is " +
                                         in_quotes(text, 64) + ", " + remedy(*address, hosts)};
    }
  if (ipam.text("type") == "host-local") return keep_host_local(ipam, path, hosts, room);
  if (ipam.text("type") == "whereabouts") return keep_whereabouts(ipam, path, hosts, room);
  return Unit{};
}

Result<Unit> keep_plugin(Json& plugin, const std::string& path, const Hosts& hosts, Room& room) {
  const Json* given = plugin.find("ipam");
  if (given == nullptr || given->object() == nullptr) return Unit{};
  Json ipam = *given;
  if (auto kept = keep_ipam(ipam, path + "ipam", hosts, room); !kept) return kept;
  plugin.set("ipam", std::move(ipam));
  return Unit{};
}

Result<Unit> keep_config(cni::Record& record, const Hosts& hosts) {
  auto config = kube::decode_json(record.config);
  if (!config) return std::move(config.error());
  Room room(cni::kConfigBytesMax - std::min(cni::kConfigBytesMax, record.config.size()));
  const Json* list = config->find("plugins");
  if (list == nullptr || list->array() == nullptr) {
    if (auto kept = keep_plugin(*config, "", hosts, room); !kept) return kept;
  } else {
    Json::Array plugins = *list->array();
    for (size_t i = 0; i < plugins.size(); ++i)
      if (auto kept = keep_plugin(plugins[i], "plugins[" + std::to_string(i) + "].", hosts, room); !kept)
        return kept;
    config->set("plugins", Json(std::move(plugins)));
  }
  record.config = kube::encode_json(*config);
  return Unit{};
}

// Returns the addresses to check; nullopt if the record requires no check.
Result<std::optional<Hosts>> hosts_for(const cni::Record& record, const ReadHostAddresses& read) {
  if (record.users_definition.empty() || !read) return std::optional<Hosts>();
  auto all = read();
  if (!all) return std::move(all.error()).in("the host's IP addresses are not known");
  return std::optional(hosts_of(*all));
}

}  // namespace

bool is_same_address(std::string_view a, std::string_view b) {
  const auto one = address_in(a), other = address_in(b);
  return one && one == other;
}

Result<Unit> exclude_host_addresses(cni::Record& record, const ReadHostAddresses& read) {
  const auto hosts = hosts_for(record, read);
  if (!hosts) return hosts.error();
  if (!*hosts) return Unit{};
  auto kept = keep_config(record, **hosts);
  if (!kept) return std::move(kept.error()).in(record.users_definition + ": spec.config");
  return Unit{};
}

// Interfaces on the host's side have no sandbox.
Result<Unit> check_result_addresses(const cni::Record& record, const ReadHostAddresses& read) {
  if (!record.result || record.result->ips.empty()) return Unit{};
  const auto hosts = hosts_for(record, read);
  if (!hosts) return hosts.error();
  if (!*hosts) return Unit{};
  const auto& interfaces = record.result->interfaces;
  for (const cni::Ip& ip : record.result->ips) {
    const auto index = static_cast<size_t>(ip.interface.value_or(-1));
    if (index < interfaces.size() && interfaces[index].sandbox.empty()) continue;
    if (const auto address = address_in(ip.address); address && (*hosts)->contains(*address))
      return Error{Errc::kInvalid, record.users_definition + ": spec.config: ipam gave interface " +
                                       escaped(record.attachment.interface) + " the address " +
                                       in_quotes(ip.address, 64) + ", " + remedy(*address, **hosts)};
  }
  return Unit{};
}

}  // namespace sliced::kubelet
