#include "kubelet/mac_requests.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace mac_requests_test {
namespace {

using kube::Json;
using sample::ClaimText;
using sample::result;

constexpr const char* kKey = "kubevirt.io/dra-networks";
constexpr const char* kA = "02:00:00:00:00:0a";
constexpr const char* kB = "02:00:00:00:00:0b";

Claim claim() {
  ClaimText text;
  text.results = {result("vf", "0000-03-00-2"), result("vf", "0000-03-00-3"),
                  result("other/second", "0000-03-00-4")};
  return text.decoded();
}

// A pod that has the claim as "net", and another one as "gpu".
std::string pod(const Json& annotation, const Json& direct = "claim-1") {
  return kube::encode_json(Json::Object{
      {"metadata",
       Json::Object{{"name", "pod-1"},
                    {"uid", "pod-uid-1"},
                    {"annotations",
                     annotation.is_null() ? Json(Json::Object{}) : Json(Json::Object{{kKey, annotation}})}}},
      {"spec",
       Json::Object{{"resourceClaims",
                     Json::Array{Json::Object{{"name", "net"}, {"resourceClaimName", direct}},
                                 Json::Object{{"name", "gpu"}, {"resourceClaimTemplateName", "gpus"}}}}}}});
}

std::string why(const std::string& annotation) {
  Claim one = claim();
  const auto read = read_macs(pod(annotation), {"pod-1", "pod-uid-1"}, kKey, one);
  EXPECT_EQ(one, claim()) << "what fails gives nothing";
  return read ? "read" : read.error().what;
}

std::vector<std::string> macs(const std::string& annotation) {
  Claim one = claim();
  const auto read = read_macs(pod(annotation), {"pod-1", "pod-uid-1"}, kKey, one);
  EXPECT_TRUE(read) << read.error().what;
  std::vector<std::string> out;
  for (const AllocatedDevice& device : one.devices) out.push_back(device.mac);
  return out;
}

TEST(MacRequests, OneAddressIsForTheFirstDeviceAndAListContinues) {
  EXPECT_EQ(macs(R"([{"claimName":"net","requestName":"vf","mac":"02:00:00:00:00:0A"}])"),
            (std::vector<std::string>{kA, "", ""}));
  EXPECT_EQ(
      macs(R"([{"claimName":"net","requestName":"vf","macs":["02-00-00-00-00-0a","02:00:00:00:00:0b"]}])"),
      (std::vector<std::string>{kA, kB, ""}));
  EXPECT_EQ(macs(R"([{"claimName":"net","requestName":"other","mac":"02:00:00:00:00:0b"},
                     {"claimName":"gpu","requestName":"x","mac":"02:00:00:00:00:0c","more":1}])"),
            (std::vector<std::string>{"", "", kB}))
      << "another claim's entry is that claim's";
  EXPECT_EQ(macs("[]"), std::vector<std::string>(3));
  Claim one = claim();
  EXPECT_TRUE(read_macs(pod(Json()), {"pod-1", "pod-uid-1"}, kKey, one)) << "no annotation";
  EXPECT_EQ(one, claim());
}

TEST(MacRequests, FindsAClaimOfATemplateByAnnotationOrPodStatus) {
  const std::string annotation = R"([{"claimName":"gpu","requestName":"vf","mac":"02:00:00:00:00:0a"}])";
  Claim one = claim();
  one.pod_claim_name = "gpu";
  ASSERT_TRUE(read_macs(pod(annotation, "another"), {"pod-1", "pod-uid-1"}, kKey, one));
  EXPECT_EQ(one.devices[0].mac, kA);

  Json object = kube::decode_json(pod(annotation, "another")).value();
  object.set("status",
             Json::Object{{"resourceClaimStatuses",
                           Json::Array{Json::Object{{"name", "gpu"}, {"resourceClaimName", "claim-1"}}}}});
  one = claim();
  ASSERT_TRUE(read_macs(kube::encode_json(object), {"pod-1", "pod-uid-1"}, kKey, one));
  EXPECT_EQ(one.devices[0].mac, kA);
}

TEST(MacRequests, QuotesAnErrorAndFailsTheClaim) {
  const std::string start = R"([{"claimName":"net","requestName":"vf",)";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {start + R"("mac":"01:00:5e:00:00:01"}])", "is a multicast address"},
      {start + R"("mac":"ff:ff:ff:ff:ff:ff"}])", "is a multicast address"},
      {start + R"("mac":"00:00:00:00:00:00"}])", "is not an interface's"},
      {start + R"("mac":"02:00:00:00:00"}])", "expected six bytes"},
      {start + R"("mac":"02:00:00:00:00:0g"}])", "expected six bytes"},
      {start + R"("mac":"02:00:00:00:00: 1"}])", "expected six bytes"},
      {start + R"("mac":"0200.0000.0001xxx"}])", "expected six bytes"},
      {start + R"("mac":7}])", "is a string"},
      {start + R"("mac":"02:00:00:00:00:0a","macs":[]}])", "expected mac, or macs"},
      {start + R"("macs":[]}])", "a list with at least one item"},
      {start + R"("macs":["02:00:00:00:00:0a","02:00:00:00:00:0a"]}])", "requested twice"},
      {start + R"("macs":["02:00:00:00:00:0a","02:00:00:00:00:0b","02:00:00:00:00:0c"]}])",
       "3 addresses for 2 devices"},
      {start + R"("mac":"02:00:00:00:00:0a","vlan":5}])", "vlan is an unknown field"},
      {start +
           R"("mac":"02:00:00:00:00:0a"},{"claimName":"net","requestName":"vf","mac":"02:00:00:00:00:0b"}])",
       "is in two entries"},
      {start +
           R"("mac":"02:00:00:00:00:0a"},{"claimName":"gpu","requestName":"x","mac":"02:00:00:00:00:0a"}])",
       "requested twice"},
      {R"([{"claimName":"net","requestName":"fv","mac":"02:00:00:00:00:0a"}])",
       "is not a request of claim-1"},
      {R"([{"claimName":"net","mac":"02:00:00:00:00:0a"}])", "requestName is missing"},
      {R"([{"claimName":"nett","requestName":"vf","mac":"02:00:00:00:00:0a"}])",
       "not in spec.resourceClaims of the pod: gpu, net"},
      {R"([{"requestName":"vf","mac":"02:00:00:00:00:0a"}])", "claimName is missing"},
      {R"([7])", "is a number, expected a map"},
  };
  EXPECT_EQ(why(rows.front().first),
            "Pod ns/pod-1: metadata.annotations[kubevirt.io/dra-networks]: [0] "
            R"({"claimName":"net","requestName":"vf","mac":"01:00:5e:00:00:01"}: )"
            R"(MAC address "01:00:5e:00:00:01" is a multicast address, which no interface has)");
  for (const auto& [annotation, says] : rows) {
    const std::string text = why(annotation);
    EXPECT_NE(text.find(says), std::string::npos) << annotation << ": " << text;
    EXPECT_TRUE(text.starts_with("Pod ns/pod-1: metadata.annotations[kubevirt.io/dra-networks]: [")) << text;
  }
}

TEST(MacRequests, AnInvalidListFailsEveryClaim) {
  for (const char* annotation : {"", "x", "{}", "null", "[", R"([{"claimName":"net","claimName":"net"}])"})
    EXPECT_NE(why(annotation), "read") << annotation;
  EXPECT_NE(why("[" + std::string(kMacAnnotationBytesMax, ' ') + "]"), "read");
  std::string many = "[";
  for (size_t i = 0; i <= kMacEntriesMax; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"claimName":"gpu"})";
  fixture::expect_golden(why(many + "]"));
}

TEST(MacRequests, IgnoresAnotherPodOfTheName) {
  Claim one = claim();
  const auto read = read_macs(pod("[]"), {"pod-1", "pod-uid-2"}, kKey, one);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kConflict);
}

TEST(MacRequests, AdminAccessChangesNothing) {
  ClaimText text;
  Json device = result("vf", "0000-03-00-2");
  device.set("adminAccess", true);
  text.results = {device};
  Claim one = text.decoded();
  const auto read = read_macs(pod(R"([{"claimName":"net","requestName":"vf","mac":"02:00:00:00:00:0a"}])"),
                              {"pod-1", "pod-uid-1"}, kKey, one);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("adminAccess"), std::string::npos);
}

}  // namespace
}  // namespace mac_requests_test
}  // namespace sliced::kubelet
