#pragma once
// What cannot be understood of an object that an administrator wrote: shown by `validate`, in the log, and by
// `explain`. A policy with problems offers less, never more.
#include <string>
#include <utility>

#include "reactor/base/first_few.h"

namespace sliced::policy {

/// A field that cannot be understood, with where it stands.
/// Foreign text in `what` is quoted and escaped where it is made, so that log and terminal show it as it is.
struct Problem {
  std::string field;  // "spec.configs[0].resourceFilters[1].vendor"
  std::string what;   // value and remedy
  int line = 0;       // of the YAML text, 0 unknown
  bool operator==(const Problem&) const = default;
};
inline void cut_message(Problem& problem) {
  sliced::cut_message(problem.field);
  sliced::cut_message(problem.what);
}
/// The first of them, the rest counted: a policy of 1 MiB may have tens of thousands.
/// Two sets of problems are equal when what is kept and the counts are: a policy that is wrong in the same
/// way is not told twice.
using Problems = FirstFew<Problem>;

}  // namespace sliced::policy
