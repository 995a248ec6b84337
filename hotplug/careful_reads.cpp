#include "hotplug/careful_reads.h"

#include <algorithm>
#include <utility>

namespace sliced::hotplug {

void CarefulReads::ask(std::vector<Ask> asks, std::function<void()> on_all) {
  if (!is_running()) hung_in_round_ = 0;
  on_all_ = std::move(on_all);
  std::erase_if(hung_, [](const auto& entry) { return entry.second->returned.load(); });
  for (Ask& one : asks) enqueue(std::move(one));
  fill();
}

void CarefulReads::enqueue(Ask ask) {
  const auto same = waiting_keys_.find(ask.key);
  if (same == waiting_keys_.end()) {
    waiting_.push_back(ask.key);
    waiting_keys_.emplace(ask.key, std::move(ask));
  } else {
    same->second = std::move(ask);
  }
}

bool CarefulReads::is_asked_now(const std::string& key) const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const auto& entry) { return entry.second.ask.key == key; });
}

size_t CarefulReads::hung() const {
  return static_cast<size_t>(std::count_if(hung_.begin(), hung_.end(),
                                           [](const auto& entry) { return !entry.second->returned.load(); }));
}

void CarefulReads::fill() {
  if (std::exchange(is_filling_, true)) return;  // the executor may run a job immediately
  for (size_t held = 0; held < waiting_.size() && jobs_.size() < kAtOnceMax;) {
    std::string key = std::move(waiting_.front());
    waiting_.pop_front();
    if (is_asked_now(key)) {
      waiting_.push_back(std::move(key));
      ++held;
      continue;
    }
    Ask ask = std::move(waiting_keys_.extract(key).mapped());
    if (hung_in_round_ >= kHungPerRoundMax || hung_.contains(key))
      ask.on_hung();
    else
      begin(std::move(ask));
  }
  is_filling_ = false;
  end_if_done();
}

void CarefulReads::begin(Ask ask) {
  const uint64_t number = next_number_++;
  auto slot = std::make_shared<Slot>();
  auto read = ask.read;
  jobs_[number].ask = std::move(ask);
  auto job = executor_.run(
      [slot, read = std::move(read)] {
        slot->apply = read();
        slot->returned.store(true);
      },
      deadline_, [this, number, slot](bool finished) { finish(number, slot, finished); });
  if (const auto at = jobs_.find(number); at != jobs_.end()) at->second.job = std::move(job);
}

void CarefulReads::finish(uint64_t number, const std::shared_ptr<Slot>& slot, bool finished) {
  const auto entry = jobs_.extract(number);
  if (entry.empty()) return;
  if (finished) {
    slot->apply();
  } else {
    ++hung_in_round_;
    hung_[entry.mapped().ask.key] = slot;
    entry.mapped().ask.on_hung();
  }
  fill();
}

void CarefulReads::end_if_done() {
  if (is_running() || !on_all_) return;
  const auto done = std::exchange(on_all_, nullptr);
  done();
}

}  // namespace sliced::hotplug
