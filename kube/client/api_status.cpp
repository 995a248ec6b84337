#include "kube/client/api_status.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

constexpr size_t kMessageBytesMax = 2048;
constexpr size_t kCausesMax = 8;
constexpr size_t kFieldsMax = 256;
constexpr int64_t kRetryAfterMax = 60;

// escaped(), but quotes and backslashes stay: the server's sentences are full of them.
std::string readable(std::string_view text, size_t size_max = kMessageBytesMax) {
  std::string out;
  while (!text.empty() && out.size() < size_max) {
    const size_t end = std::min(text.find_first_of("\"\\"), text.size());
    out += escaped(text.substr(0, end), size_max);
    if (end == text.size()) break;
    out += text[end];
    text.remove_prefix(end + 1);
  }
  return out;
}

struct Status {
  int64_t code = 0;
  std::string reason, message;
  std::optional<Millis> retry_after;
  std::vector<std::string> fields;  // of all causes, as far as kFieldsMax
  bool version_too_large = false;   // "Too large resource version": as good as 410, only a fresh list helps
};

void read_details(const Json& details, Status& status) {
  if (const Json* seconds = details.find("retryAfterSeconds");
      seconds && seconds->integer() && *seconds->integer() > 0)
    status.retry_after = std::chrono::seconds{std::min(*seconds->integer(), kRetryAfterMax)};
  const Json* causes = details.find("causes");
  if (causes == nullptr || causes->array() == nullptr) return;
  size_t shown = 0;
  for (const Json& cause : *causes->array()) {
    const std::string message = readable(cause.text("message")), field = escaped(cause.text("field"));
    if (!field.empty() && status.fields.size() < kFieldsMax) status.fields.push_back(field);
    if (cause.text("reason") == "ResourceVersionTooLarge") status.version_too_large = true;
    if (message.empty() || status.message.find(message) != std::string::npos || shown++ >= kCausesMax)
      continue;
    status.message += "; " + (field.empty() ? "" : field + ": ") + message;
  }
}

std::optional<Status> decode_status(std::string_view text) {
  const auto json = decode_json(text);
  if (!json || json->text("kind") != "Status") return std::nullopt;
  Status status;
  if (const Json* code = json->find("code"); code && code->integer()) status.code = *code->integer();
  status.reason = escaped(json->text("reason"));
  status.message = readable(json->text("message"));
  if (const Json* details = json->find("details")) read_details(*details, status);
  return status;
}

Failure failure_of(std::string_view action, int http_status, const std::optional<Status>& status,
                   std::string_view body) {
  Failure failure;
  failure.http_status = http_status;
  failure.code = errc_of_status(http_status);
  failure.what = std::string(action) + ": the server said " + std::to_string(http_status);
  if (status) {
    failure.reason = status->reason;
    if (!status->reason.empty()) failure.what += ' ' + status->reason;
    if (!status->message.empty()) failure.what += ": " + status->message;
    failure.retry_after = status->retry_after;
    failure.fields = status->fields;
    if (status->version_too_large) failure.code = Errc::kGone;
  } else if (!trim(body).empty()) {
    failure.what += ": " + readable(trim(body), 256);
  }
  return failure;
}

}  // namespace

Errc errc_of_status(int http_status) {
  switch (http_status) {
    case 401:
    case 403:
      return Errc::kDenied;
    case 404:
      return Errc::kNotFound;
    case 408:
    case 429:
      return Errc::kBusy;
    case 409:
      return Errc::kConflict;
    case 410:
      return Errc::kGone;
    default:
      break;
  }
  if (http_status >= 500) return Errc::kBusy;
  return http_status >= 400 ? Errc::kInvalid : Errc::kIo;
}

Failure decode_refusal(std::string_view action, const http::Head& head, std::string_view body) {
  Failure failure = failure_of(action, head.status, decode_status(body), body);
  if (const auto after = http::decode_retry_after(head)) failure.retry_after = after;
  if (head.status >= 300 && head.status < 400) {
    const std::string* location = head.header("location");
    failure.what += " (a redirect" + (location == nullptr ? "" : " to " + in_quotes(*location)) +
                    ", which is not followed: give the address of the API server itself)";
  }
  return failure;
}

Failure decode_error_event(std::string_view action, std::string_view object) {
  const auto status = decode_status(object);
  if (!status)
    return {
        Errc::kIo,
        0,
        "",
        std::string(action) + ": the server sent an ERROR event without a Status: " + readable(object, 256),
        {}};
  Failure failure =
      failure_of(action, static_cast<int>(std::clamp<int64_t>(status->code, 0, 999)), status, "");
  // The watch was answered with 200; an invalid code means a broken server or proxy.
  if (status->code < 400 && failure.code != Errc::kGone) failure.code = Errc::kBusy;
  if (status->reason == "Expired" || status->reason == "Gone") failure.code = Errc::kGone;
  return failure;
}

Failure no_response(std::string_view action, const Error& error) {
  // Codes of a Status (kNotFound, kGone, kDenied ...) must not result from a missing file or name.
  const bool keeps_code =
      error.code == Errc::kTimeout || error.code == Errc::kTooLarge || error.code == Errc::kBusy;
  return {keeps_code ? error.code : Errc::kIo, 0, "", std::string(action) + ": " + error.what, {}};
}

}  // namespace sliced::kube
