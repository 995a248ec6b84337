#pragma once
#include "cel/evaluation.h"
#include "cel/program.h"

namespace sliced::cel {

/// The value of a checked node. paths: of its program. in.locals has room for its variables.
Value walk(const Node& node, Evaluation& in, const std::vector<Path>& paths, const Activation& activation);

}  // namespace sliced::cel
