#include <gtest/gtest.h>

#include <random>

#include "policy/decide.h"
#include "policy/entry_memory.h"
#include "policy/exposure/resolve.h"
#include "policy/same_facts.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace memory_test {

using fixture::VfHost;

constexpr const char *kPf0 = "0000:3b:00.0", *kPf1 = "0000:3c:00.0";

ExposurePolicy exposure(const std::string& name, const std::string& cel, const std::string& suffix = "") {
  ExposurePolicy out;
  out.id.name = name;
  out.action = ExposureAction::kExpose;
  out.selector.cel = cel;
  out.exposure.name_suffix = suffix;
  return out;
}

struct World {
  VfHost host;
  std::vector<Shared<SriovPolicy>> sriov;
  std::vector<Shared<ExposurePolicy>> exposures;
  Inputs in;
  Decision last;

  World() {
    host.pf(kPf0, "ens0", 6).pf(kPf1, "ens1", 6);
    in.node.name = "n1";
    in.inventory = host.inventory();
    SriovPolicy first;
    first.id = {"ns", "first"};
    first.configs.emplace_back();
    first.configs[0].filters.push_back({.pf_names = {{"ens0", {{0, 2}}}}});
    sriov.push_back(first);
    const std::string vf = "device.attributes['dra.networking'].type == 'vf'";
    exposures.push_back(exposure("all", vf));
    exposures.push_back(exposure("some", vf + " && device.attributes['dra.networking'].vfIndex < 4", "-x"));
    exposures.push_back(exposure("named", "device.attributes['dra.networking'].ifName == 'v1'", "-n"));
    exposures.push_back(exposure("pf", "device.attributes['dra.networking'].type == 'pf'"));
    ExposurePolicy hidden = exposure("hidden", "device.attributes['dra.networking'].mtu == 9000");
    hidden.action = ExposureAction::kExclude;
    exposures.push_back(hidden);
  }

  Decision decide_now(bool is_anew) {
    auto inputs = std::make_shared<Inputs>(in);
    inputs->policies = std::make_shared<const PolicySet>(make_policy_set(sriov, {}, exposures));
    inputs->holdings = last.offered;
    inputs->selectors = last.selectors;
    if (is_anew && last.selectors != nullptr) {
      auto selectors = std::make_shared<SelectorResults>(*last.selectors);
      selectors->memory.inventory = nullptr;
      inputs->selectors = selectors;
    }
    if (!is_anew) inputs->entries = last.entries;
    return decide(inputs);
  }

  // The published entries are those of the previous decision.
  void publish() {
    in.published = {};
    for (const auto& [driver, pools] : last.pools)
      for (const DesiredPool& pool : pools)
        for (const kube::Device& entry : pool.devices)
          (driver == in.settings.sriov_driver ? in.published.sriov : in.published.exposure)
              .insert(entry.name);
  }

  void change(std::mt19937& random) {
    const auto pick = [&](size_t count) { return static_cast<int>(random() % count); };
    const std::string vf = VfHost::vf_address(pick(2) == 0 ? kPf0 : kPf1, pick(6));
    const auto& devices = in.inventory->devices;
    switch (pick(10)) {
      case 0:
        if (devices.contains(vf)) host.at(vf).product = pick(2) == 0 ? "beef" : "1889";
        break;
      case 1:
        if (devices.contains(vf))
          host.at(vf).netdev =
              hotplug::Netdev{.name = "v" + std::to_string(pick(3)), .mtu = 1500 * (1 + 5 * pick(2))};
        break;
      case 2:
        if (devices.contains(vf)) host.at(vf).netdev.reset();
        break;
      case 3:
        host.at(kPf0).eswitch_mode = pick(2) == 0 ? "legacy" : "switchdev";
        break;
      case 4:
        host.remove(vf);
        break;
      case 5:
        sriov[0].edit([&](SriovPolicy& one) { one.configs[0].resource_name = pick(2) == 0 ? "a" : ""; });
        break;
      case 6:
        exposures[static_cast<size_t>(pick(4))].edit([&](ExposurePolicy& one) {
          one.exposure.additional_attributes["example.com/rack"] = int64_t{pick(3)};
        });
        break;
      case 7:
        exposures[static_cast<size_t>(pick(3))].edit(
            [&](ExposurePolicy& one) { one.selector.cel += pick(2) == 0 ? " && true" : " || false"; });
        break;
      case 8:
        publish();
        break;
      default:
        in.settings.counters = pick(4) != 0;
        break;
    }
    in.inventory = host.inventory();
  }
};

// Red when an entry is reused that would be decided differently now.
TEST(Memory, ChangesNoDecision) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    World world;
    for (int step = 0; step < 40; ++step) {
      const Decision kept = world.decide_now(false), anew = world.decide_now(true);
      ASSERT_EQ(kept.pools, anew.pools) << seed << " " << step;
      ASSERT_EQ(kept.verdicts, anew.verdicts) << seed << " " << step;
      ASSERT_EQ(kept.personas, anew.personas) << seed << " " << step;
      ASSERT_EQ(kept.offered, anew.offered) << seed << " " << step;
      ASSERT_EQ(kept.selectors->memory.answers, anew.selectors->memory.answers) << seed << " " << step;
      ASSERT_TRUE(std::equal(kept.notes.begin(), kept.notes.end(), anew.notes.begin(), anew.notes.end()));
      world.last = kept;
      world.change(random);
    }
  }
}

// Red when unchanged entries are created again.
TEST(Memory, SharesUnchangedObjects) {
  World world;
  const auto entries = [&](const Decision& decision) {
    std::map<std::string, kube::DevicePtr> out;
    for (const auto& [driver, pools] : decision.pools)
      for (const DesiredPool& pool : pools)
        for (const kube::DevicePtr& entry : pool.devices) out.emplace(driver + "/" + entry->name, entry);
    return out;
  };
  world.last = world.decide_now(false);
  const auto before = entries(world.last);
  const std::string changed = VfHost::vf_address(kPf1, 1);
  world.host.at(changed).product = "beef";
  world.in.inventory = world.host.inventory();
  const auto after = entries(world.decide_now(false));
  ASSERT_EQ(before.size(), after.size());
  size_t same = 0;
  for (const auto& [name, entry] : after) same += is_same(entry, before.at(name));
  EXPECT_EQ(after.size() - same, 2u) << "two personas of one VF";
}

TEST(SameFacts, CoverTheDeviceItsPfAndItsMaster) {
  VfHost host;
  host.pf(kPf0, "ens0", 2);
  const auto before = host.inventory();
  const std::string vf = VfHost::vf_address(kPf0, 0);
  const auto is_same = [&](const hotplug::InventoryPtr& now, const std::string& id) {
    return SameFacts(*now, before.get()).has(*now->find(id));
  };
  EXPECT_TRUE(is_same(before, vf));
  EXPECT_FALSE(SameFacts(*before, nullptr).has(*before->find(vf)));
  host.at(kPf0).num_vfs = 1;
  EXPECT_TRUE(is_same(host.inventory(), vf)) << "a VF does not show how many there are";
  EXPECT_FALSE(is_same(host.inventory(), kPf0));
  host.at(kPf0).eswitch_mode = "switchdev";
  EXPECT_FALSE(is_same(host.inventory(), vf));
  host.at(kPf0) = *before->find(kPf0);
  EXPECT_TRUE(SameFacts(*host.inventory(), before.get()).are_all());
  host.at(VfHost::vf_address(kPf0, 1)).representor = "rep1";
  const auto named = std::make_shared<hotplug::Inventory>(*host.inventory());
  const auto again = std::make_shared<hotplug::Inventory>(*named);
  again->devices.at(kPf0).netdev->alternative_names = {"old"};
  EXPECT_TRUE(SameFacts(*again, named.get()).has(*again->find(vf)));
  EXPECT_FALSE(SameFacts(*again, named.get()).has(*again->find(VfHost::vf_address(kPf0, 1))))
      << "it names another's interface";
  again->contested_names = {"old"};
  EXPECT_FALSE(SameFacts(*again, named.get()).has(*again->find(vf)));
  host.at(VfHost::vf_address(kPf0, 1)).representor.clear();
  host.remove(VfHost::vf_address(kPf0, 1));
  EXPECT_FALSE(SameFacts(*host.inventory(), before.get()).are_all());
  EXPECT_TRUE(is_same(host.inventory(), vf));
}

}  // namespace memory_test
}  // namespace sliced::policy
