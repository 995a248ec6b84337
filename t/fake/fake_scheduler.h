#pragma once
// Steps time by hand. Tasks run in deadline order (ties: in the order they were asked for), each at its own
// deadline.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "reactor/scheduler.h"

namespace sliced::fake {

class FakeScheduler final : public reactor::Scheduler {
 public:
  TimePoint now() const override { return now_; }

  reactor::Ticket after(Millis delay, reactor::Task task) override {
    auto ticket = std::make_shared<reactor::Task>(std::move(task));
    due_.emplace(now_ + std::max(delay, Millis{0}), ticket);
    return ticket;
  }

  void destroy_later(std::shared_ptr<void> object) override { retired_.push_back(std::move(object)); }

  void advance(Millis by) {
    std::exchange(retired_, {}).clear();
    const TimePoint until = now_ + by;
    while (!due_.empty() && due_.begin()->first <= until) {
      auto entry = due_.extract(due_.begin());
      if (auto task = entry.mapped().lock()) {
        now_ = entry.key();
        (*task)();
      }
    }
    now_ = until;
  }

  /// Deadline of the next task that is still wanted; TimePoint::max() when there is none.
  TimePoint next_deadline() {
    while (!due_.empty() && due_.begin()->second.expired()) due_.erase(due_.begin());
    return due_.empty() ? TimePoint::max() : due_.begin()->first;
  }

 private:
  TimePoint now_{};
  std::vector<std::shared_ptr<void>> retired_;
  std::multimap<TimePoint, std::weak_ptr<reactor::Task>> due_;
};

}  // namespace sliced::fake
