#pragma once
// Private to http/: decodes HTTP/1.1 requests (RFC 9112) one after the other, and encodes the framing of
// answers. Input may be split at any byte; the results are the same.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/service.h"

namespace sliced::http {

/// Errors: kTooLarge beyond the limits, kInvalid for an invalid request; status() returns the status to
/// answer. The decoder is unusable after an error.
class RequestDecoder {
 public:
  /// A request's head with its connection options (RFC 9112 section 9.3, RFC 9110 section 10.1.1).
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

  /// Returns how many of the bytes belong to the current request: all, until it is complete.
  Result<size_t> feed(std::string_view bytes);
  /// Starts the next request: clears the state and the counters. Requires: complete().
  void restart();

  bool is_started() const;  // a byte of a request was received
  bool has_head() const;
  bool complete() const;
  int status() const;       // for the error
  Headers take_trailers();  // when complete

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns a chunk (RFC 9112 section 7.1). Requires: bytes is not empty, because an empty chunk ends the
/// body.
std::string encode_chunk(std::string_view bytes);
/// Returns the end of the body, with optional trailers. Requires: the trailers are writable.
std::string encode_last_chunk(const Headers& trailers);

}  // namespace sliced::http
