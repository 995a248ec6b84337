#pragma once
// What the tables of options are made of: how a row is written, and the sets of commands that several of them name. Of this
// room alone.
#include <span>
#include <string>
#include <string_view>

#include "config/option_info.h"
#include "config/values.h"

namespace sliced::config {

inline constexpr CommandSet kDeciding = bit(Command::kRun) | bit(Command::kPlan) | bit(Command::kExplain);
inline constexpr CommandSet kAggregating = bit(Command::kAggregate);
inline constexpr CommandSet kSigns = bit(Command::kWaitForConfig) | bit(Command::kConfigured);

/// A row about that member of Options, read by that function of values.h.
template <auto kMember, auto kParse>
constexpr OptionInfo option(OptionInfo row) {
  row.parse = [](std::string_view text, Options& options) { return kParse(text, options.*kMember); };
  row.print = [](const Options& options) { return print(options.*kMember); };
  return row;
}

/// Of what goes on: what it serves, waits for, prepares and offers.
std::span<const OptionInfo> daemon_options();
/// Of what answers once.
std::span<const OptionInfo> asking_options();

}  // namespace sliced::config
