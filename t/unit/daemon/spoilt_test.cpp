// Slices and records that cannot be read, or cannot be written.
#include <gtest/gtest.h>

#include <algorithm>

#include "t/unit/daemon/unverified_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct SpoiltTest : fixture::DoubtWorld {};

// Each part of a slice may be damaged: the rest of it shows the entries that may be allocated.
TEST_F(SpoiltTest, HandlesASliceThatCannotBeDecoded) {
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
TEST_F(SpoiltTest, HandlesARecordThatWouldBeTooLong) {
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

// An object's annotations have a common limit of 256 KiB for all writers.
TEST_F(SpoiltTest, AWithdrawalDoesNotWaitForForeignAnnotations) {
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
TEST_F(SpoiltTest, KnowsAbridgedEntriesByName) {
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

// An annotation of another program with the name of our record is not a record.
TEST_F(SpoiltTest, HandlesALinkNamedLikeAFunction) {
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
