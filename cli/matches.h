#pragma once
// The results of an expression for all devices, as text and as data. Pure.
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

/// The result for one device or entry.
struct Match {
  std::vector<std::string> subject;  // one text for each of Matches::columns
  cel::Answer answer;
  bool operator==(const Match& other) const;
};

/// Rows are in the order of the inventory or of the slices.
struct Matches {
  std::vector<std::string> columns;  // "device", "type", "interface"; keys of the data
  std::vector<Match> rows;
  std::string left_out;  // devices that were skipped because the work budget was used up, with the reason; ""
                         // if none

  size_t count(cel::Answer::Is is) const;
};

/// Evaluates the expression for every device of the host, as the selector of a DeviceExposurePolicy. program:
/// of policy::compile_selector for the same driver. steps_max: for all devices together, counted as in
/// decisions (policy/budget.h): a policy whose selector exceeds it is not used.
Matches match_host(const cel::Program& program, const hotplug::Inventory& inventory,
                   const std::string& driver, uint64_t steps_max = policy::WorkBudgets{}.selectors.each);

/// Evaluates the expression for every device entry, as in a DeviceClass or a claim, by driver, pool and name.
/// program: of cel::selector_environment(). steps_max: for all entries together; only this command has such a
/// limit.
Matches match_entries(const cel::Program& program, const std::vector<kube::ResourceSlice>& slices,
                      uint64_t steps_max = policy::WorkBudgets{}.selectors.all);

/// Returns the rows with COST (upstream's), STEPS (sliced's) and RESULT, a summary line, and a warning near a
/// limit.
std::string matches_table(const Matches& matches);
/// Returns a List: the columns, "matches", "cost", "steps", and "error" if the expression failed.
kube::Json json_of(const Matches& matches);

}  // namespace sliced::cli
