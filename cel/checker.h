#pragma once
// Resolves the names of a parsed expression, checks its types and notes on each node what the evaluator
// needs.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/environment.h"
#include "cel/parser.h"
#include "cel/types.h"

namespace sliced::cel {

/// What a Program keeps beside its tree: paths by index (Node::slot), how many variables an evaluation needs
/// room for, and patterns, to which nodes point.
struct Checked {
  std::vector<Path> paths;
  size_t locals = 0;
  std::vector<std::pair<std::string_view, std::unique_ptr<const Regex>>> patterns;  // by text
};

/// false and the mistake when the expression is refused. Nodes are changed in place.
/// Takes six steps a node and the size of each type that is held against another; a program that takes too
/// many is refused.
bool check(Node& root, const Environment& environment, Arena& arena, Checked& out, Mistake& mistake);

}  // namespace sliced::cel
