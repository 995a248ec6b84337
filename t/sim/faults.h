#pragma once
#include <cstddef>
#include <string>

namespace sliced::sim {

struct Tally {
  size_t passed = 0, failed = 0;
};

/// Every scenario (or the one named `only`) with each operation of each kind failing in turn, at most about
/// per_operation_max of each kind (0: all), and memory refused at that many sampled allocations. Prints what
/// fails.
Tally sweep_faults(const std::string& only, size_t per_operation_max, size_t allocations);

}  // namespace sliced::sim
