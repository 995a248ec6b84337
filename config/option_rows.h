#pragma once
// Helpers for the tables of options, and shared sets of commands. Private to this folder.
#include <span>
#include <string>
#include <string_view>

#include "config/option_info.h"
#include "config/values.h"

namespace sliced::config {

inline constexpr CommandSet kDeciding = bit(Command::kRun) | bit(Command::kPlan) | bit(Command::kExplain);
inline constexpr CommandSet kAggregating = bit(Command::kAggregate);
inline constexpr CommandSet kSigns = bit(Command::kWaitForConfig) | bit(Command::kConfigured);

/// A row for that member of Options, parsed by that function of values.h.
template <auto kMember, auto kParse>
constexpr OptionInfo option(OptionInfo row) {
  row.parse = [](std::string_view text, Options& options) { return kParse(text, options.*kMember); };
  row.print = [](const Options& options) { return print(options.*kMember); };
  return row;
}

/// Options of long-running commands: serving, waiting, preparing and offering.
std::span<const OptionInfo> daemon_options();
/// Options of one-shot commands.
std::span<const OptionInfo> asking_options();

}  // namespace sliced::config
