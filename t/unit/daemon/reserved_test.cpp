// Entries that are withdrawn while they may be allocated: no entry that excludes them is offered until they
// are shown free.
#include <gtest/gtest.h>

#include <algorithm>

#include "t/unit/daemon/reserved_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

using ReservedTest = fixture::ChargedWorld;

TEST_F(ReservedTest, LastsUntilClaimsShowItFree) {
  take_the_pf_then_offer_vfs();
  EXPECT_EQ(offered_by(kExposureDriver).size(), 2u);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0) << "the whole PF may be allocated";
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf});
  run(5min);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0) << "its claim stands";
  EXPECT_LE(cluster.count("list", "resourceclaims"), 14u) << "counted and listed once a minute at most";
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
TEST_F(ReservedTest, LastsUntilTheSchedulerMustKnow) {
  make_pf(2);
  put_exposure("p", of_type("pf"));
  start();
  run(kKnown);
  const size_t lists = cluster.count("list", "resourceclaims");
  put_exposure("p", of_type("vf"));
  run(9s);
  EXPECT_EQ(cluster.count("list", "resourceclaims"), lists);
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf});
  run(90s);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

TEST_F(ReservedTest, SurvivesARestart) {
  take_the_pf_then_offer_vfs();
  start();
  run(5min);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0);
  remove_claim("mine");
  start();
  run(2min);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

// Policies change while no daemon runs: the entries in the slices may be allocated.
TEST_F(ReservedTest, HandlesChangesWhileTheDaemonWasDown) {
  make_pf(2);
  put_exposure("p", of_type("pf", persona("-m", true, "rx")));
  start();
  run(kKnown);
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

// The slices have been listed, and the first decision waits for the node. Red when only what they show by then is charged.
TEST_F(ReservedTest, ReservesEntriesWithdrawnBeforeTheFirstDecision) {
  offer_two_vfs();
  daemon.reset();
  put_claim("mine", kExposureDriver, kPool, kFirstVf);
  put_exposure("p", of_type("pf"));
  cluster.delay_of = [](const fake::Request& request) {
    return request.plural == "nodes" ? Millis{1s} : Millis{0};
  };
  start();
  run(500ms);
  for (kube::ResourceSlice slice : slices()) {
    slice.devices.clear();
    cluster.put(kube::kResourceSlices, kube::encode_resource_slice(slice));
  }
  run(3s);
  EXPECT_TRUE(recorded().contains(kFirstVf));
  EXPECT_FALSE(can_allocate(kExposureDriver, kWholePf));
  remove_claim("mine");
  run(2min);
  EXPECT_TRUE(can_allocate(kExposureDriver, kWholePf));
}

// Red when a published entry lacks its group: it would count as one of the other group, too.
TEST_F(ReservedTest, KeepsGroupsApartAfterAnEditWhileDown) {
  for (const bool is_old : {false, true}) {
    SCOPED_TRACE(is_old);
    make_pf(2);
    put_exposure("p", of_type("pf", persona("-m", true, "rx")));
    start();
    run(kKnown);
    daemon.reset();
    put_claim("mine", kExposureDriver, kPool, "0000-3b-00-0-m");
    if (is_old)  // of a version that did not say it
      for (kube::ResourceSlice slice : slices()) {
        slice.meta.annotations.erase(std::string(policy::kGroupsAnnotation));
        cluster.put(kube::kResourceSlices, kube::encode_resource_slice(slice));
      }
    put_exposure("p", of_type("pf", persona("-i", true, "tx")));
    start();
    run(2s);
    EXPECT_EQ(recorded(), std::set<std::string>{"0000-3b-00-0-m"});
    EXPECT_EQ(can_allocate(kExposureDriver, "0000-3b-00-0-i"), !is_old);
    remove_claim("mine");
    run(2min);
    EXPECT_TRUE(can_allocate(kExposureDriver, "0000-3b-00-0-i"));
    daemon.reset();
    wipe();
  }
}

// Red when a withdrawal is acknowledged with its driver, and not with its pool: something that the server does
// not let us delete keeps it charged for ever.
TEST_F(ReservedTest, AnUndeletableSliceReservesNothing) {
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "delete") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "a webhook says no"};
  };
  make_pf(2);
  start();
  run(kKnown);
  kube::ResourceSlice stray;
  stray.meta.name = "of-somebody";
  stray.driver = kExposureDriver;
  stray.node_name = "node-a";
  stray.pool = {"node-a/0000-99-00-0", 1, 1};
  cluster.put(kube::kResourceSlices, kube::encode_resource_slice(stray));
  take_the_pf_then_offer_vfs();
  remove_claim("mine");
  run(3min);
  EXPECT_FALSE(daemon->converged()) << "it is asked for again and again";
  EXPECT_EQ(recorded(), std::set<std::string>());
}

TEST_F(ReservedTest, LastsWithoutPermissionAndSaysSo) {
  cluster.deny("resourceclaims");
  take_the_pf_then_offer_vfs();
  remove_claim("mine");
  run(20min);
  EXPECT_EQ(total("pf", "exclusion-slots"), 0);
  EXPECT_EQ(log.count("withdrawn devices stay reserved"), 1u) << log.all();
  EXPECT_LE(cluster.count("list", "resourceclaims"), 40u);
  cluster.allow("resourceclaims");
  run(2min);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

TEST_F(ReservedTest, AnInvalidClaimMayHoldAnyDevice) {
  take_the_pf_then_offer_vfs();
  remove_claim("mine");
  cluster.on_deliver = [](std::string text) {
    return text.find("allocation") == std::string::npos ? text : "{\"a\":1,\"a\":2}";
  };
  put_claim("broken", "other.example.com", "p", "d");
  run(10min);
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf});
}

// Who may create a claim writes most of it, and what he writes the server keeps as it is. Red when that keeps
// others' devices from becoming free.
TEST_F(ReservedTest, IgnoresContentOfForeignClaims) {
  take_the_pf_then_offer_vfs();
  put_claim("a-claim", "other.example.com", "p", "d");
  const std::string theirs =
      R"({"a":1,"a":"\ud800","status":{"x":[]},"b":)" + std::string(200, '[') + std::string(200, ']') + "}";
  cluster.on_deliver = [&](std::string text) {
    for (const std::string place : {R"("status":{)", R"("devices":{)"})
      if (const size_t at = text.find(place); at != std::string::npos && text.find("allocation") != text.npos)
        text.insert(at + place.size(), R"("config":)" + theirs + ",");
    return text;
  };
  run(3min);
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf}) << "its own claim is read all the same";
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(recorded(), std::set<std::string>()) << log.all();
}

// Nodes spread their lists by the total size, which the size of one claim does not show. Red when the first
// claim of the cluster determines the pace.
TEST_F(ReservedTest, LargeClaimsDoNotDelayOthers) {
  take_the_pf_then_offer_vfs();
  for (const char* name : {"a", "b", "c", "d"})
    put_claim(name, "other.example.com", "p", std::string(2u << 20, 'd'));
  for (int i = 0; i < 4'000; ++i) {
    kube::Json node;
    node.set("metadata", kube::Json(kube::Json::Object{{"name", "other-" + std::to_string(i)}}));
    cluster.put(kube::kNodes, std::move(node));
  }
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(recorded(), std::set<std::string>()) << log.all();
}

TEST_F(ReservedTest, FreesARemovedFunction) {
  offer_two_vfs();
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

// The functions of a PF are removed one after the other, and a write takes longer. Red when a running write
// records a removed function as if it had not been published: the record would never end.
TEST_F(ReservedTest, FreesAFunctionRemovedDuringAWrite) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(kKnown);
  ASSERT_EQ(offered().size(), 2u);
  const std::string first = tree.pci(kPf).vf(0).address(), second = tree.pci(kPf).vf(1).address();
  const size_t writes = cluster.count("update", "resourceslices");
  cluster.latency = 400ms;
  tree.pci(kPf).vf(0).remove();
  pci_event("remove", first);
  run(250ms);
  ASSERT_EQ(cluster.count("update", "resourceslices"), writes + 1);
  tree.pci(kPf).vf(1).remove();
  pci_event("remove", second);
  run(10s);
  EXPECT_EQ(offered(), std::set<std::string>());
  EXPECT_EQ(recorded(kDriver), std::set<std::string>());
  EXPECT_EQ(cluster.count("update", "resourceslices"), writes + 2) << log.all();
}

// Claims survive it, and so do the pods that have them.
TEST_F(ReservedTest, AnotherBootFreesNothing) {
  for (const bool is_wiped : {false, true}) {
    SCOPED_TRACE(is_wiped);
    put_exposure("p", of_type("pf"));
    take_the_pf_then_offer_vfs();
    daemon.reset();
    tree.boot_id(is_wiped ? "boot-3" : "boot-2");
    if (is_wiped) wipe();
    start();
    run(5min);
    EXPECT_EQ(total("pf", "exclusion-slots"), 0);
    EXPECT_EQ(recorded(), std::set<std::string>{kWholePf});
    remove_claim("mine");
    run(3min);
    EXPECT_EQ(recorded(), std::set<std::string>());
    EXPECT_EQ(total("pf", "exclusion-slots"), std::nullopt);
  }
}

// Functions come one by one after a boot: what was allocated of them waits for them.
TEST_F(ReservedTest, HandlesALateFunctionAfterABoot) {
  for (const bool is_wiped : {false, true}) {
    SCOPED_TRACE(is_wiped);
    make_pf(2);
    put_exposure("p", of_type("vf", persona("-x")));
    start();
    run(kKnown);
    const std::string vf = "0000-3b-02-1", held = vf + "-x";
    put_claim("mine", kExposureDriver, kPool, held);
    daemon.reset();
    if (is_wiped) wipe();
    put_exposure("p", of_type("vf", persona("-y")));
    tree.boot_id(is_wiped ? "boot-3" : "boot-2");
    tree.pci(kPf).vfs(1);
    start();
    run(5min);
    make_pf(2);
    run(11min);  // the host is read again
    ASSERT_TRUE(offered_by(kExposureDriver).contains(vf + "-y"));
    EXPECT_FALSE(can_allocate(kExposureDriver, vf + "-y"));
    EXPECT_TRUE(recorded().contains(held));
    remove_claim("mine");
    run(3min);
    EXPECT_TRUE(can_allocate(kExposureDriver, vf + "-y"));
    daemon.reset();
    wipe();
  }
}

TEST_F(ReservedTest, EndsWhenTheEntryIsOfferedAgain) {
  take_the_pf_then_offer_vfs();
  put_exposure("q", of_type("pf"));
  run(2s);
  EXPECT_EQ(recorded(), std::set<std::string>());
  EXPECT_EQ(total("pf", "exclusion-slots"), 3) << "the scheduler sees the entry again, and its claim with it";
}

// Red when both consume the counter of a group that an edit gave them: it is overdrawn then, and a scheduler
// gives away nothing of the pool that consumes any.
TEST_F(ReservedTest, HandlesTwoAllocatedEntriesInOneGroup) {
  const std::string m = std::string(kWholePf) + "-m", i = std::string(kWholePf) + "-i";
  for (const bool is_down : {false, true}) {
    SCOPED_TRACE(is_down);
    const auto put = [&](const std::string& group) {
      put_exposure("m", of_type("pf", persona("-m", true, group)));
      put_exposure("i", of_type("pf", persona("-i", true, group)));
    };
    make_pf(2);
    put("");
    start();
    run(kKnown);
    put_claim("ms", kExposureDriver, kPool, m, "a-share");
    put_claim("is", kExposureDriver, kPool, i, "a-share");
    if (is_down) daemon.reset();
    put("rx");
    if (is_down) start();
    for (int rest = 0; rest < 2; ++rest) {
      run(3min);
      EXPECT_EQ(recorded(), (std::set<std::string>{i, m}));
      EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>());
      start();  // nor does a restart forget it
    }
    remove_claim("is");
    run(3min);
    EXPECT_EQ(offered_by(kExposureDriver), (std::set<std::string>{i, m}));
    EXPECT_EQ(recorded(), std::set<std::string>());
    EXPECT_EQ(total("pf", "group-rx"), 1) << "m's claim takes it";
    remove_claim("ms");
    daemon.reset();
    wipe();
  }
}

TEST_F(ReservedTest, HandlesAChangeFromSharedToExclusive) {
  make_pf(0);
  put_exposure("p", of_type("pf", persona("", true)));
  start();
  run(2s);
  put_claim("mine", kExposureDriver, kPool, kWholePf, "a-share");
  put_exposure("p", of_type("pf"));
  run(1min);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>());
  remove_claim("mine");
  run(2min);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>{kWholePf});
}

TEST_F(ReservedTest, AFreeFunctionChangesItsDriver) {
  offer_two_vfs();
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
TEST_F(ReservedTest, AWholePfWaitsForVfsOfTheOtherDriver) {
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

// With SriovResourcePolicies alone claims are never listed: no device waits for a withdrawn entry.
TEST_F(ReservedTest, OneTypeAloneListsNoClaims) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  remove_policy("s");
  run(1h);
  EXPECT_EQ(cluster.count("list", "resourceclaims"), 0u);
}

// An entry that is in a slice again can be allocated again, regardless of its writer.
TEST_F(ReservedTest, RestartsTheWaitWhenTheEntryReappears) {
  make_pf(2);
  put_exposure("p", of_type("pf"));
  start();
  run(kKnown);
  kube::Json shown;
  for (const kube::Json& slice : cluster.objects(kube::kResourceSlices))
    if (slice.find({"spec", "pool"})->text("name") == kPool) shown = slice;
  const size_t lists = cluster.count("list", "resourceclaims");
  put_exposure("p", of_type("vf"));
  const auto has_listed = [&] { return cluster.count("list", "resourceclaims") >= lists + 2; };
  for (int i = 0; i < 100 && !has_listed(); ++i) {
    if (i % 5 == 0) {
      kube::Json again = shown;
      kube::Json meta = *again.find("metadata");
      meta.set("name", "restored-by-somebody");
      again.set("metadata", std::move(meta));
      cluster.put(kube::kResourceSlices, std::move(again));
    }
    run(1s);
  }
  ASSERT_TRUE(has_listed());
  EXPECT_EQ(recorded(), std::set<std::string>{kWholePf}) << "shown less than ten seconds before the list";
  run(3min);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

// An entry that was unknown here is reserved before its slice is modified.
TEST_F(ReservedTest, ReservesBeforeAConflictingOffer) {
  offer_two_vfs();
  kube::ResourceSlice unknown = slices().at(0);
  unknown.meta = {.name = "written-by-a-predecessor"};
  unknown.pool.name = kPool;
  unknown.shared_counters.clear();
  unknown.devices = {kube::Device{.name = std::string(kWholePf) + "-old"}};
  bool is_deleted = false;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "delete" && request.name == unknown.meta.name) {
      is_deleted = true;
      EXPECT_TRUE(recorded().contains(std::string(kWholePf) + "-old"));
    }
    return std::nullopt;
  };
  cluster.put(kube::kResourceSlices, kube::encode_resource_slice(unknown));
  run(2s);
  EXPECT_TRUE(is_deleted);
}

// Red when former offers are known from the publisher's memory alone, which ends with the Node object.
TEST_F(ReservedTest, HandlesADeletedAndRecreatedNode) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  put_claim("mine", kDriver, "node-a", kFirstVf);
  cluster.remove(kube::kNodes, "node-a");
  for (const auto& slice : slices()) cluster.remove(kube::kResourceSlices, slice.meta.name);
  run(2s);
  remove_policy("s");
  put_exposure("p", of_type("vf"));
  run(1s);
  put_node("uid-2", {{"zone", "a"}});
  run(3min);
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>{"0000-3b-02-1"});
}

// "entry" alone is enough to charge; what cannot be read at all charges the PF, until the claims tell.
TEST_F(ReservedTest, AnInvalidRecordStopsOffers) {
  // Longer than any own record: the time for reading it would be unbounded.
  std::string too_long = "[\"a\"";
  while (too_long.size() < policy::kRecordBytesMax) too_long += ",\"a\"";
  too_long += "]";
  for (const std::string& record :
       {std::string("nonsense"), std::string(R"([{"entry":"0000-3b-00-0","later":"version"}])"),
        std::string(R"([{"a":1}])"), too_long,
        std::string(R"([{"entry":"0000-3b-00-0","device":"0000:3b:00.0","base":"No label"}])")}) {
    SCOPED_TRACE(record.substr(0, 80));
    put_exposure("p", of_type("pf"));
    take_the_pf_then_offer_vfs();
    daemon.reset();
    spoil_records(kExposureDriver, record);
    start();
    run(2s);
    EXPECT_EQ(total("pf", "exclusion-slots"), 0);
    run(5min);
    EXPECT_EQ(total("pf", "exclusion-slots"), 0) << "its claim stands";
    EXPECT_EQ(recorded(), std::set<std::string>{kWholePf}) << "the claims tell what it is";
    remove_claim("mine");
    run(3min);
    EXPECT_EQ(recorded(), std::set<std::string>());
  }
}

// VFs that the other driver may have withdrawn wait until the claims tell.
TEST_F(ReservedTest, HandlesAnInvalidRecordOfTheOtherDriver) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  put_claim("mine", kDriver, "node-a", kFirstVf);
  remove_policy("s");
  run(2s);
  daemon.reset();
  ASSERT_EQ(slices().size(), 1u);
  spoil_records(kDriver);
  put_exposure("p", of_type("vf"));
  start();
  run(5s);
  EXPECT_EQ(allocatable(), std::set<std::string>());
  run(3min);
  EXPECT_EQ(offered(), std::set<std::string>{"0000-3b-02-1"}) << "the claims tell of the other";
  remove_claim("mine");
  run(2min);
  EXPECT_EQ(offered_by(kExposureDriver).size(), 2u);
}

// What is found out of the claims alone: a share charges as one, so that its entry may be offered as shared.
TEST_F(ReservedTest, HandlesAnAllocatedShareWithoutARecord) {
  const std::string share = std::string(kFirstVf) + "-share";
  for (const bool is_shared : {true, false}) {
    make_pf(2);
    put_exposure("p", of_type("vf", persona("-x", true)));
    start();
    run(2s);
    put_claim("mine", kExposureDriver, kPool, share, is_shared ? "a-share" : "");
    put_exposure("p", of_type("vf", persona("-y", true)));
    run(3min);
    EXPECT_EQ(recorded(), std::set<std::string>{share});
    put_exposure("p", of_type("vf", persona("-share", true)));
    run(2s);
    EXPECT_EQ(offered_by(kExposureDriver).contains(share), is_shared);
    daemon.reset();
    remove_claim("mine");
    remove_exposure("p");
    for (const kube::ResourceSlice& slice : slices()) cluster.remove(kube::kResourceSlices, slice.meta.name);
  }
}

// The scheduler's gate DRAConsumableCapacity is off, the API server's is on. Red when one claim of a PF's macvlan persona costs the VFs.
TEST_F(ReservedTest, AShareWithoutAnIdCostsNoOtherDevice) {
  make_pf(2);
  put_exposure("p", of_type("pf", persona("-m", true)));
  put_exposure("v", of_type("vf"));
  start();
  run(kKnown);
  const std::string share = std::string(kWholePf) + "-m";
  const std::set<std::string> all = allocatable_of(kExposureDriver);
  EXPECT_EQ(all, (std::set<std::string>{share, kFirstVf, "0000-3b-02-1"}));
  put_claim("mine", kExposureDriver, kPool, share);
  put_exposure("q", of_type("pf", persona("-q", true)));
  run(kKnown);
  remove_exposure("q");  // so that the claims are looked at
  run(3min);
  EXPECT_EQ(allocatable_of(kExposureDriver), all);
  daemon.reset();
  start();
  run(3min);
  EXPECT_EQ(allocatable_of(kExposureDriver), all);
}

// A claim with the name of a VF exists from a former device; shares of the present VF are allocated. Red when
// more of them are allocated, or when the VF's overdrawn counter prevents the scheduler from allocating any
// of the other VF's.
TEST_F(ReservedTest, HandlesAConflictingAllocatedEntry) {
  const std::string share = std::string(kFirstVf) + "-share", other = "0000-3b-02-1-share";
  make_pf(2);
  put_exposure("p", of_type("vf", persona("-share", true)));
  put_exposure("q", of_type("pf", persona("-q", true)));
  start();
  run(kKnown);
  put_claim("today", kExposureDriver, kPool, share, "a-share");
  put_claim("former", kExposureDriver, kPool, kFirstVf);
  remove_exposure("q");  // so that the claims are looked at
  run(3min);
  EXPECT_EQ(recorded(), (std::set<std::string>{kFirstVf, share}));
  EXPECT_EQ(offered_by(kExposureDriver), std::set<std::string>{other});
  EXPECT_TRUE(can_allocate(kExposureDriver, other));
  run(10min);
  EXPECT_EQ(recorded(), (std::set<std::string>{kFirstVf, share})) << "both claims stand";
  remove_claim("former");
  run(3min);
  EXPECT_EQ(recorded(), std::set<std::string>());
  EXPECT_TRUE(can_allocate(kExposureDriver, share));
}

// A pool without a PF has nothing that could be charged as a whole: each of its devices is, also after
// another restart.
TEST_F(ReservedTest, HandlesAnInvalidRecordOfLinks) {
  for (const char* bridge : {"br-a", "br-ab", "br-c"}) tree.bridge(bridge);
  put_exposure("p", of_type("bridge"));
  start();
  run(kKnown);
  ASSERT_EQ(offered_by(kExposureDriver), (std::set<std::string>{"br-a", "br-ab", "br-c"}));
  put_claim("mine", kExposureDriver, "node-a/net", "br-ab");
  put_exposure("p", of_type("bridge", persona("-x")));
  run(2s);
  EXPECT_EQ(recorded(), (std::set<std::string>{"br-a", "br-ab", "br-c"}));
  daemon.reset();
  spoil_records(kExposureDriver);
  for (const char* suffix : {"-x", "-y"}) {  // a published entry, and a new one
    SCOPED_TRACE(suffix);
    put_exposure("p", of_type("bridge", persona(suffix)));
    start();
    run(5s);
    EXPECT_EQ(offered_by(kExposureDriver).size(), 3u);
    for (const char* bridge : {"br-a", "br-ab", "br-c"}) EXPECT_EQ(total("devices-0", bridge), 0) << bridge;
    EXPECT_TRUE(recorded().contains("unreadable record"));
    daemon.reset();
  }
  start();
  run(3min);
  EXPECT_EQ(recorded(), std::set<std::string>{"br-ab"}) << "the claims tell of it";
  EXPECT_EQ(total("devices-0", "br-ab"), 0);
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(recorded(), std::set<std::string>());
}

// A claim may outlive its function: it reserves nothing, and causes no list of claims.
TEST_F(ReservedTest, HandlesAClaimOfARemovedFunction) {
  offer_two_vfs();
  put_claim("stays", kExposureDriver, kPool, "0000-3b-02-7");
  put_exposure("p", of_type("vf", persona("-x")));
  run(5min);
  EXPECT_EQ(recorded(), std::set<std::string>());
  EXPECT_EQ(log.count("unrecorded allocations found"), 0u);
  const size_t lists = cluster.count("list", "resourceclaims");
  run(30min);
  EXPECT_EQ(cluster.count("list", "resourceclaims"), lists);
}

// The name of a link that is gone may begin like another's.
TEST_F(ReservedTest, HandlesAClaimOfARemovedLink) {
  tree.bond("bond0");
  tree.vlan("bond0.100", 100, "bond0");
  tree.bridge("br-z");
  put_exposure("w", of_type("bond"));
  put_exposure("v", of_type("vlan"));
  put_exposure("b", of_type("bridge"));
  start();
  run(kKnown);
  ASSERT_TRUE(offered_by(kExposureDriver).contains("bond0-100"));
  put_claim("mine", kExposureDriver, "node-a/net", "bond0-100");
  tree.remove_netdev("bond0.100");
  run(10min);  // the host is looked at anew
  ASSERT_FALSE(offered_by(kExposureDriver).contains("bond0-100"));
  put_exposure("b", of_type("bridge", persona("-other")));
  run(5min);
  EXPECT_EQ(recorded(), std::set<std::string>());
  EXPECT_EQ(log.count("unrecorded allocations found"), 0u);
}

// The daemon dies after each of its writes, in both directions. Every entry that may be allocated is in a
// slice or in a record.
TEST_F(ReservedTest, KeepsEverythingBetweenTwoWrites) {
  make_pf(100);
  cluster.deny("resourceclaims");  // nothing is ever shown free
  put_exposure("q", of_type("vf"));
  start();
  run(2s);
  ASSERT_EQ(offered_by(kExposureDriver).size(), 100u);
  size_t steps = 0;
  for (const bool back : {false, true}) {
    for (size_t allowed = 0;; ++allowed) {
      SCOPED_TRACE((back ? "back " : "there ") + std::to_string(allowed));
      cluster.on_request = {};
      const auto offer_vfs = [&](bool vfs) {
        remove_exposure(vfs ? "p" : "q");
        put_exposure(vfs ? "q" : "p", of_type(vfs ? "vf" : "pf"));
      };
      offer_vfs(!back);
      start();
      run(10min);
      std::set<std::string> before = offered_by(kExposureDriver);
      before.merge(recorded());
      ASSERT_GE(before.size(), 100u);
      size_t written = 0;
      cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
        const bool is_write =
            request.verb == "create" || request.verb == "update" || request.verb == "delete";
        if (!is_write || request.plural != "resourceslices" || request.dry_run) return std::nullopt;
        if (written++ < allowed) return std::nullopt;
        return kube::Failure{.code = Errc::kBusy, .http_status = 500, .what = "down"};
      };
      offer_vfs(back);
      run(1s);
      daemon.reset();
      const std::set<std::string> now = offered_by(kExposureDriver), record = recorded();
      for (const std::string& entry : before)
        EXPECT_TRUE(now.contains(entry) || record.contains(entry)) << entry;
      steps = std::max(steps, std::min(written, allowed));
      if (written <= allowed) break;
    }
    EXPECT_GE(std::exchange(steps, 0), 2u) << "a plan of several writes";
  }
}

}  // namespace
}  // namespace sliced
