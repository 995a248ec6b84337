// From the offers that passed all gates to pools.
#include <gtest/gtest.h>

#include <deque>

#include "policy/exposure/pools.h"
#include "policy/reserved/ledger.h"

namespace sliced::policy {
namespace exposure_pools_test {

constexpr const char *kPool = "n1/0000-03-00-0", *kPf = "0000-03-00-0", *kVf = "0000-03-00-2";

struct ExposurePoolsTest : testing::Test {
  ExposurePoolsTest() {
    const hotplug::PciAddress pf{0, 3, 0, 0}, vf{0, 3, 0, 2};
    inventory->devices[pf.text()] = {.id = {pf.text()}, .type = hotplug::DeviceType::kPf, .pci = pf};
    inventory->devices[vf.text()] = {
        .id = {vf.text()}, .type = hotplug::DeviceType::kVf, .pci = vf, .pf = pf};
    in.inventory = inventory;
    in.policies = std::make_shared<const PolicySet>();
    in.node.name = "n1";
  }
  void offer(const std::string& entry) { offer(holding_of_function(entry)); }
  void offer(const Holding& holding) {
    verdicts.push_back({.policy = 0, .entry = holding.entry});
    drafts.push_back({kube::Device{.name = holding.entry}, ""});
    candidates[kPool].push_back({inventory->find(holding.device), &verdicts.back(), &policy, holding,
                                 drafts.back().entry, &drafts.back()});
  }
  void finish() {
    const Resolutions resolutions{{}, "record"};
    const SameFacts same(*inventory, nullptr);
    PoolNames names("n1");
    DecisionContext now{.in = in, .pools = names};
    now.wanted = wanted;
    const Gates gates(now);
    EntryMemory memory;
    Deciding deciding{in, resolutions, same, gates, now, out, memory};
    const std::map<std::string, std::string> links;
    const SettlingDevices settling(in);
    ExposurePools(deciding, links, settling, std::move(candidates)).finish();
  }
  const DesiredPool* pool(const std::string& name = kPool) const {
    const auto at = out.pools.find(in.settings.exposure_driver);
    if (at == out.pools.end()) return nullptr;
    for (const DesiredPool& one : at->second)
      if (one.name == name) return &one;
    return nullptr;
  }
  kube::Quantity total(const std::string& counter) const {
    for (const kube::CounterSet& set : pool()->counters)
      if (const auto at = set.counters.find(counter); at != set.counters.end()) return at->second;
    return kube::Quantity(-1);
  }

  std::shared_ptr<hotplug::Inventory> inventory = std::make_shared<hotplug::Inventory>();
  Inputs in;
  ExposurePolicy policy;
  std::deque<PersonaVerdict> verdicts;
  std::deque<Draft> drafts;
  CandidatesByPool candidates;
  std::set<std::string> wanted;
  Decision out;
};

// Red when a pod can have a PF and another one a scalable function of it.
TEST_F(ExposurePoolsTest, AScalableFunctionAndItsPfExcludeEachOther) {
  const std::string sf = "sf88-0000-03-00-0";
  inventory->devices[sf] = {
      .id = {sf}, .type = hotplug::DeviceType::kSf, .pf = hotplug::PciAddress{0, 3, 0, 0}, .sf_number = 88};
  PoolNames names("n1");
  EXPECT_EQ(names.of(*inventory->find(sf)), kPool);
  EXPECT_EQ(exposure_pool_name("n1", *inventory->find(sf)), kPool);
  offer({.entry = sf, .device = sf, .base = sf});
  offer(kPf);
  finish();
  ASSERT_NE(pool(), nullptr);
  ASSERT_EQ(pool()->devices.size(), 2u);
  // One for the PF alone, one for the VF that is not offered here, one for the scalable function.
  EXPECT_EQ(total("exclusion-slots"), kube::Quantity(3));
  for (const kube::DevicePtr& one : pool()->devices) {
    ASSERT_EQ(one->consumes_counters.size(), 1u) << one->name;
    EXPECT_EQ(one->consumes_counters[0].counters.at("exclusion-slots"),
              kube::Quantity(one->name == sf ? 1 : 3));
  }
}

TEST_F(ExposurePoolsTest, CountsMutualExclusion) {
  offer(kVf);
  offer(kPf);
  finish();
  ASSERT_NE(pool(), nullptr);
  ASSERT_EQ(pool()->devices.size(), 2u);
  EXPECT_EQ(pool()->devices[0]->name, kPf) << "by name";
  EXPECT_EQ(total("exclusion-slots"), kube::Quantity(2));
  for (const kube::DevicePtr& one : pool()->devices)
    EXPECT_EQ(one->consumes_counters.size(), 1u) << one->name;
  EXPECT_EQ(pool()->excludes, "record");
  EXPECT_EQ(out.offered.at(kPool).size(), 2u);
}

TEST_F(ExposurePoolsTest, CountsWithdrawnEntries) {
  in.holdings[kPool] = {holding_of_function(kPf)};
  offer(kVf);
  finish();
  EXPECT_EQ(total("exclusion-slots"), kube::Quantity(0)) << "the whole of it may be allocated";
  EXPECT_TRUE(out.notes.empty()) << "no problem";
  ASSERT_EQ(out.waits.size(), 1u);
  EXPECT_NE(out.waits.begin()->find("no longer offered and may still be in use by a pod: 0000-03-00-0"),
            std::string::npos)
      << *out.waits.begin();
}

TEST_F(ExposurePoolsTest, KeepsThePoolOfWithdrawnEntries) {
  in.holdings[kPool] = {holding_of_function(kVf)};
  finish();
  ASSERT_NE(pool(), nullptr);
  EXPECT_TRUE(pool()->devices.empty() && pool()->excludes.empty());
}

TEST_F(ExposurePoolsTest, DropsWithdrawnEntriesOfARemovedDevice) {
  in.holdings[kPool] = {holding_of_function(kVf)};
  inventory->devices.erase("0000:03:00.2");
  finish();
  EXPECT_EQ(pool(), nullptr);
}

TEST_F(ExposurePoolsTest, WithoutCountersVfsStayAndTheWholePfWaits) {
  in.settings.counters = false;
  offer(kPf);
  offer(kVf);
  finish();
  ASSERT_EQ(pool()->devices.size(), 1u);
  EXPECT_EQ(pool()->devices[0]->name, kVf);
  EXPECT_TRUE(pool()->counters.empty());
  EXPECT_EQ(verdicts[0].outcome, Outcome::kNoCounters);
  EXPECT_EQ(verdicts[1].outcome, Outcome::kOffered);
}

// Who leaves a group has it for one decision more. Red when nobody asks for the next one: what the group kept out
// waits for an event that has nothing to do with it.
TEST_F(ExposurePoolsTest, DecidesAnotherGroupOnceMoreWithoutCounters) {
  in.settings.counters = false;
  const auto share = [](const std::string& suffix, const std::string& group) {
    return Holding{kPf + suffix, "0000:03:00.0", kPf, false, group};
  };
  const auto decide = [&] {
    out = {};
    offer(share("-ipvlan", "rx"));
    offer(share("-macvlan", "tx"));
    finish();
    in.holdings = out.offered;
  };
  in.holdings[kPool] = {share("-macvlan", "rx")};
  decide();
  EXPECT_EQ(pool()->devices.size(), 1u);
  EXPECT_TRUE(out.is_regrouped);
  decide();
  EXPECT_EQ(pool()->devices.size(), 2u);
  EXPECT_FALSE(out.is_regrouped) << "there is no end of it";
}

TEST_F(ExposurePoolsTest, OffersNothingOfAnUnverifiedPool) {
  in.unverified.is_any = true;
  in.holdings[kPool] = {holding_of_function(kVf)};
  offer(kVf);
  offer(kPf);
  finish();
  EXPECT_TRUE(out.unverified.contains(kPool));
  EXPECT_EQ(total("exclusion-slots"), kube::Quantity(0));
}

// Whoever starts would unverified it by itself. Red when each start writes that down, and takes it back.
TEST_F(ExposurePoolsTest, ReservesAnUnverifiedPoolWithoutWriting) {
  in.unverified.is_any = true;
  wanted = {kPool};
  finish();
  EXPECT_TRUE(out.unverified.contains(kPool));
  EXPECT_EQ(pool(), nullptr);
}

// Red when the empty pool of links is published with a record of nothing, or is called unverified for ever.
TEST_F(ExposurePoolsTest, APoolWithoutDesiredEntriesIsNotUnverified) {
  PolicySet policies;
  policies.exposures.emplace_back(ExposurePolicy{});
  in.policies = std::make_shared<const PolicySet>(policies);
  in.unverified.is_any = true;
  finish();
  EXPECT_EQ(out.unverified, std::set<std::string>());
  EXPECT_TRUE(out.waits.empty() && out.notes.empty());
  EXPECT_EQ(pool("n1/net"), nullptr) << "an empty slice would tell the next start that nothing was lost";
  in.unverified.is_any = false;
  finish();
  EXPECT_NE(pool("n1/net"), nullptr);
}

// A former daemon recorded the holding of the whole pool.
TEST_F(ExposurePoolsTest, AnUnknownRecordIsReportedOnceAnEntryIsWanted) {
  in.holdings[kPool] = {whole_holding(kPool)};
  finish();
  EXPECT_TRUE(out.waits.empty());
  wanted = {kPool};
  finish();
  ASSERT_EQ(out.waits.size(), 1u);
  EXPECT_TRUE(out.waits.begin()->starts_with("a list of all ResourceClaims")) << *out.waits.begin();
}

TEST_F(ExposurePoolsTest, WritesUnverifiedWithKnownReservations) {
  in.unverified.is_any = true;
  in.holdings[kPool] = {holding_of_function(kVf)};
  wanted = {kPool};
  finish();
  EXPECT_TRUE(out.unverified.contains(kPool));
  EXPECT_NE(pool(), nullptr);
}

}  // namespace exposure_pools_test
}  // namespace sliced::policy
