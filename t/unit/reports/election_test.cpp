#include "reports/election.h"

#include <gtest/gtest.h>

#include <optional>

#include "kube/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::reports {
namespace election_test {

using namespace std::chrono_literals;

struct Candidate {
  Candidate(kube::Cluster& cluster, reactor::Scheduler& scheduler, Log& log, const std::string& name)
      : election({cluster, scheduler, log, [] { return 0.5; }},
                 {"ns", "lease", name,
                  [&scheduler] { return std::to_string(scheduler.now().time_since_epoch().count()); }},
                 [this](bool elected) { ++changes, is_elected = elected; }) {
    election.start();
  }
  bool is_elected = false;
  int changes = 0;
  Election election;
};

struct ElectionTest : testing::Test {
  ElectionTest() { cluster.install(kube::kLeases); }
  void run(const std::string& name) {
    all.push_back(std::make_unique<Candidate>(cluster, scheduler, log, name));
  }
  size_t elected() const {
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& one) { return one->is_elected; }));
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::vector<std::unique_ptr<Candidate>> all;
};

TEST_F(ElectionTest, OneOfThreeIsElectedAndStaysSo) {
  for (const char* name : {"a", "b", "c"}) run(name);
  scheduler.advance(3s);
  ASSERT_EQ(elected(), 1u);
  scheduler.advance(10min);
  EXPECT_EQ(elected(), 1u);
  EXPECT_EQ(all[0]->changes + all[1]->changes + all[2]->changes, 1);
}

// Red when a successor does not wait for the Lease's time, or waits for ever.
TEST_F(ElectionTest, WhoIsGoneIsFollowedAfterFifteenSeconds) {
  run("a");
  scheduler.advance(3s);
  run("b");
  scheduler.advance(1min);
  ASSERT_TRUE(all[0]->is_elected);
  all.erase(all.begin());
  scheduler.advance(8s);
  EXPECT_EQ(elected(), 0u) << "it may only be slow";
  scheduler.advance(12s);
  EXPECT_EQ(elected(), 1u);
}

TEST_F(ElectionTest, WhoResignsIsFollowedAtOnce) {
  run("a");
  scheduler.advance(3s);
  run("b");
  scheduler.advance(10s);
  bool is_done = false;
  all[0]->election.resign([&] { is_done = true; });
  EXPECT_FALSE(all[0]->is_elected);
  scheduler.advance(4s);
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(all[1]->is_elected);
}

// Never two: who cannot say that it is there gives up before others may take it.
TEST_F(ElectionTest, WhoIsCutOffGivesUpBeforeAnotherIsElected) {
  run("a");
  scheduler.advance(3s);
  run("b");
  scheduler.advance(20s);
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    const kube::Json* spec = request.body.find("spec");
    if (spec == nullptr || spec->text("holderIdentity") != "a") return std::nullopt;
    return kube::Failure{.code = Errc::kTimeout, .what = "no answer"};
  };
  for (int i = 0; i < 600; ++i) {
    scheduler.advance(100ms);
    ASSERT_LE(elected(), 1u) << i;
  }
  EXPECT_TRUE(all[1]->is_elected);
  EXPECT_FALSE(all[0]->is_elected);
}

TEST_F(ElectionTest, WithoutAServerNobodyIsAndRequestsAreFew) {
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  run("a");
  scheduler.advance(10min);
  EXPECT_EQ(elected(), 0u);
  EXPECT_LE(cluster.count("get", "leases"), 330u);
  EXPECT_EQ(log.count("the lease cannot be held"), 1u) << log.all();
  cluster.set_network(fake::FakeCluster::Network::kUp);
  scheduler.advance(5s);
  EXPECT_EQ(elected(), 1u);
}

TEST_F(ElectionTest, ALeaseThatIsDeletedIsMadeAnew) {
  run("a");
  scheduler.advance(3s);
  cluster.remove(kube::kLeases, "lease", "ns");
  scheduler.advance(20s);
  EXPECT_EQ(elected(), 1u);
  EXPECT_TRUE(cluster.object(kube::kLeases, "lease", "ns"));
}

}  // namespace election_test
}  // namespace sliced::reports
