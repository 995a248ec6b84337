#include "http/http1_request.h"

#include <llhttp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "http/http1_head.h"
#include "reactor/base/text.h"

namespace sliced::http {
namespace {

// "http://host/path", which a server must understand (RFC 9112 section 3.2.2), as host and "/path".
void split_absolute(RequestHead& head) {
  const std::string scheme = lower(std::string_view(head.target).substr(0, 8));
  const size_t start = scheme.starts_with("http://") ? 7 : scheme.starts_with("https://") ? 8 : 0;
  if (start == 0) return;
  const size_t end = std::min(head.target.find_first_of("/?", start), head.target.size());
  if (end == start) return;  // no host: refused later, because it is not a path
  head.authority = head.target.substr(start, end - start);
  head.target.erase(0, end);
  if (!head.target.starts_with('/')) head.target.insert(0, "/");
}

}  // namespace

// llhttp's callbacks use only this state; none of them throws (out of memory ends the process).
struct RequestDecoder::State : HeadState {
  Limits limits;
  Handlers handlers;
  llhttp_settings_t settings;
  llhttp_t parser;
  Head head;
  std::string_view fed;   // the bytes that llhttp has before it
  char last_seen = '\0';  // before them, white space passed over
  bool is_started = false;
  std::optional<Error> error;
  int status = 400;

  static State& of(llhttp_t* parser) { return *static_cast<State*>(parser->data); }

  int stop(int with_status, Errc code, std::string what) {
    status = with_status;
    error = Error{code, std::move(what)};
    llhttp_set_error_reason(&parser, "stopped");
    return HPE_USER;
  }
  int refuse(int with_status, std::string what) { return stop(with_status, Errc::kInvalid, std::move(what)); }
  int count_head(size_t length) {
    if (count_head_bytes(length, limits)) return 0;
    return stop(431, Errc::kTooLarge,
                "the request's head is larger than " + std::to_string(limits.head_bytes_max) + " bytes");
  }
  // Intermediaries interpret a value that continues in another line (RFC 9112 section 5.2) differently, so it
  // is refused.
  int add_value(std::string_view part) {
    if (part.empty()) return 0;  // an empty one is reported after its line
    const std::string_view before = fed.substr(0, static_cast<size_t>(part.data() - fed.data()));
    const size_t at = before.find_last_not_of(" \t");
    if ((at == std::string_view::npos ? last_seen : before[at]) == '\n')
      return refuse(400, "a header is folded over several lines");
    value += part;
    return count_head(part.size());
  }
  int end_header() {
    Headers& fields = has_head ? trailers : head.request.headers;
    if (has_all_headers(head.request.headers))
      return stop(431, Errc::kTooLarge,
                  "the request has more than " + std::to_string(kHeadersMax) + " headers");
    fields.push_back(take_field());
    fields.back().name = lower(fields.back().name);
    if (!is_writable(fields.back()))
      return refuse(400, "a header's name or value has bytes that none may have");
    return 0;
  }
  int end_head() {
    RequestHead& request = head.request;
    head.is_http10 = parser.http_minor == 0;
    if (parser.http_major != 1 || parser.http_minor > 1)
      return refuse(505, "only HTTP/1.0 and HTTP/1.1 are supported");
    request.method = llhttp_method_name(static_cast<llhttp_method_t>(parser.method));
    if (parser.method == HTTP_CONNECT) return refuse(501, "this is not a proxy");
    if (const int refused = find_host(); refused != 0) return refused;
    split_absolute(request);
    const bool is_asterisk = request.target == "*" && parser.method == HTTP_OPTIONS;
    if (!is_asterisk && !request.target.starts_with('/')) return refuse(400, "the target is not a path");
    if (const std::string* coding = request.header("transfer-encoding")) {
      if (head.is_http10) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
      if (lower(*coding) != "chunked") return refuse(501, "the only transfer coding known here is chunked");
    }
    const std::string* expect = request.header("expect");
    const bool has_body = (parser.flags & F_CHUNKED) != 0 || parser.content_length > 0;
    if (expect != nullptr && lower(*expect) != "100-continue")
      return refuse(417, "only 100-continue may be expected");
    head.expects_continue = expect != nullptr && has_body && !head.is_http10;
    if (limits.body_bytes_max != 0 && parser.content_length > limits.body_bytes_max) return too_large();
    head.keeps_alive = llhttp_should_keep_alive(&parser) != 0;
    has_head = true;
    handlers.on_head(std::exchange(head, {}));
    return 0;
  }
  // Exactly one, where the version has it (RFC 9112 section 3.2).
  int find_host() {
    size_t found = 0;
    for (const Header& header : head.request.headers)
      if (header.name == "host" && ++found == 1) head.request.authority = header.value;
    return found == 1 || (found == 0 && head.is_http10) ? 0 : refuse(400, "there must be one Host header");
  }
  int too_large() {
    return stop(413, Errc::kTooLarge,
                "the request's body is larger than " + std::to_string(limits.body_bytes_max) + " bytes");
  }
  int body(std::string_view bytes) {
    if (!count_body_bytes(bytes.size(), limits)) return too_large();
    if (!bytes.empty()) handlers.on_body(bytes);
    return 0;
  }

  void start() {
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = this;
    head = {};
    static_cast<HeadState&>(*this) = {};
    last_seen = '\0';
    is_started = false;
  }
};

RequestDecoder::RequestDecoder(Limits limits, Handlers handlers) : state_(std::make_unique<State>()) {
  state_->limits = limits;
  state_->handlers = std::move(handlers);
  llhttp_settings_t& on = state_->settings;
  llhttp_settings_init(&on);
  on.on_url = [](llhttp_t* p, const char* at, size_t n) {
    State::of(p).head.request.target.append(at, n);
    return State::of(p).count_head(n);
  };
  on.on_header_field = [](llhttp_t* p, const char* at, size_t n) {
    State::of(p).name.append(at, n);
    return State::of(p).count_head(n);
  };
  on.on_header_value = [](llhttp_t* p, const char* at, size_t n) { return State::of(p).add_value({at, n}); };
  on.on_chunk_extension_name = [](llhttp_t* p, const char*, size_t n) { return State::of(p).count_head(n); };
  on.on_chunk_extension_value = on.on_chunk_extension_name;
  on.on_header_value_complete = [](llhttp_t* p) { return State::of(p).end_header(); };
  on.on_headers_complete = [](llhttp_t* p) { return State::of(p).end_head(); };
  on.on_body = [](llhttp_t* p, const char* at, size_t n) { return State::of(p).body({at, n}); };
  on.on_message_complete = [](llhttp_t* p) -> int {
    State::of(p).complete = true;
    return HPE_PAUSED;
  };
  state_->start();
}

RequestDecoder::~RequestDecoder() = default;

Result<size_t> RequestDecoder::feed(std::string_view bytes) {
  State& state = *state_;
  if (state.error) return *state.error;
  // A line end between requests is ignored (RFC 9112 section 2.2).
  size_t skipped = 0;
  while (!state.is_started && skipped < bytes.size() && (bytes[skipped] == '\r' || bytes[skipped] == '\n'))
    ++skipped;
  const std::string_view rest = bytes.substr(skipped);
  if (rest.empty()) return bytes.size();
  state.is_started = true;
  state.fed = rest;
  const llhttp_errno_t code = llhttp_execute(&state.parser, rest.data(), rest.size());
  if (code == HPE_PAUSED && state.complete)
    return static_cast<size_t>(llhttp_get_error_pos(&state.parser) - bytes.data());
  if (const size_t at = rest.find_last_not_of(" \t"); at != std::string_view::npos)
    state.last_seen = rest[at];
  if (code == HPE_OK) return bytes.size();
  if (!state.error)
    state.error = Error{Errc::kInvalid, std::string("not an HTTP request: ") + llhttp_errno_name(code) +
                                            ", " + llhttp_get_error_reason(&state.parser)};
  return *state.error;
}

void RequestDecoder::restart() { state_->start(); }
bool RequestDecoder::is_started() const { return state_->is_started; }
bool RequestDecoder::has_head() const { return state_->has_head; }
bool RequestDecoder::complete() const { return state_->complete; }
int RequestDecoder::status() const { return state_->status; }
Headers RequestDecoder::take_trailers() { return std::exchange(state_->trailers, {}); }

std::string encode_chunk(std::string_view bytes) {
  if (bytes.empty()) return "";
  std::array<char, 17> size{};
  std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16);
  return std::string(size.data()) + "\r\n" + std::string(bytes) + "\r\n";
}

std::string encode_last_chunk(const Headers& trailers) {
  std::string out = "0\r\n";
  for (const Header& header : trailers) out += header.name + ": " + header.value + "\r\n";
  return out + "\r\n";
}

}  // namespace sliced::http
