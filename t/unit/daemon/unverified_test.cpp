// Slices are lost together with their records.
#include <gtest/gtest.h>

#include <algorithm>

#include "t/unit/daemon/unverified_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct DoubtTest : fixture::DoubtWorld {
  static constexpr int kManyNodes = 20'000;
  void put_nodes(int count) {
    for (int i = 0; i < count; ++i) {
      const kube::Json meta = kube::Json::Object{{"name", "other-" + std::to_string(i)}};
      cluster.put(kube::kNodes, kube::Json::Object{{"metadata", meta}});
    }
  }
};

TEST_F(DoubtTest, SlicesAreDeletedWhileAPolicyChanges) {
  for (const Flip& flip : flips())
    for (const bool has_known : {true, false}) {
      SCOPED_TRACE(flip.what + std::string(has_known ? ", long before" : ", at once"));
      make_pf(2);
      put(flip.before);
      start();
      run(has_known ? kKnown : Millis{2'000});
      give(flip);
      daemon.reset();
      wipe();
      put(flip.after);
      start();
      judge(flip);
      daemon.reset();
      wipe();
    }
}

// A slice is published and removed again before the claims are read: its pool stays unverified. Red when a VF
// whose links cannot be read has no PF: its PF would be allocated as a whole.
TEST_F(DoubtTest, AnAllocatedVfOfAnUnreadablePfBlocksWholePfs) {
  make_pf(1);
  put_policy("s", "{configs: [{}]}");
  put_exposure("p", of_type("pf"));
  start();
  run(5min);
  ASSERT_EQ(offered(), Set{"0000-3b-02-0"});
  tree.remove("sys/bus/pci/devices/0000:3b:02.0/physfn");
  tree.remove("sys/bus/pci/devices/0000:3b:00.0/virtfn0");
  pci_event("change", "0000:3b:02.0");
  pci_event("change", "0000:3b:00.0");
  run(5s);
  EXPECT_EQ(offered(), Set{});
}

TEST_F(DoubtTest, WithholdsConflictsAfterAStartBetweenDeletionAndChange) {
  for (const Flip& flip : flips()) {
    SCOPED_TRACE(flip.what);
    make_pf(2);
    put(flip.before);
    start();
    run(kKnown);
    give(flip);
    daemon.reset();
    wipe();
    put(of_type("bridge"));
    start();
    run(3s);
    daemon.reset();
    put(flip.after);
    start();
    judge(flip);
    daemon.reset();
    wipe();
  }
}

// The pool of links has a slice although it is empty. Red when that slice makes a restart conclude that
// nothing is allocated.
TEST_F(DoubtTest, WithholdsLinksAfterAStartBetweenDeletionAndChange) {
  tree.bridge("br-a");
  put_exposure("p", of_type("bridge", persona("-x")));
  start();
  run(kKnown);
  const std::string held = *allocatable().begin();
  put_claim("mine", kExposureDriver, "node-a/net", held);
  daemon.reset();
  wipe();
  put_exposure("p", of_type("vf"));
  start();
  run(3s);
  daemon.reset();
  cluster.deny("resourceclaims");
  cluster.deny("pods");
  put_exposure("p", of_type("bridge", persona("-y")));
  start();
  run(5min);
  EXPECT_EQ(allocatable(), Set());
  remove_claim("mine");
  cluster.allow("resourceclaims");
  run(3min);
  EXPECT_EQ(allocatable().size(), 1u);
}

// Another program deletes some of the slices.
TEST_F(DoubtTest, OnePoolIsDeleted) {
  for (const char* pool : {kPool, "node-a/net"}) {
    SCOPED_TRACE(pool);
    take_the_pf_then_offer_vfs();
    daemon.reset();
    wipe_pool(pool);
    start();
    run(5min);
    EXPECT_EQ(total("pf", "exclusion-slots"), 0);
    EXPECT_EQ(recorded(), Set{kWholePf});
    remove_claim("mine");
    remove_exposure("p");
    daemon.reset();
    wipe();
    put_exposure("p", of_type("pf"));
  }
}

// A running daemon remembers.
TEST_F(DoubtTest, SlicesOfARunningDaemonAreDeleted) {
  take_the_pf_then_offer_vfs();
  const size_t lists = cluster.count("list", "pods");
  wipe();
  run(2s);
  EXPECT_EQ(recorded(), Set{kWholePf});
  EXPECT_EQ(cluster.count("list", "pods"), lists);
}

// If no exposure policy selects a PF, the other driver's VFs are offered immediately. If policies of both
// kinds do, the VFs wait.
TEST_F(DoubtTest, EntriesWithoutExclusionDoNotWait) {
  make_pf(2);
  make_pf(2, "ens2f0", "0000:5e:00.0");
  cluster.deny("resourceclaims");
  cluster.deny("pods");
  put_policy("s", "{configs: [{}]}");
  put_exposure("p", "{selector: {cel: 'device.attributes[\"dra.networking\"].ifName == \"ens2f0\"'}" +
                        persona("-m", true) + "}");
  start();
  run(1s);
  EXPECT_EQ(offered_by(kDriver), (Set{"0000-3b-02-0", "0000-3b-02-1"}));
  EXPECT_EQ(allocatable(), offered_by(kDriver));
  run(5min);
  EXPECT_EQ(allocatable(), (Set{"0000-3b-02-0", "0000-3b-02-1"}));
  EXPECT_EQ(log.count("resourceclaims.resource.k8s.io"), 1u) << log.all();
  cluster.allow("resourceclaims");
  run(2min);
  EXPECT_EQ(allocatable().size(), 5u) << "also without pods";
}

// Where an exposure policy is for the PF alone, nothing of its pool is a candidate: claims are asked all the
// same.
TEST_F(DoubtTest, VfsOfAPfThatTheOtherTypeOffers) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  put_exposure("p", of_type("pf"));
  start();
  run(1s);
  EXPECT_EQ(offered_by(kDriver).size(), 0u);
  run(5min);
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
}

// Red when a pool without entries, which has no slices, makes a restart withdraw published entries of other
// pools.
TEST_F(DoubtTest, ARestartKeepsPublishedEntries) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  put_exposure("p", of_type("pf"));
  start();
  run(kKnown);
  const size_t before = writes();
  start();
  run(2min);
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
  EXPECT_EQ(writes(), before) << log.all();
}

// A VF that waits for its MAC is in no slice, and the pool of its PF has none. Red when each start records
// the pool as unverified and removes the record again, or when the published VF is withdrawn.
TEST_F(DoubtTest, ARestartWhileAVfWaitsForItsMac) {
  make_pf(2);
  read_vf_configs = [](int) {
    return Result<std::map<int, hotplug::VfConfig>>(
        {{0, {.mac = "02:00:00:00:00:01"}}, {1, {.mac = "00:00:00:00:00:00"}}});
  };
  put_policy("s", "{readiness: {require: [adminMac]}, configs: [{}]}");
  put_exposure("p", of_type("pf"));
  start();
  run(5min);
  ASSERT_EQ(offered_by(kDriver), Set{"0000-3b-02-0"});
  const size_t before = writes();
  start();
  run(3s);
  put_policy("t", "{configs: [{resourceFilters: [{vendors: ['0000']}]}]}");  // and so it is decided once more
  for (int i = 0; i < 120; ++i) {
    run(1s);
    ASSERT_EQ(offered_by(kDriver), Set{"0000-3b-02-0"}) << i << log.all();
  }
  EXPECT_EQ(writes(), before) << log.all();
}

// The same of its own policy's pool.
TEST_F(DoubtTest, ARestartWhileNothingOfAPoolIsReady) {
  make_pf(2);
  read_vf_configs = [](int) {
    return Result<std::map<int, hotplug::VfConfig>>(
        {{0, {.mac = "00:00:00:00:00:00"}}, {1, {.mac = "00:00:00:00:00:00"}}});
  };
  put_exposure("p", "{readiness: {require: [adminMac]}, " + of_type("vf").substr(1));
  start();
  run(5min);
  ASSERT_EQ(offered(), Set{});
  const size_t before = writes();
  start();
  run(2min);
  EXPECT_EQ(writes(), before) << log.all();
}

// Two shares of a PF are allocated, the slices are lost, and an edit has put both into one exclusionGroup.
// Red when both are offered after the claims were read: they would use two of one token.
TEST_F(DoubtTest, AnEditPutsSharesIntoOneGroup) {
  const auto put_shares = [&](const std::string& group) {
    for (const char* name : {"-i", "-m"}) put_exposure(name + 1, of_type("pf", persona(name, true, group)));
  };
  const Set both{"0000-3b-00-0-i", "0000-3b-00-0-m"};
  make_pf(0);
  put_shares("");
  start();
  run(kKnown);
  for (const std::string& entry : both) put_claim(entry, kExposureDriver, kPool, entry, "a-share");
  daemon.reset();
  wipe();
  put_shares("rx");
  start();
  run(2min);
  EXPECT_EQ(recorded(), both);
  EXPECT_EQ(offered_by(kExposureDriver), Set());
  remove_claim(*both.begin());
  run(3min);
  EXPECT_EQ(recorded(), Set());
  EXPECT_EQ(offered_by(kExposureDriver), both);
}

// A first policy on a node that has been up for a while waits for one list.
TEST_F(DoubtTest, TheFirstPolicyOfANodeWaitsForOneList) {
  make_pf(2);
  put_policy("s", "{configs: [{resourceFilters: [{vendors: ['0000']}]}]}");
  start();
  run(kKnown);
  put_exposure("p", of_type("vf"));
  run(1s);
  EXPECT_EQ(allocatable().size(), 2u);
}

// A node that never had a slice, with policies that want nothing of it. Red when it is called unverified, in an
// annotation or in its report.
TEST_F(DoubtTest, ANewNodeWithoutPolicies) {
  const std::string none = "{selector: {cel: 'device.attributes[\"dra.networking\"].ifName == \"none\"'}";
  for (const bool is_exclude : {true, false}) {
    SCOPED_TRACE(is_exclude);
    make_pf(2);
    put_policy("s", "{configs: [{}]}");
    put_exposure("p", none + (is_exclude ? ", action: exclude}" : "}"));
    start();
    for (int i = 0; i < 600; ++i) {
      run(1s);
      ASSERT_TRUE(daemon->decision()->waits.empty()) << i << *daemon->decision()->waits.begin();
    }
    EXPECT_TRUE(daemon->decision()->notes.empty());
    EXPECT_EQ(offered_by(kDriver).size(), 2u);
    EXPECT_EQ(recorded(kDriver), Set());
    EXPECT_EQ(recorded(), Set());
    EXPECT_EQ(cluster.count("list", "resourceclaims"), 0u);
    EXPECT_EQ(log.count("waiting") + log.count("policy problem"), 0u) << log.all();
    const size_t before = writes();
    start();
    run(1min);
    EXPECT_EQ(writes(), before) << log.all();
    daemon.reset();
    wipe();
  }
}

// From then on it is checked, which ends.
TEST_F(DoubtTest, ANewNodeReportsItsCheckOnceAPolicyMatches) {
  make_pf(2);
  put_exposure("p", of_type("bridge"));
  start();
  run(1s);
  ASSERT_TRUE(daemon->decision()->waits.empty());
  put_exposure("q", of_type("vf"));
  run(1s);
  ASSERT_EQ(daemon->decision()->waits.size(), 1u);
  EXPECT_TRUE(daemon->decision()->waits.begin()->starts_with(
      "a list of all ResourceClaims, which shows the allocated devices of pool node-a/0000-3b-00-0 is in use"))
      << *daemon->decision()->waits.begin();
  EXPECT_EQ(allocatable(), Set());
  run(30s);
  EXPECT_TRUE(daemon->decision()->waits.empty()) << log.all();
  EXPECT_EQ(allocatable().size(), 2u);
  EXPECT_EQ(recorded(), Set());
}

// The other driver's slices alone are lost, and a start without a policy that wants anything comes between.
TEST_F(DoubtTest, TheOtherDriversSlicesAreDeletedBesideTheSliceOfLinks) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  put_exposure("p", of_type("bridge"));
  start();
  run(1s);
  put_exposure("q", of_type("pf"));  // claims are listed for this one, and the slice of links is written
  run(kKnown);
  remove_exposure("q");
  run(1min);
  put_claim("mine", kDriver, "node-a", kFirstVf);
  daemon.reset();
  wipe_pool("node-a");
  remove_policy("s");
  start();
  run(3s);
  daemon.reset();
  put_exposure("q", of_type("pf"));
  start();
  for (int i = 0; i < 120; ++i) {
    run(1s);
    ASSERT_EQ(allocatable(), Set()) << i << log.all();
  }
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(allocatable(), Set{kWholePf});
}

// The list is read in pages; a page that has expired, or that is refused, proves nothing.
TEST_F(DoubtTest, ReadsAListOfManyPages) {
  make_pf(2);
  for (int i = 0; i < 1'200; ++i)
    put_claim("claim-" + std::to_string(i), "other.example.com", "pool", "device");
  put_claim("the-last", kExposureDriver, kPool, kWholePf);
  put_exposure("p", of_type("vf"));
  size_t pages = 0;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "list" || request.plural != "resourceclaims" || request.at < TimePoint(Millis{5'000}))
      return std::nullopt;
    if (++pages == 3) return kube::Failure{.code = Errc::kGone, .http_status = 410, .what = "expired"};
    return std::nullopt;
  };
  start();
  run(60s);
  EXPECT_EQ(allocatable(), Set());
  EXPECT_GE(pages, 3u);
  run(5min);
  EXPECT_EQ(recorded(), Set{kWholePf});
  EXPECT_EQ(total("pf", "exclusion-slots"), 0);
  remove_claim("the-last");
  run(5min);
  EXPECT_EQ(allocatable().size(), 2u);
}

// Red when the first slices of a fleet, of which nothing can be allocated yet, are written in one second; when they
// never are; and when those of a small cluster wait.
TEST_F(DoubtTest, TheFirstSlicesOfAFleetWaitForTheirTurn) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  for (const int nodes : {0, kManyNodes}) {
    SCOPED_TRACE(nodes);
    put_nodes(nodes);
    start();
    run(1s);
    EXPECT_EQ(offered_by(kExposureDriver).size(), nodes == 0 ? 2u : 0u) << log.all();
    run(1500ms);  // a quarter of 20,000 nodes x 2 entries x 5 KiB / 25 MB/s, and less than kTurnMax
    EXPECT_EQ(offered_by(kExposureDriver).size(), 2u) << log.all();
    EXPECT_EQ(allocatable(), Set());
    daemon.reset();
    wipe();
  }
}

// Red when a server that does not count the nodes keeps a node from publishing.
TEST_F(DoubtTest, ATurnEndsWhileTheNodesAreCounted) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  cluster.delay_of = [](const fake::Request& request) {
    return request.verb == "list" && request.plural == "nodes" ? Millis{60'000} : Millis{0};
  };
  start();
  run(publishers::Reservations::kTurnMax - 500ms);
  EXPECT_EQ(offered_by(kExposureDriver), Set()) << log.all();
  run(1s);
  EXPECT_EQ(offered_by(kExposureDriver).size(), 2u) << log.all();
  EXPECT_EQ(allocatable(), Set());
}

// Another process writes for this node, and ends. Red when the turn that is lost with the permission never comes again, or
// when the slices are written without the permission.
TEST_F(DoubtTest, ATurnBeginsAgainWithThePermission) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  put_nodes(kManyNodes);
  start();
  run(1s);
  daemon->permit_writes(false);
  run(1min);
  ASSERT_EQ(offered_by(kExposureDriver), Set()) << log.all();
  daemon->permit_writes(true);
  run(500ms);
  EXPECT_EQ(offered_by(kExposureDriver), Set()) << log.all();
  run(publishers::Reservations::kTurnMax);
  EXPECT_EQ(offered_by(kExposureDriver).size(), 2u) << log.all();
  EXPECT_EQ(allocatable(), Set());
}

// Red when what is to be withdrawn stays published until the turn.
TEST_F(DoubtTest, AWithdrawalWaitsForNoTurn) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  put_nodes(kManyNodes);
  start();
  run(2500ms);
  ASSERT_EQ(offered_by(kExposureDriver).size(), 2u) << log.all();
  ASSERT_EQ(allocatable(), Set());
  start();
  run(1s);
  remove_exposure("p");
  put_exposure("q", of_type("pf"));
  run(200ms);
  EXPECT_EQ(offered_by(kExposureDriver), Set{kWholePf}) << log.all();
  EXPECT_EQ(allocatable(), Set());
}

// Red when a node that may not count the nodes does not publish.
TEST_F(DoubtTest, ATurnAmongUncountedNodes) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "list" || request.plural != "nodes") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "forbidden"};
  };
  start();
  run(1s);
  EXPECT_EQ(offered_by(kExposureDriver).size(), 2u) << log.all();
}

// Red when a node with slices waits for a turn: its entries can be allocated.
TEST_F(DoubtTest, APoolBesideOthersWaitsForNoTurn) {
  make_pf(2);
  make_pf(2, "ens2f0", "0000:5e:00.0");
  put_exposure("p", of_type("vf"));
  start();
  run(kKnown);
  ASSERT_EQ(offered_by(kExposureDriver).size(), 4u);
  daemon.reset();
  wipe_pool(kPool);
  put_nodes(kManyNodes);
  start();
  run(1s);
  EXPECT_EQ(offered_by(kExposureDriver).size(), 4u) << log.all();
  EXPECT_EQ(allocatable().size(), 2u);
}

// A share of it is allocated, its pool is unverified, and meanwhile it is offered exclusively for a moment. Red
// when what was withdrawn keeps the nature that it was offered with: it is offered exclusively again beside
// the share.
TEST_F(DoubtTest, ClaimsShowHowADeviceWasAllocated) {
  make_pf(0);
  put(of_type("pf", persona("-m", true)));
  start();
  run(kKnown);
  put_claim("mine", kExposureDriver, kPool, "0000-3b-00-0-m", "a-share");
  daemon.reset();
  wipe();
  put(of_type("pf", persona("-m")));
  start();
  run(1s);
  ASSERT_TRUE(offered_by(kExposureDriver).contains("0000-3b-00-0-m"));
  ASSERT_EQ(allocatable(), Set());
  put_exposure("p", of_type("pf", persona("-x", true)));
  run(2min);  // the claims are listed for this one
  ASSERT_EQ(allocatable(), Set{"0000-3b-00-0-x"});
  put_exposure("p", of_type("pf", persona("-m")));
  for (int i = 0; i < 200; ++i) {
    run(1s);
    ASSERT_EQ(allocatable(), Set()) << i << log.all();
  }
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(allocatable(), Set{"0000-3b-00-0-m"});
}

}  // namespace
}  // namespace sliced
