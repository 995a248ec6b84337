#pragma once
// Requests and responses as values (RFC 9110), independent of the version of HTTP.
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

/// Names as received: HTTP/2's are in lower case (RFC 9113 section 8.2), HTTP/1.1's may not be; look-ups
/// ignore case.
struct Header {
  std::string name, value;
  bool operator==(const Header&) const = default;
};
using Headers = std::vector<Header>;

/// A request to any server; prepare_request() makes it ready for one. POST and PUT with an empty body send
/// Content-Length: 0.
struct Request {
  std::string method;  // "GET"
  std::string path;    // "/api/v1/nodes", already encoded, below the address' base path
  QueryItems query;
  Headers headers;  // without Host, Content-Length and Connection, which the encoders set
  std::string body;
};

/// The head of a response; interim ones (1xx) are skipped.
struct Head {
  int status = 0;
  Headers headers;
  /// Returns the first header of that name, ignoring case; nullptr if there is none.
  const std::string* header(std::string_view name) const;
  bool operator==(const Head&) const = default;
};

/// Returns whether the name is valid (RFC 9110 section 5.1) and neither name nor value contains a line end.
bool is_writable(const Header& header);

/// A validated request to one server: no header contains a line end, and the path is encoded.
struct OutgoingRequest {
  bool tls = true;
  std::string authority;  // "kube:6443": the Host header
  std::string target;     // "/base/api/v1/nodes?watch=1"
  Request request;
  bool has_body() const;  // also true for an empty one whose length is sent
};
using OutgoingRequestPtr = std::shared_ptr<const OutgoingRequest>;
/// Errors: kInvalid, naming the path or the header.
Result<OutgoingRequestPtr> prepare_request(const Url& server, Request request);

constexpr size_t kHeadersMax = 256;  // of a response, including its trailers

/// Limits of one message. A larger one is kTooLarge and ends its exchange; nothing is truncated.
struct Limits {
  size_t head_bytes_max = 64u << 10;  // status line, headers and trailers together
  size_t body_bytes_max = 64u << 20;  // 0: unlimited (a watch, whose lines are limited elsewhere)
};

/// Decodes Retry-After (RFC 9110 10.2.3), seconds or a date, limited to `cap`; nullopt if it is missing or
/// invalid, such as negative seconds. A date is compared with the response's own Date header, so that the
/// local clock does not matter; without a Date header it counts as `cap`.
std::optional<Millis> decode_retry_after(const Head& head, Millis cap = std::chrono::seconds{60});
/// Returns the seconds since 1970 of an IMF-fixdate ("Sun, 06 Nov 1994 08:49:37 GMT"), the only form that
/// senders use (RFC 9110 section 5.6.7); nullopt for the two obsolete forms. A leap second counts as the
/// following one.
std::optional<int64_t> decode_http_date(std::string_view text);
/// Encodes the same, for the years 1970 to 9999.
std::string encode_http_date(int64_t seconds);
/// Returns the texts of the Warning headers (RFC 7234 5.5: 299 - "text"), without escapes.
std::vector<std::string> decode_warnings(const Head& head);

}  // namespace sliced::http
