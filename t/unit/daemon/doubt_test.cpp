// Slices are gone or spoilt, and with them what they recorded.
#include <gtest/gtest.h>

#include <algorithm>

#include "t/unit/daemon/charged_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct Flip {
  const char* what;
  std::string before, after;             // specs of DeviceExposurePolicies; "" of a SriovResourcePolicy
  std::string held;                      // entry that is allocated
  std::set<std::string> later;           // what can be allocated once it is free
  std::set<std::string> meanwhile = {};  // of these, what it does not exclude
};
using Set = std::set<std::string>;

std::vector<Flip> flips() {
  const auto spec = [](const char* type, const std::string& rest = "") {
    return fixture::DaemonWorld::of_type(type, rest);
  };
  const std::string macvlan = fixture::ChargedWorld::persona("-m", true);
  const Set vfs{"0000-3b-02-0", "0000-3b-02-1"};
  return {{"a PF to its VFs", spec("pf"), spec("vf"), "0000-3b-00-0", vfs},
          {"VFs to their PF", spec("vf"), spec("pf"), "0000-3b-02-0", {"0000-3b-00-0"}},
          {"shared to exclusive", spec("pf", macvlan), spec("pf"), "0000-3b-00-0-m", {"0000-3b-00-0"}},
          {"shared to exclusive of one name",
           spec("pf", macvlan),
           spec("pf", fixture::ChargedWorld::persona("-m")),
           "0000-3b-00-0-m",
           {"0000-3b-00-0-m"}},
          {"exclusive to shared", spec("pf"), spec("pf", macvlan), "0000-3b-00-0", {"0000-3b-00-0-m"}},
          {"the other driver's VFs to a PF", "", spec("pf"), "0000-3b-02-0", {"0000-3b-00-0"}},
          {"the other driver's VFs", "", spec("vf"), "0000-3b-02-0", vfs, {"0000-3b-02-1"}},
          {"a PF to the other driver's VFs", spec("pf"), "", "0000-3b-00-0", vfs},
          {"VFs to the other driver's", spec("vf"), "", "0000-3b-02-0", vfs, {"0000-3b-02-1"}}};
}

struct DoubtTest : fixture::ChargedWorld {
  void put(const std::string& spec) {
    remove_exposure("p");
    remove_policy("s");
    spec.empty() ? put_policy("s", "{configs: [{}]}") : put_exposure("p", spec);
  }
  // Where no DeviceExposurePolicy is left its pod tells; else the list of claims does.
  void give(const Flip& flip) {
    const bool is_share = flip.before.find("allowMultiple") != std::string::npos;
    if (flip.before.empty())
      put_claim("mine", kDriver, "node-a", flip.held);
    else
      put_claim("mine", kExposureDriver, kPool, flip.held, is_share ? "a-share" : "");
    if (flip.after.empty()) put_pod("pod", "mine", true);
  }
  // The other driver's VFs of ens1f0; the PF was given away by a policy that is no more, and that is
  // forgotten.
  void lose_what_a_pod_has() {
    make_pf(2);
    put_exposure("p", of_type("pf"));
    start();
    run(kKnown);
    put_claim("mine", kExposureDriver, kPool, kWholePf);
    put_pod("pod", "mine", false);
    daemon.reset();
    wipe();
    put("");
  }
  // What the flip's entry excludes is not to be had before its claim is gone, and then it is.
  void judge(const Flip& flip) {
    std::set<std::string> wrong = allocatable();
    for (int i = 0; i < 300; ++i) {
      run(1s);
      wrong.merge(allocatable());
    }
    for (const std::string& entry : flip.meanwhile) wrong.erase(entry);
    EXPECT_EQ(wrong, Set()) << log.all();
    remove_claim("mine");
    run(3min);
    EXPECT_EQ(allocatable(), flip.later);
    EXPECT_EQ(recorded(), Set());
  }
};

TEST_F(DoubtTest, SlicesAreWipedWhileAPolicyChanges) {
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

// Published for a moment and gone again before anything is known: what nobody has looked after stays in
// doubt.
// Red when a VF whose links cannot be read is nobody's: its PF is given away as a whole.
TEST_F(DoubtTest, AnAllocatedVfWhosePfCannotBeReadKeepsPfsFromBeingWhole) {
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

TEST_F(DoubtTest, AStartBetweenTheWipeAndTheChange) {
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

// Some of the slices, by somebody else.
TEST_F(DoubtTest, OnePoolIsWiped) {
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
TEST_F(DoubtTest, AWipeBeneathARunningDaemon) {
  take_the_pf_then_offer_vfs();
  const size_t lists = cluster.count("list", "pods");
  wipe();
  run(2s);
  EXPECT_EQ(recorded(), Set{kWholePf});
  EXPECT_EQ(cluster.count("list", "pods"), lists);
}

// Once slices were lost, the pods are looked at before VFs are offered that are not yet; claims are never
// listed.
TEST_F(DoubtTest, SriovResourcePoliciesAloneNeverListClaims) {
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

// Without the kind nothing can have been exposed.
TEST_F(DoubtTest, WhereTheOtherKindIsNotInstalledNobodyLooks) {
  make_pf(2);
  cluster.uninstall(kube::kDeviceExposurePolicies);
  put_policy("s", "{configs: [{}]}");
  start();
  run(2s);
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
  EXPECT_EQ(cluster.count("list", "pods"), 0u);
}

// What stands in slices stood beside whatever was given away; so it did in another boot.
TEST_F(DoubtTest, WhatStandsInSlicesWaitsForNobody) {
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
TEST_F(DoubtTest, APfThatNoPolicyIsForAnyMore) {
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
TEST_F(DoubtTest, ALookAtThePodsThatFails) {
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

// What cannot be looked at for want of a permission, or time after time, keeps nobody waiting for ever.
TEST_F(DoubtTest, ALookThatIsNotToBeHad) {
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
    EXPECT_EQ(log.count("cannot be looked at"), is_denied ? 1u : 2u) << log.all();
    daemon.reset();
    wipe();
  }
}

// After a boot functions come one by one.
TEST_F(DoubtTest, APfThatComesAfterTheLook) {
  make_pf(2);
  put("");
  put_claim("mine", kExposureDriver, "node-a/0000-5e-00-0", "0000-5e-00-0");
  put_pod("pod", "mine", true);
  start();
  run(1min);
  ASSERT_EQ(offered_by(kDriver).size(), 2u);
  make_pf(2, "ens2f0", "0000:5e:00.0");
  run(11min);  // the host is looked at anew
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(offered_by(kDriver).size(), 4u);
}

// While another daemon writes, time passes and nothing can be looked at.
TEST_F(DoubtTest, WhoWaitsForAnotherDaemonLooksWhenItIsItsTurn) {
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
TEST_F(DoubtTest, WhoseTurnItIsShowsNobodyHalfAPool) {
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
  run(1s);
  daemon->permit_writes(true);
  for (int i = 0; i < 400; ++i) {
    run(5ms);
    const size_t entries = offered_by(kDriver).size();
    ASSERT_TRUE(slices().empty() || entries == 4) << entries << " after " << 5 * i << " ms\n" << log.all();
  }
  EXPECT_EQ(offered_by(kDriver).size(), 4u);
}

// Of a PF that no exposure policy is for, the other driver's VFs are offered at once; of one that both are
// for they wait.
TEST_F(DoubtTest, WhatExcludesNothingDoesNotWait) {
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
TEST_F(DoubtTest, VFsOfAPfThatTheOtherKindWants) {
  make_pf(2);
  put_policy("s", "{configs: [{}]}");
  put_exposure("p", of_type("pf"));
  start();
  run(1s);
  EXPECT_EQ(offered_by(kDriver).size(), 0u);
  run(5min);
  EXPECT_EQ(offered_by(kDriver).size(), 2u);
}

// Red when a pool without entries, which has no slices, makes a restart withdraw what stands beside it.
TEST_F(DoubtTest, ARestartKeepsWhatStandsInSlices) {
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

// A first policy on a node that has been up for a while waits for one list.
TEST_F(DoubtTest, TheFirstPolicyOfANode) {
  make_pf(2);
  put_policy("s", "{configs: [{resourceFilters: [{vendors: ['0000']}]}]}");
  start();
  run(kKnown);
  put_exposure("p", of_type("vf"));
  run(1s);
  EXPECT_EQ(allocatable().size(), 2u);
}

// What pods have is charged by its name before there is a list; pods of other nodes are none of ours.
TEST_F(DoubtTest, PodsTellFirst) {
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
TEST_F(DoubtTest, ABusyServerIsNotAskedForEachClaimOfAPod) {
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

// The list is read in pages; a page that has expired, or that is refused, proves nothing.
TEST_F(DoubtTest, AListOfManyPages) {
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

// In each of its parts a slice may be spoilt: what is left of it tells what may be allocated.
TEST_F(DoubtTest, ASliceThatCannotBeDecoded) {
  const auto spoil = [](kube::Json slice, const std::string& part) {
    kube::Json spec = *slice.find("spec");
    if (part == "devices") spec.set("devices", "no list");
    if (part == "counters") spec.set("sharedCounters", int64_t{5});
    if (part == "pool") spec.set("pool", "no map");
    if (part == "generation") {
      kube::Json pool = *spec.find("pool");
      pool.set("generation", "no number");
      spec.set("pool", std::move(pool));
    }
    slice.set("spec", part == "spec" ? kube::Json("no map") : std::move(spec));
    return slice;
  };
  for (const char* part : {"devices", "counters", "pool", "generation"}) {
    SCOPED_TRACE(part);
    put_exposure("p", of_type("pf"));
    take_the_pf_then_offer_vfs();
    daemon.reset();
    for (const kube::Json& slice : cluster.objects(kube::kResourceSlices))
      if (slice.find({"spec", "pool", "name"})->string() != nullptr &&
          *slice.find({"spec", "pool", "name"})->string() == kPool)
        cluster.put(kube::kResourceSlices, spoil(slice, part));
    std::set<std::string> wrong;
    start();
    for (int i = 0; i < 120; ++i) {
      run(i < 60 ? 100ms : 2s);
      wrong.merge(allocatable());
    }
    EXPECT_EQ(wrong, Set());
    EXPECT_EQ(recorded(), Set{kWholePf});
    remove_claim("mine");
    run(3min);
    EXPECT_EQ(allocatable().size(), 2u);
    daemon.reset();
    wipe();
  }
}

// 256 VFs of 7 personas: their names are more than the annotations of an object may be.
TEST_F(DoubtTest, ARecordThatWouldBeTooLong) {
  make_pf(256);
  for (int i = 0; i < 7; ++i)
    put_exposure("p" + std::to_string(i),
                 of_type("vf", persona("-" + std::string(31, static_cast<char>('a' + i)), true,
                                       std::string(50, 'g'))));
  start();
  run(kKnown);
  ASSERT_EQ(offered_by(kExposureDriver).size(), 1'792u);
  refuse_long_annotations();
  const std::string held = std::string(kFirstVf) + "-" + std::string(31, 'a');
  put_claim("mine", kExposureDriver, kPool, held, "share");
  for (int i = 0; i < 7; ++i) remove_exposure("p" + std::to_string(i));
  put_exposure("whole", of_type("vf"));
  run(2s);
  EXPECT_EQ(offered_by(kExposureDriver).size(), 256u) << "withdrawn at once";
  EXPECT_EQ(recorded(), Set{"unreadable record"}) << "the PF as a whole";
  daemon.reset();
  start();
  run(2s);
  EXPECT_EQ(allocatable(), Set());
  run(3min);
  EXPECT_EQ(recorded(), Set{held});
  EXPECT_EQ(allocatable().size(), 255u);
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(allocatable().size(), 256u);
}

// An object's annotations have room for 256 KiB, whoever writes them.
TEST_F(DoubtTest, AWithdrawalDoesNotWaitForOthersAnnotations) {
  refuse_long_annotations();
  for (const size_t left : {size_t{10'000}, size_t{0}}) {
    SCOPED_TRACE(left);
    make_pf(2);
    put_exposure("p", of_type("pf"));
    start();
    run(kKnown);
    put_claim("mine", kExposureDriver, kPool, kWholePf);
    fill_annotations(left);
    run(2s);
    put_exposure("p", of_type("vf"));
    run(2s);
    EXPECT_EQ(offered_by(kExposureDriver), (Set{"0000-3b-02-0", "0000-3b-02-1"})) << log.all();
    EXPECT_EQ(allocatable(), Set());
    EXPECT_EQ(recorded(), Set{kWholePf});
    start();
    run(5min);
    EXPECT_EQ(allocatable(), Set());
    remove_claim("mine");
    run(3min);
    EXPECT_EQ(allocatable().size(), 2u);
    daemon.reset();
    wipe();
  }
}

// A record that has no room for names says "the PF as a whole": to who starts, and not to the daemon that
// wrote it.
TEST_F(DoubtTest, WhatWasAbridgedIsKnownByName) {
  make_pf(2);
  put_exposure("p", of_type("vf", persona("-p", true)));
  put_exposure("q", of_type("vf", persona("-q", true)));
  start();
  run(kKnown);
  refuse_long_annotations();
  fill_annotations(150);
  run(2s);
  remove_exposure("p");
  run(2s);
  const Set stays{"0000-3b-02-0-q", "0000-3b-02-1-q"};
  EXPECT_EQ(offered_by(kExposureDriver), stays);
  EXPECT_EQ(recorded(), Set{"unreadable record"}) << log.all();
  EXPECT_EQ(allocatable(), stays);
  start();
  run(2s);
  EXPECT_EQ(allocatable(), Set());
  run(3min);
  EXPECT_EQ(allocatable(), stays);
}

// What somebody calls our record is none.
TEST_F(DoubtTest, ALinkThatHadANameLikeAFunctions) {
  tree.bridge("br-old");
  put_exposure("p", of_type("bridge"));
  start();
  run(kKnown);
  put_claim("mine", kExposureDriver, "node-a/net", "former-name");
  daemon.reset();
  for (kube::ResourceSlice slice : slices()) {
    if (slice.driver != kExposureDriver || slice.devices.empty()) continue;
    kube::Device device = *slice.devices.front();
    device.name = "former-name";
    slice.devices = {device};
    cluster.put(kube::kResourceSlices, kube::encode_resource_slice(slice));
  }
  start();
  run(2min);
  EXPECT_TRUE(offered_by(kExposureDriver).contains("br-old"));
  EXPECT_EQ(allocatable(), Set());
  EXPECT_EQ(recorded(), Set{"former-name"});
  remove_claim("mine");
  run(3min);
  EXPECT_EQ(allocatable(), Set{"br-old"});
}

}  // namespace
}  // namespace sliced
