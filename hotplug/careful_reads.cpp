#include "hotplug/careful_reads.h"

#include <algorithm>
#include <utility>

namespace sliced::hotplug {

void CarefulReads::request(std::vector<Request> requests, std::function<void()> on_idle) {
  if (!is_running()) hung_in_round_ = 0;
  on_idle_ = std::move(on_idle);
  std::erase_if(hung_, [](const auto& entry) { return entry.second->returned.load(); });
  for (Request& one : requests) enqueue(std::move(one));
  fill();
}

void CarefulReads::enqueue(Request request) {
  const auto same = waiting_keys_.find(request.key);
  if (same == waiting_keys_.end()) {
    waiting_.push_back(request.key);
    waiting_keys_.emplace(request.key, std::move(request));
  } else {
    same->second = std::move(request);
  }
}

bool CarefulReads::is_in_progress(const std::string& key) const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const auto& entry) { return entry.second.request.key == key; });
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
    if (is_in_progress(key)) {
      waiting_.push_back(std::move(key));
      ++held;
      continue;
    }
    Request request = std::move(waiting_keys_.extract(key).mapped());
    if (hung_in_round_ >= kHungPerRoundMax || hung_.contains(key))
      request.on_hung();
    else
      begin(std::move(request));
  }
  is_filling_ = false;
  notify_if_idle();
}

void CarefulReads::begin(Request request) {
  const uint64_t number = next_number_++;
  auto slot = std::make_shared<Slot>();
  auto read = request.read;
  jobs_[number].request = std::move(request);
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
    hung_[entry.mapped().request.key] = slot;
    entry.mapped().request.on_hung();
  }
  fill();
}

void CarefulReads::notify_if_idle() {
  if (is_running() || !on_idle_) return;
  const auto done = std::exchange(on_idle_, nullptr);
  done();
}

}  // namespace sliced::hotplug
