#include "kubectl/why/why_reading.h"

#include <gtest/gtest.h>

#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "kubectl/why/why_page.h"
#include "t/unit/kubectl/late_objects.h"

namespace sliced::kubectl {
namespace why_reading_test {
namespace {

constexpr const char* kDriver = "sriov.example";

struct WhyReadingTest : testing::Test, LateObjects {
  WhyReadingTest() {
    for (const auto* kind :
         {&kube::kDeviceClasses, &kube::kResourceClaims, &kube::kDeviceTaintRules,
          &kube::kSriovResourcePolicies, &kube::kDeviceExposurePolicies, &kube::kNodeDeviceReports})
      cluster.install(*kind);
  }
  void put(const kube::Resource& kind, const std::string& yaml) {
    const auto read = kube::decode_yaml(yaml);
    ASSERT_TRUE(read.problems.empty()) << yaml;
    for (const kube::Json& object : read.documents) cluster.put(kind, object);
  }
};

// Red when an object counts that was deleted while the continue token expired, or anything counts twice.
TEST_F(WhyReadingTest, CountsARestartedListOnce) {
  const struct {
    const kube::Resource& kind;
    std::string namespace_, spec;
  } rows[] = {
      {kube::kNodes, "", "{}"},
      {kube::kDeviceClasses, "", "{selectors: [{cel: {expression: 'true'}}]}"},
      {kube::kResourceSlices, "",
       "{driver: d.example, nodeName: worker, pool: {name: worker, generation: 1, resourceSliceCount: 1}, devices: [{name: a}]}"},
      {kube::kResourceClaims, "ns", "{devices: {requests: [{name: a, exactly: {deviceClassName: c}}]}}"},
      {kube::kDeviceTaintRules, "", "{taint: {key: a.example/b, effect: NoSchedule}}"}};
  for (const auto& row : rows) {
    for (const std::string name : {"a", "b"})
      put(row.kind, "metadata: {name: " + name +
                        (row.namespace_.empty() ? "" : ", namespace: " + row.namespace_) +
                        "}\nspec: " + row.spec + "\n");
    put(row.kind, "metadata: {name: broken" +
                      (row.namespace_.empty() ? "" : ", namespace: " + row.namespace_) + "}\nspec: 1\n");
    pages.late[row.kind.plural] = 2;
  }
  pages.meanwhile = [&](const std::string& plural) {
    for (const auto& row : rows)
      if (row.kind.plural == plural) cluster.remove(row.kind, "b", row.namespace_);
  };
  why::Cluster once, read;
  ASSERT_TRUE(read_allocation(objects, "ns", read));
  ASSERT_TRUE(read_allocation(objects, "ns", once));
  EXPECT_EQ(once.nodes.size(), read.nodes.size());
  EXPECT_EQ(once.classes.size(), 1u);
  EXPECT_EQ(once.slices.size(), 1u);
  EXPECT_EQ(once.claims.size(), 1u);
  EXPECT_EQ(once.taint_rules.size(), 1u);
  EXPECT_EQ(read.classes.size(), once.classes.size());
  EXPECT_EQ(read.slices.size(), once.slices.size());
  EXPECT_EQ(read.claims.size(), once.claims.size());
  EXPECT_EQ(read.taint_rules.size(), once.taint_rules.size());
  EXPECT_GT(once.unread.size(), 0u);
  EXPECT_EQ(read.unread.size(), once.unread.size());
}

// A pod that is on node w, with its events.
struct StartTest : WhyReadingTest {
  StartTest() {
    cluster.install(kube::kEvents);
    answer.verdict = why::Verdict::kRuns;
    answer.pod.emplace();
    answer.pod->namespace_ = "ns", answer.pod->name = "p", answer.pod->node_name = "w",
    answer.pod->uid = "uid-p";
    answer.pod->phase = "Pending";
    answer.pod->scheduled_at = "2026-01-01T12:00:00Z";
    why::Claim claim;
    claim.allocation.emplace().devices.push_back({.driver = kDriver, .pool = "w", .device = "d"});
    answer.claims.push_back(claim);
  }
  // The time of day of 2026-01-01.
  void event(const std::string& note, const std::string& when, const std::string& uid = "uid-p",
             const std::string& reason = "FailedPrepareDynamicResources",
             const std::string& type = "Warning") {
    put(kube::kEvents, "metadata: {name: e" + std::to_string(++events) +
                           ", namespace: ns}\nregarding: {kind: Pod, "
                           "namespace: ns, name: p, uid: " +
                           uid + "}\ntype: " + type + "\nreason: " + reason + "\nnote: '" + note +
                           "'\ndeprecatedLastTimestamp: '2026-01-01T" + when + "Z'\n");
  }
  std::vector<std::string> notes(const std::string& now = "12:10:00") {
    cluster.clock = [at = *kube::decode_api_time("2026-01-01T" + now + "Z")] { return at; };
    answer.notes.clear();
    read_start(objects, {kDriver, "dra.example"}, answer);
    return answer.notes;
  }
  int events = 0;
  why::Answer answer;
};

// Red when the answer for a pod that hangs on its node has no reason.
TEST_F(StartTest, ReportsTheLastWarningOfAStartingPodWithItsAge) {
  event("older", "12:01:00");
  event("newer", "12:08:00");
  EXPECT_EQ(notes(), std::vector<std::string>{"FailedPrepareDynamicResources: newer (2m ago)"});
  EXPECT_EQ(notes("12:30:00"),
            std::vector<std::string>{"FailedPrepareDynamicResources: newer (22m ago; it may be over)"});
}

// Red when the first line is of another pod of the name, of the time before the pod was bound, or of what has been overcome since.
TEST_F(StartTest, OmitsWarningsThatAreOver) {
  event("of a pod of before", "12:09:00", "uid-before");
  event("0/3 nodes are available", "11:59:00", "uid-p", "FailedScheduling");
  event("before it was bound", "11:59:30");
  EXPECT_TRUE(notes().empty());
  event("sandbox", "12:03:00", "uid-p", "FailedCreatePodSandBox");
  EXPECT_EQ(notes(), std::vector<std::string>{"FailedCreatePodSandBox: sandbox (7m ago)"});
  event("Pulling image", "12:04:00", "uid-p", "Pulling", "Normal");
  EXPECT_TRUE(notes().empty());
  event("no such image", "12:05:00", "uid-p", "Failed");
  EXPECT_EQ(notes(), std::vector<std::string>{"Failed: no such image (5m ago)"});
}

// Red when a warning about the node's DNS, which stops no pod, hides the cause.
TEST_F(StartTest, ReportsTheCauseBeforeALaterHintAboutTheNode) {
  event("device d: busy", "12:03:00");
  event("kubelet does not have ClusterDNS IP configured", "12:09:00", "uid-p", "MissingClusterDNS");
  event("Nameserver limits were exceeded", "12:09:30", "uid-p", "DNSConfigForming");
  EXPECT_EQ(notes(), std::vector<std::string>{"FailedPrepareDynamicResources: device d: busy (7m ago)"});
}

// Red when an old event precedes the node's present report, or when the remedy is not named.
TEST_F(StartTest, ReportsNodeProblemsFirstWithTheirRemedy) {
  event("driver is not registered", "12:01:00");
  put(kube::kNodeDeviceReports,
      "metadata: {name: w}\nstatus: {kubeletPlugin: 'off', silentSince: '2026-01-01T11:00:00Z'}\n");
  const auto said = notes();
  ASSERT_EQ(said.size(), 3u);
  EXPECT_NE(said[0].find("silent since 2026-01-01T11:00:00Z"), std::string::npos) << said[0];
  EXPECT_EQ(
      said[1],
      "the kubelet plugin of node w is off: no claim is prepared there; run its daemon with --kubelet-plugin on "
      "(chart: kubeletPlugin.enabled=true)");
  EXPECT_EQ(said[2], "FailedPrepareDynamicResources: driver is not registered (9m ago)");
  answer.claims[0].allocation->devices[0].driver = "gpu.example.com";
  EXPECT_EQ(notes().size(), 1u) << "its claims are another driver's";
}

TEST_F(StartTest, ReportsOnlyIgnoredConfigurationsOfARunningPod) {
  event("back-off", "12:09:00", "uid-p", "BackOff");
  answer.pod->phase = "Running";
  EXPECT_TRUE(notes().empty());
  event("a: ResourceClaim ns/c: it is ignored", "12:08:00", "uid-p", "ConfigurationIgnored");
  EXPECT_EQ(notes(),
            std::vector<std::string>{"ConfigurationIgnored: a: ResourceClaim ns/c: it is ignored (2m ago)"});
}

// Red when a pod for which only a policy is missing hears nothing of it.
TEST_F(WhyReadingTest, NamesNodesWithUnselectedDevicesIfNothingMatches) {
  put(kube::kNodeDeviceReports, "metadata: {name: w}\nstatus: {counts: {devices: 12, unmatched: 12}}\n");
  why::Answer answer;
  answer.nodes.resize(1);
  answer.nodes[0].name = "w";
  answer.nodes[0].requests.resize(1);
  answer.nodes[0].requests[0].wanted = 1;
  find_hidden(objects, {kDriver, "dra.example"}, {}, answer);
  EXPECT_EQ(answer.hints, std::vector<std::string>{
                              "Nodes with devices that no policy selects: w (12); no policy was found that "
                              "would offer what the claim requests"});
  answer.hints.clear();
  answer.nodes[0].requests[0].matching = answer.nodes[0].requests[0].free = 1;
  find_hidden(objects, {kDriver, "dra.example"}, {}, answer);
  EXPECT_TRUE(answer.hints.empty());
}

TEST_F(WhyReadingTest, NamesAMissingPermissionWithTheOthers) {
  put(kube::kDeviceClasses, "metadata: {name: c}\nspec: {}\n");
  for (const auto* kind : {&kube::kNodes, &kube::kResourceSlices, &kube::kDeviceTaintRules})
    cluster.deny(kind->plural);
  why::Cluster all;
  ASSERT_TRUE(read_allocation(objects, "ns", all)) << "what may be read is an answer";
  EXPECT_EQ(all.denied, (std::map<std::string, std::string>{{"devicetaintrules", "list devicetaintrules"},
                                                            {"nodes", "list nodes"},
                                                            {"resourceslices", "list resourceslices"}}));
  EXPECT_EQ(all.classes.size(), 1u);
}

TEST_F(WhyReadingTest, NamesAHidingPolicyOnce) {
  put(kube::kSriovResourcePolicies,
      "metadata: {name: a, namespace: ours}\n"
      "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens1f0]}]}]}\n");
  put(kube::kDeviceExposurePolicies,
      "metadata: {name: no-vfs}\nspec: {action: exclude, selector: {cel: 'true'}}\n");
  put(kube::kNodeDeviceReports,
      "metadata: {name: worker-1}\n"
      "status: {groups: [{type: vf, pf: '0000:3b:00.0', pfName: ens1f0, vfs: '0-3', pciAddress: '0000:3b:01.0', vendor: '8086', "
      "driver: iavf, linkType: ethernet, disposition: hidden, verdicts: [{kind: DeviceExposurePolicy, name: no-vfs, outcome: excluded}]}], "
      "policies: [{kind: SriovResourcePolicy, namespace: ours, name: a, action: expose, generation: 1, matched: 4, offered: 0}]}\n");
  why::Cluster all;
  all.nodes.resize(1);
  all.nodes[0].view.name = "worker-1";
  why::Request request;
  request.name = "uplink";
  request.device_class = "c";
  why::Claim claim;
  claim.requests = {{.name = "uplink", .is_list = false, .alternatives = {request}}};
  why::Answer answer;
  answer.verdict = why::Verdict::kPending;
  answer.claims = {claim};
  answer.classes = {{.name = "c",
                     .selectors = {"device.driver == \"sriov.example\""},
                     .extended_resource = "",
                     .unknown = {}}};
  pages.late[kube::kNodeDeviceReports.plural] = 2;
  const auto hidden = find_hidden(objects, {kDriver, "dra.example"}, all, answer);
  EXPECT_EQ(hidden, (std::vector<HiddenMatch>{{"worker-1", "uplink", "0000:3b:01.0", 4,
                                               "DeviceExposurePolicy no-vfs excludes it"}}));
  EXPECT_EQ(answer.unsure, std::vector<std::string>{});
  answer.verdict = why::Verdict::kCan;
  EXPECT_TRUE(find_hidden(objects, {kDriver, "dra.example"}, all, answer).empty()) << "it has enough";
}

// A node with one shared device whose shares are all allocated to apps/a, and a claim that wants one more.
struct SharesTest : WhyReadingTest {
  SharesTest() {
    cluster.install(kube::kPods);
    put(kube::kNodes, "metadata: {name: w}\n");
    put(kube::kDeviceClasses,
        "metadata: {name: macvlan}\nspec: {selectors: [{cel: {expression: 'device.driver == \"dra.example\"'}}]}\n");
    put(kube::kResourceSlices,
        "metadata: {name: s}\nspec: {driver: dra.example, nodeName: w, pool: {name: w, generation: 1, resourceSliceCount: 1}, devices: "
        "[{name: 0000-01-00-0, allowMultipleAllocations: true, capacity: {dra.example/macvlans: {value: '1', requestPolicy: {default: '1', "
        "validValues: ['1']}}}}]}\n");
    put(kube::kResourceClaims,
        "metadata: {name: holds, namespace: apps}\nspec: {}\nstatus: {allocation: {devices: {results: [{request: r, driver: "
        "dra.example, pool: w, device: 0000-01-00-0, shareID: a, consumedCapacity: {dra.example/macvlans: '1'}}]}}, reservedFor: "
        "[{resource: pods, name: a}]}\n");
    put(kube::kResourceClaims,
        "metadata: {name: waits, namespace: apps}\nspec: {devices: {requests: [{name: nic, exactly: {deviceClassName: "
        "macvlan}}]}}\n");
    EXPECT_TRUE(read_allocation(objects, "apps", all));
  }
  why::Answer ask() {
    for (const why::Claim& claim : all.claims)
      if (claim.name == "waits") return why::why_claim(all, claim);
    ADD_FAILURE() << "there is no such claim";
    return {};
  }
  why::Cluster all;
};

// Red when the only advice is the end of other pods although a policy limits the shares.
TEST_F(SharesTest, SuggestsALargerCapacityFirstIfSharesAreUsedUp) {
  put(kube::kDeviceExposurePolicies,
      "metadata: {name: shares}\nspec: {selector: {cel: 'device.attributes[\"dra.example\"].type == \"pf\"'}, exposure: "
      "{allowMultipleAllocations: true, capacity: {macvlans: {value: '1', requestPolicy: {default: '1', validValues: ['1']}}}, "
      "supportedCNIPlugins: [{name: macvlan, consumePerAllocation: {macvlans: '1'}}]}}\n");
  put(kube::kNodeDeviceReports,
      "metadata: {name: w}\n"
      "status: {groups: [{type: pf, pciAddress: '0000:01:00.0', interface: enp1s0, vendor: '8086', driver: ice, linkType: ethernet, "
      "disposition: offered, verdicts: [{kind: DeviceExposurePolicy, name: shares, outcome: matched}]}]}\n");
  why::Answer answer = ask();
  ASSERT_EQ(answer.verdict, why::Verdict::kPending);
  find_hidden(objects, {kDriver, "dra.example"}, all, answer);
  ASSERT_EQ(answer.advice.size(), 2u);
  EXPECT_EQ(
      answer.advice[0],
      "raise spec.exposure.capacity.macvlans.value (1) of DeviceExposurePolicy shares, if the device can carry "
      "more (then it can run on w)");
  EXPECT_EQ(answer.advice[1], "delete pod apps/a, which has claim apps/holds (then it can run on w)");
  EXPECT_EQ(
      why_text(answer, "claim apps/waits", "", 10)
          .rfind(
              "claim apps/waits is pending: capacity dra.example/macvlans is used up: of 1 device that matches request nic "
              "(class macvlan), it has too little of it left\n",
              0),
      0u)
      << why_text(answer, "claim apps/waits", "", 10);
}

// Red when the state of pods is not read, or an answer is made again for nothing.
TEST_F(SharesTest, ReadsPodsThatHoldDevicesIfTheirEndWouldHelp) {
  put(kube::kPods, "metadata: {name: a, namespace: apps}\nstatus: {phase: Running}\n");
  EXPECT_FALSE(read_users(objects, ask(), all)) << "it runs";
  put(kube::kPods, "metadata: {name: a, namespace: apps}\nstatus: {phase: Failed}\n");
  ASSERT_TRUE(read_users(objects, ask(), all));
  EXPECT_EQ(
      ask().advice,
      std::vector<std::string>{
          "delete pod apps/a, which has claim apps/holds and has ended (Failed) (then it can run on w)"});
  cluster.deny(kube::kPods.plural);
  why::Cluster again;
  ASSERT_TRUE(read_allocation(objects, "apps", again));
  all = again;
  EXPECT_FALSE(read_users(objects, ask(), all));
  ASSERT_EQ(all.unread.size(), 1u);
  EXPECT_NE(all.unread.front().find("pods of namespace apps"), std::string::npos) << all.unread.front();
}

// Red when a configuration that no node uses is seen in an Event alone, which comes a minute later.
TEST_F(WhyReadingTest, ReportsAnIgnoredConfigurationBeforeTheNode) {
  const std::string config =
      "config: [{opaque: {driver: dra.example, parameters: {apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1, kind: VfConfig, "
      "netAttachDefName: net}}";
  put(kube::kDeviceClasses,
      "metadata: {name: vf}\nspec: {selectors: [{cel: {expression: 'device.driver == \"sriov.example\"'}}]}\n");
  put(kube::kResourceClaims,
      "metadata: {name: c, namespace: apps, uid: u}\nspec: {devices: {requests: [{name: vf, exactly: "
      "{deviceClassName: vf}}], " +
          config + "}]}}\n");
  put(kube::kResourceClaims,
      "metadata: {name: d, namespace: apps, uid: u}\nspec: {}\nstatus: {allocation: {devices: {results: "
      "[{request: vf, driver: sriov.example, pool: w, device: a}], " +
          config + ", source: FromClaim}]}}, reservedFor: [{resource: pods, name: p, uid: p}]}\n");
  why::Cluster all;
  ASSERT_TRUE(read_allocation(objects, "apps", all));
  for (const why::Claim& claim : all.claims) {
    why::Answer answer;
    answer.claims = {claim};
    judge_configs(objects, {kDriver, "dra.example"}, all, answer);
    ASSERT_EQ(answer.notes.size(), 1u) << claim.name;
    const std::string where =
        claim.allocation ? "status.allocation.devices.config[0]" : "spec.devices.config[0]";
    EXPECT_EQ(answer.notes[0].rfind("ResourceClaim apps/" + claim.name + ": " + where + ".opaque.driver", 0),
              0u)
        << answer.notes[0];
    EXPECT_NE(answer.notes[0].find("sriov.example"), std::string::npos) << answer.notes[0];
  }
}

}  // namespace
}  // namespace why_reading_test
}  // namespace sliced::kubectl
