#include "daemon/reports/node_lease.h"

#include <gtest/gtest.h>

#include <optional>

#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::reports {
namespace node_lease_test {

using namespace std::chrono_literals;
using Network = fake::FakeCluster::Network;

struct NodeLeaseTest : testing::Test {
  NodeLeaseTest() { cluster.install(kube::kLeases); }
  void start(bool permitted = true) {
    writer.emplace(kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }},
                   NodeLeaseWriter::Settings{"ns", "worker-1", [this] { return uid; },
                                             [this] {
                                               const auto seconds =
                                                   scheduler.now().time_since_epoch().count() / 1'000;
                                               return "2026-11-21T00:" + std::to_string(10 + seconds / 60) +
                                                      ":" + std::to_string(10 + seconds % 50) + ".000000Z";
                                             }});
    if (permitted) writer->permit(true);
  }
  std::optional<kube::Json> lease() const {
    return cluster.object(kube::kLeases, "sliced-node-worker-1", "ns");
  }
  size_t writes() const { return cluster.count("create", "leases") + cluster.count("update", "leases"); }

  std::string uid = "uid-1";
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<NodeLeaseWriter> writer;
};

TEST_F(NodeLeaseTest, IsOwnedByTheNodeAndRenewedEveryMinute) {
  start();
  scheduler.advance(8s);
  ASSERT_TRUE(lease());
  EXPECT_EQ(*lease()->find({"spec", "holderIdentity"})->string(), "worker-1");
  EXPECT_EQ(*lease()->find({"spec", "leaseDurationSeconds"})->integer(), 100);
  const kube::Json first_lease = *lease();
  const kube::Json& owner = first_lease.find({"metadata", "ownerReferences"})->array()->at(0);
  EXPECT_EQ(owner.text("kind"), "Node");
  EXPECT_EQ(owner.text("uid"), "uid-1");
  const std::string first = *lease()->find({"spec", "renewTime"})->string();
  scheduler.advance(10min);
  EXPECT_NE(*lease()->find({"spec", "renewTime"})->string(), first);
  EXPECT_GE(writes(), 1u + 10u);
  EXPECT_LE(writes(), 1u + 12u);
  EXPECT_EQ(cluster.count("get", "leases"), 1u) << "a renewal reads nothing";
  EXPECT_EQ(cluster.count("list") + cluster.count("watch"), 0u) << "and follows nothing";
  EXPECT_EQ(writer->counters().failed, 0u);
}

// Red when a standby daemon renews the Lease of one that died.
TEST_F(NodeLeaseTest, AStandbyDaemonWritesNone) {
  start(/*permitted=*/false);
  scheduler.advance(10min);
  EXPECT_EQ(cluster.log.size(), 0u);
  writer->permit(true);
  scheduler.advance(8s);
  EXPECT_TRUE(lease());
}

TEST_F(NodeLeaseTest, WaitsForTheNodesUid) {
  uid.clear();
  start();
  scheduler.advance(1min);
  EXPECT_FALSE(lease());
  uid = "uid-2";
  scheduler.advance(8s);
  ASSERT_TRUE(lease());
  EXPECT_EQ(lease()->find({"metadata", "ownerReferences"})->array()->at(0).text("uid"), "uid-2");
}

// Red when an outage of the API server is asked through all the time, or when the Lease is late after it.
TEST_F(NodeLeaseTest, RetriesAndReportsAnOutageOnce) {
  start();
  scheduler.advance(8s);
  cluster.set_network(Network::kRefused);
  scheduler.advance(30min);
  const uint64_t failed = writer->counters().failed;
  EXPECT_GE(failed, 30u);
  EXPECT_LE(failed, 100u) << "at most one in 30 s, but for the first";
  EXPECT_EQ(log.count("node Lease not renewed"), 1u);
  cluster.set_network(Network::kUp);
  const size_t before = writes();
  scheduler.advance(46s);
  EXPECT_GE(writes(), before + 1);
  EXPECT_EQ(writer->last_failure(), "");
}

TEST_F(NodeLeaseTest, NamesTheRemedyOfARefusalAndBacksOff) {
  cluster.deny("leases");
  start();
  scheduler.advance(30min);
  EXPECT_NE(writer->last_failure(), "");
  EXPECT_LE(cluster.count("get", "leases"), 15u);
  ASSERT_EQ(log.count("node Lease not renewed"), 1u);
  EXPECT_NE(log.all().find("leases.coordination.k8s.io in namespace ns"), std::string::npos) << log.all();
}

// Red when an edited or deleted Lease stays so, or when labels of others are lost.
TEST_F(NodeLeaseTest, RepairsForeignChanges) {
  start();
  scheduler.advance(8s);
  kube::Json edited = *lease();
  auto meta = *kube::decode_object_meta(edited);
  meta.labels["theirs"] = "yes";
  meta.resource_version.clear();
  edited.set("metadata", kube::encode_object_meta(meta));
  cluster.put(kube::kLeases, edited);
  scheduler.advance(62s);
  EXPECT_EQ(kube::decode_object_meta(*lease())->labels.at("theirs"), "yes");
  cluster.remove(kube::kLeases, "sliced-node-worker-1", "ns");
  scheduler.advance(62s);
  EXPECT_TRUE(lease());
  EXPECT_EQ(writer->counters().failed, 0u) << "conflicts are none";
}

TEST_F(NodeLeaseTest, UsesAValidObjectName) {
  EXPECT_EQ(node_lease_name("worker-1"), "sliced-node-worker-1");
  EXPECT_EQ(node_lease_name(std::string(253, 'a')), "");
  EXPECT_EQ(node_of_lease("sliced-node-worker-1"), "worker-1");
  EXPECT_EQ(node_of_lease("sliced-aggregate"), "");
}

kube::Json lease_of(const std::string& text) { return *kube::decode_json(text); }

// Red when the clock of a node or of a reader makes a daemon silent, or keeps a dead one alive.
TEST_F(NodeLeaseTest, UsesTheTimeOfTheApiServer) {
  const auto renewed = decode_node_lease(lease_of(
      R"({"metadata":{"name":"sliced-node-a","managedFields":[)"
      R"({"manager":"sliced","time":"2026-11-21T10:00:00Z","fieldsV1":{"f:spec":{"f:renewTime":{}}}},)"
      R"({"manager":"kubectl","time":"2026-11-21T11:00:00Z","fieldsV1":{"f:metadata":{"f:labels":{}}}}]},)"
      R"("spec":{"renewTime":"2031-01-01T00:00:00.000000Z","leaseDurationSeconds":100}})"));
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->node, "a");
  EXPECT_EQ(renewed->renewed, *kube::decode_api_time("2026-11-21T10:00:00Z"))
      << "not the node's 2031, and not a label's edit";
  EXPECT_FALSE(renewed->is_expired(renewed->renewed + 100));
  EXPECT_TRUE(renewed->is_expired(renewed->renewed + 101));
  const auto bare = decode_node_lease(lease_of(
      R"({"metadata":{"name":"sliced-node-a"},"spec":{"renewTime":"2026-11-21T10:00:00.5Z","leaseDurationSeconds":1}})"));
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->renewed, *kube::decode_api_time("2026-11-21T10:00:00Z"));
  EXPECT_EQ(bare->duration, 10) << "nothing less is believed";
  for (const char* other :
       {R"({"metadata":{"name":"sliced-aggregate"},"spec":{"renewTime":"2026-11-21T10:00:00Z"}})",
        R"({"metadata":{"name":"sliced-node-a"},"spec":{}})", R"({"spec":7})"})
    EXPECT_FALSE(decode_node_lease(lease_of(other))) << other;
}

}  // namespace node_lease_test
}  // namespace sliced::reports
