#include "reactor/timer.h"

#include <uv.h>

#include <algorithm>

#include "reactor/loop.h"
#include "reactor/turn_watch.h"

namespace sliced::reactor {

Timer::Timer(Loop& loop) {
  auto opened = Handle<uv_timer_t>::open([&](uv_timer_t* raw) { return uv_timer_init(loop.raw(), raw); });
  handle_ = std::move(opened).value();  // uv_timer_init cannot fail
  handle_->data = this;
}

Timer::~Timer() = default;

void Timer::arm(Millis delay, Task on_due) {
  on_due_ = std::move(on_due);
  uv_timer_start(handle_.get(), &on_timer, static_cast<uint64_t>(std::max(delay, Millis{0}).count()), 0);
}

void Timer::disarm() {
  uv_timer_stop(handle_.get());
  on_due_ = nullptr;
}

void Timer::on_timer(uv_timer_s* raw) noexcept {
  const Task run = std::exchange(static_cast<Timer*>(raw->data)->on_due_, nullptr);
  const TurnSpan span(raw->loop, "timer", run.target_type());
  run();  // the Timer may be gone
}

}  // namespace sliced::reactor
