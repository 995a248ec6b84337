#include "kubelet/peer_checkpoint.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"

namespace sliced::kubelet {
namespace peer_checkpoint_test {
namespace {

// As dra-driver-sriov writes it; t/interop/cdi has one of Kubernetes' own checkpoint manager.
std::string summed(const std::string& rest) {
  const uint32_t sum = peer_checksum("{\"checksum\":0" + rest);
  return "{\"checksum\":" + std::to_string(sum) + rest;
}

constexpr const char* kOne =
    R"(,"v1":{"preparedClaimsByPodUID":{"pod-uid":{"claim-uid":[{)"
    R"("Device":{"request_names":["vf"],"pool_name":"node-a","device_name":"0000-03-00-2",)"
    R"("cdi_device_ids":["x"]},)"
    R"("ClaimNamespacedName":{"Namespace":"ns","Name":"claim","UID":"claim-uid"},)"
    R"("ContainerEdits":{"env":["A=1"],"deviceNodes":[)"
    R"({"path":"/dev/vfio/7","hostPath":"/dev/vfio/7","type":"c"},{"path":"/dev/vfio/vfio"}]},)"
    R"("Config":{"kind":"VfConfig","driver":"vfio-pci","netAttachDefName":"nad"},)"
    R"("IfName":"vfnet0","PciAddress":"0000:03:00.2","MultusResourceName":"intel.com/vf",)"
    R"("PodUID":"pod-uid","OriginalDriver":"igbvf"}]}}}})";

TEST(PeerCheckpoint, HasTheChecksumOfKubernetes) { EXPECT_EQ(peer_checksum(R"({"a":1})"), 1187653614u); }

TEST(PeerCheckpoint, ImportsClaims) {
  const auto claims = decode_peer_checkpoint(summed(kOne));
  ASSERT_TRUE(claims) << claims.error().what;
  ASSERT_EQ(claims->size(), 1u);
  const PreparedClaim& claim = claims->begin()->second;
  EXPECT_EQ(claim.driver, "sriovnetwork.k8snetworkplumbingwg.io");
  EXPECT_EQ(claim.namespace_ + "/" + claim.name + " " + claim.uid, "ns/claim claim-uid");
  EXPECT_EQ(claim.cdi_pod_id, "pod-uid");
  EXPECT_TRUE(claim.is_complete);
  ASSERT_EQ(claim.devices.size(), 1u);
  const PreparedDevice& device = claim.devices[0];
  EXPECT_EQ(device.request + " " + device.pool + " " + device.device + " " + device.pci,
            "vf node-a 0000-03-00-2 0000:03:00.2");
  EXPECT_EQ(device.vfio, (VfioBinding{"igbvf", "7"}));
  EXPECT_EQ(device.config, (VfConfig{"vfio-pci", "vfnet0", "", "nad", false}));
  EXPECT_EQ(device.edits.nodes[1], (cdi::DeviceNode{"/dev/vfio/vfio", "/dev/vfio/vfio"}));
  EXPECT_EQ(device.holding.device, "0000:03:00.2");
  EXPECT_TRUE(device.holding.is_exclusive);
}

// The plugins that run when its sandbox stops, and their input.
TEST(PeerCheckpoint, ImportsNetworks) {
  std::string text = kOne;
  const std::string at = R"("PodUID")";
  text.insert(text.find(at),
              R"("NetworkDeviceData":{"interfaceName":"vfnet0","ips":["10.1.0.9/24"],)"
              R"("hardwareAddress":"02:00:00:00:00:09"},"NetAttachDefConfig":"{\"type\":\"sriov\"}",)");
  const auto claims = decode_peer_checkpoint(summed(text));
  ASSERT_TRUE(claims) << claims.error().what;
  const PreparedDevice& device = claims->begin()->second.devices.at(0);
  EXPECT_EQ(device.network, R"({"type":"sriov"})");
  EXPECT_TRUE(device.is_of_peer);
  EXPECT_EQ(device.network_data, (NetworkData{"vfnet0", {"10.1.0.9/24"}, "02:00:00:00:00:09"}));
  EXPECT_FALSE(decode_peer_checkpoint(summed(kOne))->begin()->second.devices.at(0).is_of_peer);
  text.replace(text.find("sriov\\\""), 5, std::string(kNetworkBytesMax, 'x'));
  EXPECT_FALSE(decode_peer_checkpoint(summed(text))->begin()->second.devices.at(0).is_of_peer);
}

TEST(PeerCheckpoint, AcceptsAnEmptyFile) {
  for (const char* rest : {"}", R"(,"v1":{}})", R"(,"v1":{"preparedClaimsByPodUID":{}}})",
                           R"(,"v1":{"preparedClaimsByPodUID":{"pod":{"claim":null}}}})"})
    EXPECT_TRUE(decode_peer_checkpoint(summed(rest)).value().empty()) << rest;
}

TEST(PeerCheckpoint, DetectsEditsAndTruncation) {
  std::string text = summed(kOne);
  for (size_t size = 0; size < text.size(); ++size)
    ASSERT_FALSE(decode_peer_checkpoint(std::string_view(text).substr(0, size))) << size;
  text[text.find("node-a")] = 'm';
  fixture::expect_golden(decode_peer_checkpoint(text).error().what);
}

TEST(PeerCheckpoint, NamesInvalidFields) {
  for (const char* pods : {"7", R"({"pod":7})", R"({"pod":{"claim":7}})", R"({"pod":{"claim":[{}]}})",
                           R"({"pod":{"claim":[{"Device":{"device_name":"x"},"PciAddress":"../x"}]}})"})
    EXPECT_FALSE(
        decode_peer_checkpoint(summed(std::string(R"(,"v1":{"preparedClaimsByPodUID":)") + pods + "}}")))
        << pods;
}

}  // namespace
}  // namespace peer_checkpoint_test
}  // namespace sliced::kubelet
