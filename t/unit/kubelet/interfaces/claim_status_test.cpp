#include "kubelet/interfaces/claim_status.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "kubelet/recall.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::kubelet {
namespace claim_status_test {
namespace {

using kube::Json;

PreparedClaim claim_of(const std::string& uid) {
  PreparedClaim claim{
      .driver = "d.example", .namespace_ = "ns", .name = "claim", .uid = uid, .is_complete = true};
  claim.devices.push_back({.pool = "node-a",
                           .device = "0000-03-00-2",
                           .config = {.if_name = "net1", .nad_namespace = "ns", .nad_name = "nad"},
                           .network = R"({"cniVersion":"1.0.0","type":"sriov"})"});
  return claim;
}

cni::Attached made() {
  return {.cni_version = "1.0.0",
          .interfaces = {{.name = "eth2"},
                         {.name = "net1", .mac = "02:00:00:00:00:01", .sandbox = "/run/netns/a"}},
          .ips = {{.interface = 1, .address = "10.1.0.7/24"}, {.interface = 1, .address = "10.1.0.7/24"}}};
}

const StatusKey kKey = {"node-a", "0000-03-00-2", ""};

Json device_of(const std::string& status) {
  return kube::decode_json(status)->find({"status", "devices"})->array()->at(0);
}

TEST(EncodeClaimStatus, ContainsRequestedAndActualValues) {
  const Json before = device_of(encode_claim_status(claim_of("u"), {}, {}));
  EXPECT_EQ(
      kube::encode_json(before),
      R"({"driver":"d.example","pool":"node-a","device":"0000-03-00-2","data":{"vfConfig":)"
      R"({"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1","kind":"VfConfig","ifName":"net1",)"
      R"("netAttachDefName":"nad","netAttachDefNamespace":"ns"}}})");
  const Json after = device_of(encode_claim_status(claim_of("u"), {{kKey, made()}}, {}));
  EXPECT_EQ(*after.find("networkData"),
            *kube::decode_json(
                R"({"interfaceName":"net1","ips":["10.1.0.7/24"],"hardwareAddress":"02:00:00:00:00:01"})"));
  EXPECT_EQ(after.find({"data", "cniConfig"})->text("type"), "sriov");
  EXPECT_EQ(*after.find({"data", "cniResult"}), cni::encode_result(made()));
}

TEST(EncodeClaimStatus, OmitsAdminAccessAndOversizedData) {
  PreparedClaim claim = claim_of("u");
  claim.devices[0].network =
      R"({"cniVersion":"1.0.0","type":"sriov","x":")" + std::string(11'000, 'x') + "\"}";
  Json device = device_of(encode_claim_status(claim, {{kKey, made()}}, {}));
  EXPECT_EQ(device.find({"data", "cniConfig"}), nullptr);
  EXPECT_NE(device.find({"data", "cniResult"}), nullptr);
  cni::Attached large = made();
  for (int i = 0; i < 500; ++i)
    large.routes.push_back({.destination = "10." + std::to_string(i % 250) + ".0.0/16"});
  device = device_of(encode_claim_status(claim, {{kKey, large}}, {}));
  EXPECT_EQ(device.find({"data", "cniResult"}), nullptr);
  EXPECT_LE(kube::encode_json(*device.find("data")).size(), kStatusDataBytesMax);
  EXPECT_NE(device.find("networkData"), nullptr);
  claim.devices[0].is_admin = true;
  EXPECT_TRUE(
      kube::decode_json(encode_claim_status(claim, {}, {}))->find({"status", "devices"})->array()->empty());
}

// Two configurations of 10 KiB each may be merged to one network. Red when the API server refuses the status, since `data` is too large.
TEST(EncodeClaimStatus, OmitsAnOversizedNetwork) {
  PreparedClaim claim = claim_of("u");
  NativeNetwork& network = claim.devices[0].config.network.emplace();
  network.routes.assign(kNativeRoutesMax, {"2001:db8:1111:2222:3333:4444:5555:6666/128",
                                           "2001:db8:1111:2222:3333:4444:5555:7777", 2'000'000'000});
  network.rules.assign(kNativeRulesMax, {"2001:db8:1111:2222:3333:4444:5555:6666/128", "", 100, 200});
  const Json device = device_of(encode_claim_status(claim, {{kKey, made()}}, {}));
  EXPECT_LE(kube::encode_json(*device.find("data")).size(), kStatusDataBytesMax);
  EXPECT_EQ(device.find({"data", "vfConfig"})->text("ifName"), "net1") << "the rest of it remains";
  EXPECT_EQ(device.find({"data", "vfConfig", "network"}), nullptr);
  EXPECT_NE(device.find({"data", "cniResult"}), nullptr);
  network.rules.clear();
  network.routes.resize(3);
  EXPECT_NE(device_of(encode_claim_status(claim, {}, {})).find({"data", "vfConfig", "network"}), nullptr);
}

struct ClaimStatusTest : testing::Test {
  ClaimStatusTest() {
    cluster.install(kube::kResourceClaims);
    cluster.clock = [this] { return now; };
    const Json stored =
        cluster.put(kube::kResourceClaims,
                    Json::Object{{"metadata", Json::Object{{"name", "claim"}, {"namespace", "ns"}}}});
    prepare(std::string(stored.find("metadata")->text("uid")));
  }
  void prepare(const std::string& uid) {
    prepared.clear();
    claim = claim_of(uid);
    prepared[key_of(claim)] = claim;
  }
  void attach() {
    const cni::Attached result = made();
    status.attached(
        {{.claim = key_of(claim), .pool = "node-a", .device = "0000-03-00-2"}, "sandbox", result});
  }
  std::vector<fake::Request> applied() const {
    std::vector<fake::Request> out;
    for (const auto& request : cluster.log)
      if (request.verb == "apply") out.push_back(request);
    return out;
  }
  static size_t devices_in(const fake::Request& request) {
    return request.body.find({"status", "devices"})->array()->size();
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  PreparedClaims prepared;
  PreparedClaim claim;
  ClaimStatus status{cluster, scheduler, log, [this]() -> const PreparedClaims& { return prepared; },
                     [] { return 0.0; }};
  int64_t now = 1'800'000'000;
};

// {"status", "reason", "lastTransitionTime"} of the first device.
std::string ready_in(const fake::Request& request) {
  const Json& condition =
      request.body.find({"status", "devices"})->array()->at(0).find("conditions")->array()->at(0);
  return std::string(condition.text("type")) + " " + std::string(condition.text("status")) + " " +
         std::string(condition.text("reason")) + " " + std::string(condition.text("lastTransitionTime"));
}

// A device is ready with its interface, and one without a network when it is prepared.
TEST_F(ClaimStatusTest, AConditionHasTheTimeOfReadiness) {
  status.tell(key_of(claim));
  scheduler.advance(Millis{100});
  now += 2;
  status.tell(key_of(claim));
  scheduler.advance(Millis{100});
  attach();
  scheduler.advance(Millis{100});
  now += 7;
  attach();
  scheduler.advance(Millis{100});
  const auto all = applied();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(ready_in(all[0]), "Ready False WaitsForSandbox 2027-01-15T08:00:00Z");
  EXPECT_EQ(ready_in(all[1]), ready_in(all[0]));
  EXPECT_EQ(ready_in(all[2]), "Ready True Attached 2027-01-15T08:00:02Z");
  EXPECT_EQ(ready_in(all[3]), ready_in(all[2])) << "nothing has changed";

  status.released(claim);  // by the pod, and then prepared for one that wants no interface
  prepared.at(key_of(claim)).devices[0].network = {};
  scheduler.advance(Millis{100});
  EXPECT_EQ(ready_in(applied().back()), "Ready True Prepared 2027-01-15T08:00:09Z");
}

// Red when a restart writes another time, and so another status of each claim of the node.
TEST_F(ClaimStatusTest, KeepsTheTimeOfReadinessOverARestart) {
  Json stored = Json::Object{{"metadata", Json::Object{{"name", "claim"}, {"namespace", "ns"}}}};
  const auto device = [](const char* driver, const char* since) {
    return Json(Json::Object{
        {"driver", driver},
        {"pool", "node-a"},
        {"device", "0000-03-00-2"},
        {"conditions", Json::Array{Json(Json::Object{
                           {"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", since}})}}});
  };
  stored.set("status",
             Json::Object{{"devices", Json::Array{device("d.example", "2026-11-21T00:17:41Z"),
                                                  device("other.example", "2020-01-01T00:00:00Z")}}});
  prepare(std::string(cluster.put(kube::kResourceClaims, stored).find("metadata")->text("uid")));
  attach();
  scheduler.advance(Millis{100});
  ASSERT_EQ(applied().size(), 1u);
  EXPECT_EQ(ready_in(applied()[0]), "Ready True Attached 2026-11-21T00:17:41Z");
}

TEST_F(ClaimStatusTest, IsWrittenOnPrepareAttachAndUnprepare) {
  status.tell(key_of(claim));
  scheduler.advance(Millis{100});
  attach();
  scheduler.advance(Millis{100});
  prepared.clear();
  status.released(claim);
  scheduler.advance(Millis{100});
  const auto all = applied();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].body.find({"status", "devices"})->array()->at(0).find("networkData"), nullptr);
  EXPECT_NE(all[1].body.find({"status", "devices"})->array()->at(0).find("networkData"), nullptr);
  EXPECT_EQ(devices_in(all[2]), 0u);
  EXPECT_EQ(all[0].body.find("metadata")->text("uid"), claim.uid);
  EXPECT_TRUE(status.idle());
}

TEST_F(ClaimStatusTest, WritesAChangeDuringAWriteNext) {
  cluster.latency = Millis{500};
  status.tell(key_of(claim));
  scheduler.advance(Millis{700});  // read, and on its way
  attach();
  attach();
  scheduler.advance(Millis{5'000});
  EXPECT_EQ(applied().size(), 2u);
  EXPECT_TRUE(status.idle());
}

TEST_F(ClaimStatusTest, RetriesAndReportsAFailureOnce) {
  status.tell(key_of(claim));
  scheduler.advance(Millis{100});
  const size_t before = applied().size();
  cluster.deny("resourceclaims");
  attach();
  scheduler.advance(Millis{120'000});
  const size_t tries = applied().size() - before;
  EXPECT_GT(tries, 5u);
  EXPECT_LT(tries, 12u);
  EXPECT_EQ(log.count("ResourceClaim status not written"), 1u);
  EXPECT_EQ(log.count("associated-node:patch"), 1u);
  cluster.allow("resourceclaims");
  scheduler.advance(Millis{120'000});
  EXPECT_TRUE(status.idle());
}

TEST_F(ClaimStatusTest, IgnoresADeletedOrReplacedClaim) {
  prepare("another-uid");
  status.tell(key_of(claim));
  scheduler.advance(Millis{60'000});
  cluster.remove(kube::kResourceClaims, "claim", "ns");
  status.tell(key_of(claim));
  scheduler.advance(Millis{60'000});
  EXPECT_EQ(applied().size(), 2u);
  EXPECT_TRUE(status.idle());
  EXPECT_EQ(log.lines.size(), 0u);
}

// Red when the server gets a request for the name that means "no claim".
TEST_F(ClaimStatusTest, WritesNothingForAClaimKnownByItsSpecAlone) {
  const cdi::Spec spec{.kind = "d.example/device", .devices = {{"uid-1-x", {.env = {"A=1"}}}}};
  const PreparedClaim nameless = recall("d.example", "uid-1", spec).value();
  status.released(nameless);
  scheduler.advance(Millis{60'000});
  EXPECT_TRUE(applied().empty());
  EXPECT_TRUE(status.idle());
}

}  // namespace
}  // namespace claim_status_test
}  // namespace sliced::kubelet
