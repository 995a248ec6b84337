#include "kubelet/checkpoint.h"

#include <gtest/gtest.h>

#include "reactor/base/text.h"
#include "t/fixture/golden.h"

namespace sliced::kubelet {
namespace checkpoint_test {
namespace {

// Every field has a value that is not its own default, so that a forgotten one is missed.
Checkpoint full() {
  PreparedDevice device{
      .request = "a/b",
      .pool = "pool",
      .device = "0000-03-00-2",
      .share_id = "share",
      .is_admin = true,
      .holding = {.entry = "e", .device = "d", .base = "b", .is_exclusive = false, .group = "g"},
      .pf = "0000:03:00.0",
      .pci = "0000:03:00.2",
      .interface = "eth2",
      .identity = {"8086", "10ca", "0000:03:00.0"},
      .config = {"vfio-pci", "net1", "ns", "nad", true},
      .incarnation = "4711",
      .multus_resource = "intel.com/vf",
      .vfio = VfioBinding{"igbvf", "7"},
      .edits = {.env = {"A=1", "B=\"\n"}, .nodes = {{"/dev/a", "/dev/b"}}, .mounts = {{"/x", "/y", {"ro"}}}},
  };
  hotplug::HostDevice& held = device.held.emplace();
  held.id.text = "0000:03:00.2";
  held.type = hotplug::DeviceType::kVf;
  held.pci = hotplug::PciAddress::decode("0000:03:00.2");
  held.pf = hotplug::PciAddress::decode("0000:03:00.0");
  held.vendor = "8086", held.product = "10ca", held.driver = "igbvf", held.rdma_device = "irdma0";
  held.admin_mac = "02:00:00:00:00:01", held.misses_ports = true, held.host_use = "enslaved to br0";
  held.bridge_type = "ovs", held.vlan_filtering = false, held.vlan_id = 0, held.parent_name = "eth9";
  held.representor_of = "0000:03:00.3";
  held.netdev = hotplug::Netdev{"net1", "eth2", 7,    "02:00:00:00:00:02", 1500, 32,   "up", 25'000,
                                "br0",  "id",   "p0", {"ens7f0"},          0,    true, true, true};
  held.other_netdevs.push_back({.name = "eth3"});
  device.config.network = NativeNetwork{.mtu = 1400,
                                        .mac = "02:00:00:00:00:03",
                                        .addresses = {"192.0.2.5/24"},
                                        .routes = {{"10.0.0.0/8", "192.0.2.1", 7, 100}},
                                        .rules = {{"192.0.2.5/32", "10.0.0.0/8", 100, 9}},
                                        .neighbors = {{"192.0.2.1", "02:00:00:00:00:04"}},
                                        .sysctls = {{"net.ipv4.conf.IFNAME.arp_ignore", "1"}},
                                        .dad = "wait"};
  PreparedDevice plain{.device = "other"};
  plain.vfio = VfioBinding{};
  Checkpoint out{.boot_id = "boot"};
  PreparedClaim claim{.driver = "d",
                      .namespace_ = "ns",
                      .name = "n",
                      .uid = "u",
                      .pod_claim_name = "p",
                      .pods = {{"pod", "pod-uid"}},
                      .pod_groups = {{"group", "group-uid"}},
                      .devices = {device, plain},
                      .is_complete = true,
                      .cdi_pod_id = "pod-uid"};
  out.claims.emplace(key_of(claim), claim);
  claim.uid = "v";
  claim.is_complete = false;
  claim.devices.clear();
  out.claims.emplace(key_of(claim), claim);
  return out;
}

TEST(Checkpoint, RoundTrips) {
  const auto again = decode_checkpoint(encode_checkpoint(full()));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(*again, full());
  EXPECT_EQ(decode_checkpoint(encode_checkpoint({})).value(), Checkpoint{});
}

// Red when devices that have one definition fill the record of a node with it, or get another's.
TEST(Checkpoint, ContainsEachDefinitionOnce) {
  Checkpoint all = full();
  const std::string first(10'000, 'x'), second = "#0";
  PreparedClaim claim{.driver = "d", .namespace_ = "ns", .name = "m", .uid = "w"};
  for (int i = 0; i < 100; ++i)
    claim.devices.push_back({.device = std::to_string(i), .network = i % 2 == 0 ? first : second});
  claim.devices.push_back({.device = "without"});
  all.claims.emplace(key_of(claim), claim);
  std::string text = encode_checkpoint(all);
  EXPECT_LT(text.size(), 2 * first.size() + 10'000);
  const auto read = decode_checkpoint(text);
  EXPECT_EQ(read.value(), all);
  const auto& devices = read->claims.at(key_of(claim)).devices;
  EXPECT_TRUE(is_same(devices[0].network, devices[98].network)) << "also in memory";
  EXPECT_FALSE(is_same(devices[0].network, devices[1].network));
  const auto sealed = [](const std::string& body) {
    return "{\"checksum\":\"" + hex(stable_hash(body), 16) + "\",\"state\":" + body + "}\n";
  };
  const size_t state = text.find("\"state\":") + 8;
  std::string body = text.substr(state, text.size() - state - 2);
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = body.find(from);
    ASSERT_NE(at, std::string::npos);
    body.replace(at, from.size(), to);
  };
  // A version without lists has read the numbers as texts, and written them back.
  const std::string whole = body;
  replace("\"networks\":", "\"other\":");
  fixture::expect_golden(decode_checkpoint(sealed(body)).error().what);
  body = whole;
  replace("\"network\":\"#0\"", "\"network\":\"#7\"");
  fixture::expect_golden(decode_checkpoint(sealed(body)).error().what);
}

// Red when each device that is prepared holds a text of its own: 1,000 of 16 KiB are 16 MiB.
TEST(Checkpoint, DevicesShareTheTextOfOneDefinition) {
  const auto claim_of = [](const std::string& uid, std::vector<std::string> networks) {
    PreparedClaim claim{.driver = "d", .namespace_ = "ns", .name = uid, .uid = uid};
    for (std::string& network : networks) claim.devices.push_back({.network = std::move(network)});
    return claim;
  };
  PreparedClaims prepared;
  PreparedClaim first = claim_of("1", {"a", "b", "a", ""});
  share_networks(first, prepared);
  EXPECT_TRUE(is_same(first.devices[0].network, first.devices[2].network));
  prepared.emplace(key_of(first), first);
  PreparedClaim second = claim_of("2", {"b", "c", ""});
  share_networks(second, prepared);
  EXPECT_TRUE(is_same(second.devices[0].network, first.devices[1].network));
  EXPECT_EQ(second.devices[1].network, NetworkText("c"));
  const PreparedClaim copy = first;
  EXPECT_TRUE(is_same(copy.devices[0].network, first.devices[0].network));
}

// As earlier versions wrote it.
TEST(Checkpoint, ReadsDefinitionsOfEachDeviceWithoutAList) {
  Checkpoint all = full();
  all.claims.begin()->second.devices.front().network = R"({"cniVersion":"1.0.0","type":"sriov"})";
  std::string text = encode_checkpoint(all);
  const size_t state = text.find("\"state\":") + 8;
  std::string body = text.substr(state, text.size() - state - 2);
  size_t count = 0;
  for (const auto& [key, claim] : all.claims)
    for (const PreparedDevice& device : claim.devices)
      if (!device.network.empty()) {
        const std::string number = "\"network\":\"#" + std::to_string(count++) + "\"";
        const size_t at = body.find(number);
        ASSERT_NE(at, std::string::npos) << number;
        body.replace(at, number.size(), "\"network\":" + kube::encode_json(kube::Json(device.network.str())));
      }
  const size_t list = body.find("\"networks\":");
  if (count > 0) body.replace(list, 11, "\"other\":  ");
  EXPECT_EQ(
      decode_checkpoint("{\"checksum\":\"" + hex(stable_hash(body), 16) + "\",\"state\":" + body + "}\n")
          .value(),
      all);
  EXPECT_GT(count, 0u);
}

TEST(Checkpoint, DetectsTruncationAnywhere) {
  const std::string text = encode_checkpoint(full());
  for (size_t size = 0; size + 2 < text.size(); ++size)
    ASSERT_FALSE(decode_checkpoint(std::string_view(text).substr(0, size))) << size;
}

TEST(Checkpoint, DetectsAnyChangedByte) {
  const std::string text = encode_checkpoint(full());
  for (size_t at = text.find("\"state\""); at + 2 < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    ASSERT_FALSE(decode_checkpoint(changed)) << at;
  }
}

TEST(Checkpoint, NamesAnotherVersion) {
  // The checksum is that of this text, so that only the version speaks against it.
  const std::string state = R"({"version":2,"bootID":"b","claims":[]})";
  const auto found =
      decode_checkpoint("{\"checksum\":\"" + hex(stable_hash(state), 16) + "\",\"state\":" + state + "}");
  ASSERT_FALSE(found);
  fixture::expect_golden(found.error().what);
}

TEST(Checkpoint, DetectsFieldsOfTheWrongType) {
  for (const char* claims : {"7", "[7]", "[{}]", R"([{"driver":"d","uid":"u","devices":7}])",
                             R"([{"driver":"d","uid":"u"},{"driver":"d","uid":"u"}])",
                             R"([{"driver":"d","uid":"u","devices":[{"vfio":[]}]}])",
                             R"([{"driver":"d","uid":"u","complete":"yes"}])"}) {
    const std::string state = std::string(R"({"version":1,"bootID":"b","claims":)") + claims + "}";
    EXPECT_FALSE(
        decode_checkpoint("{\"checksum\":\"" + hex(stable_hash(state), 16) + "\",\"state\":" + state + "}"))
        << claims;
  }
}

}  // namespace
}  // namespace checkpoint_test
}  // namespace sliced::kubelet
