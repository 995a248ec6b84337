#pragma once
// Requests and responses as values (RFC 9110), the same in every version of HTTP.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/url.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::http {

/// Names as they came: HTTP/2's are in lower case (RFC 9113 section 8.2), HTTP/1.1's are not, and look-ups
/// fold case.
struct Header {
  std::string name, value;
  bool operator==(const Header&) const = default;
};
using Headers = std::vector<Header>;

/// What is to be asked, of whatever server: prepare_request() makes of it what can be sent. With POST and PUT
/// an empty body is said to be one (Content-Length: 0).
struct Request {
  std::string method;  // "GET"
  std::string path;    // "/api/v1/nodes", already encoded, below the address' base path
  QueryItems query;
  Headers headers;  // Host, Content-Length and Connection are the encoders'
  std::string body;
};

/// Of a response, interim ones (1xx) passed over.
struct Head {
  int status = 0;
  Headers headers;
  /// The first header of that name, any case; nullptr when there is none.
  const std::string* header(std::string_view name) const;
  bool operator==(const Head&) const = default;
};

/// Neither name nor value ends a line, and the name is one (RFC 9110 section 5.1).
bool is_writable(const Header& header);

/// A request to one server, checked: no header ends a line, no byte of the path must be encoded.
struct OutgoingRequest {
  bool tls = true;
  std::string authority;  // "kube:6443": the Host header
  std::string target;     // "/base/api/v1/nodes?watch=1"
  Request request;
  bool has_body() const;  // also an empty one: its length is said
};
using OutgoingRequestPtr = std::shared_ptr<const OutgoingRequest>;
/// Errors: kInvalid, naming the path or the header.
Result<OutgoingRequestPtr> prepare_request(const Url& server, Request request);

constexpr size_t kHeadersMax = 256;  // of a response, its trailers included

/// Of one message. What is larger is kTooLarge and ends its exchange: nothing is cut and given as whole.
struct Limits {
  size_t head_bytes_max = 64u << 10;  // status line, headers and trailers together
  size_t body_bytes_max = 64u << 20;  // 0: unbounded (a watch, whose lines are bounded elsewhere)
};

/// Retry-After (RFC 9110 10.2.3), seconds or a date, at most `cap`; nullopt when there is none or it makes no
/// sense. A date is measured against the response's own Date header, so that this machine's clock plays no
/// part.
/// A date without a Date header to measure by counts as `cap`; negative seconds make no sense.
std::optional<Millis> decode_retry_after(const Head& head, Millis cap = std::chrono::seconds{60});
/// Seconds since 1970 of an IMF-fixdate ("Sun, 06 Nov 1994 08:49:37 GMT").
/// The one form that is sent (RFC 9110 section 5.6.7); the two that are obsolete are nullopt. A leap second
/// counts as the one behind it.
std::optional<int64_t> decode_http_date(std::string_view text);
/// The same, the other way; of years 1970 to 9999.
std::string encode_http_date(int64_t seconds);
/// The texts of the Warning headers (RFC 7234 5.5: 299 - "text"), escapes removed.
std::vector<std::string> decode_warnings(const Head& head);

}  // namespace sliced::http
