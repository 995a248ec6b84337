#pragma once
// Private to http/: the state of a message that both HTTP/1.1 decoders share while llhttp parses it: the
// current field, the counted bytes, and the progress. The decoders translate an exceeded limit to a status or
// an error.
#include <cstddef>
#include <string>
#include <utility>

#include "http/message.h"
#include "reactor/base/text.h"

namespace sliced::http {

/// One message; each message has a new state. Sizes count received bytes before decoding. Shared by
/// ResponseDecoder (http1_codec.h) and RequestDecoder (http1_request.h), so that both count in the same way.
/// Requires: a decoder calls count_head_bytes() before it appends.
struct HeadState {
  std::string name, value;  // of the current field, which may come in pieces
  Headers trailers;
  size_t head_bytes = 0, body_bytes = 0;  // so far; trailers and chunk extensions count as head
  bool has_head = false, complete = false;

  /// Returns false if the head exceeds its limit.
  bool count_head_bytes(size_t bytes, const Limits& limits) {
    head_bytes += bytes;
    return head_bytes <= limits.head_bytes_max;
  }
  /// Returns false if the body exceeds its limit; never without one (0).
  bool count_body_bytes(size_t bytes, const Limits& limits) {
    body_bytes += bytes;
    return limits.body_bytes_max == 0 || body_bytes <= limits.body_bytes_max;
  }
  /// Returns whether the limit of headers is reached; head and trailers count together.
  bool has_all_headers(const Headers& of_head) const {
    return of_head.size() + trailers.size() >= kHeadersMax;
  }
  /// Ends the current field, and returns it without the white space around its value (RFC 9112 section 5.1).
  Header take_field() {
    Header field{std::move(name), std::string(trim(value))};
    name.clear();
    value.clear();
    return field;
  }
};

}  // namespace sliced::http
