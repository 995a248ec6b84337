#include "policy/gates/settling.h"

#include <gtest/gtest.h>

#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/decode_policy.h"
#include "policy/identity.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace settling_test {

using fixture::VfHost;

constexpr const char* kPf = "0000:3b:00.0";
const std::string kSriovDriver = Settings{}.sriov_driver, kDriver{kExposureDriver};

std::string entry_of(int vf) {
  return function_name(*hotplug::PciAddress::decode(VfHost::vf_address(kPf, vf)));
}

// Every VF of one PF, by a policy of either kind.
struct World {
  VfHost host;
  bool is_sriov;
  Inputs in;

  World(bool sriov, int vfs) : is_sriov(sriov) {
    host.pf(kPf, "ens1f0", vfs);
    in.node.name = "n1";
    SriovPolicy every_vf;
    every_vf.id = {"ns", "vfs"};
    every_vf.configs.emplace_back();
    ExposurePolicy vfs_only;
    vfs_only.id.name = "vfs";
    vfs_only.action = ExposureAction::kExpose;
    vfs_only.selector.cel = "device.attributes['dra.networking'].type == 'vf'";
    in.policies =
        std::make_shared<const PolicySet>(sriov ? make_policy_set(share(std::vector{every_vf}), {})
                                                : make_policy_set({}, {}, share(std::vector{vfs_only})));
  }
  Decision decide_now(std::set<int> in_motion = {}, DesiredPoolsPtr before = nullptr) {
    in.inventory = host.inventory();
    in.settling.clear();
    for (const int vf : in_motion) in.settling.insert(VfHost::vf_address(kPf, vf));
    in.before = std::move(before);
    return decide(std::make_shared<const Inputs>(in));
  }
  // Names of entries, and their drivers as published.
  std::map<std::string, std::string> published(const Decision& decision) const {
    std::map<std::string, std::string> out;
    const std::string key = is_sriov ? kSriovDriver + "/deviceID" : kDriver + "/product";
    for (const auto& pool : decision.pools.at(is_sriov ? kSriovDriver : kDriver))
      for (const kube::Device& device : pool.devices)
        out[device.name] = std::get<std::string>(device.attributes.at(key));
    return out;
  }
};

// Red when a kind of policy has another rule for settling, or the verdict of a withheld entry is "offered".
TEST(SettlingOf, RemovalsPassAndAdditionsWaitForBothTypes) {
  for (const bool is_sriov : {true, false}) {
    World world(is_sriov, 3);
    const Decision first = world.decide_now();
    const auto before = std::make_shared<const DesiredPools>(first.pools);
    const std::string old = world.published(first).at(entry_of(1));
    World next(is_sriov, 5);  // 3 and 4 are new
    for (const int vf : {1, 2}) next.host.at(VfHost::vf_address(kPf, vf)).product = "beef";
    next.host.remove(VfHost::vf_address(kPf, 0));
    const Decision second = next.decide_now({1, 3}, before);
    EXPECT_EQ(next.published(second), (std::map<std::string, std::string>{
                                          {entry_of(1), old}, {entry_of(2), "beef"}, {entry_of(4), old}}))
        << is_sriov;
    for (int vf = 1; vf < 5; ++vf)
      EXPECT_EQ(explain(second, VfHost::vf_address(kPf, vf)).outcome, vf == 3 ? "settling" : "offered");
    fixture::expect_golden(explain(second, VfHost::vf_address(kPf, 3)).summary);
    const Decision settled = next.decide_now({}, std::make_shared<const DesiredPools>(second.pools));
    EXPECT_EQ(next.published(settled).size(), 4u);
    EXPECT_EQ(next.published(settled).at(entry_of(1)), "beef");
  }
}

TEST(Settling, KeepsOnlyAttributes) {
  Inputs in;
  in.settling = {"eth1"};
  kube::Device was{.name = "eth1", .attributes = {{"a/b", int64_t{0}}}};
  in.before = std::make_shared<const DesiredPools>(
      DesiredPools{{kDriver, {{.driver = kDriver, .name = "n1/net", .devices = {was}}}}});
  const SettlingDevices settling(in);
  const hotplug::HostDevice eth1{.id = {"eth1"}}, eth2{.id = {"eth2"}};
  const auto kept = [&](const hotplug::HostDevice& device, const std::string& pool) {
    kube::Device now{.name = "eth1", .attributes = {{"a/b", int64_t{7}}}};
    now.consumes_counters = {{"pf", {{"slots", kube::Quantity(1)}}}};
    const kube::DevicePtr kept = settling.as_published_before(device, pool, now);
    EXPECT_EQ(kept->consumes_counters.size(), 1u) << "what it takes is of now";
    return std::get<int64_t>(kept->attributes.at("a/b"));
  };
  EXPECT_EQ(kept(eth1, "n1/net"), 0);
  EXPECT_EQ(kept(eth2, "n1/net"), 7) << "it is not in motion";
  EXPECT_EQ(kept(eth1, "n1/0000-3b-00-0"), 7) << "what was not there has nothing to keep";
  EXPECT_TRUE(settling.was_published("n1/net", "eth1"));
  EXPECT_FALSE(settling.was_published("n1/net", "eth2"));
}

}  // namespace settling_test
}  // namespace sliced::policy
