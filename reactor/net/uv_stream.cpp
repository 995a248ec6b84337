#include "reactor/net/uv_stream.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "reactor/turn_watch.h"

namespace sliced::reactor::net {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
// A peer may send the reason before it closes the connection: reading gets this long to find it.
constexpr Millis kReadRestWait{20};

constexpr unsigned kKeepAliveSeconds = 30;  // libuv adds ten probes a second apart
constexpr unsigned kUnackedMillisMax = 40'000;

// libuv asks for space, reads and delivers without a turn in between: one buffer serves all streams of the
// thread.
uv_buf_t read_space() noexcept {
  static thread_local const auto space = std::make_unique<char[]>(kReadBytes);
  return uv_buf_init(space.get(), kReadBytes);
}

}  // namespace

struct UvStream::WriteRequest {
  uv_write_t request{};
  std::string bytes;
  std::weak_ptr<UvStream*> stream;
};

UvStream::UvStream(Scheduler& scheduler, AnyHandle handle, std::string name, std::shared_ptr<void> lease)
    : scheduler_(scheduler),
      handle_(std::move(handle)),
      name_(std::move(name)),
      lease_(std::move(lease)),
      events_(std::make_shared<StreamEvents>()),
      alive_(std::make_shared<UvStream*>(this)) {
  raw()->data = this;
}

UvStream::~UvStream() = default;

uv_stream_t* UvStream::raw() const {
  return std::visit([](const auto& handle) { return reinterpret_cast<uv_stream_t*>(handle.get()); }, handle_);
}

void UvStream::receive(StreamEvents events) {
  events_ = std::make_shared<StreamEvents>(std::move(events));
  read();
}

void UvStream::pause() {
  paused_ = true;
  uv_read_stop(raw());
}

void UvStream::resume() {
  paused_ = false;
  read();
}

void UvStream::abandon() {
  dead_ = true;
  failure_.reset();
  alive_.reset();
  handle_ = Handle<uv_tcp_t>();  // closes it
  lease_.reset();
  events_ = std::make_shared<StreamEvents>();
}

void UvStream::read() {
  if (paused_ || ended_ || dead_) return;
  const int code = uv_read_start(
      raw(), [](uv_handle_t*, size_t, uv_buf_t* buffer) noexcept { *buffer = read_space(); }, &on_read);
  if (code != 0 && code != UV_EALREADY) fail_later(code);
}

void UvStream::on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) noexcept {
  auto* self = static_cast<UvStream*>(stream->data);
  if (size == 0) return;  // EAGAIN
  const std::shared_ptr<StreamEvents> events = self->events_;
  const TurnSpan span(stream->loop, "stream", events->on_data.target_type());
  const CallbackGuard::Call running(self->callbacks_);
  if (size > 0) {
    if (events->on_data) events->on_data({buffer->base, static_cast<size_t>(size)});
  } else if (size == UV_EOF) {
    self->ended_ = true;
    uv_read_stop(stream);
    if (events->on_end) events->on_end();
  } else {
    self->fail(static_cast<int>(size));
  }
}

void UvStream::write(std::string bytes) {
  if (closed_ || dead_ || failure_ || bytes.empty()) return;
  auto request = std::make_unique<WriteRequest>();
  request->bytes = std::move(bytes);
  request->stream = alive_;
  const uv_buf_t buffer = uv_buf_init(request->bytes.data(), static_cast<unsigned>(request->bytes.size()));
  if (const int code = uv_write(&request->request, raw(), &buffer, 1, &on_written); code != 0)
    fail_later(code);
  else
    static_cast<void>(request.release());  // NOLINT(bugprone-unused-return-value): on_written() has it
}

void UvStream::on_written(uv_write_t* done, int status) noexcept {
  const std::unique_ptr<WriteRequest> request(reinterpret_cast<WriteRequest*>(done));
  const auto stream = request->stream.lock();
  if (!stream) return;
  if (status != 0) return (*stream)->fail_later(status, kReadRestWait);
  if ((*stream)->unsent_bytes() != 0) return;
  const std::shared_ptr<StreamEvents> events = (*stream)->events_;
  if (!events->on_drained) return;
  const TurnSpan span(done->handle->loop, "stream", events->on_drained.target_type());
  const CallbackGuard::Call running((*stream)->callbacks_);
  events->on_drained();
}

size_t UvStream::unsent_bytes() const { return uv_stream_get_write_queue_size(raw()); }

void UvStream::close() {
  if (std::exchange(closed_, true) || dead_) return;
  auto* request = new uv_shutdown_t{};
  // The result is ignored: a closed peer needs no end of stream.
  const int code = uv_shutdown(request, raw(), [](uv_shutdown_t* done, int) noexcept { delete done; });
  if (code != 0) delete request;
}

void UvStream::fail_later(int code, Millis delay) {
  if (dead_ || failure_) return;
  failure_ = scheduler_.after(delay, [this, code] { fail(code); });
}

void UvStream::fail(int code) {
  if (std::exchange(dead_, true)) return;
  uv_read_stop(raw());
  const std::shared_ptr<StreamEvents> events = events_;
  Error error = uv_error(code).in(name_);
  const CallbackGuard::Call running(callbacks_);
  if (events->on_error) events->on_error(std::move(error));
}

void set_tcp_options(uv_tcp_t* handle) {
  uv_tcp_nodelay(handle, 1);
  uv_tcp_keepalive(handle, 1, kKeepAliveSeconds);
  // Keep-alive sleeps while bytes are unacknowledged; a peer that dies then would be noticed after 15
  // minutes.
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(handle), &fd) == 0)
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnackedMillisMax, sizeof kUnackedMillisMax);
}

Result<std::unique_ptr<ByteStream>> adopt_tcp(Loop& loop, Descriptor socket, const std::string& name,
                                              std::shared_ptr<void> lease) {
  auto handle = Handle<uv_tcp_t>::open([&](uv_tcp_t* raw) { return uv_tcp_init(loop.raw(), raw); });
  if (!handle) return Error(handle.error());
  if (const int code = uv_tcp_open(handle->get(), socket.get()); code != 0) return uv_error(code);
  socket.release();
  set_tcp_options(handle->get());
  return owned(loop.scheduler(),
               std::make_unique<UvStream>(loop.scheduler(), *std::move(handle), name, std::move(lease)));
}

Result<std::unique_ptr<ByteStream>> adopt_unix(Loop& loop, Descriptor socket, const std::string& name,
                                               std::shared_ptr<void> lease) {
  auto handle = Handle<uv_pipe_t>::open([&](uv_pipe_t* raw) { return uv_pipe_init(loop.raw(), raw, 0); });
  if (!handle) return Error(handle.error());
  if (const int code = uv_pipe_open(handle->get(), socket.get()); code != 0) return uv_error(code);
  socket.release();
  return owned(loop.scheduler(),
               std::make_unique<UvStream>(loop.scheduler(), *std::move(handle), name, std::move(lease)));
}

}  // namespace sliced::reactor::net
