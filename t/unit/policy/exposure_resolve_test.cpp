// Which policies speak of a device, and in which order.
#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/resolve.h"
#include "policy/policy_set.h"

namespace sliced::policy {
namespace exposure_resolve_test {

using Names = std::vector<std::string>;

struct ExposureResolve : testing::Test {
  ExposureResolve() {
    for (uint8_t i = 0; i < 3; ++i) {
      const hotplug::PciAddress address{0, 3, i, 0};
      inventory->devices[address.text()] = {.id = {address.text()},
                                            .type = hotplug::DeviceType::kNic,
                                            .pci = address,
                                            .netdev = hotplug::Netdev{.name = "eth" + std::to_string(i)}};
    }
    inventory->devices["dummy0"] = {
        .id = {"dummy0"}, .type = hotplug::DeviceType::kVirtual, .netdev = hotplug::Netdev{.name = "dummy0"}};
  }
  void add(const std::string& name, const std::string& cel, const std::string& rest = "") {
    text += "---\nmetadata: {name: " + name + "}\nspec: {selector: {cel: '" + cel + "'}" + rest + "}\n";
  }
  void run() {
    std::vector<Shared<ExposurePolicy>> exposures;
    for (const auto& document : kube::decode_yaml(text).documents)
      exposures.emplace_back(decode_exposure_policy(document));
    policies = make_policy_set({}, {}, std::move(exposures)).exposures;
    answers =
        evaluate_selectors(policies, {"n1", {}}, std::string(kExposureDriver), inventory, nullptr, budgets);
    resolutions = resolve(policies, *answers, *inventory, budgets.entries, problems);
  }
  const std::string& name_of(int32_t policy) const { return policies[static_cast<size_t>(policy)]->id.name; }
  Names winners(const std::string& device) const {
    Names out;
    for (const Winner& one : of(device).personas) out.push_back(name_of(one.policy));
    return out;
  }
  const Resolution& of(const std::string& device) const {
    size_t at = 0;
    for (const auto& [id, one] : inventory->devices)
      if (id < device) ++at;
    return resolutions.at(at);
  }

  std::shared_ptr<hotplug::Inventory> inventory = std::make_shared<hotplug::Inventory>();
  std::string text;
  WorkBudgets budgets;
  std::vector<Shared<ExposurePolicy>> policies;
  SelectorResultsPtr answers;
  std::map<int32_t, Problem> problems;
  std::vector<Resolution> resolutions;
};

constexpr const char *kFirst = "0000:03:00.0", *kSecond = "0000:03:01.0";

TEST_F(ExposureResolve, TheFirstByPriorityAndNameWinsPerSuffix) {
  add("b", "true");
  add("a", "true");
  add("low", "true", ", priority: 1");
  add("high", "device.attributes[\"dra.networking\"].ifName == \"eth1\"", ", priority: 900");
  add("other", "true", ", exposure: {deviceNameSuffix: -x}");
  run();
  EXPECT_EQ(winners(kFirst), (Names{"a", "other"}));
  EXPECT_EQ(winners(kSecond), (Names{"high", "other"}));
  EXPECT_EQ(winners("dummy0"), Names()) << "virtual links are offered where a policy says so";
  EXPECT_EQ(of(kFirst).personas.at(0).waits_for, -1);
}

TEST_F(ExposureResolve, AppliesExcludesFirst) {
  add("all", "true", ", priority: 1000");
  add("none", "device.attributes[\"dra.networking\"].ifName == \"eth1\"", ", action: exclude");
  run();
  EXPECT_EQ(of(kSecond).personas.size(), 0u);
  EXPECT_EQ(name_of(of(kSecond).excluded_by), "none");
  EXPECT_FALSE(of(kSecond).is_excluded_by_error || of(kSecond).is_unknown);
  EXPECT_EQ(of(kFirst).excluded_by, -1);
  EXPECT_EQ(winners(kFirst), Names{"all"});
}

TEST_F(ExposureResolve, AnExposeBeyondTheLimitOffersNothing) {
  add("many", "device.attributes[\"dra.networking\"].type == \"nic\"");
  add("one", "device.attributes[\"dra.networking\"].ifName == \"eth1\"",
      ", exposure: {deviceNameSuffix: -x}");
  budgets.entries = {2, 2};
  run();
  EXPECT_EQ(winners(kFirst), Names());
  EXPECT_EQ(winners(kSecond), Names{"one"});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(name_of(problems.begin()->first), "many");
}

TEST_F(ExposureResolve, SkipsPoliciesForOtherNodes) {
  add("elsewhere", "true", ", nodeSelector: {matchLabels: {zone: b}}, priority: 900");
  add("here", "true");
  run();
  EXPECT_EQ(winners(kFirst), Names{"here"});
  EXPECT_EQ(answers->node.exposes.size(), 1u);
}

}  // namespace exposure_resolve_test
}  // namespace sliced::policy
