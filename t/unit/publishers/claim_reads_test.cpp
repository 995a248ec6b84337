#include "publishers/claim_reads.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::publishers {
namespace claim_looks_test {

using namespace std::chrono_literals;

constexpr const char *kDriver = "dra.networking", *kEntry = "0000-3b-00-0", *kFunction = "0000:3b:00.0";
const policy::PoolKey kPool{kDriver, "node-a/0000-3b-00-0"};

struct ClaimReadsTest : testing::Test {
  ClaimReadsTest() {
    cluster.install(kube::kResourceClaims);
    ledger.set_writing(true);
  }
  // The entry was offered, is prepared for that claim, and has left the slices; the server knows it.
  void withdraw() {
    auto inventory = std::make_shared<hotplug::Inventory>();
    inventory->devices[kFunction].id.text = kFunction;
    const policy::HoldingsByPool offered{{kPool.second, {policy::holding_of_function(kEntry)}}}, none{};
    const std::map<std::string, std::vector<std::string>> sriov;
    const std::set<std::string> nobody;
    for (const auto* now : {&offered, &none})
      ledger.decided({*now, none, sriov, nobody, nobody, inventory, true});
    ledger.acknowledged(kDriver, {}, scheduler.now());
    ledger.take(policy::Prepared{kPool, kEntry, uid, false, "default", "c"}, scheduler.now());
    looks.arm();
  }
  void take_back() {
    ledger.take(policy::Unprepared{kPool, kEntry, uid});
    looks.arm();
  }
  void put_claim(const std::string& results) {
    cluster.put(kube::kResourceClaims,
                kube::decode_yaml("metadata: {name: c, namespace: default}\nstatus: {allocation: {devices: "
                                  "{results: [" +
                                  results + "]}}}")
                    .documents.at(0));
    uid = cluster.object(kube::kResourceClaims, "c", "default")->find("metadata")->text("uid");
  }
  static std::string result(const std::string& more = "") {
    return std::string("{request: r, driver: ") + kDriver + ", pool: " + kPool.second +
           ", device: " + kEntry + more + "}";
  }
  size_t gets() const { return cluster.count("get", "resourceclaims"); }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  policy::Ledger ledger{{.sriov_driver = "sriov.example.com", .exposure_driver = kDriver, .node = "node-a"}};
  std::string uid;
  std::vector<bool> seen;
  size_t released = 0;
  ClaimReads looks{
      {cluster, scheduler, log, [] { return 0.5; }}, ledger, [this](const policy::ClaimRead& read) {
        seen.push_back(read.has);
        released += ledger.take(read).released;
        looks.arm();
      }};
};

// Red when the claim is never read again, or a standing one frees its device.
TEST_F(ClaimReadsTest, AClaimThatLosesTheDeviceFreesIt) {
  put_claim(result());
  withdraw();
  scheduler.advance(24s);
  EXPECT_EQ(gets(), 0u) << "a scheduler's ten seconds, and half of the fleet's thirty";
  scheduler.advance(2s);
  EXPECT_EQ(gets(), 1u);
  scheduler.advance(10min);
  EXPECT_EQ(gets(), 1u) << "it has it, and its pod runs";
  take_back();
  scheduler.advance(100ms);
  EXPECT_EQ(gets(), 2u);
  EXPECT_EQ(released, 0u) << "the claim stands";
  scheduler.advance(10min);
  EXPECT_EQ(released, 0u);
  EXPECT_LE(gets(), 20u) << "later each time, a minute at most";
  put_claim("");  // its allocation ends
  scheduler.advance(90s);
  EXPECT_EQ(released, 1u);
  const size_t before = gets();
  scheduler.advance(10min);
  EXPECT_EQ(gets(), before);
}

TEST_F(ClaimReadsTest, ReadsTheDevicesOfAClaimExactly) {
  struct Row {
    const char *what, *results;
    bool has;
  };
  const std::string other = result().replace(result().find(kEntry, 60), 12, "0000-3b-00-1");
  const std::string admin = result(", adminAccess: true"), both = other + ", " + result();
  for (const Row& row : {Row{"another device", other.c_str(), false}, Row{"looks on", admin.c_str(), false},
                         Row{"the second of two", both.c_str(), true}, Row{"nothing", "", false}}) {
    SCOPED_TRACE(row.what);
    put_claim(row.results);
    seen.clear();
    withdraw();
    scheduler.advance(30s);
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.front(), row.has);
    take_back();
  }
}

TEST_F(ClaimReadsTest, ANewClaimOfTheNameAndADeletedOneHoldNothing) {
  for (const bool is_another : {true, false}) {
    SCOPED_TRACE(is_another);
    put_claim(result());
    withdraw();
    scheduler.advance(30s);
    seen.clear();
    cluster.remove(kube::kResourceClaims, "c", "default");
    const std::string former = uid;
    if (is_another) put_claim(result());
    uid = former;
    take_back();
    scheduler.advance(1s);
    EXPECT_EQ(seen, std::vector<bool>{false});
  }
  EXPECT_EQ(released, 2u);
}

// Red when the 404 of a load balancer without a server frees what a claim has that stands: its next pod gets it, and
// somebody else too.
TEST_F(ClaimReadsTest, ANotFoundOfALoadBalancerFreesNothing) {
  put_claim(result());
  withdraw();
  scheduler.advance(30s);
  ASSERT_EQ(seen, std::vector<bool>{true});
  bool is_away = true;
  cluster.on_request = [&](const fake::Request&) -> std::optional<kube::Failure> {
    if (!is_away) return std::nullopt;
    return kube::Failure{.code = Errc::kNotFound, .http_status = 404, .what = "default backend - 404"};
  };
  take_back();
  scheduler.advance(10min);
  EXPECT_EQ(released, 0u);
  is_away = false;
  scheduler.advance(2min);
  EXPECT_EQ(released, 0u) << "it stands";
  cluster.remove(kube::kResourceClaims, "c", "default");
  scheduler.advance(2min);
  EXPECT_EQ(released, 1u);
}

TEST_F(ClaimReadsTest, ReadsClaimsRarelyWithoutPermission) {
  put_claim(result());
  cluster.deny("resourceclaims");
  withdraw();
  scheduler.advance(10min);
  EXPECT_TRUE(seen.empty());
  EXPECT_GE(gets(), 8u);
  EXPECT_LE(gets(), 20u);
  looks.stop();
  scheduler.advance(10min);
  EXPECT_LE(gets(), 20u);
}

}  // namespace claim_looks_test
}  // namespace sliced::publishers
