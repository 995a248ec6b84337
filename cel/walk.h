#pragma once
// Evaluating the tree of a compiled program. Nothing of the tree changes, so that one program may be asked by
// several evaluators; what is made belongs to the Evaluation.
#include <vector>

#include "cel/activation.h"
#include "cel/ast.h"
#include "cel/evaluation.h"

namespace sliced::cel {

/// The value of a checked node. paths: of its program. in.locals has room for its variables. Errors are values;
/// above a limit of the evaluation (cost, steps, memory, depth) the value is one that nothing absorbs.
Value walk(const Node& node, Evaluation& in, const std::vector<Path>& paths, const Activation& activation);

}  // namespace sliced::cel
