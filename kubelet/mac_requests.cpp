#include "kubelet/mac_requests.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/json_scanner.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr size_t kMacBytes = 6, kMacText = 17, kQuoteMax = 256;
constexpr kube::JsonLimits kAnnotationLimits{
    .size_max = kMacAnnotationBytesMax, .depth_max = 8, .nodes_max = 10'000};
constexpr kube::JsonLimits kPodLimits{.size_max = size_t{1} << 20, .depth_max = 16, .nodes_max = 50'000};

Result<Json> part_of_pod(std::string_view object, std::initializer_list<std::string_view> path) {
  const auto raw = kube::find_raw(object, path);
  if (!raw) return raw.error();
  if (raw->empty()) return Json();
  return kube::decode_json(*raw, kPodLimits);
}

template <class Visit>
void each(const Json& list, const Visit& visit) {
  if (list.array() != nullptr)
    for (const Json& one : *list.array()) visit(one);
}

// The names of the pod's claims: all of them, and those that refer to this claim.
struct Names {
  std::set<std::string, std::less<>> all, own;
};

Names names_in(const Json& claims, const Json& statuses, const Claim& claim) {
  Names out;
  each(claims, [&](const Json& one) {
    const std::string name(one.text("name"));
    if (name.empty()) return;
    out.all.insert(name);
    const bool is_made = !one.text("resourceClaimTemplateName").empty();
    if (one.text("resourceClaimName") == claim.name || (is_made && name == claim.pod_claim_name))
      out.own.insert(name);
  });
  each(statuses, [&](const Json& one) {
    if (one.text("resourceClaimName") == claim.name && out.all.contains(one.text("name")))
      out.own.insert(std::string(one.text("name")));
  });
  return out;
}

struct Entry {
  std::string claim, request;
  std::vector<std::string> macs;
};

Error annotation_error(const std::string& what) { return {Errc::kInvalid, what}; }

Result<std::string> name(const Json& entry, const char* key) {
  const Json* at = entry.find(key);
  if (at == nullptr) return annotation_error(std::string(key) + " is missing");
  if (at->string() == nullptr || at->string()->empty())
    return annotation_error(std::string(key) + " is not a name: expected a string");
  return *at->string();
}

Result<std::vector<std::string>> macs(const Json& entry) {
  const Json *one = entry.find("mac"), *several = entry.find("macs");
  if ((one == nullptr) == (several == nullptr))
    return annotation_error("expected mac, or macs for a request of several devices");
  Json::Array list;
  if (one != nullptr) {
    list.push_back(*one);
  } else {
    if (several->array() == nullptr || several->array()->empty())
      return annotation_error("macs: expected a list with at least one item");
    list = *several->array();
  }
  std::vector<std::string> out;
  for (const Json& text : list) {
    if (text.string() == nullptr)
      return annotation_error("a MAC address is a string, this is a " + std::string(text.kind_name()));
    auto mac = decode_mac(*text.string());
    if (!mac) return std::move(mac.error());
    out.push_back(std::move(*mac));
  }
  return out;
}

// Decodes the claim's name first: it is required even in entries of other claims.
Result<Entry> decode(const Json& value, const Names& names) {
  if (value.object() == nullptr)
    return annotation_error("is a " + std::string(value.kind_name()) + ", expected a map");
  Entry out;
  auto claim = name(value, "claimName");
  if (!claim) return std::move(claim.error());
  out.claim = std::move(*claim);
  if (!names.all.contains(out.claim))
    return annotation_error("claimName is not in spec.resourceClaims of the pod: " +
                            join({names.all.begin(), names.all.end()}, ", "));
  if (!names.own.contains(out.claim)) {
    if (auto theirs = macs(value); theirs) out.macs = std::move(*theirs);
    return out;
  }
  for (const auto& [key, ignored] : *value.object())
    if (key != "claimName" && key != "requestName" && key != "mac" && key != "macs")
      return annotation_error(escaped(key, 64) +
                              " is an unknown field; known are claimName, requestName, mac, macs");
  auto request = name(value, "requestName");
  if (!request) return std::move(request.error());
  out.request = std::move(*request);
  auto own = macs(value);
  if (!own) return std::move(own.error());
  out.macs = std::move(*own);
  return out;
}

// Each device of the request gets the next one.
Result<Unit> give(const Entry& entry, Claim& claim) {
  size_t given = 0;
  for (AllocatedDevice& device : claim.devices) {
    if (main_request(device.request) != entry.request || given == entry.macs.size()) continue;
    if (!device.mac.empty()) return annotation_error("requestName is in two entries");
    if (device.is_admin) return annotation_error("the request has adminAccess, which changes no device");
    device.mac = entry.macs[given++];
  }
  if (given == 0)
    return annotation_error("requestName is not a request of " + escaped(claim.name) + " that has a device");
  if (given < entry.macs.size())
    return annotation_error("it has " + std::to_string(entry.macs.size()) + " addresses for " +
                            std::to_string(given) + " devices");
  return Unit{};
}

Result<Unit> read_list(const Json& list, const Names& names, Claim& claim) {
  std::vector<std::pair<Entry, std::string>> entries;  // with their path
  std::multiset<std::string> all;
  for (size_t i = 0; i < list.array()->size(); ++i) {
    const Json& value = (*list.array())[i];
    const std::string where = "[" + std::to_string(i) + "] " + printable(kube::encode_json(value), kQuoteMax);
    auto entry = decode(value, names);
    if (!entry) return std::move(entry.error()).in(where);
    all.insert(entry->macs.begin(), entry->macs.end());
    entries.emplace_back(std::move(*entry), where);
  }
  for (const auto& [entry, where] : entries) {
    if (!names.own.contains(entry.claim)) continue;
    for (const std::string& mac : entry.macs)
      if (all.count(mac) > 1) return annotation_error(where + ": " + mac + " is requested twice");
    if (auto given = give(entry, claim); !given) return std::move(given.error()).in(where);
  }
  return Unit{};
}

}  // namespace

Result<std::string> decode_mac(std::string_view text) {
  const auto no = [&](const char* why) {
    return Error{Errc::kInvalid, "MAC address " + in_quotes(text, 64) + " " + why};
  };
  std::string out = lower(text);
  std::replace(out.begin(), out.end(), '-', ':');
  if (out.size() != kMacText) return no("expected six bytes as 02:00:00:00:00:01");
  bool is_zero = true;
  for (size_t i = 0; i < kMacBytes; ++i) {
    const auto byte = parse_hex(std::string_view(out).substr(3 * i, 2));
    if (!byte || (i > 0 && out[3 * i - 1] != ':')) return no("expected six bytes as 02:00:00:00:00:01");
    if (i == 0 && (*byte & 1) != 0) return no("is a multicast address, which no interface has");
    is_zero &= *byte == 0;
  }
  if (is_zero) return no("is not an interface's");
  return out;
}

Result<Unit> read_macs(std::string_view pod, const ReservingPod& whom, const std::string& key, Claim& claim) {
  const std::string who = "Pod " + escaped(claim.namespace_) + "/" + escaped(whom.name);
  const auto uid = part_of_pod(pod, {"metadata", "uid"});
  const auto annotation = part_of_pod(pod, {"metadata", "annotations", key});
  const auto claims = part_of_pod(pod, {"spec", "resourceClaims"});
  const auto statuses = part_of_pod(pod, {"status", "resourceClaimStatuses"});
  for (const Result<Json>* one : {&uid, &annotation, &claims, &statuses})
    if (!one->ok()) return Error(one->error()).in(who);
  if (uid->string() == nullptr || *uid->string() != whom.uid)
    return Error{Errc::kConflict, who + ": metadata.uid is not " + in_quotes(whom.uid, 64) +
                                      ", which the claim is reserved for: another pod has the name now"};
  if (annotation->is_null()) return Unit{};
  const std::string where = who + ": metadata.annotations[" + key + "]";
  if (annotation->string() == nullptr) return Error{Errc::kInvalid, where + " is not a string"};
  const auto list = kube::decode_json(*annotation->string(), kAnnotationLimits);
  if (!list)
    return Error{list.error().code,
                 where + " is " + printable(*annotation->string(), kQuoteMax) + ": " + list.error().what};
  if (list->array() == nullptr || list->array()->size() > kMacEntriesMax)
    return Error{Errc::kInvalid, where + " is " + printable(*annotation->string(), kQuoteMax) +
                                     ", expected a list of at most " + std::to_string(kMacEntriesMax) +
                                     " entries {claimName, requestName, mac}"};
  Claim read = claim;
  if (auto done = read_list(*list, names_in(*claims, *statuses, claim), read); !done)
    return std::move(done.error()).in(where);
  claim = std::move(read);
  return Unit{};
}

}  // namespace sliced::kubelet
