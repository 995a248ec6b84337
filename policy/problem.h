#pragma once
// Invalid parts of an object that an administrator wrote, for `validate`, the log and `explain`. A policy
// with problems offers less, never more.
#include <string>
#include <utility>

#include "reactor/base/first_few.h"

namespace sliced::policy {

/// One invalid field. Foreign text in `what` is quoted and escaped, so that log and terminal can print it.
struct Problem {
  std::string field;  // "spec.configs[0].resourceFilters[1].vendor"
  std::string what;   // value and remedy
  int line = 0;       // of the YAML text; 0 if unknown
  bool operator==(const Problem&) const = default;
};
inline void cut_message(Problem& problem) {
  sliced::cut_message(problem.field);
  sliced::cut_message(problem.what);
}
/// The first problems, and the count of the others: a policy of 1 MiB may have tens of thousands. Equal
/// stored problems and counts compare equal, so that the same problems are logged once.
using Problems = FirstFew<Problem>;

}  // namespace sliced::policy
