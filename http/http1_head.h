#pragma once
// Inside http/: what both decoders of HTTP/1.1 keep of a message while llhttp takes it apart: the field under way,
// how much there has been, and how far it is. What a bound that is passed means (a status, an error) is theirs.
#include <cstddef>
#include <string>
#include <utility>

#include "http/message.h"
#include "reactor/base/text.h"

namespace sliced::http {

/// Of one message; a new one begins with a new state. Sizes are in bytes as they came, before anything is decoded.
/// Shared by ResponseDecoder (http1_codec.h) and RequestDecoder (http1_request.h), so that both count alike.
/// Nothing here is bounded by itself: what a decoder keeps is bounded because it asks count_head_bytes()
/// before it appends.
struct HeadState {
  std::string name, value;  // of the field under way, which may come in pieces
  Headers trailers;
  size_t head_bytes = 0, body_bytes = 0;  // so far; trailers and extensions of chunks count as head
  bool has_head = false, complete = false;

  /// False: the head is larger than it may be.
  bool count_head_bytes(size_t bytes, const Limits& limits) {
    head_bytes += bytes;
    return head_bytes <= limits.head_bytes_max;
  }
  /// False: the body is. Without a limit (0) never.
  bool count_body_bytes(size_t bytes, const Limits& limits) {
    body_bytes += bytes;
    return limits.body_bytes_max == 0 || body_bytes <= limits.body_bytes_max;
  }
  /// One more header is one too many: those of the head and the trailers count together.
  bool has_all_headers(const Headers& of_head) const {
    return of_head.size() + trailers.size() >= kHeadersMax;
  }
  /// The field under way is whole: its value without the white space around it (RFC 9112 section 5.1).
  Header take_field() {
    Header field{std::move(name), std::string(trim(value))};
    name.clear();
    value.clear();
    return field;
  }
};

}  // namespace sliced::http
