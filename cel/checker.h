#pragma once
// Resolves the names of a parsed expression, checks its types and annotates each node for the evaluator.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/environment.h"
#include "cel/parser.h"
#include "cel/types.h"

namespace sliced::cel {

/// Parts of a Program besides its tree: paths by index (Node::slot), the number of variables of an
/// evaluation, and patterns, to which nodes point.
struct Checked {
  std::vector<Path> paths;
  size_t locals = 0;
  std::vector<std::pair<std::string_view, std::unique_ptr<const Regex>>> patterns;  // by text
};

/// Returns false with the mistake if the expression is refused. Changes nodes in place. Counts six steps per
/// node and the size of each type that is compared with another; a program with too many steps is refused.
bool check(Node& root, const Environment& environment, Arena& arena, Checked& out, Mistake& mistake);

}  // namespace sliced::cel
