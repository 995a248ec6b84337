#include "reactor/signal.h"

#include <uv.h>

#include "reactor/loop.h"
#include "reactor/turn_watch.h"

namespace sliced::reactor {

Result<std::unique_ptr<Signal>> Signal::open(Loop& loop, int number, Task on_signal) {
  auto handle = Handle<uv_signal_t>::open([&](uv_signal_t* raw) { return uv_signal_init(loop.raw(), raw); });
  const std::string step = "signal " + std::to_string(number);
  if (!handle) return std::move(handle.error()).in(step);
  if (const int code = uv_signal_start(handle->get(), &on_raised, number); code != 0)
    return uv_error(code).in(step);
  return std::unique_ptr<Signal>(new Signal(std::move(handle).value(), std::move(on_signal)));
}

Signal::Signal(Handle<uv_signal_s> handle, Task on_signal)
    : handle_(std::move(handle)), on_signal_(std::move(on_signal)) {
  handle_->data = this;
}

Signal::~Signal() = default;

void Signal::on_raised(uv_signal_s* raw, int) noexcept {
  auto* self = static_cast<Signal*>(raw->data);
  const TurnSpan span(raw->loop, "signal", self->on_signal_.target_type());
  const CallbackGuard::Call running(self->callbacks_);
  self->on_signal_();
}

}  // namespace sliced::reactor
