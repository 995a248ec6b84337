#include "kubelet/claim.h"

#include <gtest/gtest.h>

#include <functional>

#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace claim_test {
namespace {

using kube::Json;
using sample::ClaimText;

ClaimText sample_claim() {
  ClaimText claim;
  claim.results = {sample::result("vf", "0000-03-00-2"), sample::result("nic/fast", "0000-03-00-3")};
  claim.configs = {sample::config({{"driver", "vfio-pci"}}, {"vf"}, "FromClass")};
  claim.annotations = Json::Object{{"resource.kubernetes.io/pod-claim-name", "net"}};
  return claim;
}

TEST(ClaimDecoding, ReadsTheFieldsForPrepare) {
  const Claim claim = sample_claim().decoded();
  EXPECT_EQ(claim.namespace_ + "/" + claim.name + " " + claim.uid, "ns/claim-1 claim-uid-1");
  EXPECT_EQ(claim.pod_claim_name, "net");
  ASSERT_EQ(claim.devices.size(), 2u);
  EXPECT_EQ(
      claim.devices[1],
      (AllocatedDevice{
          .request = "nic/fast", .driver = sample::kSriov, .pool = "node-a", .device = "0000-03-00-3"}));
  ASSERT_EQ(claim.configs.size(), 1u);
  EXPECT_FALSE(claim.configs[0].is_claims);
  EXPECT_EQ(claim.configs[0].requests, std::vector<std::string>{"vf"});
  EXPECT_EQ(claim.configs[0].parameters.text("driver"), "vfio-pci");
  EXPECT_EQ(claim.pods, (std::vector<ReservingPod>{{"pod-1", "pod-uid-1"}}));
}

TEST(ClaimDecoding, ReturnsSharesAndAdminAccess) {
  ClaimText text = sample_claim();
  text.results[0].set("shareID", "11111111-2222");
  text.results[1].set("adminAccess", true);
  const Claim claim = text.decoded();
  EXPECT_EQ(claim.devices[0].share_id, "11111111-2222");
  EXPECT_FALSE(claim.devices[0].is_admin);
  EXPECT_TRUE(claim.devices[1].is_admin);
}

TEST(ClaimDecoding, IgnoresForeignFields) {
  std::string text = sample_claim().text();
  const std::string deep = std::string(5'000, '[') + std::string(5'000, ']');
  text.insert(text.find("\"annotations\""), "\"managedFields\":" + deep + ",");
  text.insert(1, "\"spec\":" + deep + ",");
  EXPECT_EQ(decode_claim(text).value(), sample_claim().decoded());
}

TEST(ClaimDecoding, RefusesConsumersOtherThanPods) {
  ClaimText text = sample_claim();
  text.pods.push_back(
      Json::Object{{"apiGroup", "example.com"}, {"resource", "pods"}, {"name", "x"}, {"uid", "y"}});
  text.pods.push_back(Json::Object{{"resource", "jobs"}, {"name", "x"}, {"uid", "y"}});
  EXPECT_EQ(text.decoded().pods.size(), 1u);
}

// Gate DRAWorkloadResourceClaims. Red when a claim that is reserved for a PodGroup alone is refused.
TEST(ClaimDecoding, AcceptsAPodGroup) {
  ClaimText text = sample_claim();
  text.pods = {Json::Object{
      {"apiGroup", "scheduling.k8s.io"}, {"resource", "podgroups"}, {"name", "g"}, {"uid", "group-uid"}}};
  const Claim claim = text.decoded();
  EXPECT_EQ(claim.pod_groups, std::vector({ReservingPod{"g", "group-uid"}}));
  EXPECT_TRUE(claim.pods.empty());
  EXPECT_TRUE(check_claim(claim, text.request(), {"node-a", {}}));
  for (const char* group : {"", "example.com"}) {
    text.pods[0].set("apiGroup", group);
    EXPECT_FALSE(check_claim(text.decoded(), text.request(), {"node-a", {}})) << group;
  }
}

TEST(ClaimDecoding, NamesAWrongField) {
  const Json no_text = Json::Object{{"request", 1}, {"driver", "d"}, {"pool", "p"}, {"device", "e"}};
  const Json no_device = Json::Object{{"request", "r"}, {"driver", "d"}, {"pool", "p"}};
  struct Case {
    const char* says;
    std::function<void(ClaimText&)> spoil;
  };
  const Case cases[] = {
      {"results[0].request is a number", [&](ClaimText& text) { text.results[0] = no_text; }},
      {"results[1].device is missing", [&](ClaimText& text) { text.results[1] = no_device; }},
      {"results has 65 entries", [&](ClaimText& text) { text.results = Json::Array(65, text.results[0]); }},
      {"config has 129 entries", [&](ClaimText& text) { text.configs = Json::Array(129, text.configs[0]); }},
      {"config[0].source is \"Mine\"", [&](ClaimText& text) { text.configs[0].set("source", "Mine"); }},
      {"config[0].requests", [&](ClaimText& text) { text.configs[0].set("requests", "all"); }},
      {"config[0].opaque.driver is missing",
       [&](ClaimText& text) { text.configs[0].set("opaque", Json::Object{}); }},
      {"reservedFor has 1025 entries", [&](ClaimText& text) { text.pods = Json::Array(1025, text.pods[0]); }},
      {"reservedFor[0].uid is missing",
       [&](ClaimText& text) { text.pods[0] = Json::Object{{"resource", "pods"}, {"name", "x"}}; }},
      {"metadata.uid is", [&](ClaimText& text) { text.uid = ""; }},
  };
  for (const Case& one : cases) {
    ClaimText text = sample_claim();
    one.spoil(text);
    const auto claim = decode_claim(text.text());
    ASSERT_FALSE(claim) << one.says;
    EXPECT_NE(claim.error().what.find(one.says), std::string::npos) << claim.error().what;
    EXPECT_NE(claim.error().what.find("ResourceClaim"), std::string::npos) << claim.error().what;
  }
}

TEST(ClaimDecoding, RefusesOtherObjects) {
  for (const char* text : {"", "{", "[]", "{}", R"({"metadata":{"name":"a"}})", R"({"metadata":7})"})
    EXPECT_FALSE(decode_claim(text)) << text;
}

TEST(ClaimCheck, NamesTheReasonForARefusal) {
  const kube::NodeView here{"node-a", {}};
  const ClaimText good = sample_claim();
  EXPECT_TRUE(check_claim(good.decoded(), good.request(), here));

  auto renewed = good;
  renewed.uid = "another-uid";
  EXPECT_EQ(check_claim(renewed.decoded(), good.request(), here).error().code, Errc::kConflict);

  Claim unallocated = good.decoded();
  unallocated.is_allocated = false;
  EXPECT_NE(check_claim(unallocated, good.request(), here).error().what.find("not allocated"),
            std::string::npos);

  auto elsewhere = good;
  elsewhere.node = "node-b";
  EXPECT_NE(check_claim(elsewhere.decoded(), good.request(), here).error().what.find("node-a"),
            std::string::npos);

  auto unreserved = good;
  unreserved.pods.clear();
  EXPECT_NE(check_claim(unreserved.decoded(), good.request(), here).error().what.find("reservedFor"),
            std::string::npos);
}

TEST(ClaimCheck, OmitsSubRequests) {
  EXPECT_EQ(main_request("nic/fast"), "nic");
  EXPECT_EQ(main_request("nic"), "nic");
}

}  // namespace
}  // namespace claim_test
}  // namespace sliced::kubelet
