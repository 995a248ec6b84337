#pragma once
// Private to http/: conversions of nghttp2's values, and their owners. Not included by headers that other
// folders use.
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace sliced::http {

/// A deleter that calls a library's function; a unique_ptr of it is as large as a pointer.
template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* raw) const { kFree(raw); }
};
/// Required only while a session is created: nghttp2 copies them.
using OptionPtr = std::unique_ptr<nghttp2_option, Freed<nghttp2_option, nghttp2_option_del>>;
using CallbacksPtr = std::unique_ptr<nghttp2_session_callbacks,
                                     Freed<nghttp2_session_callbacks, nghttp2_session_callbacks_del>>;

/// Valid during nghttp2's callback.
inline std::string_view view(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// Returns a view of the header; valid until the call, in which nghttp2 copies it. Secrets enter no HPACK
/// table (RFC 7541 section 7.1.3): their compressed length would help an attacker to guess them.
inline nghttp2_nv field(const Header& header) {
  const bool is_secret = header.name == "authorization";
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(header.name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(header.value.data())), header.name.size(),
          header.value.size(),
          static_cast<uint8_t>(is_secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE)};
}

/// As field(), for all headers in their order. Requires: pseudo-headers come first (RFC 9113 section 8.3).
inline std::vector<nghttp2_nv> fields(const Headers& headers) {
  std::vector<nghttp2_nv> raw;
  for (const Header& header : headers) raw.push_back(field(header));
  return raw;
}

}  // namespace sliced::http
