#pragma once
// A configuration file with every setting of a program, generated from the table in config/option_table.h.
#include <string>
#include <string_view>

#include "config/options.h"

namespace sliced::cli {

/// Returns YAML in which every setting is a comment with its default, so that the file has no effect. Lines
/// of at most 100 characters; ends with a newline.
std::string config_file(config::Program program, std::string_view version);

}  // namespace sliced::cli
