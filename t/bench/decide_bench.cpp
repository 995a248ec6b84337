// 10,000 devices x 100 policies against a hand-written loop over the same structs with the same comparisons.
#include <chrono>
#include <string>
#include <vector>

#include "policy/decide.h"
#include "policy/exposure/resolve.h"
#include "policy/exposure/selector.h"
#include "policy/readiness/track.h"
#include "policy/sriov/match.h"
#include "policy/sriov/selection.h"
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
      const policy::ResourceFilter& filter = policies.sriov[p]->configs[0].filters[0];
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

fixture::VfHost make_host(int pfs) {
  fixture::VfHost host;
  for (int pf = 0; pf < pfs; ++pf) {
    const std::string bus = hex(static_cast<uint64_t>(pf) * 4 + 16, 2);
    host.pf("0000:" + bus + ":00.0", "ens" + std::to_string(pf), kVfsEach);
  }
  return host;
}

constexpr const char *kEverySecondPf = "^ens[0-9]*[02468]$", *kOnePf = "^ens7$";

// Selectors as people write them; none but the last takes a device, and that the VFs of the PFs so named.
std::string selector(int policy, int policies, const std::string& pfs) {
  const std::string own = R"(device.attributes["dra.networking"])";
  if (policy + 1 == policies) return own + R"(.type == "vf" && )" + own + ".pfName.matches(\"" + pfs + "\")";
  switch (policy % 4) {
    case 0:
      return own + R"(.type == "vf" && )" + own + ".pfName == \"other" + std::to_string(policy) + "\"";
    case 1:
      return own + R"(.vendor == "15b3" && )" + own + ".vfIndex < " + std::to_string(policy);
    case 2:
      return own + R"(.type == "nic" || )" + own + R"(.ifName.startsWith("br)" + std::to_string(policy) +
             "\")";
    default:
      return own + R"(.driver in ["mlx5_core", "ice"] && )" + own + ".numaNode == " + std::to_string(policy);
  }
}

std::vector<policy::ExposurePolicy> make_exposures(int policies, const std::string& pfs) {
  std::vector<policy::ExposurePolicy> out;
  for (int i = 0; i < policies; ++i) {
    policy::ExposurePolicy policy;
    policy.id = {"p" + std::to_string(1000 + i)};
    policy.action = policy::ExposureAction::kExpose;
    policy.selector.cel = selector(i, policies, pfs);
    out.push_back(std::move(policy));
  }
  return out;
}

// As in a daemon that knew the devices before this decision.
void track_devices(policy::Inputs& inputs) {
  policy::ReadinessBook book;
  book.begin(std::make_shared<const hotplug::Inventory>(), {}, {}, /*all=*/false, TimePoint{Millis{1'000}});
  book.look(inputs.inventory, {}, TimePoint{Millis{2'000}});
  inputs.tracks = book.now();
  inputs.now = TimePoint{Millis{3'000}};
}

std::shared_ptr<policy::Inputs> exposure_inputs(int pfs, int policies,
                                                const std::string& taken = kEverySecondPf) {
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = make_host(pfs).inventory();
  inputs->policies = std::make_shared<const policy::PolicySet>(
      policy::make_policy_set({}, {}, policy::share(make_exposures(policies, taken))));
  inputs->node.name = "node-a";
  track_devices(*inputs);
  return inputs;
}

std::vector<cel::Program> compile(const policy::Inputs& inputs) {
  std::vector<cel::Program> out;
  for (const policy::ExposurePolicy& one : inputs.policies->exposures)
    out.push_back(
        std::move(policy::compile_selector(one.selector.cel, std::string(policy::kExposureDriver))).value());
  return out;
}

// The same expressions over the same devices, with nothing around.
size_t evaluate_only(const policy::Inputs& inputs, const std::vector<cel::Program>& programs) {
  size_t taken = 0;
  policy::HostDeviceView view{std::string(policy::kExposureDriver)};
  cel::Evaluator evaluator;
  for (const auto& [id, device] : inputs.inventory->devices) {
    const policy::DeviceFacts facts = policy::facts_of(device, *inputs.inventory);
    view.set_device(facts);
    for (const cel::Program& one : programs) taken += evaluator.select(one, view) == cel::Answer::Is::kTrue;
  }
  return taken;
}

// One of the policies is edited, by turns, while everything else stays: an attribute of its entries, or its
// selector. is_published: as in a daemon, where what is offered is published and may be allocated.
void compare_edits(size_t& sink, bool is_published) {
  for (const bool is_selector : {false, true}) {
    std::vector<policy::PolicySetPtr> sets;
    auto exposures = policy::share(make_exposures(kPolicies, kEverySecondPf));
    for (int i = 0; i < 2; ++i) {
      exposures[7].edit([&](policy::ExposurePolicy& one) {
        if (is_selector)
          one.selector.cel = selector(1, kPolicies, "") + " && " + std::to_string(i) + " < 2";
        else
          one.exposure.additional_attributes["example.com/rack"] = int64_t{i};
      });
      sets.push_back(std::make_shared<const policy::PolicySet>(policy::make_policy_set({}, {}, exposures)));
    }
    auto inputs = exposure_inputs(kPfs, kPolicies);
    std::shared_ptr<policy::Inputs> next;
    policy::Decision last = policy::decide(inputs);
    if (is_published) {
      inputs->before_at = inputs->now;
      inputs->holdings = last.offered;
      for (const auto& [pool, holdings] : last.offered)
        for (const policy::Holding& one : holdings) inputs->published.exposure.insert(one.entry);
    }
    size_t turn = 0;
    const auto edit = [&](bool is_warm) {
      next = std::make_shared<policy::Inputs>(*inputs);
      next->policies = sets[turn++ % 2];
      next->selectors = last.selectors;
      if (is_warm) next->entries = last.entries;
      if (!is_warm) {
        auto anew = std::make_shared<policy::SelectorResults>(*last.selectors);
        anew->memory.inventory = nullptr;
        next->selectors = anew;
      }
      last = policy::decide(next);
      sink += last.pools.size();
    };
    const std::string what = std::string(is_selector ? "selector" : "attribute") + " edited" +
                             (is_published ? ", all published" : "") + ", warm memory / anew";
    bench::compare(what.c_str(), 9, [&] { edit(false); }, [&] { edit(true); });
  }
}

int compare_exposures(size_t& sink) {
  for (const char* taken : {kOnePf, kEverySecondPf}) {
    auto inputs = exposure_inputs(kPfs, kPolicies, taken);
    const std::vector<cel::Program> programs = compile(*inputs);
    size_t offered = 0;
    for (const auto& [driver, pools] : policy::decide(inputs).pools)
      for (const auto& pool : pools) offered += pool.devices.size();
    std::printf("exposures: %zu devices, %d policies with CEL, %zu taken by expressions alone, %zu offered\n",
                inputs->inventory->devices.size(), kPolicies, evaluate_only(*inputs, programs), offered);
    if (offered != evaluate_only(*inputs, programs)) return 1;
    inputs->selectors = policy::decide(inputs).selectors;  // compiled once, as by the daemon
    bench::compare(
        "decide with CEL / expressions alone", 9, [&] { sink += evaluate_only(*inputs, programs); },
        [&] { sink += policy::decide(inputs).pools.size(); });
  }
  for (const bool is_published : {false, true}) compare_edits(sink, is_published);
  for (const int part : {4, 2, 1}) {
    const auto devices = exposure_inputs(kPfs / part, kPolicies),
               policies = exposure_inputs(kPfs, kPolicies / part);
    for (const auto& [what, some] : {std::pair("devices", devices), std::pair("policies", policies)}) {
      const auto start = std::chrono::steady_clock::now();
      constexpr int kRounds = 5;
      for (int i = 0; i < kRounds; ++i) sink += policy::decide(some).pools.size();
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      const auto pairs =
          static_cast<double>(some->inventory->devices.size() * some->policies->exposures.size());
      std::printf("1/%d of the %-8s %6zu devices x %3zu policies: %8.3f ms, %6.1f ns for each pair\n", part,
                  what, some->inventory->devices.size(), some->policies->exposures.size(),
                  took.count() / kRounds / 1e6, took.count() / kRounds / pairs);
    }
  }
  return 0;
}

}  // namespace

int main() {
  const fixture::VfHost host = make_host(kPfs);
  auto inputs = std::make_shared<policy::Inputs>();
  inputs->inventory = host.inventory();
  inputs->policies =
      std::make_shared<const policy::PolicySet>(policy::make_policy_set(policy::share(make_policies()), {}));
  inputs->node.name = "node-a";
  track_devices(*inputs);
  const auto selected = policy::policies_for_node(*inputs->policies, inputs->node);

  std::vector<Taken> taken;
  by_hand(*inputs->inventory, *inputs->policies, taken);
  const policy::Decision once = policy::decide(inputs);
  std::printf("decide: %zu devices, %d policies, %zu taken by hand, %zu offered\n",
              inputs->inventory->devices.size(), kPolicies, taken.size(),
              once.pools.at(policy::Settings{}.sriov_driver)[0].devices.size());
  if (taken.size() != once.pools.at(policy::Settings{}.sriov_driver)[0].devices.size()) return 1;
  size_t sink = 0;
  bench::compare(
      "verdicts / loop by hand", 15,
      [&] { by_hand(*inputs->inventory, *inputs->policies, taken), sink += taken.size(); },
      [&] {
        policy::VfMatcher matcher(*inputs->policies, selected, *inputs->inventory);
        for (const auto& [id, device] : inputs->inventory->devices)
          sink += matcher.decide(device).policy >= 0;
      });
  bench::compare(
      "decide with entries built / loop by hand", 15,
      [&] { by_hand(*inputs->inventory, *inputs->policies, taken), sink += taken.size(); },
      [&] { sink += policy::decide(inputs).pools.at(policy::Settings{}.sriov_driver)[0].devices.size(); });
  return compare_exposures(sink) != 0 || sink == 0;
}
