#pragma once
// What expressions cost at most of those that were asked: upstream's units and work steps of ours
// (cel/evaluation.h), against their limits. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/program.h"

namespace sliced::policy {

inline constexpr std::string_view kNearLimit =
    "that is more than half of the limit; above the limit it is an error";

/// The most of what was asked for, each of the three for itself: they may be of different devices.
struct MaxCost {
  uint64_t cost = 0, steps = 0, compile_steps = 0;
  uint64_t work = 0;  // steps of all together, or cost units where those are more

  void add(uint64_t its_cost, uint64_t its_steps, uint64_t its_compile_steps = 0);
  /// "5 of 1000000, and takes 7 of 1000000 work steps"
  std::string text() const;
  /// Above half of a limit: other devices, or longer names, may be beyond it.
  bool is_near() const;
};

/// The selector of a DeviceExposurePolicy, asked of devices that do not exist: one of each type with
/// everything that a device of it has, and one that has nothing.
MaxCost static_cost(const cel::Program& program, const std::string& driver);

}  // namespace sliced::policy
