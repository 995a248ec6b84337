#include "http/http1_server.h"

#include <algorithm>
#include <utility>

#include "http/http1_request.h"
#include "reactor/base/text.h"

namespace sliced::http {
namespace {

class Http1ServerSession final : public ServerSession {
 public:
  Http1ServerSession(SessionContext context, TimePoint now)
      : context_(std::move(context)),
        decoder_(context_.bounds.request,
                 {.on_head = [this](RequestDecoder::Head head) { begin(std::move(head)); },
                  .on_body =
                      [this](std::string_view bytes) {
                        if (exchange_ && exchange_->call) exchange_->call->on_body(bytes);
                      }}),
        since_(now) {}

  Result<Unit> feed(std::string_view from_client, TimePoint now) override;
  void end_of_input(TimePoint now) override;
  void run_pending(TimePoint now) override;
  std::string take_outgoing(TimePoint now) override;
  Result<Unit> check(TimePoint now) override;
  bool is_waiting() const override {
    return !is_closing_ && (awaits_head() || awaits_body() || may_have_disconnected());
  }
  // Also true while an answer is produced, because a client's disconnect is detected by reading.
  bool wants_input() const override {
    if (is_closing_)
      return true;  // reads and discards further data: unread data would cause a reset that loses the answer
    return ahead_.empty() && (!exchange_ || !exchange_->response.is_paused());
  }
  size_t calls() const override { return exchange_ ? 1 : 0; }
  void drain() override {
    is_draining_ = true;
    if (!exchange_ && !decoder_.is_started()) is_closing_ = true;
  }
  bool is_finished() const override { return is_closing_ && !exchange_ && out_.empty(); }
  void fail_all(const Error& why) override;

 private:
  struct Exchange {
    explicit Exchange(std::function<void()> on_progress) : response(std::move(on_progress)) {}
    QueuedResponse response;
    std::unique_ptr<Call> call;  // destroyed before its response
    bool is_head_request = false, is_http10 = false, keeps_alive = false, expects_continue = false;
    bool is_request_whole = false, was_paused = false, is_chunked = false, has_head_sent = false,
         has_no_body = false;
    std::optional<size_t> length_left;  // of the answer, if it was announced
  };

  bool awaits_head() const { return !exchange_ && (decoder_.is_started() || is_fresh_); }
  bool awaits_body() const {
    return exchange_ && !exchange_->is_request_whole && !exchange_->response.is_paused() &&
           context_.bounds.request_max.count() != 0;
  }
  // It has closed its sending side, or pipelined so much that its end would not be read.
  bool may_have_disconnected() const { return exchange_ && (is_input_closed_ || !ahead_.empty()); }
  void parse();
  void begin(RequestDecoder::Head head);
  void request_is_whole();
  void refuse(int status, const std::string& why);
  void refuse(const Error& why);
  void write_response();
  void write_head();
  void write_body();
  void finish();
  void fail_exchange(const Error& why);

  const SessionContext context_;
  RequestDecoder decoder_;
  std::unique_ptr<Exchange> exchange_;
  std::string ahead_;  // bytes behind the present request
  std::string out_;
  std::optional<Error> error_;
  TimePoint since_, now_{}, ended_at_{};  // since_: start of the wait for the client
  bool is_fresh_ = true;                  // no request yet
  bool is_closing_ = false, is_draining_ = false, is_input_closed_ = false;
};

Result<Unit> Http1ServerSession::feed(std::string_view from_client, TimePoint now) {
  now_ = now;
  if (is_closing_) return Unit{};  // discarded
  if (!decoder_.is_started() && !exchange_ && !is_fresh_) since_ = now;
  ahead_ += from_client;
  parse();
  return error_ ? Result<Unit>(*error_) : Result<Unit>(Unit{});
}

void Http1ServerSession::parse() {
  while (!ahead_.empty() && !is_closing_ && out_.size() < kOutgoingPiece &&
         (!exchange_ || !exchange_->is_request_whole)) {
    const std::string bytes = std::exchange(ahead_, {});
    const auto consumed = decoder_.feed(bytes);
    if (!consumed) return refuse(consumed.error());
    ahead_ = bytes.substr(*consumed);
    if (decoder_.complete()) request_is_whole();
    write_response();
  }
  if (is_input_closed_ && !exchange_ && ahead_.empty()) is_closing_ = true;
}

void Http1ServerSession::begin(RequestDecoder::Head head) {
  is_fresh_ = false;
  since_ = now_;
  exchange_ = std::make_unique<Exchange>(context_.wake);
  Exchange& exchange = *exchange_;
  exchange.is_head_request = head.request.method == "HEAD";
  exchange.is_http10 = head.is_http10;
  exchange.keeps_alive = head.keeps_alive && !is_draining_;
  exchange.expects_continue = head.expects_continue;
  head.request.from = context_.peer;
  exchange.call = context_.serve(head.request, exchange.response);
  if (!exchange.call && !exchange.response.is_whole()) exchange.response.replace(500, "no answer");
}

void Http1ServerSession::request_is_whole() {
  Exchange& exchange = *exchange_;
  exchange.is_request_whole = true;
  const Headers trailers = decoder_.take_trailers();
  decoder_.restart();
  if (!exchange.call) return;
  if (!trailers.empty()) exchange.call->on_trailers(trailers);
  exchange.call->on_end();
}

void Http1ServerSession::refuse(const Error& why) {
  error_ = why;
  refuse(decoder_.status(), why.what);
}

// Sends the last answer on this connection.
void Http1ServerSession::refuse(int status, const std::string& why) {
  is_draining_ = true;
  if (!exchange_) exchange_ = std::make_unique<Exchange>(context_.wake);
  exchange_->keeps_alive = false;
  exchange_->is_request_whole = true;
  exchange_->response.replace(status, why);
  if (const auto call = std::exchange(exchange_->call, nullptr))
    call->on_loss(error_.value_or(Error{Errc::kTimeout, why}));
  write_response();
}

void Http1ServerSession::end_of_input(TimePoint now) {
  now_ = ended_at_ = now;
  is_input_closed_ = true;
  if (!exchange_ && !decoder_.is_started()) is_closing_ = true;
  const bool is_cut = exchange_ ? !exchange_->is_request_whole : !is_closing_;
  if (!is_cut) return;  // a client that has closed its sending side may still read; check() limits that
  fail_all({Errc::kIo, "the client closed the connection in the middle of its request"});
}

void Http1ServerSession::run_pending(TimePoint now) {
  now_ = now;
  if (exchange_ && exchange_->response.is_paused()) exchange_->was_paused = true;
  if (exchange_ && !exchange_->response.is_paused() && std::exchange(exchange_->was_paused, false))
    since_ = now;
  write_response();
  parse();
}

void Http1ServerSession::write_response() {
  if (!exchange_) return;
  const QueuedResponse& response = exchange_->response;
  if (response.is_abandoned()) {
    exchange_.reset();
    is_closing_ = true;
    return;
  }
  if (response.has_head()) {
    exchange_->has_head_sent = true;
    write_head();
  } else if (std::exchange(exchange_->expects_continue, false) && !exchange_->has_head_sent) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  }
  write_body();
}

void Http1ServerSession::write_head() {
  Exchange& exchange = *exchange_;
  exchange.expects_continue = false;
  const Head head = exchange.response.take_head(exchange.is_head_request, context_.clock);
  const bool has_no_body = exchange.is_head_request || head.status == 204 || head.status == 304;
  if (const std::string* length = head.header("content-length"); length != nullptr && !has_no_body)
    exchange.length_left = static_cast<size_t>(parse_int(*length).value_or(0));
  exchange.is_chunked = !has_no_body && !exchange.length_left && !exchange.is_http10;
  const bool ends_with_connection = !has_no_body && !exchange.length_left && exchange.is_http10;
  const bool is_early = exchange.response.is_whole() && !exchange.is_request_whole;
  exchange.keeps_alive = exchange.keeps_alive && !is_draining_ && !ends_with_connection && !is_early;
  out_ += "HTTP/1.1 " + std::to_string(head.status) + " " + std::string(reason_of(head.status)) + "\r\n";
  for (const Header& header : head.headers) out_ += header.name + ": " + header.value + "\r\n";
  if (exchange.is_chunked) out_ += "transfer-encoding: chunked\r\n";
  if (!exchange.keeps_alive) out_ += "connection: close\r\n";
  if (exchange.keeps_alive && exchange.is_http10) out_ += "connection: keep-alive\r\n";
  out_ += "\r\n";
  exchange.has_no_body = has_no_body;
}

void Http1ServerSession::write_body() {
  Exchange& exchange = *exchange_;
  if (!exchange.has_head_sent) return;
  while (exchange.response.has_body() && out_.size() < kOutgoingPiece) {
    std::string_view part = exchange.response.take_body(kOutgoingPiece);
    if (exchange.has_no_body) continue;
    if (exchange.length_left) {
      part = part.substr(0, *exchange.length_left);
      *exchange.length_left -= part.size();
    }
    out_ += exchange.is_chunked ? encode_chunk(part) : std::string(part);
  }
  if (exchange.response.take_room() && exchange.call) exchange.call->on_room();
  if (exchange.response.is_whole() && !exchange.response.has_body()) finish();
}

void Http1ServerSession::finish() {
  const auto exchange = std::move(exchange_);
  const Headers trailers = exchange->response.take_trailers();
  if (exchange->is_chunked) out_ += encode_last_chunk(trailers);
  // A short answer, or an incomplete request: the connection's framing is lost.
  const bool is_short = exchange->length_left.value_or(0) != 0;
  if (is_short || !exchange->keeps_alive || !exchange->is_request_whole || is_draining_ ||
      (is_input_closed_ && ahead_.empty()))
    is_closing_ = true;
  since_ = now_;
}

std::string Http1ServerSession::take_outgoing(TimePoint now) {
  now_ = now;
  if (out_.empty()) write_response();
  if (out_.empty()) parse();
  return std::exchange(out_, {});
}

Result<Unit> Http1ServerSession::check(TimePoint now) {
  now_ = now;
  if (awaits_head() && now - since_ >= context_.bounds.head_max) {
    error_ = Error{Errc::kTimeout, "no whole request within " +
                                       std::to_string(context_.bounds.head_max.count() / 1000) + " s"};
    if (is_fresh_ && !decoder_.is_started())
      is_closing_ = true;
    else
      refuse(408, error_->what);
    return *error_;
  }
  const bool is_unanswered = is_input_closed_ && exchange_ && !exchange_->has_head_sent;
  if (is_unanswered && now - ended_at_ >= kHalfClosedMax) {
    fail_all({Errc::kIo, "the client closed the connection before its answer"});
    return Unit{};
  }
  if (!awaits_body()) return Unit{};
  if (now - since_ < context_.bounds.request_max) return Unit{};
  error_ = Error{Errc::kTimeout, "the request is not whole within " +
                                     std::to_string(context_.bounds.request_max.count() / 1000) + " s"};
  refuse(408, error_->what);
  return *error_;
}

void Http1ServerSession::fail_all(const Error& why) {
  is_closing_ = true;
  out_.clear();
  const auto exchange = std::move(exchange_);
  if (exchange && exchange->call) exchange->call->on_loss(why);
}

}  // namespace

std::unique_ptr<ServerSession> make_http1_server_session(SessionContext context, TimePoint now) {
  return std::make_unique<Http1ServerSession>(std::move(context), now);
}

}  // namespace sliced::http
