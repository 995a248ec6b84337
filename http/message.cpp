#include "http/message.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::http {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool breaks_framing(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool is_token_char(char c) {
  const bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_alnum || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

bool is_target_char(char c) { return c > ' ' && c < 0x7f; }

}  // namespace

const std::string* Head::header(std::string_view name) const {
  const std::string lower_name = lower(name);
  for (const Header& header : headers)
    if (lower(header.name) == lower_name) return &header.value;
  return nullptr;
}

bool is_writable(const Header& header) {
  return !header.name.empty() && std::all_of(header.name.begin(), header.name.end(), is_token_char) &&
         !breaks_framing(header.value);
}

Result<OutgoingRequestPtr> prepare_request(const Url& server, Request request) {
  std::string target = server.base_path + request.path;
  if (!request.query.empty()) target += '?' + encode_query(request.query);
  if (!std::all_of(target.begin(), target.end(), is_target_char))
    return Error{Errc::kInvalid,
                 "request path " + in_quotes(target) + " has characters that must be encoded"};
  for (const Header& header : request.headers)
    if (breaks_framing(header.name) || breaks_framing(header.value))
      return Error{Errc::kInvalid, "request header " + in_quotes(header.name) + " has a line end in it"};
  return std::make_shared<const OutgoingRequest>(
      OutgoingRequest{server.tls, host_header(server), std::move(target), std::move(request)});
}

bool OutgoingRequest::has_body() const {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT";
}

std::optional<Millis> decode_retry_after(const Head& head, Millis cap) {
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

std::string encode_http_date(int64_t seconds) {
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::seconds{seconds});
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const unsigned weekday = std::chrono::weekday{std::chrono::sys_days{days}}.c_encoding();
  const int64_t second = seconds - std::chrono::seconds{days}.count();
  const auto two = [](int64_t number) { return std::to_string(number + 100).substr(1); };
  return std::string(kDays[weekday]) + ", " + two(static_cast<unsigned>(date.day())) + " " +
         std::string(kMonths[static_cast<unsigned>(date.month()) - 1]) + " " +
         std::to_string(static_cast<int>(date.year())) + " " + two(second / 3600) + ":" +
         two(second / 60 % 60) + ":" + two(second % 60) + " GMT";
}

std::optional<int64_t> decode_http_date(std::string_view text) {
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

std::vector<std::string> decode_warnings(const Head& head) {
  std::vector<std::string> texts;
  for (const Header& header : head.headers) {
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

}  // namespace sliced::http
