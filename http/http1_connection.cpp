#include "http/http1_connection.h"

#include <utility>

#include "http/http1_codec.h"
#include "http/http1_request.h"

namespace sliced::http {
namespace {

using reactor::net::ByteStream;

class Http1Connection final : public Connection, public std::enable_shared_from_this<Http1Connection> {
 public:
  explicit Http1Connection(std::unique_ptr<ByteStream> wire) : wire_(std::move(wire)) {
    wire_->receive({.on_data = [this](std::string_view bytes) { on_data(bytes); },
                    .on_end = [this] { on_wire_end(); },
                    .on_error = [this](const Error& error) { on_wire_error(error); }});
  }

  std::unique_ptr<Stream> send(OutgoingRequestPtr request, const Limits& limits, Receiver& receiver) override;
  size_t streams() const override { return current_ == nullptr ? 0 : 1; }
  size_t streams_max() const override { return draining_ || !wire_ ? 0 : 1; }
  bool is_multiplexed() const override { return false; }
  bool is_draining() const override { return draining_; }
  bool is_closed() const override { return !wire_; }
  void drain(bool at_once) override;

 private:
  class Exchange;
  std::unique_ptr<ResponseDecoder> make_decoder(const Limits& limits);
  void on_data(std::string_view bytes);
  void on_wire_end();
  void on_wire_error(const Error& error);
  void abandon(const Exchange& exchange);
  void finish();
  void fail(Error error);
  void close();

  std::unique_ptr<ByteStream> wire_;  // null: closed
  std::unique_ptr<ResponseDecoder> decoder_;
  Exchange* current_ = nullptr;
  bool got_bytes_ = false, draining_ = false;
};

class Http1Connection::Exchange final : public Stream {
 public:
  Exchange(std::shared_ptr<Http1Connection> connection, Receiver& receiver)
      : connection_(std::move(connection)), receiver_(receiver) {}
  ~Exchange() override { connection_->abandon(*this); }
  void pause() override {
    if (connection_->current_ == this) connection_->wire_->pause();
  }
  void resume() override {
    if (connection_->current_ == this) connection_->wire_->resume();
  }
  Receiver& receiver() { return receiver_; }

 private:
  const std::shared_ptr<Http1Connection> connection_;
  Receiver& receiver_;
};

std::unique_ptr<Stream> Http1Connection::send(OutgoingRequestPtr request, const Limits& limits,
                                              Receiver& receiver) {
  auto exchange = std::make_unique<Exchange>(shared_from_this(), receiver);
  current_ = exchange.get();
  got_bytes_ = false;
  decoder_ = make_decoder(limits);
  wire_->write(encode_http1(*request));
  return exchange;
}

// A receiver that drops its stream stops the decoder.
std::unique_ptr<ResponseDecoder> Http1Connection::make_decoder(const Limits& limits) {
  return std::make_unique<ResponseDecoder>(
      limits, ResponseDecoder::Handlers{.on_head =
                                            [this](const Head& head) {
                                              current_->receiver().on_head(head);
                                              return current_ != nullptr;
                                            },
                                        .on_body =
                                            [this](std::string_view bytes) {
                                              current_->receiver().on_body(bytes);
                                              return current_ != nullptr;
                                            }});
}

void Http1Connection::drain(bool at_once) {
  draining_ = true;
  if (current_ != nullptr) current_->receiver().on_drain(at_once);
}

void Http1Connection::on_data(std::string_view bytes) {
  const auto self = shared_from_this();
  if (current_ == nullptr) return close();  // unsolicited data
  got_bytes_ = true;
  const auto fed = decoder_->feed(bytes);
  if (current_ == nullptr) return;
  if (!fed) return fail(fed.error());
  if (decoder_->complete()) finish();
}

void Http1Connection::on_wire_end() {
  const auto self = shared_from_this();
  if (current_ == nullptr) return close();
  const auto finished = decoder_->finish();
  if (current_ == nullptr) return;
  if (!finished) return fail(finished.error());
  finish();
}

void Http1Connection::on_wire_error(const Error& error) {
  const auto self = shared_from_this();
  if (current_ == nullptr) return close();
  fail(Error(error));  // which dies with the wire
}

void Http1Connection::abandon(const Exchange& exchange) {
  if (current_ != &exchange) return;
  current_ = nullptr;
  close();
}

void Http1Connection::finish() {
  if (const Headers& trailers = decoder_->trailers(); !trailers.empty()) {
    current_->receiver().on_trailers(trailers);
    if (current_ == nullptr) return;  // dropped
  }
  Receiver& receiver = std::exchange(current_, nullptr)->receiver();
  // A server that answers before it has read the whole request leaves the rest of it on the connection.
  if (!decoder_->keep_alive() || wire_->unsent_bytes() != 0 || draining_) {
    close();
  } else {
    wire_->resume();
    notify_change();
  }
  receiver.on_end();
}

void Http1Connection::fail(Error error) {
  Receiver& receiver = std::exchange(current_, nullptr)->receiver();
  close();
  receiver.on_loss({std::move(error), got_bytes_ ? Loss::Fate::kCut : Loss::Fate::kUnanswered});
}

void Http1Connection::close() {
  wire_.reset();
  notify_change();
}

}  // namespace

ConnectionPtr make_http1_connection(std::unique_ptr<ByteStream> wire) {
  return std::make_shared<Http1Connection>(std::move(wire));
}

}  // namespace sliced::http
