// The conditions that the daemon writes for a claim whose pod waits for its device, and the claims for which it
// writes none.
#include "daemon/binding_conditions.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::daemon {
namespace binding_conditions_test {
namespace {

using Is = BindingReadiness::Is;
using kube::Json;

const char* const kAllocated =
    R"({"metadata": {"name": "claim", "namespace": "ns"}, "status": {"allocation": {"devices": {"results": [)"
    R"({"request": "a", "driver": "d.example", "pool": "node-a", "device": "0000-03-00-2",)"
    R"( "bindingConditions": ["d.example/DeviceReady"], "bindingFailureConditions": ["d.example/DeviceLost"]},)"
    R"({"request": "b", "driver": "other.example", "pool": "node-a", "device": "x",)"
    R"( "bindingConditions": ["other.example/DeviceReady"], "bindingFailureConditions": ["other.example/DeviceLost"]},)"
    R"({"request": "c", "driver": "d.example", "pool": "node-a", "device": "0000-03-00-3"}]}}}})";

const char* const kStarted = "2027-01-15T08:00:00Z";

struct BindingConditionsTest : testing::Test {
  BindingConditionsTest() {
    cluster.install(kube::kResourceClaims);
    cluster.clock = [this] { return cluster.time_of_2027(); };
  }
  void put(const std::string& text) { cluster.put_text(kube::kResourceClaims, text); }
  // What was applied since the last call: "DeviceLost False Offered, DeviceReady True Ready since 2027-...".
  std::vector<std::string> said() {
    scheduler.advance(Millis{1'000});
    std::vector<std::string> out;
    for (; seen < cluster.log.size(); ++seen) {
      const fake::Request& request = cluster.log[seen];
      if (request.verb != "apply") continue;
      std::string text;
      for (const Json& device : *request.body.find({"status", "devices"})->array()) {
        text += std::string(device.text("device")) + ":";
        for (const Json& condition : *device.find("conditions")->array())
          text += " " + std::string(condition.text("type")) + " " + std::string(condition.text("status")) +
                  " " + std::string(condition.text("reason")) + " '" +
                  std::string(condition.text("message")) + "' " +
                  std::string(condition.text("lastTransitionTime"));
      }
      out.push_back(std::move(text));
    }
    return out;
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<BindingReadiness> word = BindingReadiness{};
  bool is_prepared = false;
  size_t seen = 0;
  BindingConditions conditions{
      {.ports = {cluster, scheduler, log, [] { return 0.0; }},
       .drivers = {"d.example", "e.example"},
       .judge = [this](const BindingDevice&) { return word; },
       .is_prepared = [this](const std::string&, const std::string&) { return is_prepared; }}};
};

using List = std::vector<std::string>;

TEST_F(BindingConditionsTest, HoldsAPodUntilItsDeviceIsReady) {
  word = BindingReadiness{Is::kWaiting, "carrier: down"};
  conditions.start();
  scheduler.advance(Millis{2'000});
  put(kAllocated);
  const List first = said();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(
      first[0].starts_with("0000-03-00-2: d.example/DeviceLost False Offered 'the device is offered' "))
      << first[0];
  EXPECT_NE(first[0].find(" d.example/DeviceReady False NotReady 'carrier: down' 2027-"), std::string::npos);
  EXPECT_EQ(cluster.log.back().body.find({"metadata", "name"})->string()->compare("claim"), 0);
}

TEST_F(BindingConditionsTest, IgnoresForeignDevicesAndPreparedClaims) {
  conditions.start();
  word.reset();
  put(kAllocated);
  EXPECT_EQ(said(), List{}) << "another node's, or nothing is known yet";
  word = BindingReadiness{};
  is_prepared = true;
  conditions.look();
  EXPECT_EQ(said(), List{}) << "its pod is bound";
  is_prepared = false;
  conditions.look();
  EXPECT_EQ(said().size(), 1u);
  EXPECT_TRUE(conditions.claims() == 1);
  cluster.remove(kube::kResourceClaims, "claim", "ns");
  scheduler.advance(Millis{1'000});
  EXPECT_EQ(conditions.claims(), 0u);
}

TEST_F(BindingConditionsTest, RetriesAndReportsAFailureOnce) {
  conditions.start();
  int failures = 3;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "apply" || failures-- <= 0) return std::nullopt;
    return kube::Failure{.code = Errc::kBusy, .http_status = 503, .what = "away"};
  };
  put(kAllocated);
  scheduler.advance(Millis{60'000});
  EXPECT_EQ(failures, -1);
  EXPECT_EQ(log.count("binding condition not written"), 1u);
}

// Red when the time of a transition changes without one, or when an unchanged condition is written again.
TEST(WithConditions, ChangesOnlyDifferingConditions) {
  const std::set<std::string> drivers{"d.example"};
  const BindingClaim claim = decode_binding_claim(*kube::decode_json(kAllocated), drivers);
  ASSERT_EQ(claim.devices.size(), 1u) << "one is another driver's, one has no conditions";
  EXPECT_EQ(claim.devices[0].device, "0000-03-00-2");
  const auto judge = [](BindingReadiness word) {
    return [word](const BindingDevice&) -> std::optional<BindingReadiness> { return word; };
  };
  const auto waits = with_conditions(claim, "d.example", judge({Is::kWaiting, "a"}), kStarted);
  ASSERT_TRUE(waits);
  EXPECT_FALSE(with_conditions(*waits, "d.example", judge({Is::kWaiting, "a"}), "later"));
  EXPECT_FALSE(with_conditions(*waits, "other.example", judge({Is::kReady, ""}), "later"));
  const auto why = with_conditions(*waits, "d.example", judge({Is::kWaiting, "b"}), "later");
  EXPECT_EQ(why->devices[0].conditions.at("d.example/DeviceReady").since, kStarted);
  EXPECT_EQ(why->devices[0].conditions.at("d.example/DeviceReady").message, "b");
  const auto ready = with_conditions(*why, "d.example", judge({Is::kReady, ""}), "later");
  EXPECT_TRUE(ready->devices[0].conditions.at("d.example/DeviceReady").is_true);
  EXPECT_EQ(ready->devices[0].conditions.at("d.example/DeviceReady").since, "later");
  EXPECT_EQ(ready->devices[0].conditions.at("d.example/DeviceLost").since, kStarted);
  const auto lost = with_conditions(*ready, "d.example", judge({Is::kLost, "gone"}), "last");
  EXPECT_FALSE(lost->devices[0].conditions.at("d.example/DeviceReady").is_true);
  EXPECT_TRUE(lost->devices[0].conditions.at("d.example/DeviceLost").is_true);
  EXPECT_EQ(lost->devices[0].conditions.at("d.example/DeviceLost").message, "gone");

  Json stored = *kube::decode_json(kAllocated);
  Json status = *stored.find("status");
  status.set("devices", *kube::decode_json(encode_conditions(*lost))->find({"status", "devices"}));
  stored.set("status", std::move(status));
  EXPECT_EQ(decode_binding_claim(stored, drivers).devices, lost->devices);
}

}  // namespace
}  // namespace binding_conditions_test
}  // namespace sliced::daemon
