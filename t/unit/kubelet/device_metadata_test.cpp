#include "kubelet/device_metadata.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace device_metadata_test {
namespace {

using kube::Json;
using sample::kSriov;

PreparedDevice device(const std::string& request, const std::string& name) {
  return {.request = request,
          .pool = "node-a",
          .device = name,
          .attributes = Json::Object{{"resource.kubernetes.io/pciBusID", Json::Object{{"string", name}}}}};
}

PreparedClaim claim() {
  return {.driver = kSriov,
          .namespace_ = "ns",
          .name = "claim-1",
          .uid = "uid-1",
          .devices = {device("vf", "a"), device("vf", "b"), device("other/second", "c")}};
}

// The documents of a text.
std::vector<Json> documents(const std::string& text) {
  std::vector<Json> out;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    out.push_back(kube::decode_json(text.substr(at, text.find('\n', at) - at)).value());
  return out;
}

TEST(DeviceMetadata, WritesAFilePerRequestWithDevicesInOrder) {
  const auto all = metadata_of(claim()).value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].request, "vf");
  ASSERT_EQ(all[0].devices.size(), 2u);
  EXPECT_EQ(all[0].devices[0].device + all[0].devices[1].device, "ab");
  EXPECT_EQ(file_of(all[0]), (MetadataFile{kSriov, "ns_claim-1", "vf", "uid-1"}));
  EXPECT_EQ(file_of(all[1]), (MetadataFile{kSriov, "ns_claim-1", "other", "uid-1"}))
      << "without the sub-request";
}

TEST(DeviceMetadata, IsEqualInEachVersionNewestFirst) {
  RequestMetadata metadata = metadata_of(claim()).value()[1];
  metadata.pod_claim_name = "net";
  const auto all = documents(encode_metadata(metadata, 3).value());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text("apiVersion"), "metadata.resource.k8s.io/v1beta1");
  EXPECT_EQ(all[1].text("apiVersion"), "metadata.resource.k8s.io/v1alpha1");
  EXPECT_EQ(kube::encode_json(all[0]),
            R"({"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v1beta1",)"
            R"("metadata":{"name":"claim-1","namespace":"ns","uid":"uid-1","generation":3},)"
            R"("podClaimName":"net","requests":[{"name":"other/second","devices":[)"
            R"({"driver":"sriovnetwork.k8snetworkplumbingwg.io","pool":"node-a","name":"c",)"
            R"("attributes":{"resource.kubernetes.io/pciBusID":{"string":"c"}}}]}]})");
  Json second = all[1];
  second.set("apiVersion", "metadata.resource.k8s.io/v1beta1");
  EXPECT_EQ(second, all[0]);
}

TEST(DeviceMetadata, UsesTheClaimsNameOrThePodsNameForATemplate) {
  RequestMetadata metadata = metadata_of(claim()).value()[1];
  const auto inside = [&] { return metadata_spec(metadata, "/host").devices[0].edits.mounts[0]; };
  const std::string all = "/var/run/kubernetes.io/dra-device-attributes/",
                    file = "/other/sriovnetwork.k8snetworkplumbingwg.io-metadata.json";
  EXPECT_EQ(inside(), (cdi::Mount{"/host", all + "resourceclaims/claim-1" + file, {"ro", "bind"}}));
  metadata.pod_claim_name = "net";
  EXPECT_EQ(inside().container_path, all + "resourceclaimtemplates/net" + file);
  const cdi::Spec spec = metadata_spec(metadata, "/host");
  EXPECT_EQ(cdi::qualified_name(spec.kind, spec.devices[0].name),
            "sriovnetwork.k8snetworkplumbingwg.io/metadata=uid-1_other");
}

TEST(DeviceMetadata, AChangeIncrementsTheGenerationAndKeepsUnknownFields) {
  const RequestMetadata first = metadata_of(claim()).value()[0];
  const auto written = update_metadata("", first).value();
  ASSERT_TRUE(written);
  EXPECT_EQ(documents(*written)[0].find({"metadata", "generation"})->integer()[0], 1);
  EXPECT_EQ(update_metadata(*written, first).value(), std::nullopt) << "nothing new";

  RequestMetadata later = first;
  for (DeviceMetadata& one : later.devices) one.attributes = {};
  EXPECT_EQ(update_metadata(*written, later).value(), std::nullopt) << "a process that knows less";
  later.devices[1].network = NetworkData{"net1", {"10.0.0.5/24"}, "02:00:00:00:00:01"};
  const auto updated = update_metadata(*written, later).value();
  ASSERT_TRUE(updated);
  const Json document = documents(*updated)[0];
  EXPECT_EQ(document.find({"metadata", "generation"})->integer()[0], 2);
  EXPECT_EQ(kube::encode_json((*document.find("requests")->array())[0].find("devices")->array()[0][1]),
            R"({"driver":"sriovnetwork.k8snetworkplumbingwg.io","pool":"node-a","name":"b",)"
            R"("attributes":{"resource.kubernetes.io/pciBusID":{"string":"b"}},)"
            R"("networkData":{"interfaceName":"net1","ips":["10.0.0.5/24"],)"
            R"("hardwareAddress":"02:00:00:00:00:01"}})");
  EXPECT_EQ(update_metadata(*updated, first).value(), std::nullopt) << "the network stays";
}

TEST(DeviceMetadata, IgnoresFilesOfAnotherClaimAndTornFiles) {
  const RequestMetadata first = metadata_of(claim()).value()[0];
  RequestMetadata other = first;
  other.uid = "uid-2";
  other.devices[0].network = NetworkData{.interface = "net9"};
  const std::string theirs = encode_metadata(other, 7).value();
  EXPECT_EQ(metadata_uid(theirs), "uid-2");
  EXPECT_EQ(update_metadata(theirs, first).value(), encode_metadata(first, 1).value());
  const std::string own = encode_metadata(first, 7).value();
  for (const std::string& torn : {own.substr(0, 40), std::string("null\n"), std::string("[]"),
                                  std::string(100'000, '['), std::string(R"({"metadata":{"uid":1}})")}) {
    EXPECT_EQ(metadata_uid(torn), "");
    EXPECT_EQ(update_metadata(torn, first).value(), encode_metadata(first, 1).value());
  }
}

TEST(DeviceMetadata, RefusesUnsafeNames) {
  const auto refused = [](auto change) {
    PreparedClaim one = claim();
    change(one);
    const auto all = metadata_of(one);
    return !all && all.error().code == Errc::kInvalid && metadata_files_of(one).empty();
  };
  EXPECT_TRUE(refused([](PreparedClaim& one) { one.namespace_ = ".."; }));
  EXPECT_TRUE(refused([](PreparedClaim& one) { one.name = "../../etc"; }));
  EXPECT_TRUE(refused([](PreparedClaim& one) { one.name = "?"; })) << "a claim whose record is lost";
  EXPECT_TRUE(refused([](PreparedClaim& one) { one.uid = "a/b"; }));
  EXPECT_TRUE(refused([](PreparedClaim& one) { one.devices[0].request = "../vf"; }));
  EXPECT_TRUE(refused([](PreparedClaim& one) { one.devices[0].request = ""; }));
  EXPECT_TRUE(refused([](PreparedClaim& one) { one.pod_claim_name = "a/../../b"; }));
}

TEST(DeviceMetadata, UsesTheUidIfNamesAreTooLong) {
  RequestMetadata metadata = metadata_of(claim()).value()[0];
  metadata.claim = std::string(252, 'c');
  EXPECT_EQ(file_of(metadata).folder, "ns_" + metadata.claim);
  metadata.claim += 'c';
  EXPECT_EQ(file_of(metadata).folder, "uid-1");
}

TEST(DeviceMetadata, BoundsTexts) {
  RequestMetadata metadata = metadata_of(claim()).value()[0];
  metadata.devices[0].attributes = Json::Object{{"a", std::string(kMetadataBytesMax, 'x')}};
  EXPECT_EQ(encode_metadata(metadata, 1).error().code, Errc::kTooLarge);
  EXPECT_EQ(update_metadata("", metadata).error().code, Errc::kTooLarge);
}

}  // namespace
}  // namespace device_metadata_test
}  // namespace sliced::kubelet
