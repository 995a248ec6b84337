#pragma once
// `validate`, a command of sliced and of kubectl-sliced.
#include "config/options.h"

namespace sliced::cli {

/// Checks files. kExitError: a file, or an object in one, has an error; warnings do not count.
int validate(const config::Options& options);

}  // namespace sliced::cli
