#include "daemon/policy_book.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "kube/objects/kinds.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/resolve.h"
#include "policy/footprint.h"
#include "policy/reliance.h"
#include "reactor/base/first_few.h"

namespace sliced::daemon {
namespace {

using policy::DeviceAttributes;
using policy::ExposurePolicy;
using policy::SriovPolicy;

// Memory limits of each kind (docs/scale.md): together with events in transit they fit into a process of 64
// MiB.
constexpr watchers::MemoryLimits kSriovMemory{.guards_bytes_max = 1u << 20, .others_bytes_max = 4u << 20};
constexpr watchers::MemoryLimits kExposureMemory{.guards_bytes_max = 2u << 20, .others_bytes_max = 4u << 20};
constexpr watchers::MemoryLimits kAttributesMemory{.guards_bytes_max = 1u << 20,
                                                   .others_bytes_max = 2u << 20};

bool is_in_effect(const SriovPolicy& policy) {
  return policy.problems.empty() &&
         std::any_of(policy.configs.begin(), policy.configs.end(),
                     [](const policy::ResourceConfig& config) { return config.problems.empty(); });
}
bool is_in_effect(const DeviceAttributes& object) { return object.problems.empty(); }
bool is_in_effect(const ExposurePolicy& policy) { return policy.problems.empty(); }

// Returns whether it may hold back entries of others.
bool is_guard(const ExposurePolicy& policy) { return policy.action != policy::ExposureAction::kExpose; }
template <class Policy>
bool is_guard(const Policy&) {
  return false;
}

SriovPolicy unreadable(SriovPolicy::Id id, std::string why) {
  return policy::unreadable_sriov_policy(std::move(id), std::move(why));
}
DeviceAttributes unreadable(DeviceAttributes::Id id, std::string why) {
  return {.id = std::move(id), .problems = {{"", std::move(why)}}};
}
ExposurePolicy unreadable(ExposurePolicy::Id id, std::string why) {
  return policy::unreadable_exposure_policy(std::move(id.name), std::move(why));
}

policy::Problems problems_in(const SriovPolicy& policy) { return policy::problems_of(policy); }
policy::Problems problems_in(const DeviceAttributes& object) { return object.problems; }
policy::Problems problems_in(const ExposurePolicy& policy) { return policy.problems; }

// Titles of one policy, and of all.
template <class Policy>
constexpr std::string_view kTitle;
template <>
constexpr std::string_view kTitle<SriovPolicy> = "policy";
template <>
constexpr std::string_view kTitle<DeviceAttributes> = "DeviceAttributes";
template <>
constexpr std::string_view kTitle<ExposurePolicy> = "DeviceExposurePolicy";
template <class Policy>
constexpr std::string_view kPlural;
template <>
constexpr std::string_view kPlural<SriovPolicy> = "SriovResourcePolicies";
template <>
constexpr std::string_view kPlural<DeviceAttributes> = "DeviceAttributes";
template <>
constexpr std::string_view kPlural<ExposurePolicy> = "DeviceExposurePolicies";

watchers::MemoryBudget::Name name_of(const PolicyBook::Id& id) { return {id.namespace_, id.name}; }

template <class Id>
Id id_of(const PolicyBook::Id& id) {
  if constexpr (requires { Id{id.namespace_, id.name}; })
    return {id.namespace_, id.name};
  else
    return {id.name};
}

// "ns/name", "name"
template <class Id>
std::string text_of(const Id& id) {
  if constexpr (requires { id.namespace_; })
    return (id.namespace_.empty() ? "" : id.namespace_ + "/") + id.name;
  else
    return id.name;
}

template <class Policy, class Decode>
watchers::PolicyDecoding<Policy> decoding(watchers::MemoryLimits memory, Decode decode) {
  return {[decode = std::move(decode)](const kube::Json& object,
                                       const kube::ObjectMeta& meta) -> watchers::PolicyObject<Policy> {
            auto kept = std::make_shared<const Policy>(decode(object, meta));
            const watchers::Footprint footprint{policy::footprint(*kept), is_guard(*kept),
                                                static_cast<uint8_t>(is_in_effect(*kept) ? 0 : 1)};
            return {std::move(kept), footprint};
          },
          memory};
}

// "policy ns/name changed", "policy ns/name deleted", "policy listed: 410 Gone"
template <class Policy>
std::string reason_of(const PolicyEvent<Policy>& event) {
  const std::string of = std::string(kTitle<Policy>) + " ";
  if (const auto* changed = std::get_if<Changed<WatchedPolicy<Policy>>>(&event))
    return of + text_of(changed->now.id) + " changed";
  if (const auto* removed = std::get_if<Removed<WatchedPolicy<Policy>>>(&event))
    return of + text_of(removed->id) + " deleted";
  return of + "listed: " + std::get<Relisted<WatchedPolicy<Policy>>>(event).why;
}

// For excludes. A policy that was not evaluated yet counts as understood: an error in its selector is found
// at evaluation.
bool is_understood(const ExposurePolicy& policy, const PolicyEventContext& known) {
  return policy.problems.empty() &&
         (known.decision == nullptr || !known.decision->selectors->refuses(policy.selector.cel));
}

// Transfers the memory of the former object to its replacement.
void inherit(Shared<ExposurePolicy>& now, const Shared<ExposurePolicy>& before,
             const PolicyEventContext& known) {
  if (!is_guard(*now)) return;
  now.edit([&](ExposurePolicy& policy) {
    policy::keep_last_exclude(policy, before, is_understood(before, known));
  });
}
template <class Policy>
void inherit(Shared<Policy>&, const Shared<Policy>&, const PolicyEventContext&) {}

// Compares the kept content, without status and memory.
template <class Policy>
bool is_as_it_was(const Policy& now, const Policy& before) {
  return now == before;
}
bool is_as_it_was(ExposurePolicy now, const ExposurePolicy& before) {
  now.last_understood = before.last_understood;
  return now == before;
}

template <class Policy>
std::vector<Shared<Policy>> all_of(const std::map<typename Policy::Id, Shared<Policy>>& kept) {
  std::vector<Shared<Policy>> all;
  all.reserve(kept.size());
  for (const auto& [id, policy] : kept) all.push_back(policy);
  return all;
}

}  // namespace

PolicyResources policy_resources(const config::Options& options) {
  const auto is_on = [&](const kube::Resource& kind) { return !options.kinds_off.contains(kind.kind); };
  PolicyResources out;
  if (is_on(kube::kSriovResourcePolicies))
    out.sriov = {kube::kSriovResourcePolicies, "policies", options.namespace_,
                 decoding<SriovPolicy>(kSriovMemory,
                                       [](const kube::Json& object, const kube::ObjectMeta& meta) {
                                         return policy::decode_sriov_policy(object, meta);
                                       }),
                 policy::sriov_policy_fields()};
  // DeviceAttributes only add to the entries of SriovResourcePolicies.
  if (out.sriov && is_on(kube::kDeviceAttributes))
    out.attributes = {
        kube::kDeviceAttributes, "device attributes", options.namespace_,
        decoding<DeviceAttributes>(
            kAttributesMemory,
            [driver = options.sriov_driver_name](const kube::Json& object, const kube::ObjectMeta& meta) {
              return policy::decode_device_attributes(object, driver, meta);
            }),
        policy::device_attributes_fields()};
  if (is_on(kube::kDeviceExposurePolicies))
    out.exposures = {kube::kDeviceExposurePolicies, "exposure policies", "",
                     decoding<ExposurePolicy>(kExposureMemory,
                                              [driver = options.exposure_driver_name](
                                                  const kube::Json& object, const kube::ObjectMeta& meta) {
                                                return policy::decode_exposure_policy(object, driver, meta);
                                              }),
                     policy::exposure_policy_fields()};
  return out;
}

template <class Visit>
void PolicyBook::for_each_store(auto& book, Visit visit) {
  visit(book.sriov_);
  visit(book.attributes_);
  visit(book.exposures_);
}

template <class Policy>
bool PolicyBook::put(PolicyStore<Policy>& shelf, const WatchedPolicy<Policy>& item,
                     const std::map<typename Policy::Id, Shared<Policy>>& before,
                     const PolicyEventContext& known) {
  const auto id = id_of<typename Policy::Id>(item.id);
  if (item.value && item.value->is_left_out()) {
    shelf.left_out.put(name_of(item.id), item.value->footprint.guards);
    shelf.kept.erase(id);
    return true;
  }
  shelf.left_out.erase(name_of(item.id));
  Shared<Policy> now = item.value ? Shared<Policy>(item.value->policy)
                                  : Shared<Policy>(unreadable(id, item.value.error().what));
  const auto at = before.find(id);
  const bool is_same = at != before.end() && is_as_it_was(*now, *at->second);
  if (is_same)
    now = at->second;
  else if (at != before.end())
    inherit(now, at->second, known);
  shelf.kept.insert_or_assign(id, std::move(now));
  return !is_same;
}

template <class Policy>
bool PolicyBook::take(PolicyStore<Policy>& shelf, const PolicyEvent<Policy>& event,
                      const PolicyEventContext& known) {
  using Item = WatchedPolicy<Policy>;
  const bool was_any_left_out = shelf.left_out.is_any();
  if (const auto* changed = std::get_if<Changed<Item>>(&event))
    return put(shelf, changed->now, shelf.kept, known) || was_any_left_out;
  if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
    shelf.left_out.erase(name_of(removed->id));
    return shelf.kept.erase(id_of<typename Policy::Id>(removed->id)) > 0 || was_any_left_out;
  }
  // Objects that a list lacks are removed, except those that are kept until a second list lacks them too.
  const auto& list = std::get<Relisted<Item>>(event);
  const auto before = std::exchange(shelf.kept, {});
  std::vector<watchers::MemoryBudget::Name> names;
  for (const Id& id : list.kept) {
    names.push_back(name_of(id));
    if (const auto at = before.find(id_of<typename Policy::Id>(id)); at != before.end())
      shelf.kept.insert(*at);
  }
  shelf.left_out.keep_only(names);
  bool has_changed = was_any_left_out;
  for (const Item& item : list.all) has_changed |= put(shelf, item, before, known);
  return has_changed || shelf.kept.size() != before.size();
}

template <class Policy>
PolicyBook::Applied PolicyBook::apply_to(PolicyStore<Policy>& shelf, const PolicyEvent<Policy>& event,
                                         const PolicyEventContext& known) {
  const bool has_changed = take(shelf, event, known);
  if (has_changed) set_.reset();
  return {reason_of<Policy>(event), has_changed};
}

PolicyBook::Applied PolicyBook::apply(const PolicyEvent<SriovPolicy>& event,
                                      const PolicyEventContext& known) {
  return apply_to(sriov_, event, known);
}
PolicyBook::Applied PolicyBook::apply(const PolicyEvent<DeviceAttributes>& event,
                                      const PolicyEventContext& known) {
  return apply_to(attributes_, event, known);
}
PolicyBook::Applied PolicyBook::apply(const PolicyEvent<ExposurePolicy>& event,
                                      const PolicyEventContext& known) {
  return apply_to(exposures_, event, known);
}

bool PolicyBook::may_exclude(const PolicyEvent<ExposurePolicy>& event) {
  using Item = WatchedPolicy<ExposurePolicy>;
  const auto guards = [](const Item& item) { return !item.value || item.value->footprint.guards; };
  if (const auto* changed = std::get_if<Changed<Item>>(&event)) return guards(changed->now);
  const auto* list = std::get_if<Relisted<Item>>(&event);
  return list != nullptr && std::any_of(list->all.begin(), list->all.end(), guards);
}

template <class Policy>
bool PolicyBook::keeps_missing(const PolicyStore<Policy>& shelf, const std::vector<Id>& missing,
                               const PolicyEventContext& known) {
  if (known.decision == nullptr) return false;
  std::set<typename Policy::Id> ids;
  bool is_any_guard = false;
  for (const Id& id : missing) {
    ids.insert(id_of<typename Policy::Id>(id));
    is_any_guard |= shelf.left_out.is_guard(name_of(id));
  }
  return is_any_guard || policy::relies_on(*known.decision, ids);
}

bool PolicyBook::keeps_missing(const kube::Resource& kind, const std::vector<Id>& missing,
                               const PolicyEventContext& known) const {
  if (kind.kind == kube::kSriovResourcePolicies.kind) return keeps_missing(sriov_, missing, known);
  if (kind.kind == kube::kDeviceAttributes.kind) return keeps_missing(attributes_, missing, known);
  return keeps_missing(exposures_, missing, known);
}

const policy::PolicySetPtr& PolicyBook::set() {
  if (set_) return set_;
  auto exposures = all_of<ExposurePolicy>(exposures_.kept);
  if (exposures_.left_out.guards() > 0)
    exposures.push_back(policy::unreadable_exposure_policy("(left out)", exposures_.left_out.describe()));
  set_ = std::make_shared<const policy::PolicySet>(policy::make_policy_set(
      all_of<SriovPolicy>(sriov_.kept), all_of<DeviceAttributes>(attributes_.kept), std::move(exposures)));
  return set_;
}

void PolicyBook::for_each_problem(const std::function<void(const std::string&)>& say) const {
  for_each_store(*this, [&]<class Policy>(const PolicyStore<Policy>& shelf) {
    for (const auto& [id, policy] : shelf.kept) {
      const policy::Problems problems = problems_in(*policy);
      if (problems.empty()) continue;
      const std::string who = std::string(kTitle<Policy>) + " " + text_of(id) + ": ";
      for (const policy::Problem& problem : problems)
        say(who + (problem.field.empty() ? "" : problem.field + ": ") + problem.what);
      if (problems.more() > 0) say(who + and_more(problems.more()));
    }
  });
}

void PolicyBook::for_each_left_out(const std::function<void(const std::string&)>& say) const {
  for_each_store(*this, [&]<class Policy>(const PolicyStore<Policy>& shelf) {
    if (const std::string text = shelf.left_out.describe(); !text.empty())
      say(std::string(kPlural<Policy>) + ": " + text);
  });
}

}  // namespace sliced::daemon
