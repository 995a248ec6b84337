#pragma once
// What was lately: the states of something, newest last. The first is what held before the second.
#include <deque>
#include <utility>

#include "reactor/base/time.h"

namespace sliced::sim {

template <class T>
using Past = std::deque<std::pair<TimePoint, T>>;

/// Forgets what had been replaced by then.
template <class T>
void prune(Past<T>& past, TimePoint before) {
  while (past.size() > 1 && past[1].first <= before) past.pop_front();
}

/// True when it is another state than the last.
template <class T>
bool remember(Past<T>& past, TimePoint now, T state) {
  if (!past.empty() && past.back().second == state) return false;
  past.emplace_back(now, std::move(state));
  return true;
}

}  // namespace sliced::sim
