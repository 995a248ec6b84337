#pragma once
// Text -> nodes, by the grammar of cel-go (looser than the one of the specification in places).
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/ast.h"
#include "reactor/base/result.h"

namespace sliced::cel {

inline constexpr size_t kExpressionBytesMax = 10'240;  // resource/v1: CELSelectorExpressionMaxLength
/// cel-go's bound on recursion, which it holds against two things: how deep one rule of the grammar stands in
/// itself (brackets, arguments, elements; the right side of an operator once more), and how high the tree is,
/// where selections, indexes, receivers, binary operators and ?: count: a.b.c is one higher with each part.
inline constexpr int kRecursionMax = 250;

/// The first thing that is wrong with an expression, for people: where, and what.
/// Of several the first that was met, and not the first in the text. Foreign text in `what` is escaped.
struct Mistake {
  int32_t offset = 0;  // byte of the text
  std::string what;
  uint64_t steps = 0;  // of compiling up to it (Program::compile)
};

/// Without macros all() and its like are calls of functions that do not exist.
struct ParseOptions {
  bool macros = true;
};

/// The root, or nullptr and what is wrong. text must outlive the nodes, which belong to the arena.
/// Errors: more than kExpressionBytesMax, what the grammar does not have, recursion beyond kRecursionMax, an
/// arena without room.
Node* parse(std::string_view text, const ParseOptions& options, Arena& arena, Mistake& mistake);

}  // namespace sliced::cel
