#include "controller/aggregate/silent_nodes.h"

#include <algorithm>
#include <utility>

#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"

namespace sliced::aggregate {
namespace {

constexpr reactor::BackoffPolicy kLeaseListPace{
    .initial = Millis{10'000}, .cap = Millis{300'000}, .jitter = 0.5, .reset_after = Millis{900'000}};

// Other Leases belong to no node.
Result<reports::NodeLease> decode(std::string_view object) {
  const auto json = kube::decode_json(object);
  if (!json) return json.error();
  return reports::decode_node_lease(*json).value_or(reports::NodeLease{});
}

}  // namespace

SilentNodes::SilentNodes(kube::ClusterPorts ports, std::string namespace_)
    : ports_(std::move(ports)),
      backoff_(ports_.random, kLeaseListPace),
      watcher_(
          ports_, kube::Scope{kube::kLeases, std::move(namespace_), "", false}, decode,
          [this](const SourceEvent<Watcher::Item>& event) { on_leases(event); },
          [this](const watchers::SyncState& sync) { on_sync_state(sync); }) {}

void SilentNodes::start() {
  watcher_.start();
  look();
}

void SilentNodes::put(const Watcher::Item& item, std::map<std::string, ObservedLease>& into) const {
  if (!item.value || item.value->node.empty()) return;
  const reports::NodeLease& lease = *item.value;
  const auto known = leases_.find(lease.node);
  if (known != leases_.end() && known->second.lease.renewed == lease.renewed) {
    into[lease.node] = {lease, known->second.at};
    return;
  }
  // The first renewal that is read may be old.
  int64_t age = 0;
  if (const auto now = ports_.cluster.server_time(); known == leases_.end() && now)
    age = std::max<int64_t>(0, *now - lease.renewed);
  into[lease.node] = {lease, ports_.scheduler.now() - Millis{age * 1'000}};
}

void SilentNodes::on_leases(const SourceEvent<Watcher::Item>& event) {
  if (const auto* list = std::get_if<Relisted<Watcher::Item>>(&event)) {
    std::map<std::string, ObservedLease> all;
    for (const auto& item : list->all) put(item, all);
    leases_ = std::move(all);
  } else if (const auto* changed = std::get_if<Changed<Watcher::Item>>(&event)) {
    put(changed->now, leases_);
  } else if (const auto* removed = std::get_if<Removed<Watcher::Item>>(&event)) {
    leases_.erase(reports::node_of_lease(removed->id.name));
  }
}

void SilentNodes::on_sync_state(const watchers::SyncState& sync) {
  is_live_ = sync.state == watchers::SyncState::State::kLive;
  if (!is_live_ || std::exchange(was_live_, true)) {
    if (!is_live_ && was_live_)
      judged_from_ = TimePoint::max();
    else if (is_live_ && judged_from_ == TimePoint::max())
      judged_from_ = ports_.scheduler.now() + kGrace;
  }
}

void SilentNodes::look() {
  find_silent();
  write_next();
  timer_ = ports_.scheduler.after(kLookEvery, [this] { look(); });
}

void SilentNodes::find_silent() {
  const TimePoint now = ports_.scheduler.now();
  const bool may_begin = is_live_ && now >= judged_from_;
  std::set<std::string> out;
  for (const auto& [node, heard] : leases_) {
    const bool is_expired = now - heard.at > Millis{heard.lease.duration * 1'000};
    if (is_expired && (may_begin || silent_.contains(node))) out.insert(node);
  }
  for (const std::string& node : out)
    if (!silent_.contains(node))
      ports_.log.warning("node silent: its daemon does not renew its Lease", {{"node", node}});
  for (const std::string& node : silent_)
    if (!out.contains(node) && leases_.contains(node))
      ports_.log.info("node no longer silent", {{"node", node}});
  silent_ = std::move(out);
}

void SilentNodes::write_next() {
  if (call_ || !is_live_ || ports_.scheduler.now() < not_before_) return;
  for (const auto& [node, is_marked] : reports_)
    if (const bool is_silent = silent_.contains(node);
        is_silent != is_marked && (is_silent || leases_.contains(node)))
      return write(node, is_silent);
}

// Sends a merge patch, because an apply would create a missing report.
void SilentNodes::write(const std::string& node, bool is_silent) {
  kube::Json status = kube::Json::Object{};
  status.set("silentSince", is_silent ? kube::Json(kube::encode_api_time(leases_.at(node).lease.renewed))
                                      : kube::Json(nullptr));
  kube::Json body = kube::Json::Object{};
  body.set("status", std::move(status));
  kube::WriteRequest request{.verb = kube::Verb::kMerge,
                             .resource = kube::kNodeDeviceReports,
                             .name = node,
                             .body = kube::encode_json(body),
                             .field_manager = "sliced-aggregate"};
  call_ = ports_.cluster.write(
      std::move(request), {[this, node, is_silent](std::string_view) {
                             const auto call = std::move(call_);
                             ++counters_.written;
                             backoff_.reset();
                             failure_.forget();
                             if (const auto at = reports_.find(node); at != reports_.end())
                               at->second = is_silent;
                             write_next();
                           },
                           [this, node](const kube::Failure& failure) {
                             const auto call = std::move(call_);
                             if (kube::says_gone(failure)) {
                               reports_.erase(node);
                               return;
                             }
                             ++counters_.failed;
                             const TimePoint now = ports_.scheduler.now();
                             not_before_ =
                                 now + std::max(backoff_.next(now), failure.retry_after.value_or(Millis{0}));
                             if (failure_.is_new(failure.what))
                               ports_.log.warning("report of a silent node not updated: will retry",
                                                  {{"node", node}, {"why", failure.what}});
                           }});
}

}  // namespace sliced::aggregate
