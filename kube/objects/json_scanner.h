#pragma once
// Finds single values in a JSON text and skips the rest, checking only strings and brackets, at any depth and
// without allocation. For objects with large foreign parts, which need not be decodable by decode_json().
#include <initializer_list>
#include <optional>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::kube {

/// Scans a JSON text from left to right. Each function advances the position; results are views into the
/// text.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : rest_(text) {}

  /// Skips white space and consumes the character; false leaves the position.
  bool consume(char expected);
  bool consume_null();
  /// Returns a string literal with its quotes; nullopt if absent. Skips one without an end.
  std::optional<std::string_view> literal();
  /// Returns false if the value has no end; the position is then undefined.
  bool skip_value();
  /// Returns the text of the next value; nullopt if it has no end.
  std::optional<std::string_view> value();
  /// Returns true at the end of the text, which may be truncated.
  bool is_at_end();

  /// Visits the members of an object: on_member(key with quotes) must consume the value. Returns false if the
  /// text is not an object or on_member returned false.
  template <class OnMember>
  bool object(OnMember on_member) {
    if (!consume('{')) return false;
    if (consume('}')) return true;
    do {
      const auto key = literal();
      if (!key || !consume(':') || !on_member(key->substr(1, key->size() - 2))) return false;
    } while (consume(','));
    return consume('}');
  }

 private:
  void skip_space();

  std::string_view rest_;
};

/// Returns the text of the value at a path of keys; "" if absent or null. Keys with escapes are not found.
/// Errors: kInvalid if the text is not a JSON object up to there.
Result<std::string_view> find_raw(std::string_view object, std::initializer_list<std::string_view> path);

}  // namespace sliced::kube
