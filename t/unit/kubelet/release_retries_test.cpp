// Devices that a node still holds for a ResourceClaim that is gone: withheld with the true reason, and given back by the daemon.
#include "kubelet/release_retries.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/preparer_world.h"

namespace sliced::kubelet {
namespace {

using namespace sample;

struct ReturnsTest : PreparerWorld {
  static constexpr const char* kOpen = "somebody holds /dev/vfio/7";

  // Prepared on vfio-pci, and the kernel refuses to give it back.
  ClaimText stuck() {
    ClaimText text = put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
    EXPECT_EQ(prepare(text)->error, "");
    refuse_restore();
    return text;
  }
  void refuse_restore() {
    node.on_step = [](const std::string& step) {
      return step.starts_with("restore 0000") ? std::optional(Error{Errc::kBusy, kOpen}) : std::nullopt;
    };
  }
  void remove(const ClaimText& text) { cluster.remove(kube::kResourceClaims, text.name, "ns"); }
  size_t restores() const {
    return static_cast<size_t>(std::ranges::count(node.steps, std::string("restore 0000:03:00.2")));
  }
  std::string error_of_next() { return prepare(put(claim(2, "0000-03-00-2")))->error; }
  std::string withheld_why() const { return withheld.size() == 1 ? withheld[0].why : ""; }
};

// Red when such a device stays offered: its next pod would wait for ever, and for a pod that has ended.
TEST_F(ReturnsTest, WithholdsADeviceUntilItIsRestored) {
  const ClaimText text = stuck();
  const PrepareRequest first = request(text);
  EXPECT_NE(unprepare(first)->find(kOpen), std::string::npos);
  EXPECT_TRUE(withheld.empty()) << "the claim exists, and its kubelet calls again";
  remove(text);
  scheduler.advance(ReleaseRetries::kFirst + Millis{1'000});
  ASSERT_EQ(withheld.size(), 1u);
  EXPECT_EQ(withheld[0].holding.device, "0000:03:00.2");
  EXPECT_TRUE(withheld_why().starts_with(std::string("it could not be restored: ") + kOpen))
      << withheld_why();
  EXPECT_TRUE(charged.contains(first.uid + " 0000-03-00-2")) << "what it excludes is counted";
  const std::string refused = error_of_next();
  EXPECT_NE(refused.find(std::string("is not free: it could not be restored: ") + kOpen), std::string::npos)
      << refused;
  EXPECT_EQ(refused.find("pod has ended"), std::string::npos) << refused;
  node.on_step = nullptr;
  scheduler.advance(2 * ReleaseRetries::kMax);
  EXPECT_TRUE(withheld.empty());
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
  EXPECT_TRUE(preparer->prepared().empty());
  EXPECT_EQ(error_of_next(), "");
}

TEST_F(ReturnsTest, RetriesAtGrowingIntervalsAlsoAfterARestart) {
  const ClaimText text = stuck();
  unprepare(request(text));
  remove(text);
  scheduler.advance(Millis{30'000});
  const size_t early = restores();
  EXPECT_GE(early, 3u) << "the kubelet's, after 5 s, after 15 s";
  scheduler.advance(ReleaseRetries::kMax * 12);
  EXPECT_LE(restores() - early, 18u);
  EXPECT_GE(restores() - early, 12u);
  run();
  EXPECT_TRUE(withheld_why().starts_with(std::string("it could not be restored: ") + kOpen))
      << "before anybody has asked the API server";
  const size_t before = restores();
  scheduler.advance(ReleaseRetries::kFirst + Millis{1'000});
  EXPECT_GT(restores(), before);
  node.on_step = nullptr;
  scheduler.advance(ReleaseRetries::kMax);
  EXPECT_TRUE(withheld.empty());
  EXPECT_EQ(driver_of("0000:03:00.2"), "igbvf");
}

// Red when a claim that is prepared again and fails again waits as long as the failure of before did.
TEST_F(ReturnsTest, QueriesImmediatelyForAFailureAfterAnotherPrepare) {
  const ClaimText text = stuck();
  unprepare(request(text));
  scheduler.advance(ReleaseRetries::kMax * 3 + ReleaseRetries::kFirst);  // the next query is minutes away
  node.on_step = nullptr;
  ASSERT_EQ(prepare(text)->error, "");
  refuse_restore();
  unprepare(request(text));
  remove(text);
  scheduler.advance(ReleaseRetries::kFirst + Millis{1'000});
  EXPECT_EQ(withheld.size(), 1u);
}

TEST_F(ReturnsTest, LeavesAnExistingClaimToItsKubelet) {
  const ClaimText text = stuck();
  unprepare(request(text));
  const size_t before = restores();
  scheduler.advance(ReleaseRetries::kMax * 4);
  EXPECT_EQ(restores(), before);
  EXPECT_TRUE(withheld.empty());
  const std::string refused = error_of_next();
  EXPECT_NE(refused.find(std::string("could not be restored: ") + kOpen + "; the kubelet tries again"),
            std::string::npos)
      << refused;
  // It ends only now, without a call of unprepare.
  remove(text);
  scheduler.advance(ReleaseRetries::kMax + Millis{1'000});
  EXPECT_EQ(withheld.size(), 1u);
}

// The API server's silence frees nothing, and withholds nothing.
TEST_F(ReturnsTest, ChangesNothingWithoutTheServersAnswer) {
  const ClaimText text = stuck();
  unprepare(request(text));
  cluster.deny("resourceclaims");
  const size_t before = restores();
  scheduler.advance(ReleaseRetries::kMax * 2);
  EXPECT_TRUE(withheld.empty());
  EXPECT_EQ(restores(), before);
}

// A claim that went while kubelet or node were down: no kubelet asks for it.
TEST_F(ReturnsTest, WithholdsADeviceOfADeletedClaimImmediately) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  EXPECT_EQ(prepare(text)->error, "");
  node.user = "process 7 (qemu)";
  preparer.reset();
  remove(text);
  run();
  ASSERT_EQ(withheld.size(), 1u);
  EXPECT_NE(withheld_why().find("was deleted"), std::string::npos) << withheld_why();
  EXPECT_EQ(withheld_why().find("could not be restored"), std::string::npos) << withheld_why();
  scheduler.advance(2 * Reconcile::kAbsentMin);
  EXPECT_NE(withheld_why().find("process 7 (qemu)"), std::string::npos) << withheld_why();
  node.user = "";
  scheduler.advance(2 * Reconcile::kAgain);
  EXPECT_TRUE(withheld.empty());
  EXPECT_EQ(error_of_next(), "");
}

// Red when the refusal names a pod that has ended: the claim of the holder is asked for first.
TEST_F(ReturnsTest, ARefusalNamesADeletedClaim) {
  const ClaimText text = put(claim(1, "0000-03-00-2"));
  EXPECT_EQ(prepare(text)->error, "");
  EXPECT_NE(error_of_next().find("when that claim's pod has ended"), std::string::npos);
  remove(text);
  const std::string refused = error_of_next();
  EXPECT_NE(refused.find("was deleted"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("pod has ended"), std::string::npos) << refused;
  EXPECT_EQ(withheld.size(), 1u);
}

// Red when a daemon that is killed after it has withdrawn the device would offer it again until it has read the claims.
TEST_F(ReturnsTest, RecordsThatAClaimIsGoneBeforeItsDeviceIsWithheld) {
  const ClaimText text = stuck();
  unprepare(request(text));
  remove(text);
  const auto is_recorded = [&] { return node.checkpoint->find(R"("claimGone":true)") != std::string::npos; };
  ASSERT_FALSE(is_recorded());
  executor.answer_after = Millis{2'500};  // a slow disk: other changes are reported meanwhile
  for (int i = 0; i < 60'000 && withheld.empty(); ++i) {
    if (i % 500 == 0) preparer->unprepare(kSriov, request(text), [](const std::string&) {});
    scheduler.advance(Millis{1});
  }
  ASSERT_EQ(withheld.size(), 1u);
  EXPECT_TRUE(is_recorded()) << *node.checkpoint;
}

// Red when a disk that does not take the record keeps the device offered.
TEST_F(ReturnsTest, WithholdsADeviceWhoseRecordCannotBeWritten) {
  const ClaimText text = stuck();
  unprepare(request(text));
  remove(text);
  node.on_step = [](const std::string& step) {
    return step == "checkpoint" || step.starts_with("restore 0000") ? std::optional(Error{Errc::kIo, kOpen})
                                                                    : std::nullopt;
  };
  scheduler.advance(ReleaseRetries::kFirst + Millis{2'500});
  EXPECT_EQ(withheld.size(), 1u);
}

// The record is damaged: CDI specs have the uid of the claim, and not its name.
TEST_F(ReturnsTest, FindsDeletedClaimsByAListWithoutTheRecord) {
  const ClaimText gone = put(claim(1, "0000-03-00-2")), there = put(claim(2, "0000-03-00-3"));
  EXPECT_EQ(prepare(gone)->error, "");
  EXPECT_EQ(prepare(there)->error, "");
  preparer.reset();
  node.checkpoint = "damaged";
  remove(gone);
  run();
  ASSERT_EQ(withheld.size(), 1u);
  EXPECT_EQ(withheld[0].holding.device, "0000:03:00.2");
  EXPECT_NE(withheld[0].why.find("a ResourceClaim (uid "), std::string::npos) << withheld[0].why;
  scheduler.advance(Reconcile::kAbsentMin + 2 * Reconcile::kAgain);
  EXPECT_TRUE(withheld.empty());
  EXPECT_EQ(preparer->prepared().size(), 1u) << "that of the claim that exists";
  EXPECT_EQ(log.count("?/?"), 0u) << log.all();
}

// A kubelet that prepares the claim again, for the next pod, has it.
TEST_F(ReturnsTest, DoesNotUnprepareAClaimPreparedAgain) {
  const ClaimText text = stuck();
  unprepare(request(text));
  node.on_step = nullptr;
  EXPECT_EQ(prepare(text)->error, "");
  remove(text);
  scheduler.advance(Reconcile::kAbsentMin);
  EXPECT_EQ(preparer->prepared().size(), 1u);
}

// Red when the answer to a question of before counts for a claim that the kubelet has prepared again meanwhile: its pod would lose the device.
TEST_F(ReturnsTest, IgnoresAnAnswerFromBeforeAnotherPrepare) {
  const ClaimText text = stuck();
  unprepare(request(text));
  node.on_step = nullptr;
  remove(text);
  cluster.latency = Millis{4'000};
  scheduler.advance(ReleaseRetries::kFirst +
                    Millis{2'500});  // the answer "there is no such claim" is on its way
  cluster.latency = Millis{2};
  put(claim(1, "0000-03-00-2", {config({{"driver", "vfio-pci"}})}));
  ASSERT_EQ(prepare(text)->error, "");
  scheduler.advance(ReleaseRetries::kMax);
  EXPECT_TRUE(withheld.empty()) << withheld_why();
  EXPECT_EQ(preparer->prepared().size(), 1u);
}

}  // namespace
}  // namespace sliced::kubelet
