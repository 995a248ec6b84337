#pragma once
// Splits one JSON object into the raw text of its members while its bytes arrive, and one list member into
// the raw text of its items: an answer of 50 MB costs the memory of its largest item. Inside a value only
// strings and brackets are parsed; decoding a piece finds other errors, without effect on other pieces.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::kube {

/// Errors:  feed() and finish() return kInvalid if the text is no such object, kTooLarge for a member beyond
/// piece_bytes_max or a key beyond kKeyBytesMax (both as written), kCanceled if a callback returned false.
/// The cutter must not be used after an error.
/// Items:   one beyond piece_bytes_max is passed truncated to piece_bytes_max bytes. It does not affect
/// others, and its name may be read from the beginning.
/// Stop:    callbacks return false.
class JsonCutter {
 public:
  static constexpr size_t kKeyBytesMax = 1024;
  struct Handlers {
    /// Keys as written, escapes kept.
    std::function<bool(std::string_view key, std::string_view raw)> on_member;
    std::function<bool(std::string_view raw)> on_item;
  };
  /// The member list_key is split into items if it is a list ("": no member); null counts as an empty list.
  JsonCutter(std::string list_key, size_t piece_bytes_max, Handlers handlers);

  /// The bytes may be split anywhere, also within a character or an escape.
  Result<Unit> feed(std::string_view bytes);
  /// Returns kInvalid unless the bytes are exactly one object, followed by white space only.
  Result<Unit> finish();

 private:
  enum class At {
    kStart,
    kKeyOrEnd,
    kKey,
    kColon,
    kValue,
    kCommaOrEnd,
    kItemOrEnd,
    kItem,
    kItemCommaOrEnd,
    kDone
  };
  enum class In { kNone, kKey, kString, kScalar, kBrackets };
  // Returns the number of consumed bytes, at least one.
  size_t step(std::string_view rest);
  // Handles a character between pieces; at_ determines the valid ones.
  void between(char c);
  void begin_value(char c);
  // Consumes bytes to the end of the piece or of the input.
  size_t inside(std::string_view rest);
  // Ends a piece: stores a key, or passes a member or item to its callback.
  void end_piece();
  // Decodes escapes as far as the comparison with list_key requires.
  void unescape_key();
  void fail(Errc code, std::string what);

  const std::string list_key_;
  const size_t piece_bytes_max_;
  const Handlers handlers_;
  At at_ = At::kStart;  // between pieces: the expected token
  In in_ = In::kNone;   // inside a piece: the token that ends it
  bool in_list_ = false, has_list_ = false;
  bool in_string_ = false, escaped_ = false;  // of a string inside the piece
  size_t depth_ = 0;                          // of brackets inside the piece
  size_t offset_ = 0;                         // bytes taken so far
  std::string key_, piece_;
  std::optional<Error> error_;
};

}  // namespace sliced::kube
