#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/configure/attempts.h"
#include "policy/configure/missing_mac.h"
#include "policy/decide.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace configure_test {
namespace {

using namespace std::chrono_literals;
using fixture::VfHost;
using hotplug::HostDevice;

constexpr const char* kPf = "0000:3b:00.0";
constexpr const char* kVf = "0000:3b:00.1";
constexpr const char* kNone = "00:00:00:00:00:00";

std::string mac_of(int vf) { return "02:00:00:00:00:0" + std::to_string(vf); }

enum class By { kSriov, kExposure, kNodeState };

// Two VFs without administrative MAC address, the first of which is changed by the rows; a policy requires both.
struct World {
  explicit World(By by) {
    host.pf(kPf, "ens1f0", 2);
    for (int i : {0, 1}) {
      vf(i).enforced = hotplug::VfConfig{.mac = kNone};
      vf(i).netdev->mac = mac_of(i);
      vf(i).netdev->is_initialized = true;
    }
    in.node.name = "n1";
    sriov.id = {"ns", "p"};
    sriov.configs.emplace_back();
    exposure.id.name = "e";
    exposure.action = ExposureAction::kExpose;
    exposure.selector.cel = "device.attributes['dra.networking'].type == 'vf'";
    sriov.readiness.set_admin_mac = exposure.readiness.set_admin_mac = true;
    uses_sriov = by == By::kSriov;
    uses_exposure = by == By::kExposure;
    if (by == By::kNodeState)
      state =
          "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 2, externallyManaged: true, "
          "vfGroups: [{vfRange: 0-1, deviceType: netdevice}]}]}";
  }
  HostDevice& vf(int index) { return host.at(VfHost::vf_address(kPf, index)); }
  Decision decide_now() {
    std::vector<SriovPolicy> sriovs;
    if (uses_sriov) sriovs.push_back(sriov);
    std::vector<ExposurePolicy> exposures;
    if (uses_exposure) exposures.push_back(exposure);
    if (exclude) exposures.push_back(*exclude);
    in.policies = std::make_shared<const PolicySet>(
        make_policy_set(share(std::move(sriovs)), {}, share(std::move(exposures))));
    auto now = std::make_shared<hotplug::Inventory>(*host.inventory());
    now->can_query_pfs = true;
    in.inventory = now;
    return decide(std::make_shared<const Inputs>(in));
  }
  std::vector<MissingMac> missing() {
    const Decision decision = decide_now();
    NodeStateReading word;
    if (!state.empty()) {
      const auto yaml =
          kube::decode_yaml("metadata: {name: n1, namespace: operator}\n" + state).documents.at(0);
      word.object = std::make_shared<const SriovNodeState>(decode_node_state(yaml));
    }
    hotplug::Inventory now = *host.inventory();
    now.has_udevd = has_udevd;
    return missing_macs({decision, now, word, [this](const std::string& id) { return taken.contains(id); }});
  }

  VfHost host;
  Inputs in;
  SriovPolicy sriov;
  ExposurePolicy exposure;
  std::optional<ExposurePolicy> exclude;
  bool uses_sriov = false, uses_exposure = false, has_udevd = true;
  std::string state;
  std::set<std::string> taken;
};

std::vector<std::string> ids(const std::vector<MissingMac>& missing) {
  std::vector<std::string> out;
  for (const MissingMac& one : missing) out.push_back(one.vf);
  return out;
}
const std::vector<std::string> kBoth = {kVf, VfHost::vf_address(kPf, 1)};

struct MissingMacsTest : testing::TestWithParam<By> {
  World w{GetParam()};
};

TEST_P(MissingMacsTest, SetsADistinctAddressForEach) {
  const auto missing = w.missing();
  ASSERT_EQ(ids(missing), kBoth);
  const std::string asked_by[] = {"policy ns/p", "DeviceExposurePolicy e",
                                  "SriovNetworkNodeState operator/n1"};
  EXPECT_EQ(missing.front(), (MissingMac{.vf = kVf,
                                         .pf = *hotplug::PciAddress::decode(kPf),
                                         .pf_name = "ens1f0",
                                         .pf_ifindex = 2,
                                         .index = 0,
                                         .interface = "ens1f0v0",
                                         .ifindex = 100,
                                         .mac = mac_of(0),
                                         .asked_by = asked_by[static_cast<size_t>(GetParam())]}));
}

// Each is a rule by which the first VF is not configured. The second one is not affected.
const struct {
  const char* what;
  std::function<void(World&)> spoil;
} kRules[] = {
    {"it has one", [](World& w) { w.vf(0).enforced->mac = mac_of(7); }},
    {"its PF has not told", [](World& w) { w.vf(0).enforced.reset(); }},
    {"its PF's driver does not tell", [](World& w) { w.vf(0).enforced->mac = ""; }},
    {"no interface", [](World& w) { w.vf(0).netdev.reset(); }},
    {"on vfio-pci", [](World& w) { w.vf(0).netdev.reset(), w.vf(0).driver = "vfio-pci"; }},
    {"in another network namespace", [](World& w) { w.vf(0).netdev->stale = true; }},
    {"InfiniBand", [](World& w) { w.vf(0).netdev->link_type = 32; }},
    {"what it speaks is unknown", [](World& w) { w.vf(0).netdev->link_type.reset(); }},
    {"no address of its own", [](World& w) { w.vf(0).netdev->mac = ""; }},
    {"nothing but zeros", [](World& w) { w.vf(0).netdev->mac = kNone; }},
    {"the address of a group", [](World& w) { w.vf(0).netdev->mac = "03:00:00:00:00:01"; }},
    {"udevd may give it another name and address", [](World& w) { w.vf(0).netdev->is_initialized = false; }},
    {"a pod has it", [](World& w) { w.taken.insert(kVf); }},
    {"in motion", [](World& w) { w.in.settling.insert(kVf); }},
    {"it cannot be trusted", [](World& w) { w.vf(0).broken = "half removed"; }},
    {"the host uses it", [](World& w) { w.vf(0).host_use = "enslaved to br0"; }},
    {"which VF it is, is unknown", [](World& w) { w.vf(0).vf_index.reset(); }},
    {"a policy excludes it",
     [](World& w) {
       w.exclude.emplace();
       w.exclude->id.name = "x";
       w.exclude->action = ExposureAction::kExclude;
       w.exclude->selector.cel =
           "device.attributes['dra.networking'].type == 'vf' && device.attributes['dra.networking'].vfIndex == 0";
     }},
};

TEST_P(MissingMacsTest, SetsOnlyMissingAddressesOfPresentVfs) {
  for (const auto& rule : kRules) {
    World spoilt(GetParam());
    rule.spoil(spoilt);
    EXPECT_EQ(ids(spoilt.missing()), std::vector{kBoth.back()}) << rule.what;
  }
}

// Red when a decision waits for the end of a configuration that does not run.
TEST_P(MissingMacsTest, DoesNotWaitForUdevIfItDoesNotRun) {
  w.has_udevd = false;
  for (const int i : {0, 1}) w.vf(i).netdev->is_initialized = false;
  EXPECT_EQ(ids(w.missing()), kBoth);
}

TEST_P(MissingMacsTest, SetsNothingWithoutAPfInterface) {
  w.host.at(kPf).netdev->stale = true;
  EXPECT_TRUE(w.missing().empty());
}

TEST_P(MissingMacsTest, SetsNothingBeforeTheNodeIsConfigured) {
  w.in.unconfigured.why = "/run/sliced/configured: there is no such file";
  EXPECT_TRUE(w.missing().empty());
}

TEST_P(MissingMacsTest, SetsTheAddressThatAWithheldDeviceLacks) {
  Readiness& readiness = w.in.settings.readiness;
  readiness.require.emplace().set(static_cast<size_t>(Condition::kAdminMac));
  EXPECT_EQ(ids(w.missing()), kBoth);
}

INSTANTIATE_TEST_SUITE_P(WhoeverAsks, MissingMacsTest,
                         testing::Values(By::kSriov, By::kExposure, By::kNodeState));

TEST(MissingMacs, APolicyMustRequestIt) {
  for (const By by : {By::kSriov, By::kExposure}) {
    World w(by);
    w.sriov.readiness.set_admin_mac = w.exposure.readiness.set_admin_mac = false;
    EXPECT_TRUE(w.missing().empty());
    w.in.settings.readiness.set_admin_mac = true;
    EXPECT_TRUE(w.missing().empty()) << "what it says counts, not the daemon's";
    w.sriov.readiness.set_admin_mac.reset(), w.exposure.readiness.set_admin_mac.reset();
    EXPECT_EQ(ids(w.missing()), kBoth);
  }
}

TEST(MissingMacs, IgnoresVfsThatANodeStateDoesNotRequest) {
  const struct {
    const char* what;
    const char* state;
    std::vector<std::string> missing;
  } rows[] = {
      {"the operator's own PF",
       "spec: {interfaces: [{pciAddress: '0000:3b:00.0', vfGroups: [{vfRange: 0-1}]}]}",
       {}},
      {"another PF",
       "spec: {interfaces: [{pciAddress: '0000:5e:00.0', externallyManaged: true, vfGroups: [{vfRange: 0-1}]}]}",
       {}},
      {"no group",
       "spec: {interfaces: [{pciAddress: '0000:3b:00.0', externallyManaged: true, vfGroups: [{vfRange: 1-1}]}]}",
       {kBoth.back()}},
      {"a group of other drivers",
       "spec: {interfaces: [{pciAddress: '0000:3b:00.0', externallyManaged: true, vfGroups: [{vfRange: 0-0, "
       "deviceType: vfio-pci}, {vfRange: 1-1}]}]}",
       {kBoth.back()}},
      {"the operator is at it",
       "spec: {interfaces: [{pciAddress: '0000:3b:00.0', externallyManaged: true, vfGroups: [{vfRange: 0-1}]}]}\n"
       "status: {syncStatus: InProgress}",
       {}},
      {"it cannot be understood",
       "spec: {interfaces: [{pciAddress: '0000:3b:00.0', externallyManaged: true, numVfs: many, vfGroups: "
       "[{vfRange: 0-1}]}]}",
       {}},
  };
  for (const auto& row : rows) {
    World w(By::kNodeState);
    w.state = row.state;
    EXPECT_EQ(ids(w.missing()), row.missing) << row.what;
  }
}

// ---- how often

struct MacAttemptsTest : testing::Test {
  MacAttemptsTest() {
    host.pf(kPf, "ens1f0", 1);
    enforce(kNone);
  }
  void enforce(const std::string& mac) { host.at(kVf).enforced = hotplug::VfConfig{.mac = mac}; }
  bool is_due() { return !attempts.due({{.vf = kVf}}, *host.inventory(), now).empty(); }
  void see_set() {
    enforce(mac_of(1));
    attempts.due({}, *host.inventory(), now);
  }

  VfHost host;
  MacAttempts attempts;
  TimePoint now{1h};
};

TEST_F(MacAttemptsTest, TriesOnce) {
  EXPECT_TRUE(is_due());
  attempts.begin(kVf, now);
  EXPECT_FALSE(is_due());
  EXPECT_EQ(attempts.next(), std::nullopt);
  now += 24h;
  EXPECT_FALSE(is_due());
}

TEST_F(MacAttemptsTest, RetriesALostAddressAfterADelay) {
  attempts.begin(kVf, now);
  see_set();
  enforce(kNone);
  now += 1s;
  EXPECT_FALSE(is_due()) << "who takes it away may do so each time";
  EXPECT_EQ(attempts.next(), TimePoint{1h} + MacAttempts::kRetryAfter);
  now = *attempts.next();
  EXPECT_TRUE(is_due());
  attempts.begin(kVf, now);
  now += 1h;
  EXPECT_FALSE(is_due()) << "it was not seen set since";
}

TEST_F(MacAttemptsTest, ReturnsTheAddressThatWasSet) {
  attempts.begin(kVf, now);
  attempts.has(kVf);
  now += MacAttempts::kRetryAfter;
  EXPECT_TRUE(is_due()) << "it was set, and is lost before the host was read";
}

TEST_F(MacAttemptsTest, ARecreatedVfIsAnother) {
  attempts.begin(kVf, now);
  const HostDevice vf = host.at(kVf);
  host.remove(kVf);
  attempts.due({}, *host.inventory(), now);
  host = VfHost().pf(kPf, "ens1f0", 1);
  enforce(kNone);
  EXPECT_TRUE(is_due());
}

TEST_F(MacAttemptsTest, AnUntriedAddressDoesNotCount) {
  attempts.begin(kVf, now);
  attempts.forget(kVf);
  EXPECT_TRUE(is_due());
}

}  // namespace
}  // namespace configure_test
}  // namespace sliced::policy
