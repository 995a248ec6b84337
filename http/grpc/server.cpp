#include "http/grpc/server.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "http/grpc/deadline.h"
#include "http/grpc/framing.h"
#include "reactor/base/text.h"

namespace sliced::grpc {

class Exchange {
 public:
  Exchange(http::Response& response, bool is_stream) : response_(&response), is_stream_(is_stream) {}

  void send(std::string_view message) {
    if (is_finished()) return;
    send_head();
    response_->send_body(frame(message));
    if (!is_stream_) finish({});
  }
  void finish(const Status& status) {
    if (is_finished()) return;
    send_head();
    response_->finish(encode_status(status));
    response_ = nullptr;
  }
  /// The client is lost; with a status it is notified.
  void end_with(const Status& status) {
    if (is_finished()) return;
    finish(status);
    if (const auto callback = std::exchange(on_loss, nullptr)) callback();
  }
  void room() {
    const auto callback = on_room;
    if (!is_finished() && callback) callback();
  }
  bool is_finished() const { return response_ == nullptr; }
  size_t unsent_bytes() const { return response_ == nullptr ? 0 : response_->unsent_bytes(); }

  std::function<void()> on_loss, on_room;

 private:
  void send_head() {
    if (std::exchange(has_head_, true)) return;
    response_->send_head(
        {.status = 200,
         .headers = {{"content-type", "application/grpc"}, {"grpc-accept-encoding", "identity"}}});
  }
  http::Response* response_;  // null: over
  const bool is_stream_;
  bool has_head_ = false;
};

Answer::~Answer() {
  if (exchange_) exchange_->finish({Code::kInternal, "the call was given up without an answer"});
}
void Answer::send(std::string_view message) { exchange_->send(message); }
void Answer::finish(const Status& status) { exchange_->finish(status); }
bool Answer::is_wanted() const { return !exchange_->is_finished(); }
void Answer::on_loss(std::function<void()> callback) { exchange_->on_loss = std::move(callback); }
size_t Answer::unsent_bytes() const { return exchange_->unsent_bytes(); }
void Answer::on_room(std::function<void()> callback) { exchange_->on_room = std::move(callback); }

namespace {

std::string value_of(const http::RequestHead& head, std::string_view name) {
  const std::string* value = head.header(name);
  return value == nullptr ? "" : *value;
}

// "application/grpc", and with the format of messages or parameters behind it.
bool is_grpc(std::string_view type) {
  constexpr std::string_view kType = "application/grpc";
  if (!type.starts_with(kType)) return false;
  type.remove_prefix(kType.size());
  if (type.starts_with("+proto")) type.remove_prefix(6);
  return type.empty() || type.starts_with(';');
}

class ServedCall final : public http::Call {
 public:
  ServedCall(const http::RequestHead& head, http::Response& response, const Method& method)
      : exchange_(std::make_shared<Exchange>(response, method.is_stream)),
        handle_(method.handle),
        deframer_(value_of(head, "grpc-encoding")) {}
  ~ServedCall() override { exchange_->end_with({Code::kCancelled, "connection lost"}); }

  // Applied before the request is processed.
  void limit(reactor::Scheduler& scheduler, const http::RequestHead& head, Millis longest) {
    const std::string* timeout_header = head.header("grpc-timeout");
    const auto timeout = timeout_header == nullptr ? std::nullopt : decode_timeout(*timeout_header);
    if (timeout_header != nullptr && !timeout)
      return exchange_->finish({Code::kInternal, "grpc-timeout " + in_quotes(*timeout_header, 32) +
                                                     " is not a timeout, such as 45S"});
    Millis remaining = timeout.value_or(longest);
    if (longest.count() != 0) remaining = std::min(remaining, longest);
    if (!timeout && longest.count() == 0) return;
    deadline_ = scheduler.after(remaining, [exchange = exchange_, remaining] {
      exchange->end_with(
          {Code::kDeadlineExceeded, "no answer within " + std::to_string(remaining.count()) + " ms"});
    });
  }

  void on_body(std::string_view bytes) override {
    if (exchange_->is_finished()) return;
    const Status status = deframer_.feed(bytes, [this](std::string_view message) {
      if (messages_++ == 0) message_ = message;
    });
    if (!status.is_ok()) return exchange_->finish(status);
    if (messages_ > 1) refuse_number();
  }
  void on_end() override {
    if (exchange_->is_finished()) return;
    if (const Status status = deframer_.end(); !status.is_ok()) return exchange_->finish(status);
    if (messages_ != 1) return refuse_number();
    const std::string message = std::move(message_);
    handle_(message, Answer(exchange_));
  }
  void on_room() override { exchange_->room(); }
  void on_loss(const Error& why) override { exchange_->end_with(status_of(why)); }

 private:
  void refuse_number() {
    exchange_->finish(
        {Code::kUnimplemented, "the method takes one message, not " + std::to_string(messages_)});
  }
  const std::shared_ptr<Exchange> exchange_;
  const Handler handle_;
  Deframer deframer_;
  std::string message_;
  size_t messages_ = 0;
  reactor::Ticket deadline_;
};

std::unique_ptr<http::Call> serve(reactor::Scheduler& scheduler, const Methods& methods,
                                  const http::RequestHead& head, http::Response& response) {
  if (head.method != "POST") {
    response.answer(405, "gRPC requires POST\n");
    return nullptr;
  }
  if (!is_grpc(value_of(head, "content-type"))) {
    response.answer(415, "the content-type must be application/grpc\n");
    return nullptr;
  }
  const auto method = methods.find(head.target);
  if (method == methods.end()) {
    Exchange(response, false).finish({Code::kUnimplemented, "there is no method " + escaped(head.target)});
    return nullptr;
  }
  auto call = std::make_unique<ServedCall>(head, response, method->second);
  call->limit(scheduler, head, method->second.longest);
  return call;
}

}  // namespace

http::Serve serve_methods(reactor::Scheduler& scheduler, Methods methods) {
  const auto shared = std::make_shared<const Methods>(std::move(methods));
  return [&scheduler, shared](const http::RequestHead& head, http::Response& response) {
    return serve(scheduler, *shared, head, response);
  };
}

http::ServerBounds patient_bounds() {
  http::ServerBounds bounds;
  bounds.request.body_bytes_max =
      kMessageMax + 64 * kPrefixBytes;  // a message that is too large is refused by its prefix
  bounds.idle_max = Millis{0};
  return bounds;
}

}  // namespace sliced::grpc
