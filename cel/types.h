#pragma once
// Static types, as far as device selectors need them: what is not known is dyn, and dyn fits everywhere.
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace sliced::cel {

/// Immutable, and compared by what it says: the same type may be there several times.
struct Type {
  enum class Tag : uint8_t { kDyn, kAny, kPlain, kParameter };
  Tag tag = Tag::kDyn;
  Kind kind = Kind::kNull;      // kPlain
  uint8_t parameter = 0;        // kParameter: 0 for A, 1 for B, 2 for C
  uint16_t depth = 1;           // types within types, this one counted
  uint16_t size = 1;            // of all that is written when it is written out, however much of it is shared
  const Type* first = nullptr;  // of a list, a map's keys, an optional
  const Type* second = nullptr;  // a map's values

  /// Nothing is known of it: the values decide (kDyn), or there is none that would (kAny: what is in []).
  bool is_dyn() const { return tag == Tag::kDyn || tag == Tag::kAny; }
  bool is(Kind of) const { return tag == Tag::kPlain && kind == of; }
};

/// Of which nothing is known until it is evaluated.
/// This, any_type() and plain types last as long as the process; all others are the arena's that is given.
const Type* dyn_type();
/// Of what there is none: the elements of [].
const Type* any_type();
/// Lists, maps and optionals are of dyn.
const Type* plain_type(Kind kind);
const Type* parameter_type(int index);

/// Types nested deeper than this, or of more parts, are nobody's; what walks through types has an end. Parts count as
/// often as they are met: of map(x, x) both, so that a few lines make a type that nobody can walk through.
inline constexpr int kTypeDepthMax = 250, kTypeSizeMax = 1'000;

/// "map(string, list(int))"; beyond some depth "...".
std::string text_of(const Type& type);

/// Reads text_of()'s form and A, B, C; new types go to the arena. nullptr when it is none.
const Type* parse_type(std::string_view text, Arena& arena);
/// nullptr for nullptr, here and below; without memory the plain type. Depth is one more than that of what is
/// inside, size one more than those of what is inside together; both end a little above their bounds.
const Type* list_of(const Type* item, Arena& arena);
const Type* map_of(const Type* key, const Type* value, Arena& arena);
const Type* optional_of(const Type* item, Arena& arena);
/// The type of a type: what type() gives.
const Type* type_of(const Type* type, Arena& arena);

/// What A, B and C stand for in one call.
struct Bindings {
  const Type* of[3] = {nullptr, nullptr, nullptr};
};
/// Whether null may stand for one, as upstream's checker has it: times, optionals and all that is no type of
/// CEL.
bool is_nullable(const Type& type);
/// Whether a value of type `given` may stand where `wanted` is asked for; binds wanted's parameters.
/// bindings are good only where it is true.
bool fits(const Type* given, const Type* wanted, Bindings& bindings);
/// wanted with its parameters replaced; unbound ones are any.
const Type* bound(const Type* wanted, const Bindings& bindings, Arena& arena);

/// The one type that both are, any being whatever the other is; nullptr when there is none.
const Type* unified(const Type* a, const Type* b, Arena& arena);
/// Whether a is b or says less of it.
bool is_general(const Type* a, const Type* b);
/// The type of what is either; dyn when they differ.
const Type* joined(const Type* a, const Type* b, Arena& arena);
/// Whether kAny is in it, at any depth.
bool has_any(const Type& type);
/// Whether sort() and min() take values of it; of what is dyn nobody knows.
bool is_ordered(const Type& type);

}  // namespace sliced::cel
