#pragma once
#include <vector>

#include "cel/activation.h"
#include "cel/ast.h"
#include "cel/evaluation.h"

namespace sliced::cel {

/// The value of a checked node. paths: of its program. in.locals has room for its variables.
Value walk(const Node& node, Evaluation& in, const std::vector<Path>& paths, const Activation& activation);

}  // namespace sliced::cel
