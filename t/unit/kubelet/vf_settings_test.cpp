#include "kubelet/vf_settings.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>

#include <cerrno>

#include "kubelet/prepared.h"
#include "t/fixture/golden.h"
#include "t/unit/kubelet/fake_pf.h"

namespace sliced::kubelet {
namespace vf_settings_test {
namespace {

using hotplug::VfConfig;

using sample::FakePf;
constexpr VfOfInterface kVf = sample::kVfOfFakePf;

VfConfig fresh() { return sample::vf_config_as_made(std::string(kNoMac)); }

VfConfig of_a_pod() {
  return {.mac = "02:00:00:00:06:66",
          .vlan = 666,
          .vlan_qos = 3,
          .vlan_protocol = "802.1ad",
          .trust = true,
          .spoof_check = false,
          .rss_query = true,
          .min_rate_mbps = 10,
          .max_rate_mbps = 100,
          .link_state = "disable",
          .node_guid = "",
          .port_guid = ""};
}

Result<Unit> restore(FakePf& pf, const VfConfig& original, const OwnAddresses& own = {}) {
  return restore_vf_settings(pf.kernel(), kVf, original, own, [] { return Result<Unit>(Unit{}); });
}

TEST(VfSettings, RestoresAVfAfterAnyChange) {
  FakePf pf;
  pf.vf = of_a_pod();
  ASSERT_TRUE(restore(pf, fresh()).ok());
  EXPECT_EQ(pf.vf, fresh());
  pf.vf = fresh();
  ASSERT_TRUE(restore(pf, of_a_pod()).ok()) << "a VLAN that an administrator gave it, by 802.1ad";
  EXPECT_EQ(pf.vf, of_a_pod());
}

// Drivers answer EOPNOTSUPP also where the value is the one that they have.
TEST(VfSettings, WritesOnlyDifferences) {
  FakePf pf;
  for (int type = 0; type < 32; ++type) pf.refused.insert(type);
  EXPECT_TRUE(restore(pf, fresh()).ok());
  EXPECT_TRUE(pf.written.empty());
  pf.refused.clear();
  pf.vf.vlan = 5;
  pf.vf.max_rate_mbps = 7;
  EXPECT_TRUE(restore(pf, fresh()).ok());
  EXPECT_EQ(pf.written, (std::vector<int>{IFLA_VF_VLAN, IFLA_VF_RATE}));
  EXPECT_EQ(pf.vf, fresh());
}

TEST(VfSettings, DetectsAndRestoresEachSetting) {
  const VfConfig before = fresh(), pod = of_a_pod();
  const auto each = [&](const auto& change) {
    FakePf pf;
    change(pf.vf);
    EXPECT_EQ(setting_differences(before, pf.vf, {}).size(), 1u) << text_of(pf.vf);
    EXPECT_TRUE(restore(pf, before).ok());
    EXPECT_EQ(pf.vf, before);
    EXPECT_EQ(pf.written.size(), 1u);
  };
  each([&](VfConfig& vf) { vf.mac = pod.mac; });
  each([&](VfConfig& vf) { vf.vlan = pod.vlan; });
  each([&](VfConfig& vf) { vf.vlan_qos = pod.vlan_qos; });
  each([&](VfConfig& vf) { vf.trust = pod.trust; });
  each([&](VfConfig& vf) { vf.spoof_check = pod.spoof_check; });
  each([&](VfConfig& vf) { vf.rss_query = pod.rss_query; });
  each([&](VfConfig& vf) { vf.min_rate_mbps = pod.min_rate_mbps; });
  each([&](VfConfig& vf) { vf.max_rate_mbps = pod.max_rate_mbps; });
  each([&](VfConfig& vf) { vf.link_state = pod.link_state; });
  VfConfig tagged = fresh();
  tagged.vlan = 7;
  FakePf pf;
  pf.vf = tagged, pf.vf.vlan_protocol = "802.1ad";
  EXPECT_TRUE(restore(pf, tagged).ok());
  EXPECT_EQ(pf.vf, tagged) << "the protocol of a tag";
}

TEST(VfSettings, RestoresGuidsOfInfiniband) {
  FakePf pf;
  pf.vf = {.mac = "00:00:00:00:00:00",
           .vlan_protocol = "",
           .link_state = "auto",
           .node_guid = "0c:42:a1:03:00:00:00:01",
           .port_guid = "0c:42:a1:03:00:00:00:02"};
  const VfConfig before = pf.vf;
  pf.vf.node_guid = "02:00:00:00:00:00:00:09", pf.vf.port_guid = "02:00:00:00:00:00:00:0a";
  pf.vf.mac = "02:00:00:00:00:01";  // what the kernel fills in there is no setting
  ASSERT_TRUE(restore(pf, before).ok());
  EXPECT_EQ(pf.vf.node_guid, before.node_guid);
  EXPECT_EQ(pf.vf.port_guid, before.port_guid);
  EXPECT_EQ(pf.written, (std::vector<int>{IFLA_VF_IB_NODE_GUID, IFLA_VF_IB_PORT_GUID}));
}

// igb, ixgbe, i40e, ice and bnxt report what the VF has asked for where the PF has set none. Red when that counts as a pod's setting: each
// write resets the VF of i40e and ice, and the PF enforces what it has written.
TEST(VfSettings, IgnoresTheVfsOwnAddress) {
  const OwnAddresses own{.mac = "02:00:00:00:00:0a", .guid = ""};
  for (const bool refuses_zeros : {false, true}) {
    FakePf pf;
    pf.refuses_zeros = refuses_zeros;
    pf.vf.mac = own.mac;
    EXPECT_TRUE(restore(pf, fresh(), own).ok());
    EXPECT_TRUE(pf.written.empty());
    pf.vf.mac = of_a_pod().mac;
    ASSERT_TRUE(restore(pf, fresh(), own).ok()) << "a driver may take no zeros";
    EXPECT_EQ(pf.vf.mac, refuses_zeros ? own.mac : std::string(kNoMac));
    pf.vf.mac = of_a_pod().mac;
    EXPECT_EQ(restore(pf, fresh()).ok(), !refuses_zeros)
        << "unknown: the pod's address is not for the next one";
  }
  FakePf pf;
  VfConfig was = fresh();
  was.mac = "02:00:00:00:00:0b";
  pf.vf.mac = own.mac;
  ASSERT_TRUE(restore(pf, was, own).ok());
  EXPECT_EQ(pf.vf.mac, was.mac) << "one that the host has set is set again";
}

// qede reports the link's speed where nothing is limited. Red when a link that comes up beneath a pod keeps its claim on record for good.
TEST(VfSettings, ARateOfTheLinkSpeedIsNoLimit) {
  constexpr VfOfInterface kUp{.ifindex = 7, .index = 3, .speed_mbps = 25'000};
  const auto restore_to = [](FakePf& pf, uint32_t rate, const VfOfInterface& vf) {
    VfConfig was = fresh();
    was.max_rate_mbps = rate;
    return restore_vf_settings(pf.kernel(), vf, was, {}, [] { return Result<Unit>(Unit{}); });
  };
  FakePf pf;
  pf.refused = {IFLA_VF_RATE};
  pf.vf.max_rate_mbps = 25'000;
  EXPECT_TRUE(restore_to(pf, 0, kUp).ok());
  EXPECT_TRUE(restore_to(pf, 10'000, kVf).error().code == Errc::kIo)
      << "another one's limit, and the link is down";
  pf.vf.max_rate_mbps = 0;
  EXPECT_TRUE(restore_to(pf, 25'000, kUp).ok());
  pf.written.clear(), pf.refused.clear();
  pf.vf.max_rate_mbps = 100;
  EXPECT_TRUE(restore_to(pf, 25'000, kUp).ok());
  EXPECT_EQ(pf.vf.max_rate_mbps, 0u) << "a pod's limit is taken off";
  pf.vf.max_rate_mbps = 0;
  EXPECT_TRUE(restore_to(pf, 500, kUp).ok());
  EXPECT_EQ(pf.vf.max_rate_mbps, 500u);
}

// ib-sriov-cni's DEL leaves the interface's GUID, or ones where that was zeros; mlx5 takes no zeros. Red when it cannot be unprepared then.
TEST(VfSettings, DoesNotSetAnUnsetGuidToZero) {
  const std::string zeros = "00:00:00:00:00:00:00:00", ones = "ff:ff:ff:ff:ff:ff:ff:ff";
  const OwnAddresses own{.mac = "", .guid = "0c:42:a1:03:00:00:00:01"};
  VfConfig before = fresh();
  before.node_guid = zeros, before.port_guid = zeros;
  for (const std::string& left : {zeros, ones, own.guid}) {
    FakePf pf;
    pf.vf = before, pf.vf.node_guid = left, pf.vf.port_guid = left;
    EXPECT_TRUE(restore(pf, before, own).ok()) << left;
    EXPECT_TRUE(pf.written.empty()) << left;
  }
  for (const OwnAddresses& known : {own, OwnAddresses{}}) {
    FakePf pf;
    pf.refuses_zeros = true;
    pf.vf = before, pf.vf.node_guid = "02:00:00:00:00:00:00:09", pf.vf.port_guid = pf.vf.node_guid;
    ASSERT_TRUE(restore(pf, before, known).ok());
    EXPECT_EQ(pf.vf.node_guid, known.guid.empty() ? ones : own.guid);
    EXPECT_EQ(pf.vf.port_guid, pf.vf.node_guid);
  }
}

// Red when the answer of a driver that refuses, or acknowledges without effect, is believed.
TEST(VfSettings, NamesSettingsThatCannotBeRestored) {
  FakePf pf;
  pf.vf = of_a_pod();
  pf.refused = {IFLA_VF_TRUST};
  pf.ignored = {IFLA_VF_VLAN};
  const auto restored = restore(pf, fresh());
  ASSERT_FALSE(restored.ok());
  fixture::expect_golden(restored.error().what);
  VfConfig wanted = fresh();
  wanted.trust = true, wanted.vlan = 666, wanted.vlan_qos = 3, wanted.vlan_protocol = "802.1ad";
  EXPECT_EQ(pf.vf, wanted) << "the others are";
  pf.refused.clear(), pf.ignored.clear();
  EXPECT_TRUE(restore(pf, fresh()).ok()) << "and the next try does it";
}

TEST(VfSettings, IgnoresSettingsThatThePfDoesNotReport) {
  FakePf pf;
  VfConfig before = fresh();
  before.trust.reset(), before.min_rate_mbps.reset(), before.max_rate_mbps.reset(), before.link_state.clear();
  before.spoof_check.reset(), before.vlan_protocol.clear();
  pf.vf = fresh();
  pf.vf.trust = true;
  EXPECT_TRUE(restore(pf, before).ok());
  EXPECT_TRUE(pf.written.empty());
  pf.vf.spoof_check.reset();
  const auto restored = restore(pf, fresh());
  ASSERT_FALSE(restored.ok()) << "one that it does not report any more cannot be verified";
  EXPECT_NE(restored.error().what.find("spoofchk is not reported, was on"), std::string::npos)
      << restored.error().what;
}

TEST(VfSettings, WritesNothingForAnOpenOrMissingFunction) {
  FakePf pf;
  pf.vf = of_a_pod();
  const auto busy = [] { return Result<Unit>(Error{Errc::kBusy, "process 7 has it open"}); };
  EXPECT_EQ(restore_vf_settings(pf.kernel(), kVf, fresh(), {}, busy).error().code, Errc::kBusy);
  EXPECT_TRUE(pf.written.empty());
  pf.vf = fresh();
  EXPECT_TRUE(restore_vf_settings(pf.kernel(), kVf, fresh(), {}, busy).ok()) << "nothing differs";
  const auto other = restore_vf_settings(pf.kernel(), {.ifindex = 7, .index = 4}, fresh(), {}, busy);
  EXPECT_EQ(other.error().what, "its PF does not report VF 4");
}

// Red when the PF's settings differ from the VfConfig afterwards, or another setting of the VF changes.
TEST(VfSettings, ANetworkSetsItsFields) {
  FakePf pf;
  const VfConfig wanted{.vlan = 100, .trust = true, .spoof_check = false, .min_rate_mbps = 10};
  ASSERT_TRUE(apply_vf_settings(pf.kernel(), kVf, wanted).ok());
  VfConfig expected = fresh();
  expected.vlan = 100, expected.trust = true, expected.spoof_check = false, expected.min_rate_mbps = 10;
  EXPECT_EQ(pf.vf, expected);
  pf.written.clear();
  ASSERT_TRUE(apply_vf_settings(pf.kernel(), kVf, wanted).ok());
  EXPECT_TRUE(pf.written.empty()) << "as ordered already";
  ASSERT_TRUE(restore(pf, fresh()).ok());
  EXPECT_EQ(pf.vf, fresh());
  const VfConfig whole = [] {
    VfConfig out = of_a_pod();
    out.mac.clear(), out.rss_query.reset();
    return out;
  }();
  ASSERT_TRUE(apply_vf_settings(pf.kernel(), kVf, whole).ok());
  expected = of_a_pod();
  expected.mac = fresh().mac, expected.rss_query = fresh().rss_query;
  EXPECT_EQ(pf.vf, expected);
  ASSERT_TRUE(restore(pf, fresh()).ok());
  EXPECT_EQ(pf.vf, fresh());
}

// One request has VLAN, priority and protocol, and one both rates.
TEST(VfSettings, AnAdVlanIsUntaggedAndARateKeepsTheOther) {
  FakePf pf;
  pf.vf.vlan = 7, pf.vf.vlan_qos = 3, pf.vf.vlan_protocol = "802.1ad";
  pf.vf.min_rate_mbps = 20, pf.vf.max_rate_mbps = 900;
  const VfConfig before = pf.vf;
  ASSERT_TRUE(apply_vf_settings(pf.kernel(), kVf, {.vlan = 7, .max_rate_mbps = 500}).ok());
  EXPECT_EQ(pf.vf.vlan_qos, 0);
  EXPECT_EQ(pf.vf.vlan_protocol, "802.1Q");
  EXPECT_EQ(pf.vf.min_rate_mbps, 20);
  EXPECT_EQ(pf.vf.max_rate_mbps, 500);
  ASSERT_TRUE(restore(pf, before).ok());
  EXPECT_EQ(pf.vf, before);
  ASSERT_TRUE(apply_vf_settings(pf.kernel(), kVf, {.min_rate_mbps = 30}).ok());
  EXPECT_EQ(pf.vf.max_rate_mbps, 900);
}

// Red when the answer of a driver that refuses, acknowledges without effect, or reports nothing is believed.
TEST(VfSettings, NamesASettingThatThePfDoesNotApply) {
  FakePf pf;
  pf.refused = {IFLA_VF_TRUST}, pf.ignored = {IFLA_VF_VLAN};
  const auto applied = apply_vf_settings(pf.kernel(), kVf, {.vlan = 100, .trust = true});
  ASSERT_FALSE(applied.ok());
  fixture::expect_golden(applied.error().what);
  pf = FakePf();
  pf.vf.trust.reset();
  const auto unreported = apply_vf_settings(pf.kernel(), kVf, {.trust = true});
  ASSERT_FALSE(unreported.ok());
  EXPECT_TRUE(pf.written.empty()) << "it could be neither verified nor restored";
  EXPECT_EQ(unreported_settings({.vlan = 5, .vlan_protocol = "802.1ad", .trust = true}, pf.vf),
            std::vector<std::string>{"trust"});
  EXPECT_EQ(apply_vf_settings(pf.kernel(), {.ifindex = 7, .index = 4}, {.vlan = 5}).error().what,
            "its PF does not report VF 4");
}

}  // namespace
}  // namespace vf_settings_test
}  // namespace sliced::kubelet
