#pragma once
// Evaluates the tree of a compiled program. The tree is not changed, so several evaluators may use one
// program; new values belong to the Evaluation.
#include <vector>

#include "cel/activation.h"
#include "cel/ast.h"
#include "cel/evaluation.h"

namespace sliced::cel {

/// Returns the value of a checked node. paths: of its program. Requires: in.locals has room for its
/// variables. Errors are values; above a limit of the evaluation (cost, steps, memory, depth) the result is
/// an error that nothing absorbs.
Value walk(const Node& node, Evaluation& in, const std::vector<Path>& paths, const Activation& activation);

}  // namespace sliced::cel
