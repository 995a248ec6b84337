#pragma once
// Converts text to nodes, by the grammar of cel-go (less strict than the specification in places).
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "cel/ast.h"
#include "reactor/base/result.h"

namespace sliced::cel {

inline constexpr size_t kExpressionBytesMax = 10'240;  // resource/v1: CELSelectorExpressionMaxLength
/// cel-go's limit of recursion, for two quantities: the nesting of one rule of the grammar (brackets,
/// arguments, elements; the right side of an operator once more), and the height of the tree, in which
/// selections, indexes, receivers, binary operators and ?: count: each part of a.b.c adds one.
inline constexpr int kRecursionMax = 250;

/// The first mistake of an expression, for people: place and reason. The first that was found, which may not
/// be the first in the text. Foreign text in `what` is escaped.
struct Mistake {
  int32_t offset = 0;  // byte of the text
  std::string what;
  uint64_t steps = 0;  // of compilation up to it (Program::compile)
};

/// Without macros all() and similar names are calls of functions that do not exist.
struct ParseOptions {
  bool macros = true;
};

/// Returns the root, or nullptr with the mistake. nodes: receives all nodes. arena: receives their texts and
/// lists, and counts the memory of both. text, nodes and arena must outlive the tree.
/// Errors: more than kExpressionBytesMax, a syntax error, recursion beyond kRecursionMax, an arena without
/// room.
Node* parse(std::string_view text, const ParseOptions& options, std::deque<Node>& nodes, Arena& arena,
            Mistake& mistake);

}  // namespace sliced::cel
