// The sync state of a source and its reports.
#include <string>
#include <utility>

#include "watchers/list_watch.h"

namespace sliced::watchers {

using State = SyncState::State;

std::string_view describe(State state) {
  switch (state) {
    case State::kStarting:
      return "starting";
    case State::kLive:
      return "live";
    case State::kAbsent:
      return "absent";
    case State::kDenied:
      return "denied";
    case State::kUnreachable:
      return "unreachable";
  }
  return "?";
}

void ListWatch::set_state(State state, std::string why) {
  const State before = sync_state_.state;
  if (before == state) return;  // the first reason remains while the state lasts
  sync_state_.state = state;
  sync_state_.why = std::move(why);
  log_state(before);
  if (state == State::kLive) failures_ = 0;
  sink_.sync_state_changed(sync_state_);
}

void ListWatch::log_state(State before) {
  const std::string resource = resource_name();
  switch (sync_state_.state) {
    case State::kLive:
      if (before == State::kDenied || before == State::kUnreachable)
        ports_.log.info("watch restored", {{"resource", resource}, {"failures", failures_}});
      return;
    case State::kAbsent:
      ports_.log.info("kind not installed: waiting for it", {{"resource", resource}});
      return;
    case State::kDenied:
    case State::kUnreachable:
      ports_.log.warning(sync_state_.state == State::kDenied ? "watch failed: access denied" : "watch failed",
                         {{"resource", resource}, {"was", describe(before)}, {"why", sync_state_.why}});
      return;
    case State::kStarting:
      return;
  }
}

std::string ListWatch::resource_name() const {
  const kube::Resource& kind = scope_.resource;
  return kind.group.empty() ? kind.plural : kind.plural + "." + kind.group;
}

}  // namespace sliced::watchers
