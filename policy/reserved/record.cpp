#include "policy/reserved/record.h"

#include <algorithm>
#include <optional>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/names.h"
#include "policy/attribute_value.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using kube::Json;

constexpr int kFingerprintDigits = 12;

bool is_group(const std::string& text) {
  return text.empty() || text == kAnyGroup || kube::is_dns_label(text);
}

Json encode_holding(const Holding& holding) {
  if (holding_of_function(holding.entry) == holding) return Json(holding.entry);
  Json out;
  out.set("entry", holding.entry);
  out.set("device", holding.device);
  out.set("base", holding.base);
  if (!holding.is_exclusive) out.set("shared", true);
  if (!holding.group.empty()) out.set("group", holding.group);
  if (holding.is_contested) out.set("contested", true);
  return out;
}

Result<Holding> decode_holding(const Json& json) {
  const std::string name(json.string() != nullptr ? *json.string() : json.text("entry"));
  if (name.empty())
    return Error{Errc::kInvalid, "is not a record of a withdrawn entry: " + kube::encode_json(json)};
  Holding holding = holding_of_function(name);
  if (json.object() == nullptr) return holding;
  holding.device = json.text("device");
  holding.base = json.text("base");
  holding.group = json.text("group");
  if (holding.device.empty() || !kube::is_dns_label(holding.base) || !is_group(holding.group))
    return unknown_holding(name);
  const Json* shared = json.find("shared");
  holding.is_exclusive = shared == nullptr || !(*shared == Json(true));
  const Json* contested = json.find("contested");
  holding.is_contested = contested != nullptr && *contested == Json(true);
  return holding;
}

// Requires: holdings are neither withdrawn nor awaited, which is not recorded.
std::string encode_record(const std::vector<Holding>& holdings) {
  Json::Array out;
  for (const Holding& holding : holdings) out.push_back(encode_holding(holding));
  return kube::encode_json(Json(std::move(out)));
}

}  // namespace

Record::Record(std::vector<Holding> holdings, const std::string& pool) : holdings_(std::move(holdings)) {
  if (holdings_.empty()) return;
  std::sort(holdings_.begin(), holdings_.end(),
            [](const auto& a, const auto& b) { return a.entry < b.entry; });
  for (Holding& holding : holdings_) holding.is_withdrawn = holding.is_awaited = false;
  text_ = encode_record(holdings_);
  if (text_.size() > kRecordBytesMax) *this = Record({whole_holding(pool)}, pool);
  for (Holding& holding : holdings_) holding.is_withdrawn = true;
}

Result<Record> Record::decode(std::string_view text) {
  if (text.size() > kRecordBytesMax)
    return Error{Errc::kTooLarge,
                 "is longer than any that is written: " + std::to_string(text.size()) + " bytes"};
  const auto json = kube::decode_json(text);
  if (!json) return json.error();
  if (json->array() == nullptr) return Error{Errc::kInvalid, "is not a list of withdrawn entries"};
  Record out;
  for (const Json& one : *json->array()) {
    auto holding = decode_holding(one);
    if (!holding) return holding.error();
    holding->is_withdrawn = true;
    out.holdings_.push_back(std::move(*holding));
  }
  out.text_ = text;
  return out;
}

Record Record::of(const kube::ResourceSlice& slice) {
  const auto at = slice.meta.annotations.find(std::string(kWithdrawnAnnotation));
  return at == slice.meta.annotations.end() ? Record() : decode(at->second).value_or({});
}

Holding holding_of_function(const std::string& entry) {
  Holding holding{.entry = entry, .base = entry};
  if (const auto function = function_named_by(entry)) {
    holding.device = function->text();
    holding.base = function->dashed();
  }
  return holding;
}

Holding unknown_holding(const std::string& entry) {
  Holding holding = holding_of_function(entry);
  holding.group = std::string(kAnyGroup);
  holding.is_withdrawn = true;
  return holding;
}

Holding unknown_holding(const std::string& entry, const hotplug::Inventory& inventory) {
  Holding holding = unknown_holding(entry);
  size_t length = inventory.find(holding.device) == nullptr ? 0 : holding.base.size();
  for (const auto& [id, device] : inventory.devices) {
    if (device.pci) continue;
    for (const std::string& label : labels_of_link(id)) {
      if (!entry.starts_with(label) || label.size() <= length) continue;
      length = label.size();
      holding.device = id;
      holding.base = link_label(id);
    }
  }
  return holding;
}

Holding whole_holding(const std::string& pool) {
  const size_t slash = pool.rfind('/');  // the SR-IOV driver's pool has the node's name, without a slash
  Holding holding = unknown_holding(slash == std::string::npos ? "" : pool.substr(slash + 1));
  if (holding.device.empty())
    holding = {.device = std::string(kAnyDevice), .base = "any", .group = holding.group};
  holding.entry = kUnknownEntry;
  holding.is_withdrawn = true;
  return holding;
}

namespace {

// A program that replaces entries without knowing the annotation keeps it, so that its fingerprint differs.
std::string fingerprint_of(const std::vector<kube::DevicePtr>& entries) {
  std::string names;
  for (const kube::Device& entry : entries) names += entry.name + ",";
  return hex(stable_hash(names), kFingerprintDigits);
}

// Returns nullopt if unknown.
std::optional<Groups> decode_groups(const kube::ResourceSlice& slice) {
  const auto text = slice.meta.annotations.find(std::string(kGroupsAnnotation));
  if (text == slice.meta.annotations.end()) return std::nullopt;
  const auto json = kube::decode_json(text->second);
  if (!json || json->text("entries") != fingerprint_of(slice.devices)) return std::nullopt;
  Groups out;
  const Json* groups = json->find("groups");
  if (groups == nullptr) return out;
  if (groups->object() == nullptr) return std::nullopt;
  for (const auto& [group, entries] : *groups->object()) {
    if (!kube::is_dns_label(group) || entries.array() == nullptr) return std::nullopt;
    for (const Json& entry : *entries.array())
      if (entry.string() != nullptr) out[*entry.string()] = group;
  }
  return out;
}

Holding holding_of_entry(const kube::Device& entry, const std::string& driver) {
  Holding holding = holding_of_function(entry.name);
  holding.is_exclusive = !entry.allow_multiple_allocations;
  const std::string link = id_of_link(entry.attributes, driver);
  if (link.empty()) return holding;
  holding.device = link;
  holding.base = link_label(link);
  // If another link had the label, a hash follows it.
  if (!entry.name.starts_with(holding.base)) holding.base = entry.name;
  return holding;
}

}  // namespace

std::string encode_groups(const std::vector<kube::DevicePtr>& entries, const Groups& groups) {
  std::map<std::string, Json::Array> by_group;
  for (const kube::Device& entry : entries)
    if (const auto at = groups.find(entry.name); at != groups.end())
      by_group[at->second].emplace_back(entry.name);
  Json out;
  out.set("entries", fingerprint_of(entries));
  if (!by_group.empty()) {
    Json all;
    for (auto& [group, names] : by_group) all.set(group, Json(std::move(names)));
    out.set("groups", std::move(all));
  }
  return kube::encode_json(out);
}

std::vector<Holding> holdings_of_entries(const kube::ResourceSlice& slice) {
  const auto groups = decode_groups(slice);
  std::vector<Holding> out;
  for (const kube::Device& entry : slice.devices) {
    out.push_back(holding_of_entry(entry, slice.driver));
    if (!groups) {
      out.back().group = kAnyGroup;
    } else if (const auto at = groups->find(entry.name); at != groups->end()) {
      out.back().group = at->second;
    }
  }
  return out;
}

}  // namespace sliced::policy
