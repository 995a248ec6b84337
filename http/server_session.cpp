#include "http/server_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::http {
namespace {

bool is_ours(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kOurs = {"date",       "connection", "transfer-encoding",
                                                            "keep-alive", "upgrade",    "proxy-connection"};
  return std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end();
}

bool has_good_length(const Head& head) {
  const std::string* length = head.header("content-length");
  return length == nullptr || parse_int(*length).value_or(-1) >= 0;
}

bool has_no_body(int status) { return status == 204 || status == 304; }

}  // namespace

const std::string* RequestHead::header(std::string_view name) const {
  for (const Header& header : headers)
    if (header.name == name) return &header.value;
  return nullptr;
}

void Response::answer(int status, std::string body, const std::string& content_type) {
  send_head({.status = status, .headers = {{"content-type", content_type}}});
  send_body(std::move(body));
  finish();
}

void QueuedResponse::send_head(Head head) {
  if (is_started_ || is_whole_) return;
  const bool is_good = head.status >= 200 && head.status < 600 &&
                       std::all_of(head.headers.begin(), head.headers.end(), is_writable) &&
                       has_good_length(head);
  if (!is_good) return replace(500, "the answer's head cannot be written");
  std::erase_if(head.headers, [](Header& header) { return is_ours(header.name = lower(header.name)); });
  is_started_ = true;
  head_ = std::move(head);
  on_progress_();
}

void QueuedResponse::send_body(std::string bytes) {
  if (!is_started_ || is_whole_ || is_abandoned_ || bytes.empty()) return;
  body_.erase(0, std::exchange(sent_bytes_, 0));
  if (body_.empty())
    body_ = std::move(bytes);
  else
    body_ += bytes;
  was_full_ |= body_.size() > kResponseRoom;
  on_progress_();
}

void QueuedResponse::finish(Headers trailers) {
  if (is_whole_ || is_abandoned_) return;
  if (!is_started_) return replace(500, "there is no answer");
  std::erase_if(trailers, [](Header& header) {
    header.name = lower(header.name);
    return !is_writable(header);
  });
  is_whole_ = true;
  trailers_ = std::move(trailers);
  on_progress_();
}

void QueuedResponse::abandon() {
  is_abandoned_ = true;
  on_progress_();
}

void QueuedResponse::pause_request() {
  is_paused_ = true;
  on_progress_();
}

void QueuedResponse::resume_request() {
  is_paused_ = false;
  on_progress_();
}

void QueuedResponse::replace(int status, std::string text) {
  if (is_started_ && !head_) return abandon();  // it is on its way
  head_ = Head{.status = status, .headers = {{"content-type", "text/plain; charset=utf-8"}}};
  body_ = std::move(text) + "\n";
  trailers_.clear();
  is_started_ = is_whole_ = true;
  on_progress_();
}

Head QueuedResponse::take_head(bool of_head, const std::function<int64_t()>& clock) {
  Head head = *std::exchange(head_, std::nullopt);
  if (clock) head.headers.push_back({"date", encode_http_date(clock())});
  if (has_no_body(head.status)) body_.clear();
  if (is_whole_ && trailers_.empty() && !has_no_body(head.status) &&
      head.header("content-length") == nullptr && (!of_head || !body_.empty()))
    head.headers.push_back({"content-length", std::to_string(body_.size())});
  if (of_head) body_.clear();
  return head;
}

std::string_view QueuedResponse::take_body(size_t max) {
  const std::string_view part = std::string_view(body_).substr(sent_bytes_, max);
  sent_bytes_ += part.size();
  return part;
}

bool QueuedResponse::take_room() {
  return unsent_bytes() <= kResponseRoom && std::exchange(was_full_, false);
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace sliced::http
