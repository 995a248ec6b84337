#include "http/http1_codec.h"

#include <llhttp.h>

#include <utility>

#include "http/http1_head.h"
#include "reactor/base/text.h"

namespace sliced::http {

std::string encode_http1(const OutgoingRequest& outgoing) {
  const Request& request = outgoing.request;
  std::string out =
      request.method + ' ' + outgoing.target + " HTTP/1.1\r\nHost: " + outgoing.authority + "\r\n";
  for (const Header& header : request.headers) out += header.name + ": " + header.value + "\r\n";
  if (outgoing.has_body()) out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n" + request.body;
}

// llhttp's callbacks use only this state; none of them throws (out of memory ends the process).
struct ResponseDecoder::State : HeadState {
  Limits limits;
  Handlers handlers;
  llhttp_settings_t settings;
  llhttp_t parser;
  Head head;
  bool keep_alive = false, surplus = false;
  std::optional<Error> error;  // why a callback stopped the parser

  static State& of(llhttp_t* parser) { return *static_cast<State*>(parser->data); }

  int stop(Errc code, std::string what) {
    error = Error{code, std::move(what)};
    llhttp_set_error_reason(&parser, "stopped");
    return HPE_USER;
  }
  bool interim() const { return parser.status_code >= 100 && parser.status_code < 200; }
  int count_head(size_t length) {
    if (count_head_bytes(length, limits)) return 0;
    return stop(Errc::kTooLarge,
                "the response's headers are larger than " + std::to_string(limits.head_bytes_max) + " bytes");
  }
  int end_header() {
    if (has_all_headers(head.headers))
      return stop(Errc::kTooLarge, "the response has more than " + std::to_string(kHeadersMax) + " headers");
    (has_head ? trailers : head.headers).push_back(take_field());
    return 0;
  }
  int end_head() {
    if (interim()) {
      if (parser.status_code == 101) return stop(Errc::kIo, "the server switched protocols unasked");
      head = {};
      return 0;
    }
    has_head = true;
    head.status = parser.status_code;
    return handlers.on_head(head) ? 0 : stop(Errc::kCanceled, "canceled");
  }
  int body(std::string_view bytes) {
    if (!count_body_bytes(bytes.size(), limits))
      return stop(Errc::kTooLarge,
                  "the response's body is larger than " + std::to_string(limits.body_bytes_max) + " bytes");
    if (bytes.empty()) return 0;
    return handlers.on_body(bytes) ? 0 : stop(Errc::kCanceled, "canceled");
  }
  int end_message() {
    if (!has_head) return 0;  // an interim response
    complete = true;
    keep_alive = llhttp_should_keep_alive(&parser) != 0;  // answers only in here
    return HPE_PAUSED;
  }
};

ResponseDecoder::ResponseDecoder(Limits limits, Handlers handlers) : state_(std::make_unique<State>()) {
  state_->limits = limits;
  state_->handlers = std::move(handlers);
  llhttp_settings_t& on = state_->settings;
  llhttp_settings_init(&on);
  on.on_status = [](llhttp_t* p, const char*, size_t n) { return State::of(p).count_head(n); };
  on.on_header_field = [](llhttp_t* p, const char* at, size_t n) {
    State::of(p).name.append(at, n);
    return State::of(p).count_head(n);
  };
  on.on_header_value = [](llhttp_t* p, const char* at, size_t n) {
    State::of(p).value.append(at, n);
    return State::of(p).count_head(n);
  };
  on.on_header_value_complete = [](llhttp_t* p) { return State::of(p).end_header(); };
  on.on_headers_complete = [](llhttp_t* p) { return State::of(p).end_head(); };
  on.on_body = [](llhttp_t* p, const char* at, size_t n) { return State::of(p).body({at, n}); };
  on.on_message_complete = [](llhttp_t* p) { return State::of(p).end_message(); };
  llhttp_init(&state_->parser, HTTP_RESPONSE, &on);
  state_->parser.data = state_.get();
}

ResponseDecoder::~ResponseDecoder() = default;

Result<Unit> ResponseDecoder::feed(std::string_view bytes) {
  State& state = *state_;
  if (state.error) return *state.error;
  if (bytes.empty()) return Unit{};
  if (state.complete) {
    state.surplus = true;
    return Error{Errc::kIo, "the server sent bytes after its response"};
  }
  const llhttp_errno_t code = llhttp_execute(&state.parser, bytes.data(), bytes.size());
  if (code == HPE_PAUSED && state.complete) {
    const char* end = llhttp_get_error_pos(&state.parser);
    state.surplus = end < bytes.data() + bytes.size();
    return Unit{};
  }
  if (code == HPE_OK) return Unit{};
  if (!state.error)
    state.error = Error{Errc::kIo, std::string("not an HTTP response: ") + llhttp_errno_name(code) + ", " +
                                       llhttp_get_error_reason(&state.parser)};
  return *state.error;
}

Result<Unit> ResponseDecoder::finish() {
  State& state = *state_;
  if (state.error) return *state.error;
  if (state.complete) return Unit{};
  const llhttp_errno_t code = llhttp_finish(&state.parser);
  if (state.complete) {
    state.keep_alive = false;
    return Unit{};
  }
  if (!state.error)
    state.error =
        Error{Errc::kIo, !state.has_head  ? "the connection ended before a response"
                         : code == HPE_OK ? "the connection ended in the middle of the response"
                                          : "the connection ended in the middle of the response's body"};
  return *state.error;
}

bool ResponseDecoder::complete() const { return state_->complete; }
bool ResponseDecoder::keep_alive() const { return state_->keep_alive && !state_->surplus; }
bool ResponseDecoder::has_head() const { return state_->has_head; }
const Headers& ResponseDecoder::trailers() const { return state_->trailers; }

}  // namespace sliced::http
