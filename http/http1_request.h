#pragma once
// Inside http/: requests of HTTP/1.1 (RFC 9112) taken apart, one after the other, and the framing of answers.
// Bytes go in, heads and body pieces come out, the same wherever the bytes are cut.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/service.h"

namespace sliced::http {

/// Errors:    kTooLarge beyond the limits, kInvalid for what is no request; status() says how to answer. The
///            decoder is of no use after an error.
/// Reentry:   handlers must not destroy the decoder.
class RequestDecoder {
 public:
  /// What a request's head says of its connection (RFC 9112 section 9.3, RFC 9110 section 10.1.1), beside the
  /// head itself.
  struct Head {
    RequestHead request;
    bool is_http10 = false, keeps_alive = false, expects_continue = false;
  };
  struct Handlers {
    std::function<void(Head)> on_head;
    std::function<void(std::string_view)> on_body;  // valid during the call; never empty
  };
  RequestDecoder(Limits limits, Handlers handlers);
  ~RequestDecoder();
  RequestDecoder(const RequestDecoder&) = delete;
  RequestDecoder& operator=(const RequestDecoder&) = delete;

  /// How many of the bytes belong to the present request: all, until it is complete.
  Result<size_t> feed(std::string_view bytes);
  /// The next request.
  /// Only once complete: what belonged to the one before is forgotten, and the counters begin at 0.
  void restart();

  bool has_begun() const;  // a byte of a request is here
  bool has_head() const;
  bool complete() const;
  int status() const;       // for the error
  Headers take_trailers();  // once complete

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A piece of a body in the chunked coding (RFC 9112 section 7.1); never an empty one, which would end it.
std::string encode_chunk(std::string_view bytes);
/// The end of the body, with trailers where there are some. The caller has checked that they are writable.
std::string encode_last_chunk(const Headers& trailers);

}  // namespace sliced::http
