// A faulty API server, or a proxy before it, does not change the offer.
#include <gtest/gtest.h>

#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;
using Fault = std::function<std::optional<kube::Failure>(const fake::Request&)>;

struct SourcesTest : testing::Test, fixture::DaemonWorld {
  static constexpr const char* kAll = "{configs: [{}]}";

  /// 12 VFs of one PF, all excluded, and 4 of another that are offered.
  void start_with_an_exclude() {
    make_pf(4);
    make_pf(12, "ens2f0", "0000:5e:00.0");
    put_policy("p", kAll);
    put_exposure("no-ens2f0", exclude("device.attributes[\"dra.networking\"].pfName == \"ens2f0\""));
    start();
    run(40s);
    before = offered();
    ASSERT_EQ(before.size(), 4u);
    writes_before = writes();
  }
  static std::string exclude(const std::string& cel) {
    return "{action: exclude, priority: 100, selector: {cel: '" + cel + "'}}";
  }
  /// Steps so finely that nothing can be offered in between, and looks each time.
  void stays_offered_for(Millis time) {
    for (Millis at{0}; at < time; at += 10ms) {
      run(10ms);
      ASSERT_EQ(offered(), before) << at.count() << " ms\n" << log.all();
    }
  }
  std::set<std::string> before;
  size_t writes_before = 0;
};

kube::Failure default_backend(const fake::Request& request) {
  return {Errc::kNotFound, 404, "", request.verb + ": default backend - 404", {}};
}

// The load balancer has lost its servers for a few seconds. Red when a 404 counts as "not installed", for any
// kind: the exclude goes, or the whole pool.
TEST_F(SourcesTest, ANotFoundOfALoadBalancerChangesNothing) {
  start_with_an_exclude();
  for (const Millis length : {1s, 3s, 40s}) {
    cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
      return default_backend(request);
    };
    cluster.end_watches();
    stays_offered_for(length);
    cluster.on_request = nullptr;
    stays_offered_for(length + 5s);
  }
  stays_offered_for(61s);
  EXPECT_EQ(cluster.open_watches(), 6u);
  EXPECT_EQ(writes(), writes_before);
}

// Each request has a backend of its own: some answer, some do not.
TEST_F(SourcesTest, AnIntermittentLoadBalancerChangesNothing) {
  start_with_an_exclude();
  size_t turn = 0;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    return ++turn * 7 % 5 < 3 ? std::optional(default_backend(request)) : std::nullopt;
  };
  for (int i = 0; i < 4; ++i) {
    cluster.compact();
    cluster.end_watches();
    stays_offered_for(20s);
  }
  cluster.on_request = nullptr;
  stays_offered_for(61s);
  EXPECT_EQ(writes(), writes_before);
}

// The server forgets kinds for a while, with well-formed answers, as while it starts.
TEST_F(SourcesTest, AKindThatIsForgottenBrieflyChangesNothing) {
  start_with_an_exclude();
  const std::vector<kube::Resource> kinds{kube::kSriovResourcePolicies, kube::kDeviceAttributes,
                                          kube::kDeviceExposurePolicies, kube::kResourceSlices, kube::kNodes};
  for (const kube::Resource& kind : kinds) cluster.unserve(kind);
  cluster.end_watches();
  stays_offered_for(20s);
  for (const kube::Resource& kind : kinds) cluster.install(kind);
  stays_offered_for(61s);
  EXPECT_EQ(writes(), writes_before);
}

// Two sources were lost, and both have changed: a policy is wider, and an exclude takes back what it adds.
// Red when the policy counts before the exclude is known.
TEST_F(SourcesTest, SourcesThatReturnTogetherCountOnce) {
  make_pf(4);
  put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0']}]}]}");
  start();
  run(40s);
  before = offered();
  ASSERT_EQ(before.size(), 1u);
  const auto refuse = [](const fake::Request& request) {
    return kube::Failure{Errc::kBusy, 503, "", request.verb + ": no", {}};
  };
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    const bool is_policy =
        request.plural == "sriovresourcepolicies" || request.plural == "deviceexposurepolicies";
    return is_policy ? std::optional(refuse(request)) : std::nullopt;
  };
  cluster.end_watches("sriovresourcepolicies");
  cluster.end_watches("deviceexposurepolicies");
  run(10s);
  put_policy("p", kAll);
  put_exposure("only-one", exclude("device.attributes[\"dra.networking\"].vfIndex > 0"));
  size_t tries = 0;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.plural != "deviceexposurepolicies" || ++tries > 4) return std::nullopt;
    return refuse(request);
  };
  bool was_first = false;
  for (int i = 0; i < 6'000; ++i) {
    run(10ms);
    was_first |= cluster.open_watches("sriovresourcepolicies") > 0 &&
                 cluster.open_watches("deviceexposurepolicies") == 0;
    ASSERT_EQ(offered(), before) << log.all();
  }
  EXPECT_TRUE(was_first) << "the test shows nothing";
  EXPECT_EQ(cluster.open_watches(), 6u);
}

// A server or proxy that ignores selectors. Red when anything of others is deleted or changed.
TEST_F(SourcesTest, IgnoresForeignObjects) {
  make_pf(4);
  put_policy("p", kAll);
  cluster.ignores_scopes = true;
  const auto put_slice = [this](const std::string& name, const std::string& driver, const std::string& node) {
    cluster.put_text(kube::kResourceSlices,
                     R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":")" + driver +
                         R"(","nodeName":")" + node +
                         R"(","pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[]}})");
  };
  put_slice("other-node", kDriver, "node-b");
  put_slice("other-driver", "gpu.example.com", "node-a");
  cluster.put(kube::kNodes, kube::decode_yaml("metadata: {name: node-b, labels: {zone: b}}").documents.at(0));
  cluster.put(
      kube::kSriovResourcePolicies,
      kube::decode_yaml("metadata: {name: q, namespace: other}\nspec: {priority: 9}").documents.at(0));
  start();
  run(5s);
  put_slice("other-later", "gpu.example.com", "node-b");
  run(5s);
  cluster.expire_watches();
  run(2min);
  EXPECT_EQ(offered().size(), 4u);
  for (const char* name : {"other-node", "other-driver", "other-later"})
    EXPECT_TRUE(cluster.object(kube::kResourceSlices, name)) << name;
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(log.count("objects outside the selector"), 4u) << "node, policies and two of slices\n"
                                                           << log.all();
}

// What a list lacks.
// ------------------------------------------------------------------------------------------------

struct MassTest : SourcesTest {
  /// As a server restored from an old backup: the objects are gone, and no event has said so.
  void lose(const std::function<void()>& removal) {
    cluster.end_watches();
    run(1ms);
    removal();
    cluster.compact();
    lost_at = scheduler.now();
  }
  Millis since_lost() const { return std::chrono::duration_cast<Millis>(scheduler.now() - lost_at); }
  Millis time_until(const std::function<bool()>& reached) {
    while (!reached() && since_lost() < 30s) run(10ms);
    return since_lost();
  }
  TimePoint lost_at{};
};

TEST_F(MassTest, WaitsForASecondListThatLacksThem) {
  make_pf(16);
  put_policy("p", kAll);
  start();
  run(40s);
  ASSERT_EQ(offered().size(), 16u);
  lose([&] { remove_policy("p"); });
  const Millis gone = time_until([&] { return offered().empty(); });
  EXPECT_GE(gone, 5s);
  EXPECT_LE(gone, 10s);
}

TEST_F(MassTest, KeepsEntriesThatTheSecondListHas) {
  make_pf(16);
  put_policy("p", kAll);
  put_policy("q", "{priority: 1, configs: [{}]}");
  start();
  run(40s);
  before = offered();
  writes_before = writes();
  std::vector<kube::Json> kept = cluster.objects(kube::kSriovResourcePolicies);
  lose([&] { remove_policy("p"), remove_policy("q"); });
  stays_offered_for(3s);
  for (kube::Json& object : kept) cluster.put(kube::kSriovResourcePolicies, std::move(object));
  stays_offered_for(20s);
  EXPECT_EQ(writes(), writes_before);
}

TEST_F(MassTest, RemovesAFewEntriesImmediately) {
  make_pf(8);
  put_policy("p", kAll);
  start();
  run(40s);
  lose([&] { remove_policy("p"); });
  EXPECT_LE(time_until([&] { return offered().empty(); }), 2s);
}

TEST_F(MassTest, RemovesLessThanHalfImmediately) {
  make_pf(24);
  put_policy("half", "{priority: 1, configs: [{resourceFilters: [{pfNames: ['ens1f0#0-11']}]}]}");
  put_policy("rest", kAll);
  start();
  run(40s);
  lose([&] {
    remove_policy("half");
    put_policy("rest", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#12-23']}]}]}");
  });
  EXPECT_LE(time_until([&] { return offered().size() == 12; }), 2s);
}

TEST_F(MassTest, AddsImmediately) {
  make_pf(16);
  put_policy("p", kAll);
  start();
  run(40s);
  lose([&] { put_policy("p", "{configs: [{resourceFilters: [{pfNames: [none]}]}]}"); });
  EXPECT_LE(time_until([&] { return offered().empty(); }), 2s) << "an edit that was learned by a list";
  put_policy("p", kAll);
  run(40s);
  ASSERT_EQ(offered().size(), 16u);
  remove_policy("p");
  run(100ms);
  EXPECT_TRUE(offered().empty()) << "a delete event";
}

// An exclude that is missing would add, which is worse than withdrawing.
TEST_F(MassTest, KeepsAMissingExclude) {
  make_pf(2);
  put_exposure("vfs", of_type("vf"));
  put_exposure("none", exclude("true"));
  start();
  run(40s);
  ASSERT_TRUE(offered().empty());
  lose([&] { remove_exposure("none"); });
  const Millis added = time_until([&] { return !offered().empty(); });
  EXPECT_GE(added, 5s);
  EXPECT_LE(added, 10s);
}

// So would one that says nothing which can be understood, or that there is no room for.
TEST_F(MassTest, KeepsAMissingExcludeOfUnknownScope) {
  const auto is_added_late = [&](const std::vector<std::string>& excludes) {
    lose([&] {
      for (const std::string& name : excludes) remove_exposure(name);
    });
    const Millis added = time_until([&] { return !offered().empty(); });
    EXPECT_GE(added, 5s);
    EXPECT_LE(added, 10s);
  };
  make_pf(2);
  put_exposure("vfs", of_type("vf"));
  put_exposure("broken", exclude("nope"));
  start();
  run(40s);
  ASSERT_TRUE(offered().empty());
  is_added_late({"broken"});
  remove_exposure("vfs");
  run(40s);
  ASSERT_TRUE(offered().empty());
  std::string values;  // half a MiB: there is no room for all of them
  for (int i = 0; i < 6'000; ++i) values += "a-value-of-some-label-" + std::to_string(i) + ", ";
  std::vector<std::string> large;
  for (int i = 0; i < 8; ++i) {
    large.push_back("e" + std::to_string(i));
    put_exposure(large.back(),
                 "{action: exclude, selector: {cel: 'false'}, nodeSelector: {nodeSelectorTerms: "
                 "[{matchExpressions: [{key: a, operator: NotIn, values: [" +
                     values + "b]}]}]}}");
  }
  run(1s);
  put_exposure("vfs", of_type("vf"));
  run(40s);
  ASSERT_TRUE(offered().empty());
  is_added_late(large);
}

// Without its attributes an entry would match other claims. Red when DeviceAttributes that are missing from
// one list are removed immediately.
TEST_F(MassTest, KeepsMissingAttributes) {
  make_pf(16);
  const auto put = [&] {
    cluster.put(
        kube::kDeviceAttributes,
        kube::decode_yaml("metadata: {name: gold, namespace: dra-driver-sriov, labels: {tier: gold}}\n"
                          "spec: {attributes: {k8s.cni.cncf.io/resourceName: {string: a/gold}}}")
            .documents.at(0));
  };
  put();
  put_policy("p", "{configs: [{deviceAttributesSelector: {matchLabels: {tier: gold}}}]}");
  start();
  run(40s);
  const auto named = [&] {
    size_t count = 0;
    for (const auto& slice : slices())
      for (const kube::Device& device : slice.devices)
        count += device.attributes.contains("k8s.cni.cncf.io/resourceName");
    return count;
  };
  ASSERT_EQ(named(), 16u);
  const auto forget = [&] { cluster.remove(kube::kDeviceAttributes, "gold", "dra-driver-sriov"); };
  lose(forget);
  const Millis gone = time_until([&] { return named() == 0; });
  EXPECT_GE(gone, 5s);
  EXPECT_LE(gone, 10s);
  put();
  run(40s);
  ASSERT_EQ(named(), 16u);
  lose(forget);
  run(3s);
  put();
  for (int i = 0; i < 400; ++i, run(50ms)) ASSERT_EQ(named(), 16u) << i;
}

TEST_F(MassTest, AppliesToExposurePolicies) {
  make_pf(16);
  put_exposure("vfs", of_type("vf"));
  start();
  run(40s);
  ASSERT_EQ(offered().size(), 16u);
  lose([&] { remove_exposure("vfs"); });
  const Millis gone = time_until([&] { return offered().empty(); });
  EXPECT_GE(gone, 5s);
  EXPECT_LE(gone, 10s);
}

}  // namespace
}  // namespace sliced
