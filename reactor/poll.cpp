#include "reactor/poll.h"

#include <uv.h>

#include "reactor/loop.h"
#include "reactor/turn_watch.h"

namespace sliced::reactor {

Result<std::unique_ptr<Poll>> Poll::open(Loop& loop, int fd, OnReady on_ready) {
  auto handle = Handle<uv_poll_t>::open([&](uv_poll_t* raw) { return uv_poll_init(loop.raw(), raw, fd); });
  if (!handle) return std::move(handle.error()).in("poll descriptor " + std::to_string(fd));
  return std::unique_ptr<Poll>(new Poll(std::move(handle).value(), std::move(on_ready)));
}

Poll::Poll(Handle<uv_poll_s> handle, OnReady on_ready)
    : handle_(std::move(handle)), on_ready_(std::move(on_ready)) {
  handle_->data = this;
}

Poll::~Poll() = default;

void Poll::interest(bool readable, bool writable) {
  const int requested = (readable ? UV_READABLE | UV_DISCONNECT : 0) | (writable ? UV_WRITABLE : 0);
  if (requested == events_) return;
  events_ = requested;
  start();
}

void Poll::start() {
  if (events_ == 0)
    uv_poll_stop(handle_.get());
  else
    uv_poll_start(handle_.get(), events_, &on_poll);
}

void Poll::on_poll(uv_poll_s* raw, int status, int events) noexcept {
  auto* self = static_cast<Poll*>(raw->data);
  // libuv answers EPOLLERR with an error and stops watching; but the error may pass (ENOBUFS of a netlink
  // socket).
  if (status != 0) self->start();
  const TurnSpan span(raw->loop, "descriptor", self->on_ready_.target_type());
  const CallbackGuard::Call running(self->callbacks_);
  self->on_ready_({.readable = (events & UV_READABLE) != 0,
                   .writable = (events & UV_WRITABLE) != 0,
                   .hung_up = (events & UV_DISCONNECT) != 0,
                   .failed = status != 0});
}

}  // namespace sliced::reactor
