#include "policy/exposure/withdrawn.h"

#include <algorithm>

#include "hotplug/facts.h"
#include "kube/json.h"
#include "policy/exposure/attributes.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using kube::Json;

std::string dashed(std::string text) {
  std::replace(text.begin(), text.end(), '.', '-');
  return text;
}

bool is_group(const std::string& text) { return text.empty() || text == kAnyGroup || is_dns_label(text); }

Result<Holding> decode_claim(const Json& json) {
  const std::string name(json.string() != nullptr ? *json.string() : json.text("entry"));
  if (name.empty())
    return Error{Errc::kInvalid, "is no record of a withdrawn entry: " + kube::encode_json(json)};
  Holding claim = claim_of_function(name);
  claim.is_withdrawn = true;
  if (json.object() == nullptr) return claim;
  claim.device = json.text("device");
  claim.base = json.text("base");
  claim.group = json.text("group");
  if (claim.device.empty() || !is_dns_label(claim.base) || !is_group(claim.group))
    return claim_of_unknown(name);
  const Json* shared = json.find("shared");
  claim.is_exclusive = shared == nullptr || !(*shared == Json(true));
  return claim;
}

}  // namespace

Holding claim_of_function(const std::string& entry) {
  Holding claim{.entry = entry, .base = entry};
  if (const auto function = function_named_by(entry)) {
    claim.device = function->text();
    claim.base = function_name(*function);
  }
  return claim;
}

std::string encode_withdrawn(std::vector<Holding> claims) {
  std::sort(claims.begin(), claims.end(), [](const auto& a, const auto& b) { return a.entry < b.entry; });
  Json::Array out;
  for (Holding claim : claims) {
    claim.is_withdrawn = claim.is_awaited = false;
    if (claim_of_function(claim.entry) == claim) {
      out.emplace_back(claim.entry);
      continue;
    }
    Json one;
    one.set("entry", claim.entry);
    one.set("device", claim.device);
    one.set("base", claim.base);
    if (!claim.is_exclusive) one.set("shared", true);
    if (!claim.group.empty()) one.set("group", claim.group);
    out.push_back(std::move(one));
  }
  return kube::encode_json(Json(std::move(out)));
}

std::string encode_record(std::vector<Holding> claims, const std::string& pool) {
  std::string text = encode_withdrawn(std::move(claims));
  return text.size() <= kRecordBytesMax ? text : encode_withdrawn({claim_of_unreadable(pool)});
}

Result<std::vector<Holding>> decode_withdrawn(std::string_view text) {
  const auto json = kube::decode_json(text);
  if (!json) return json.error();
  if (json->array() == nullptr) return Error{Errc::kInvalid, "is no list of withdrawn entries"};
  std::vector<Holding> out;
  for (const Json& one : *json->array()) {
    auto claim = decode_claim(one);
    if (!claim) return claim.error();
    out.push_back(std::move(*claim));
  }
  return out;
}

Holding claim_of_unknown(const std::string& entry) {
  Holding claim = claim_of_function(entry);
  claim.group = std::string(kAnyGroup);
  claim.is_withdrawn = true;
  return claim;
}

Holding claim_of_unknown(const std::string& entry, const hotplug::Inventory& inventory) {
  Holding claim = claim_of_unknown(entry);
  size_t told = inventory.find(claim.device) == nullptr ? 0 : claim.base.size();
  for (const auto& [id, device] : inventory.devices) {
    if (device.pci) continue;
    // Its label of today, and the one without a hash that it may have had before.
    for (const std::string& label : {link_label(id), dashed(id)}) {
      if (!entry.starts_with(label) || label.size() <= told) continue;
      told = label.size();
      claim.device = id;
      claim.base = link_label(id);
    }
  }
  return claim;
}

Holding claim_of_unreadable(const std::string& pool) {
  const size_t slash = pool.rfind('/');  // none in the other driver's pool, which has the node's name
  Holding claim = claim_of_unknown(slash == std::string::npos ? "" : pool.substr(slash + 1));
  if (claim.device.empty()) claim = {.device = std::string(kAnyDevice), .base = "any", .group = claim.group};
  claim.entry = kUnknownEntry;
  claim.is_withdrawn = true;
  return claim;
}

Holding claim_of_entry(const kube::Device& entry, const std::string& driver) {
  Holding claim = claim_of_function(entry.name);
  claim.is_exclusive = !entry.allow_multiple_allocations;
  claim.group = kAnyGroup;
  const std::string interface = interface_of_link(entry.attributes, driver);
  if (interface.empty()) return claim;
  claim.device = interface;
  claim.base = link_label(interface);
  // A label that another link had already has a hash behind it.
  if (!entry.name.starts_with(claim.base)) claim.base = entry.name;
  return claim;
}

}  // namespace sliced::policy
