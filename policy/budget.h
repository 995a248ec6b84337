#pragma once
// Work of others, bounded: how much of it a decision does, and who gets how much of that.
//
// Everything is counted in work steps (policy/cel/arena.h): they follow from policies and devices alone, so
// that every node and every replay decides alike. No clock is asked.
#include <cstdint>
#include <functional>
#include <vector>

namespace sliced::policy {

struct Budget {
  uint64_t all = 0;   // of everybody together
  uint64_t each = 0;  // of one
};

/// What decisions are allowed. A step takes at most 100 ns; those of selectors that people write take a tenth
/// of that.
struct WorkBudgets {
  /// Selectors of a node, each over all its devices. An evaluation counts with its steps or its cost,
  /// whichever is more.
  Budget selectors{40'000'000, 10'000'000};
  /// Compiling them. What is already compiled counts as if it were compiled now.
  Budget compiling{5'000'000, 500'000};
  /// Entries of filters of SriovResourcePolicies that are looked at, of a few ns each.
  Budget filters{200'000'000, 100'000'000};
  /// Device entries of DeviceExposurePolicies: of memory more than of time.
  Budget entries{20'000, 20'000};
};

struct Spent {
  uint64_t steps = 0;
  bool is_done = false;
};

/// Goes on with the work of those in `left` (indices, ascending) until each is done or would have spent more
/// than cap in all; writes down how far each is.
using WorkOn = std::function<void(const std::vector<size_t>& left, uint64_t cap, std::vector<Spent>& spent)>;

/// Deals a budget out to `count` whose needs show only as they work. Half of it is dealt out equally, and
/// what some leave over of that again among the others: nobody is hurt who needs less than such a share. The
/// other half goes to those who need more, in order, as far as it goes. In all no more than budget.all is
/// spent, beside what is begun again after a pause, which is at most twice that. Who is not done at the end
/// needs more than there was for it.
std::vector<Spent> deal_out(size_t count, Budget budget, const WorkOn& work_on);

/// The same where needs are known beforehand, and who gets nothing spends nothing: who gets what it needs.
std::vector<bool> who_fits(const std::vector<uint64_t>& needs, Budget budget);

}  // namespace sliced::policy
