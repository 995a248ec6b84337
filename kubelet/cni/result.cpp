#include "kubelet/cni/result.h"

#include <algorithm>
#include <utility>

#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::cni {
namespace {

using kube::Json;

constexpr size_t kInterfacesMax = 64, kRoutesMax = 1'024, kDnsMax = 64;
constexpr size_t kErrorTextMax = 1'024;
constexpr kube::JsonLimits kResultLimits{.size_max = kResultBytesMax, .depth_max = 16, .nodes_max = 20'000};

Error wrong_in_result(std::string_view field, const std::string& what) {
  return {Errc::kInvalid, "the result's " + std::string(field) + " " + what};
}

// Reads members of one object; the first that is wrong is kept.
class Reader {
 public:
  Reader(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (object.object() == nullptr) fail("", "is a " + std::string(object.kind_name()) + ", expected a map");
  }
  std::string text(std::string_view key) {
    const Json* member = find(key);
    if (member == nullptr) return "";
    if (member->string() == nullptr) {
      fail(key, "is not a string");
      return "";
    }
    return *member->string();
  }
  std::optional<int64_t> number(std::string_view key) {
    const Json* member = find(key);
    if (member == nullptr) return std::nullopt;
    if (member->integer() == nullptr) fail(key, "is not an integer");
    return member->integer() ? std::optional(*member->integer()) : std::nullopt;
  }
  // Reads the items of a list, each with its position; at most `max`.
  template <class Take>
  void each(std::string_view key, size_t max, Take take) {
    const Json* member = find(key);
    if (member == nullptr) return;
    if (member->array() == nullptr) return fail(key, "is not a list");
    if (member->array()->size() > max) return fail(key, "has more than " + std::to_string(max) + " items");
    for (size_t i = 0; i < member->array()->size() && !error_; ++i)
      take((*member->array())[i], at(key) + "[" + std::to_string(i) + "]");
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> all;
    each(key, kDnsMax, [&](const Json& item, const std::string&) {
      if (item.string() == nullptr) return fail(key, "has an item that is not a string");
      all.push_back(*item.string());
    });
    return all;
  }
  // Accepts and writes addresses as Go's net package does.
  std::string address(std::string_view key) {
    std::string value = text(key);
    if (value.empty()) return value;
    const auto plain = IpAddress::decode(value);
    if (!plain) fail(key, "is " + in_quotes(value) + ", no IP address");
    return plain ? plain->text() : "";
  }
  std::string subnet(std::string_view key) {
    const std::string value = text(key);
    const auto prefix = IpPrefix::decode(value);
    if (!error_ && !prefix)
      fail(key, "is " + in_quotes(value) + ", expected an address and a prefix's length");
    return prefix ? prefix->text() : "";
  }
  void fail(std::string_view key, const std::string& what) {
    if (!error_) error_ = wrong_in_result(key.empty() ? place_ : at(key), what);
  }
  void adopt(const Reader& other) {
    if (!error_) error_ = other.error_;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string at(std::string_view key) const {
    return place_.empty() ? std::string(key) : place_ + "." + std::string(key);
  }
  const Json* find(std::string_view key) const {
    const Json* member = object_.find(key);
    return member == nullptr || member->is_null() ? nullptr : member;
  }

  const Json& object_;
  const std::string place_;
  std::optional<Error> error_;
};

Interface interface_of(Reader& reader) {
  return {.name = reader.text("name"),
          .mac = reader.text("mac"),
          .sandbox = reader.text("sandbox"),
          .mtu = reader.number("mtu").value_or(0),
          .socket_path = reader.text("socketPath"),
          .pci_id = reader.text("pciID")};
}

Ip ip_of(Reader& reader) {
  return {.interface = reader.number("interface"),
          .address = reader.subnet("address"),
          .gateway = reader.address("gateway")};
}

Route route_of(Reader& reader) {
  return {.destination = reader.subnet("dst"),
          .gateway = reader.address("gw"),
          .mtu = reader.number("mtu").value_or(0),
          .advertised_mss = reader.number("advmss").value_or(0),
          .priority = reader.number("priority").value_or(0),
          .table = reader.number("table"),
          .scope = reader.number("scope")};
}

template <class Item>
std::vector<Item> items_of(Reader& parent, std::string_view key, size_t max, Item (*item_of)(Reader&)) {
  std::vector<Item> all;
  parent.each(key, max, [&](const Json& item, const std::string& place) {
    Reader reader(item, place);
    all.push_back(item_of(reader));
    parent.adopt(reader);
  });
  return all;
}

// Results of 0.1.0 and 0.2.0 name no interface: one address a family, with the routes of that family
// (containernetworking/cni, pkg/types/020).
bool is_before_interfaces(std::string_view version) { return version < "0.3"; }
bool is_ipv6(std::string_view address) { return address.find(':') != std::string_view::npos; }

void read_families(Reader& reader, const Json& object, Attached& out) {
  for (const std::string_view key : {"ip4", "ip6"}) {
    const Json* family = object.find(key);
    if (family == nullptr || family->is_null()) continue;
    Reader of(*family, std::string(key));
    out.ips.push_back({.address = of.subnet("ip"), .gateway = of.address("gateway")});
    if (!of.error() && is_ipv6(out.ips.back().address) != (key == "ip6"))
      of.fail("ip", "is " + in_quotes(out.ips.back().address) + ", an address of the other family");
    for (Route& route : items_of(of, "routes", kRoutesMax, &route_of)) out.routes.push_back(std::move(route));
    reader.adopt(of);
  }
}

// Omits empty members.
void put(Json& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, Json(text));
}
void put(Json& object, std::string_view key, int64_t number) {
  if (number != 0) object.set(key, Json(number));
}
void put(Json& object, std::string_view key, const std::optional<int64_t>& number) {
  if (number) object.set(key, Json(*number));
}
void put(Json& object, std::string_view key, const std::vector<std::string>& texts) {
  if (!texts.empty()) object.set(key, Json(Json::Array(texts.begin(), texts.end())));
}
void put(Json& object, std::string_view key, Json::Array items) {
  if (!items.empty()) object.set(key, Json(std::move(items)));
}

Json encode_dns(const Dns& from) {
  Json dns{Json::Object{}};
  put(dns, "nameservers", from.nameservers);
  put(dns, "domain", from.domain);
  put(dns, "search", from.search);
  put(dns, "options", from.options);
  return dns;
}

Json encode_families(const Attached& result) {
  Json out;
  out.set("cniVersion", Json(result.cni_version));
  for (const bool is_six : {false, true}) {
    const auto ip = std::find_if(result.ips.begin(), result.ips.end(),
                                 [&](const Ip& one) { return is_ipv6(one.address) == is_six; });
    if (ip == result.ips.end()) continue;
    Json family;
    family.set("ip", Json(ip->address));
    put(family, "gateway", ip->gateway);
    Json::Array routes;
    for (const Route& route : result.routes) {
      if (is_ipv6(route.destination) != is_six) continue;
      Json item;
      item.set("dst", Json(route.destination));
      put(item, "gw", route.gateway);
      routes.push_back(std::move(item));
    }
    put(family, "routes", std::move(routes));
    out.set(is_six ? "ip6" : "ip4", std::move(family));
  }
  out.set("dns", encode_dns(result.dns));
  return out;
}

}  // namespace

const std::vector<std::string_view>& known_versions() {
  static const std::vector<std::string_view> all{"0.1.0", "0.2.0", "0.3.0", "0.3.1",
                                                 "0.4.0", "1.0.0", "1.1.0"};
  return all;
}

Result<Attached> decode_result(std::string_view text, std::string_view config_version) {
  const auto json = kube::decode_json(text, kResultLimits);
  if (!json) return Error(json.error()).in("the result is not JSON");
  Reader reader(*json, "");
  Attached result{.cni_version = reader.text("cniVersion")};
  if (result.cni_version.empty()) result.cni_version = config_version;
  const auto& known = known_versions();
  if (std::find(known.begin(), known.end(), result.cni_version) == known.end())
    reader.fail("cniVersion", "is " + in_quotes(result.cni_version) + ", which is not known");
  if (is_before_interfaces(result.cni_version)) {
    read_families(reader, *json, result);
  } else {
    result.interfaces = items_of(reader, "interfaces", kInterfacesMax, &interface_of);
    result.ips = items_of(reader, "ips", kInterfacesMax, &ip_of);
    result.routes = items_of(reader, "routes", kRoutesMax, &route_of);
  }
  if (const Json* dns = json->find("dns"); dns != nullptr && !dns->is_null()) {
    Reader of(*dns, "dns");
    result.dns = {.nameservers = of.texts("nameservers"),
                  .search = of.texts("search"),
                  .options = of.texts("options"),
                  .domain = of.text("domain")};
    reader.adopt(of);
  }
  if (reader.error()) return *reader.error();
  return result;
}

Json encode_result(const Attached& result) {
  if (is_before_interfaces(result.cni_version)) return encode_families(result);
  const bool is_old = result.cni_version < "1";  // before 1.0.0
  Json out;
  out.set("cniVersion", Json(result.cni_version));
  Json::Array interfaces, ips, routes;
  for (const Interface& from : result.interfaces) {
    Json item;
    item.set("name", Json(from.name));
    put(item, "mac", from.mac);
    put(item, "sandbox", from.sandbox);
    if (!is_old)
      put(item, "mtu", from.mtu), put(item, "socketPath", from.socket_path), put(item, "pciID", from.pci_id);
    interfaces.push_back(std::move(item));
  }
  for (const Ip& from : result.ips) {
    Json item;
    if (is_old) item.set("version", Json(from.address.find(':') == std::string::npos ? "4" : "6"));
    put(item, "interface", from.interface);
    item.set("address", Json(from.address));
    put(item, "gateway", from.gateway);
    ips.push_back(std::move(item));
  }
  for (const Route& from : result.routes) {
    Json item;
    item.set("dst", Json(from.destination));
    put(item, "gw", from.gateway);
    put(item, "mtu", from.mtu), put(item, "advmss", from.advertised_mss),
        put(item, "priority", from.priority);
    put(item, "table", from.table);
    put(item, "scope", from.scope);
    routes.push_back(std::move(item));
  }
  put(out, "interfaces", std::move(interfaces));
  put(out, "ips", std::move(ips));
  put(out, "routes", std::move(routes));
  Json dns = encode_dns(result.dns);
  if (is_old || !dns.object()->empty()) out.set("dns", std::move(dns));
  return out;
}

std::optional<std::string> decode_plugin_error(std::string_view text) {
  const auto json = kube::decode_json(text, kResultLimits);
  if (!json || json->object() == nullptr) return std::nullopt;
  const Json* code = json->find("code");
  const std::string_view message = json->text("msg"), details = json->text("details");
  if (message.empty() && (code == nullptr || code->integer() == nullptr)) return std::nullopt;
  std::string out = printable(message.empty() ? "no message" : message, kErrorTextMax);
  if (!details.empty()) out += "; " + printable(details, kErrorTextMax);
  if (code != nullptr && code->integer() != nullptr)
    out += " (code " + std::to_string(*code->integer()) + ")";
  return out;
}

}  // namespace sliced::cni
