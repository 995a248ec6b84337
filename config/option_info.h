#pragma once
// A row of the table of options (option_table.h).
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/command_table.h"
#include "config/options.h"

namespace sliced::config {

/// Commands, a bit each.
using CommandSet = uint64_t;
constexpr CommandSet bit(Command command) { return CommandSet{1} << static_cast<unsigned>(command); }

/// A row. Texts are literals; the order of rows is that of the help. load() checks bounds that depend on
/// other options. Names end with NUL, because getopt_long reads them.
struct OptionInfo {
  std::string_view name;              // long form without dashes
  char short_name = 0;                // 0: none
  const char* env = nullptr;          // nullptr: none
  std::string_view file_key = "";     // "": not in the file
  std::string_view placeholder = "";  // "": a switch
  CommandSet commands = 0;            // that accept it
  CommandSet not_from_env = 0;        // those that ignore the variable
  bool reloadable = false;            // takes effect on SIGHUP; otherwise at the next start
  std::span<const std::string_view> choices = {};
  std::string_view help;
  /// Sets the option from its text; returns "", or the error and the expected value.
  std::string (*parse)(std::string_view text, Options& options) = nullptr;
  /// Returns the text for parse(); "" if it is unset. reload() compares and copies values by it.
  std::string (*print)(const Options& options) = nullptr;
};

}  // namespace sliced::config
