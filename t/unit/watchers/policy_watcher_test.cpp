#include "watchers/policy_watcher.h"

#include "t/unit/watchers/watch_fixture.h"

namespace sliced::watchers {
namespace {

struct PolicyWatcherTest : WatchTest {
  PolicyWatcherTest() { cluster.install(kube::kSriovResourcePolicies); }

  void follow_policies() {
    watcher = make_policy_watcher(
        ports(), kube::kSriovResourcePolicies, "ns",
        [this](SourceEvent<Watched<PolicyObject>> event) { events.push_back(std::move(event)); });
    watcher->start();
    settle();
  }

  std::vector<SourceEvent<Watched<PolicyObject>>> events;
  std::unique_ptr<PolicyWatcher> watcher;
};

TEST_F(PolicyWatcherTest, GivesPoliciesOfOneNamespaceWholeAndUndecoded) {
  cluster.put_text(
      kube::kSriovResourcePolicies,
      R"({"metadata":{"name":"a","namespace":"ns","managedFields":[{"manager":"x"}]},"spec":{"typo":1}})");
  cluster.put_text(kube::kSriovResourcePolicies,
                   R"({"metadata":{"name":"b","namespace":"elsewhere"},"spec":{}})");
  follow_policies();
  ASSERT_EQ(events.size(), 1u);
  const auto& all = std::get<Relisted<Watched<PolicyObject>>>(events[0]).all;
  ASSERT_EQ(all.size(), 1u);
  ASSERT_TRUE(all[0].value) << all[0].value.error().what;
  EXPECT_EQ(all[0].value->meta.name, "a");
  EXPECT_NE(all[0].value->object.find({"spec", "typo"}), nullptr) << "judging is for others";
  EXPECT_NE(all[0].value->object.find({"metadata", "uid"}), nullptr);
  EXPECT_EQ(all[0].value->object.find({"metadata", "managedFields"}), nullptr);
}

TEST_F(PolicyWatcherTest, APolicyWithARepeatedKeyIsThereAndNotUnderstood) {
  follow_policies();
  cluster.inject("sriovresourcepolicies", kube::EventType::kAdded,
                 R"({"metadata":{"name":"a","namespace":"ns","resourceVersion":"9"},"spec":{"x":1,"x":2}})");
  settle();
  ASSERT_EQ(events.size(), 2u);
  const auto& now = std::get<Changed<Watched<PolicyObject>>>(events[1]).now;
  EXPECT_EQ(now.id.name, "a");
  EXPECT_FALSE(now.value.ok());
}

}  // namespace
}  // namespace sliced::watchers
