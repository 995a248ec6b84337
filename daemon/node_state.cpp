#include "daemon/node_state.h"

#include <chrono>
#include <limits>
#include <utility>

#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"
#include "reactor/base/text.h"
#include "watchers/policy_watcher.h"

namespace sliced::daemon {
namespace {

Result<policy::SriovNodeState> decode(std::string_view object) {
  auto json = kube::decode_json(object, watchers::kPolicyLimits);
  if (!json) return std::move(json.error());
  auto meta = kube::decode_object_meta(*json);
  if (!meta) return std::move(meta.error());
  return policy::decode_node_state(*json, meta);
}

// Returns why no list was received yet.
std::string why_silent(const watchers::SyncState& sync) {
  switch (sync.state) {
    case watchers::SyncState::State::kStarting:
    case watchers::SyncState::State::kLive:
      return "is being requested";
    case watchers::SyncState::State::kAbsent:
      return "cannot exist: the API server does not serve this kind; install the SR-IOV network operator";
    case watchers::SyncState::State::kDenied:
      return "may not be read; it takes get, list and watch on sriovnetworknodestates in that namespace: " +
             sync.why;
    case watchers::SyncState::State::kUnreachable:
      return "has not been read: " + sync.why;
  }
  return "";
}

std::string missing(const std::string& named) {
  return "there is no " + named +
         "; is --node-state-namespace the namespace of the SR-IOV network operator, and its daemon on this node?";
}

// Returns the fields in which two writes of the operator differ.
std::string status_of(const policy::SriovNodeState& state) {
  return state.uid + "\n" + state.sync_status + "\n" + state.last_sync_error + "\n" +
         (state.sync_status_at ? std::to_string(*state.sync_status_at) : "");
}

}  // namespace

policy::IgnoredStatus ignored_of(const config::Options& options) {
  return {.failed = options.ignore_node_state.contains(std::string(config::kIgnoreFailed)),
          .earlier_boot = options.ignore_node_state.contains(std::string(config::kIgnoreEarlierBoot))};
}

// "12345.67 98765.43": seconds since the boot, and of idleness.
std::function<std::optional<Millis>()> uptime_of(std::shared_ptr<const hotplug::HostView> host) {
  return [host = std::move(host)]() -> std::optional<Millis> {
    const auto text = host->read("proc/uptime");
    if (!text) return std::nullopt;
    const auto seconds = parse_int(std::string_view(*text).substr(0, text->find('.')));
    if (!seconds || *seconds < 0 || *seconds > std::numeric_limits<int32_t>::max()) return std::nullopt;
    return Millis{std::chrono::seconds{*seconds}};
  };
}

NodeStateSource::NodeStateSource(kube::ClusterPorts ports, Place place, Boot boot,
                                 std::function<void(std::string)> on_change)
    : ports_(std::move(ports)),
      place_(std::move(place)),
      boot_(std::move(boot)),
      on_change_(std::move(on_change)) {}

void NodeStateSource::want(bool wanted) {
  if (wanted == is_wanted()) return;
  watcher_.reset();
  reading_ = {};
  unreadable_.clear();
  is_listed_ = false;
  host_ = nullptr;
  first_answer_.reset();
  if (!wanted) return;
  watcher_ = std::make_unique<Watcher>(
      ports_,
      kube::Scope{kube::kSriovNetworkNodeStates, place_.namespace_, "metadata.name=" + place_.node, false},
      decode, [this](const SourceEvent<Watcher::Item>& event) { on_event(event); },
      [this](const watchers::SyncState&) { note_sync_state(); });
  reading_.why = named() + " " + why_silent(watcher_->sync_state());
  first_answer_ = ports_.scheduler.after(kFirstAnswerMax, [this] {
    first_answer_.reset();
    on_change_("the node state is not waited for any longer");
  });
  watcher_->start();
}

void NodeStateSource::retry_now() {
  if (watcher_) watcher_->retry_now();
}

const policy::NodeState& NodeStateSource::over(const hotplug::InventoryPtr& host) {
  if (host_ == nullptr || host_ != host) {
    over_ = policy::in_sync(reading_, *host);
    host_ = host;
  }
  return over_;
}

std::string NodeStateSource::named() const {
  return "SriovNetworkNodeState " + place_.namespace_ + "/" + place_.node;
}

void NodeStateSource::on_event(const SourceEvent<Watcher::Item>& event) {
  if (const auto* list = std::get_if<Relisted<Watcher::Item>>(&event)) {
    is_listed_ = true;
    take(list->all.empty() ? nullptr : &list->all.front());
  } else if (const auto* changed = std::get_if<Changed<Watcher::Item>>(&event)) {
    take(&changed->now);
  } else {
    take(nullptr);
  }
}

void NodeStateSource::take(const Watcher::Item* item) {
  unreadable_ = item == nullptr || item->value ? "" : item->value.error().what;
  if (item != nullptr && item->value)
    return set({.object = std::make_shared<const policy::SriovNodeState>(*item->value),
                .why = "",
                .no_evidence = find_boot_evidence(*item->value),
                .ignored = place_.ignored},
               "node state changed");
  if (!unreadable_.empty())
    return set({nullptr, named() + " cannot be read: " + unreadable_}, "node state cannot be read");
  if (!first_status_) first_status_ = "";
  // The kind may be missing: discovery reports that before the list is empty.
  if (watcher_->sync_state().is_unserved)
    return set({nullptr, named() + " " + why_silent({.state = watchers::SyncState::State::kAbsent}), true},
               "node state absent");
  set({nullptr, missing(named()), true}, "node state absent");
}

std::string NodeStateSource::find_boot_evidence(const policy::SriovNodeState& state) {
  const std::string status = status_of(state);
  if (!first_status_) first_status_ = status;
  if (evidence_uid_ == state.uid) return "";
  std::string why_not;
  const bool is_noted = boot_.has_evidence && boot_.has_evidence(state.uid);
  const bool is_changed = status != *first_status_ && !is_long_before_boot(state);
  if (!is_changed && !is_noted) why_not = age_of(state);
  if (!why_not.empty() || state.sync_status.empty()) return why_not;
  evidence_uid_ = state.uid;
  if (!is_noted && boot_.save_evidence) boot_.save_evidence(state.uid);
  return "";
}

std::optional<int64_t> NodeStateSource::booted_at() const {
  const auto now = booted_at_ ? std::nullopt : ports_.cluster.server_time();
  const std::optional<Millis> uptime = now && boot_.uptime ? boot_.uptime() : std::nullopt;
  if (uptime) booted_at_ = *now - std::chrono::duration_cast<std::chrono::seconds>(*uptime).count();
  return booted_at_;
}

// An API server that starts, or whose cache lags, first answers without the object or with an older status.
bool NodeStateSource::is_long_before_boot(const policy::SriovNodeState& state) const {
  constexpr int64_t skew = std::chrono::duration_cast<std::chrono::seconds>(kClockSkewMax).count();
  const auto booted = booted_at();
  return state.sync_status_at && booted && *state.sync_status_at < *booted - skew;
}

std::string NodeStateSource::age_of(const policy::SriovNodeState& state) const {
  if (!state.sync_status_at) return "its metadata.managedFields have no time of status.syncStatus";
  const std::string written = "the status was written at " + kube::encode_api_time(*state.sync_status_at);
  const auto booted = booted_at();
  if (!booted && !ports_.cluster.server_time())
    return written + ", and the API server's clock is not known (no Date in its responses)";
  if (!booted) return written + ", and the time since the node booted is not known (/proc/uptime)";
  constexpr int64_t margin = std::chrono::duration_cast<std::chrono::seconds>(kClockMargin).count();
  if (*state.sync_status_at > *booted + margin) return "";
  return written + ", and the node booted at " + kube::encode_api_time(*booted) +
         " by the API server's clock" +
         (*state.sync_status_at > *booted
              ? " (less than " + std::to_string(margin) + " s between them: clocks may differ)"
              : "");
}

void NodeStateSource::note_sync_state() {
  const watchers::SyncState& sync = watcher_->sync_state();
  // The known object stays, except if the kind was removed, which removes the object.
  if (is_listed_ && sync.state != watchers::SyncState::State::kAbsent) {
    if (reading_.object == nullptr && unreadable_.empty())
      set({nullptr, missing(named()), true}, "node state is not there");
    return;
  }
  set({nullptr, named() + " " + why_silent(sync), sync.state == watchers::SyncState::State::kAbsent},
      "node state is not known");
}

void NodeStateSource::set(policy::NodeStateReading reading, std::string why) {
  const bool is_first = is_awaited();
  first_answer_.reset();
  const bool is_same = (reading.object == nullptr) == (reading_.object == nullptr) &&
                       reading.why == reading_.why && reading.is_absent == reading_.is_absent &&
                       reading.no_evidence == reading_.no_evidence &&
                       (reading.object == nullptr || *reading.object == *reading_.object);
  if (is_same && !is_first) return;
  reading_ = std::move(reading);
  host_ = nullptr;
  on_change_(std::move(why));
}

}  // namespace sliced::daemon
