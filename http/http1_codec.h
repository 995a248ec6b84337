#pragma once
// HTTP/1.1 (RFC 9112) encoding and decoding, without sockets: input may be split at any byte; the results are
// the same.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"

namespace sliced::http {

/// Returns the bytes of the request. Requires: prepare_request() has validated it.
std::string encode_http1(const OutgoingRequest& request);

/// Decodes one final response; skips interim ones (1xx).
/// Errors: feed and finish return kIo for invalid data, an upgrade, bytes after the response, or an end
/// within it; kTooLarge beyond the limits. The decoder is unusable after an error.
/// If on_body or on_head returns false, decoding stops and feed returns kCanceled.
class ResponseDecoder {
 public:
  struct Handlers {
    std::function<bool(const Head&)> on_head;
    std::function<bool(std::string_view)> on_body;  // valid during the call; never empty
  };
  ResponseDecoder(Limits limits, Handlers handlers);
  ~ResponseDecoder();
  ResponseDecoder(const ResponseDecoder&) = delete;
  ResponseDecoder& operator=(const ResponseDecoder&) = delete;

  Result<Unit> feed(std::string_view bytes);
  /// The peer has closed its side: ends a body that is delimited by the end of the connection.
  Result<Unit> finish();

  bool complete() const;  // the response is complete
  /// After extra bytes behind a complete response, keep_alive() is false.
  bool keep_alive() const;  // another request may follow on this connection; only valid when complete
  bool has_head() const;
  const Headers& trailers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sliced::http
