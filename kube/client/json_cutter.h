#pragma once
// Cuts one JSON object into the raw text of its members while its bytes arrive, and one list member into the
// raw text of its items: an answer of 50 MB costs the memory of its largest item. What lies inside a value is
// looked at only for strings and brackets; whoever decodes the piece finds what else is wrong with it, and
// the other pieces are not harmed.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::kube {

/// Errors:  feed and finish say kInvalid for text that is no such object, kTooLarge for a member beyond
///          piece_bytes_max or a key beyond kKeyBytesMax (both as written), kCanceled when a callback
///          returned false. The cutter is of no use after an error.
/// Items:   one beyond piece_bytes_max is given too, without its end: its first piece_bytes_max bytes. It
///          harms no other, and its name may be read from them.
/// Reentry: callbacks must not destroy the cutter; they return false to stop.
class JsonCutter {
 public:
  static constexpr size_t kKeyBytesMax = 1024;
  struct Handlers {
    /// Keys as written, escapes kept.
    std::function<bool(std::string_view key, std::string_view raw)> on_member;
    std::function<bool(std::string_view raw)> on_item;
  };
  /// The member named list_key is cut into items when it is a list ("" for none); null counts as an empty
  /// list.
  JsonCutter(std::string list_key, size_t piece_bytes_max, Handlers handlers);

  /// Cut anywhere, also within a character or an escape.
  Result<Unit> feed(std::string_view bytes);
  /// kInvalid unless exactly one object, and nothing but white space behind it, has been fed.
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
  enum class In { kNothing, kKey, kString, kScalar, kBrackets };
  // How many bytes were taken: at least one, so that feed() ends.
  size_t step(std::string_view rest);
  // A character between pieces: what may stand there is what at_ says.
  void between(char c);
  void begin_value(char c);
  // Up to the piece's end, or all there is.
  size_t inside(std::string_view rest);
  // The piece is whole: a key is kept, a member or an item handed out.
  void end_piece();
  // Only so far that list_key is found however it is written.
  void unescape_key();
  void fail(Errc code, std::string what);

  const std::string list_key_;
  const size_t piece_bytes_max_;
  const Handlers handlers_;
  At at_ = At::kStart;    // between pieces: what comes next
  In in_ = In::kNothing;  // inside a piece: what ends it
  bool in_list_ = false, list_seen_ = false;
  bool in_string_ = false, escaped_ = false;  // of a string inside the piece
  size_t depth_ = 0;                          // of brackets inside the piece
  size_t offset_ = 0;                         // bytes taken so far
  std::string key_, piece_;
  std::optional<Error> error_;
};

}  // namespace sliced::kube
