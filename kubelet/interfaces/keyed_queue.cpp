#include "kubelet/interfaces/keyed_queue.h"

#include <algorithm>
#include <utility>

namespace sliced::kubelet {

void KeyedQueue::add(std::set<std::string> keys, std::function<void(Done)> begin,
                     std::map<std::string, std::string> shared) {
  for (const std::string& key : keys) shared[key] = "";
  waiting_.push_back({std::move(shared), std::move(begin)});
  next_ = scheduler_.after(Millis{0}, [this] { look(); });
}

void KeyedQueue::look() {
  // Keys of running works and of earlier waiting ones, with the group; "" for several groups or exclusive
  // use.
  std::map<std::string, std::string> started;
  std::list<std::list<Work>::iterator> free;
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    const bool is_free = std::none_of(at->keys.begin(), at->keys.end(), [&](const auto& key) {
      const auto before = started.find(key.first);
      return before != started.end() && (key.second.empty() || before->second != key.second);
    });
    for (const auto& [key, group] : at->keys) {
      const auto [before, is_first] = started.try_emplace(key, group);
      if (!is_first && before->second != group) before->second.clear();
    }
    if (is_free && !at->is_running) free.push_back(at);
  }
  for (const auto at : free) {
    at->is_running = true;
    const auto begin = std::exchange(at->begin, nullptr);
    begin([this, at, alive = std::weak_ptr(life_)] {
      if (alive.expired()) return;
      waiting_.erase(at);
      next_ = scheduler_.after(Millis{0}, [this] { look(); });
    });
  }
}

}  // namespace sliced::kubelet
