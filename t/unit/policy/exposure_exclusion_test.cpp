// Counters compared with the exclusion that they encode, over all subsets of small pools.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <set>

#include "kube/objects/resource_slice.h"
#include "policy/exposure/exclusion.h"

namespace sliced::policy {
namespace exposure_exclusion_test {

const std::string kPf = "0000:03:00.0";

// The scheduler's rules: what all of them take fits into the totals, and in each counter set one compatibility group is in the lists of all
// of them, or none has a list (compatibility_groups.go of k8s.io/dynamic-resource-allocation 1.37).
bool fits(const Exclusion& exclusion, const std::vector<std::string>& allocated) {
  std::map<std::string, std::optional<std::set<std::string>>> common;
  std::map<std::pair<std::string, std::string>, __int128> left;
  for (const auto& set : exclusion.counters)
    for (const auto& [counter, total] : set.counters) left[{set.name, counter}] = total.nanos();
  for (const std::string& entry : allocated) {
    const auto consumed = exclusion.consumed.find(entry);
    if (consumed == exclusion.consumed.end()) continue;
    for (const auto& one : consumed->second) {
      const std::set<std::string> groups(one.compatibility_groups.begin(), one.compatibility_groups.end());
      auto& so_far = common[one.counter_set];
      std::set<std::string> both;
      if (so_far) std::ranges::set_intersection(*so_far, groups, std::inserter(both, both.end()));
      if (so_far && both.empty() && !(so_far->empty() && groups.empty())) return false;
      so_far = so_far ? both : groups;
      for (const auto& [counter, tokens] : one.counters) {
        const auto at = left.find({one.counter_set, counter});
        if (at == left.end() || (at->second -= tokens.nanos()) < 0) return false;
      }
    }
  }
  return true;
}

PoolMembers random_pool(std::mt19937& dice) {
  const auto chance = [&](int percent) { return static_cast<int>(dice() % 100) < percent; };
  PoolMembers pool{.pf = chance(80) ? kPf : ""};
  const auto add = [&](const std::string& device, const std::string& base, int personas) {
    for (int i = 0; i < personas; ++i)
      pool.personas.push_back({base + "-" + std::to_string(i), device, base, chance(40),
                               chance(40) ? std::string(1, static_cast<char>('a' + dice() % 2)) : "",
                               chance(15)});
    // After a restart the group of a withdrawn entry may be unknown.
    for (Holding& one : pool.personas)
      if (one.is_withdrawn && chance(30)) one.group = kAnyGroup;
  };
  if (!pool.pf.empty()) add(kPf, "pf", static_cast<int>(dice() % 4));
  const int others = static_cast<int>(dice() % 4);
  for (int i = 0; i < others; ++i) {
    const std::string device = "0000:03:00." + std::to_string(i + 1), base = "d" + std::to_string(i);
    const bool is_made = !pool.pf.empty() && chance(10);  // just now: not among the VFs yet, and not offered
    if (!pool.pf.empty() && !is_made) pool.vfs.push_back({device, chance(20)});
    add(device, base, static_cast<int>(dice() % 3));
    for (Holding& one : pool.personas) one.is_withdrawn |= is_made && one.device == device;
  }
  return pool;
}

std::string shown(const PoolMembers& pool, const std::vector<std::string>& chosen) {
  std::string out = "pf " + pool.pf;
  for (const auto& vf : pool.vfs) out += " vf " + vf.device + (vf.is_host_used ? "(host)" : "");
  for (const auto& one : pool.personas)
    out += "\n" + one.entry + " of " + one.device + (one.is_exclusive ? " exclusive" : " shared") + " " +
           one.group + (one.is_withdrawn ? " withdrawn" : "");
  out += "\nchosen:";
  for (const auto& one : chosen) out += " " + one;
  return out;
}

TEST(Exclusion, CountersAllowExactlyTheValidCombinations) {
  std::mt19937 dice(7);
  int refused = 0, granted = 0, with_withdrawn = 0, with_groups = 0;
  for (int round = 0; round < 4000; ++round) {
    PoolMembers pool = random_pool(dice);
    pool.uses_groups = round % 2 == 1;
    const Exclusion exclusion = exclude(pool);
    ASSERT_TRUE(exclusion.refused.empty());
    for (const auto& [entry, consumed] : exclusion.consumed)
      for (const auto& one : consumed) with_groups += !one.compatibility_groups.empty();
    std::vector<const Holding*> offered, withdrawn;
    for (const auto& one : pool.personas) (one.is_withdrawn ? withdrawn : offered).push_back(&one);
    for (const auto& [entry, consumed] : exclusion.consumed) {
      EXPECT_LE(consumed.size(), 2u);
      kube::Device device{.name = "x", .consumes_counters = consumed};
      EXPECT_TRUE(kube::validate_device(device).empty());
    }
    const bool is_pf_in_use =
        std::any_of(pool.vfs.begin(), pool.vfs.end(), [](const auto& vf) { return vf.is_host_used; });
    for (size_t bits = 0; bits < (size_t{1} << offered.size()); ++bits) {
      std::vector<const Holding*> chosen;
      for (size_t i = 0; i < offered.size(); ++i)
        if ((bits >> i & 1) != 0) chosen.push_back(offered[i]);
      bool may_be = true;
      for (const auto* a : chosen) {
        if (a->device == pool.pf && a->is_exclusive && is_pf_in_use) may_be = false;
        for (const auto* b : chosen) may_be = may_be && !exclude_each_other(*a, *b, pool.pf);
        // Each of the withdrawn may still be allocated.
        for (const auto* b : withdrawn) may_be = may_be && !exclude_each_other(*a, *b, pool.pf);
      }
      std::vector<std::string> names;
      for (const auto* one : chosen) names.push_back(one->entry);
      const bool is_allowed = fits(exclusion, names);
      ASSERT_EQ(is_allowed, may_be) << shown(pool, names);
      with_withdrawn += !withdrawn.empty();
      (is_allowed ? granted : refused)++;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(granted, 1000);
  EXPECT_GT(with_withdrawn, 1000);
  EXPECT_GT(with_groups, 1000);
}

// What groups are for. Red when the entry of a PF, or a counter, depends on how many VFs there are.
TEST(Exclusion, WithGroupsAVfAffectsNoOtherEntry) {
  PoolMembers pool{.pf = kPf, .vfs = {{"v0"}}, .uses_groups = true};
  pool.personas = {{"pf-all", kPf, "pf", true}, {"v0", "v0", "v0"}};
  const Exclusion one_vf = exclude(pool);
  pool.vfs.push_back({"v1"});
  pool.personas.push_back({"v1", "v1", "v1"});
  const Exclusion two_vfs = exclude(pool);
  EXPECT_EQ(one_vf.counters, two_vfs.counters);
  for (const char* entry : {"pf-all", "v0"}) EXPECT_EQ(one_vf.consumed.at(entry), two_vfs.consumed.at(entry));
  EXPECT_EQ(two_vfs.consumed.at("pf-all"),
            (std::vector<kube::CounterConsumption>{{"pf", {{"whole", kube::Quantity(1)}}, {"whole"}}}));
  EXPECT_EQ(two_vfs.consumed.at("v1"),
            (std::vector<kube::CounterConsumption>{{"pf", {{"parts", kube::Quantity(1)}}, {"parts"}}}));
}

TEST(Exclusion, ClaimsOfAPoolMatchThoseOfEachEntry) {
  std::mt19937 dice(11);
  int yes = 0, no = 0;
  for (int round = 0; round < 2000; ++round) {
    const PoolMembers pool = random_pool(dice);
    for (size_t count = 0; count <= pool.personas.size(); ++count) {
      PoolHoldings claims(pool.pf);
      for (size_t i = 0; i < count; ++i) claims.add(pool.personas[i]);
      for (const Holding& one : pool.personas) {
        const auto excludes = [&](const Holding& other) { return exclude_each_other(one, other, pool.pf); };
        const auto end = pool.personas.begin() + static_cast<ptrdiff_t>(count);
        const bool wanted = std::any_of(pool.personas.begin(), end, excludes);
        ASSERT_EQ(claims.exclude(one), wanted) << shown(pool, {one.entry});
        ++(wanted ? yes : no);
      }
    }
  }
  EXPECT_GT(yes, 1000);
  EXPECT_GT(no, 1000);
}

TEST(Exclusion, AddsNoCountersWithoutExclusion) {
  PoolMembers pool{.pf = kPf, .vfs = {{"v0"}, {"v1"}}};
  pool.personas = {{"v0", "v0", "v0"}, {"v1", "v1", "v1"}};
  EXPECT_TRUE(exclude(pool).counters.empty()) << "VFs alone";
  pool.personas.push_back({"pf-macvlan", kPf, "pf", false});
  EXPECT_TRUE(exclude(pool).counters.empty()) << "a shared persona beside VFs";
  pool.personas.push_back({"pf-all", kPf, "pf", true});
  const Exclusion exclusion = exclude(pool);
  ASSERT_EQ(exclusion.counters.size(), 1u);
  EXPECT_EQ(exclusion.counters[0].counters.at("exclusion-slots"), kube::Quantity(3));
  EXPECT_EQ(exclusion.consumed.at("pf-all")[0].counters.at("exclusion-slots"), kube::Quantity(3));
  EXPECT_EQ(exclusion.consumed.at("v0")[0].counters.at("exclusion-slots"), kube::Quantity(1));
}

// 127 VFs with two personas each: 127 counters, 32 to a set.
TEST(Exclusion, ManyDevicesShareSets) {
  PoolMembers pool{.pf = kPf};
  for (int i = 0; i < 127; ++i) {
    const std::string vf = "v" + std::to_string(i);
    pool.vfs.push_back({vf});
    pool.personas.push_back({vf, vf, vf, true});
    pool.personas.push_back({vf + "-shared", vf, vf, false});
  }
  const Exclusion exclusion = exclude(pool);
  EXPECT_EQ(exclusion.counters.size(), 4u);
  for (const auto& set : exclusion.counters) EXPECT_LE(set.counters.size(), 32u);
}

struct ContestedRow {
  const char* what;
  std::vector<Holding> holdings, offers;
  std::set<std::string> contested;
};

TEST(Exclusion, HandlesAnEditThatMergesAllocatedGroups) {
  const auto share = [](const char* name, const char* group, bool is_contested = false) {
    return Holding{.entry = name,
                   .device = kPf,
                   .base = "pf",
                   .is_exclusive = false,
                   .group = group,
                   .is_contested = is_contested};
  };
  const auto another = [&](Holding holding) {
    holding.device = "0000:03:00.1";
    return holding;
  };
  const Holding m = share("m", ""), i = share("i", ""), m_rx = share("m", "rx"), i_rx = share("i", "rx"),
                m_tx = share("m", "tx"), x_rx = share("x", "rx");
  const std::string any(kAnyGroup);
  const std::vector<ContestedRow> rows = {
      {"none is held", {}, {m_rx, i_rx}, {}},
      {"one is", {m}, {m_rx, i_rx}, {}},
      {"both are", {m, i}, {m_rx, i_rx}, {"m", "i"}},
      {"nothing changes", {m_rx, i_rx}, {m_rx, i_rx}, {}},
      {"from one group to another", {share("m", "a"), share("i", "a")}, {m_rx, i_rx}, {}},
      {"from two groups to one", {share("m", "a"), share("i", "b")}, {m_rx, i_rx}, {"m", "i"}},
      {"into different groups", {m, i}, {m_tx, i_rx}, {}},
      {"out of their group", {m_rx, i_rx}, {m, i}, {}},
      {"into a group that another has already", {m, x_rx}, {m_rx, x_rx}, {"m", "x"}},
      {"into that of what is withdrawn", {m, x_rx}, {m_rx}, {"m", "x"}},
      {"of another device", {m, another(i)}, {m_rx, another(i_rx)}, {}},
      {"one is exclusive", {m, {.entry = "w", .device = kPf, .base = "pf"}}, {m_rx}, {}},
      {"groups of before are not known",
       {share("m", any.c_str()), share("i", any.c_str())},
       {m_rx, i_rx},
       {}},
      {"contested already", {share("m", "rx", true), share("i", "rx", true)}, {m_rx, i_rx}, {"m", "i"}},
      {"both were found to be allocated",
       {share("m", any.c_str(), true), share("i", any.c_str(), true)},
       {m_rx, i_rx},
       {"m", "i"}},
      {"one of them is free now", {share("m", "rx", true)}, {m_rx, i_rx}, {}},
      {"and is offered again", {share("m", "rx", true), i_rx}, {m_rx, i_rx}, {}},
      {"the edit is taken back", {share("m", "rx", true), share("i", "rx", true)}, {m, i}, {}}};
  for (const ContestedRow& row : rows) {
    SCOPED_TRACE(row.what);
    std::set<std::string> found;
    for (const Holding& one : contested(row.offers, row.holdings, kPf)) {
      found.insert(one.entry);
      EXPECT_TRUE(one.is_withdrawn && one.is_contested && one.group == "rx");
    }
    EXPECT_EQ(found, row.contested);
  }
}

TEST(Exclusion, KeepsTheFirstWithoutCounters) {
  const std::vector<Holding> order = {
      {"v0", "v0", "v0"}, {"pf", kPf, "pf", true}, {"v1", "v1", "v1"}, {"pf-macvlan", kPf, "pf", false}};
  EXPECT_EQ(without_conflict(order, kPf), (std::vector<std::string>{"v0", "v1", "pf-macvlan"}));
  EXPECT_EQ(without_conflict({order[1], order[0], order[3]}, kPf), (std::vector<std::string>{"pf"}));
}

}  // namespace exposure_exclusion_test
}  // namespace sliced::policy
