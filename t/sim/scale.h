#pragma once
#include <cstddef>

#include "t/sim/faults.h"

namespace sliced::sim {

/// One node with 4,096 VFs; and that many daemons against one API server: prints what they ask of it.
Tally measure_scale(size_t nodes);
/// The part of it after a power cut.
Tally measure_power_up(size_t nodes);

}  // namespace sliced::sim
