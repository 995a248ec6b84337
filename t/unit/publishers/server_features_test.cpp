#include "publishers/server_features.h"

#include <gtest/gtest.h>

#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::publishers {
namespace {

using namespace std::chrono_literals;

struct ServerFeaturesTest : testing::Test {
  ServerFeaturesTest() { start(""); }
  void start(const std::string& scheduler_version) {
    abilities = std::make_unique<ServerFeatures>(
        kube::ClusterPorts{cluster, scheduler, log, [] { return 0.0; }}, "dra.networking", "node-a",
        scheduler_version, [this] { ++changes; });
  }
  // As a server does without the feature gate. list: "devices", or "" for the spec itself.
  void drop(const std::string& list, const std::string& field) {
    const auto erase = [field](kube::Json& from) {
      std::erase_if(*from.object(), [&](const auto& member) { return member.first == field; });
    };
    cluster.on_admit = [=](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
      kube::Json spec = *object.find("spec");
      if (list.empty()) erase(spec);
      if (const kube::Json* found = spec.find(list); found != nullptr && found->array() != nullptr) {
        kube::Json items = *found;
        for (kube::Json& item : *items.array()) erase(item);
        spec.set(list, std::move(items));
      }
      object.set("spec", std::move(spec));
      return std::nullopt;
    };
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  int changes = 0;
  std::unique_ptr<ServerFeatures> abilities;
};

TEST_F(ServerFeaturesTest, AFieldStoredAsSentIsSupported) {
  for (const ServerFeature one : {ServerFeature::kListAttributes, ServerFeature::kCounters,
                                  ServerFeature::kSharedDevices, ServerFeature::kSkipNodeOperations,
                                  ServerFeature::kCompatibilityGroups, ServerFeature::kBindingConditions}) {
    abilities->want(one);
    EXPECT_FALSE(abilities->has(one)) << "unknown is no";
  }
  EXPECT_FALSE(abilities->settled());
  scheduler.advance(1s);
  for (const ServerFeature one : {ServerFeature::kListAttributes, ServerFeature::kCounters,
                                  ServerFeature::kSharedDevices, ServerFeature::kSkipNodeOperations,
                                  ServerFeature::kCompatibilityGroups, ServerFeature::kBindingConditions})
    EXPECT_TRUE(abilities->has(one));
  EXPECT_TRUE(abilities->settled());
  EXPECT_EQ(cluster.objects(kube::kResourceSlices).size(), 0u) << "a dry run stores nothing";
  EXPECT_EQ(changes, 1);
}

TEST_F(ServerFeaturesTest, ADroppedFieldIsNotSupported) {
  const struct {
    ServerFeature ability;
    const char *list, *field;
  } rows[] = {{ServerFeature::kCounters, "", "sharedCounters"},
              {ServerFeature::kCounters, "devices", "consumesCounters"},
              {ServerFeature::kSharedDevices, "devices", "allowMultipleAllocations"},
              {ServerFeature::kSharedDevices, "devices", "capacity"},
              {ServerFeature::kListAttributes, "devices", "attributes"},
              {ServerFeature::kBindingConditions, "devices", "bindingConditions"},
              {ServerFeature::kBindingConditions, "devices", "bindingFailureConditions"},
              {ServerFeature::kSkipNodeOperations, "", "skipNodeOperations"}};
  for (const auto& row : rows) {
    start("");
    drop(row.list, row.field);
    abilities->want(row.ability);
    scheduler.advance(1s);
    EXPECT_TRUE(abilities->settled());
    EXPECT_FALSE(abilities->has(row.ability)) << row.field;
  }
}

// A server without the gate stores the counters and drops the groups. Red when that counts as a loss of the counters too.
TEST_F(ServerFeaturesTest, DroppedGroupsDoNotDisableCounters) {
  cluster.on_admit = [](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
    auto slice = kube::decode_resource_slice(object).value();
    for (kube::DevicePtr& device : slice.devices)
      device.edit([](kube::Device& one) {
        for (kube::CounterConsumption& consumed : one.consumes_counters)
          consumed.compatibility_groups.clear();
      });
    object.set("spec", *kube::encode_resource_slice(slice).find("spec"));
    return std::nullopt;
  };
  for (const ServerFeature one : {ServerFeature::kCounters, ServerFeature::kCompatibilityGroups})
    abilities->want(one);
  scheduler.advance(1s);
  EXPECT_TRUE(abilities->has(ServerFeature::kCounters));
  EXPECT_FALSE(abilities->has(ServerFeature::kCompatibilityGroups));

  const kube::Counters token{{"c", kube::Quantity(1)}};
  kube::ResourceSlice sent, stored;
  sent.devices = {kube::Device{.name = "x", .consumes_counters = {{"s", token, {"g"}}}}};
  stored.devices = {kube::Device{.name = "x", .consumes_counters = {{"s", token}}}};
  EXPECT_EQ(dropped_features(sent, stored), std::set<ServerFeature>{ServerFeature::kCompatibilityGroups});
  stored.devices = {kube::Device{.name = "x"}};
  EXPECT_EQ(dropped_features(sent, stored), std::set<ServerFeature>{ServerFeature::kCounters});
}

// The scheduler adds counters up wrongly before 1.36.2, whatever the API server stores.
TEST_F(ServerFeaturesTest, CountersNeedASchedulerThatSupportsThem) {
  cluster.git_version = "v1.36.1";
  abilities->want(ServerFeature::kCounters);
  scheduler.advance(1s);
  EXPECT_FALSE(abilities->has(ServerFeature::kCounters));
  start("v1.36.2");
  abilities->want(ServerFeature::kCounters);
  scheduler.advance(1s);
  EXPECT_TRUE(abilities->has(ServerFeature::kCounters)) << "the administrator knows better";
  cluster.git_version = "v1.36.3";
  start("v1.35.0");
  abilities->want(ServerFeature::kCounters);
  scheduler.advance(1s);
  EXPECT_FALSE(abilities->has(ServerFeature::kCounters));
  for (const char* version : {"v1.36.2", "1.36.2", "v1.36.2+k3s1", "v1.37.0-alpha.1", "v2.0.0"})
    EXPECT_TRUE(has_counting_scheduler(version)) << version;
  for (const char* version : {"", "v1.36.1", "v1.35.9", "v1.36", "unknown", "v1.36.x", "v1.36.-2"})
    EXPECT_FALSE(has_counting_scheduler(version)) << version;
}

TEST_F(ServerFeaturesTest, ProbesAnotherServerAgain) {
  drop("", "sharedCounters");
  abilities->want(ServerFeature::kCounters);
  scheduler.advance(1s);
  ASSERT_FALSE(abilities->has(ServerFeature::kCounters));
  cluster.on_admit = {};
  abilities->server_may_have_changed();
  scheduler.advance(1s);
  EXPECT_FALSE(abilities->has(ServerFeature::kCounters)) << "the same version can do the same";
  cluster.git_version = "v1.36.4";
  abilities->server_may_have_changed();
  scheduler.advance(1s);
  EXPECT_TRUE(abilities->has(ServerFeature::kCounters));
  abilities->lost(ServerFeature::kCounters);
  EXPECT_FALSE(abilities->has(ServerFeature::kCounters));
  EXPECT_EQ(changes, 3);
}

// Red when each answer of one of several servers is a probe at once.
TEST_F(ServerFeaturesTest, ProbesAlternatingServersAtGrowingIntervals) {
  abilities->want(ServerFeature::kSharedDevices);
  for (int i = 0; i < 600; ++i) {
    cluster.git_version = i % 2 == 0 ? "v1.36.4" : "v1.37.1";
    abilities->server_may_have_changed();
    scheduler.advance(1s);
  }
  EXPECT_LE(cluster.count("create", "resourceslices"), 30u);
  EXPECT_TRUE(abilities->has(ServerFeature::kSharedDevices));
}

// Red when counters stay until another server's turn to be probed has come.
TEST_F(ServerFeaturesTest, AnOldServerDisablesCountersImmediately) {
  cluster.git_version = "v1.36.4";
  abilities->want(ServerFeature::kCounters);
  scheduler.advance(1s);
  for (const char* version : {"v1.37.1", "v1.36.1"}) {
    ASSERT_TRUE(abilities->has(ServerFeature::kCounters)) << version;
    cluster.git_version = version;
    abilities->server_may_have_changed();
    scheduler.advance(10ms);
  }
  EXPECT_FALSE(abilities->has(ServerFeature::kCounters));
  EXPECT_EQ(changes, 2);
  cluster.git_version = "v1.37.1";
  scheduler.advance(5min);
  EXPECT_TRUE(abilities->has(ServerFeature::kCounters));
}

// Red when a ValidatingAdmissionPolicy's or a webhook's refusal is taken for a feature gate that is off.
TEST_F(ServerFeaturesTest, IgnoresARefusalByAdmission) {
  for (
      const char* words :
      {"ValidatingAdmissionPolicy 'p' with binding 'p' denied request: spec.pool.name: a, or what begins with a/, is wanted",
       "admission webhook \"w\" denied the request: spec.devices: not on Mondays"}) {
    start("");
    cluster.on_request = [words](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.verb != "create") return std::nullopt;
      return kube::Failure{.code = Errc::kInvalid, .http_status = 422, .reason = "Invalid", .what = words};
    };
    abilities->want(ServerFeature::kSharedDevices);
    scheduler.advance(1s);
    EXPECT_FALSE(abilities->settled()) << words;
    cluster.on_request = {};
    scheduler.advance(1min);
    EXPECT_TRUE(abilities->has(ServerFeature::kSharedDevices)) << words;
  }
}

// Red when who answers in the server's place takes an ability away.
TEST_F(ServerFeaturesTest, IgnoresAnswersOfOtherServers) {
  abilities->want(ServerFeature::kSharedDevices);
  scheduler.advance(1s);
  ASSERT_TRUE(abilities->has(ServerFeature::kSharedDevices));
  const auto refuse = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "create") return std::nullopt;
    return kube::Failure{
        .code = Errc::kInvalid, .http_status = 405, .what = "the server said 405: no POST here"};
  };
  const auto object_to = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "create") return std::nullopt;
    return kube::Failure{
        .code = Errc::kInvalid, .http_status = 400, .reason = "BadRequest", .what = "bad request"};
  };
  const auto babble = [](const fake::Request&, kube::Json& object) { object = kube::Json("welcome"); };
  for (const std::string how : {"refused", "objected to", "babble"}) {
    if (how == "refused") cluster.on_request = refuse;
    if (how == "objected to") cluster.on_request = object_to;
    if (how == "babble") cluster.on_reply = babble;
    cluster.git_version += "1";
    abilities->server_may_have_changed();
    scheduler.advance(1min);
    EXPECT_TRUE(abilities->has(ServerFeature::kSharedDevices)) << how;
    cluster.on_request = nullptr;
    cluster.on_reply = nullptr;
    scheduler.advance(5min);
    EXPECT_TRUE(abilities->has(ServerFeature::kSharedDevices)) << how;
  }
  EXPECT_EQ(changes, 1);
}

TEST_F(ServerFeaturesTest, NoAnswerMeansUnsupported) {
  cluster.set_network(fake::FakeCluster::Network::kBlackHole);
  abilities->want(ServerFeature::kSharedDevices);
  scheduler.advance(ServerFeatures::kAnswerMax + 1s);
  EXPECT_TRUE(abilities->settled());
  EXPECT_FALSE(abilities->has(ServerFeature::kSharedDevices));
  EXPECT_EQ(changes, 1);
}

}  // namespace
}  // namespace sliced::publishers
