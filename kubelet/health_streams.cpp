#include "kubelet/health_streams.h"

#include <utility>

#include "kubelet/messages.h"

namespace sliced::kubelet {

void HealthStreams::add(grpc::Answer watch) {
  std::erase_if(watches_, [](const grpc::Answer& one) { return !one.is_wanted(); });
  if (watches_.size() >= kHealthStreamsMax)
    return watch.finish({grpc::Code::kResourceExhausted, "more than " + std::to_string(kHealthStreamsMax) +
                                                             " watches of one driver's health"});
  watches_.push_back(std::move(watch));
  is_sent_ = false;
  arm(Millis{0});
}

void HealthStreams::look() {
  if (!watches_.empty()) arm(kHealthSettle);
}

void HealthStreams::arm(Millis delay) {
  const TimePoint at = ports_.scheduler.now() + delay;
  if (next_ && looks_at_ <= at) return;
  looks_at_ = at;
  next_ = ports_.scheduler.after(delay, [this] { tell(); });
}

void HealthStreams::tell() {
  const auto over = std::move(next_);
  std::erase_if(watches_, [](const grpc::Answer& one) { return !one.is_wanted(); });
  if (watches_.empty()) return;
  const TimePoint now = ports_.scheduler.now();
  std::vector<DeviceHealth> judged = ports_.judge();
  if (!is_sent_ || judged != sent_ || now - sent_at_ >= kHealthRepeat) {
    sent_ = std::move(judged);
    sent_at_ = now;
    is_sent_ = true;
    const std::string message = encode_health(sent_, ports_.clock(), kHealthOutdatedAfter);
    for (grpc::Answer& watch : watches_) tell(watch, message);
  }
  arm(is_sent_ ? sent_at_ + kHealthRepeat - now : Millis{1'000});
}

// A watch that has not read the previous message gets the current list after it has.
void HealthStreams::tell(grpc::Answer& watch, const std::string& message) {
  if (watch.unsent_bytes() > 0)
    is_sent_ = false;
  else
    watch.send(message);
}

}  // namespace sliced::kubelet
