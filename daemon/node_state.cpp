#include "daemon/node_state.h"

#include <utility>

#include "kube/kinds.h"
#include "reactor/base/text.h"
#include "watchers/policy_watcher.h"

namespace sliced::daemon {
namespace node_state {

using State = watchers::Standing::State;

Result<policy::SriovNodeState> decode(std::string_view object) {
  auto json = kube::decode_json(object, watchers::kPolicyLimits);
  if (!json) return std::move(json.error());
  auto meta = kube::decode_object_meta(*json);
  if (!meta) return std::move(meta.error());
  return policy::decode_node_state(*json, meta);
}

// What no list has told yet.
std::string why_silent(const watchers::Standing& standing) {
  switch (standing.state) {
    case State::kStarting:
    case State::kLive:
      return "is being asked for";
    case State::kAbsent:
      return "cannot be: the API server does not have its kind (is the SR-IOV network operator installed?)";
    case State::kDenied:
      return "may not be read; it takes get, list and watch on sriovnetworknodestates in that namespace: " +
             standing.why;
    case State::kUnreachable:
      return "has not been read: " + standing.why;
  }
  return "";
}

}  // namespace node_state

NodeStateSource::NodeStateSource(kube::Ports ports, Place place, std::function<void(std::string)> on_change)
    : ports_(std::move(ports)), place_(std::move(place)), on_change_(std::move(on_change)) {}

void NodeStateSource::want(bool wanted) {
  if (wanted == is_wanted()) return;
  watcher_.reset();
  word_ = {};
  unreadable_.clear();
  is_listed_ = false;
  host_ = nullptr;
  first_answer_.reset();
  if (!wanted) return;
  watcher_ = std::make_unique<Watcher>(
      ports_,
      kube::Scope{kube::kSriovNetworkNodeStates, place_.namespace_, "metadata.name=" + place_.node, false},
      node_state::decode, [this](const SourceEvent<Watcher::Item>& event) { on_event(event); },
      [this](const watchers::Standing&) { note_standing(); });
  word_.why = named() + " " + node_state::why_silent(watcher_->standing());
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
    over_ = policy::in_sync(word_, *host);
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
    return set({.object = std::make_shared<const policy::SriovNodeState>(*item->value), .why = ""},
               "node state changed");
  set({nullptr, unreadable_.empty() ? "there is no " + named() : named() + " cannot be read: " + unreadable_,
       unreadable_.empty()},
      unreadable_.empty() ? "node state is gone" : "node state cannot be read");
}

void NodeStateSource::note_standing() {
  const watchers::Standing& standing = watcher_->standing();
  // What is known stays, but for a kind that is gone: that is an answer, and takes the object with it.
  if (is_listed_ && standing.state != node_state::State::kAbsent) {
    if (word_.object == nullptr && unreadable_.empty())
      set({nullptr, "there is no " + named(), true}, "node state is not there");
    return;
  }
  set({nullptr, named() + " " + node_state::why_silent(standing),
       standing.state == node_state::State::kAbsent},
      "node state is not known");
}

void NodeStateSource::set(policy::NodeStateWord word, std::string why) {
  const bool is_first = is_awaited();
  first_answer_.reset();
  const bool is_same = (word.object == nullptr) == (word_.object == nullptr) && word.why == word_.why &&
                       word.is_absent == word_.is_absent &&
                       (word.object == nullptr || *word.object == *word_.object);
  if (is_same && !is_first) return;
  word_ = std::move(word);
  host_ = nullptr;
  on_change_(std::move(why));
}

}  // namespace sliced::daemon
