#pragma once
// Work of others, bounded: how much of it a decision does, and who gets how much of that.
//
// Everything is counted in work steps (cel/arena.h): they follow from policies and devices alone, so
// that every node and every replay decides alike. No clock is asked.
//
// A *fair share* of something is the most that each may take without more than all of it being taken, where
// who needs less takes what it needs (max-min fairness). It does not depend on any order.
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
  /// Compiling them, and keeping what comes of it: each counts with its steps, or with half the bytes of
  /// memory that it holds, whichever is more. What is already compiled counts as if it were compiled now.
  Budget compiling{5'000'000, 1'000'000};
  /// Entries of filters of SriovResourcePolicies that are looked at, of a few ns each.
  Budget filters{200'000'000, 100'000'000};
  /// Of their selectors of DeviceAttributes: selectors times objects, and the attributes that are joined.
  Budget attributes{10'000'000, 5'000'000};
  /// Device entries of DeviceExposurePolicies: of memory more than of time. One whose policy gives it more
  /// than 1 KiB of attributes and capacities counts for several.
  Budget entries{10'000, 10'000};
  /// Answers that are kept: selectors times devices. The selectors that come first are asked.
  uint64_t answers = 3'000'000;
};

struct Usage {
  uint64_t steps = 0;
  bool is_done = false;
};

/// Goes on with the work of those in `left` (indices, ascending) until each is done or would have used more
/// than cap in all; writes down how far each is. What shows to be too much for the cap ends there.
using WorkOn = std::function<void(const std::vector<size_t>& left, uint64_t cap, std::vector<Usage>& used)>;

/// Deals a budget out to `count` whose needs show only as they work. Who needs no more than the fair share of
/// a third of it is done, whatever others need and in whatever order they stand: half of it is dealt out
/// equally, and what some leave over of that again among the others, in steps of half as much again. The
/// other half goes to those who need more, in order, as far as it goes. In all no more than budget.all is
/// used, beside what is begun again after a pause, which is at most three times that. Who is not done at the
/// end needs more than there was for it.
std::vector<Usage> deal_out(size_t count, Budget budget, const WorkOn& work_on);

/// The same where needs are known beforehand: who gets what it needs. Who gets nothing spends nothing, so
/// that the fair share is that of the whole budget; what is left over goes to the others, in order.
std::vector<bool> who_fits(const std::vector<uint64_t>& needs, Budget budget);

}  // namespace sliced::policy
