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
using watchers::LeftOut;

// How much of each kind is kept (docs/scale.md): for the three and what passes, a process of 64 MiB has room.
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

// It may hold back what others offer.
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

// As people are told of one, and of all.
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
watchers::PolicyKind decoding(watchers::MemoryLimits memory, Decode decode) {
  return {[decode = std::move(decode)](const kube::Json& object,
                                       const kube::ObjectMeta& meta) -> watchers::PolicyObject {
            auto kept = std::make_shared<const Policy>(decode(object, meta));
            const watchers::Footprint footprint{policy::footprint(*kept), is_guard(*kept),
                                                static_cast<uint8_t>(is_in_effect(*kept) ? 0 : 1)};
            return {std::move(kept), footprint};
          },
          memory};
}

// "policy ns/name changed", "policy ns/name deleted", "policy listed: 410 Gone"
std::string reason_of(std::string_view title, const PolicyBook::Event& event) {
  const std::string of = std::string(title) + " ";
  if (const auto* changed = std::get_if<Changed<PolicyBook::Item>>(&event))
    return of + text_of(changed->now.id) + " changed";
  if (const auto* removed = std::get_if<Removed<PolicyBook::Item>>(&event))
    return of + text_of(removed->id) + " deleted";
  return of + "listed: " + std::get<Relisted<PolicyBook::Item>>(event).why;
}

// As an exclude. One that no decision has asked yet counts: whether its selector can be used is seen when it is.
bool is_understood(const ExposurePolicy& policy, const Known& known) {
  return policy.problems.empty() &&
         (known.decision == nullptr || !known.decision->selectors->refuses(policy.selector.cel));
}

// What of the one before goes on in the one that takes its place.
void inherit(Shared<ExposurePolicy>& now, const Shared<ExposurePolicy>& before, const Known& known) {
  if (!is_guard(*now)) return;
  now.edit([&](ExposurePolicy& policy) {
    policy::remember_exclude(policy, before, is_understood(before, known));
  });
}
template <class Policy>
void inherit(Shared<Policy>&, const Shared<Policy>&, const Known&) {}

// In all that is kept of it: what is not (its status) does not count, nor what was remembered of it.
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

std::vector<PolicyKind> sriov_kinds(const config::Options& options) {
  std::vector<PolicyKind> kinds;
  // DeviceAttributes say something of what the others offer, and nothing alone.
  if (options.kinds_off.contains(kube::kSriovResourcePolicies.kind)) return kinds;
  kinds.push_back({kube::kSriovResourcePolicies, "policies", options.namespace_,
                   decoding<SriovPolicy>(kSriovMemory,
                                         [](const kube::Json& object, const kube::ObjectMeta& meta) {
                                           return policy::decode_sriov_policy(object, meta);
                                         }),
                   policy::sriov_policy_fields()});
  if (options.kinds_off.contains(kube::kDeviceAttributes.kind)) return kinds;
  const auto decode = [driver = options.sriov_driver_name](const kube::Json& object,
                                                           const kube::ObjectMeta& meta) {
    return policy::decode_device_attributes(object, driver, meta);
  };
  kinds.push_back({kube::kDeviceAttributes, "device attributes", options.namespace_,
                   decoding<DeviceAttributes>(kAttributesMemory, decode),
                   policy::device_attributes_fields()});
  return kinds;
}

std::vector<PolicyKind> exposure_kinds(const config::Options& options) {
  if (options.kinds_off.contains(kube::kDeviceExposurePolicies.kind)) return {};
  const auto decode = [driver = options.exposure_driver_name](const kube::Json& object,
                                                              const kube::ObjectMeta& meta) {
    return policy::decode_exposure_policy(object, driver, meta);
  };
  return {{kube::kDeviceExposurePolicies, "exposure policies", "",
           decoding<ExposurePolicy>(kExposureMemory, decode), policy::exposure_policy_fields()}};
}

template <class Visit>
void PolicyBook::on_each_shelf(auto& book, Visit visit) {
  visit(book.sriov_);
  visit(book.attributes_);
  visit(book.exposures_);
}

template <class Visit>
auto PolicyBook::on_shelf(auto& book, const kube::Resource& kind, Visit visit) {
  if (kind.kind == kube::kSriovResourcePolicies.kind) return visit(book.sriov_);
  if (kind.kind == kube::kDeviceAttributes.kind) return visit(book.attributes_);
  return visit(book.exposures_);
}

template <class Policy>
bool PolicyBook::put(Shelf<Policy>& shelf, const Item& item,
                     const std::map<typename Policy::Id, Shared<Policy>>& before, const Known& known) {
  const auto id = id_of<typename Policy::Id>(item.id);
  if (item.value && item.value->is_left_out()) {
    shelf.left_out.put(name_of(item.id), item.value->footprint.guards);
    shelf.kept.erase(id);
    return true;
  }
  shelf.left_out.erase(name_of(item.id));
  Shared<Policy> now = item.value ? Shared<Policy>(std::static_pointer_cast<const Policy>(item.value->policy))
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
bool PolicyBook::take(Shelf<Policy>& shelf, const Event& event, const Known& known) {
  const bool was_any_left_out = shelf.left_out.is_any();
  if (const auto* changed = std::get_if<Changed<Item>>(&event))
    return put(shelf, changed->now, shelf.kept, known) || was_any_left_out;
  if (const auto* removed = std::get_if<Removed<Item>>(&event)) {
    shelf.left_out.erase(name_of(removed->id));
    return shelf.kept.erase(id_of<typename Policy::Id>(removed->id)) > 0 || was_any_left_out;
  }
  // What a list lacks leaves, except for what is kept until a second list lacks it too.
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

PolicyBook::Applied PolicyBook::apply(const kube::Resource& kind, const Event& event, const Known& known) {
  return on_shelf(*this, kind, [&]<class Policy>(Shelf<Policy>& shelf) {
    const bool has_changed = take(shelf, event, known);
    if (has_changed) set_.reset();
    return Applied{reason_of(kTitle<Policy>, event), has_changed};
  });
}

bool PolicyBook::may_exclude(const kube::Resource& kind, const Event& event) {
  if (kind.kind != kube::kDeviceExposurePolicies.kind) return false;
  const auto guards = [](const Item& item) { return !item.value || item.value->footprint.guards; };
  if (const auto* changed = std::get_if<Changed<Item>>(&event)) return guards(changed->now);
  const auto* list = std::get_if<Relisted<Item>>(&event);
  return list != nullptr && std::any_of(list->all.begin(), list->all.end(), guards);
}

bool PolicyBook::keeps_missing(const kube::Resource& kind, const std::vector<Id>& missing,
                               const Known& known) const {
  if (known.decision == nullptr) return false;
  return on_shelf(*this, kind, [&]<class Policy>(const Shelf<Policy>& shelf) {
    std::set<typename Policy::Id> ids;
    bool is_any_guard = false;
    for (const Id& id : missing) {
      ids.insert(id_of<typename Policy::Id>(id));
      is_any_guard |= shelf.left_out.is_guard(name_of(id));
    }
    return is_any_guard || policy::relies_on(*known.decision, ids);
  });
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
  on_each_shelf(*this, [&]<class Policy>(const Shelf<Policy>& shelf) {
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
  on_each_shelf(*this, [&]<class Policy>(const Shelf<Policy>& shelf) {
    if (const std::string text = shelf.left_out.describe(); !text.empty())
      say(std::string(kPlural<Policy>) + ": " + text);
  });
}

}  // namespace sliced::daemon
