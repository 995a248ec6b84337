#include "kube/directory/recorded_cluster.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::kube {
namespace recorded_cluster_test {
namespace {

Json policy(const std::string& name, int priority) {
  Json out = *decode_json(R"({"apiVersion":"networking.dra.io/v1alpha1","kind":"DeviceExposurePolicy"})");
  Json metadata = Json::Object{};
  metadata.set("name", name);
  out.set("metadata", std::move(metadata));
  Json spec = Json::Object{};
  spec.set("priority", static_cast<int64_t>(priority));
  out.set("spec", std::move(spec));
  return out;
}

struct RecordedClusterTest : testing::Test {
  std::vector<std::string> listed() {
    std::vector<std::string> out;
    const auto call =
        cluster.list({.scope = {.resource = kDeviceExposurePolicies, .namespace_ = "", .field_selector = ""}},
                     {.on_item =
                          [&](std::string_view text) {
                            const auto object = decode_json(text);
                            out.push_back(object ? std::string(object->find("metadata")->text("name")) + " " +
                                                       encode_json(*object->find({"spec", "priority"}))
                                                 : object.error().what);
                          },
                      .on_done = [](const std::string&) {},
                      .on_failure = [](const Failure& why) { FAIL() << why.what; }});
    scheduler.advance(Millis{0});
    return out;
  }
  // Deeper than a reader takes, so that it may say so of this one.
  static Json deep() {
    Json value = 1;
    for (int level = 0; level < 62; ++level) value = Json(Json::Array{std::move(value)});
    Json out = policy("deep", 3);
    out.set("more", Json(Json::Array{std::move(value)}));
    return out;
  }

  fake::FakeScheduler scheduler;
  fake::MemoryLog log;
  RecordedCluster cluster{scheduler,
                          log,
                          {policy("a", 1), Json("text"), policy("b", 2), policy("a", 9), deep()},
                          "ns",
                          "the file"};
};
using Listed = std::vector<std::string>;

TEST_F(RecordedClusterTest, ReturnsEachRecordedObject) {
  const Listed all = listed();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(Listed(all.begin(), all.begin() + 2), (Listed{"a 1", "b 2"})) << "of one name the first counts";
  EXPECT_NE(all[2].find("deep"), std::string::npos) << all[2];
  EXPECT_EQ(log.count("object in the snapshot ignored"), 1u);
}

TEST_F(RecordedClusterTest, WritesNothing) {
  std::optional<Failure> failure;
  const auto call = cluster.write(
      {.verb = Verb::kDelete, .resource = kDeviceExposurePolicies, .name = "a"},
      {.on_done = [](std::string_view) {}, .on_failure = [&](const Failure& why) { failure = why; }});
  scheduler.advance(Millis{0});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kDenied);
  EXPECT_NE(failure->what.find("the file does not change"), std::string::npos) << failure->what;
  EXPECT_EQ(listed().size(), 3u);
}

TEST_F(RecordedClusterTest, AWatchReturnsTheObjectsAndNoEvents) {
  Listed heard;
  const auto call =
      cluster.watch({.scope = {.resource = kDeviceExposurePolicies, .namespace_ = "", .field_selector = ""},
                     .send_initial_events = true},
                    {.on_event =
                         [&](const WatchEvent& event) {
                           heard.push_back(event.type == EventType::kBookmark ? "all" : "one");
                         },
                     .on_end = [&] { heard.push_back("end"); },
                     .on_failure = [&](const Failure& why) { heard.push_back(why.what); }});
  scheduler.advance(Millis{3'600'000});
  EXPECT_EQ(heard, (Listed{"one", "one", "one", "all"}));
}

}  // namespace
}  // namespace recorded_cluster_test
}  // namespace sliced::kube
