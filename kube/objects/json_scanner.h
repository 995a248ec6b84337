#pragma once
// Finds single values in a JSON text and passes over the rest, which is looked at for strings and brackets
// only: at any depth, and without memory. For objects of which strangers wrote most: what they wrote there
// need not be anything that decode_json() takes.
#include <initializer_list>
#include <optional>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::kube {

/// Walks one JSON text from left to right. Every function leaves the position behind what it read. What is
/// returned are views into the text.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : rest_(text) {}

  /// White space in front of it is passed over; false leaves it where it was.
  bool take(char wanted);
  bool take_null();
  /// A string literal as written, with its quotes; nullopt when there is none. One without end is passed over.
  std::optional<std::string_view> literal();
  /// False where there is none that ends: the position is of no use then.
  bool skip_value();
  /// The text of the next value; nullopt when there is none that ends.
  std::optional<std::string_view> value();
  /// Nothing is left: what was looked for and is not there may have been cut off.
  bool is_at_end();

  /// Walks an object: on_member(key, as written) must consume the value. False when the text is no object or
  /// on_member said so.
  template <class OnMember>
  bool object(OnMember on_member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      const auto key = literal();
      if (!key || !take(':') || !on_member(key->substr(1, key->size() - 2))) return false;
    } while (take(','));
    return take('}');
  }

 private:
  void skip_space();

  std::string_view rest_;
};

/// The text of the value at a path of keys; "" where there is none, or null on the way. Keys that are written
/// with escapes are not found. kInvalid when the text does not reach so far as a JSON object.
Result<std::string_view> find_raw(std::string_view object, std::initializer_list<std::string_view> path);

}  // namespace sliced::kube
