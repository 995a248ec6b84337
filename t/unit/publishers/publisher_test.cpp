#include "publishers/publisher.h"

#include <gtest/gtest.h>

#include "policy/entry_validation.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/pools.h"
#include "watchers/slice_watcher.h"

namespace sliced::publishers {
namespace {

using namespace std::chrono_literals;
using fake::kResourceSlices;
using fixture::devices;
using fixture::kDriver;
using fixture::kNode;
using fixture::pool;

// The publisher beside the real watcher, over a stepped API server.
struct PublisherTest : testing::Test {
  PublisherTest() { start(); }

  void start() {
    watcher.reset();
    publisher = std::make_unique<Publisher>(
        kube::ClusterPorts{cluster, scheduler, log, [] { return 0.0; }}, kDriver,
        Publisher::Handlers{.on_refused =
                                [this](std::vector<RefusedEntry> entries) {
                                  refused.insert(refused.end(), entries.begin(), entries.end());
                                },
                            .on_lost =
                                [this](const std::set<ServerFeature>& abilities) {
                                  lost.insert(abilities.begin(), abilities.end());
                                },
                            .on_adopted =
                                [this](const kube::ResourceSlice& slice) {
                                  met += slice.devices.size();
                                  if (awaits_when_met) publisher->await_desired();
                                }});
    watcher = watchers::make_slice_watcher(
        {cluster, scheduler, log, [] { return 0.0; }}, kDriver, kNode.name,
        [this](SourceEvent<watchers::SliceWatcher::Item> event) { forward(event); });
    watcher->start();
  }

  static kube::ResourceSlice slice_of(const watchers::SliceWatcher::Item& item) {
    return item.value ? *item.value : unread_slice(item.id.name, item.uid, item.resource_version);
  }

  // What asks without end is seen to, and not after all that it would ask.
  void advance_ten_minutes() {
    const size_t before = cluster.log.size();
    for (int second = 0; second < 600 && cluster.log.size() < before + 2'000; ++second) scheduler.advance(1s);
  }

  void forward(const SourceEvent<watchers::SliceWatcher::Item>& event) {
    if (const auto* now = std::get_if<Changed<watchers::SliceWatcher::Item>>(&event))
      publisher->on_slices(Changed<kube::ResourceSlice>{slice_of(now->now)});
    else if (const auto* gone = std::get_if<Removed<watchers::SliceWatcher::Item>>(&event))
      publisher->on_slices(Removed<kube::ResourceSlice>{{gone->id.name}});
    else {
      Relisted<kube::ResourceSlice> all;
      for (const auto& item : std::get<Relisted<watchers::SliceWatcher::Item>>(event).all)
        all.all.push_back(slice_of(item));
      publisher->on_slices(all);
    }
  }

  std::vector<kube::ResourceSlice> stored() {
    std::vector<kube::ResourceSlice> out;
    for (const kube::Json& object : cluster.objects(kResourceSlices))
      out.push_back(*kube::decode_resource_slice(object));
    return out;
  }
  // Under the name of the first of ours, without devices.
  static kube::ResourceSlice wanted_slice() {
    kube::ResourceSlice slice;
    slice.meta.name = slice_name(0, kDriver, kNode.name, kNode.name, 0);
    slice.driver = kDriver;
    slice.node_name = kNode.name;
    slice.pool = {kNode.name, 1, 1};
    return slice;
  }
  kube::ResourceSlice put(const kube::ResourceSlice& slice) {
    return *kube::decode_resource_slice(cluster.put(kResourceSlices, kube::encode_resource_slice(slice)));
  }
  // As a server that ignores fieldSelector: the publisher is shown every slice there is.
  void show_all() {
    Relisted<kube::ResourceSlice> all{stored(), "shown"};
    publisher->on_slices(all);
  }
  size_t devices_stored() {
    size_t count = 0;
    for (const auto& slice : stored()) count += slice.devices.size();
    return count;
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::vector<RefusedEntry> refused;
  std::set<ServerFeature> lost;
  size_t met = 0;
  bool awaits_when_met = false;
  std::unique_ptr<Publisher> publisher;
  std::unique_ptr<watchers::SliceWatcher> watcher;
};

TEST_F(PublisherTest, WritesNothingBeforeOwnSlicesAreListed) {
  watcher.reset();
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(10s);
  EXPECT_EQ(cluster.writes().size(), 0u);
}

TEST_F(PublisherTest, ConvergesAndWritesNothingAfterARestart) {
  publisher->set_desired({pool(devices(0, 300))}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(stored().size(), 3u);
  EXPECT_EQ(devices_stored(), 300u);
  EXPECT_TRUE(publisher->converged());
  const size_t writes = cluster.writes().size();
  EXPECT_EQ(writes, 3u);
  scheduler.advance(1h);
  start();
  publisher->set_desired({pool(devices(0, 300))}, kNode);
  scheduler.advance(10s);
  EXPECT_EQ(cluster.writes().size(), writes);
}

TEST_F(PublisherTest, RemovesADeviceInOneImmediateWrite) {
  publisher->set_desired({pool(devices(0, 300))}, kNode);
  scheduler.advance(1s);
  const size_t writes = cluster.writes().size();
  publisher->set_desired({pool(devices(1, 299))}, kNode);
  scheduler.advance(20ms);
  EXPECT_EQ(cluster.writes().size(), writes + 1);
  EXPECT_EQ(devices_stored(), 299u);
}

// Both right after our own write, when the watch has not shown it yet, and later.
TEST_F(PublisherTest, RestoresDeletedAndEditedSlices) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  for (const Millis pause : {1ms, 2ms, 3ms, 5ms, 20ms, 60'000ms}) {
    SCOPED_TRACE(pause.count());
    scheduler.advance(pause);
    if (stored().empty()) continue;
    cluster.remove(kResourceSlices, stored()[0].meta.name);
    scheduler.advance(2s);
    ASSERT_EQ(stored().size(), 1u);
    EXPECT_EQ(devices_stored(), 3u);
    kube::ResourceSlice edited = stored()[0];
    edited.devices.pop_back();
    cluster.put(kResourceSlices, kube::encode_resource_slice(edited));
    scheduler.advance(2s);
    EXPECT_EQ(devices_stored(), 3u);
    scheduler.advance(10min);
  }
}

TEST_F(PublisherTest, BacksOffAgainstARepeatingForeignWriter) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  const size_t before = cluster.writes().size();
  for (int i = 0; i < 600; ++i) {  // a minute of deletes, ten a second
    for (const auto& slice : stored()) cluster.remove(kResourceSlices, slice.meta.name);
    scheduler.advance(100ms);
  }
  EXPECT_LT(cluster.writes().size() - before, 40u);
  EXPECT_GE(log.count("ResourceSlices changed again by another writer"), 1u);
  scheduler.advance(3min);
  EXPECT_EQ(devices_stored(), 3u);
}

TEST_F(PublisherTest, ALostAnswerCreatesNoDuplicate) {
  bool lost = false;
  cluster.on_answer = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "create" || lost) return std::nullopt;
    lost = true;
    return kube::Failure{.code = Errc::kIo, .what = "connection reset"};
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(10s);
  EXPECT_EQ(stored().size(), 1u);
  EXPECT_TRUE(publisher->converged());
}

// Its entries may be allocated: on_adopted gets the slice before it is overwritten.
TEST_F(PublisherTest, RecordsReservationsFoundByACreate) {
  awaits_when_met = true;
  const kube::ResourceSlice older = diff_pools({pool(devices(0, 5))}, {}, kNode, kDriver, {}).creates.at(0);
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "create" && cluster.objects(kResourceSlices).empty())
      cluster.put(kResourceSlices, kube::encode_resource_slice(older));
    return std::nullopt;
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(10s);
  EXPECT_EQ(met, 5u);
  EXPECT_EQ(devices_stored(), 5u);
  EXPECT_FALSE(publisher->converged());
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(devices_stored(), 3u);
  EXPECT_TRUE(publisher->converged());
}

TEST_F(PublisherTest, AvoidsANameInUse) {
  kube::ResourceSlice foreign;
  foreign.meta.name = slice_name(0, kDriver, kNode.name, kNode.name, 0);
  foreign.driver = "other.example.com";
  foreign.node_name = "node-b";
  foreign.pool = {"node-b", 1, 1};
  cluster.put(kResourceSlices, kube::encode_resource_slice(foreign));
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(5s);
  EXPECT_EQ(stored().size(), 2u);
  EXPECT_EQ(devices_stored(), 3u);
  EXPECT_EQ(cluster.object(kResourceSlices, foreign.meta.name)->find("spec")->text("driver"),
            "other.example.com");
  EXPECT_EQ(log.count("name of a ResourceSlice in use"), 1u);
}

// As for a kubelet that starts. The watch reports both before our answer arrives. Red when the answer takes
// precedence: the slice would be missing until the next list.
TEST_F(PublisherTest, RestoresASliceDeletedBehindAWrite) {
  std::set<std::string> verbs{"create", "update"};
  cluster.on_answer = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (verbs.erase(request.verb) > 0) cluster.remove(kResourceSlices, request.name);
    return std::nullopt;
  };
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(3s);
  EXPECT_EQ(devices_stored(), 1u) << log.all();
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(3s);
  EXPECT_EQ(devices_stored(), 3u) << log.all();
  EXPECT_TRUE(verbs.empty());
}

// As by a program that restores deleted objects. Red when it counts as the deleted slice, and continues to offer.
TEST_F(PublisherTest, DeletesASliceRecreatedBehindADelete) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  ASSERT_EQ(devices_stored(), 3u);
  kube::ResourceSlice again = stored().front();
  again.meta.uid = again.meta.resource_version = "";
  bool is_first = true;
  cluster.on_answer = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "delete" && std::exchange(is_first, false)) put(again);
    return std::nullopt;
  };
  publisher->set_desired({}, kNode);
  scheduler.advance(3s);
  EXPECT_FALSE(is_first);
  EXPECT_EQ(devices_stored(), 0u) << log.all();
}

// Red when the object that an update finds in place of ours is stored as a slice of the watch: the watch
// never reports its removal.
TEST_F(PublisherTest, ForgetsAForeignObjectFoundByAnUpdate) {
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(1s);
  kube::ResourceSlice foreign = wanted_slice();
  foreign.driver = "other.example.com";
  foreign.node_name = "node-b";
  cluster.watch_lag = 5s;
  cluster.remove(kResourceSlices, foreign.meta.name);
  put(foreign);
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "update") return std::nullopt;
    return kube::Failure{.code = Errc::kNotFound, .http_status = 404, .what = "default backend - 404"};
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(3s);
  cluster.on_request = nullptr;
  scheduler.advance(1min);
  EXPECT_EQ(devices_stored(), 3u) << log.all();
  EXPECT_EQ(publisher->observed().size(), 1u);
  EXPECT_EQ(log.count("of another driver or node received"), 0u);
  EXPECT_EQ(log.count("answers 404 to the write"), 0u);
}

// Red when every slice that the watch reported counts as ours.
TEST_F(PublisherTest, IgnoresAndReportsForeignSlicesOnce) {
  kube::ResourceSlice gpu, other_node;
  gpu.meta.name = "node-a-gpu.example.com-x1";
  gpu.driver = "gpu.example.com";
  gpu.node_name = "node-a";
  gpu.pool = {"node-a", 3, 1};
  other_node = gpu;
  other_node.meta.name = slice_name(0, kDriver, "node-b", "node-b", 0);
  other_node.driver = kDriver;
  other_node.node_name = other_node.pool.name = "node-b";
  const auto before = {put(gpu), put(other_node)};
  scheduler.advance(1s);
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  for (int i = 0; i < 5; ++i) {
    show_all();
    scheduler.advance(5s);
  }
  for (const kube::ResourceSlice& slice : before)
    EXPECT_EQ(*kube::decode_resource_slice(*cluster.object(kResourceSlices, slice.meta.name)), slice);
  EXPECT_EQ(devices_stored(), 3u);
  EXPECT_TRUE(publisher->converged());
  EXPECT_EQ(log.count("of another driver or node received"), 1u) << log.all();
}

// A slice that cannot be decoded is deleted if, and only if, its driver and node are ours.
TEST_F(PublisherTest, DeletesAnUnreadableSliceOnlyIfItIsOwn) {
  const auto unreadable = [&](const std::string& name, const std::string& driver, const std::string& node) {
    cluster.put_text(kResourceSlices,
                     R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":")" + driver +
                         R"(","nodeName":")" + node +
                         R"(","pool":{"name":"p","generation":"x","resourceSliceCount":1}}})");
  };
  unreadable("ours", kDriver, "node-a");
  unreadable("gpus", "gpu.example.com", "node-a");
  unreadable("elsewhere", kDriver, "node-b");
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  Relisted<kube::ResourceSlice> all{{}, "shown"};
  for (const char* name : {"ours", "gpus", "elsewhere"}) {
    const auto object = cluster.object(kResourceSlices, name);
    const kube::ObjectMeta meta = kube::decode_object_meta(*object).value();
    all.all.push_back(unread_slice(name, meta.uid, meta.resource_version));
  }
  publisher->on_slices(all);
  scheduler.advance(10s);
  EXPECT_FALSE(cluster.object(kResourceSlices, "ours").has_value());
  EXPECT_TRUE(cluster.object(kResourceSlices, "gpus").has_value());
  EXPECT_TRUE(cluster.object(kResourceSlices, "elsewhere").has_value());
  EXPECT_TRUE(publisher->converged());
}

// Annotations of others may make a slice too large to decode or to read. Red when the desired slices are not
// published then, or when a slice of ours stays.
TEST_F(PublisherTest, ReplacesAnUndecodableSliceWithoutDelayingOthers) {
  kube::ResourceSlice slice = wanted_slice();
  slice.meta.annotations["theirs"] = std::string(4u << 20, 'x');
  cluster.put(kResourceSlices, kube::encode_resource_slice(slice));
  kube::ResourceSlice hidden = slice;
  hidden.meta.name = "00000-hidden";
  cluster.put(kResourceSlices, kube::encode_resource_slice(hidden));
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "get" || request.name != "00000-hidden") return std::nullopt;
    return kube::Failure{.code = Errc::kTooLarge, .what = "the body is larger than 8 MiB"};
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1min);
  const auto now = cluster.object(kResourceSlices, slice.meta.name);
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(kube::decode_resource_slice(*now)->devices.size(), 3u) << log.all();
  EXPECT_FALSE(kube::decode_resource_slice(*now)->meta.annotations.contains("theirs"));
  cluster.on_request = nullptr;
  scheduler.advance(2min);
  EXPECT_FALSE(cluster.object(kResourceSlices, "00000-hidden").has_value());
  EXPECT_TRUE(publisher->converged());
}

// With a name of ours, and not readable.
TEST_F(PublisherTest, LeavesANameToAnUnreadableObject) {
  const std::string name = wanted_slice().meta.name;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.name != name) return std::nullopt;
    if (request.verb == "create")
      return kube::Failure{.code = Errc::kConflict, .http_status = 409, .what = "already exists"};
    return kube::Failure{.code = Errc::kTooLarge, .what = "the body is larger than 8 MiB"};
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(10s);
  EXPECT_EQ(devices_stored(), 3u) << log.all();
}

// Red when the answer of a load balancer that has no server behind it takes a slice for gone.
TEST_F(PublisherTest, ANotFoundOfALoadBalancerDeletesNothing) {
  publisher->set_desired({pool(devices(0, 129))}, kNode);
  scheduler.advance(1s);
  ASSERT_EQ(stored().size(), 2u);
  cluster.on_request = [](const fake::Request&) {
    return std::optional(kube::Failure{
        .code = Errc::kNotFound, .http_status = 404, .what = "the server said 404: default backend"});
  };
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(5s);
  EXPECT_FALSE(publisher->converged());
  cluster.on_request = nullptr;
  scheduler.advance(1min);
  EXPECT_EQ(stored().size(), 1u);
  EXPECT_EQ(devices_stored(), 1u);
  EXPECT_TRUE(publisher->converged());
}

// The read of the object with a name may fail with kBusy, too.
TEST_F(PublisherTest, HonoursRetryAfter) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "update")
      return kube::Failure{
          .code = Errc::kNotFound, .http_status = 404, .reason = "NotFound", .what = "not found"};
    if (request.verb != "get") return std::nullopt;
    return kube::Failure{
        .code = Errc::kBusy, .http_status = 429, .what = "too many requests", .retry_after = 20s};
  };
  publisher->set_desired({pool(devices(0, 2))}, kNode);
  scheduler.advance(15s);
  EXPECT_EQ(cluster.count("get", "resourceslices"), 1u);
  cluster.on_request = nullptr;
  scheduler.advance(10s);
  EXPECT_EQ(devices_stored(), 2u);
}

// Red when a text that is about nothing takes a name from us.
TEST_F(PublisherTest, ReadsTheObjectOfItsNameBeforeChoosingAnother) {
  scheduler.advance(1s);
  cluster.watch_lag = 1h;
  put(diff_pools({pool(devices(0, 2))}, {}, kNode, kDriver, {}).creates.at(0));
  cluster.on_reply = [](const fake::Request& request, kube::Json& object) {
    if (request.verb == "get") object = kube::Json("try again later");
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1min);
  cluster.on_reply = nullptr;
  scheduler.advance(1min);
  EXPECT_EQ(log.count("name of a ResourceSlice in use"), 0u) << log.all();
  EXPECT_EQ(stored().size(), 1u);
  EXPECT_EQ(devices_stored(), 3u);
}

TEST_F(PublisherTest, DeletesWithUidAndResourceVersion) {
  publisher->set_desired({pool(devices(0, 129))}, kNode);
  scheduler.advance(1s);
  // Somebody edits the slice that is about to go, and the watch does not say so in time.
  kube::ResourceSlice edited = stored()[1];
  cluster.watch_lag = 3s;
  edited.meta.labels["kept"] = "for-a-reason";
  edited.meta.finalizers = {"example.com/hold"};
  put(edited);
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(stored()[1].meta.labels.count("kept"), 1u);
  EXPECT_EQ(stored()[1].devices.size(), 1u) << "what is not known is not overwritten either";
  scheduler.advance(1min);
  EXPECT_TRUE(stored()[1].meta.being_deleted);
  EXPECT_TRUE(stored()[1].devices.empty());
  EXPECT_TRUE(publisher->converged());
}

TEST_F(PublisherTest, EmptiesAndReplacesASliceHeldByAFinalizer) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  kube::ResourceSlice held = stored()[0];
  held.meta.finalizers = {"example.com/hold"};
  held.meta.labels["team"] = "net";
  put(held);
  scheduler.advance(1s);
  publisher->set_desired({pool(devices(0, 4))}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(stored()[0].meta.finalizers, held.meta.finalizers) << "an update keeps them";
  EXPECT_EQ(stored()[0].meta.labels, held.meta.labels);
  cluster.remove_or_terminate(kResourceSlices, *cluster.object(kResourceSlices, held.meta.name));
  scheduler.advance(3s);
  ASSERT_EQ(stored().size(), 2u);
  EXPECT_EQ(devices_stored(), 4u);
  EXPECT_TRUE(publisher->converged());
  const size_t writes = cluster.writes().size();
  advance_ten_minutes();
  EXPECT_EQ(cluster.writes().size(), writes);
  kube::ResourceSlice freed = *kube::decode_resource_slice(*cluster.object(kResourceSlices, held.meta.name));
  EXPECT_TRUE(freed.devices.empty());
  cluster.remove(kResourceSlices, held.meta.name);
  scheduler.advance(10s);
  EXPECT_EQ(stored().size(), 1u);
  EXPECT_EQ(devices_stored(), 4u);
  EXPECT_EQ(cluster.writes().size(), writes);
}

TEST_F(PublisherTest, EmptiesAPoolHeldByAFinalizer) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  kube::ResourceSlice held = stored()[0];
  held.meta.finalizers = {"example.com/hold"};
  put(held);
  scheduler.advance(1s);
  publisher->set_desired({}, kNode);
  scheduler.advance(3s);
  ASSERT_EQ(stored().size(), 1u);
  EXPECT_TRUE(stored()[0].meta.being_deleted);
  EXPECT_EQ(devices_stored(), 0u);
  EXPECT_TRUE(publisher->converged());
  publisher->set_desired({pool(devices(0, 2))}, kNode);
  scheduler.advance(3s);
  EXPECT_EQ(stored().size(), 2u) << "its name counts as taken";
  EXPECT_EQ(devices_stored(), 2u);
  EXPECT_TRUE(publisher->converged());
}

// RBAC without the verb, or a webhook that always fails. Red when a slice that may not be deleted delays
// other withdrawals, or still offers devices.
TEST_F(PublisherTest, AWithdrawalDoesNotWaitForARefusedDelete) {
  for (const int status : {403, 500}) {
    SCOPED_TRACE(status);
    publisher->set_desired({pool(devices(0, 300))}, kNode);
    scheduler.advance(1min);
    cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.verb != "delete") return std::nullopt;
      return kube::Failure{
          .code = status == 403 ? Errc::kDenied : Errc::kIo, .http_status = status, .what = "not you"};
    };
    publisher->set_desired({pool(devices(0, 20))}, kNode);
    scheduler.advance(3s);
    EXPECT_EQ(devices_stored(), 20u);
    EXPECT_FALSE(publisher->converged()) << "it is tried again";
    publisher->set_desired({pool(devices(0, 10))}, kNode);
    scheduler.advance(3s);
    EXPECT_EQ(devices_stored(), 10u);
    const size_t writes = cluster.writes().size();
    advance_ten_minutes();
    EXPECT_LT(cluster.writes().size(), writes + 60);
    cluster.on_request = {};
    scheduler.advance(1min);
    EXPECT_EQ(stored().size(), 1u);
    EXPECT_EQ(devices_stored(), 10u);
    EXPECT_TRUE(publisher->converged());
  }
}

// Labels have no limit of their own, but an object has one. Red when a withdrawal waits for who wrote them.
TEST_F(PublisherTest, ASliceWithTooMuchForeignMetadataIsRecreated) {
  for (const int status : {413, 422}) {
    SCOPED_TRACE(status);
    publisher->set_desired({pool(devices(0, 3))}, kNode);
    scheduler.advance(1min);
    kube::ResourceSlice filled = stored()[0];
    filled.meta.labels["example.com/long"] = "x";
    put(filled);
    scheduler.advance(1s);
    cluster.on_admit = [&](const fake::Request& request, kube::Json& object) -> std::optional<kube::Failure> {
      if (request.verb != "update" || object.find({"metadata", "labels"}) == nullptr) return std::nullopt;
      kube::Failure failure{.code = Errc::kInvalid, .http_status = status, .what = "too large"};
      if (status == 422) failure.fields = {"metadata.labels"};
      if (status == 413) failure.code = Errc::kIo;
      return failure;
    };
    publisher->set_desired({pool(devices(0, 2))}, kNode);
    scheduler.advance(5s);
    ASSERT_EQ(stored().size(), 1u);
    EXPECT_EQ(devices_stored(), 2u);
    EXPECT_TRUE(stored()[0].meta.labels.empty());
    EXPECT_TRUE(publisher->converged());
    cluster.on_admit = {};
  }
}

// A proxy that refuses bodies of that size: the stored slice stays.
TEST_F(PublisherTest, KeepsASliceThatCannotBeRecreated) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1min);
  kube::ResourceSlice labelled = stored()[0];
  labelled.meta.labels["team"] = "net";
  put(labelled);
  scheduler.advance(1s);
  cluster.on_admit = [&](const fake::Request&, kube::Json&) {
    return kube::Failure{.code = Errc::kIo, .http_status = 413, .what = "too large"};
  };
  publisher->set_desired({pool(devices(0, 4))}, kNode);
  scheduler.advance(10min);
  ASSERT_EQ(stored().size(), 1u);
  EXPECT_EQ(devices_stored(), 3u);
  cluster.on_admit = {};
  scheduler.advance(1min);
  ASSERT_EQ(stored().size(), 1u);
  EXPECT_EQ(devices_stored(), 4u);
  EXPECT_TRUE(publisher->converged());
}

// The name is in use, and each read of it returns another object. Red when create and get follow each other
// without a wait.
TEST_F(PublisherTest, DoesNotLoopOnAConflictWithAnotherObject) {
  kube::ResourceSlice squatter;
  squatter.meta.name = slice_name(0, kDriver, kNode.name, kNode.name, 0);
  squatter.driver = "other.example.com";
  squatter.node_name = "node-b";
  squatter.pool = {"node-b", 1, 1};
  put(squatter);
  cluster.on_reply = [&](const fake::Request& request, kube::Json& object) {
    if (request.verb != "get") return;
    kube::ResourceSlice other = squatter;
    other.meta.name += "-x";
    other.driver = kDriver;
    other.node_name = other.pool.name = kNode.name;
    object = kube::encode_resource_slice(other);
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  advance_ten_minutes();
  EXPECT_LE(cluster.writes().size(), 40u);
  EXPECT_GE(log.count("the answer is about"), 1u);
}

TEST_F(PublisherTest, DoesNotLoopOnANameThatIsUsedAndFreed) {
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "create") return std::nullopt;
    return kube::Failure{
        .code = Errc::kConflict, .http_status = 409, .reason = "AlreadyExists", .what = "already exists"};
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  advance_ten_minutes();
  EXPECT_LE(cluster.count("create") + cluster.count("get"), 80u);
}

// Each row: a wrong value in the answer to a write.
TEST_F(PublisherTest, RefusesAnAnswerAboutAnotherObject) {
  const struct {
    const char* what;
    std::function<void(kube::ResourceSlice&)> alter;
  } rows[] = {
      {"name", [](auto& slice) { slice.meta.name += "-x"; }},
      {"uid", [](auto& slice) { slice.meta.uid = "other"; }},
      {"driver", [](auto& slice) { slice.driver = "other.example.com"; }},
      {"node", [](auto& slice) { slice.node_name = "node-b"; }},
      {"pool", [](auto& slice) { slice.pool.name = "node-b"; }},
      {"resourceVersion", [](auto& slice) { slice.meta.resource_version.clear(); }},
  };
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(1s);
  int count = 1;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    cluster.on_admit = [](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
      auto slice = *kube::decode_resource_slice(object);  // nor is it stored as it was sent
      slice.devices.clear();
      object = kube::encode_resource_slice(slice);
      return std::nullopt;
    };
    cluster.on_reply = [&](const fake::Request&, kube::Json& object) {
      auto slice = *kube::decode_resource_slice(object);
      row.alter(slice);
      object = kube::encode_resource_slice(slice);
    };
    const size_t before = cluster.writes().size();
    publisher->set_desired({pool(devices(0, ++count))}, kNode);
    advance_ten_minutes();
    EXPECT_LE(cluster.writes().size() - before, 60u);
    EXPECT_GE(log.count("the answer is about another object: " +
                        std::string(row.what == std::string("resourceVersion") ? "it has no" : row.what)),
              1u);
    cluster.on_admit = nullptr;
    cluster.on_reply = nullptr;
    scheduler.advance(2min);
    EXPECT_EQ(devices_stored(), static_cast<size_t>(count));
    EXPECT_TRUE(publisher->converged());
  }
}

// The server accepts every update without storing it. Red when the next one follows immediately, without end.
TEST_F(PublisherTest, BacksOffFromAServerThatStoresNothing) {
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(1s);
  kube::Json sent;
  cluster.on_admit = [&](const fake::Request& request, kube::Json& object) -> std::optional<kube::Failure> {
    sent = object;
    object = *cluster.object(kResourceSlices, request.name);
    return std::nullopt;
  };
  cluster.on_reply = [&](const fake::Request&, kube::Json& object) {
    auto slice = *kube::decode_resource_slice(sent);
    slice.meta.resource_version = "1";
    object = kube::encode_resource_slice(slice);
  };
  publisher->set_desired({pool(devices(0, 2))}, kNode);
  advance_ten_minutes();
  EXPECT_LE(cluster.writes().size(), 200u);
}

// The server changes each write and answers it with a failure, so that the watch reports it. Red when that
// event starts the next attempt.
TEST_F(PublisherTest, EventsOfFailedWritesDoNotTriggerRetries) {
  int64_t count = 0;
  cluster.on_admit = [&](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
    auto slice = *kube::decode_resource_slice(object);
    slice.devices = devices(0, 1, ++count);
    object = kube::encode_resource_slice(slice);
    return std::nullopt;
  };
  cluster.on_answer = [](const fake::Request&) {
    return kube::Failure{.code = Errc::kBusy, .http_status = 500, .what = "internal"};
  };
  publisher->set_desired({pool(devices(0, 2))}, kNode);
  advance_ten_minutes();
  EXPECT_LE(cluster.writes().size(), 60u);
}

// A server that answers at random, executes requests at random, and whose objects change at random.
// The rate of requests falls in each case; after the server recovers, the slices are written.
TEST_F(PublisherTest, BacksOffFromAServerWithRandomAnswers) {
  for (const uint64_t seed : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE(seed);
    uint64_t state = seed;
    const auto random = [&](uint64_t below) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      return (state >> 33) % below;
    };
    const auto failure = [&]() -> std::optional<kube::Failure> {
      const kube::Failure all[] = {
          {.code = Errc::kIo, .what = "reset"},
          {.code = Errc::kConflict, .http_status = 409, .reason = "AlreadyExists", .what = "conflict"},
          {.code = Errc::kNotFound, .http_status = 404, .what = "not found"},
          {.code = Errc::kBusy, .http_status = 429, .what = "busy", .retry_after = Millis{0}},
          {.code = Errc::kInvalid, .http_status = 422, .what = "invalid"},
          {.code = Errc::kDenied, .http_status = 403, .what = "forbidden"}};
      return all[random(std::size(all))];
    };
    const auto is_of_writer = [](const fake::Request& request) {
      return request.verb == "get" || request.verb == "create" || request.verb == "update" ||
             request.verb == "delete";
    };
    cluster.on_request = [&](const fake::Request& request) {
      return is_of_writer(request) && random(3) == 0 ? failure() : std::nullopt;
    };
    cluster.on_answer = [&](const fake::Request&) { return random(3) == 0 ? failure() : std::nullopt; };
    const auto spoil = [&](kube::Json& object) {
      auto slice = kube::decode_resource_slice(object);
      if (!slice) return;
      switch (random(5)) {
        case 0:
          if (!slice->devices.empty()) slice->devices.pop_back();
          break;
        case 1:
          slice->pool.generation += 1;
          break;
        case 2:
          slice->meta.name += "-x";
          break;
        case 3:
          slice->meta.resource_version = "1";
          break;
        default:
          break;
      }
      object = kube::encode_resource_slice(*slice);
    };
    cluster.on_reply = [&](const fake::Request&, kube::Json& object) {
      if (random(2) == 0) spoil(object);
    };
    cluster.on_admit = [&](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
      auto slice = kube::decode_resource_slice(object);
      if (slice && random(2) == 0 && !slice->devices.empty()) {
        slice->devices.pop_back();
        object = kube::encode_resource_slice(*slice);
      }
      return std::nullopt;
    };
    const auto asked = [&] {
      return cluster.count("get") + cluster.count("create") + cluster.count("update") +
             cluster.count("delete");
    };
    const size_t before = asked();
    const int size = 100 + static_cast<int>(random(60));
    publisher->set_desired({pool(devices(0, size, static_cast<int64_t>(seed)))}, kNode);
    for (int second = 0; second < 600 && asked() - before <= 600; ++second) {
      if (random(10) == 0 && !stored().empty()) cluster.remove(kResourceSlices, stored()[0].meta.name);
      scheduler.advance(1s);
    }
    EXPECT_LE(asked() - before, 600u) << "requests in ten minutes";
    cluster.on_request = cluster.on_answer = nullptr;
    cluster.on_reply = nullptr;
    cluster.on_admit = nullptr;
    scheduler.advance(5min);
    EXPECT_EQ(devices_stored(), static_cast<size_t>(size));
    EXPECT_TRUE(publisher->converged());
    EXPECT_LE(asked() - before, 700u);
  }
}

TEST_F(PublisherTest, RereadsAndRetriesConflicts) {
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  int conflicts = 3;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "update" || conflicts-- <= 0) return std::nullopt;
    return kube::Failure{.code = Errc::kConflict, .http_status = 409, .what = "the object has been modified"};
  };
  publisher->set_desired({pool(devices(0, 4))}, kNode);
  scheduler.advance(10s);
  EXPECT_EQ(devices_stored(), 4u);
}

TEST_F(PublisherTest, RetryAfterIsHonouredAndCapped) {
  int refusals = 1;
  Millis asked = 5s;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "create" || refusals-- <= 0) return std::nullopt;
    return kube::Failure{.code = Errc::kBusy, .http_status = 429, .what = "slow down", .retry_after = asked};
  };
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(4s);
  EXPECT_EQ(cluster.writes().size(), 1u);
  scheduler.advance(2s);
  EXPECT_EQ(devices_stored(), 1u);

  refusals = 1;
  asked = 24h;
  cluster.remove(kResourceSlices, stored()[0].meta.name);
  scheduler.advance(62s);
  EXPECT_EQ(devices_stored(), 1u) << "a day is not waited for";
}

TEST_F(PublisherTest, KeepsOnlyTheNewestPlanDuringAnOutage) {
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(1s);
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  for (int i = 2; i < 50; ++i) {
    publisher->set_desired({pool(devices(0, i))}, kNode);
    scheduler.advance(1s);
  }
  cluster.set_network(fake::FakeCluster::Network::kUp);
  const size_t before = cluster.writes().size();
  scheduler.advance(2min);
  EXPECT_EQ(devices_stored(), 49u);
  EXPECT_LE(cluster.writes().size() - before, 2u) << "one diff, no replay";
}

TEST_F(PublisherTest, ReportsARefusedDeviceWithItsContent) {
  cluster.on_admit = [&](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
    const auto slice = kube::decode_resource_slice(object);
    for (size_t i = 0; i < slice->devices.size(); ++i)
      if (slice->devices[i]->name == fixture::device_name(1))
        return kube::Failure{.code = Errc::kInvalid,
                             .http_status = 422,
                             .what = "no",
                             .fields = {"spec.devices[" + std::to_string(i) + "].name"}};
    return std::nullopt;
  };
  publisher->set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(100ms);
  ASSERT_GE(refused.size(), 1u);
  EXPECT_EQ(refused[0].name, fixture::device_name(1));
  EXPECT_EQ(refused[0].content_hash, policy::content_hash(devices(1, 1)[0]));
  auto without = devices(0, 3);
  without.erase(without.begin() + 1);
  publisher->set_desired({pool(without)}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(devices_stored(), 2u);
}

TEST_F(PublisherTest, ADroppedFieldIsAMissingFeatureAndNoHotLoop) {
  cluster.on_admit = [&](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
    auto slice = *kube::decode_resource_slice(object);
    for (auto& device : slice.devices) device.edit([](kube::Device& d) { d.taints.clear(); });
    object = kube::encode_resource_slice(slice);
    return std::nullopt;
  };
  auto tainted = devices(0, 2);
  tainted[1].edit([](kube::Device& d) { d.taints.push_back({"a.com/b", "", "NoSchedule"}); });
  publisher->set_desired({pool(tainted)}, kNode);
  scheduler.advance(1min);
  ASSERT_GE(refused.size(), 1u);
  EXPECT_EQ(refused[0].name, fixture::device_name(1));
  EXPECT_LE(cluster.writes().size(), 12u);
}

TEST_F(PublisherTest, WritesNothingWithoutPermission) {
  publisher->permit(false);
  publisher->set_desired({pool(devices(0, 1))}, kNode);
  scheduler.advance(1min);
  EXPECT_EQ(cluster.writes().size(), 0u);
  EXPECT_EQ(publisher->plan().creates.size(), 1u);
  publisher->permit(true);
  scheduler.advance(1s);
  EXPECT_EQ(devices_stored(), 1u);
}

// The n-th request fails, for n = 0, 1, 2, ... until a run needs none of them.
TEST_F(PublisherTest, ConvergesAfterAnySingleFault) {
  const kube::Failure faults[] = {{.code = Errc::kIo, .what = "reset"},
                                  {.code = Errc::kConflict, .http_status = 409, .what = "conflict"},
                                  {.code = Errc::kNotFound, .http_status = 404, .what = "not found"},
                                  {.code = Errc::kBusy, .http_status = 500, .what = "internal"},
                                  {.code = Errc::kDenied, .http_status = 403, .what = "forbidden"}};
  int64_t value = 0;
  for (const kube::Failure& fault : faults) {
    for (int nth = 0;; ++nth) {
      SCOPED_TRACE(fault.what + " at request " + std::to_string(nth));
      int seen = 0;
      bool fired = false;
      cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
        if (request.verb == "watch" || request.verb == "list" || request.verb == "discover" || seen++ != nth)
          return std::nullopt;
        fired = true;
        return fault;
      };
      const int count = nth % 2 == 0 ? 300 : 120;
      publisher->set_desired({pool(devices(0, count, ++value))}, kNode);
      scheduler.advance(5min);
      EXPECT_EQ(devices_stored(), static_cast<size_t>(count));
      ASSERT_TRUE(publisher->converged());
      if (!fired) break;
    }
  }
}

// A device entry that names counters which are not there yet would be refused by no server, and miscounted.
TEST_F(PublisherTest, WritesCountersBeforeTheirConsumers) {
  policy::DesiredPool counted = pool(devices(0, 80));
  publisher->set_desired({counted}, kNode);
  scheduler.advance(1s);
  const size_t before = cluster.writes().size();
  counted.counters = {{"pf", {{"slots", kube::Quantity(80)}}}};
  for (kube::DevicePtr& device : counted.devices) {
    kube::Device entry = *device;
    entry.consumes_counters = {{"pf", {{"slots", kube::Quantity(1)}}}};
    device = std::move(entry);
  }
  publisher->set_desired({counted}, kNode);
  scheduler.advance(1s);
  const auto writes = cluster.writes();
  ASSERT_EQ(writes.size(), before + 4)
      << "counters with a record of what moves, two of devices, the record's end";
  EXPECT_NE(writes[before].body.find("spec")->find("sharedCounters"), nullptr);
  EXPECT_EQ(lost, std::set<ServerFeature>());
  EXPECT_TRUE(publisher->converged());
}

TEST_F(PublisherTest, DoesNotWriteDevicesWhoseCountersWereDropped) {
  cluster.on_admit = [&](const fake::Request&, kube::Json& object) -> std::optional<kube::Failure> {
    kube::Json spec = *object.find("spec");
    std::erase_if(*spec.object(), [](const auto& member) { return member.first == "sharedCounters"; });
    if (spec.find("devices") == nullptr) spec.set("devices", kube::Json::Array{});
    object.set("spec", std::move(spec));
    return std::nullopt;
  };
  policy::DesiredPool counted = pool(devices(0, 2));
  counted.counters = {{"pf", {{"slots", kube::Quantity(2)}}}};
  publisher->set_desired({counted}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(lost, std::set<ServerFeature>{ServerFeature::kCounters});
  EXPECT_EQ(devices_stored(), 0u);
}

}  // namespace
}  // namespace sliced::publishers
