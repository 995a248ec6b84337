#pragma once
// The manual page sliced(8), made of the table in config/option_table.h.
#include <string>
#include <string_view>

namespace sliced::cli {

/// roff source with the man(7) macros.
std::string man_page(std::string_view version);

}  // namespace sliced::cli
