#pragma once
// HTTP/1.1 (RFC 9112) as bytes. Nothing here knows a socket: bytes go in, heads and body pieces come out, the
// same wherever the bytes are cut.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"

namespace sliced::http {

/// The bytes of the request.
/// Nothing is checked here: prepare_request() has done that.
std::string encode_http1(const OutgoingRequest& request);

/// Decodes one final response; interim ones (1xx) are skipped.
/// Errors:    feed and finish say kIo for what is no HTTP response, an upgrade, bytes behind the response, or
///            an end in the middle; kTooLarge beyond the limits. The decoder is of no use after an error.
/// Reentry:   handlers must not destroy the decoder. on_body and on_head may return false: decoding stops
///            and feed says kCanceled.
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
  /// The peer will send nothing more: ends a body that is delimited by the end of the connection.
  Result<Unit> finish();

  bool complete() const;  // the response is whole
  /// Bytes behind a whole response cost the connection: keep_alive() is false from then on.
  bool keep_alive() const;  // another request may follow on this connection; only once complete
  bool has_head() const;
  const Headers& trailers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sliced::http
