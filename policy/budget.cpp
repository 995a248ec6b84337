#include "policy/budget.h"

#include <algorithm>
#include <numeric>

namespace sliced::policy {
namespace {

class Dealing {
 public:
  Dealing(size_t count, Budget budget, const WorkOn& work_on)
      : budget_(budget), work_on_(work_on), left_(count), used_(count) {
    std::iota(left_.begin(), left_.end(), size_t{0});
  }

  std::vector<Usage> run() {
    deal_equally();
    deal_the_rest();
    return std::move(used_);
  }

 private:
  // Deals half of the budget equally, in steps of half as much again. If all of it went this way, consumers
  // with equal needs would all fail together. At the end the remaining consumers would exceed this half with
  // a cap that is half as large again. So all together would use more than a third with the present cap,
  // which is therefore at least the fair share of a third.
  void deal_equally() {
    uint64_t rest = budget_.all / 2;  // the half, less the usage of finished consumers
    for (bool is_first = true; !left_.empty(); is_first = false) {
      const uint64_t share = std::min(budget_.each, rest / left_.size());
      // Small increments would repeat much work.
      if (!is_first && share < cap_ + std::max<uint64_t>(cap_ / 2, 1)) return;
      cap_ = share;
      rest -= std::min(rest, spend(left_, cap_));
      if (cap_ == budget_.each) return;
    }
  }

  // Gives the remaining budget to the others, in order.
  void deal_the_rest() {
    uint64_t spare = budget_.all - std::min(budget_.all, used_by_done_ + cap_ * left_.size());
    for (const size_t one : std::vector<size_t>(left_)) {
      const uint64_t cap = std::min(budget_.each, cap_ + spare);
      if (cap <= cap_) return;
      spend({one}, cap);
      spare -= (used_[one].is_done ? std::max(used_[one].steps, cap_) : cap) - cap_;
    }
  }

  // Returns the usage of those that are done now.
  uint64_t spend(const std::vector<size_t>& some, uint64_t cap) {
    work_on_(some, cap, used_);
    uint64_t used = 0;
    std::erase_if(left_, [&](size_t one) {
      if (used_[one].is_done) used += used_[one].steps;
      return used_[one].is_done;
    });
    used_by_done_ += used;
    return used;
  }

  const Budget budget_;
  const WorkOn& work_on_;
  uint64_t cap_ = 0;  // the cap of each remaining consumer
  uint64_t used_by_done_ = 0;
  std::vector<size_t> left_;
  std::vector<Usage> used_;
};

}  // namespace

std::vector<Usage> deal_out(size_t count, Budget budget, const WorkOn& work_on) {
  return Dealing(count, budget, work_on).run();
}

std::vector<bool> fitting(const std::vector<uint64_t>& needs, Budget budget) {
  std::vector<size_t> by_need(needs.size());
  std::iota(by_need.begin(), by_need.end(), size_t{0});
  std::stable_sort(by_need.begin(), by_need.end(), [&](size_t a, size_t b) { return needs[a] < needs[b]; });
  std::vector<bool> fits(needs.size(), false);
  uint64_t used = 0;
  size_t left = needs.size();
  for (const size_t one : by_need) {
    if (needs[one] > std::min(budget.each, (budget.all - used) / left)) break;
    fits[one] = true;
    used += needs[one];
    --left;
  }
  for (size_t one = 0; one < needs.size(); ++one) {
    if (fits[one] || needs[one] > std::min(budget.each, budget.all - used)) continue;
    fits[one] = true;
    used += needs[one];
  }
  return fits;
}

}  // namespace sliced::policy
