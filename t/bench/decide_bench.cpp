// 10,000 devices x 100 policies against a hand-written loop over the same structs with the same comparisons.
#include <string>
#include <vector>

#include "policy/decide.h"
#include "reactor/base/text.h"
#include "t/bench/ratio.h"
#include "t/fixture/vf_host.h"

using namespace sliced;

namespace {

constexpr int kPfs = 40, kVfsEach = 249, kPolicies = 100;

// Filters of three fields, none of which the first 99 policies pass; the last policy takes every second PF.
std::vector<policy::SriovPolicy> make_policies() {
  std::vector<policy::SriovPolicy> out;
  for (int i = 0; i < kPolicies; ++i) {
    policy::SriovPolicy policy;
    policy.id = {"ns", "p" + std::to_string(1000 + i)};
    policy::ResourceFilter filter;
    filter.vendors = {"8086", "15b3"};
    filter.devices = {"1889"};
    if (i + 1 < kPolicies)
      filter.pf_names = {{"other" + std::to_string(i), {}}};
    else
      for (int pf = 0; pf < kPfs; pf += 2) filter.pf_names.push_back({"ens" + std::to_string(pf), {}});
    policy.configs.push_back({.filters = {filter}});
    out.push_back(std::move(policy));
  }
  return out;
}

bool any(const std::vector<std::string>& wanted, const std::string& value) {
  for (const std::string& one : wanted)
    if (one == value) return true;
  return false;
}

struct Taken {
  const hotplug::HostDevice* device;
  int policy;
};

void by_hand(const hotplug::Inventory& inventory, const policy::PolicySet& policies,
             std::vector<Taken>& out) {
  out.clear();
  for (const auto& [id, device] : inventory.devices) {
    if (device.type != hotplug::DeviceType::kVf) continue;
    for (size_t p = 0; p < policies.sriov.size(); ++p) {
      const policy::ResourceFilter& filter = policies.sriov[p].configs[0].filters[0];
      if (!any(filter.vendors, device.vendor) || !any(filter.devices, device.product)) continue;
      bool named = false;
      for (const auto& match : filter.pf_names)
        if (match.pf == device.pf_name) {
          named = true;
          break;
        }
      if (!named) continue;
      out.push_back({&device, static_cast<int>(p)});
      break;
    }
  }
}

}  // namespace

int main() {
  fixture::VfHost host;
  for (int pf = 0; pf < kPfs; ++pf) {
    const std::string bus = hex(static_cast<uint64_t>(pf) * 4 + 16, 2);
    host.pf("0000:" + bus + ":00.0", "ens" + std::to_string(pf), kVfsEach);
  }
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = host.inventory();
  inputs->policies = std::make_shared<const policy::PolicySet>(policy::make_policy_set(make_policies(), {}));
  inputs->node.name = "node-a";
  const auto selected = policy::policies_for_node(*inputs->policies, inputs->node);

  std::vector<Taken> taken;
  by_hand(*inputs->inventory, *inputs->policies, taken);
  const policy::Decision once = policy::decide(inputs);
  std::printf("decide: %zu devices, %d policies, %zu taken by hand, %zu offered\n",
              inputs->inventory->devices.size(), kPolicies, taken.size(), once.pools[0].devices.size());
  if (taken.size() != once.pools[0].devices.size()) return 1;
  size_t sink = 0;
  bench::compare(
      "verdicts / loop by hand", 15,
      [&] { by_hand(*inputs->inventory, *inputs->policies, taken), sink += taken.size(); },
      [&] {
        for (const auto& [id, device] : inputs->inventory->devices)
          sink += policy::decide_function(device, *inputs->policies, selected).policy >= 0;
      });
  bench::compare(
      "decide with entries built / loop by hand", 15,
      [&] { by_hand(*inputs->inventory, *inputs->policies, taken), sink += taken.size(); },
      [&] { sink += policy::decide(inputs).pools[0].devices.size(); });
  return sink == 0;
}
