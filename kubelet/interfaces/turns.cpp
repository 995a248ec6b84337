#include "kubelet/interfaces/turns.h"

#include <algorithm>
#include <utility>

namespace sliced::kubelet {

void Turns::add(std::set<std::string> keys, std::function<void(Done)> begin) {
  waiting_.push_back({std::move(keys), std::move(begin)});
  next_ = scheduler_.after(Millis{0}, [this] { look(); });
}

void Turns::look() {
  std::set<std::string> taken;  // by what runs, and by what came earlier and waits
  std::list<std::list<Work>::iterator> free;
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    const bool is_free = std::none_of(at->keys.begin(), at->keys.end(),
                                      [&](const std::string& key) { return taken.contains(key); });
    taken.insert(at->keys.begin(), at->keys.end());
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
