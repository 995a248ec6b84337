// How a source stands, and what is said of it.
#include <string>
#include <utility>

#include "watchers/list_watch.h"

namespace sliced::watchers {

using State = Standing::State;

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

void ListWatch::stand(State state, std::string why) {
  const State before = standing_.state;
  if (before == state) return;  // the first reason stands while it lasts
  standing_.state = state;
  standing_.why = std::move(why);
  log_standing(before);
  if (state == State::kLive) failures_ = 0;
  sink_.standing_changed(standing_);
}

void ListWatch::log_standing(State before) {
  const std::string resource = resource_name();
  switch (standing_.state) {
    case State::kLive:
      if (before == State::kDenied || before == State::kUnreachable)
        ports_.log.info("following again", {{"resource", resource}, {"failures", failures_}});
      return;
    case State::kAbsent:
      ports_.log.info("kind is not installed; waiting for it", {{"resource", resource}});
      return;
    case State::kDenied:
    case State::kUnreachable:
      ports_.log.warning(standing_.state == State::kDenied ? "access denied" : "cannot be read",
                         {{"resource", resource}, {"was", describe(before)}, {"why", standing_.why}});
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
