#include "policy/reliance.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/exposure/decode_policy.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::PciAddress;

// VFs of one PF, offered by the one kind or the other.
struct Reliance : testing::Test {
  hotplug::Inventory host;
  std::vector<SriovPolicy> sriov;
  std::vector<DeviceAttributes> attributes;
  std::vector<ExposurePolicy> exposures;

  void make_vfs(int count) {
    for (int i = 0; i < count; ++i) {
      const PciAddress address{0, 3, static_cast<uint8_t>(2 + i), 0};
      host.devices[address.text()] = {.id = {address.text()},
                                      .type = DeviceType::kVf,
                                      .pci = address,
                                      .vendor = i % 2 == 0 ? "8086" : "15b3",
                                      .driver = "iavf",
                                      .pf = PciAddress{0, 3, 0, 0},
                                      .vf_index = i,
                                      .netdev = hotplug::Netdev{.name = "v" + std::to_string(i)}};
    }
  }
  void offer(const std::string& name, const std::string& vendor, const std::string& rest = "") {
    const std::string config =
        "resourceFilters: [{vendors: [\"" + vendor + "\"]}]" + (rest.empty() ? "" : ", " + rest);
    sriov.push_back(
        decode_sriov_policy(kube::decode_yaml("metadata: {name: " + name +
                                              ", namespace: ns}\nspec: {configs: [{" + config + "}]}")
                                .documents.at(0)));
  }
  void put_attributes(const std::string& name, const std::string& labels, const std::string& values) {
    attributes.push_back(
        decode_device_attributes(kube::decode_yaml("metadata: {name: " + name + ", namespace: ns, labels: {" +
                                                   labels + "}}\nspec: {attributes: {" + values + "}}")
                                     .documents.at(0),
                                 Settings{}.sriov_driver));
  }
  void put(const std::string& name, const std::string& cel, const std::string& rest = "") {
    exposures.push_back(
        decode_exposure_policy(kube::decode_yaml("metadata: {name: " + name + "}\nspec: {selector: {cel: '" +
                                                 cel + "'}" + rest + "}")
                                   .documents.at(0)));
  }
  void exclude(const std::string& name, const std::string& cel, const std::string& more = "") {
    put(name, cel, ", action: exclude" + more);
  }
  Decision decision() const {
    auto in = std::make_shared<Inputs>();
    in->inventory = std::make_shared<const hotplug::Inventory>(host);
    in->policies =
        std::make_shared<const PolicySet>(make_policy_set(share(sriov), share(attributes), share(exposures)));
    in->node.name = "n1";
    return decide(in);
  }
  bool relies_on_attributes(const std::string& name) const {
    return relies_on(decision(), std::set{DeviceAttributes::Id{"ns", name}});
  }
  bool relies_on_exposure(const std::string& name) const {
    return relies_on(decision(), std::set{ExposurePolicy::Id{name}});
  }
};

TEST_F(Reliance, CountsThePolicyOfMostEntries) {
  make_vfs(18);
  offer("p", "8086");
  const std::set<SriovPolicy::Id> p{{"ns", "p"}}, q{{"ns", "q"}};
  EXPECT_TRUE(relies_on(decision(), p)) << "nine, and all of it";
  EXPECT_FALSE(relies_on(decision(), q)) << "there is no such policy";
  offer("q", "15b3");
  EXPECT_FALSE(relies_on(decision(), p)) << "half is not more than half";
  EXPECT_TRUE(relies_on(decision(), std::set<SriovPolicy::Id>{{"ns", "p"}, {"ns", "q"}})) << "together";
  EXPECT_FALSE(relies_on(decision(), std::set<ExposurePolicy::Id>{{"p"}})) << "of another kind";
}

TEST_F(Reliance, IgnoresAFewEntries) {
  make_vfs(8);
  put("p", "true");
  EXPECT_FALSE(relies_on_exposure("p"));
  put("shared", "true", ", exposure: {deviceNameSuffix: -s, allowMultipleAllocations: true}");
  EXPECT_FALSE(relies_on_exposure("p")) << "half";
  EXPECT_TRUE(relies_on(decision(), std::set<ExposurePolicy::Id>{{"p"}, {"shared"}}));
}

TEST_F(Reliance, CountsAttributesOfMostEntries) {
  make_vfs(18);
  put_attributes("gold", "tier: gold", "model: {string: x}");
  put_attributes("other", "tier: silver", "model: {string: y}");
  const std::string by_label = "deviceAttributesSelector: {matchLabels: {tier: gold}}";
  offer("p", "8086", by_label);
  EXPECT_TRUE(relies_on_attributes("gold"));
  EXPECT_FALSE(relies_on_attributes("other"));
  EXPECT_FALSE(relies_on_attributes("none"));
  offer("q", "15b3");
  EXPECT_FALSE(relies_on_attributes("gold")) << "half";
}

// Red when the loss of the object that withholds entries offers them immediately.
TEST_F(Reliance, CountsAttributesForWhichEntriesAreRefused) {
  make_vfs(2);
  put_attributes("bad", "tier: gold", "k8s.cni.cncf.io/resourceName: {string: " + std::string(70, 'x') + "}");
  offer("p", "8086", "deviceAttributesSelector: {matchLabels: {tier: gold}}");
  const Decision made = decision();
  ASSERT_EQ(made.verdicts.at("0000:03:02.0").outcome, Outcome::kRefused);
  EXPECT_TRUE(relies_on_attributes("bad"));
}

// Red when the loss of an exclude adds at once what it holds back, or what it will: its device may be plugged in a
// moment later.
TEST_F(Reliance, CountsEachExcludeOfTheNode) {
  make_vfs(2);
  put("p", "true");
  exclude("x", "device.attributes[\"dra.networking\"].ifName == \"v1\"");
  exclude("idle", "false");
  exclude("broken", "nope");
  exclude("elsewhere", "true", ", nodeSelector: {matchLabels: {zone: b}}");
  for (const char* name : {"x", "idle", "broken"}) EXPECT_TRUE(relies_on_exposure(name)) << name;
  for (const char* name : {"p", "elsewhere"}) EXPECT_FALSE(relies_on_exposure(name)) << name;
}

}  // namespace
}  // namespace sliced::policy
