#include "publishers/server_features.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kube/objects/kinds.h"
#include "kube/objects/names.h"
#include "kube/objects/resource_slice.h"
#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

// Never stored. The pool has the node's name, because the admission policy of config/deploy refuses other
// pools.
kube::ResourceSlice probe_slice(const std::string& driver, const std::string& node) {
  kube::ResourceSlice slice;
  slice.meta.name = "probe-" + hex(stable_hash(driver + "/" + node), 16);
  slice.driver = driver;
  slice.node_name = node;
  slice.pool = {node, 1, 1};
  return slice;
}

// Slices that a server with the feature returns unchanged, in order.
std::vector<kube::ResourceSlice> probes_of(ServerFeature feature, const std::string& driver,
                                           const std::string& node) {
  kube::ResourceSlice slice = probe_slice(driver, node), counters = slice;
  kube::Device device{.name = "probe"};
  const kube::Quantity one(1);
  switch (feature) {
    case ServerFeature::kListAttributes:
      device.attributes = {{"dra.networking/probe", std::vector<std::string>{"a", "b"}}};
      break;
    case ServerFeature::kCompatibilityGroups:
      device.consumes_counters = {{"probe", {{"probe", one}}, {"probe"}}};
      break;
    case ServerFeature::kCounters:
      device.consumes_counters = {{"probe", {{"probe", one}}}};
      counters.shared_counters = {{"probe", {{"probe", one}}}};
      break;
    case ServerFeature::kSharedDevices:
      device.allow_multiple_allocations = true;
      device.capacity["dra.networking/probe"] = {one,
                                                 kube::RequestPolicy{.default_ = one, .valid_values = {one}}};
      break;
    case ServerFeature::kBindingConditions:
      device.binding_conditions = {"dra.networking/probe-ready"};
      device.binding_failure_conditions = {"dra.networking/probe-lost"};
      break;
    case ServerFeature::kSkipNodeOperations:
      slice.skip_node_operations = {std::string(kube::kAllNodeOperations)};
      break;
  }
  slice.devices.push_back(std::move(device));
  if (feature != ServerFeature::kCounters) return {std::move(slice)};
  return {std::move(counters), std::move(slice)};
}

std::vector<kube::CounterConsumption> without_groups(std::vector<kube::CounterConsumption> consumed) {
  for (kube::CounterConsumption& one : consumed) one.compatibility_groups.clear();
  return consumed;
}

std::string_view name_of(ServerFeature feature) {
  switch (feature) {
    case ServerFeature::kListAttributes:
      return "list attributes";
    case ServerFeature::kCounters:
      return "counters";
    case ServerFeature::kSkipNodeOperations:
      return "skipped node operations";
    case ServerFeature::kCompatibilityGroups:
      return "compatibility groups";
    case ServerFeature::kBindingConditions:
      return "binding conditions";
    case ServerFeature::kSharedDevices:
      break;
  }
  return "consumable capacity";
}

}  // namespace

std::set<ServerFeature> dropped_features(const kube::ResourceSlice& sent, const kube::ResourceSlice& stored) {
  std::set<ServerFeature> lost;
  if (sent.skip_node_operations != stored.skip_node_operations)
    lost.insert(ServerFeature::kSkipNodeOperations);
  if (sent.shared_counters != stored.shared_counters) lost.insert(ServerFeature::kCounters);
  std::map<std::string_view, const kube::Device*> by_name;
  for (const kube::Device& device : stored.devices) by_name.emplace(device.name, &device);
  for (const kube::DevicePtr& device : sent.devices) {
    const auto at = by_name.find(device->name);
    if (at == by_name.end()) continue;
    const kube::Device& kept = *at->second;
    if (device->consumes_counters != kept.consumes_counters)
      lost.insert(without_groups(device->consumes_counters) == kept.consumes_counters
                      ? ServerFeature::kCompatibilityGroups
                      : ServerFeature::kCounters);
    if (device->binding_conditions != kept.binding_conditions ||
        device->binding_failure_conditions != kept.binding_failure_conditions)
      lost.insert(ServerFeature::kBindingConditions);
    if (device->allow_multiple_allocations && !kept.allow_multiple_allocations)
      lost.insert(ServerFeature::kSharedDevices);
    for (const auto& [key, value] : device->attributes)
      if (kube::is_list(value) && !kept.attributes.contains(key)) lost.insert(ServerFeature::kListAttributes);
  }
  return lost;
}

bool has_counting_scheduler(std::string_view git_version) {
  const auto version = kube::decode_git_version(git_version);
  return version && *version >= std::array<int64_t, 3>{1, 36, 2};
}

ServerFeatures::ServerFeatures(kube::ClusterPorts ports, std::string driver, std::string node,
                               std::string scheduler_version, std::function<void()> on_changed)
    : ports_(std::move(ports)),
      driver_(std::move(driver)),
      node_(std::move(node)),
      scheduler_version_(std::move(scheduler_version)),
      on_changed_(std::move(on_changed)),
      backoff_(ports_.random),
      other_servers_(ports_.random) {}

void ServerFeatures::want(ServerFeature feature) {
  const bool is_new = wanted_.try_emplace(feature).second;
  if (is_new && !give_up_ && !has_given_up_)
    give_up_ = ports_.scheduler.after(kAnswerMax, [this] {
      give_up_.reset();
      if (settled()) return;
      has_given_up_ = true;
      ports_.log.warning("API server features unknown: assuming none until a probe succeeds", {});
      callbacks_.run(on_changed_);
    });
  if (next_to_probe() && !call_ && !retry_) read_version();
}

bool ServerFeatures::has(ServerFeature feature) const {
  const auto at = wanted_.find(feature);
  return at != wanted_.end() && at->second.answer.value_or(false);
}

bool ServerFeatures::settled() const {
  return has_given_up_ || std::all_of(wanted_.begin(), wanted_.end(),
                                      [](const auto& entry) { return entry.second.answer.has_value(); });
}

void ServerFeatures::lost(ServerFeature feature) {
  FeatureState& known = wanted_[feature];
  if (known.answer == std::optional(false)) return;
  known = {false, true};
  ports_.log.warning(
      "API server no longer stores fields of a ResourceSlice: devices that need them are withdrawn",
      {{"feature", name_of(feature)}, {"server_version", version_}});
  callbacks_.run(on_changed_);
}

std::optional<ServerFeature> ServerFeatures::next_to_probe() const {
  for (const auto& [feature, known] : wanted_)
    if (!known.is_current) return feature;
  return std::nullopt;
}

void ServerFeatures::server_may_have_changed() {
  if (!wanted_.empty() && !call_ && !retry_) read_version();
}

void ServerFeatures::read_version() {
  call_ = ports_.cluster.server_info(
      [this](kube::ServerInfo info) {
        call_.reset();
        if (info.git_version == version_) return probe_next();
        for (auto& [feature, known] : wanted_) known.is_current = false;
        version_ = std::move(info.git_version);
        adopt_server();
      },
      [this](const kube::Failure& failure) { retry(failure); });
}

// A load balancer may lead to servers of different versions, so that each answer comes from another one.
void ServerFeatures::adopt_server() {
  const TimePoint now = ports_.scheduler.now();
  if (now < not_before_) {
    // Needs no request.
    if (wanted_.contains(ServerFeature::kCounters) && !is_counting())
      set_answer(ServerFeature::kCounters, false);
    retry_ = ports_.scheduler.after(not_before_ - now, [this] {
      retry_.reset();
      read_version();
    });
    return notify();
  }
  not_before_ = now + other_servers_.next(now);
  probe_next();
}

void ServerFeatures::probe_next() {
  const auto next = next_to_probe();
  if (!next) return;
  if (*next == ServerFeature::kCounters && !is_counting()) return conclude(*next, false);
  probe(*next, 0);
}

void ServerFeatures::probe(ServerFeature feature, size_t step) {
  const auto probes = probes_of(feature, driver_, node_);
  const kube::ResourceSlice& sent = probes[step];
  call_ = ports_.cluster.write(
      {.verb = kube::Verb::kCreate,
       .resource = kube::kResourceSlices,
       .name = sent.meta.name,
       .body = kube::encode_json(kube::encode_resource_slice(sent)),
       .dry_run = true},
      {.on_done =
           [this, feature, step, sent, is_last = step + 1 == probes.size()](std::string_view object) {
             const auto json = kube::decode_json(object);
             const auto stored =
                 json ? kube::decode_resource_slice(*json) : Result<kube::ResourceSlice>(json.error());
             if (!stored || stored->meta.name != sent.meta.name)
               return retry({.what = "the answer to the dry run names another object"});
             const bool is_same = stored->devices == sent.devices &&
                                  stored->shared_counters == sent.shared_counters &&
                                  stored->skip_node_operations == sent.skip_node_operations;
             if (!is_same || is_last) return conclude(feature, is_same);
             probe(feature, step + 1);
           },
       .on_failure =
           [this, feature](const kube::Failure& failure) {
             // A refusal by an admission policy or webhook is not an answer about the field. Both use these
             // words (k8s.io/apiserver: plugin/policy/validating, plugin/webhook/errors).
             const bool is_of_admission = failure.what.find("denied request") != std::string::npos ||
                                          failure.what.find("denied the request") != std::string::npos;
             if (is_of_admission && denied_ != failure.what)
               ports_.log.warning(
                   "probe of API server features refused by admission control: the feature counts as unsupported",
                   {{"problem", failure.what}});
             denied_ = is_of_admission ? failure.what : "";
             // Without a Status a proxy may have answered; without a field of the slice the error is about
             // something else.
             const bool is_of_field =
                 failure.what.find("spec.") != std::string::npos ||
                 std::any_of(failure.fields.begin(), failure.fields.end(),
                             [](const std::string& field) { return field.starts_with("spec"); });
             if (failure.code == Errc::kInvalid && !failure.reason.empty() && is_of_field && !is_of_admission)
               return conclude(feature, false);
             retry(failure);
           }});
}

bool ServerFeatures::is_counting() const {
  return has_counting_scheduler(scheduler_version_.empty() ? version_ : scheduler_version_);
}

void ServerFeatures::conclude(ServerFeature feature, bool is_supported) {
  call_.reset();
  backoff_.reset();
  set_answer(feature, is_supported);
  if (next_to_probe()) return probe_next();
  notify();
}

void ServerFeatures::set_answer(ServerFeature feature, bool is_supported) {
  is_changed_ |=
      std::exchange(wanted_[feature], FeatureState{is_supported, true}).answer != std::optional(is_supported);
  ports_.log.info(is_supported ? "API server feature supported" : "API server feature not supported",
                  {{"feature", name_of(feature)}, {"server_version", version_}});
}

void ServerFeatures::notify() {
  if (std::exchange(is_changed_, false)) callbacks_.run(on_changed_);
}

void ServerFeatures::retry(const kube::Failure& failure) {
  call_.reset();
  ports_.log.debug("probe of API server features failed: it will be repeated", {{"problem", failure.what}});
  retry_ = ports_.scheduler.after(backoff_.next(ports_.scheduler.now()), [this] {
    retry_.reset();
    read_version();
  });
}

}  // namespace sliced::publishers
