#pragma once
// Private to reactor/net.
#include <memory>
#include <utility>

#include "reactor/net/stream.h"
#include "reactor/scheduler.h"

namespace sliced::reactor::net {

/// A stream that may be destroyed in one of its own events. The actual stream is destroyed in the next turn,
/// when none of its events is on the stack. Stream: a ByteStream with abandon(), which ends all events.
template <class Stream>
class StreamOwner final : public ByteStream {
 public:
  StreamOwner(Scheduler& scheduler, std::unique_ptr<Stream> stream)
      : scheduler_(scheduler), stream_(std::move(stream)) {}
  ~StreamOwner() override {
    stream_->abandon();
    scheduler_.destroy_later(std::move(stream_));
  }

  void receive(StreamEvents events) override { stream_->receive(std::move(events)); }
  void write(std::string bytes) override { stream_->write(std::move(bytes)); }
  size_t unsent_bytes() const override { return stream_->unsent_bytes(); }
  std::string protocol() const override { return stream_->protocol(); }
  std::string peer_subject() const override { return stream_->peer_subject(); }
  void close() override { stream_->close(); }
  void pause() override { stream_->pause(); }
  void resume() override { stream_->resume(); }

 private:
  Scheduler& scheduler_;
  std::shared_ptr<Stream> stream_;
};

template <class Stream>
std::unique_ptr<ByteStream> owned(Scheduler& scheduler, std::unique_ptr<Stream> stream) {
  return std::make_unique<StreamOwner<Stream>>(scheduler, std::move(stream));
}

}  // namespace sliced::reactor::net
