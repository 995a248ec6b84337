#pragma once
#include <cstddef>

#include "t/sim/faults.h"

namespace sliced::sim {

/// One node with 4,096 VFs; and that many daemons against one API server: prints what they ask of it.
Tally measure_scale(size_t nodes);

}  // namespace sliced::sim
