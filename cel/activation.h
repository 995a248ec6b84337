#pragma once
#include <optional>
#include <vector>

#include "cel/device.h"
#include "cel/value.h"

namespace sliced::cel {

/// What the expression is asked about.
struct Activation {
  const Device* device = nullptr;
  /// Values of Environment::variables, in order; nullopt: not given.
  std::vector<std::optional<Value>> variables;
};

}  // namespace sliced::cel
