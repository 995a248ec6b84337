#pragma once
// Requests and responses as values, and their HTTP/1.1 form (RFC 9112). Nothing here knows a socket: bytes go
// in, heads and body pieces come out, the same wherever the bytes are cut.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/url.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::kube {

struct HttpHeader {
  std::string name, value;
  bool operator==(const HttpHeader&) const = default;
};
using HttpHeaders = std::vector<HttpHeader>;

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // "/api/v1/nodes", already encoded, below the address' base path
  QueryItems query;
  HttpHeaders headers;  // Host, Content-Length and Connection are the encoder's
  std::string body;
};

struct HttpHead {
  int status = 0;
  HttpHeaders headers;
  /// The first header of that name, any case; nullptr when there is none.
  const std::string* header(std::string_view name) const;
  bool operator==(const HttpHead&) const = default;
};

/// The bytes of the request. kInvalid when a header would break the framing (line ends or NUL in it).
Result<std::string> encode_http_request(const Url& server, const HttpRequest& request);

struct HttpLimits {
  size_t head_bytes_max = 64u << 10;  // status line, headers and trailers together
  size_t body_bytes_max = 64u << 20;  // 0: unbounded (a watch, whose lines are bounded elsewhere)
};

/// Decodes one final response; interim ones (1xx) are skipped.
/// Errors:    feed and finish say kIo for what is no HTTP response, an upgrade, bytes behind the response, or
/// an end in
///            the middle; kTooLarge beyond the limits. The decoder is of no use after an error.
/// Reentry:   handlers must not destroy the decoder. on_body and on_head may return false: decoding stops and
/// feed says
///            kCanceled.
class HttpResponseDecoder {
 public:
  struct Handlers {
    std::function<bool(const HttpHead&)> on_head;
    std::function<bool(std::string_view)> on_body;  // valid during the call; never empty
  };
  HttpResponseDecoder(HttpLimits limits, Handlers handlers);
  ~HttpResponseDecoder();
  HttpResponseDecoder(const HttpResponseDecoder&) = delete;
  HttpResponseDecoder& operator=(const HttpResponseDecoder&) = delete;

  Result<Unit> feed(std::string_view bytes);
  /// The peer will send nothing more: ends a body that is delimited by the end of the connection.
  Result<Unit> finish();

  bool complete() const;    // the response is whole
  bool keep_alive() const;  // another request may follow on this connection; only once complete
  bool has_head() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Retry-After (RFC 9110 10.2.3), seconds or a date, at most `cap`; nullopt when there is none or it makes no
/// sense. A date is measured against the response's own Date header, so that this machine's clock plays no
/// part.
std::optional<Millis> decode_retry_after(const HttpHead& head, Millis cap = std::chrono::seconds{60});
/// Seconds since 1970 of an IMF-fixdate ("Sun, 06 Nov 1994 08:49:37 GMT").
std::optional<int64_t> decode_http_date(std::string_view text);
/// The texts of the Warning headers (RFC 7234 5.5: 299 - "text"), escapes removed.
std::vector<std::string> decode_warnings(const HttpHead& head);

}  // namespace sliced::kube
