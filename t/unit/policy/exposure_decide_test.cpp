#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "kube/objects/names.h"
#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/decide_exposure.h"
#include "policy/exposure/decode_policy.h"
#include "policy/identity.h"
#include "policy/reserved/record.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"

namespace sliced::policy {
namespace exposure_decide_test {

using hotplug::DeviceType;
using hotplug::HostDevice;
using hotplug::PciAddress;

constexpr const char* kPf0 = "0000:03:00.0";
constexpr const char* kPf1 = "0000:03:00.1";

struct Host {
  std::shared_ptr<hotplug::Inventory> inventory = std::make_shared<hotplug::Inventory>();

  HostDevice& add(HostDevice device, const std::string& interface = "") {
    if (!interface.empty()) device.netdev = hotplug::Netdev{.name = interface, .kernel_name = interface};
    const std::string id = device.pci ? device.pci->text() : interface;
    device.id.text = id;
    return inventory->devices[id] = device;
  }
  void pf(const char* address, const std::string& interface, int vfs, int first) {
    const auto pci = PciAddress::decode(address);
    add({.type = DeviceType::kPf, .pci = pci, .total_vfs = 8, .num_vfs = vfs}, interface);
    for (int i = 0; i < vfs; ++i) {
      const int devfn = first + i;
      const PciAddress vf{0, 3, static_cast<uint8_t>(devfn / 8), static_cast<uint8_t>(devfn % 8)};
      add({.type = DeviceType::kVf, .pci = vf, .pf = pci, .vf_index = i, .pf_name = interface},
          interface + "v" + std::to_string(i));
    }
  }
  HostDevice& at(const std::string& id) { return inventory->devices.at(id); }
};

Host reference_host() {
  Host host;
  host.pf(kPf0, "enp3s0f0", 8, 2);
  host.pf(kPf1, "enp3s0f1", 4, 10);
  host.add({.type = DeviceType::kBridge}, "br-data");
  host.add({.type = DeviceType::kNic, .pci = PciAddress{0, 5, 0, 0}}, "eno1");
  host.add({.type = DeviceType::kVirtual}, "br-int");
  host.add({.type = DeviceType::kVirtual}, "ovn-k8s-mp0");
  return host;
}

std::vector<ExposurePolicy> policies_of(const std::string& text) {
  std::vector<ExposurePolicy> out;
  const auto yaml = kube::decode_yaml(text);
  EXPECT_TRUE(yaml.problems.empty());
  for (const auto& document : yaml.documents) out.push_back(decode_exposure_policy(document));
  return out;
}
std::string policy(const std::string& name, const std::string& spec) {
  return "---\napiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: " + name +
         "}\nspec: " + spec + "\n";
}
std::string all(const std::string& rest = "") { return "{selector: {cel: 'true'}" + rest + "}"; }

std::shared_ptr<Inputs> inputs_of(const Host& host, std::vector<ExposurePolicy> exposures,
                                  std::vector<SriovPolicy> sriov = {}) {
  auto in = std::make_shared<Inputs>();
  in->inventory = host.inventory;
  in->policies = std::make_shared<const PolicySet>(
      make_policy_set(share(std::move(sriov)), {}, share(std::move(exposures))));
  in->node.name = "n1";
  return in;
}
const DesiredPool* pool_of(const Decision& decision, const std::string& name) {
  for (const auto& pool : decision.pools.at(std::string(kExposureDriver)))
    if (pool.name == name) return &pool;
  return nullptr;
}
std::vector<std::string> entries_of(const Decision& decision) {
  std::vector<std::string> out;
  for (const auto& [driver, pools] : decision.pools)
    for (const auto& pool : pools)
      for (const auto& device : pool.devices) out.push_back(device->name);
  std::sort(out.begin(), out.end());
  return out;
}
std::string outcome_of(const Decision& decision, const std::string& id) {
  return explain(decision, id).outcome;
}

SriovPolicy every_vf() {
  SriovPolicy policy;
  policy.id = {"ns", "vfs"};
  policy.configs.emplace_back();
  return policy;
}

// Red when the loss of a record withdraws published entries: they were compatible with the entries in the record.
TEST(ExposureDecide, KeepsPublishedEntriesOfTheOtherDriverBesideUnknownOnes) {
  const char* const kPool = "n1/0000-03-00-0";
  const auto in = inputs_of(
      reference_host(),
      policies_of(policy("p", "{selector: {cel: 'device.attributes[\"dra.networking\"].type == \"pf\"'}}")),
      {every_vf()});
  in->published.sriov = {"0000-03-00-2"};
  in->holdings[kPool] = {whole_holding(kPool)};
  const Decision unknown = decide(in);
  EXPECT_EQ(outcome_of(unknown, "0000:03:00.2"), "offered");
  EXPECT_EQ(outcome_of(unknown, "0000:03:00.3"), "held-by-other-driver");
  const auto told = std::make_shared<Inputs>(*in);
  told->holdings[kPool] = {holding_of_function("0000-03-00-0")};
  EXPECT_EQ(outcome_of(decide(told), "0000:03:00.2"), "held-by-other-driver") << "the PF itself, as a whole";
}

// Red when a selector is evaluated again for an interface that is in a pod: its facts are not readable there.
TEST(ExposureDecide, KeepsVerdictsWhileAnInterfaceIsInAPod) {
  const char* const kVf = "0000:03:00.2";
  const std::string up = "{selector: {cel: 'device.attributes[\"dra.networking\"].operState == \"up\"'}";
  const auto policies = [&](const std::string& expose, const std::string& exclude) {
    return policies_of(policy("p", expose) + policy("x", exclude));
  };
  const std::string no_bridges =
      "{selector: {cel: 'device.attributes[\"dra.networking\"].type == \"bridge\"'}, action: exclude}";
  Host here = reference_host();
  here.at(kVf).netdev->oper_state = "up";
  const Decision first = decide(inputs_of(here, policies(up + "}", no_bridges)));
  ASSERT_EQ(entries_of(first), std::vector<std::string>{"0000-03-00-2"});

  Host away = here;
  away.inventory = std::make_shared<hotplug::Inventory>(*here.inventory);
  away.at(kVf).netdev->oper_state.clear();
  away.at(kVf).netdev->stale = true;
  const auto next = [&](const Host& host, const SelectorResultsPtr& memory, const std::string& expose) {
    const auto inputs = inputs_of(host, policies(expose, no_bridges));
    inputs->selectors = memory;
    return decide(inputs);
  };
  const Decision second = next(away, first.selectors, up + "}");
  EXPECT_EQ(entries_of(second), entries_of(first));
  EXPECT_EQ(explain(second, kVf).rules.front().found, "true, as before its interface left");
  const Decision third = next(away, second.selectors, up + ", priority: 7}");
  EXPECT_EQ(entries_of(third), entries_of(first)) << "an edit of something else";
  const std::string edited =
      "{selector: {cel: 'device.attributes[\"dra.networking\"].operState == \"up\" && true'}}";
  EXPECT_EQ(entries_of(next(away, third.selectors, edited)), std::vector<std::string>());
  EXPECT_EQ(entries_of(next(away, nullptr, up + "}")), std::vector<std::string>());
  // Another policy with the same selector, and an exclude that comes and goes: what is not asked stands too.
  const auto among = [&](const SelectorResultsPtr& memory, const std::string& others) {
    const auto inputs =
        inputs_of(away, policies_of(policy("p", up + "}") + policy("x", no_bridges) + others));
    inputs->selectors = memory;
    return decide(inputs);
  };
  const std::string elsewhere =
      policy("a", up + ", priority: 900, nodeSelector: {matchLabels: {none: here}}}");
  const Decision fourth = among(third.selectors, elsewhere);
  EXPECT_EQ(entries_of(fourth), entries_of(first));
  EXPECT_EQ(entries_of(among(fourth.selectors, elsewhere)), entries_of(first));
  const Decision excluded =
      among(fourth.selectors, policy("e", "{selector: {cel: 'true'}, action: exclude}"));
  EXPECT_EQ(entries_of(excluded), std::vector<std::string>());
  EXPECT_EQ(entries_of(among(excluded.selectors, "")), entries_of(first));

  Host back = away;
  back.inventory = std::make_shared<hotplug::Inventory>(*away.inventory);
  back.at(kVf).netdev->stale = false;
  EXPECT_EQ(entries_of(next(back, third.selectors, up + "}")), std::vector<std::string>());
}

// Decisions are made on a worker while others read the same inputs: under ThreadSanitizer this is the judge.
TEST(ExposureDecide, SharesInputsBetweenThreads) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += policy("p" + std::to_string(i),
                   "{selector: {cel: 'device.attributes[\"dra.networking\"].ifName.matches(\"^enp3s0f[01]v?" +
                       std::to_string(i % 8) +
                       "$\") || [1, 2].exists(i, i == device.attributes[\"dra.networking\"]"
                       ".vfIndex)'}, exposure: {deviceNameSuffix: -p" +
                       std::to_string(i) + "}}");
  const std::shared_ptr<const Inputs> inputs = inputs_of(reference_host(), policies_of(text), {every_vf()});
  std::vector<Decision> decisions(3);
  std::vector<std::thread> threads;
  for (Decision& decision : decisions) threads.emplace_back([&] { decision = decide(inputs); });
  const Decision mine = decide(inputs);
  EXPECT_NE(explain(mine, "0000:03:00.2").summary, "");
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(entries_of(mine).size(), 12u);
  for (const Decision& decision : decisions) EXPECT_EQ(decision.pools, mine.pools);
}

TEST(ExposureDecide, DecidesTheReferenceNode) {
  std::ifstream file(std::string(SLICED_EXAMPLES) + "/reference-node/policies.yaml");
  std::stringstream text;
  text << file.rdbuf();
  const Decision decision = decide(inputs_of(reference_host(), policies_of(text.str())));
  const DesiredPool* pf0 = pool_of(decision, "n1/0000-03-00-0");
  const DesiredPool* pf1 = pool_of(decision, "n1/0000-03-00-1");
  const DesiredPool* net = pool_of(decision, "n1/net");
  ASSERT_TRUE(pf0 && pf1 && net);
  EXPECT_EQ(pf0->devices.size(), 10u);
  EXPECT_EQ(pf1->devices.size(), 5u);
  ASSERT_EQ(net->devices.size(), 1u);
  EXPECT_EQ(net->devices[0]->name, "br-data");
  EXPECT_EQ(net->devices[0]->capacity.at("dra.networking/ports").value, kube::Quantity(64));
  EXPECT_TRUE(net->devices[0]->allow_multiple_allocations);
  ASSERT_EQ(pf0->counters.size(), 1u);
  EXPECT_EQ(pf0->counters[0].counters.at("exclusion-slots"), kube::Quantity(9));
  EXPECT_EQ(pf1->counters[0].counters.at("exclusion-slots"), kube::Quantity(5));
  EXPECT_TRUE(net->counters.empty());
  for (const char* hidden : {"0000:05:00.0", "br-int"}) EXPECT_EQ(outcome_of(decision, hidden), "excluded");
  EXPECT_NE(explain(decision, "0000:05:00.0").summary.find("exclude-management"), std::string::npos);
  EXPECT_TRUE(decision.notes.empty()) << *decision.notes.begin();
}

TEST(ExposureDecide, OffersNothingWithoutAPolicy) {
  const Decision none = decide(inputs_of(reference_host(), {}));
  EXPECT_TRUE(none.pools.at(std::string(kExposureDriver)).empty()) << "no pool of a kind that is not used";
  const Decision decision =
      decide(inputs_of(reference_host(), policies_of(policy("p", "{selector: {cel: 'false'}}"))));
  ASSERT_NE(pool_of(decision, "n1/net"), nullptr) << "empty, but there";
  EXPECT_EQ(decision.pools.at(std::string(kExposureDriver)).size(), 1u);
  EXPECT_EQ(outcome_of(decision, "br-data"), "no-match");
}

TEST(ExposureDecide, OffersVirtualLinksOnlyIfSelectedExplicitly) {
  const Decision without = decide(inputs_of(reference_host(), policies_of(policy("p", all()))));
  EXPECT_EQ(outcome_of(without, "br-int"), "no-match");
  const Decision with =
      decide(inputs_of(reference_host(), policies_of(policy("p", all(", includeVirtual: true")))));
  EXPECT_EQ(outcome_of(with, "br-int"), "offered");
}

// Red when the texts for a host with DeviceExposurePolicies alone report no policy, or name SriovResourcePolicies.
TEST(ExposureDecide, OmitsSriovResourcePoliciesIfThereAreNone) {
  const std::string bridges =
      policy("p", R"({selector: {cel: 'device.attributes["dra.networking"].type == "bridge"'}})");
  const Explanation vf = explain(decide(inputs_of(reference_host(), policies_of(bridges))), "0000:03:00.2");
  EXPECT_EQ(vf.summary, "no policy selects it");
  ASSERT_EQ(vf.rules.size(), 1u);
  EXPECT_EQ(vf.rules[0].found, "false");
  const Decision none = decide(inputs_of(reference_host(), policies_of("")));
  for (const char* device : {"0000:03:00.2", "br-data", kPf0})
    EXPECT_EQ(explain(none, device).summary, "there is no policy; devices are offered only by policies")
        << device;
}

TEST(ExposureDecide, ExcludeWinsOverEverything) {
  const std::string expose = policy("expose", all(", priority: 1000"));
  const std::string exclude = policy(
      "hide",
      R"({priority: 0, action: exclude, selector: {cel: 'device.attributes["dra.networking"].type == "vf"'}})");
  const Decision decision = decide(inputs_of(reference_host(), policies_of(expose + exclude), {every_vf()}));
  EXPECT_EQ(entries_of(decision),
            (std::vector<std::string>{"0000-03-00-0", "0000-03-00-1", "0000-05-00-0", "br-data"}))
      << "over the other kind too";
  EXPECT_EQ(outcome_of(decision, "0000:03:00.2"), "excluded");
}

// Red when an exclude fails open: the devices for which it was written would be offered.
TEST(ExposureDecide, AFailingExcludeHidesTheDevice) {
  const std::string exclude = policy(
      "hide", R"({action: exclude, selector: {cel: '10 / device.attributes["dra.networking"].numVFs > 3'}})");
  const Decision decision = decide(inputs_of(reference_host(), policies_of(policy("p", all()) + exclude)));
  EXPECT_EQ(outcome_of(decision, kPf0), "offered") << "10 / 8 is 1";
  EXPECT_EQ(outcome_of(decision, "br-data"), "excluded");
  fixture::expect_golden(explain(decision, "br-data").summary);
  const std::string expose =
      policy("p", R"({selector: {cel: '10 / device.attributes["dra.networking"].numVFs > 0'}})");
  EXPECT_EQ(entries_of(decide(inputs_of(reference_host(), policies_of(expose)))),
            (std::vector<std::string>{"0000-03-00-0", "0000-03-00-1"}))
      << "an expose that errs does not match";
}

TEST(ExposureDecide, AnUnreadableExcludeHoldsBackNewEntries) {
  auto exposures =
      policies_of(policy("p", all()) + policy("broken", "{action: exclude, selector: {cel: 'nope'}}"));
  auto in = inputs_of(reference_host(), exposures, {});
  in->published.exposure = {"br-data"};
  const Decision frozen = decide(in);
  EXPECT_EQ(entries_of(frozen), std::vector<std::string>{"br-data"}) << "what is published stays";
  EXPECT_EQ(outcome_of(frozen, kPf0), "exclude-unreadable");
  auto sriov =
      inputs_of(reference_host(), policies_of(policy("broken", "{action: exclude, selector: {cel: 'nope'}}")),
                {every_vf()});
  sriov->published.sriov = {"0000-03-00-2"};
  EXPECT_EQ(entries_of(decide(sriov)), std::vector<std::string>{"0000-03-00-2"}) << "the other kind too";
  // Its former content stays in effect instead.
  const auto before = policies_of(policy(
      "broken", R"({action: exclude, selector: {cel: 'device.attributes["dra.networking"].type == "pf"'}})"));
  for (auto& one : exposures)
    if (one.id.name == "broken") keep_last_exclude(one, before[0], true);
  const Decision remembered = decide(inputs_of(reference_host(), exposures));
  EXPECT_EQ(outcome_of(remembered, kPf0), "excluded");
  EXPECT_EQ(outcome_of(remembered, "br-data"), "offered");
}

// Red when the reason does not name the object to correct, for an entry of either kind.
TEST(ExposureDecide, NamesTheUnreadableExclude) {
  const auto in = inputs_of(
      reference_host(),
      policies_of(policy("p", all()) + policy("Hide", "{action: exclude, selector: {cel: 'false'}}")),
      {every_vf()});
  const Decision frozen = decide(in);
  for (const std::string device : {"br-data", "0000:03:00.2"})
    fixture::expect_golden(explain(frozen, device).summary);
}

TEST(ExposureDecide, TheFirstPolicyWinsPerSuffix) {
  const std::string low = policy("a-low", all(", priority: 1, exposure: {additionalAttributes: {who: low}}"));
  const std::string high =
      policy("b-high", all(", priority: 2, exposure: {additionalAttributes: {who: high}}"));
  const std::string other = policy("c", all(", exposure: {deviceNameSuffix: '-m', allowMultipleAllocations: "
                                            "true, additionalAttributes: {who: c}}"));
  const Decision decision = decide(inputs_of(reference_host(), policies_of(low + high + other)));
  const DesiredPool* net = pool_of(decision, "n1/net");
  ASSERT_EQ(net->devices.size(), 4u);
  EXPECT_EQ(net->devices[2]->name, "br-data");
  EXPECT_EQ(net->devices[2]->attributes.at("dra.networking/who"), kube::AttributeValue(std::string("high")));
  EXPECT_EQ(net->devices[3]->name, "br-data-m");
  EXPECT_EQ(net->devices[3]->capacity.at("dra.networking/shares").value, kube::Quantity(1000));
  ASSERT_EQ(net->counters.size(), 1u) << "one is exclusive";
}

TEST(ExposureDecide, OffersDevicesInHostUseOnlyAsShared) {
  Host host = reference_host();
  host.at("br-data").host_use = "default route through br-data";
  const std::string both = policy("own", all()) + policy("shared", all(", exposure: {deviceNameSuffix: '-m', "
                                                                       "allowMultipleAllocations: true}"));
  const Decision decision = decide(inputs_of(host, policies_of(both)));
  EXPECT_EQ(pool_of(decision, "n1/net")->devices.size(), 3u);
  const Explanation why = explain(decision, "br-data");
  EXPECT_EQ(why.outcome, "offered");
  EXPECT_EQ(why.entry, "br-data-m");
  ASSERT_EQ(why.personas.size(), 2u);
  EXPECT_EQ(why.personas[0].outcome, "in-use-by-host");
  EXPECT_EQ(
      why.summary,
      "not offered by DeviceExposurePolicy own: the host uses it (default route through br-data), and an exclusive offer requires spec.allowHostUse: true; offered as br-data-m by DeviceExposurePolicy shared");
  const Decision allowed = decide(inputs_of(host, policies_of(policy("own", all(", allowHostUse: true")))));
  EXPECT_EQ(outcome_of(allowed, "br-data"), "offered");
}

TEST(ExposureDecide, DoesNotOfferABridgeForHostDevice) {
  const Host host = reference_host();
  const auto with = [&](const char* plugins) {
    return decide(inputs_of(
        host,
        policies_of(policy("p", all(std::string(", exposure: {supportedCNIPlugins: [") + plugins + "]}")))));
  };
  const Decision moved = with("{name: host-device, exclusive: true}");
  EXPECT_EQ(outcome_of(moved, "br-data"), "immovable");
  EXPECT_NE(explain(moved, "br-data")
                .summary.find("the kernel does not move a bridge to another network namespace"),
            std::string::npos)
      << explain(moved, "br-data").summary;
  EXPECT_EQ(outcome_of(moved, "0000:03:00.2"), "offered");
  EXPECT_EQ(outcome_of(with("{name: macvlan, exclusive: true}"), "br-data"), "offered");
}

TEST(ExposureDecide, AVfInHostUseKeepsItsPfFromAPod) {
  Host host = reference_host();
  host.at("0000:03:00.2").host_use = "enslaved to br-data";
  const Decision decision = decide(inputs_of(host, policies_of(policy("p", all()))));
  const DesiredPool* pf0 = pool_of(decision, "n1/0000-03-00-0");
  EXPECT_EQ(pf0->devices.size(), 8u) << "the PF and seven VFs";
  EXPECT_EQ(pf0->counters[0].counters.at("exclusion-slots"), kube::Quantity(8)) << "of 9, which the PF takes";
}

TEST(ExposureDecide, OffersAFunctionByOneDriver) {
  const Decision decision =
      decide(inputs_of(reference_host(), policies_of(policy("p", all())), {every_vf()}));
  EXPECT_EQ(outcome_of(decision, "0000:03:00.2"), "offered");
  EXPECT_NE(explain(decision, "0000:03:00.2").summary.find("Conflict"), std::string::npos);
  EXPECT_EQ(outcome_of(decision, kPf0), "conflict") << "its VFs are the other driver's";
  const Decision shared = decide(
      inputs_of(reference_host(),
                policies_of(policy("p", all(", exposure: {allowMultipleAllocations: true}"))), {every_vf()}));
  EXPECT_EQ(outcome_of(shared, kPf0), "offered") << "a shared persona takes no VF away";
}

TEST(ExposureDecide, HoldsBackOneSideWithoutCounters) {
  auto in = inputs_of(reference_host(), policies_of(policy("p", all())));
  in->settings.counters = false;
  const Decision decision = decide(in);
  EXPECT_EQ(outcome_of(decision, kPf0), "no-counters") << "VFs come before their PF";
  EXPECT_EQ(outcome_of(decision, "0000:03:00.2"), "offered");
  for (const auto& pool : decision.pools.at(std::string(kExposureDriver))) EXPECT_TRUE(pool.counters.empty());
  const Holding pf{.entry = "0000-03-00-0", .device = kPf0, .base = "0000-03-00-0"};
  const Holding vf{.entry = "0000-03-00-2", .device = "0000:03:00.2", .base = "0000-03-00-2"};
  in->holdings["n1/0000-03-00-0"] = {pf};
  EXPECT_EQ(outcome_of(decide(in), kPf0), "offered") << "what is offered stays";
  EXPECT_EQ(outcome_of(decide(in), "0000:03:00.2"), "no-counters");
  in->holdings["n1/0000-03-00-0"] = {pf, vf};
  EXPECT_EQ(outcome_of(decide(in), kPf0), "no-counters") << "either may be allocated";
  EXPECT_EQ(outcome_of(decide(in), "0000:03:00.2"), "no-counters");
  EXPECT_EQ(outcome_of(decide(in), "0000:03:00.3"), "no-counters") << "the PF may be";
  in->holdings["n1/0000-03-00-0"] = {vf};
  EXPECT_EQ(outcome_of(decide(in), "0000:03:00.2"), "offered");
  in->settings.shared_devices = false;
  in->policies =
      inputs_of({}, policies_of(policy("p", all(", exposure: {allowMultipleAllocations: true}"))))->policies;
  EXPECT_EQ(outcome_of(decide(in), "br-data"), "no-sharing");
}

// As many entries as there is room for, all offered already. Takes minutes when each is held against each.
TEST(ExposureDecide, AllowsALargePoolWithoutCounters) {
  Host host;
  for (int i = 0; i < 10'000; ++i) host.add({.type = DeviceType::kVlan}, "vlan" + std::to_string(i));
  const std::string shared = ", exposure: {allowMultipleAllocations: true, deviceNameSuffix: ";
  auto in = inputs_of(host, policies_of(policy("a", all(shared + "-a}")) + policy("b", all(shared + "-b}"))));
  in->settings.counters = false;
  in->settings.budgets.entries = {20'000, 20'000};
  const Decision first = decide(in);
  EXPECT_EQ(entries_of(first).size(), 20'000u);
  in->holdings = first.offered;
  EXPECT_EQ(entries_of(decide(in)), entries_of(first));
}

// An entry that joins a group while it may be allocated excludes the others from then on, also when it is
// withheld itself and its new group is not published.
TEST(ExposureDecide, AllocatedEntriesKeepTheirGroupWithoutCounters) {
  const auto shared = [](const std::string& suffix) {
    return all(", exposure: {deviceNameSuffix: '" + suffix +
               "', exclusionGroup: rx, allowMultipleAllocations: true}");
  };
  auto in = inputs_of(reference_host(),
                      policies_of(policy("m", shared("-macvlan")) + policy("i", shared("-ipvlan"))));
  in->settings.counters = false;
  const auto held = [](const std::string& suffix, const std::string& group) {
    return Holding{"0000-03-00-0" + suffix, kPf0, "0000-03-00-0", false, group};
  };
  const auto offered = [&] {
    std::set<std::string> out;
    const Decision decision = decide(in);
    for (const kube::Device& device : pool_of(decision, "n1/0000-03-00-0")->devices)
      if (device.name.starts_with("0000-03-00-0-")) out.insert(device.name);
    return out;
  };
  in->holdings["n1/0000-03-00-0"] = {held("-ipvlan", ""), held("-macvlan", "rx")};
  EXPECT_EQ(offered(), std::set<std::string>());
  in->holdings["n1/0000-03-00-0"] = {held("-ipvlan", "")};
  EXPECT_EQ(offered(), std::set<std::string>{"0000-03-00-0-ipvlan"});
}

// A daemon that starts finds both in slices, and of neither a group. Red when each of them counts as one of
// the other's group: a restart takes one away.
TEST(ExposureDecide, ARestartKeepsPublishedEntriesTogetherWithoutCounters) {
  const auto shared = [](const std::string& suffix, const std::string& group) {
    return all(", exposure: {deviceNameSuffix: '" + suffix + "', exclusionGroup: " + group +
               ", allowMultipleAllocations: true}");
  };
  const auto policies = [&](const std::string& group) {
    return policies_of(policy("m", shared("-macvlan", "rx")) + policy("i", shared("-ipvlan", group)));
  };
  auto in = inputs_of(reference_host(), policies("v"));
  in->settings.counters = false;
  const auto held = [](const std::string& suffix) {
    return Holding{"0000-03-00-0" + suffix, kPf0, "0000-03-00-0", false, std::string(kAnyGroup)};
  };
  const auto offered = [&] {
    std::set<std::string> out;
    const Decision decision = decide(in);
    for (const kube::Device& device : pool_of(decision, "n1/0000-03-00-0")->devices)
      if (device.name.starts_with("0000-03-00-0-")) out.insert(device.name.substr(13));
    return out;
  };
  using Set = std::set<std::string>;
  in->holdings["n1/0000-03-00-0"] = {held("-ipvlan"), held("-macvlan")};
  in->published.exposure = {"0000-03-00-0-ipvlan", "0000-03-00-0-macvlan"};
  EXPECT_EQ(offered(), (Set{"ipvlan", "macvlan"}));
  in->policies = inputs_of({}, policies("rx"))->policies;
  EXPECT_EQ(offered(), Set{}) << "an edit made them exclude each other, and either may be allocated";
  in->policies = inputs_of({}, policies("v"))->policies;
  in->published.exposure = {"0000-03-00-0-macvlan"};
  EXPECT_EQ(offered(), Set{"ipvlan"})
      << "of what group it was nobody knows, and it may be the other's of today";
}

// Between its appearance and the link to its PF a VF looks like a function of its own. Red when its entry
// moves to the pool of those: nothing there excludes its PF.
TEST(ExposureDecide, PutsAFunctionIntoOnePool) {
  auto in = inputs_of(reference_host(), policies_of(policy("p", all())));
  in->holdings["n1/0000-03-00-0"] = {
      {.entry = "0000-03-00-2", .device = "0000:03:00.2", .base = "0000-03-00-2"}};
  EXPECT_EQ(outcome_of(decide(in), "0000:03:00.2"), "offered");
  Host without_link = reference_host();
  without_link.at("0000:03:00.2").type = DeviceType::kNic;
  without_link.at("0000:03:00.2").pf.reset();
  in->inventory = inputs_of(without_link, policies_of(policy("p", all())))->inventory;
  in->published.exposure = {"0000-03-00-2"};
  EXPECT_EQ(outcome_of(decide(in), "0000:03:00.2"), "reserved");
}

// The name of a Node has up to 253 bytes; so has the name of a pool, which is longer by its suffix. Red when
// the server would refuse the pool of a node with a long name, when two nodes have one pool, or when a name
// that fits differs from the node's.
TEST(ExposureDecide, PoolNamesFitForAnyNodeName) {
  const HostDevice pf{.type = DeviceType::kPf, .pci = PciAddress::decode("0000:03:00.0")};
  const HostDevice bridge{.type = DeviceType::kBridge};
  for (size_t size = 1; size <= 253; ++size) {
    std::string node(size, 'n');
    for (size_t dot = 50; dot + 1 < size; dot += 51) node[dot] = '.';
    std::string other = node;
    other.back() = 'm';
    for (const auto& [device, rest] : {std::pair(pf, "0000-03-00-0"), std::pair(bridge, "net")}) {
      const std::string name = exposure_pool_name(node, device);
      EXPECT_LE(name.size(), 253u);
      const size_t slash = name.find('/');
      EXPECT_EQ(name.substr(slash + 1), rest);
      EXPECT_TRUE(kube::is_dns_subdomain(name.substr(0, slash))) << name;
      EXPECT_NE(name, exposure_pool_name(other, device));
      EXPECT_EQ(name == node + "/" + rest, size + 1 + std::string(rest).size() <= 253) << name;
    }
  }
}

TEST(ExposureDecide, ReportsAShortenedPoolName) {
  auto in = inputs_of(reference_host(), policies_of(policy("p", all())));
  const auto said = [&] {
    const Decision decision = decide(in);
    return std::count_if(decision.notes.begin(), decision.notes.end(), [](const std::string& note) {
      return note.find("too long for pool names") != std::string::npos;
    });
  };
  EXPECT_EQ(said(), 0);
  in->node.name = std::string(253, 'n');
  EXPECT_EQ(said(), 1);
}

// An evaluation is bounded, and so is the sum over all devices: red when the cost of a policy is unbounded.
TEST(ExposureDecide, DoesNotUseAnExpensivePolicy) {
  Host host;
  for (int i = 0; i < 200; ++i) host.add({.type = DeviceType::kBridge}, "br" + std::to_string(i));
  const std::string costly = "lists.range(10000).all(x, x >= 0)";
  const Decision decision =
      decide(inputs_of(host, policies_of(policy("costly", "{selector: {cel: '" + costly + "'}}") +
                                         policy("plain", all(", exposure: {deviceNameSuffix: '-p'}")))));
  EXPECT_EQ(pool_of(decision, "n1/net")->devices.size(), 200u) << "the others go on";
  const auto problems = problems_of(decision);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].policy, "DeviceExposurePolicy costly");
  EXPECT_EQ(problems[0].problem.field, "spec.selector.cel");
  fixture::expect_golden(problems[0].problem.what);
  fixture::expect_golden(explain(decision, "br0").rules.front().found);
  const Decision exclude = decide(
      inputs_of(host, policies_of(policy("costly", "{action: exclude, selector: {cel: '!" + costly + "'}}") +
                                  policy("p", all()))));
  EXPECT_EQ(entries_of(exclude).size(), 0u) << "an exclude that cannot be used may mean everything";
}

TEST(ExposureDecide, NamesOfLinksAreUniqueLabels) {
  Host host;
  for (const char* name : {"eth0.100", "eth0-100", "Br_Data", "0000-03-00-0", "br"})
    host.add({.type = DeviceType::kBridge}, name);
  auto in = inputs_of(host, policies_of(policy("p", all())));
  const auto entries = entries_of(decide(in));
  EXPECT_EQ(entries.size(), 5u);
  for (const std::string& entry : entries)
    EXPECT_TRUE(std::count(entries.begin(), entries.end(), entry) == 1);
  EXPECT_EQ(explain(decide(in), "eth0-100").entry, "eth0-100") << "the first by name";
  in->published.links = {{"eth0-100", "eth0.100"}};
  EXPECT_EQ(explain(decide(in), "eth0.100").entry, "eth0-100") << "who has it published keeps it";
  EXPECT_NE(explain(decide(in), "0000-03-00-0").entry, "0000-03-00-0") << "looks like a function";
}

}  // namespace exposure_decide_test
}  // namespace sliced::policy
