#include "kubelet/reconcile.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_node.h"
#include "t/fake/memory_log.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace reconcile_test {
namespace {

using sample::ClaimText;
using sample::kSriov;

constexpr const char* kKind = "sriovnetwork.k8snetworkplumbingwg.io/vf";
constexpr const char* kInfo = "/dp/intel.com-vf-0000:03:00.2-device.json";

struct ReconcileTest : testing::Test {
  ReconcileTest() { cluster.install(kube::kResourceClaims); }

  // As in the record; it exists in the API server, too, unless the test deletes it.
  PreparedClaim& put(const std::string& name = "claim-1") {
    ClaimText text;
    text.name = name;
    text.results = {sample::result("vf", "0000-03-00-2")};
    cluster.put(kube::kResourceClaims, text.object());
    PreparedClaim claim{.driver = kSriov, .namespace_ = "ns", .name = name, .is_complete = true};
    claim.uid = cluster.object(kube::kResourceClaims, name, "ns")->find("metadata")->text("uid");
    claim.cdi_pod_id = "pod-uid-1";
    claim.devices = {
        {.pool = "node-a", .device = "0000-03-00-2", .pci = "0000:03:00.2", .edits = {.env = {"A=1"}}}};
    return prepared[key_of(claim)] = claim;
  }
  void put_spec(const std::string& id, const std::string& device) {
    node.specs[{kKind, id}] = {.kind = kKind, .devices = {{device, {.env = {"A=1"}}}}};
  }
  void pass() {
    reconcile.begin();
    scheduler.advance(Millis{1'000});
  }
  // From the first pass on.
  void wait(Millis time) { scheduler.advance(time); }

  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  fake::FakeNode node;
  PreparedClaims prepared;
  std::vector<std::string> written, taken_back;
  std::map<PreparedKey, ClaimState> states;
  std::map<PreparedKey, std::string> users;
  std::shared_ptr<fake::FakeHost> host = std::make_shared<fake::FakeHost>(node);
  Reconcile reconcile{
      {cluster, scheduler, executor, log, host},
      {.prepared = [this]() -> const PreparedClaims& { return prepared; },
       .write_files = [this](const PreparedClaim& claim) { written.push_back(claim.name); },
       .release_claim = [this](const PreparedClaim& claim) { taken_back.push_back(claim.name); },
       .on_state = [this](const PreparedKey& key, ClaimState state) { states[key] = state; },
       .on_user = [this](const PreparedKey& key, const std::string& user) { users[key] = user; },
       .change_files =
           [this](const std::function<FileChange()>& make) { ASSERT_TRUE(host->apply({make()}).front()); }},
      {{kSriov}, "/dp"}};
};

TEST_F(ReconcileTest, RemovesUnownedFilesOnly) {
  const PreparedClaim& claim = put();
  put_spec(claim.uid, claim.uid + "-0000-03-00-2");
  put_spec("pod-uid-1", "pod-uid-1");
  put_spec("lost", "lost-0000-03-00-3");
  put_spec("lost-pod", "lost-pod");
  node.infos = {
      {kInfo, "{}"}, {"/dp/x-0000:03:00.3-device.json", "{}"}, {"/dp/x-0000:04:00.0-device.json", "{}"}};
  node.metadata = {{{kSriov, "ns_claim-1", "vf", claim.uid}, ""}, {{kSriov, "ns_lost", "vf", "lost"}, ""}};
  pass();
  EXPECT_EQ(node.metadata.size(), 1u);
  EXPECT_TRUE(node.metadata.contains({kSriov, "ns_claim-1", "vf", claim.uid}));
  EXPECT_TRUE(node.specs.contains({kKind, claim.uid}));
  EXPECT_TRUE(node.specs.contains({kKind, "pod-uid-1"}));
  EXPECT_EQ(node.specs.size(), 2u);
  EXPECT_TRUE(node.infos.contains(kInfo));
  EXPECT_TRUE(node.infos.contains("/dp/x-0000:04:00.0-device.json")) << "another program's";
  EXPECT_EQ(node.infos.size(), 2u);
  EXPECT_EQ(log.count("without a claim removed"), 3u);
  EXPECT_TRUE(written.empty());
}

// Red when a pod's spec is removed that a record does not tell of: its containers could not start again.
TEST_F(ReconcileTest, KeepsSpecsOfUnknownPods) {
  put().name = "?";
  put_spec("some-pod", "some-pod");
  put_spec("lost", "lost-0000-03-00-3");
  pass();
  EXPECT_TRUE(node.specs.contains({kKind, "some-pod"}));
  EXPECT_FALSE(node.specs.contains({kKind, "lost"}));
  wait(2 * Reconcile::kAbsentMin);
  EXPECT_TRUE(taken_back.empty()) << "nobody can be asked for it";
}

TEST_F(ReconcileTest, LeavesAnExistingClaimAlone) {
  put();
  pass();
  wait(2 * Reconcile::kAbsentMin);
  pass();
  EXPECT_TRUE(taken_back.empty());
}

// Red when an absent claim alone releases: its containers may run on after a forced deletion.
TEST_F(ReconcileTest, UnpreparesADeletedClaimThatIsUnusedForLong) {
  put();
  cluster.remove(kube::kResourceClaims, "claim-1", "ns");
  node.user = "process 7 (qemu)";
  pass();
  wait(Reconcile::kAbsentMin - Millis{10'000});
  node.user = "";
  pass();
  EXPECT_TRUE(taken_back.empty()) << "the kubelet may still do it";
  node.user = "process 7 (qemu)";
  wait(2 * Reconcile::kAbsentMin);
  EXPECT_TRUE(taken_back.empty()) << "somebody uses it";
  node.user.reset();
  wait(2 * Reconcile::kAbsentMin);
  EXPECT_TRUE(taken_back.empty()) << "whether somebody does cannot be seen";
  node.user = "";
  wait(Reconcile::kAgain + Millis{1'000});
  EXPECT_EQ(taken_back, std::vector<std::string>{"claim-1"});
}

TEST_F(ReconcileTest, IgnoresAnotherClaimOfTheName) {
  PreparedClaim claim = put();
  prepared.clear();
  claim.uid = "of-before";
  prepared[key_of(claim)] = claim;
  pass();
  wait(Reconcile::kAbsentMin + 2 * Reconcile::kAgain);
  EXPECT_FALSE(taken_back.empty());
}

// Red when any devices of the driver count as those on record: a claim that stands is allocated anew, elsewhere as well,
// and what it had here would be kept from everybody for as long as it stands.
TEST_F(ReconcileTest, AReallocatedClaimDoesNotHoldItsFormerDevices) {
  PreparedClaim& claim = put();
  claim.devices[0].pool = "node-of-before";
  pass();
  wait(Reconcile::kAbsentMin + 2 * Reconcile::kAgain);
  EXPECT_FALSE(taken_back.empty());
}

TEST_F(ReconcileTest, ChangesNothingWithoutAnAnswer) {
  put();
  cluster.deny("resourceclaims");
  pass();
  wait(2 * Reconcile::kAbsentMin);
  pass();
  EXPECT_TRUE(taken_back.empty());
}

// Red when the answer of a load balancer without a server counts as the deletion of claims.
TEST_F(ReconcileTest, ChangesNothingForANotFoundWithoutAStatus) {
  put();
  cluster.on_request = [](const fake::Request&) -> std::optional<kube::Failure> {
    return kube::Failure{.code = Errc::kNotFound, .http_status = 404, .what = "default backend - 404"};
  };
  node.user = "";
  pass();
  wait(2 * Reconcile::kAbsentMin);
  pass();
  EXPECT_TRUE(taken_back.empty());
}

TEST_F(ReconcileTest, AClaimThatReturnsWasNotDeleted) {
  const PreparedClaim claim = put();
  cluster.on_request = [](const fake::Request&) -> std::optional<kube::Failure> {
    return kube::Failure{
        .code = Errc::kNotFound, .http_status = 404, .reason = "NotFound", .what = "not found"};
  };
  pass();
  wait(Reconcile::kAbsentMin - Millis{10'000});
  cluster.on_request = nullptr;
  pass();
  wait(2 * Reconcile::kAbsentMin);
  EXPECT_TRUE(taken_back.empty());
}

TEST_F(ReconcileTest, RestoresFilesAfterAnotherBootExceptForBoundDevices) {
  put("standing").is_complete = false;
  pass();
  EXPECT_EQ(written, std::vector<std::string>{"standing"});
  written.clear();
  prepared.begin()->second.devices[0].vfio = VfioBinding{};
  pass();
  EXPECT_TRUE(written.empty()) << "its group may have another number";
  prepared.begin()->second.devices[0].vfio.reset();
  prepared.begin()->second.devices[0].config.driver = "vfio-pci";
  pass();
  EXPECT_TRUE(written.empty()) << "the same, of another boot";
  prepared.begin()->second.devices[0].config.driver.clear();
  cluster.remove(kube::kResourceClaims, "standing", "ns");
  pass();
  EXPECT_TRUE(written.empty());
}

}  // namespace
}  // namespace reconcile_test
}  // namespace sliced::kubelet
