#include "publishers/write_answer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "kube/objects/json_scanner.h"
#include "kube/objects/kinds.h"
#include "policy/entry_validation.h"
#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

using kube::Failure;
using kube::ResourceSlice;

// "spec.devices[12].attributes[...]" -> 12
std::optional<size_t> device_index(std::string_view field) {
  constexpr std::string_view kPrefix = "spec.devices[";
  if (!field.starts_with(kPrefix)) return std::nullopt;
  field.remove_prefix(kPrefix.size());
  const auto index = parse_int(field.substr(0, field.find(']')));
  return index && *index >= 0 ? std::optional(static_cast<size_t>(*index)) : std::nullopt;
}

}  // namespace

bool is_refused_for_metadata(const Failure& failure) {
  return failure.http_status == 413 ||
         (failure.code == Errc::kInvalid &&
          std::any_of(failure.fields.begin(), failure.fields.end(),
                      [](const std::string& field) { return field.starts_with("metadata."); }));
}

bool is_refusal(const Failure& failure) {
  return failure.http_status != 0 && failure.code != Errc::kConflict && !failure.retry_after;
}

std::string difference_of_identity(const ResourceSlice& sent, const ResourceSlice& stored) {
  const auto differs = [](std::string_view field, const std::string& wanted, const std::string& found) {
    return wanted == found
               ? ""
               : std::string(field) + " is " + in_quotes(found) + ", expected " + in_quotes(wanted) + "; ";
  };
  return differs("name", sent.meta.name, stored.meta.name) +
         (sent.meta.uid.empty() ? "" : differs("uid", sent.meta.uid, stored.meta.uid)) +
         differs("driver", sent.driver, stored.driver) + differs("node", sent.node_name, stored.node_name) +
         differs("pool", sent.pool.name, stored.pool.name) +
         (stored.meta.resource_version.empty() ? "it has no resourceVersion" : "");
}

Result<ResourceSlice> decode_slice_text(std::string_view text) {
  auto json = kube::decode_json(text, kube::kSliceLimits);
  if (!json) return std::move(json.error()).in("ResourceSlice");
  return kube::decode_resource_slice(*json);
}

std::string text_in(std::string_view object, std::initializer_list<std::string_view> path) {
  const auto raw = kube::find_raw(object, path);
  if (!raw || raw->empty()) return "";
  const auto json = kube::decode_json(*raw, {.size_max = 4'096});
  return json && json->string() ? *json->string() : "";
}

bool is_text_of(std::string_view object, const ResourceSlice& slice) {
  return !slice.meta.uid.empty() && !slice.meta.resource_version.empty() && slice.unknown_fields.empty() &&
         text_in(object, {"metadata", "uid"}) == slice.meta.uid &&
         text_in(object, {"metadata", "resourceVersion"}) == slice.meta.resource_version &&
         text_in(object, {"metadata", "name"}) == slice.meta.name &&
         text_in(object, {"spec", "driver"}) == slice.driver &&
         text_in(object, {"spec", "nodeName"}) == slice.node_name &&
         text_in(object, {"spec", "pool", "name"}) == slice.pool.name;
}

std::vector<RefusedEntry> mutilated_entries(const ResourceSlice& sent, const ResourceSlice& stored) {
  std::vector<RefusedEntry> out;
  std::map<std::string_view, const kube::Device*> by_name;
  for (const kube::Device& device : stored.devices) by_name.emplace(device.name, &device);
  for (const kube::Device& device : sent.devices) {
    const auto at = by_name.find(device.name);
    if (at == by_name.end() || *at->second != device)
      out.push_back(
          {device.name, policy::content_hash(device), "the API server stored it without some of its fields"});
  }
  return out;
}

std::vector<RefusedEntry> refused_entries(const ResourceSlice& sent, const Failure& failure) {
  std::vector<RefusedEntry> out;
  std::set<size_t> seen;
  for (const std::string& field : failure.fields) {
    const auto index = device_index(field);
    if (!index || *index >= sent.devices.size() || !seen.insert(*index).second) continue;
    const kube::Device& device = sent.devices[*index];
    out.push_back(
        {device.name, policy::content_hash(device), "the API server refuses " + field + ": " + failure.what});
  }
  return out;
}

}  // namespace sliced::publishers
