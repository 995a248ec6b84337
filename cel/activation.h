#pragma once
// The values of one evaluation: the counterpart of the declarations in Environment (environment.h). The
// caller keeps them alive until the result has been read, because values may point into them.
#include <optional>
#include <vector>

#include "cel/device.h"
#include "cel/value.h"

namespace sliced::cel {

/// The subject of the expression.
struct Activation {
  const Device* device = nullptr;
  /// Values of Environment::variables, in order; nullopt: not set.
  std::vector<std::optional<Value>> variables;
};

}  // namespace sliced::cel
