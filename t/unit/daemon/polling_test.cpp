// Once slices were lost, the pods of the node are looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "daemon/decider.h"
#include "t/unit/daemon/unverified_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct PollingTest : fixture::DoubtWorld {};

// Once slices were lost, the pods are looked at before VFs are offered that are not yet; claims are never
// listed.
TEST_F(PollingTest, SriovResourcePoliciesNeverListClaims) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  put_pod("pod", "of-another-driver", false);
  put_claim("of-another-driver", "gpu.example.com", "node-a", "gpu-0");
  for (size_t looks = 1; looks <= 2; ++looks) {
    const size_t before = cluster.log.size();
    start();
    run(1s);
    EXPECT_EQ(offered_by(kDriver).size(), 2u);
    EXPECT_EQ(recorded(kDriver), Set());
    const size_t asked = cluster.log.size();
    EXPECT_LE(asked - before, 12u);
    run(100ms);
    EXPECT_EQ(cluster.log.size(), asked);
    run(1h);
    start();
    run(1h);
    EXPECT_EQ(cluster.count("list", "pods"), looks);
    EXPECT_EQ(cluster.count("list", "resourceclaims"), 0u);
    daemon.reset();
    wipe();
  }
}

// Red when the decision that offers nothing before the look makes what follows from it wait with all that comes.
TEST_F(PollingTest, ReleasesWaitingEntriesWithThePoll) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  ASSERT_EQ(offered_by(kDriver).size(), 2u);
  std::optional<TimePoint> looked, written;
  for (const auto& request : cluster.log) {
    if (request.plural == "pods") looked = request.at;
    if (request.plural == "resourceslices" && request.verb == "create") written = request.at;
  }
  ASSERT_TRUE(looked && written);
  EXPECT_LT(*written - *looked, sliced::daemon::Decider::kCoalesce / 2);
}

// Without the kind nothing can have been exposed.
TEST_F(PollingTest, DoesNotPollWithoutTheOtherType) {
  make_pf(2);
  cluster.uninstall(kube::kDeviceExposurePolicies);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
  EXPECT_EQ(cluster.count("list", "pods"), 0u);
}

// What stands in slices stood beside whatever was given away; so it did in another boot.
TEST_F(PollingTest, PublishedEntriesDoNotWait) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  const size_t before = writes();
  for (const char* boot : {"boot-1", "boot-2"}) {
    tree.boot_id(boot);
    start();
    for (int i = 0; i < 200; ++i) {
      run(5ms);
      ASSERT_EQ(offered_by(kDriver).size(), 2u) << boot;
    }
    run(1min);
  }
  EXPECT_EQ(cluster.count("list", "pods"), 1u);
  EXPECT_EQ(writes(), before + 1) << "the boot";
}

// Red when pods are looked at only where an exposure policy wants the PF.
TEST_F(PollingTest, HandlesAPfWithoutPolicies) {
  for (const bool is_last : {true, false}) {
    SCOPED_TRACE(is_last);
    lose_what_a_pod_has();
    is_last ? remove_exposure("other") : put_exposure("other", of_type("bridge"));
    start();
    judge({.later = {"0000-3b-02-0", "0000-3b-02-1"}});
    daemon.reset();
    wipe();
  }
}

// A look that fails is made again. As long as there is any exposure policy VFs wait for it, else for a
// moment.
TEST_F(PollingTest, HandlesAFailedPoll) {
  for (const char* refused : {"pods", "resourceclaims"})
    for (const bool is_last : {true, false}) {
      SCOPED_TRACE(std::string(refused) + (is_last ? ", the last one" : ""));
      lose_what_a_pod_has();
      is_last ? remove_exposure("other") : put_exposure("other", of_type("bridge"));
      const TimePoint until = scheduler.now() + 10s;
      cluster.on_request = [this, refused,
                            until](const fake::Request& request) -> std::optional<kube::Failure> {
        if (request.plural != refused || scheduler.now() >= until) return std::nullopt;
        return kube::Failure{.code = Errc::kBusy, .http_status = 503, .what = "down"};
      };
      const size_t asked = cluster.count("list", "pods");
      start();
      run(4s);
      EXPECT_EQ(allocatable(), Set());
      run(4s);
      EXPECT_EQ(offered_by(kDriver).size(), is_last ? 2u : 0u);
      run(15s);
      EXPECT_EQ(allocatable(), Set()) << "it has been seen";
      EXPECT_LE(cluster.count("list", "pods"), asked + 6) << "with growing waits";
      daemon.reset();
      wipe();
      remove_claim("mine");
    }
}

// Red when what moves before anything is published has to settle: the first pool comes without it.
TEST_F(PollingTest, IncludesSettlingDevicesInTheFirstPool) {
  make_pf(4);
  put_policy("s", "{configs: [{}]}");
  cluster.delay_of = [](const fake::Request& request) {
    return request.plural == "pods" ? Millis{400} : Millis{0};
  };
  start();
  for (int i = 0; i < 100 && cluster.count("list", "pods") == 0; ++i) run(5ms);
  run(350ms);
  tree.rename_netdev("ens1f0v0", "lan0");
  say(hotplug::LinkChange{daemon->inventory()->find("0000:3b:02.0")->netdev->ifindex, "lan0"});
  for (int i = 0; i < 400 && offered_by(kDriver).empty(); ++i) run(5ms);
  EXPECT_EQ(offered_by(kDriver).size(), 4u) << log.all();
}

// A read that fails for lack of a permission, or repeatedly, lets no device wait without end.
TEST_F(PollingTest, ContinuesWithoutAPossiblePoll) {
  for (const bool is_denied : {true, false}) {
    SCOPED_TRACE(is_denied);
    make_pf(2);
    put("");
    put_exposure("other", of_type("bridge"));
    cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.plural != "pods") return std::nullopt;
      if (is_denied) return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "forbidden"};
      return kube::Failure{.code = Errc::kNotFound, .http_status = 404, .what = "default backend"};
    };
    start();
    run(is_denied ? 1s : 3min);
    EXPECT_EQ(offered_by(kDriver).size(), 2u);
    EXPECT_EQ(log.count("pods of this node cannot be read"), is_denied ? 1u : 2u) << log.all();
    daemon.reset();
    wipe();
  }
}

// After a boot functions come one by one.
TEST_F(PollingTest, HandlesAPfThatAppearsAfterThePoll) {
  make_pf(2);
  put("");
  put_claim("mine", kExposureDriver, "node-a/0000-5e-00-0", "0000-5e-00-0");
  put_pod("pod", "mine", true);
  start();
  run(1min);
  ASSERT_EQ(offered_by(kDriver).size(), 2u);
  make_pf(2, "ens2f0", "0000:5e:00.0");
  run(11min);  // the host is read again
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(offered_by(kDriver).size(), 4u);
}

// While another daemon writes, time passes and nothing can be looked at.
TEST_F(PollingTest, AStandbyDaemonPollsWhenItTakesOver) {
  lose_what_a_pod_has();
  const size_t looks = cluster.count("list", "pods");
  start();
  daemon->permit_writes(false);
  run(1min);
  EXPECT_EQ(cluster.count("list", "pods"), looks);
  daemon->permit_writes(true);
  judge({.later = {"0000-3b-02-0", "0000-3b-02-1"}});
}

// What it had decided while it waited is not published for a moment. Red when a pool that lacks what the look
// is for is published in the place of none.
TEST_F(PollingTest, PublishesNoPartialPoolAtATakeover) {
  const auto are_ours = [this] {
    return std::ranges::any_of(slices(), [](const auto& slice) { return slice.meta.name != "stray"; });
  };
  for (const bool has_stray : {false, true}) {
    make_pf(4);
    put_policy("s", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-1']}]}]}");
    start();
    run(kKnown);
    ASSERT_EQ(offered_by(kDriver).size(), 2u);
    put_policy("s", "{configs: [{}]}");
    start();  // beside the daemon that writes
    daemon->permit_writes(false);
    run(5s);
    wipe();
    if (has_stray)  // of another program, in no pool of ours
      cluster.put_text(kube::kResourceSlices,
                       R"({"metadata":{"name":"stray"},"spec":{"driver":")" + std::string(kDriver) +
                           R"(","nodeName":"node-a","pool":{"name":"node-a","generation":1,)" +
                           R"("resourceSliceCount":1},"devices":[]}})");
    run(1s);
    daemon->permit_writes(true);
    for (int i = 0; i < 400; ++i) {
      run(5ms);
      const size_t entries = offered_by(kDriver).size();
      ASSERT_TRUE(!are_ours() || entries == 4) << entries << " after " << 5 * i << " ms\n" << log.all();
    }
    EXPECT_EQ(offered_by(kDriver).size(), 4u);
    daemon.reset();
    wipe();
  }
}

// What pods have is charged by its name before there is a list; pods of other nodes are none of ours.
TEST_F(PollingTest, ReadsPodsFirst) {
  for (const bool from_template : {true, false}) {
    SCOPED_TRACE(from_template);
    make_pf(2);
    put_exposure("p", of_type("pf"));
    start();
    run(kKnown);
    put_claim("mine", kExposureDriver, kPool, kWholePf);
    put_claim("stray", kExposureDriver, kPool, std::string(kFirstVf) + "-stray");
    put_pod("pod", "mine", from_template);
    put_pod("elsewhere", "stray", from_template, "node-b");
    daemon.reset();
    wipe();
    put_exposure("p", of_type("vf"));
    start();
    run(2s);
    EXPECT_EQ(recorded(), (Set{kWholePf, "unreadable record"}));
    EXPECT_EQ(allocatable(), Set());
    daemon.reset();
    wipe();
  }
}

// Red when a server that is busy is asked for the next claim, and the next.
TEST_F(PollingTest, DoesNotReadEachClaimFromABusyServer) {
  make_pf(2);
  for (int i = 0; i < 50; ++i) put_pod("pod-" + std::to_string(i), "claim-" + std::to_string(i), false);
  put_exposure("p", of_type("vf"));
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "get" || request.plural != "resourceclaims") return std::nullopt;
    return kube::Failure{.code = Errc::kBusy, .http_status = 429, .what = "too many requests"};
  };
  start();
  run(30s);
  EXPECT_EQ(cluster.count("get", "resourceclaims"), 1u);
  EXPECT_EQ(allocatable().size(), 2u) << "the list of claims tells as well";
}

// An interface is renamed while the pods are looked at after a restart. Red when what the first decision
// keeps is forgotten until something is published: what moves then is missing for a moment.
TEST_F(PollingTest, KeepsSettlingDevicesDuringThePoll) {
  make_pf(4);
  put_policy("s", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-1']}]}]}");
  start();
  run(kKnown);
  const std::set<std::string> before = offered_by(kDriver);
  ASSERT_EQ(before.size(), 2u);
  daemon.reset();
  put_policy("s", "{configs: [{}]}");
  put_exposure("other", of_type("bridge"));
  cluster.delay_of = [](const fake::Request& request) {
    return request.plural == "pods" ? Millis{400} : Millis{0};
  };
  start();
  for (int i = 0; i < 100 && daemon->decision() == nullptr; ++i) run(5ms);
  ASSERT_NE(daemon->decision(), nullptr);
  const int ifindex = daemon->inventory()->find("0000:3b:02.0")->netdev->ifindex;
  for (int i = 0; i < 60; ++i) {
    const std::string was = i == 0 ? "ens1f0v0" : "lan" + std::to_string(i - 1),
                      is = "lan" + std::to_string(i);
    tree.rename_netdev(was, is);
    say(hotplug::LinkChange{ifindex, is});
    run(20ms);
    ASSERT_TRUE(std::ranges::includes(offered_by(kDriver), before)) << "after " << 20 * i << " ms\n"
                                                                    << log.all();
  }
  run(5s);
  EXPECT_EQ(offered_by(kDriver).size(), 4u);
}

}  // namespace
}  // namespace sliced
