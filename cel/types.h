#pragma once
// Static types as far as device selectors require them: an unknown type is dyn, which matches everywhere.
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace sliced::cel {

/// Immutable, and compared by content: a type may exist several times.
struct Type {
  enum class Tag : uint8_t { kDyn, kAny, kPlain, kParameter };
  Tag tag = Tag::kDyn;
  Kind kind = Kind::kNull;       // kPlain
  uint8_t parameter = 0;         // kParameter: 0 for A, 1 for B, 2 for C
  uint16_t depth = 1;            // nested types, including this one
  uint16_t size = 1;             // number of parts if written out, regardless of sharing
  const Type* first = nullptr;   // of a list, a map's keys, an optional
  const Type* second = nullptr;  // a map's values

  /// Unknown: the values decide (kDyn), or there are none (kAny: the elements of []).
  bool is_dyn() const { return tag == Tag::kDyn || tag == Tag::kAny; }
  bool is(Kind of) const { return tag == Tag::kPlain && kind == of; }
};

/// Unknown until evaluation. This, any_type() and plain types exist during the whole process; others belong
/// to the given arena.
const Type* dyn_type();
/// The type of the elements of [].
const Type* any_type();
/// Lists, maps and optionals have elements of dyn.
const Type* plain_type(Kind kind);
const Type* parameter_type(int index);

/// Types with deeper nesting or more parts are refused, so that algorithms over types end. Shared parts count
/// repeatedly: both in map(x, x), because a few lines could otherwise define a type of exponential size.
inline constexpr int kTypeDepthMax = 250, kTypeSizeMax = 1'000;

/// Returns "map(string, list(int))"; "..." beyond some depth.
std::string text_of(const Type& type);

/// Decodes text_of()'s form and A, B, C; new types belong to the arena. nullptr if invalid.
const Type* parse_type(std::string_view text, Arena& arena);
/// These return nullptr for nullptr, and the plain type without memory. Depth is one more than that of the
/// parts, size one more than their sum; both end a little above their limits.
const Type* list_of(const Type* item, Arena& arena);
const Type* map_of(const Type* key, const Type* value, Arena& arena);
const Type* optional_of(const Type* item, Arena& arena);
/// The type of a type: the result of type().
const Type* type_of(const Type* type, Arena& arena);

/// The types of A, B and C in one call.
struct Bindings {
  const Type* of[3] = {nullptr, nullptr, nullptr};
};
/// Returns whether null is a valid value, as in upstream's checker: times, optionals and all types that are
/// not CEL's own.
bool is_nullable(const Type& type);
/// Returns whether a value of type `given` matches `wanted`; binds wanted's parameters. bindings are valid
/// only for true.
bool fits(const Type* actual, const Type* expected, Bindings& bindings);
/// Returns wanted with its parameters replaced; unbound ones are any.
const Type* bound(const Type* expected, const Bindings& bindings, Arena& arena);

/// Returns the common type, where any matches the other; nullptr if there is none.
const Type* unified(const Type* a, const Type* b, Arena& arena);
/// Returns whether a equals b or is more general.
bool is_general(const Type* a, const Type* b);
/// Returns the type of a value of either type; dyn if they differ.
const Type* joined(const Type* a, const Type* b, Arena& arena);
/// Returns whether it contains kAny, at any depth.
bool has_any(const Type& type);
/// Returns whether sort() and min() accept its values; unknown for dyn.
bool is_ordered(const Type& type);

}  // namespace sliced::cel
