#include "daemon/daemon.h"

#include <gtest/gtest.h>

#include "policy/explain.h"
#include "t/fixture/daemon_world.h"
#include "t/fixture/golden.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct DaemonTest : testing::Test, fixture::DaemonWorld {
  static constexpr const char* kAll = "{configs: [{}]}";
};

TEST_F(DaemonTest, PublishesAnEmptyPoolWithoutPolicies) {
  make_pf(4);
  start();
  run(2s);
  ASSERT_EQ(slices().size(), 1u);
  EXPECT_TRUE(offered().empty());
  EXPECT_EQ(slices()[0].meta.owner_references.at(0).uid, "uid-1");
}

TEST_F(DaemonTest, FollowsAddedAndRemovedPolicies) {
  make_pf(4);
  start();
  run(2s);
  put_policy("p", kAll);
  run(100ms);
  EXPECT_EQ(offered().size(), 4u);
  const size_t before = writes();
  put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0-1']}]}]}");
  run(100ms);
  EXPECT_EQ(offered().size(), 2u) << "narrowing withdraws at once";
  EXPECT_EQ(writes(), before + 1);
  remove_policy("p");
  run(100ms);
  EXPECT_TRUE(offered().empty());
  EXPECT_EQ(slices().size(), 1u) << "the empty pool stays announced";
}

TEST_F(DaemonTest, SelectsPoliciesByNodeLabels) {
  make_pf(4);
  put_policy("p", "{nodeSelector: {zone: a}, configs: [{}]}");
  start();
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
  put_node("uid-1", {{"zone", "b"}});
  run(100ms);
  EXPECT_TRUE(offered().empty());
  put_node("uid-1", {{"zone", "a"}});
  run(100ms);
  EXPECT_EQ(offered().size(), 4u);
}

// The peer publishes an empty slice first at every start; a watcher would see every device vanish and come
// back.
TEST_F(DaemonTest, WritesNothingAfterARestartWithoutChanges) {
  make_pf(64);
  put_policy("p", kAll);
  start();
  run(2s);
  EXPECT_EQ(offered().size(), 64u);
  const size_t before = writes();
  for (int i = 0; i < 3; ++i) {
    start();
    run(1min);
  }
  EXPECT_EQ(writes(), before);
}

// Each source is late in turn. A decision without one of them would withdraw offered devices.
TEST_F(DaemonTest, WritesNothingBeforeEverySourceHasSynced) {
  make_pf(4);
  put_policy("p", kAll);
  start();
  run(2s);
  const size_t before = writes();
  const std::pair<const char*, size_t> plurals[] = {{"nodes", 1},
                                                    {"resourceslices", 2},
                                                    {"sriovresourcepolicies", 1},
                                                    {"deviceattributes", 1},
                                                    {"deviceexposurepolicies", 1}};
  for (const auto& [plural, sources] : plurals) {
    SCOPED_TRACE(plural);
    cluster.deny(plural);
    start();
    run(2min);
    EXPECT_EQ(daemon->decision(), nullptr);
    ASSERT_EQ(daemon->waiting_for().size(), sources);
    for (const std::string& one : daemon->waiting_for())
      EXPECT_NE(one.find("denied"), std::string::npos) << one;
    EXPECT_EQ(writes(), before);
    EXPECT_EQ(offered().size(), 4u);
    cluster.allow(plural);
    run(2min);
    EXPECT_NE(daemon->decision(), nullptr);
    EXPECT_EQ(writes(), before);
  }
}

// What `plan` and `explain` end with instead of waiting: nothing of it changes while one looks. Red when they
// wait for it, or do not wait for what is only late.
TEST_F(DaemonTest, ReportsAPolicyMissingFromOneList) {
  make_pf(4);
  cluster.unserve(kube::kResourceSlices);
  cluster.deny("sriovresourcepolicies");
  start();
  run(2s);
  const auto missing = daemon->missing();
  ASSERT_EQ(missing.size(), 3u);
  EXPECT_NE(missing[0].find("policies: denied"), std::string::npos) << missing[0];
  for (const size_t slices : {1, 2})
    EXPECT_NE(missing[slices].find("from 1.34 on"), std::string::npos) << missing[slices];
  EXPECT_EQ(daemon->decision(), nullptr);
  cluster.set_network(fake::FakeCluster::Network::kBlackHole);
  start();
  run(20s);
  EXPECT_TRUE(daemon->missing().empty());
}

TEST_F(DaemonTest, AMissingCrdMeansNoPolicies) {
  make_pf(4);
  cluster.uninstall(kube::kSriovResourcePolicies);
  cluster.uninstall(kube::kDeviceAttributes);
  start();
  run(10s);
  EXPECT_EQ(slices().size(), 1u);
  cluster.install(kube::kSriovResourcePolicies);
  cluster.install(kube::kDeviceAttributes);
  put_policy("p", kAll);
  run(1min);
  EXPECT_EQ(offered().size(), 4u);
  cluster.uninstall(kube::kSriovResourcePolicies);
  run(1min);
  EXPECT_TRUE(offered().empty()) << "discovery confirms that there are no policies";
}

TEST_F(DaemonTest, KeepsTheOfferAfterALaterFailure) {
  make_pf(4);
  put_policy("p", kAll);
  start();
  run(2s);
  const size_t before = writes();
  cluster.deny("sriovresourcepolicies");
  cluster.expire_watches();
  run(5min);
  EXPECT_EQ(offered().size(), 4u);
  EXPECT_EQ(writes(), before);
}

// After an outage the policies may answer later than the rest (an API server that has just started denies for
// a moment what it allows). Publishing before would offer by rules that were changed meanwhile.
TEST_F(DaemonTest, WritesNothingFromOldPoliciesAfterAnOutage) {
  make_pf(2);
  put_policy("p", kAll);
  start();
  run(2s);
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  run(30s);
  put_policy("p", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0']}]}]}");
  tree.pci(kPf).vfs(4, [](fixture::SysfsTree::Pci vf, int) { vf.id("8086", "1889").driver("iavf"); });
  pci_event("add", tree.pci(kPf).vf(3).address());
  run(2s);
  const size_t before = writes();
  cluster.deny("sriovresourcepolicies");
  cluster.set_network(fake::FakeCluster::Network::kUp);
  size_t waited = 0;
  while (cluster.open_watches("nodes") == 0 && waited++ < 1000) run(100ms);
  run(300ms);
  EXPECT_EQ(writes(), before);
  cluster.allow("sriovresourcepolicies");
  run(5s);
  EXPECT_EQ(writes() - before, 1u) << log.all();
  EXPECT_EQ(offered().size(), 1u);
}

// A fleet that loses its server comes back by single probes. Red when every source tries for itself.
TEST_F(DaemonTest, OneSourceProbesDuringAnOutage) {
  make_pf(4);
  put_policy("p", kAll);
  start();
  run(2s);
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  run(10s);
  const size_t nodes = cluster.count("watch", "nodes"),
               slices_asked = cluster.count("watch", "resourceslices");
  run(5min);
  EXPECT_GE(cluster.count("watch", "nodes"), nodes + 5);
  EXPECT_EQ(cluster.count("watch", "resourceslices"), slices_asked);
  cluster.set_network(fake::FakeCluster::Network::kUp);
  run(1min);
  EXPECT_EQ(cluster.open_watches(), 6u);
}

// The one that probes is turned away for good: another takes its place.
TEST_F(DaemonTest, ADeniedSourceDoesNotProbeForOthers) {
  make_pf(4);
  start();
  run(2s);
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  run(2min);
  cluster.deny("nodes");
  cluster.set_network(fake::FakeCluster::Network::kUp);
  run(3min);
  EXPECT_EQ(cluster.open_watches(), 5u);
}

// 64 VFs made one by one, 10 ms apart: a few writes, not 64.
TEST_F(DaemonTest, AdditionsSettleAndRemovalsAreImmediate) {
  make_pf(0);
  put_policy("p", kAll);
  start();
  run(2s);
  const size_t before = writes();
  for (int count = 1; count <= 64; ++count) {
    tree.pci(kPf).vfs(count, [](fixture::SysfsTree::Pci vf, int) { vf.id("8086", "1889").driver("iavf"); });
    pci_event("add", tree.pci(kPf).vf(count - 1).address());
    run(10ms);
  }
  run(2s);
  EXPECT_EQ(offered().size(), 64u);
  EXPECT_LE(writes() - before, 2u);

  const size_t then = writes();
  const std::string gone = tree.pci(kPf).vf(63).address();
  tree.pci(kPf).vf(63).remove();
  pci_event("remove", gone);
  run(60ms);
  EXPECT_EQ(offered().size(), 63u);
  EXPECT_EQ(writes(), then + 1);
}

TEST_F(DaemonTest, AnIdleHourWritesNothing) {
  make_pf(4);
  put_policy("p", kAll);
  start();
  run(10s);
  const size_t lines = log.lines.size(), before = writes(), requests = cluster.log.size();
  run(1h);
  EXPECT_EQ(writes(), before);
  EXPECT_EQ(log.lines.size(), lines) << log.all();
  EXPECT_LE(cluster.log.size() - requests, 90u)
      << "watches end after five to ten minutes and are opened again";
}

TEST_F(DaemonTest, ReportsAnInvalidPolicyOnceAndServesTheOthers) {
  make_pf(4);
  put_policy("good", "{configs: [{resourceFilters: [{pfNames: ['ens1f0#0']}]}]}");
  put_policy("typo", "{priority: 9, configs: [{resourceFilters: [{vendor: ['8086']}]}]}");
  start();
  run(1h);
  EXPECT_EQ(offered().size(), 1u);
  EXPECT_EQ(log.count("did you mean vendors"), 1u);
}

// Red when the reason of a change does not say whose edit it was, by the name that people know it by.
TEST_F(DaemonTest, LogsThePolicyThatChangedTheOffer) {
  make_pf(1);
  put_policy("namespaced", kAll);
  start();
  run(10s);
  remove_policy("namespaced");
  cluster.put(kube::kDeviceExposurePolicies,
              kube::decode_yaml("metadata: {name: wide}\nspec: {selector: {cel: 'true'}}").documents.at(0));
  run(10s);
  EXPECT_GE(log.count("policy dra-driver-sriov/namespaced deleted"), 1u) << log.all();
  EXPECT_GE(log.count("DeviceExposurePolicy wide changed"), 1u) << log.all();
}

TEST_F(DaemonTest, ARecreatedNodeHasNewSlices) {
  make_pf(4);
  put_policy("p", kAll);
  start();
  run(2s);
  cluster.remove(kube::kNodes, "node-a");
  run(1s);
  cluster.remove_where(kube::kResourceSlices, "spec.nodeName=node-a");  // the garbage collector
  run(10s);
  EXPECT_TRUE(slices().empty()) << "nobody owns them now";
  put_node("uid-2", {});
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
  EXPECT_EQ(slices()[0].meta.owner_references.at(0).uid, "uid-2");
}

// An interface moves into a pod while the Node object is being replaced. Red when what was offered before the
// gap is forgotten: the entry that settles would be missing for a moment.
TEST_F(DaemonTest, ARecreatedNodeKeepsSettlingDevices) {
  make_pf(4);
  put_policy("p", kAll);
  start();
  run(2s);
  cluster.remove(kube::kNodes, "node-a");
  run(1s);
  tree.remove_netdev("ens1f0v1");
  say(hotplug::LinkChange{4, "ens1f0v1", true, true});
  put_node("uid-2", {});
  for (int i = 0; i < 50; ++i) {
    run(10ms);
    ASSERT_EQ(offered().size(), 4u) << "after " << i * 10 << " ms";
  }
  EXPECT_EQ(slices()[0].meta.owner_references.at(0).uid, "uid-2");
}

TEST_F(DaemonTest, SlicesThatAKubeletDeletesAreRestoredImmediately) {
  make_pf(200);
  put_policy("p", kAll);
  start();
  run(2s);
  cluster.remove_where(kube::kResourceSlices, "spec.nodeName=node-a");
  run(2s);
  EXPECT_EQ(offered().size(), 200u);
}

TEST_F(DaemonTest, HoldsBackAndExplainsARefusedDeviceAlone) {
  make_pf(4);
  const std::string refused = hotplug::PciAddress::decode(tree.pci(kPf).vf(1).address())->dashed();
  cluster.on_admit = [&](const fake::Request& request, kube::Json& object) -> std::optional<kube::Failure> {
    if (request.plural != "resourceslices") return std::nullopt;
    const auto slice = kube::decode_resource_slice(object);
    for (size_t i = 0; i < slice->devices.size(); ++i)
      if (slice->devices[i]->name == refused)
        return kube::Failure{.code = Errc::kInvalid,
                             .http_status = 422,
                             .what = "not this one",
                             .fields = {"spec.devices[" + std::to_string(i) + "].attributes"}};
    return std::nullopt;
  };
  put_policy("p", kAll);
  start();
  run(10s);
  EXPECT_EQ(offered().size(), 3u);
  EXPECT_FALSE(offered().contains(refused));
  const auto why = policy::explain(*daemon->decision(), tree.pci(kPf).vf(1).address());
  EXPECT_EQ(why.outcome, "refused");
  fixture::expect_golden(why.summary);
  cluster.on_admit = {};
  run(6min);
  EXPECT_EQ(offered().size(), 4u) << "what refused it has passed";
}

// A pod takes the PF's interface into its namespace and the daemon restarts: the name its policy selects by
// is known from our own slice of this boot; after a reboot it would be a guess.
TEST_F(DaemonTest, KeepsStickyFactsOverARestart) {
  make_pf(4);
  put_policy("p", "{configs: [{resourceFilters: [{pfNames: [ens1f0]}]}]}");
  start();
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
  const size_t before = writes();
  tree.remove_netdev("ens1f0");
  start();
  run(10s);
  EXPECT_EQ(offered().size(), 4u);
  EXPECT_EQ(writes(), before);
  tree.boot_id("boot-2");
  start();
  run(10s);
  EXPECT_TRUE(offered().empty());
}

TEST_F(DaemonTest, KeepsAnRdmaDeviceInAPodOverARestart) {
  make_pf(2);
  tree.pci(kPf).vf(0).rdma("mlx5_2");
  put_policy("p", kAll);
  start();
  run(2s);
  const auto rdma = [&] {
    return slices().at(0).devices.at(0)->attributes.at(std::string(kDriver) + "/rdmaCapable") ==
           kube::AttributeValue(true);
  };
  EXPECT_TRUE(rdma());
  const size_t before = writes();
  tree.remove_netdev("ens1f0v0");
  tree.remove("sys/class/infiniband/mlx5_2");
  tree.remove(tree.pci(kPf).vf(0).path() + "/infiniband");
  start();
  run(10s);
  EXPECT_TRUE(rdma());
  EXPECT_EQ(writes(), before);
}

// The gate is off by default: a server without it refuses the whole slice, so the attribute must never be
// sent there.
TEST_F(DaemonTest, SendsListAttributesOnlyToAServerThatAcceptsThem) {
  make_pf(1);
  bool gate = false;
  cluster.on_admit = [&](const fake::Request& request, kube::Json& object) -> std::optional<kube::Failure> {
    if (request.plural != "resourceslices" || gate ||
        kube::encode_json(object).find("\"strings\"") == std::string::npos)
      return std::nullopt;
    return kube::Failure{
        .code = Errc::kInvalid, .http_status = 422, .what = "exactly one value must be specified"};
  };
  put_policy("p", "{configs: [{deviceAttributesSelector: {}}]}");
  cluster.put(
      kube::kDeviceAttributes,
      kube::decode_yaml("metadata: {name: a, namespace: dra-driver-sriov}\n"
                        "spec: {attributes: {a.com/list: {strings: [one, two]}, a.com/one: {int: 1}}}")
          .documents.at(0));
  const auto has = [&](const char* key) { return slices().at(0).devices.at(0)->attributes.contains(key); };
  start();
  run(10s);
  EXPECT_FALSE(has("a.com/list"));
  EXPECT_TRUE(has("a.com/one"));
  EXPECT_EQ(slices().size(), 1u) << "the probe is a dry run";
  gate = true;
  cluster.git_version = "v1.37.0";
  cluster.expire_watches();
  run(2min);
  EXPECT_TRUE(has("a.com/list")) << log.all();
  const size_t before = writes();
  start();
  run(1min);
  EXPECT_EQ(writes(), before) << "a restart waits for the probe before it decides";
}

TEST_F(DaemonTest, ADeviceExposurePolicyNeedsListAttributesToo) {
  make_pf(1);
  put_exposure("p", of_type("vf", ", exposure: {additionalAttributes: {l: {strings: [one, two]}}}"));
  start();
  run(10s);
  size_t lists = 0;
  for (const auto& slice : slices())
    for (const auto& device : slice.devices) lists += device->attributes.contains("dra.networking/l");
  EXPECT_EQ(lists, 1u) << log.all();
}

TEST_F(DaemonTest, KeepsTheOfferIfTheHostCannotBeListed) {
  make_pf(3);
  put_policy("p", kAll);
  start();
  run(2s);
  const size_t before = writes();
  tree.remove("sys/bus/pci/devices");
  tree.write("sys/bus/pci/devices", "not a directory");
  say(hotplug::Overflow{"test"});
  run(10min);
  EXPECT_EQ(offered().size(), 3u);
  EXPECT_EQ(writes(), before);
  EXPECT_EQ(log.count("host only partly readable"), 1u);
}

TEST_F(DaemonTest, TheSyncTimerFindsChangesWithoutAnEvent) {
  make_pf(2);
  put_policy("p", kAll);
  start();
  run(10s);
  tree.pci(kPf).vfs(3, [](fixture::SysfsTree::Pci vf, int) { vf.id("8086", "1889").driver("iavf"); });
  run(4min);
  EXPECT_EQ(offered().size(), 2u);
  run(2min);
  EXPECT_EQ(offered().size(), 3u);
  EXPECT_EQ(log.count("rescan found changes without events"), 1u);
}

// A pod has the interface when the daemon starts. The facts for selectors are in our own slice.
TEST_F(DaemonTest, SelectorsUseTheStickyNameOfAnInterfaceInAPod) {
  make_pf(2);
  put_exposure("by-name",
               "{selector: {cel: 'device.attributes[\"dra.networking\"].ifName == \"ens1f0v0\"'}}");
  start();
  run(15s);  // until it is known that nothing is allocated
  ASSERT_EQ(offered(), std::set<std::string>{"0000-3b-02-0"});
  daemon.reset();
  tree.remove_netdev("ens1f0v0");
  const size_t before = writes();
  start();
  run(1min);
  EXPECT_EQ(offered(), std::set<std::string>{"0000-3b-02-0"});
  EXPECT_EQ(writes(), before) << log.all();
  // Under another driver it has no such interface.
  daemon.reset();
  tree.pci(kPf).vf(0).driver("vfio-pci");
  start();
  run(1min);
  EXPECT_EQ(offered(), std::set<std::string>());
}

// Red when a refusal is known by the entry's name alone: the one driver's would end the other's, and each of
// them be tried again and again.
TEST_F(DaemonTest, RefusedEntriesOfEachDriverAreIndependent) {
  make_pf(1);
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    const bool is_write =
        request.plural == "resourceslices" && (request.verb == "create" || request.verb == "update");
    if (!is_write || request.dry_run ||
        kube::encode_json(request.body).find("\"0000-3b-02-0\"") == std::string::npos)
      return std::nullopt;
    return kube::Failure{
        .code = Errc::kInvalid, .http_status = 422, .what = "no", .fields = {"spec.devices[0].attributes"}};
  };
  put_policy("s", kAll);
  put_exposure("d", of_type("vf"));
  start();
  run(4min);
  EXPECT_EQ(offered(), std::set<std::string>());
  EXPECT_LE(writes(), 12u);
}

// A pod takes the VF: what a selector read of its interface is gone, and the VF stays offered.
// Published while nobody could name its PF, so that no slice tells what an edit that came while no daemon ran asks for.
// Red when a status that is written to that policy, or a new list, takes away what stands.
TEST_F(DaemonTest, AnEntryWithAnUnknownMatchStaysUntilAPolicyIsEdited) {
  const std::string common = "{configs: [{resourceName: common}]}";
  const std::string other = "{configs: [{resourceName: other, resourceFilters: [{pfNames: [ens9]}]}]}";
  tree.pci(kPf)
      .id("8086", "1592")
      .driver("ice")
      .numa(0)
      .sriov(256)
      .vfs(1, [](fixture::SysfsTree::Pci vf, int) { vf.id("8086", "1889").driver("iavf").netdev("v0"); });
  put_policy("b", common);
  start();
  run(15s);
  ASSERT_TRUE(offered().contains(kFirstVf));
  daemon.reset();
  put_policy("a", other);
  start();
  run(15s);
  ASSERT_TRUE(offered().contains(kFirstVf));
  put_policy("a", other + "\nstatus: {x: y}");
  run(15s);
  EXPECT_TRUE(offered().contains(kFirstVf)) << "a status is written";
  cluster.expire_watches();
  run(15s);
  EXPECT_TRUE(offered().contains(kFirstVf)) << "a new list";
  cluster.put(kube::kSriovResourcePolicies,
              kube::decode_yaml("metadata: {name: a, namespace: dra-driver-sriov, managedFields: "
                                "[{manager: m, time: '2026-11-21T00:00:00Z'}]}\nspec: " +
                                other)
                  .documents.at(0));
  run(15s);
  EXPECT_TRUE(offered().contains(kFirstVf)) << "its metadata is written";
  put_policy("c", common);
  run(15s);
  EXPECT_TRUE(offered().contains(kFirstVf)) << "what comes behind says nothing of it";
  put_policy("a", "{priority: 1, " + other.substr(1));
  run(15s);
  EXPECT_FALSE(offered().contains(kFirstVf));
}

TEST_F(DaemonTest, AnInterfaceInAPodKeepsItsVerdict) {
  make_pf(2);
  put_exposure("p", "{selector: {cel: 'device.attributes[\"dra.networking\"].operState == \"up\"'}}");
  start();
  run(15s);
  const std::set<std::string> all = offered();
  ASSERT_TRUE(all.contains("0000-3b-02-0"));
  const size_t before = writes();
  const int ifindex = daemon->inventory()->find("0000:3b:02.0")->netdev->ifindex;
  tree.remove_netdev("ens1f0v0");
  say(hotplug::LinkChange{ifindex, "ens1f0v0", true, true});
  run(10s);
  EXPECT_EQ(offered(), all);
  EXPECT_EQ(writes(), before);
}

}  // namespace
}  // namespace sliced
