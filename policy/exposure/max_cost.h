#pragma once
// Maximum cost of evaluated expressions: Kubernetes' CEL cost units and our work steps (cel/evaluation.h),
// against their limits. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/program.h"

namespace sliced::policy {

inline constexpr std::string_view kNearLimit =
    "that is more than half of the limit; above the limit it is an error";

/// The maximum of each, possibly of different devices.
struct MaxCost {
  uint64_t cost = 0, steps = 0, compile_steps = 0;
  uint64_t work = 0;  // sum of steps, or of cost units if those are more

  void add(uint64_t its_cost, uint64_t its_steps, uint64_t its_compile_steps = 0);
  /// Returns "5 of 1000000, and takes 7 of 1000000 work steps".
  std::string text() const;
  /// Returns true above half of a limit: other devices or longer names may exceed it.
  bool is_near() const;
};

/// Evaluates the selector of a DeviceExposurePolicy for imaginary devices: one of each type with all
/// attributes, and one without any.
MaxCost static_cost(const cel::Program& program, const std::string& driver);

}  // namespace sliced::policy
