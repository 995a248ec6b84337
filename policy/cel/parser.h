#pragma once
// Text -> nodes, by the grammar of cel-go (looser than the one of the specification in places).
#include <cstdint>
#include <string>
#include <string_view>

#include "policy/cel/ast.h"
#include "reactor/base/result.h"

namespace sliced::cel {

inline constexpr size_t kExpressionBytesMax = 10 * 1024;  // resource/v1: CELSelectorExpressionMaxLength
inline constexpr int kNestingMax = 100;
inline constexpr int kHeightMax = 250;  // of the tree: a.b.c or a + b + c is one higher with each part

struct Mistake {
  int32_t offset = 0;  // byte of the text
  std::string what;
};

struct ParseOptions {
  bool macros = true;
};

/// The root, or nullptr and what is wrong. text must outlive the nodes, which belong to the arena.
Node* parse(std::string_view text, const ParseOptions& options, Arena& arena, Mistake& mistake);

}  // namespace sliced::cel
