#pragma once
// The manual page of a program, generated from the table in config/option_table.h.
#include <string>
#include <string_view>

#include "config/options.h"

namespace sliced::cli {

/// Returns sliced(8), sliced-controller(8) or kubectl-sliced(1): roff source with the man(7) macros.
std::string man_page(config::Program program, std::string_view version);

}  // namespace sliced::cli
