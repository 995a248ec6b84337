#pragma once
// What an expression says of each device, as text for people and as data. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "cel/program.h"
#include "config/options.h"
#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/resource_slice.h"
#include "policy/budget.h"

namespace sliced::cli {

/// What the expression says of one device or entry.
struct Match {
  std::vector<std::string> subject;  // one text for each of Matches::columns
  cel::Answer answer;
  bool operator==(const Match& other) const;
};

/// Rows are in the order of the inventory or of the slices.
struct Matches {
  std::vector<std::string> columns;  // "device", "type", "interface"; keys of the data
  std::vector<Match> rows;
  std::string left_out;  // who was not asked for want of work, and why; "" nobody

  size_t count(cel::Answer::Is is) const;
};

/// Every device of the host, as the selector of a DeviceExposurePolicy sees it. program: of
/// policy::compile_selector for the same driver. steps_max: of all devices together, counted as decisions
/// count them (policy/budget.h): a policy with a selector that takes more is not used.
Matches match_host(const cel::Program& program, const hotplug::Inventory& inventory,
                   const std::string& driver, uint64_t steps_max = policy::WorkBudgets{}.selectors.each);

/// Every device entry, as a DeviceClass or a claim sees it, by driver, pool and name. program: of
/// cel::selector_environment(). steps_max: of all entries together; nobody but this command has such a limit.
Matches match_entries(const cel::Program& program, const std::vector<kube::ResourceSlice>& slices,
                      uint64_t steps_max = policy::WorkBudgets{}.selectors.all);

/// The rows with COST (upstream's), STEPS (ours) and RESULT, a line that counts, and a warning near a limit.
std::string matches_table(const Matches& matches);
/// A List: the columns, "matches", "cost", "steps", and "error" where the expression failed.
kube::Json json_of(const Matches& matches);

}  // namespace sliced::cli
