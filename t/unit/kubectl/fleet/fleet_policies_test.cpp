#include "kubectl/fleet/fleet_policies.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "kubectl/fleet/policy_tables.h"

namespace sliced::kubectl {
namespace fleet_policies_test {
namespace {

const FleetDrivers kDrivers{"sriov.example", "dra.example"};
const kube::NodeView kNode{"worker-1", {{"zone", "a"}}};

kube::Json object(const std::string& yaml) { return kube::decode_yaml(yaml).documents.at(0); }

// A SriovResourcePolicy in our namespace.
kube::Json sriov(const std::string& name, const std::string& filter, const std::string& more = "") {
  return object("kind: SriovResourcePolicy\nmetadata: {name: " + name +
                ", namespace: ours, generation: 1}\nspec:\n" + more + "  configs: [{resourceName: " + name +
                ", resourceFilters: [" + filter + "]}]\n");
}
kube::Json exposure(const std::string& name, const std::string& action, const std::string& cel) {
  return object("kind: DeviceExposurePolicy\nmetadata: {name: " + name +
                ", generation: 1}\nspec:\n  action: " + action + "\n  selector: {cel: '" + cel + "'}\n" +
                (action == "expose" ? "  exposure: {allowMultipleAllocations: false}\n" : ""));
}

FleetPolicies policies(const std::vector<kube::Json>& objects) {
  FleetPolicies out(kDrivers, "ours");
  for (const kube::Json& one : objects) EXPECT_TRUE(out.put(one)) << kube::encode_json(one);
  EXPECT_EQ(out.problems(), std::vector<std::string>{});
  return out;
}

// Four VFs of ens1f0, with these verdicts in the node's report.
reports::NodeReport report(const std::string& standing, const std::vector<std::string>& of_policies) {
  reports::DeviceGroup group;
  group.type = "vf";
  group.pf = "0000:3b:00.0";
  group.pf_name = "ens1f0";
  group.vfs = {{0, 3}};
  group.pci_address = "0000:3b:01.0";
  group.vendor = "8086";
  group.product = "1889";
  group.driver = "iavf";
  group.link_type = "ethernet";
  group.disposition = standing;
  reports::NodeReport out;
  out.node = kNode.name;
  out.groups = {group};
  for (const std::string& name : of_policies) {
    reports::PolicyReport one;
    one.policy = {"SriovResourcePolicy", "ours", name};
    one.generation = 1;
    one.matched = one.offered = 4;
    out.policies.push_back(one);
  }
  return out;
}

JudgedNode judged(const FleetPolicies& of, const reports::NodeReport& by) {
  return judge_node(by, kNode, of.set(), kDrivers);
}

std::string told(const JudgedNode& before, const JudgedNode& after) {
  std::string out;
  for (const EntryChange& one : entry_changes(before, after))
    out += std::string(1, one.what) + one.name + (one.before.empty() ? "" : " " + one.before) +
           (one.after.empty() ? "" : " > " + one.after) + "\n";
  return out;
}

// Red when the shown effect of an edit differs from the decision of the node's daemon.
TEST(FleetPolicies, JudgesAnEditByTheRealDecisionOverReports) {
  const FleetPolicies now = policies({sriov("a", "{pfNames: [\"ens1f0#0-1\"]}")});
  const reports::NodeReport by = report("offered", {"a"});
  FleetPolicies edited = now;
  edited.put(sriov("a", "{pfNames: [\"ens1f0#1-2\"]}"));
  EXPECT_EQ(edited.changed_since(now), std::set<std::string>{"ours/a"});
  EXPECT_EQ(told(judged(now, by), judged(edited, by)),
            "-0000-3b-01-0 SriovResourcePolicy ours/a\n"
            "+0000-3b-01-2 > SriovResourcePolicy ours/a\n");
  EXPECT_EQ(told(judged(now, by), judged(now, by)), "");
}

// Red when an unreadable exclude is reported to withdraw devices that stay offered.
TEST(FleetPolicies, AnInvalidExcludeWithdrawsNothing) {
  const FleetPolicies now = policies({sriov("a", "{pfNames: [ens1f0]}"), exposure("p", "expose", "true")});
  const reports::NodeReport by = report("offered", {"a"});
  const JudgedNode before = judged(now, by);
  ASSERT_EQ(before.entries.size(), 4u);
  FleetPolicies edited = now;
  edited.put(exposure("x", "exclude", "true("));
  const JudgedNode after = judge_node(by, kNode, edited.set(), kDrivers, &before);
  EXPECT_EQ(told(before, after), "");
  ASSERT_EQ(after.problems.size(), 1u);
  EXPECT_NE(after.problems.begin()->find("DeviceExposurePolicy x spec.selector.cel: "), std::string::npos)
      << *after.problems.begin();
  FleetPolicies good = now;
  good.put(exposure("x", "exclude", "true"));
  EXPECT_EQ(judge_node(by, kNode, good.set(), kDrivers, &before).entries.size(), 0u);
}

// Red when a file that says what there is already counts as an edit, so that nodes are told of that it does not touch.
TEST(FleetPolicies, IgnoresMetadataChangesThatAreNotEdits) {
  const auto stored = [](const kube::Json& one) { return *kube::decode_json(kube::encode_json(one)); };
  const FleetPolicies now =
      policies({stored(sriov("a", "{pfNames: [ens1f0]}")), stored(exposure("x", "expose", "true"))});
  const std::string head =
      "---\napiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\nmetadata: {name: a}\n";
  const std::string spec =
      "spec:\n  configs:\n  - resourceName: a\n    resourceFilters:\n    - pfNames: [ens1f0]\n";
  const std::string other =
      "---\napiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: x, uid: u}\n"
      "spec: {action: expose, selector: {cel: 'true'}, exposure: {allowMultipleAllocations: false}}\n";
  const auto same = edited_by(other + head + spec, now);
  ASSERT_TRUE(same) << same.error().what;
  EXPECT_EQ(same->changed_since(now), std::set<std::string>{});
  const auto edited = edited_by(other + head + spec + "  priority: 1\n", now);
  ASSERT_TRUE(edited) << edited.error().what;
  EXPECT_EQ(edited->changed_since(now), std::set<std::string>{"ours/a"});
}

// Red when a file that kubectl apply takes cannot be asked about, because a Namespace is in it.
TEST(FleetPolicies, IgnoresObjectsOfOtherKinds) {
  const FleetPolicies now(kDrivers, "ours");
  const std::string space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: apps}\n";
  const std::string policy =
      "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: e}\nspec: {selector: {cel: "
      "'true'}}\n";
  const auto edited = edited_by(space + "---\n" + policy, now);
  ASSERT_TRUE(edited) << edited.error().what;
  EXPECT_EQ(edited->changed_since(now), std::set<std::string>{"e"});
  const auto none = edited_by(space, now);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "1: there is no policy in it: v1 Namespace apps is none");
}

// Red when an edit that cannot be understood is taken for none.
TEST(FleetPolicies, RefusesOtherFiles) {
  const auto wrong = [](const std::string& text) {
    const auto edited = edited_by(text, FleetPolicies(kDrivers, "ours"));
    return edited ? "" : edited.error().what;
  };
  const std::string kind =
      "kind: SriovResourcePolicy\nmetadata: {name: a, namespace: theirs}\nspec: {configs: []}\n";
  EXPECT_EQ(wrong(""), "1: there is no object in it");
  EXPECT_EQ(wrong(kind), "1: no object: apiVersion or kind is missing");
  EXPECT_EQ(wrong("apiVersion: v1\n" + kind),
            "1: v1 SriovResourcePolicy theirs/a is neither a policy nor a DeviceAttributes");
  EXPECT_EQ(
      wrong("apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\n" + kind),
      "1: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1 SriovResourcePolicy theirs/a is not of the namespace that is "
      "asked; --namespace names another one");
  EXPECT_NE(wrong("a: [\n"), "");
  const std::string
      version = "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\n",
      ours = "kind: SriovResourcePolicy\nmetadata: {name: a, namespace: ours}\nspec: {configs: []}\n",
      unnamed = "kind: SriovResourcePolicy\nmetadata: {name: a}\nspec: {configs: []}\n";
  EXPECT_EQ(
      wrong(version + ours + "---\n" + version + unnamed),
      "6: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1 SriovResourcePolicy a is already defined in line 1; "
      "remove one of the two");
}

TEST(FleetPolicies, AnEntryOfAnotherPolicyIsAnotherEntry) {
  const FleetPolicies now = policies({sriov("a", "{pfNames: [\"ens1f0#0\"]}")});
  FleetPolicies edited = now;
  edited.put(sriov("b", "{vendors: [\"8086\"], pfNames: [\"ens1f0#0\"]}", "  priority: 10\n"));
  const auto changes =
      entry_changes(judged(now, report("offered", {"a"})), judged(edited, report("offered", {"a"})));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].what, '~');
  EXPECT_EQ(changes[0].after, "SriovResourcePolicy ours/b");
  EXPECT_EQ(changes[0].attributes, std::vector<std::string>{"sriov.example/resourceName: \"a\" -> \"b\""});
}

TEST(FleetPolicies, AnExcludeWithdrawsItsDevices) {
  const FleetPolicies now = policies({sriov("a", "{vendors: [\"8086\"]}")});
  FleetPolicies edited = now;
  edited.put(exposure("hide", "exclude", "device.attributes[\"dra.example\"].vfIndex == 2"));
  EXPECT_EQ(told(judged(now, report("offered", {"a"})), judged(edited, report("offered", {"a"}))),
            "-0000-3b-01-2 SriovResourcePolicy ours/a\n");
}

// Red when something is concluded from a report that does not have it.
TEST(FleetPolicies, ReportsNodesThatCannotBeJudged) {
  const FleetPolicies now = policies({sriov("a", "{pfNames: [ens1f0]}")});
  const auto why = [&](const reports::NodeReport& by) {
    return cannot_be_judged(by, kNode, *now.set(), judged(now, by));
  };
  EXPECT_EQ(why(report("offered", {"a"})), "");
  EXPECT_EQ(why(report("offered", {})), "its report does not know SriovResourcePolicy ours/a yet");
  reports::NodeReport old = report("offered", {"a"});
  old.policies[0].generation = 7;
  EXPECT_EQ(why(old), "its report is of generation 7 of SriovResourcePolicy ours/a, which is 1 now");
  EXPECT_EQ(why(report("unmatched", {"a"})),
            "device 0000:3b:01.0 is unmatched, and by the facts in its report it would be offered");
  reports::NodeReport cut = report("offered", {"a"});
  cut.left_out.groups = 1;
  cut.left_out.devices = 9;
  EXPECT_EQ(why(cut), "its report has no room for 9 devices");
  EXPECT_EQ(why(report("held-back", {"a"})), "");  // a gate of the moment
}

TEST(FleetPolicies, NamesAFactThatNoReportHas) {
  const FleetPolicies of =
      policies({exposure("m", "expose", "device.attributes[\"dra.example\"].mac == \"x\""),
                exposure("fast", "expose", "device.attributes[\"dra.example\"].linkSpeed >= 100000"),
                exposure("vendor", "expose", "device.attributes[\"dra.example\"].vendor == \"macs\"")});
  EXPECT_EQ(unreported_facts(*of.set(), {"m", "vendor"}),
            std::vector<std::string>{"DeviceExposurePolicy m asks for mac"});
  EXPECT_EQ(unreported_facts(*of.set(), {"fast"}),
            std::vector<std::string>{"DeviceExposurePolicy fast asks for linkSpeed"});
  EXPECT_TRUE(unreported_facts(*of.set(), {"vendor"}).empty());
}

TEST(FleetPolicies, IgnoresPoliciesOfOtherNamespacesAndKinds) {
  FleetPolicies of(kDrivers, "ours");
  EXPECT_FALSE(of.put(object("kind: SriovResourcePolicy\nmetadata: {name: a, namespace: theirs}\n")));
  EXPECT_FALSE(of.put(object("kind: ConfigMap\nmetadata: {name: a}\n")));
  EXPECT_TRUE(of.empty());
  EXPECT_TRUE(of.put(object("kind: SriovResourcePolicy\nmetadata: {name: a}\nspec: {configs: []}\n")));
  EXPECT_EQ(describe(policies_selecting(*of.set(), kNode).at(0)), "SriovResourcePolicy ours/a");
}

TEST(PolicyTables, ShowsEachPolicyOnAllNodes) {
  const FleetPolicies of = policies(
      {sriov("a", "{pfNames: [\"ens1f0\"]}", "  priority: 5\n"), sriov("b", "{vendors: [\"8086\"]}"),
       sriov("elsewhere", "{vendors: [\"8086\"]}",
             "  nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: "
             "[b]}]}]}\n")});
  PolicyCounts counts(of);
  reports::NodeReport by = report("offered", {"a", "b"});
  by.policies[1].offered = by.policies[1].matched = 0;
  by.policies[1].problem = "spec.x: is wrong";
  counts.add(kNode, &by);
  counts.add({"worker-2", {}}, nullptr);
  counts.add_precedence(kNode, by, {"SriovResourcePolicy", "ours", "b"});
  const auto rows = counts.rows();
  EXPECT_EQ(
      policies_text(rows, {}),
      "POLICY          KIND                 ACTION  PRIORITY  NODES  REPORTED  MATCHED  OFFERED  HIDDEN  "
      "PROBLEMS\n"
      "ours/a          SriovResourcePolicy  expose  5         2      1         4        4        0       -\n"
      "ours/b          SriovResourcePolicy  expose  0         2      1         0        0        0       "
      "spec.x: is wrong (on 1 node)\n"
      "ours/elsewhere  SriovResourcePolicy  expose  0         0      0         0        0        0       -\n");
  const std::string one = policy_text(rows.at(1), {});
  EXPECT_NE(
      one.find("\nSriovResourcePolicy ours/a withholds the devices that it would offer on worker-1 (4)\n"),
      std::string::npos)
      << one;
  EXPECT_EQ(kube::encode_json(*(*json_of(rows).find("policies")->array())[1].find("behind")),
            R"([{"policy":"SriovResourcePolicy ours/a","devices":{"worker-1":4}}])");
}

// Red when a policy that some nodes have not applied does not say which, and why.
TEST(PolicyTables, NamesTheNodesThatHaveNotAppliedAPolicy) {
  FleetPolicies of(kDrivers, "ours");
  kube::Json edited = sriov("a", "{pfNames: [\"ens1f0\"]}");
  kube::Json meta = *edited.find("metadata");
  meta.set("generation", int64_t{2});
  edited.set("metadata", meta);
  of.put(edited);
  PolicyCounts counts(of, [](const std::string& node) -> std::optional<int64_t> {
    return node == "worker-10" ? std::optional<int64_t>(600) : std::nullopt;
  });
  reports::NodeReport old = report("offered", {"a"}), current = old, without = old;
  current.policies[0].generation = 2;
  without.policies.clear();
  counts.add({"worker-10", {}}, &old);
  counts.add({"worker-2", {}}, nullptr);
  counts.add({"worker-3", {}}, &without);
  counts.add({"worker-4", {}}, &current);
  const std::string text = policy_text(counts.rows().at(0), {});
  EXPECT_NE(text.find("not applied by 3 nodes:\n"
                      "  NODE       WHY\n"
                      "  worker-2   no report\n"
                      "  worker-3   does not report it\n"
                      "  worker-10  daemon silent for 10m, reports generation 1\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(kube::encode_json(
                (*json_of(counts.rows()).find("policies")->array())[0].find("notApplied")->array()->at(0)),
            R"({"node":"worker-2","why":"no report"})");
  for (int i = 0; i < 100; ++i) counts.add({"more-" + std::to_string(i), {}}, nullptr);
  EXPECT_NE(policy_text(counts.rows().at(0), {}).find("  and 83 more nodes (-o wide)\n"), std::string::npos);
}

TEST(PolicyTables, NamesChangedAndUnjudgedNodes) {
  FleetDiff diff;
  diff.changes["w"] = {{'+', "d", "0000-3b-01-0", "0000:3b:01.0", "", "P a", {}},
                       {'-', "d", "x", "x", "P a", "", {}},
                       {'~', "d", "y", "y", "P a", "P b", {"k: 1 -> 2"}}};
  diff.unjudged["v\x1b"] = "it writes no report";
  diff.same = 3;
  EXPECT_EQ(
      diff_text(diff, {}),
      "w\n"
      "  + 0000-3b-01-0 (0000:3b:01.0), P a\n"
      "  - x, P a\n"
      "  ~ y, P a -> P b; k: 1 -> 2\n"
      "v\\x1b cannot be judged: it writes no report\n"
      "1 node would change: 1 device more, 1 fewer (0 allocated now), 1 changed; 3 nodes would not; 1 node cannot be "
      "judged\n");
  EXPECT_EQ(kube::encode_json(*json_of(diff).find("unjudged")),
            "[{\"name\":\"v\\u001b\",\"why\":\"it writes no report\"}]");
}

// Red when 41 nodes with the same changes are 41 stanzas, or when a pod that would lose its device is not named.
TEST(PolicyTables, GroupsEqualChangesAndNamesAffectedClaims) {
  FleetDiff diff;
  for (int i = 1; i <= 12; ++i)
    diff.changes["worker-" + std::to_string(i)] = {{'-', "d", "x", "x", "P a", "", {}}};
  diff.changes["worker-2"][0].claims = {"apps/load (pod load-1)"};
  diff.changes["worker-10"][0].claims = {"apps/b", "apps/c (pod c)"};
  diff.changes["other"] = {{'+', "d", "y", "y", "", "P a", {}}};
  diff.unjudged = {{"u-10", "it writes no report"}, {"u-9", "it writes no report"}};
  EXPECT_EQ(
      diff_text(diff, {}),
      "other\n"
      "  + y, P a\n"
      "12 nodes: worker-1, worker-2, worker-3, worker-4, worker-5 and 7 more nodes\n"
      "  - x, P a\n"
      "2 nodes cannot be judged: it writes no report: u-9, u-10\n"
      "allocated now, and would no longer be offered:\n"
      "  NODE       DEVICE  CLAIM\n"
      "  worker-2   x       apps/load (pod load-1)\n"
      "  worker-10  x       apps/b, apps/c (pod c)\n"
      "13 nodes would change: 1 device more, 12 fewer (2 allocated now), 0 changed; 0 nodes would not; 2 nodes cannot "
      "be judged\n");
  EXPECT_NE(diff_text(diff, {.is_wide = true}).find("worker-11, worker-12\n"), std::string::npos);
  const kube::Json json = json_of(diff);
  EXPECT_EQ(json.find("claimsRead"), nullptr);
  EXPECT_NE(kube::encode_json(json).find(R"x("claims":["apps/load (pod load-1)"])x"), std::string::npos);
  diff.knows_claims = false;
  EXPECT_NE(diff_text(diff, {}).find("12 fewer (not known how many are allocated: claims cannot be read)"),
            std::string::npos);
  EXPECT_EQ(kube::encode_json(*json_of(diff).find("claimsRead")), "false");
}

// Red when a deletion is not an edit, or when a name that may mean two policies deletes one of them.
TEST(FleetPolicies, JudgesADeletionLikeAnEdit) {
  const FleetPolicies now = policies({sriov("a", "{pfNames: [ens1f0]}"), exposure("a", "exclude", "false"),
                                      exposure("b", "exclude", "true")});
  const reports::NodeReport by = report("hidden", {"a"});
  const auto left = without("DeviceExposurePolicy/b", now);
  ASSERT_TRUE(left) << left.error().what;
  EXPECT_EQ(left->changed_since(now), std::set<std::string>{"b"});
  EXPECT_NE(told(judged(now, by), judged(*left, by)).find("+0000-3b-01-0 > SriovResourcePolicy ours/a"),
            std::string::npos);
  for (const char* form :
       {"b", "dep/b", "deviceexposurepolicies/b", "deviceexposurepolicy.networking.dra.io/b"})
    EXPECT_EQ(without(form, now)->changed_since(now), std::set<std::string>{"b"}) << form;
  EXPECT_EQ(without("srp/a,dep/b", now)->changed_since(now), (std::set<std::string>{"b", "ours/a"}));
  EXPECT_EQ(without("ours/a,dep/a", now)->changed_since(now), (std::set<std::string>{"a", "ours/a"}))
      << "dep/a is left";
  const std::map<std::string, std::string> wrong = {
      {"a", "--diff-delete: \"a\": several kinds have one of that name; write srp/a or dep/a"},
      {"srp/b",
       "--diff-delete: \"srp/b\": there is no such SriovResourcePolicy; SriovResourcePolicies and DeviceAttributes are those "
       "of namespace ours"},
      {"c",
       "--diff-delete: \"c\": there is no such policy; SriovResourcePolicies and DeviceAttributes are those of namespace ours"},
      {"pod/a",
       "--diff-delete: \"pod/a\": \"pod\" must be one of srp, dep, devattr (kubectl api-resources has the long names)"},
      {"b,b",
       "--diff-delete: \"b\": there is no such policy; SriovResourcePolicies and DeviceAttributes are those of namespace ours"}};
  for (const auto& [form, what] : wrong) {
    const auto refused = without(form, now);
    ASSERT_FALSE(refused) << form;
    EXPECT_EQ(refused.error().what, what);
  }
}

// Red when a user who may not list nodes or policies does not see the nodes' reports.
TEST(PolicyTables, ShowsReportsWithoutNodesOrPolicies) {
  const FleetPolicies of = policies({sriov("a", "{pfNames: [ens1f0]}")});
  const reports::NodeReport by = report("offered", {"a"});
  PolicyCounts without_nodes(of);
  without_nodes.set_knows_nodes(false);
  without_nodes.add({"worker-1", {}}, &by);
  EXPECT_NE(policies_text(without_nodes.rows(), {}).find("expose  0         -      1         4        4"),
            std::string::npos)
      << policies_text(without_nodes.rows(), {});
  const FleetPolicies none(kDrivers, "ours");
  PolicyCounts unlisted(none);
  unlisted.set_unlisted("SriovResourcePolicy");
  unlisted.add({"worker-1", {}}, &by);
  reports::NodeReport newer = by;
  newer.policies[0].generation = 2;
  unlisted.add({"worker-2", {}}, &newer);
  ASSERT_EQ(unlisted.rows().size(), 1u);
  EXPECT_EQ(unlisted.rows()[0].generation, 2);
  EXPECT_EQ(unlisted.rows()[0].reported, 1u) << "of the newest generation";
}

// Red when an edit cannot be judged without permission to list nodes, though reports say which policies select theirs.
TEST(FleetPolicies, UsesReportsForNodeSelectionWithoutLabels) {
  const FleetPolicies now = policies({sriov("a", "{pfNames: [ens1f0]}", "  nodeSelector: {zone: a}\n"),
                                      sriov("b", "{pfNames: [ens1f0]}", "  nodeSelector: {zone: b}\n")});
  const FleetPolicies edited = policies({sriov("a", "{pfNames: ['ens1f0#0']}", "  nodeSelector: {zone: a}\n"),
                                         sriov("b", "{pfNames: [ens1f0]}", "  nodeSelector: {zone: b}\n")});
  const reports::NodeReport by = report("offered", {"a"});
  const kube::NodeView unlabelled{kNode.name, {}};
  const NodePolicies its = policies_without_labels(*now.set(), *edited.set(), by);
  EXPECT_EQ(its.why_not, "");
  const JudgedNode before = judge_node(by, unlabelled, its.before, kDrivers);
  EXPECT_EQ(before.entries.size(), 4u);
  EXPECT_EQ(cannot_be_judged(by, unlabelled, *its.before, before), "");
  EXPECT_EQ(judge_node(by, unlabelled, its.after, kDrivers).entries.size(), 1u);
}

// Red when unknown results are guessed: whether a new policy, or a new selector, selects the node.
TEST(FleetPolicies, ReportsANewLabelSelectorAsUnknownWithoutLabels) {
  const FleetPolicies now = policies({sriov("a", "{pfNames: [ens1f0]}", "  nodeSelector: {zone: a}\n")});
  const auto why_not = [&](const std::string& more, const std::string& name) {
    FleetPolicies edited = now;
    EXPECT_TRUE(edited.put(sriov(name, "{pfNames: [ens1f0]}", more)));
    return policies_without_labels(*now.set(), *edited.set(), report("offered", {"a"})).why_not;
  };
  EXPECT_EQ(why_not("  nodeSelector: {zone: b}\n", "a"),
            "its labels may not be read, and SriovResourcePolicy ours/a selects nodes by labels");
  EXPECT_EQ(why_not("  nodeSelector: {zone: b}\n", "new"),
            "its labels may not be read, and SriovResourcePolicy ours/new selects nodes by labels");
  EXPECT_EQ(why_not("", "new"), "") << "it means all nodes";
  EXPECT_EQ(
      why_not(
          "  nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: "
          "[worker-1]}]}]}\n",
          "new"),
      "")
      << "names are known";
}

// Red when an edit is judged over policies that may not be read.
TEST(FleetPolicies, UnreadablePoliciesLeaveTheirNodesUnjudged) {
  const FleetPolicies known = policies({exposure("e", "expose", "true")});
  const std::set<std::string> unlisted = {"SriovResourcePolicy", "DeviceAttributes"};
  EXPECT_EQ(
      missing_for_edit(unlisted, report("offered", {"a"}), *known.set(), *known.set(), kNode),
      "SriovResourcePolicy ours/a may not be read, which by its report (generation 1) takes 4 devices there");
  EXPECT_EQ(missing_for_edit(unlisted, report("unmatched", {}), *known.set(), *known.set(), kNode), "");
  FleetPolicies edited(kDrivers, "ours");
  EXPECT_TRUE(edited.put(
      object("kind: SriovResourcePolicy\nmetadata: {name: fresh, namespace: ours}\nspec: {configs: "
             "[{deviceAttributesSelector: {}}]}\n")));
  EXPECT_EQ(missing_for_edit(unlisted, report("unmatched", {}), *known.set(), *edited.set(), kNode),
            "SriovResourcePolicy ours/fresh selects DeviceAttributes, which may not be read");
}

}  // namespace
}  // namespace fleet_policies_test
}  // namespace sliced::kubectl
