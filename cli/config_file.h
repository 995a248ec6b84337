#pragma once
// A configuration file with everything that can stand in it, made of the table in config/option_table.h.
#include <string>
#include <string_view>

namespace sliced::cli {

/// YAML in which every setting is a comment that shows its default: as it stands it changes nothing. Lines of at most 100
/// characters; ends in a newline.
std::string config_file(std::string_view version);

}  // namespace sliced::cli
