#include "kube/http_message.h"

#include <llhttp.h>

#include <algorithm>
#include <array>

#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

constexpr size_t kHeaderCountMax = 256;

bool breaks_framing(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool is_target_char(char c) { return c > ' ' && c < 0x7f; }

}  // namespace

const std::string* HttpHead::header(std::string_view name) const {
  const std::string wanted = lower(name);
  for (const HttpHeader& header : headers)
    if (lower(header.name) == wanted) return &header.value;
  return nullptr;
}

Result<std::string> encode_http_request(const Url& server, const HttpRequest& request) {
  std::string target = server.base_path + request.path;
  if (!request.query.empty()) target += '?' + encode_query(request.query);
  if (!std::all_of(target.begin(), target.end(), is_target_char))
    return Error{Errc::kInvalid,
                 "request path " + in_quotes(target) + " has characters that must be encoded"};
  std::string out = request.method + ' ' + target + " HTTP/1.1\r\nHost: " + host_header(server) + "\r\n";
  for (const HttpHeader& header : request.headers) {
    if (breaks_framing(header.name) || breaks_framing(header.value))
      return Error{Errc::kInvalid, "request header " + in_quotes(header.name) + " has a line end in it"};
    out += header.name + ": " + header.value + "\r\n";
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT")
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n" + request.body;
}

// llhttp's callbacks see only this; none of them throws (out of memory ends the process).
struct HttpResponseDecoder::State {
  HttpLimits limits;
  Handlers handlers;
  llhttp_settings_t settings;
  llhttp_t parser;
  HttpHead head;
  std::string name, value;
  size_t head_bytes = 0, body_bytes = 0;
  bool has_head = false, complete = false, keep_alive = false, surplus = false;
  std::optional<Error> error;  // why a callback stopped the parser

  static State& of(llhttp_t* parser) { return *static_cast<State*>(parser->data); }

  int stop(Errc code, std::string what) {
    error = Error{code, std::move(what)};
    llhttp_set_error_reason(&parser, "stopped");
    return HPE_USER;
  }
  bool interim() const { return parser.status_code >= 100 && parser.status_code < 200; }
  int count_head(size_t length) {
    head_bytes += length;
    if (head_bytes <= limits.head_bytes_max) return 0;
    return stop(Errc::kTooLarge,
                "the response's headers are larger than " + std::to_string(limits.head_bytes_max) + " bytes");
  }
  int end_header() {
    if (head.headers.size() >= kHeaderCountMax)
      return stop(Errc::kTooLarge,
                  "the response has more than " + std::to_string(kHeaderCountMax) + " headers");
    if (!has_head)
      head.headers.push_back({std::move(name), std::string(trim(value))});  // trailers are of no use
    name.clear();
    value.clear();
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
    body_bytes += bytes.size();
    if (limits.body_bytes_max != 0 && body_bytes > limits.body_bytes_max)
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

HttpResponseDecoder::HttpResponseDecoder(HttpLimits limits, Handlers handlers)
    : state_(std::make_unique<State>()) {
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

HttpResponseDecoder::~HttpResponseDecoder() = default;

Result<Unit> HttpResponseDecoder::feed(std::string_view bytes) {
  State& state = *state_;
  if (state.error) return *state.error;
  if (bytes.empty()) return Unit{};
  if (state.complete) {
    state.surplus = true;
    return Error{Errc::kIo, "the server sent bytes behind its response"};
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

Result<Unit> HttpResponseDecoder::finish() {
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

bool HttpResponseDecoder::complete() const { return state_->complete; }
bool HttpResponseDecoder::keep_alive() const { return state_->keep_alive && !state_->surplus; }
bool HttpResponseDecoder::has_head() const { return state_->has_head; }

std::optional<Millis> decode_retry_after(const HttpHead& head, Millis cap) {
  const std::string* text = head.header("retry-after");
  if (text == nullptr) return std::nullopt;
  std::optional<int64_t> seconds = parse_int(*text);
  if (!seconds) {
    const auto until = decode_http_date(*text);
    const std::string* date = head.header("date");
    const auto now = date == nullptr ? std::nullopt : decode_http_date(*date);
    if (!until) return std::nullopt;
    seconds = now ? std::max<int64_t>(*until - *now, 0) : cap.count() / 1000;
  }
  if (*seconds < 0) return std::nullopt;
  return std::min(cap, Millis{std::chrono::seconds{std::min<int64_t>(*seconds, 86'400)}});
}

std::optional<int64_t> decode_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT" || text[19] != ':' ||
      text[22] != ':')
    return std::nullopt;
  const auto number = [&](size_t at, size_t length) {
    return parse_int(text.substr(at, length)).value_or(-1);
  };
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  const int64_t day = number(5, 2), year = number(12, 4), hour = number(17, 2), minute = number(20, 2),
                second = number(23, 2);
  const std::chrono::year_month_day date{
      std::chrono::year(static_cast<int>(year)),
      std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(day))};
  if (year < 1970 || !date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60)
    return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

std::vector<std::string> decode_warnings(const HttpHead& head) {
  std::vector<std::string> texts;
  for (const HttpHeader& header : head.headers) {
    if (lower(header.name) != "warning") continue;
    const std::string& value = header.value;  // CODE AGENT "text"
    size_t at = value.find('"');
    if (at == std::string::npos) {
      texts.push_back(value);
      continue;
    }
    std::string text;
    for (++at; at < value.size() && value[at] != '"'; ++at) {
      if (value[at] == '\\' && at + 1 < value.size()) ++at;
      text += value[at];
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace sliced::kube
