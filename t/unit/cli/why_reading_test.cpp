#include "cli/fleet/why_reading.h"

#include <gtest/gtest.h>

#include "kube/kinds.h"
#include "kube/yaml.h"
#include "t/unit/cli/late_objects.h"

namespace sliced::cli {
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

// Red when what went while the server forgot the pages of its list counts, or anything counts twice.
TEST_F(WhyReadingTest, AListThatBeginsAnewCountsOnce) {
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
  allocation::Cluster once, read;
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

// Red when nothing is said of a pod that is on a node and hangs there.
TEST_F(WhyReadingTest, APodWhoseContainersDoNotStartHasItsLastWarning) {
  cluster.install(kube::kEvents);
  const auto event = [&](const std::string& name, const std::string& when, const std::string& pod) {
    put(kube::kEvents, "metadata: {name: " + name +
                           ", namespace: ns}\nregarding: {kind: Pod, namespace: ns, name: " + pod +
                           "}\ntype: Warning\nreason: FailedPrepareDynamicResources\nnote: " + name +
                           "\ndeprecatedLastTimestamp: '" + when + "'\n");
  };
  event("older", "2026-01-01T00:00:00Z", "p");
  event("newer", "2026-01-02T00:00:00Z", "p");
  event("of-another", "2026-01-03T00:00:00Z", "q");
  put(kube::kNodeDeviceReports, "metadata: {name: w}\nstatus: {kubeletPlugin: 'off'}\n");
  allocation::Answer answer;
  answer.verdict = allocation::Verdict::kRuns;
  answer.pod.emplace();
  answer.pod->namespace_ = "ns", answer.pod->name = "p", answer.pod->node_name = "w",
  answer.pod->phase = "Pending";
  read_start(objects, answer);
  EXPECT_EQ(answer.notes,
            (std::vector<std::string>{"FailedPrepareDynamicResources: newer (2026-01-02T00:00:00Z)",
                                      "node w reports of its kubelet plugin: off"}));
  answer.pod->phase = "Running";
  answer.notes.clear();
  read_start(objects, answer);
  EXPECT_TRUE(answer.notes.empty());
}

// Red when a pod for which only a policy is missing hears nothing of it.
TEST_F(WhyReadingTest, DevicesThatNoPolicySelectsAreNamedWhereNothingMatches) {
  put(kube::kNodeDeviceReports, "metadata: {name: w}\nstatus: {counts: {devices: 12, unmatched: 12}}\n");
  allocation::Answer answer;
  answer.nodes.resize(1);
  answer.nodes[0].name = "w";
  answer.nodes[0].requests.resize(1);
  answer.nodes[0].requests[0].wanted = 1;
  find_hidden(objects, {kDriver, "dra.example"}, {}, answer);
  EXPECT_EQ(answer.hints,
            std::vector<std::string>{
                "Nodes with devices that no policy selects: w (12); no policy over what they report "
                "was found that would offer what is asked for"});
  answer.hints.clear();
  answer.nodes[0].requests[0].matching = answer.nodes[0].requests[0].free = 1;
  find_hidden(objects, {kDriver, "dra.example"}, {}, answer);
  EXPECT_TRUE(answer.hints.empty());
}

TEST_F(WhyReadingTest, AMissingPermissionIsNamedWithTheOthers) {
  put(kube::kDeviceClasses, "metadata: {name: c}\nspec: {}\n");
  for (const auto* kind : {&kube::kNodes, &kube::kResourceSlices, &kube::kDeviceTaintRules})
    cluster.deny(kind->plural);
  allocation::Cluster all;
  ASSERT_TRUE(read_allocation(objects, "ns", all)) << "what may be read is an answer";
  EXPECT_EQ(all.denied, (std::map<std::string, std::string>{{"devicetaintrules", "list devicetaintrules"},
                                                            {"nodes", "list nodes"},
                                                            {"resourceslices", "list resourceslices"}}));
  EXPECT_EQ(all.classes.size(), 1u);
}

TEST_F(WhyReadingTest, WhoHidesWhatWouldMatchIsNamedOnce) {
  put(kube::kSriovResourcePolicies,
      "metadata: {name: a, namespace: ours}\n"
      "spec: {configs: [{resourceName: storage, resourceFilters: [{pfNames: [ens1f0]}]}]}\n");
  put(kube::kDeviceExposurePolicies,
      "metadata: {name: no-vfs}\nspec: {action: exclude, selector: {cel: 'true'}}\n");
  put(kube::kNodeDeviceReports,
      "metadata: {name: worker-1}\n"
      "status: {groups: [{type: vf, pf: '0000:3b:00.0', pfName: ens1f0, vfs: '0-3', pciAddress: '0000:3b:01.0', vendor: '8086', "
      "driver: iavf, linkType: ethernet, standing: hidden, said: [{kind: DeviceExposurePolicy, name: no-vfs, outcome: excluded}]}], "
      "policies: [{kind: SriovResourcePolicy, namespace: ours, name: a, action: expose, generation: 1, matched: 4, offered: 0}]}\n");
  allocation::Cluster all;
  all.nodes.resize(1);
  all.nodes[0].view.name = "worker-1";
  allocation::Request request;
  request.name = "uplink";
  request.device_class = "c";
  allocation::Claim claim;
  claim.requests = {{.name = "uplink", .is_list = false, .alternatives = {request}}};
  allocation::Answer answer;
  answer.verdict = allocation::Verdict::kPending;
  answer.claims = {claim};
  answer.classes = {{.name = "c",
                     .selectors = {"device.driver == \"sriov.example\""},
                     .extended_resource = "",
                     .unknown = {}}};
  pages.late[kube::kNodeDeviceReports.plural] = 2;
  const auto hidden = find_hidden(objects, {kDriver, "dra.example"}, all, answer);
  EXPECT_EQ(hidden, (std::vector<HiddenMatch>{
                        {"worker-1", "uplink", "0000:3b:01.0", 4, "DeviceExposurePolicy no-vfs: excluded"}}));
  EXPECT_EQ(answer.unsure, std::vector<std::string>{});
  answer.verdict = allocation::Verdict::kCan;
  EXPECT_TRUE(find_hidden(objects, {kDriver, "dra.example"}, all, answer).empty()) << "it has enough";
}

}  // namespace
}  // namespace why_reading_test
}  // namespace sliced::cli
