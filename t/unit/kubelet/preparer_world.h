#pragma once
// Preparers one after the other over a node, a cluster and a clock in memory: what each leaves behind is the next one's.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/objects/kinds.h"
#include "kubelet/preparer.h"
#include "t/fake/abandon.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_node.h"
#include "t/fake/memory_log.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet::sample {

inline constexpr const char* kKind = "sriovnetwork.k8snetworkplumbingwg.io/vf";

// A node that lives on while daemons come and go.
class PreparerWorld : public testing::Test {
 protected:
  PreparerWorld() {
    cluster.install(kube::kResourceClaims);
    cluster.install(kube::kPods);
    for (const auto& [pci, group] :
         {std::pair("0000:03:00.2", "7"), std::pair("0000:03:00.3", "8"), std::pair("0000:03:00.4", "9")})
      node.functions[pci] = {.look = {.identity = {"8086", "10ca", "0000:03:00.0"}}, .group = group};
    run();
  }

  // The daemon is killed, wherever it is, and another begins.
  void run() {
    preparer.reset();
    preparer = std::make_unique<ClaimPreparer>(
        PreparerPorts{cluster, scheduler, executor, log, std::make_shared<fake::FakeHost>(node), interfaces},
        ClaimPreparer::DaemonState{[this] { return waits_for; },
                                   [this](const std::string&, const std::string& pool,
                                          const std::string& entry) { return find(pool, entry); },
                                   [] { return kube::NodeView{"node-a", {}}; }, [this] { return boot_id; }},
        ClaimPreparer::Handlers{
            [this](const policy::Prepared& one) { charged.insert(one.claim + " " + one.entry); },
            [this](const policy::Unprepared& one) { charged.erase(one.claim + " " + one.entry); },
            [this](const std::string& by, const hotplug::HostDevice& facts) {
              held[by + " " + facts.id.text] = facts;
            },
            [this](const std::string& by) {
              std::erase_if(held, [&](const auto& one) { return one.first.starts_with(by + " "); });
            },
            {},
            {},
            [this](policy::NotReturnedDevices all) { withheld = std::move(all); }},
        settings);
    charged.clear();
    held.clear();
    withheld.clear();
    preparer->start();
    settle();
  }
  std::optional<KnownEntry> find(const std::string& pool, const std::string& entry) const {
    constexpr std::string_view kNamed = "0000-03-00-2";
    if (pool != "node-a" || gone.contains(entry) || entry.size() != kNamed.size()) return std::nullopt;
    KnownEntry known = vf(entry);
    known.device.driver = facts_driver;
    known.vf_settings = allowed, known.has_policy = has_policy;
    if (links.contains(entry)) {
      known.device.type = hotplug::DeviceType::kVlan;
      known.device.id.text = known.device.netdev->name = known.holding.device = "v10";
      known.device.pci.reset(), known.device.pf.reset();
      known.device.vendor.clear(), known.device.product.clear();
    }
    known.multus_resource = "intel.com/vf";
    return known;
  }
  void settle() { scheduler.advance(Millis{1'000}); }

  static ClaimText claim(int index, const std::string& device, kube::Json::Array configs = {}) {
    ClaimText text;
    text.name = "claim-" + std::to_string(index);
    text.uid = "uid-" + std::to_string(index);
    text.results = {result("vf", device)};
    text.configs = std::move(configs);
    return text;
  }
  ClaimText put(ClaimText text) {
    cluster.put(kube::kResourceClaims, text.object());
    return text;
  }
  // What the server has as uid is its own.
  PrepareRequest request(const ClaimText& text) {
    const auto object = cluster.object(kube::kResourceClaims, text.name, "ns");
    return {"ns", text.name, object ? std::string(object->find("metadata")->text("uid")) : text.uid};
  }
  std::optional<PrepareAnswer> prepare(const ClaimText& text, const std::string& driver = kSriov) {
    const auto answer = std::make_shared<std::optional<PrepareAnswer>>();  // it may come after this call
    preparer->prepare(driver, request(text), [answer](PrepareAnswer one) { *answer = std::move(one); });
    settle();
    return *answer;
  }
  std::optional<std::string> unprepare(const PrepareRequest& claim) {
    const auto problem =
        std::make_shared<std::optional<std::string>>();  // the answer may come after this call
    preparer->unprepare(kSriov, claim, [problem](std::string one) { *problem = std::move(one); });
    settle();
    return *problem;
  }
  // Begins a prepare, or an unprepare, of each claim and kills the daemon before step number `step` of these calls (0: the
  // first). Returns whether it was killed; calls of fewer steps complete.
  bool kill_before(size_t step, bool is_prepare, const std::vector<PrepareRequest>& claims) {
    const size_t from = node.steps.size();
    bool is_killed = false;
    size_t answered = 0;
    node.on_step = [&](const std::string&) -> std::optional<Error> {
      if (node.steps.size() - from <= step) return std::nullopt;
      is_killed = true;
      fake::abandon(fake::Abandoned::kHangs);
    };
    for (const PrepareRequest& claim : claims)
      if (is_prepare)
        preparer->prepare(kSriov, claim, [&](PrepareAnswer) { ++answered; });
      else
        preparer->unprepare(kSriov, claim, [&](const std::string&) { ++answered; });
    settle();
    node.on_step = nullptr;
    // What follows an answer is killed, too.
    EXPECT_TRUE(answered == claims.size() || is_killed) << "a call ends with an answer, or is killed";
    preparer.reset();
    return is_killed;
  }
  // A prepare, or an unprepare, that is killed before its first step, then before its second, and so on, until one
  // completes. `before` makes the state that the call begins in and returns its claim; `after` judges what the next
  // daemon, which it begins with run(), makes of the rest.
  void kill_before_each_step(bool is_prepare, const std::function<PrepareRequest()>& before,
                             const std::function<void(const PrepareRequest&)>& after) {
    bool is_killed = true;
    size_t step = 0;
    for (; is_killed && !HasFatalFailure(); ++step) {
      SCOPED_TRACE((is_prepare ? "prepare, step " : "unprepare, step ") + std::to_string(step));
      const PrepareRequest claim = before();
      is_killed = kill_before(step, is_prepare, {claim});
      after(claim);
    }
    EXPECT_GT(step, 3u) << "a call has more steps than these";
  }
  std::string driver_of(const std::string& pci) { return node.functions.at(pci).driver; }
  bool has_spec(const std::string& id) const { return node.specs.contains({kKind, id}); }

  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  fake::FakeNode node;
  ClaimPreparer::Settings settings{
      .files = {.drivers = {kSriov, kExposure}, .device_info_directory = "/dp"}};  // of the next run()
  std::string boot_id = "boot-1", waits_for;
  std::string facts_driver = "igbvf";               // the driver of all functions for decisions
  std::optional<std::vector<std::string>> allowed;  // KnownEntry::vf_settings of all functions
  bool has_policy = true;                           // of all functions
  std::set<std::string> gone;                       // entries that are not there
  std::set<std::string> links;                      // entries that are VLAN links
  std::set<std::string> charged;                    // the prepared devices in the ledger
  std::map<std::string, hotplug::HostDevice> held;  // the pinned facts for decisions
  policy::NotReturnedDevices withheld;              // devices that it withholds
  InterfacePort* interfaces = nullptr;              // of the next run()
  std::unique_ptr<ClaimPreparer> preparer;
};

}  // namespace sliced::kubelet::sample
