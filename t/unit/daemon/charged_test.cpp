// What is withdrawn while it may be allocated: nothing that excludes it is there for anybody until it is
// shown free.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon.h"
#include "policy/exposure/withdrawn.h"
#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct ChargedTest : testing::Test, fixture::DaemonWorld {
  static constexpr const char* kPool = "node-a/0000-3b-00-0";
  static constexpr const char* kWholePf = "0000-3b-00-0";
  static constexpr const char* kFirstVf = "0000-3b-02-0";

  static std::string of_type(const std::string& type, const std::string& rest = "") {
    return "{selector: {cel: 'device.attributes[\"dra.networking\"].type == \"" + type + "\"'}" + rest + "}";
  }
  static std::string persona(const std::string& suffix, bool is_shared = false,
                             const std::string& group = "") {
    return ", exposure: {deviceNameSuffix: '" + suffix + "'" +
           (is_shared ? ", allowMultipleAllocations: true" : "") +
           (group.empty() ? "" : ", exclusionGroup: " + group) + "}";
  }

  // What is left of a counter for who comes now, without what is allocated of the entries that are offered.
  std::optional<int64_t> total(const std::string& set, const std::string& counter) const {
    for (const auto& slice : slices())
      for (const auto& one : slice.shared_counters)
        if (one.name == set && one.counters.contains(counter))
          return static_cast<int64_t>(one.counters.at(counter).nanos() / 1'000'000'000);
    return std::nullopt;
  }
  std::set<std::string> recorded(const std::string& driver = kExposureDriver) const {
    std::set<std::string> out;
    for (const auto& slice : slices()) {
      const auto at = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
      if (slice.driver != driver || at == slice.meta.annotations.end()) continue;
      const auto claims = policy::decode_withdrawn(at->second);
      EXPECT_TRUE(claims.ok()) << at->second;
      for (const auto& claim : *claims) out.insert(claim.entry);
    }
    return out;
  }
  std::set<std::string> offered_by(const std::string& driver) const {
    std::set<std::string> out;
    for (const auto& slice : slices())
      if (slice.driver == driver)
        for (const kube::Device& device : slice.devices) out.insert(device.name);
    return out;
  }

  // The PF is offered whole and taken; then its VFs are offered instead.
  void take_the_pf_then_offer_vfs() {
    make_pf(2);
    put_exposure("p", of_type("pf"));
    start();
    run(2s);
    ASSERT_TRUE(offered().contains(kWholePf));
    put_claim("mine", kExposureDriver, kPool, kWholePf);
    put_exposure("p", of_type("vf"));
    run(2s);
  }
};

TEST_F(ChargedTest, UntilTheClaimsShowItFree) {
  take_the_pf_then_offer_vfs();
  EXPECT_EQ(offered_by(kExposureDriver).size(), 2u);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0) << "the whole PF may be allocated";
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf});
  run(5min);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0) << "its claim stands";
  EXPECT_LE(cluster.count("list", "resourceclaims"), 12u) << "counted and listed once a minute at most";
  remove_claim("mine");
  run(2min);
  EXPECT_EQ(recorded(), std::set<std::string>());
  EXPECT_EQ(total("pf", "exclusion-slots"), std::nullopt) << "VFs alone exclude nothing";
  const size_t lists = cluster.count("list", "resourceclaims"), before = writes();
  run(1h);
  EXPECT_EQ(cluster.count("list", "resourceclaims"), lists) << "nothing waits any more";
  EXPECT_EQ(writes(), before);
}

// A list that was begun before the scheduler could know proves nothing.
TEST_F(ChargedTest, NotBeforeTheSchedulerMustKnow) {
  make_pf(2);
  put_exposure("p", of_type("pf"));
  start();
  run(2s);
  put_exposure("p", of_type("vf"));
  run(9s);
  EXPECT_EQ(cluster.count("list", "resourceclaims"), 0u);
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf});
  run(90s);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

TEST_F(ChargedTest, ARestartKeepsTheRecord) {
  take_the_pf_then_offer_vfs();
  start();
  run(5min);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0);
  remove_claim("mine");
  start();
  run(2min);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

// Policies that change while nobody looks: what stands in the slices may be allocated.
TEST_F(ChargedTest, WhatChangedWhileTheDaemonWasDown) {
  make_pf(2);
  put_exposure("p", of_type("pf", persona("-m", true, "rx")));
  start();
  run(2s);
  daemon.reset();
  put_claim("mine", kExposureDriver, kPool, "0000-3b-00-0-m");
  put_exposure("p", of_type("pf", persona("-i", true, "rx")));
  start();
  run(2s);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>{"0000-3b-00-0-i"});
  EXPECT_EQ(total("pf", "group-rx"), 0) << "the former persona's group is not known, so it is each";
  remove_claim("mine");
  run(2min);
  EXPECT_EQ(total("pf", "group-rx"), std::nullopt);
}

TEST_F(ChargedTest, WithoutPermissionItStaysChargedAndSaysSo) {
  cluster.deny("resourceclaims");
  take_the_pf_then_offer_vfs();
  remove_claim("mine");
  run(20min);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0);
  EXPECT_EQ(log.count("stays charged"), 1u) << log.all();
  EXPECT_LE(cluster.count("list", "resourceclaims"), 40u);
  cluster.allow("resourceclaims");
  run(2min);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

TEST_F(ChargedTest, AClaimThatCannotBeUnderstoodMayHoldAnything) {
  take_the_pf_then_offer_vfs();
  remove_claim("mine");
  cluster.on_deliver = [](std::string text) {
    return text.find("allocation") == std::string::npos ? text : "{\"a\":1,\"a\":2}";
  };
  put_claim("broken", "other.example.com", "p", "d");
  run(10min);
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf});
}

TEST_F(ChargedTest, AFunctionThatIsGoneIsFree) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  start();
  run(2s);
  put_claim("mine", kExposureDriver, kPool, kFirstVf);
  put_exposure("p", of_type("vf", persona("-x")));
  run(2s);
  EXPECT_EQ(recorded(), (std::set<std::string>{kFirstVf, "0000-3b-02-1"}));
  EXPECT_EQ(total("devices-0", kFirstVf), 0);
  const std::string gone = tree.pci(kPf).vf(0).address();
  tree.pci(kPf).vf(0).remove();
  pci_event("remove", gone);
  run(200ms);
  EXPECT_EQ(recorded(), std::set<std::string>{"0000-3b-02-1"});
}

TEST_F(ChargedTest, AnotherBootFreesAll) {
  take_the_pf_then_offer_vfs();
  daemon.reset();
  tree.boot_id("boot-2");
  start();
  run(2s);
  EXPECT_EQ(recorded(), std::set<std::string>());
  EXPECT_EQ(total("pf", "exclusion-slots"), std::nullopt);
}

TEST_F(ChargedTest, WhatIsOfferedAgainIsNoLongerWithdrawn) {
  take_the_pf_then_offer_vfs();
  put_exposure("q", of_type("pf"));
  run(2s);
  EXPECT_EQ(recorded(), std::set<std::string>());
  EXPECT_EQ(total("pf", "exclusion-slots"), 3) << "the scheduler sees the entry again, and its claim with it";
}

TEST_F(ChargedTest, FromSharedToExclusiveOfOneName) {
  make_pf(0);
  put_exposure("p", of_type("pf", persona("", true)));
  start();
  run(2s);
  put_claim("mine", kExposureDriver, kPool, kWholePf);
  put_exposure("p", of_type("pf"));
  run(1min);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>());
  remove_claim("mine");
  run(2min);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>{kWholePf});
}

TEST_F(ChargedTest, AFunctionChangesItsDriverWhenItIsFree) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  start();
  run(2s);
  put_claim("mine", kExposureDriver, kPool, kFirstVf);
  put_policy("s", "{configs: [{}]}");
  run(1s);
  EXPECT_EQ(offered(), std::set<std::string>()) << "withdrawn here, not yet offered there";
  run(3min);
  EXPECT_EQ(offered_by(kDriver), std::set<std::string>{"0000-3b-02-1"});
  remove_claim("mine");
  run(2min);
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
  // And back.
  put_claim("yours", kDriver, "node-a", kFirstVf);
  remove_policy("s");
  run(1s);
  EXPECT_EQ(recorded(kDriver).size(), 2u);
  EXPECT_EQ(offered(), std::set<std::string>());
  start();
  run(3min);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>{"0000-3b-02-1"});
  remove_claim("yours");
  run(2min);
  EXPECT_EQ(offered_by(kExposureDriver).size(), 2u);
  EXPECT_EQ(recorded(kDriver), std::set<std::string>());
}

// The whole PF waits for VFs that the other driver has withdrawn.
TEST_F(ChargedTest, AWholePfWaitsForVfsOfTheOtherDriver) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  put_claim("mine", kDriver, "node-a", kFirstVf);
  remove_policy("s");
  run(2s);
  put_exposure("p", of_type("pf"));
  run(3min);
  EXPECT_EQ(offered(), std::set<std::string>());
  remove_claim("mine");
  run(2min);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>{kWholePf});
}

// SriovResourcePolicies alone never list claims: nothing waits for what they withdraw.
TEST_F(ChargedTest, OneKindAloneListsNoClaims) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  remove_policy("s");
  run(1h);
  EXPECT_EQ(cluster.count("list", "resourceclaims"), 0u);
}

// The daemon dies after each of its writes in turn: what may be allocated stands in a slice or in a record.
TEST_F(ChargedTest, NothingIsForgottenBetweenTwoWrites) {
  make_pf(100);
  size_t steps = 0;
  for (size_t allowed = 0;; ++allowed) {
    SCOPED_TRACE(allowed);
    cluster.on_request = {};
    remove_exposure("p");
    put_exposure("q", of_type("vf"));
    start();
    run(10min);
    const std::set<std::string> before = offered_by(kExposureDriver);
    ASSERT_EQ(before.size(), 100u);
    size_t written = 0;
    cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
      const bool is_write = request.verb == "create" || request.verb == "update" || request.verb == "delete";
      if (!is_write || request.plural != "resourceslices" || request.dry_run) return std::nullopt;
      if (written++ < allowed) return std::nullopt;
      return kube::Failure{.code = Errc::kBusy, .http_status = 500, .what = "down"};
    };
    remove_exposure("q");
    put_exposure("p", of_type("pf"));
    run(1s);
    daemon.reset();
    const std::set<std::string> now = offered_by(kExposureDriver), record = recorded();
    for (const std::string& entry : before)
      EXPECT_TRUE(now.contains(entry) || record.contains(entry)) << entry;
    steps = std::max(steps, std::min(written, allowed));
    if (written <= allowed) break;
  }
  EXPECT_GE(steps, 2u) << "a plan of several writes";
}

}  // namespace
}  // namespace sliced
