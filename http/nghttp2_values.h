#pragma once
// Inside http/: nghttp2's values as ours, and who frees them. Included where sessions are made, never by a header
// that other rooms see.
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace sliced::http {

/// Of what a library's own function frees; a unique_ptr of it is as large as a pointer.
template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* raw) const { kFree(raw); }
};
/// Both are needed while a session is made and not behind it: nghttp2 copies them.
using OptionPtr = std::unique_ptr<nghttp2_option, Freed<nghttp2_option, nghttp2_option_del>>;
using CallbacksPtr = std::unique_ptr<nghttp2_session_callbacks,
                                     Freed<nghttp2_session_callbacks, nghttp2_session_callbacks_del>>;

/// Valid as long as nghttp2 says: during the callback.
inline std::string_view view(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// The header outlives it: nghttp2 copies what it submits, so that is until the call returns. Secrets enter no
/// table of HPACK (RFC 7541 section 7.1.3): their length would tell of them to who can guess.
inline nghttp2_nv field(const Header& header) {
  const bool is_secret = header.name == "authorization";
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(header.name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(header.value.data())), header.name.size(),
          header.value.size(),
          static_cast<uint8_t>(is_secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE)};
}

/// As field() says: the headers outlive what is returned. In their order, pseudo-headers first (RFC 9113
/// section 8.3), which the caller sees to.
inline std::vector<nghttp2_nv> fields(const Headers& headers) {
  std::vector<nghttp2_nv> raw;
  for (const Header& header : headers) raw.push_back(field(header));
  return raw;
}

}  // namespace sliced::http
