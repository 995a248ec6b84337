#include "kubelet/claim.h"

#include <optional>

#include "kube/objects/json_scanner.h"
#include "kube/objects/object_meta.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

// Limits of each part of a claim. The API server accepts 10 KiB of parameters for each config.
constexpr kube::JsonLimits kClaimLimits{.size_max = size_t{2} << 20, .depth_max = 32, .nodes_max = 100'000};
constexpr size_t kTextMax = 1'024;

Error claim_error(const std::string& field, const std::string& what) {
  return {Errc::kInvalid, field + " " + what};
}

Result<Json> part_of_claim(std::string_view object, std::initializer_list<std::string_view> path,
                           const std::string& field) {
  const auto raw = kube::find_raw(object, path);
  if (!raw) return Error(raw.error()).in(field);
  if (raw->empty()) return Json();
  auto value = kube::decode_json(*raw, kClaimLimits);
  if (!value) return std::move(value.error()).in(field);
  return value;
}

// Returns the items of an optional list, nullptr if it is missing.
Result<const Json::Array*> items(const Json* list, const std::string& field, size_t count_max) {
  static const Json::Array kNone;
  if (list == nullptr || list->is_null()) return &kNone;
  if (list->array() == nullptr)
    return claim_error(field, "is a " + std::string(list->kind_name()) + ", expected a list");
  if (list->array()->size() > count_max)
    return Error{Errc::kTooLarge, field + " has " + std::to_string(list->array()->size()) +
                                      " entries, at most " + std::to_string(count_max) + " are read"};
  return list->array();
}

Result<std::string> text_of_claim(const Json& value, std::string_view key, const std::string& field,
                                  bool is_wanted) {
  const Json* at = value.find(key);
  const std::string path = field + "." + std::string(key);
  if (at == nullptr || at->is_null())
    return is_wanted ? Result<std::string>(claim_error(path, "is missing")) : Result<std::string>("");
  if (at->string() == nullptr)
    return claim_error(path, "is a " + std::string(at->kind_name()) + ", expected a string");
  if (at->string()->size() > kTextMax || (is_wanted && at->string()->empty()))
    return claim_error(path, "is " + in_quotes(*at->string(), 64) + ", expected 1 to " +
                                 std::to_string(kTextMax) + " bytes");
  return *at->string();
}

// Reads required and optional texts of one value until the first error.
class Texts {
 public:
  Texts(const Json& value, std::string field) : value_(value), field_(std::move(field)) {}
  void want(std::string_view key, std::string& out) { read(key, out, true); }
  void may(std::string_view key, std::string& out) { read(key, out, false); }
  const std::optional<Error>& error() const { return error_; }

 private:
  void read(std::string_view key, std::string& out, bool is_wanted) {
    if (error_) return;
    auto found = text_of_claim(value_, key, field_, is_wanted);
    if (found)
      out = std::move(*found);
    else
      error_ = std::move(found.error());
  }

  const Json& value_;
  const std::string field_;
  std::optional<Error> error_;
};

Result<Unit> read_devices(const Json& devices, Claim& out) {
  const std::string field = "status.allocation.devices.results";
  const auto list = items(devices.find("results"), field, kClaimDevicesMax);
  if (!list) return list.error();
  for (const Json& one : **list) {
    AllocatedDevice device;
    Texts texts(one, field + "[" + std::to_string(out.devices.size()) + "]");
    texts.want("request", device.request);
    texts.want("driver", device.driver);
    texts.want("pool", device.pool);
    texts.want("device", device.device);
    texts.may("shareID", device.share_id);
    if (texts.error()) return *texts.error();
    const Json* admin = one.find("adminAccess");
    device.is_admin = admin != nullptr && *admin == Json(true);
    out.devices.push_back(std::move(device));
  }
  return Unit{};
}

Result<AllocatedConfig> read_config(const Json& one, std::string path) {
  AllocatedConfig config{.path = std::move(path)};
  std::string source;
  Texts texts(one, config.path);
  texts.want("source", source);
  if (texts.error()) return *texts.error();
  if (source != "FromClass" && source != "FromClaim")
    return claim_error(config.path + ".source",
                       "is " + in_quotes(source, 64) + ", expected FromClass or FromClaim");
  config.is_claims = source == "FromClaim";
  const auto requests = items(one.find("requests"), config.path + ".requests", kClaimDevicesMax);
  if (!requests) return requests.error();
  for (const Json& request : **requests) {
    if (request.string() == nullptr)
      return claim_error(config.path + ".requests", "has an entry that is not a string");
    config.requests.push_back(*request.string());
  }
  const Json* opaque = one.find("opaque");
  if (opaque == nullptr || opaque->is_null()) return config;
  config.has_opaque = true;
  Texts inner(*opaque, config.path + ".opaque");
  inner.want("driver", config.driver);
  if (inner.error()) return *inner.error();
  if (const Json* parameters = opaque->find("parameters"); parameters != nullptr)
    config.parameters = *parameters;
  return config;
}

Result<Unit> read_configs(const Json& devices, Claim& out) {
  const std::string field = "status.allocation.devices.config";
  const auto list = items(devices.find("config"), field, kClaimConfigsMax);
  if (!list) return list.error();
  for (const Json& one : **list) {
    auto config = read_config(one, field + "[" + std::to_string(out.configs.size()) + "]");
    if (!config) return std::move(config.error());
    out.configs.push_back(std::move(*config));
  }
  return Unit{};
}

// scheduling/v1beta1, GroupName; the kubelet matches reservations by it (resourceclaim.IsReservedForPod).
constexpr std::string_view kPodGroupsGroup = "scheduling.k8s.io";

Result<Unit> read_consumers(const Json& reserved, Claim& out) {
  const std::string field = "status.reservedFor";
  const auto list = items(&reserved, field, kClaimPodsMax);
  if (!list) return list.error();
  for (const Json& one : **list) {
    const bool is_pod = one.text("resource") == "pods" && one.text("apiGroup").empty();
    const bool is_group = one.text("resource") == "podgroups" && one.text("apiGroup") == kPodGroupsGroup;
    if (!is_pod && !is_group) continue;
    ReservingPod consumer;
    Texts texts(one, field + "[" + std::to_string(out.pods.size() + out.pod_groups.size()) + "]");
    texts.want("name", consumer.name);
    texts.want("uid", consumer.uid);
    if (texts.error()) return *texts.error();
    (is_pod ? out.pods : out.pod_groups).push_back(std::move(consumer));
  }
  return Unit{};
}

Result<Unit> read_allocation(const Json& allocation, Claim& out) {
  if (allocation.is_null()) return Unit{};
  if (allocation.object() == nullptr) return claim_error("status.allocation", "is not a map");
  out.is_allocated = true;
  if (const Json* selector = allocation.find("nodeSelector"); selector != nullptr && !selector->is_null()) {
    kube::FieldProblems problems;
    out.nodes = kube::decode_node_selector(*selector, problems);
    if (!problems.empty())
      return claim_error("status.allocation.nodeSelector." + problems.front().field, problems.front().what);
  }
  const Json* devices = allocation.find("devices");
  if (devices == nullptr) return Unit{};
  if (auto read = read_devices(*devices, out); !read) return read;
  return read_configs(*devices, out);
}

Result<Unit> read_meta(std::string_view object, Claim& out) {
  const auto name = part_of_claim(object, {"metadata", "name"}, "metadata.name");
  const auto namespace_ = part_of_claim(object, {"metadata", "namespace"}, "metadata.namespace");
  const auto uid = part_of_claim(object, {"metadata", "uid"}, "metadata.uid");
  const auto annotation =
      part_of_claim(object, {"metadata", "annotations", kPodClaimName}, "metadata.annotations");
  for (const Result<Json>* one : {&name, &namespace_, &uid, &annotation})
    if (!one->ok()) return one->error();
  const Json meta = Json::Object{{"name", *name}, {"namespace", *namespace_}, {"uid", *uid}};
  Texts texts(meta, "metadata");
  texts.want("name", out.name);
  texts.want("namespace", out.namespace_);
  texts.want("uid", out.uid);
  if (texts.error()) return *texts.error();
  // Whether it is a name is checked before it is used (kubelet/plan.cpp).
  if (annotation->string() != nullptr) out.pod_claim_name = annotation->string()->substr(0, kTextMax);
  return Unit{};
}

}  // namespace

Result<Claim> decode_claim(std::string_view object) {
  Claim out;
  if (auto read = read_meta(object, out); !read) return std::move(read.error()).in("ResourceClaim");
  const std::string who = describe({out.namespace_, out.name, out.uid});
  const auto allocation = part_of_claim(object, {"status", "allocation"}, "status.allocation");
  if (!allocation) return Error(allocation.error()).in(who);
  const auto reserved = part_of_claim(object, {"status", "reservedFor"}, "status.reservedFor");
  if (!reserved) return Error(reserved.error()).in(who);
  if (auto read = read_allocation(*allocation, out); !read) return std::move(read.error()).in(who);
  if (auto read = read_consumers(*reserved, out); !read) return std::move(read.error()).in(who);
  return out;
}

std::string describe(const PrepareRequest& claim) {
  if (claim.name == kUnknownClaimName) return "a ResourceClaim (uid " + escaped(claim.uid) + ")";
  return "ResourceClaim " + escaped(claim.namespace_) + "/" + escaped(claim.name);
}

Result<Unit> check_claim(const Claim& claim, const PrepareRequest& request, const kube::NodeView& node) {
  const std::string who = describe(request);
  if (claim.uid != request.uid)
    return Error{Errc::kConflict, who + ": metadata.uid is " + in_quotes(claim.uid, 64) +
                                      ", the kubelet means " + in_quotes(request.uid, 64) +
                                      ": another claim has the name now"};
  if (!claim.is_allocated)
    return Error{Errc::kInvalid, who + ": status.allocation is missing: the claim is not allocated"};
  if (!claim.nodes.everything && !kube::match_node(claim.nodes, node).matched)
    return Error{Errc::kInvalid, who + ": status.allocation.nodeSelector does not match node " +
                                     escaped(node.name) + ": its devices are elsewhere"};
  if (claim.pods.empty() && claim.pod_groups.empty())
    return Error{Errc::kInvalid,
                 who + ": status.reservedFor names no Pod and no PodGroup: no pod may use the claim now"};
  return Unit{};
}

std::string main_request(const std::string& request) { return request.substr(0, request.find('/')); }

}  // namespace sliced::kubelet
