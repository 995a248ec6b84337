#pragma once
// Bounds on the work and memory that policies may cost in one decision, and their distribution among
// policies.
//
// Costs are counted in work steps (cel/arena.h), which depend only on policies and devices. So every node and
// every replay decides alike; no clock is read.
//
// A *fair share* is the largest cap such that the sum of min(need, cap) stays within the budget (max-min
// fairness). It does not depend on any order.
#include <cstdint>
#include <functional>
#include <vector>

namespace sliced::policy {

struct Budget {
  uint64_t all = 0;   // of all together
  uint64_t each = 0;  // of one
};

/// Budgets of a decision. A step takes at most 100 ns; a step of a typical selector takes a tenth of that.
struct WorkBudgets {
  /// Selectors of a node, each over all its devices. An evaluation counts with its steps or its CEL cost,
  /// whichever is more.
  Budget selectors{40'000'000, 10'000'000};
  /// Compiling selectors and storing the programs: each counts with its steps, or with half the bytes of its
  /// program, whichever is more. Already compiled ones count the same.
  Budget compiling{5'000'000, 1'000'000};
  /// Entries of filters of SriovResourcePolicies that are compared, a few ns each.
  Budget filters{200'000'000, 100'000'000};
  /// Selectors of DeviceAttributes: selectors times objects, plus the attributes that are joined.
  Budget attributes{10'000'000, 5'000'000};
  /// Device entries of DeviceExposurePolicies; bounds memory more than time. An entry counts once more for
  /// each full KiB of attributes and capacities that its policy adds.
  Budget entries{10'000, 10'000};
  /// Stored answers: selectors times devices. Selectors beyond the limit are not evaluated.
  uint64_t answers = 3'000'000;
};

struct Usage {
  uint64_t steps = 0;
  bool is_done = false;
};

/// Continues the work of those in `left` (indices, ascending) until each is done or would exceed `cap` in
/// total. Sets their usage in `used`. Work that would exceed the cap stops there.
using WorkOn = std::function<void(const std::vector<size_t>& left, uint64_t cap, std::vector<Usage>& used)>;

/// Distributes a budget among `count` consumers whose needs are only known by working. Returns the usage of
/// each; is_done is false for a consumer that needs more than it got.
/// Each consumer that needs at most the fair share of a third of the budget is done, in any order. The rest
/// goes to the others in order. The total is at most budget.all, plus repeated work of at most three times
/// that.
std::vector<Usage> deal_out(size_t count, Budget budget, const WorkOn& work_on);

/// The same for known needs. Returns true for each consumer that gets its need. A consumer that gets nothing
/// spends nothing, so the fair share is that of the whole budget. The rest goes to the others, in order.
std::vector<bool> fitting(const std::vector<uint64_t>& needs, Budget budget);

}  // namespace sliced::policy
