#include "kubelet/counted_preparer.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/plugin_world.h"

namespace sliced::kubelet {
namespace {

TEST(CountedPreparer, CountsAndPassesEachAnswerByDriver) {
  AskedPreparer behind;
  CountedPreparer counted(behind);
  std::vector<std::string> told;
  const auto prepared = [&](PrepareAnswer answer) { told.push_back("prepare " + answer.error); };
  const auto released = [&](const std::string& error) { told.push_back("unprepare " + error); };
  const PrepareRequest claim{"ns", "c", "uid"};
  counted.prepare("a", claim, prepared);
  counted.prepare("a", claim, prepared);
  counted.unprepare("b", claim, released);
  counted.unprepare("a", claim, released);
  EXPECT_TRUE(counted.counts().empty()) << "nothing is answered yet";
  EXPECT_EQ(behind.prepares.at(0).claim, claim);
  behind.prepares[0].done({});
  behind.prepares[1].done({.error = "no such device"});
  behind.unprepares[0].done("");
  behind.unprepares[1].done("in use");
  EXPECT_EQ(told, (std::vector<std::string>{"prepare ", "prepare no such device", "unprepare ",
                                            "unprepare in use"}));
  const auto& a = counted.counts().at("a");
  EXPECT_EQ(a.prepared, 1u);
  EXPECT_EQ(a.not_prepared, 1u);
  EXPECT_EQ(a.unprepared, 0u);
  EXPECT_EQ(a.not_unprepared, 1u);
  EXPECT_EQ(counted.counts().at("b").unprepared, 1u);
}

TEST(CountedPreparer, MeasuresEachPrepareFromCallToAnswer) {
  AskedPreparer behind;
  TimePoint now{Millis{1'000}};
  CountedPreparer counted(behind, [&] { return now; });
  counted.prepare("a", {}, [](const PrepareAnswer&) {});
  now += Millis{20};
  counted.prepare("a", {}, [](const PrepareAnswer&) {});
  now += Millis{30};
  behind.prepares.at(0).done({});
  behind.prepares.at(1).done({.error = "no such device"});
  DurationHistogram wanted;
  wanted.add(Millis{50});
  wanted.add(Millis{30});
  EXPECT_EQ(counted.counts().at("a").prepare, wanted);
}

// Red when one claim that a kubelet asks for again and again looks like a node on which nothing can be prepared.
TEST(CountedPreparer, CountsFailingClaims) {
  AskedPreparer behind;
  TimePoint now{Millis{1'000}};
  CountedPreparer counted(behind, [&] { return now; });
  const auto fail = [&](const std::string& uid) {
    counted.prepare("a", {"ns", "c", uid}, [](const PrepareAnswer&) {});
    behind.prepares.back().done({.error = "no such device"});
  };
  for (int i = 0; i < 20; ++i) fail("one");
  EXPECT_EQ(counted.failing("a"), 1u);
  EXPECT_EQ(counted.failing("b"), 0u);
  fail("two"), fail("three");
  EXPECT_EQ(counted.failing("a"), 3u);
  counted.prepare("a", {"ns", "c", "two"}, [](const PrepareAnswer&) {});
  behind.prepares.back().done({});
  counted.unprepare("a", {"ns", "c", "three"}, [](const std::string&) {});
  behind.unprepares.back().done("");
  EXPECT_EQ(counted.failing("a"), 1u);
  now += CountedPreparer::kFailingFor + Millis{1};
  EXPECT_EQ(counted.failing("a"), 0u) << "its pod is gone, and nobody asks any more";
}

TEST(CountedPreparer, MayBeDestroyedBeforeTheAnswer) {
  AskedPreparer behind;
  bool is_told = false;
  {
    CountedPreparer counted(behind);
    counted.prepare("a", {}, [&](const PrepareAnswer&) { is_told = true; });
  }
  behind.prepares.at(0).done({});
  EXPECT_TRUE(is_told);
}

}  // namespace
}  // namespace sliced::kubelet
