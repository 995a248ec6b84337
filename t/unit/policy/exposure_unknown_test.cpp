// Excludes that ask for facts of an interface that is not here.
#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/exclude_record.h"
#include "policy/exposure/resolve.h"
#include "t/fixture/golden.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;
using hotplug::PciAddress;

constexpr const char* kVf = "0000:03:00.2";
constexpr const char* kVfEntry = "0000-03-00-2";

std::string attribute(const std::string& id) { return "device.attributes[\"dra.networking\"]." + id; }

std::vector<Shared<ExposurePolicy>> exposures_in(const std::string& text) {
  std::vector<Shared<ExposurePolicy>> out;
  for (const auto& document : kube::decode_yaml(text).documents) {
    out.emplace_back(decode_exposure_policy(document));
    EXPECT_TRUE(out.back()->problems.empty()) << text;
  }
  return out;
}

std::vector<Shared<ExposurePolicy>> exposures_of(const std::string& expose,
                                                 const std::vector<std::string>& excludes) {
  std::string text = "---\nmetadata: {name: p}\nspec: {selector: {cel: '" + expose + "'}}\n";
  for (const std::string& exclude : excludes)
    text += "---\nmetadata: {name: x" + std::to_string(&exclude - excludes.data()) +
            "}\nspec: {action: exclude, selector: {cel: '" + exclude + "'}}\n";
  return exposures_in(text);
}

// A PF that is here, and a VF whose interface is not.
struct UnknownFactsTest : testing::Test {
  hotplug::Inventory host;
  Published published;
  SelectorResultsPtr memory;
  WorkBudgets budgets;
  Decision last;

  UnknownFactsTest() {
    const PciAddress pf{0, 3, 0, 0}, vf{0, 3, 0, 2};
    host.devices[pf.text()] = {.id = {pf.text()},
                               .type = DeviceType::kPf,
                               .pci = pf,
                               .driver = "ice",
                               .netdev = hotplug::Netdev{.name = "ens1f0", .link_type = 1}};
    host.devices[vf.text()] = {.id = {vf.text()},
                               .type = DeviceType::kVf,
                               .pci = vf,
                               .vendor = "8086",
                               .driver = "iavf",
                               .pf = pf,
                               .pf_name = "ens1f0",
                               .pf_link_type = 1};
  }
  HostDevice& vf() { return host.devices.at(kVf); }
  HostDevice& pf() { return host.devices.at("0000:03:00.0"); }

  std::string decide_with(const std::vector<std::string>& excludes,
                          const std::string& expose = attribute("type") + " == \"vf\"") {
    return decide_over(exposures_of(expose, excludes));
  }
  std::string decide_text(const std::string& text) { return decide_over(exposures_in(text)); }
  std::string decide_over(std::vector<Shared<ExposurePolicy>> exposures) {
    auto in = std::make_shared<Inputs>();
    in->inventory = std::make_shared<const hotplug::Inventory>(host);
    in->policies = std::make_shared<const PolicySet>(make_policy_set({}, {}, std::move(exposures)));
    in->node.name = "n1";
    in->published = published;
    in->selectors = memory;
    in->settings.budgets = budgets;
    last = decide(in);
    return explain(last, kVf).outcome;
  }
};

// Red when an unknown fact reads as "", 0 or false, or when an error that it causes counts as an answer.
TEST_F(UnknownFactsTest, AbsorbsUnknownLikeErrors) {
  const std::string name = attribute("ifName") + " == \"x\"", map = "device.attributes[\"dra.networking\"]";
  const struct {
    std::string exclude, outcome;
  } rows[] = {
      {name, "exclude-unknown"},
      {attribute("ifName") + " != \"x\"", "exclude-unknown"},
      {"!(" + name + ")", "exclude-unknown"},
      {"has(" + attribute("ifName") + ")", "exclude-unknown"},
      {"!has(" + attribute("ifName") + ")", "exclude-unknown"},
      {attribute("?ifName") + ".orValue(\"y\") == \"x\"", "exclude-unknown"},
      {attribute("mac") + ".startsWith(\"02:\")", "exclude-unknown"},
      {attribute("mtu") + " > 9000", "exclude-unknown"},
      {attribute("linkType") + " == \"infiniband\"", "exclude-unknown"},
      {attribute("operState") + " == \"down\"", "exclude-unknown"},
      {attribute("linkSpeed") + " > 0", "exclude-unknown"},
      {attribute("masterBridge") + " == \"br0\"", "exclude-unknown"},
      {attribute("bondMaster") + " == \"bond0\"", "exclude-unknown"},
      {attribute("physPortName") + " == \"p0\"", "exclude-unknown"},
      {attribute("rdma"), "exclude-unknown"},
      {attribute("rdmaDevice") + " == \"mlx5_0\"", "exclude-unknown"},
      {"\"ifName\" in " + map, "exclude-unknown"},
      {"size(" + map + ") > 100", "exclude-unknown"},
      {map + ".exists(key, key == \"mac\")", "exclude-unknown"},
      {map + "[\"if\" + \"Name\"] == \"x\"", "exclude-unknown"},
      {"cel.bind(all, device.attributes, all[\"dra.networking\"].ifName == \"x\")", "exclude-unknown"},
      {"(" + name + ") ? true : false", "exclude-unknown"},
      {name + " && " + attribute("vendor") + " == \"8086\"", "exclude-unknown"},
      {name + " || " + attribute("vendor") + " == \"15b3\"", "exclude-unknown"},
      // What decides without it.
      {"true || " + name, "excluded"},
      {name + " || true", "excluded"},
      {"has(" + attribute("ifName") + ") || " + attribute("vendor") + " == \"8086\"", "excluded"},
      {"false && " + name, "offered"},
      {name + " && " + attribute("vendor") + " == \"15b3\"", "offered"},
      {attribute("type") + " == \"bridge\" && " + name, "offered"},
      {attribute("pciAddress") + " == \"0000:03:00.2\"", "excluded"},
      {attribute("pfName") + " == \"ens1f1\"", "offered"},
      {attribute("driver") + " == \"vfio-pci\"", "offered"},
      {attribute("bridgeName") + " == \"br0\"", "offered"},
      {"1 / 0 == 1", "excluded"},
  };
  for (const auto& row : rows) EXPECT_EQ(decide_with({row.exclude}), row.outcome) << row.exclude;
  EXPECT_EQ(decide_with({name, attribute("vendor") + " == \"8086\""}), "excluded") << "another one is sure";
  ASSERT_EQ(decide_with({attribute("vendor") + " == \"15b3\"", name}), "exclude-unknown");
  const std::string why = explain(last, kVf).summary;
  EXPECT_NE(why.find("x1 "), std::string::npos) << why;
  EXPECT_NE(why.find("ifName"), std::string::npos) << why;
  EXPECT_TRUE(last.pools.at(std::string(kExposureDriver)).at(0).devices.empty());
}

TEST_F(UnknownFactsTest, ADriverWithoutInterfacesHasNone) {
  const std::string name = attribute("ifName") + " == \"x\"", has_none = "!has(" + attribute("ifName") + ")";
  for (const char* driver : {"", "vfio-pci", "mlx5_vfio_pci", "hisi_acc_vfio_pci", "virtio_vfio_pci",
                             "igb_uio", "uio_pci_generic", "pci-stub", "pciback"}) {
    vf().driver = driver;
    EXPECT_EQ(decide_with({name}), "offered") << driver;
    EXPECT_EQ(decide_with({has_none}), "excluded") << driver;
  }
  for (const char* driver : {"iavf", "mlx5_core", "no-driver-that-we-know"}) {
    vf().driver = driver;
    EXPECT_EQ(decide_with({name}), "exclude-unknown") << driver;
  }
  vf().driver = "";
  vf().unreadable = {"driver: EIO"};
  EXPECT_EQ(decide_with({name}), "exclude-unknown") << "it may have one";
}

// kubernetes-sigs/dranet#139, #182: EFA-only functions. Red when an exclude of another interface keeps them from being offered.
TEST_F(UnknownFactsTest, ADriverOfOnlyRdmaOrVdpaHasNoInterfaces) {
  const std::string name = attribute("ifName") + " == \"ens5\"";
  for (const char* driver :
       {"efa", "usnic_verbs", "ifcvf", "vp-vdpa", "octep_vdpa", "snet-vdpa-driver", "alibaba-eni-vdpa"}) {
    vf().driver = driver;
    EXPECT_EQ(decide_with({name}), "offered") << driver;
  }
  vf().driver = "efa";
  vf().unreadable = {"driver: EIO"};
  EXPECT_EQ(decide_with({name}), "exclude-unknown") << "it may be another one now";
}

// Red when an exclude lets a function through whose file in sysfs gives an error while its driver resets it.
TEST_F(UnknownFactsTest, UnreadableIsNotAbsent) {
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0", .mtu = 1500, .link_type = 1};
  vf().admin_mac = "02:00:00:00:00:09";
  const std::string vendor = "has(" + attribute("vendor") + ") && " + attribute("vendor") + " == \"8086\"";
  EXPECT_EQ(decide_with({vendor}), "excluded");
  vf().vendor.clear();
  vf().unreadable = {"subsystem_vendor: EIO"};
  EXPECT_EQ(decide_with({vendor}), "offered") << "another file";
  vf().unreadable = {"vendor: EIO", "address: \"?\" is not a MAC address",
                     "operstate, speed: no answer within 1000 ms"};
  EXPECT_EQ(decide_with({vendor}), "exclude-unknown");
  fixture::expect_golden(explain(last, kVf).summary);
  EXPECT_EQ(decide_with({attribute("mac") + " == \"x\""}), "exclude-unknown")
      << "the PF's word is not its own";
  EXPECT_EQ(decide_with({attribute("operState") + " == \"down\""}), "exclude-unknown");
  EXPECT_EQ(decide_with({attribute("linkSpeed") + " == 1"}), "exclude-unknown");
  EXPECT_EQ(decide_with({attribute("mtu") + " == 9000"}), "offered");
  EXPECT_EQ(decide_with({}, attribute("type") + " == \"vf\" && !has(" + attribute("vendor") + ")"),
            "no-policy")
      << "nor is anything offered by it";
}

// Red when a provisional type, from a missing file, gives an answer for a function of another type.
TEST_F(UnknownFactsTest, AKnownTypeDecidesEverything) {
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0", .link_type = 1};
  vf().type = DeviceType::kNic;
  vf().pf.reset();
  const std::string expose = attribute("vendor") + " == \"8086\"";
  const std::string total = "has(" + attribute("totalVFs") + ")", index = attribute("type") + " == \"vf\"";
  EXPECT_EQ(decide_with({total, index}, expose), "offered");
  vf().unreadable = {"sriov_totalvfs: EIO"};
  EXPECT_EQ(decide_with({total}, expose), "exclude-unknown");
  vf().unreadable = {"physfn: EIO"};
  EXPECT_EQ(decide_with({index}, expose), "exclude-unknown");
  EXPECT_EQ(decide_with({"has(" + attribute("vfIndex") + ")"}, expose), "exclude-unknown");
}

TEST_F(UnknownFactsTest, UnreadableFactsOfAPfAreUnknownToItsVfs) {
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0"};
  vf().pf_link_type.reset();
  const std::string mode = attribute("eswitchMode") + " == \"switchdev\"",
                    type = attribute("linkType") + " == \"x\"";
  EXPECT_EQ(decide_with({mode, type}), "offered");
  memory = last.selectors;
  pf().unreadable = {"phys_switch_id: EIO"};
  EXPECT_EQ(decide_with({mode}), "exclude-unknown");
  pf().unreadable = {"type: EIO"};
  EXPECT_EQ(decide_with({type}), "exclude-unknown");
}

TEST_F(UnknownFactsTest, FactsThatBecomeUnreadableWithdrawNothing) {
  const std::string vendor = "has(" + attribute("vendor") + ") && " + attribute("vendor") + " == \"15b3\"";
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0", .mtu = 1500, .link_type = 1};
  ASSERT_EQ(decide_with({vendor}), "offered");
  memory = last.selectors;
  published.exposure = {kVfEntry};
  vf().vendor.clear();
  vf().unreadable = {"vendor: EIO"};
  EXPECT_EQ(decide_with({vendor}), "offered");
}

// Of an interface that left while we watched, what lasts is known; where it is enslaved and whether it is up
// is not.
TEST_F(UnknownFactsTest, StickyFactsAreKnown) {
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0", .mac = "02:00:00:00:00:01", .mtu = 1500, .link_type = 1};
  vf().netdev->stale = true;
  EXPECT_EQ(decide_with({attribute("ifName") + " == \"ens1f0v0\""}), "excluded");
  for (const char* id : {"ifName", "mac", "linkType", "physPortName", "rdmaDevice"})
    EXPECT_EQ(decide_with({attribute(id) + " == \"x\""}), "offered") << id;
  EXPECT_EQ(decide_with({attribute("mtu") + " == 9000"}), "offered");
  for (const char* id : {"operState", "masterBridge", "bondMaster"})
    EXPECT_EQ(decide_with({attribute(id) + " == \"x\""}), "exclude-unknown") << id;
  vf().netdev->is_partial = true;
  for (const char* id : {"physPortName", "rdmaDevice"})
    EXPECT_EQ(decide_with({attribute(id) + " == \"x\""}), "exclude-unknown") << id;
  vf().netdev->name = "\xff\xfe";
  EXPECT_EQ(decide_with({attribute("ifName") + " == \"x\""}), "exclude-unknown") << "it cannot be compared";
}

TEST_F(UnknownFactsTest, FactsOfAPfInAPodAreUnknownToItsVfs) {
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0"};
  pf().netdev.reset();
  vf().pf_name.clear();
  vf().pf_link_type.reset();
  for (const char* id : {"pfName", "eswitchMode", "linkType"})
    EXPECT_EQ(decide_with({attribute(id) + " == \"x\""}), "exclude-unknown") << id;
  EXPECT_EQ(decide_with({attribute("ifName") + " == \"x\""}), "offered");
  pf().driver = "vfio-pci";
  for (const char* id : {"pfName", "eswitchMode", "linkType"})
    EXPECT_EQ(decide_with({attribute(id) + " == \"x\""}), "offered") << id;
}

// What is published keeps its verdict while the exclude is the one that it stood under, and no longer.
TEST_F(UnknownFactsTest, APublishedEntryKeepsItsVerdict) {
  const std::string name = attribute("ifName") + " == \"x\"", other = attribute("mtu") + " == 9000";
  published.exposure = {kVfEntry};
  EXPECT_EQ(decide_with({name}), "exclude-unknown") << "nothing is recorded";
  published.exclude_records[kVf] = {exclude_record({name})};
  EXPECT_EQ(decide_with({name}), "offered");
  EXPECT_EQ(decide_with({name, attribute("vendor") + " == \"15b3\""}), "offered") << "and another one";
  EXPECT_EQ(decide_with({name, other}), "exclude-unknown") << "another one that asks";
  EXPECT_EQ(decide_with({other}), "exclude-unknown") << "an edited one";
  published.exclude_records[kVf] = {exclude_record({other, name})};
  EXPECT_EQ(decide_with({name}), "offered") << "one that went";
  published.exposure.clear();
  EXPECT_EQ(decide_with({name}), "exclude-unknown") << "it no longer stands there";
  published.sriov = {kVfEntry};
  EXPECT_EQ(decide_with({name}), "offered");
}

TEST_F(UnknownFactsTest, UsesThePreviousDecision) {
  const std::string name = attribute("ifName") + " == \"x\"";
  vf().driver = "vfio-pci";
  ASSERT_EQ(decide_with({name}), "offered");
  memory = last.selectors;
  vf().driver = "iavf";
  EXPECT_EQ(decide_with({name}), "exclude-unknown") << "it was never published";
  published.exposure = {kVfEntry};
  EXPECT_EQ(decide_with({name}), "offered");
  memory = last.selectors;
  EXPECT_EQ(decide_with({name}), "offered") << "and goes on";
  EXPECT_EQ(decide_with({name + " || false"}), "exclude-unknown") << "an edited one";
}

// Red when the kept answer of an expose, which reads unknown facts as absent, is reused for an exclude.
TEST_F(UnknownFactsTest, DoesNotUseAnExposeResultForAnExclude) {
  const std::string name = attribute("ifName") + " == \"x\"";
  published.exposure = {kVfEntry};
  ASSERT_EQ(decide_with({}, name), "no-policy") << "read as absent";
  memory = last.selectors;
  EXPECT_EQ(decide_with({name}), "exclude-unknown");
  // Nor of one port for the others.
  memory = nullptr;
  vf().netdev = hotplug::Netdev{.name = "one0", .dev_port = 0};
  vf().netdev->stale = true;
  vf().other_netdevs = {hotplug::Netdev{.name = "x", .dev_port = 1}};
  ASSERT_EQ(decide_with({}, name), "no-policy") << "exposes see the first";
  memory = last.selectors;
  EXPECT_EQ(decide_with({name}), "excluded");
  memory = last.selectors;
  vf().other_netdevs.clear();
  EXPECT_EQ(decide_with({name}), "excluded") << "its own answer stands";
}

// Red when a VF stays excluded by a name that its PF has no longer, since its own interface is in a pod.
TEST_F(UnknownFactsTest, QueriesFactsOfAPfAgain) {
  const std::string name = attribute("pfName") + " == \"ens1f0\"";
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0"};
  vf().netdev->stale = true;
  published.exposure = {kVfEntry};
  ASSERT_EQ(decide_with({name}), "excluded");
  memory = last.selectors;
  pf().netdev->name = vf().pf_name = "net0";
  EXPECT_EQ(decide_with({name}), "offered");
  memory = last.selectors;
  pf().netdev->name = vf().pf_name = "ens1f0";
  EXPECT_EQ(decide_with({name}), "excluded") << "and the other way round";
}

// Red when an exclude that took too much, and so said nothing, is recorded as one that did not mean it.
TEST_F(UnknownFactsTest, RecordsOnlyEvaluatedExcludes) {
  const std::string cheap = attribute("mtu") + " == 9000",
                    dear = "lists.range(100).all(x, x >= 0) && " + attribute("ifName") + " == \"x\"";
  published.exposure = {kVfEntry};
  published.exclude_records[kVf] = {exclude_record({cheap})};
  budgets.selectors = {200, 100};
  ASSERT_EQ(decide_with({cheap, dear}), "offered") << "what is published stays";
  EXPECT_EQ(last.pools.at(std::string(kExposureDriver)).at(0).excludes, exclude_record({cheap}));
  published.exclude_records[kVf] = {last.pools.at(std::string(kExposureDriver)).at(0).excludes};
  budgets = {};
  EXPECT_EQ(decide_with({cheap, dear}), "exclude-unknown");
}

// Red when unknown facts need more memory than known ones: they may be all facts of each device and selector.
TEST_F(UnknownFactsTest, UnknownUsesAByteForEachDeviceAndSelector) {
  ASSERT_EQ(decide_with({attribute("ifName") + " == \"x\"", attribute("mtu") + " == 9000"}),
            "exclude-unknown");
  const SelectorMemory& kept = last.selectors->memory;
  EXPECT_EQ(kept.unknown.size(), kept.answers.size());
  EXPECT_EQ(kept.unknown_fact(kVf, attribute("mtu") + " == 9000"), "mtu");
  EXPECT_EQ(kept.unknown_fact("0000:03:00.0", attribute("mtu") + " == 9000"), "");
  EXPECT_EQ(kept.unknown_fact(kVf, "true"), "");
  EXPECT_EQ(kept.unknown_fact("br0", attribute("mtu") + " == 9000"), "");
  ASSERT_EQ(decide_with({}), "offered");
  EXPECT_TRUE(last.selectors->memory.unknown.empty()) << "nothing where all is known";
}

// An expose that reads an unknown fact offers nothing new. For published devices it reads the fact as absent.
TEST_F(UnknownFactsTest, AnExposeOffersNothingByUnknownFacts) {
  const std::string free = attribute("masterBridge") + " == \"\"";
  EXPECT_EQ(decide_with({}, free), "no-policy");
  published.exposure = {kVfEntry};
  EXPECT_EQ(decide_with({}, free), "offered");
  EXPECT_EQ(decide_with({}, attribute("ifName") + " == \"x\""), "no-policy");
}

// Red when the answer of an expose that read a fact as absent, because the VF was published, is kept after
// the VF has left the slice.
TEST_F(UnknownFactsTest, AnAbsentFactOffersNothingNew) {
  const std::string free = attribute("masterBridge") + " == \"\"";
  const auto decide_next = [&] {
    const std::string outcome = decide_with({}, free);
    memory = last.selectors;
    return outcome;
  };
  vf().netdev = hotplug::Netdev{.name = "ens1f0v0"};
  vf().netdev->stale = true;
  published.exposure = {kVfEntry};
  EXPECT_EQ(decide_next(), "offered");
  EXPECT_EQ(decide_next(), "offered");
  published.exposure.clear();
  EXPECT_EQ(decide_next(), "no-policy");
  published.exposure = {kVfEntry};
  EXPECT_EQ(decide_next(), "offered");
  vf().netdev->stale = false;
  EXPECT_EQ(decide_next(), "offered") << "it is known";
  vf().netdev->stale = true;
  EXPECT_EQ(decide_next(), "offered");
  published.exposure.clear();
  EXPECT_EQ(decide_next(), "offered") << "what was known of it stands";
}

// Of one suffix the first decides. Red when the next one offers in its own way what the first may mean.
TEST_F(UnknownFactsTest, ALaterPolicyWaitsBehindAnUnknownOne) {
  const std::string name = attribute("ifName") + " == \"x\"", vf_type = attribute("type") + " == \"vf\"";
  const struct {
    const char* first;  // of the spec of who asks, beside its selector
    const char* then;   // of who would offer it
    const char* outcome;
  } rows[] = {
      {"priority: 200, allowHostUse: true", "priority: 100", "expose-unknown"},
      {"priority: 200, exposure: {exclusionGroup: a}", "priority: 100", "expose-unknown"},
      {"priority: 200, exposure: {exclusionGroup: a}", "priority: 300", "offered"},
      {"priority: 200", "priority: 100", "offered"},  // alike
      {"priority: 200, exposure: {exclusionGroup: a, deviceNameSuffix: -a}", "priority: 100", "offered"},
      {"priority: 200, exposure: {exclusionGroup: a}, nodeSelector: {matchLabels: {no: node}}",
       "priority: 100", "offered"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.first) + " | " + row.then);
    const auto decide_now = [&] {
      return decide_text("---\nmetadata: {name: asks}\nspec: {selector: {cel: '" + name + "'}, " + row.first +
                         "}\n---\nmetadata: {name: takes}\nspec: {selector: {cel: '" + vf_type + "'}, " +
                         row.then + "}\n");
    };
    published = {};
    vf().netdev.reset();
    EXPECT_EQ(decide_now(), row.outcome);
    const Explanation why = explain(last, kVf);
    if (why.outcome == "expose-unknown") {
      fixture::expect_golden(why.summary);
      EXPECT_TRUE(last.pools.at(std::string(kExposureDriver)).at(0).devices.empty());
    }
    vf().netdev = hotplug::Netdev{.name = "y"};
    EXPECT_EQ(decide_now(), "offered") << "it is known not to be meant";
    vf().netdev.reset();
    published.exposure = {kVfEntry};
    EXPECT_EQ(decide_now(), "offered") << "what is published stays";
  }
}

TEST_F(UnknownFactsTest, NamesTheFirstDifferingPolicyForAWaitingOne) {
  std::string text;
  const auto add = [&](const char* policy, const char* id, const char* rest) {
    text += std::string("---\nmetadata: {name: ") + policy + "}\nspec: {selector: {cel: '" + attribute(id) +
            " != \"z\"'}, " + rest + "}\n";
  };
  add("a-alike", "ifName", "priority: 400");
  add("b-other", "mac", "priority: 300, allowHostUse: true");
  add("c-other", "ifName", "priority: 200, allowHostUse: true");
  add("d-takes", "type", "priority: 100");
  add("e-behind", "ifName", "priority: 50, allowHostUse: true");
  EXPECT_EQ(decide_text(text), "expose-unknown");
  const PersonaVerdict& verdict = last.personas.at(kVf).at(0);
  EXPECT_EQ(last.inputs->policies->exposures[static_cast<size_t>(verdict.policy)]->id.name, "d-takes");
  EXPECT_EQ(verdict.why, "b-other");
}

// Red when an exclude is asked about the first port alone.
TEST_F(UnknownFactsTest, AnExcludeMatchesAFunctionByAnyPort) {
  vf().netdev = hotplug::Netdev{.name = "one0", .dev_port = 0};
  vf().other_netdevs = {hotplug::Netdev{.name = "two0", .dev_port = 1}};
  const auto named = [](const std::string& name) { return attribute("ifName") + " == \"" + name + "\""; };
  EXPECT_EQ(decide_with({named("one0")}), "excluded");
  EXPECT_EQ(decide_with({named("two0")}), "excluded");
  EXPECT_EQ(decide_with({named("three0")}), "offered");
  EXPECT_EQ(decide_with({}, named("two0")), "no-policy") << "exposes see the first";
  vf().other_netdevs[0].stale = true;
  EXPECT_EQ(decide_with({named("two0")}), "excluded");
  EXPECT_EQ(decide_with({attribute("operState") + " == \"up\""}), "exclude-unknown");
  vf().other_netdevs.clear();
  vf().misses_ports = true;
  EXPECT_EQ(decide_with({named("two0")}), "exclude-unknown");
}

TEST_F(UnknownFactsTest, TheRecordNamesPoliciesThatReadInterfaces) {
  vf().driver = "vfio-pci";
  const std::string name = attribute("ifName") + " == \"x\"", vendor = attribute("vendor") + " == \"15b3\"",
                    whole = "size(device.attributes[\"dra.networking\"]) > 100";
  decide_with({name, vendor, whole});
  const std::string both = exclude_record({name, whole});
  EXPECT_EQ(last.pools.at(std::string(kExposureDriver)).at(0).excludes, both);
  EXPECT_EQ(both.size(), 25u);
  EXPECT_TRUE(last.pools.at(last.inputs->settings.sriov_driver).at(0).excludes.empty())
      << "it has no entries";
  decide_with({vendor});
  EXPECT_EQ(last.pools.at(std::string(kExposureDriver)).at(0).excludes, "");
}

TEST(ExcludeRecord, IsBounded) {
  std::vector<std::string> some, many;
  for (int i = 0; i < 1000; ++i) {
    many.push_back("selector " + std::to_string(i));
    if (i < 64) some.push_back(many.back());
  }
  EXPECT_EQ(exclude_record(some).size(), 64u * 13 - 1);
  EXPECT_EQ(exclude_record(many).size(), 16u);
  EXPECT_EQ(exclude_record({}), "");
  EXPECT_EQ(exclude_record({"b", "a", "b"}), exclude_record({"a", "b"}));
  EXPECT_TRUE(is_recorded(exclude_record(some), "", some[5]));
  EXPECT_FALSE(is_recorded(exclude_record(some), "", many[70]));
  EXPECT_TRUE(is_recorded(exclude_record(many), exclude_record(many), many[70]));
  EXPECT_FALSE(is_recorded(exclude_record(many), exclude_record(some), some[5]));
  EXPECT_FALSE(is_recorded("", "", "a"));
}

}  // namespace
}  // namespace sliced::policy
