#pragma once
// `validate`, a command of sliced and of kubectl-sliced.
#include "config/options.h"

namespace sliced::cli {

/// Files alone. kExitError: one of them, or of the objects in them, has an error; warnings are none.
int validate(const config::Options& options);

}  // namespace sliced::cli
