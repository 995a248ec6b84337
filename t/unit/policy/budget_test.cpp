#include "policy/budget.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace sliced::policy {
namespace {

// Users with these needs, in one piece or in pieces of one step.
struct Crowd {
  std::vector<uint64_t> needs;
  uint64_t worked = 0;

  std::vector<bool> deal(Budget budget) {
    const auto used = deal_out(needs.size(), budget, [&](const auto& left, uint64_t cap, auto& all) {
      for (const size_t one : left) {
        const uint64_t to = std::min(cap, needs[one]);
        EXPECT_GE(to, all[one].steps);
        worked += to - all[one].steps;
        all[one] = {to, to == needs[one]};
      }
    });
    std::vector<bool> done;
    for (const Usage& one : used) done.push_back(one.is_done);
    return done;
  }
};
using Done = std::vector<bool>;

TEST(Budget, IsSharedFairly) {
  const struct {
    const char* what;
    std::vector<uint64_t> needs;
    Budget budget;
    Done done;
  } kCases[] = {
      {"nobody", {}, {100, 100}, {}},
      {"all fit", {10, 50, 40}, {100, 100}, {true, true, true}},
      {"one is too much by itself", {10, 51, 10}, {1'000, 50}, {true, false, true}},
      {"the cheap are not hurt by the dear",
       {10, 1'000'000, 10, 1'000'000},
       {100, 100},
       {true, false, true, false}},
      {"what the cheap leave over is the others'", {1, 97, 1}, {100, 100}, {true, true, true}},
      {"the last rest goes to the first in order", {60, 60, 10}, {100, 100}, {true, false, true}},
      {"also behind one who is too dear by itself", {500, 30, 30, 30}, {400, 100}, {false, true, true, true}},
      {"equals", {34, 34, 34}, {100, 100}, {true, true, false}},
      {"more of them than steps", {1, 1, 1, 1}, {3, 3}, {true, true, true, false}},
      {"nothing there", {1, 0}, {0, 0}, {false, true}},
  };
  for (const auto& one : kCases) {
    Crowd crowd{one.needs};
    EXPECT_EQ(crowd.deal(one.budget), one.done) << one.what;
    EXPECT_LE(crowd.worked, one.budget.all) << one.what;
  }
}

TEST(Budget, IsSharedFairlyForKnownNeeds) {
  EXPECT_EQ(fitting({}, {100, 100}), Done{});
  EXPECT_EQ(fitting({10, 50, 40}, {100, 100}), (Done{true, true, true}));
  EXPECT_EQ(fitting({10, 51, 10}, {1'000, 50}), (Done{true, false, true}));
  EXPECT_EQ(fitting({200, 60, 30, 10}, {100, 100}), (Done{false, true, true, true}))
      << "the cheap, then in order";
  EXPECT_EQ(fitting({60, 60, 10}, {100, 100}), (Done{true, false, true}));
  EXPECT_EQ(fitting({34, 34, 34}, {100, 100}), (Done{true, true, false}));
  EXPECT_EQ(fitting({0, 1}, {0, 0}), (Done{true, false}));
}

// Red when many, each just below every limit, add up.
TEST(Budget, IsNeverExceeded) {
  for (const size_t count : {60, 1'000, 10'000}) {
    Crowd crowd{std::vector<uint64_t>(count, 7'600'000)};
    crowd.needs.back() = 20;
    const Done done = crowd.deal({20'000'000, 10'000'000});
    EXPECT_LE(crowd.worked, 20'000'000u);
    EXPECT_TRUE(done.back()) << "who needs little has it";
    EXPECT_TRUE(done.front()) << "and what is left over goes to the first in order";
  }
}

// The most that everybody may take without more than `all` being taken.
uint64_t fair_share(const std::vector<uint64_t>& needs, uint64_t all) {
  uint64_t low = 0, high = all;
  while (low < high) {
    const uint64_t level = low + (high - low + 1) / 2;
    uint64_t sum = 0;
    for (const uint64_t need : needs) sum += std::min(need, level);
    (sum <= all ? low : high) = sum <= all ? level : level - 1;
  }
  return low;
}

// Some need little and many need too much, in some order.
struct Crowds {
  std::mt19937_64 random{7};
  std::vector<uint64_t> next() {
    std::vector<uint64_t> needs(1 + random() % 200);
    const int hostile = static_cast<int>(random() % 101);
    for (uint64_t& need : needs)
      need = 1 + random() % (static_cast<int>(random() % 100) < hostile ? 50'000'000 : 100'000);
    return needs;
  }
};

// Red when others can make one that takes less than its fair share be the one that is named.
TEST(Budget, AFairShareIsGrantedInAnyOrder) {
  Crowds crowds;
  const Budget budget{2'000'000, 500'000};
  for (int round = 0; round < 500; ++round) {
    std::vector<uint64_t> needs = crowds.next();
    const uint64_t a_third = std::min(fair_share(needs, budget.all / 3), budget.each);
    const uint64_t whole = std::min(fair_share(needs, budget.all), budget.each);
    for (int order = 0; order < 3; ++order) {
      Crowd crowd{needs};
      const Done done = crowd.deal(budget), fits = fitting(needs, budget);
      EXPECT_LE(crowd.worked, budget.all);
      uint64_t taken = 0;
      for (size_t i = 0; i < needs.size(); ++i) {
        EXPECT_TRUE(done[i] || needs[i] > a_third) << needs[i] << " of " << a_third << ", round " << round;
        EXPECT_TRUE(fits[i] || needs[i] > whole) << needs[i] << " of " << whole << ", round " << round;
        EXPECT_TRUE(needs[i] <= budget.each || (!done[i] && !fits[i]));
        taken += fits[i] ? needs[i] : 0;
      }
      EXPECT_LE(taken, budget.all);
      std::shuffle(needs.begin(), needs.end(), crowds.random);
    }
  }
}

// A thousand that take all they can get, and behind them one that takes a quarter of an equal part.
TEST(Budget, AThousandHostilePoliciesBlameNoHonestOne) {
  Crowd crowd{std::vector<uint64_t>(1'000, 1'000'000'000)};
  crowd.needs.push_back(WorkBudgets{}.selectors.all / 1'001 / 4);
  EXPECT_TRUE(crowd.deal(WorkBudgets{}.selectors).back());
  EXPECT_TRUE(fitting(crowd.needs, WorkBudgets{}.filters).back());
}

}  // namespace
}  // namespace sliced::policy
