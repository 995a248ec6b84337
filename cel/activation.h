#pragma once
// The values that one evaluation is given: the counterpart of what an Environment declares (environment.h). Who
// evaluates keeps them alive until the answer has been read, since values may point into them.
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
