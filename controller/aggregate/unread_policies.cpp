#include "controller/aggregate/unread_policies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/objects/json.h"
#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "reactor/base/text.h"

namespace sliced::aggregate {
namespace {

constexpr const char* kReason = "PolicyNamespaceNotRead";

}  // namespace

UnreadPolicies::UnreadPolicies(kube::ClusterPorts ports, Settings settings, std::function<void()> on_change)
    : ports_(std::move(ports)),
      settings_(std::move(settings)),
      on_change_(std::move(on_change)),
      events_(ports_, {.node = "aggregate",
                       .node_uid = [] { return std::string(); },
                       .object_uid =
                           [this](const reports::PolicyRef& policy) {
                             const auto at = policies_.find({policy.namespace_, policy.name});
                             return at == policies_.end() ? std::string() : at->second.uid;
                           },
                       .now = settings_.now}),
      watcher_(
          ports_, kube::Scope{kube::kSriovResourcePolicies, "", "", /*metadata_only=*/true},
          [](std::string_view object) -> Result<Meta> {
            const auto json = kube::decode_json(object);
            if (!json) return json.error();
            auto meta = kube::decode_object_meta(*json);
            if (!meta) return std::move(meta.error());
            return Meta{std::move(meta->uid)};
          },
          [this](const SourceEvent<Watcher::Item>& event) { on_policies(event); },
          [this](const watchers::SyncState& sync) { on_sync_state(sync); }) {
  events_.permit(true);
}

void UnreadPolicies::on_policies(const SourceEvent<Watcher::Item>& event) {
  const auto put = [this](const Watcher::Item& item, std::map<Watcher::Item::Id, Unread>& into,
                          const std::map<Watcher::Item::Id, Unread>& before) {
    if (item.id.namespace_ == settings_.namespace_) return;
    const auto known = before.find(item.id);
    Unread one = known == before.end() ? Unread{} : known->second;
    one.uid = item.value ? item.value->uid : item.uid;
    into[item.id] = std::move(one);
  };
  if (const auto* list = std::get_if<Relisted<Watcher::Item>>(&event)) {
    std::map<Watcher::Item::Id, Unread> all;
    for (const auto& item : list->all) put(item, all, policies_);
    policies_ = std::move(all);
  } else if (const auto* changed = std::get_if<Changed<Watcher::Item>>(&event)) {
    put(changed->now, policies_, policies_);
  } else if (const auto* removed = std::get_if<Removed<Watcher::Item>>(&event)) {
    policies_.erase({removed->id.namespace_, removed->id.name});
  }
  on_change_();
}

void UnreadPolicies::on_sync_state(const watchers::SyncState& sync) {
  const bool is_denied = sync.state == watchers::SyncState::State::kDenied;
  if (denied_.is_new(is_denied ? sync.why : ""))
    ports_.log.warning(
        "policies of other namespaces cannot be listed: unused policies are not reported",
        {{"grant", "list and watch on sriovresourcepolicies in all namespaces"}, {"why", sync.why}});
}

std::string UnreadPolicies::note_of(const std::string& namespace_) const {
  return "no daemon reads policies of namespace " + namespace_ +
         ", so this one has no effect; the daemons of this release read namespace " + settings_.namespace_ +
         " (--namespace): move the policy there";
}

void UnreadPolicies::look(const std::set<std::string>& read) {
  const TimePoint now = ports_.scheduler.now();
  std::optional<TimePoint> later;
  std::set<Watcher::Item::Id> reported;
  reports::ReportedEvents events;
  for (auto& [id, policy] : policies_) {
    if (read.contains(id.namespace_)) {
      policy.is_unread = false;
      continue;
    }
    if (!std::exchange(policy.is_unread, true)) policy.since = now;
    if (const TimePoint due = policy.since + kAfter; due > now) {
      later = std::min(later.value_or(due), due);
      continue;
    }
    if (reported.size() >= kReportedMax) continue;
    reported.insert(id);
    events.push_back({.reason = kReason,
                      .policy = {kube::kSriovResourcePolicies.kind, id.namespace_, id.name},
                      .what = {},
                      .note = note_of(id.namespace_),
                      .is_of_fleet = true});
    if (!reported_.contains(id))
      ports_.log.warning("policy without effect: no daemon reads its namespace",
                         {{"policy", printable(id.namespace_ + "/" + id.name, 512)},
                          {"read", settings_.namespace_},
                          {"remedy", "move it to namespace " + settings_.namespace_ +
                                         ", or have daemons use its namespace (--namespace)"}});
  }
  reported_ = std::move(reported);
  events_.look(events);
  timer_.reset();
  if (later)
    timer_ =
        ports_.scheduler.after(std::chrono::duration_cast<Millis>(*later - now), [this] { on_change_(); });
}

}  // namespace sliced::aggregate
