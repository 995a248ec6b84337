// Policies that begin to require VF settings of PFs: known values count only if they were required before.
#include "policy/gates/stale_conditions.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/decode_policy.h"
#include "policy/gates/gate.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace stale_conditions_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPf = "0000:3b:00.0";
constexpr const char* kVf = "0000:3b:00.1";
constexpr const char* kOffers[] = {
    R"({apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: SriovResourcePolicy, metadata: {name: p,
 namespace: ns}, spec: {readiness: READINESS, configs: [{resourceName: r, resourceFilters: [{pciAddresses: ["0000:3b:00.1"]}]}]}})",
    R"({apiVersion: networking.dra.io/v1alpha1, kind: DeviceExposurePolicy, metadata: {name: e}, spec: {readiness: READINESS,
 selector: {cel: 'device.attributes["dra.networking"].pciAddress == "0000:3b:00.1"'}}})"};
constexpr PolicyType kBoth[] = {PolicyType::kSriov, PolicyType::kExposure};

// Decided at 90 s, and again at 100 s.
struct World {
  explicit World(PolicyType of) : kind(of) {
    host.pf(kPf, "ens1f0", 1);
    vf().enforced = hotplug::VfConfig{.mac = "02:00:00:00:00:01"};
    vf().netdev->mtu = 1500;
    in.node.name = "n1";
    in.node_state.is_known = true;
    in.query_times.emplace();
    in.now = TimePoint(90s);
    born = kUnknownStart;
  }
  hotplug::HostDevice& vf() { return host.at(kVf); }
  void told(TimePoint at) { (*in.query_times)[*hotplug::PciAddress::decode(kPf)] = at; }

  Decision decide(const std::string& readiness) {
    auto now = std::make_shared<hotplug::Inventory>(*host.inventory());
    now->can_query_pfs = true;
    in.inventory = now;
    in.policies = policies(readiness);
    in.tracks[kVf] = track_of({*now->find(kVf), *now, in.node_state}, kUnknownStart);
    in.tracks[kVf].born = born;
    Decision out = policy::decide(std::make_shared<const Inputs>(in));
    in.before = std::make_shared<const DesiredPools>(out.pools);
    in.before_at = in.now;
    in.pf_queries = out.pf_queries;
    return out;
  }
  std::string said(const std::string& readiness) {
    const Explanation told = explain(decide(readiness), kVf);
    return told.outcome + ": " + told.summary;
  }
  std::vector<kube::Taint> taints() const {
    std::vector<kube::Taint> out;
    for (const auto& [driver, pools] : *in.before)
      for (const DesiredPool& pool : pools)
        for (const kube::Device& device : pool.devices)
          out.insert(out.end(), device.taints.begin(), device.taints.end());
    return out;
  }

  const PolicyType kind;
  fixture::VfHost host;
  Inputs in;
  TimePoint born;

 private:
  PolicySetPtr policies(const std::string& readiness) const {
    std::string text = kOffers[kind == PolicyType::kSriov ? 0 : 1];
    text.replace(text.find("READINESS"), 9, readiness);
    const kube::Json object = kube::decode_yaml(text).documents.at(0);
    if (kind == PolicyType::kSriov)
      return std::make_shared<const PolicySet>(
          make_policy_set(share(std::vector{decode_sriov_policy(object)}), {}));
    auto policy =
        decode_exposure_policy(object, std::string(kExposureDriver), kube::decode_object_meta(object));
    return std::make_shared<const PolicySet>(make_policy_set({}, {}, share(std::vector{std::move(policy)})));
  }
};

bool is_said(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

TEST(StaleConditionsTest, ANodeStateNeedsAPfQueryForItsSettings) {
  for (const PolicyType kind : kBoth) {
    World world(kind);
    const Decision decision = world.decide("{require: [nodeState]}");
    EXPECT_EQ(explain(decision, kVf).outcome, "offered");
    EXPECT_TRUE(decision.unanswered_pfs.empty() && decision.pfs_to_query.empty());
    World wants(kind);
    wants.in.node_state.by_vf_settings = {kPf};
    EXPECT_TRUE(is_said(
        wants.said("{require: [nodeState]}"),
        "nodeState: VF settings of PF 0000:3b:00.0 have not been read since a policy began to require them"));
    World unknown(kind);
    unknown.in.node_state = {};
    EXPECT_TRUE(
        is_said(unknown.said("{require: [nodeState]}"), "nodeState: no SriovNetworkNodeState is read"));
  }
}

// Red when the PF is asked for ever although nobody could, or when what it told while it had an interface is believed.
TEST(StaleConditionsTest, DoesNotQueryAPfWithoutAnInterface) {
  for (const PolicyType kind : kBoth) {
    World world(kind);
    world.host.at(kPf).driver = "vfio-pci";
    world.host.at(kPf).netdev.reset();
    EXPECT_TRUE(is_said(world.said("{require: [adminMac]}"), "have not been read since"))
        << "it was told once";
    World never(kind);
    never.host.at(kPf) = world.host.at(kPf);
    never.vf().enforced.reset();
    const Decision decision = never.decide("{require: [adminMac]}");
    EXPECT_TRUE(is_said(explain(decision, kVf).summary, "adminMac: the PF has not reported the admin MAC"));
    EXPECT_TRUE(decision.unanswered_pfs.empty() && decision.pfs_to_query.empty());
    never.host.at(kPf).driver = "ice";  // its interface may be in a pod
    EXPECT_FALSE(never.decide("{require: [adminMac]}").unanswered_pfs.empty());
  }
}

TEST(StaleConditionsTest, ANewDeviceNeedsARecentQuery) {
  for (const PolicyType kind : kBoth)
    for (const bool is_first : {true, false})
      for (const bool is_young : {true, false}) {
        World world(kind);
        if (!is_first) world.decide("{require: [guid]}");
        world.in.before = std::make_shared<const DesiredPools>();
        world.in.pf_queries = nullptr;
        world.in.now = TimePoint(100s);
        world.born = TimePoint(95s);
        world.told(is_young ? TimePoint(98s) : TimePoint(97s));
        EXPECT_EQ(world.said("{require: [adminMac]}").substr(0, 3), is_young ? "off" : "not") << is_first;
        World old(kind);
        old.decide("{require: []}");
        old.in.before = std::make_shared<const DesiredPools>();
        old.in.now = TimePoint(100s);
        old.told(TimePoint(99s));
        EXPECT_EQ(old.said("{require: [adminMac]}").substr(0, 3), "not") << "it was there before";
      }
}

// Red when the wait hides what else is missing.
TEST(StaleConditionsTest, ReportsOtherConditionsToo) {
  for (const PolicyType kind : kBoth) {
    World world(kind);
    EXPECT_TRUE(is_said(
        world.said("{require: [adminMac], mtuAtLeast: 9000}"),
        "adminMac: VF settings of PF 0000:3b:00.0 have not been read since a policy began to require them; mtuAtLeast: interface "
        "ens1f0v0 has MTU 1500, expected 9000"));
  }
}

// Red when what stands is kept without the taint for something else that it has lost.
TEST(StaleConditionsTest, TaintsAPublishedEntryForOtherConditions) {
  for (const PolicyType kind : kBoth) {
    World world(kind);
    world.decide("{require: []}");
    world.vf().enforced->mac = "00:00:00:00:00:00";
    world.in.now = TimePoint(100s);
    world.decide("{require: [adminMac], onLoss: taint}");
    EXPECT_TRUE(world.taints().empty()) << "as it was until its PF is asked";
    world.in.now = TimePoint(101s);
    world.decide("{require: [adminMac], mtuAtLeast: 9000, onLoss: taint}");
    ASSERT_EQ(world.taints().size(), 1u);
    EXPECT_EQ(world.taints()[0].value, "mtuAtLeast");
    world.in.now = TimePoint(102s);
    world.decide("{require: [adminMac], onLoss: taint}");
    ASSERT_EQ(world.taints().size(), 1u);
    EXPECT_EQ(world.taints()[0].value, "adminMac") << "it is not waited for any longer";
  }
}

// Another one has come in its place. Red when it is kept by the name.
TEST(StaleConditionsTest, AnotherEntryIsNotPublished) {
  for (const PolicyType kind : kBoth) {
    World world(kind);
    world.decide("{require: []}");
    world.in.now = TimePoint(100s);
    world.born = TimePoint(95s);
    EXPECT_EQ(world.said("{require: [adminMac]}").substr(0, 9), "not-ready");
  }
}

}  // namespace
}  // namespace stale_conditions_test
}  // namespace sliced::policy
