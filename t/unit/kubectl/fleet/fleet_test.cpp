#include "kubectl/fleet/fleet.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "kubectl/fleet/fleet_tables.h"

namespace sliced::kubectl {
namespace fleet_test {
namespace {

constexpr const char* kDriver = "d.example";

FleetSlice slice(const std::string& name, const std::string& node, std::vector<FleetDevice> devices,
                 int64_t generation = 1, int64_t slice_count = 1) {
  return {.name = name,
          .driver = kDriver,
          .pool = node,
          .node = node,
          .generation = generation,
          .slice_count = slice_count,
          .devices = std::move(devices)};
}

FleetClaim claim(const std::string& id, const std::string& pool, const std::vector<std::string>& devices) {
  FleetClaim out{.id = id, .users = {"pod-of-" + id.substr(id.find('/') + 1)}, .devices = {}};
  for (const std::string& device : devices) out.devices.push_back({kDriver, pool, device});
  return out;
}

const NodeRow& row_of(const std::vector<NodeRow>& rows, const std::string& name) {
  for (const NodeRow& row : rows)
    if (row.name == name) return row;
  static const NodeRow kNone;
  ADD_FAILURE() << "no row of " << name;
  return kNone;
}

// Red when an allocated, tainted or withdrawn device counts as free, or a free one does not.
TEST(Fleet, CountsOfferedDevicesAndTheirClaims) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_slice(slice("s", "a", {{"1"}, {"2"}, {"3", true}, {"4", true}}));
  fleet.put_claim(claim("ns/c", "a", {"2", "4", "away"}));
  const NodeRow row = row_of(fleet.rows(), "a");
  EXPECT_EQ(row.usage, (Usage{.devices = 4, .allocated = 2, .free = 1, .tainted = 2, .gone = 1}));
  EXPECT_EQ(row.problems, std::vector<std::string>{"pool d.example/a: 1 allocated but no longer offered"});
  EXPECT_FALSE(row.is_bad);
  EXPECT_EQ(fleet.holders(kDriver, "a", "2"), std::vector<std::string>{"ns/c (pod pod-of-c)"});

  fleet.remove_claim("ns/c");
  EXPECT_EQ(row_of(fleet.rows(), "a").usage, (Usage{.devices = 4, .allocated = 0, .free = 2, .tainted = 2}));
  EXPECT_TRUE(fleet.holders(kDriver, "a", "2").empty());
}

FleetSlice slice_with_counters() {
  auto found = decode_fleet_slice(
      kube::decode_yaml(
          "kind: ResourceSlice\nmetadata: {name: s}\n"
          "spec: {driver: d.example, nodeName: a, pool: {name: a, generation: 1, resourceSliceCount: 1},\n"
          "  sharedCounters: [{name: pf, counters: {slots: {value: '2'}}}],\n"
          "  devices: [{name: whole, consumesCounters: [{counterSet: pf, counters: {slots: {value: '2'}}}]},\n"
          "    {name: vf0, consumesCounters: [{counterSet: pf, counters: {slots: {value: '1'}}}]},\n"
          "    {name: vf1, consumesCounters: [{counterSet: pf, counters: {slots: {value: '1'}}}],\n"
          "      taints: [{key: k, effect: None}]}, {name: other}]}\n")
          .documents.front());
  EXPECT_TRUE(found);
  return found ? *found : FleetSlice{};
}

// Red when the VFs of a PF that a pod has as a whole count as free, or the PF beside one of its VFs.
TEST(Fleet, CountsDevicesWithoutFreeCountersAsUsed) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_slice(slice_with_counters());
  EXPECT_EQ(row_of(fleet.rows(), "a").usage.free, 4u);
  fleet.put_claim(claim("ns/c", "a", {"whole"}));
  EXPECT_EQ(row_of(fleet.rows(), "a").usage, (Usage{.devices = 4, .allocated = 1, .free = 1}));
  fleet.put_claim(claim("ns/c", "a", {"vf0"}));
  EXPECT_EQ(row_of(fleet.rows(), "a").usage, (Usage{.devices = 4, .allocated = 1, .free = 2}));
}

TEST(Fleet, CountsDevicesOfAnotherCompatibilityGroupAsUsed) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  const auto slice = decode_fleet_slice(
      kube::decode_yaml(
          "kind: ResourceSlice\nmetadata: {name: s}\n"
          "spec: {driver: d.example, nodeName: a, pool: {name: a, generation: 1, resourceSliceCount: 1},\n"
          "  sharedCounters: [{name: pf, counters: {whole: {value: '1'}, parts: {value: '9'}}}],\n"
          "  devices: [\n"
          "    {name: whole, consumesCounters: [{counterSet: pf, counters: {whole: {value: '1'}}, compatibilityGroups: [whole]}]},\n"
          "    {name: vf0, consumesCounters: [{counterSet: pf, counters: {parts: {value: '1'}}, compatibilityGroups: [parts]}]},\n"
          "    {name: vf1, consumesCounters: [{counterSet: pf, counters: {parts: {value: '1'}}, compatibilityGroups: [parts]}]}]}\n")
          .documents.front());
  ASSERT_TRUE(slice);
  fleet.put_slice(*slice);
  EXPECT_EQ(row_of(fleet.rows(), "a").usage.free, 3u);
  fleet.put_claim(claim("ns/c", "a", {"whole"}));
  EXPECT_EQ(row_of(fleet.rows(), "a").usage, (Usage{.devices = 3, .allocated = 1, .free = 0}));
  fleet.put_claim(claim("ns/c", "a", {"vf0"}));
  EXPECT_EQ(row_of(fleet.rows(), "a").usage, (Usage{.devices = 3, .allocated = 1, .free = 1}));
}

TEST(Fleet, UsesTheNewestContentOfAClaim) {
  Fleet fleet({kDriver});
  fleet.put_slice(slice("s", "a", {{"1"}, {"2"}}));
  fleet.put_claim(claim("ns/c", "a", {"1", "1"}));  // two shares of one device
  EXPECT_EQ(fleet.holders(kDriver, "a", "1").size(), 1u);
  fleet.put_claim(claim("ns/c", "a", {"2"}));
  EXPECT_TRUE(fleet.holders(kDriver, "a", "1").empty());
  EXPECT_EQ(fleet.holders(kDriver, "a", "2").size(), 1u);
  EXPECT_EQ(row_of(fleet.rows(), "a").usage.allocated, 1u);
}

// The scheduler allocates nothing from such a pool: red when its devices are shown as free.
TEST(Fleet, CountsNothingFreeInAnIncompletePool) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_slice(slice("new-1", "a", {{"1"}, {"2"}}, 2, 2));
  fleet.put_slice(slice("old-1", "a", {{"1"}, {"2"}, {"3"}}, 1, 1));
  const NodeRow row = row_of(fleet.rows(), "a");
  EXPECT_TRUE(row.is_bad);
  EXPECT_EQ(row.usage, (Usage{.devices = 2, .allocated = 0, .free = 0, .tainted = 0}));
  EXPECT_EQ(row.problems, std::vector<std::string>{"pool d.example/a incomplete: 1 of 2 slices"});
  fleet.put_slice(slice("new-2", "a", {{"3"}}, 2, 2));
  EXPECT_FALSE(row_of(fleet.rows(), "a").is_bad);
  EXPECT_EQ(row_of(fleet.rows(), "a").usage.free, 3u);
}

TEST(Fleet, MarksNodesWithoutSlicesAndSlicesWithoutANode) {
  Fleet fleet({kDriver});
  fleet.put_node("empty");
  fleet.put_slice(slice("s", "gone", {{"1"}}));
  FleetSlice other = slice("o", "empty", {{"1"}});
  other.driver = "of.another";
  fleet.put_slice(other);
  const auto rows = fleet.rows();
  EXPECT_EQ(row_of(rows, "empty").problems, std::vector<std::string>{"no slices"});
  EXPECT_FALSE(row_of(rows, "empty").is_bad);
  EXPECT_EQ(row_of(rows, "gone").problems, std::vector<std::string>{"slices of a Node that does not exist"});
  EXPECT_TRUE(row_of(rows, "gone").is_bad);
  const FleetTotals all = totals_of(rows);
  EXPECT_EQ(all.nodes, 1u);
  EXPECT_EQ(all.without_slices, 1u);
  EXPECT_EQ(all.bad, 1u);
}

// Red when pods that hold devices of a node that has withdrawn everything look like none.
TEST(Fleet, ShowsDevicesHeldFromADeletedPool) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_claim(claim("ns/c", "a", {"1", "2"}));
  fleet.put_claim(claim("ns/d", "nowhere", {"3"}));
  const auto rows = fleet.rows();
  EXPECT_EQ(row_of(rows, "a").problems,
            (std::vector<std::string>{"pool d.example/a: 2 allocated but no longer offered", "no slices"}));
  EXPECT_EQ(health_of(row_of(rows, "a")), "warning");
  EXPECT_EQ(row_of(rows, "").usage, (Usage{.gone = 1}));
  EXPECT_EQ(totals_of(rows).nodes, 1u);
  EXPECT_EQ(totals_of(rows).without_slices, 1u);
}

TEST(Fleet, ListsNodesWithSlicesIfNodesAreUnknown) {
  Fleet fleet({kDriver});
  fleet.set_knows_nodes(false);
  fleet.put_slice(slice("s", "a", {{"1"}}));
  EXPECT_TRUE(row_of(fleet.rows(), "a").is_there);
  EXPECT_FALSE(row_of(fleet.rows(), "a").is_bad);
}

TEST(Fleet, ShowsTheReportBesideTheOffer) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_slice(slice("s", "a", {{"1"}}));
  reports::NodeReport report;
  report.node = "a";
  report.daemon_version = "1.2.3";
  report.held_back = 2;
  report.hidden = 3;
  report.waits_for = "configuration: node";
  for (int i = 0; i < 8; ++i) report.problems.push_back("problem " + std::to_string(i));
  report.left_out.problems = 4;
  fleet.put_report(fleet_report(report));
  const NodeRow row = row_of(fleet.rows(), "a");
  EXPECT_EQ(row.report->version, "1.2.3");
  ASSERT_EQ(row.problems.size(), 6u);
  EXPECT_EQ(row.problems.front(), "problem 0");
  EXPECT_EQ(row.problems.back(), "and 7 more problems");
  EXPECT_FALSE(row.is_bad);
}

TEST(Fleet, ListsClaimsByNode) {
  Fleet fleet({kDriver});
  fleet.put_claim(claim("ns/c", "a", {"1"}));
  fleet.put_claim(claim("ns/d", "a/0000-03-00-0", {"2"}));
  fleet.put_claim(claim("ns/e", "b", {"1"}));
  const auto held = fleet.held_entries();
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held.at("a").at({kDriver, "1"}), std::vector<std::string>{"ns/c (pod pod-of-c)"});
  EXPECT_EQ(held.at("a").at({kDriver, "2"}), std::vector<std::string>{"ns/d (pod pod-of-d)"});
}

reports::NodeReport reporting(const std::string& node, std::vector<reports::PolicyReport> policies) {
  reports::NodeReport out{.node = node};
  out.policies = std::move(policies);
  return out;
}
reports::PolicyReport of_exposure(const std::string& name, int64_t generation) {
  return {.policy = {"DeviceExposurePolicy", "", name}, .generation = generation};
}
FleetPolicy exposure(const std::string& yaml) {
  kube::Json object = kube::decode_yaml("kind: DeviceExposurePolicy\n" + yaml).documents.at(0);
  return decode_fleet_policy(object).value_or(FleetPolicy{});
}

// Red when a node without a daemon is "ok", when a node with a current Lease is not, or when a node without a
// Lease counts as silent.
TEST(Fleet, ADaemonThatDoesNotRenewItsLeaseIsSilent) {
  Fleet fleet({kDriver});
  for (const char* node : {"dead", "alive", "old"}) {
    fleet.put_node(node);
    fleet.put_slice(slice(std::string("s-") + node, node, {{"1"}}));
  }
  fleet.put_lease({.node = "dead", .renewed = 10'000});
  fleet.put_lease({.node = "alive", .renewed = 10'500});
  EXPECT_FALSE(row_of(fleet.rows(), "dead").silent_for) << "the clock is not known";
  fleet.set_now(10'000 + 100);
  EXPECT_FALSE(row_of(fleet.rows(), "dead").silent_for) << "one renewal may fail";
  fleet.set_now(10'000 + 101);
  EXPECT_EQ(row_of(fleet.rows(), "dead").silent_for, 101) << "within two minutes";
  fleet.set_now(10'000 + 540);
  const auto rows = fleet.rows();
  EXPECT_EQ(row_of(rows, "dead").problems, std::vector<std::string>{"daemon silent for 9m"});
  EXPECT_EQ(health_of(row_of(rows, "dead")), "bad");
  EXPECT_EQ(health_of(row_of(rows, "alive")), "ok");
  EXPECT_EQ(health_of(row_of(rows, "old")), "ok");
  EXPECT_EQ(totals_of(rows).silent, 1u);
  fleet.put_lease({.node = "dead", .renewed = 10'540});
  EXPECT_EQ(health_of(row_of(fleet.rows(), "dead")), "ok");
}

TEST(Fleet, TruncatesAStateAtAWord) {
  NodeRow row;
  row.problems = {
      "pool worker-1/0000-3b-00-0-of-some-length: 12 allocated but no longer offered by any policy of the cluster"};
  EXPECT_EQ(state_of(row),
            "pool worker-1/0000-3b-00-0-of-some-length: 12 allocated but no longer offered by any ...");
  row.problems = {std::string(200, 'x')};
  EXPECT_EQ(state_of(row).size(), kStateBytes) << "there is no word to end with";
}

// Red when a node on which pods with claims hang is "ok", or one of an older daemon, which does not say, is not.
TEST(Fleet, ReportsADisabledKubeletPlugin) {
  Fleet fleet({kDriver});
  for (const char* state : {"on", "off", "waiting", ""}) {
    const std::string node = std::string("n-") + state;
    fleet.put_node(node);
    fleet.put_slice(slice("s-" + node, node, {{"1"}}));
    reports::NodeReport report;
    report.node = node;
    report.kubelet_plugin = state;
    fleet.put_report(fleet_report(report));
  }
  const auto rows = fleet.rows();
  EXPECT_EQ(state_of(row_of(rows, "n-on")), "ok");
  EXPECT_EQ(state_of(row_of(rows, "n-")), "ok");
  EXPECT_EQ(state_of(row_of(rows, "n-off")), "kubelet plugin off: pods with claims do not start");
  EXPECT_EQ(state_of(row_of(rows, "n-waiting")),
            "kubelet plugin waits for another program: pods with claims do not start");
  EXPECT_EQ(health_of(row_of(rows, "n-off")), "warning");
  EXPECT_EQ(totals_of(rows).without_plugin, 2u);
}

// Red when a node that has not applied an edit, a new policy or a deletion is shown as current, or when
// policies of other nodes count.
TEST(Fleet, ReportsAPolicyThatANodeHasNotApplied) {
  Fleet fleet({kDriver});
  fleet.put_node(kube::NodeView{"a", {{"zone", "x"}}});
  fleet.put_slice(slice("s", "a", {{"1"}}));
  fleet.put_report(fleet_report(
      reporting("a", {of_exposure("edited", 1), of_exposure("gone", 3), of_exposure("same", 5)})));
  fleet.set_knows_policies("DeviceExposurePolicy", "");
  fleet.put_policy(exposure("metadata: {name: edited, generation: 2}\nspec: {}\n"));
  fleet.put_policy(exposure("metadata: {name: new, generation: 1}\nspec: {}\n"));
  fleet.put_policy(exposure("metadata: {name: same, generation: 5}\nspec: {}\n"));
  fleet.put_policy(
      exposure("metadata: {name: other, generation: 1}\nspec: {action: expose, selector: {cel: 'true'}, "
               "exposure: {allowMultipleAllocations: false}, nodeSelector: {matchLabels: {zone: other}}}\n"));
  const NodeRow row = row_of(fleet.rows(), "a");
  EXPECT_EQ(row.behind, (std::vector<PolicyLag>{{"DeviceExposurePolicy", "edited", 1, 2},
                                                {"DeviceExposurePolicy", "new", 0, 1},
                                                {"DeviceExposurePolicy", "gone", 3, 0}}));
  EXPECT_EQ(row.problems,
            std::vector<std::string>{"has not applied edited generation 2 and 2 more policies"});
  EXPECT_EQ(describe({{"DeviceExposurePolicy", "gone", 3, 0}}), "has not reported the deletion of gone");
  EXPECT_EQ(health_of(row), "warning");
}

// Red when each edit makes the whole fleet look behind until the reports arrive, or when a report without
// room for all policies counts as one of a daemon that does not know the others.
TEST(Fleet, DoesNotReportARecentEditAsLag) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  auto report = reporting("a", {of_exposure("p", 1)});
  report.left_out.policies = 1;
  fleet.put_report(fleet_report(report));
  fleet.set_knows_policies("DeviceExposurePolicy", "");
  fleet.put_policy({.kind = "DeviceExposurePolicy", .name = "p", .generation = 2, .edited = 1'000});
  fleet.put_policy({.kind = "DeviceExposurePolicy", .name = "q", .generation = 1});
  fleet.set_now(1'000 + kEditGrace - 1);
  EXPECT_TRUE(row_of(fleet.rows(), "a").behind.empty());
  fleet.set_now(1'000 + kEditGrace);
  EXPECT_EQ(row_of(fleet.rows(), "a").behind.size(), 1u);
  fleet.remove_policy("DeviceExposurePolicy", "p");
  EXPECT_TRUE(row_of(fleet.rows(), "a").behind.empty()) << "it was deleted a moment ago";
  fleet.set_now(1'000 + 2 * kEditGrace);
  EXPECT_EQ(row_of(fleet.rows(), "a").behind.size(), 1u);
}

// Red when a daemon that reads another namespace is shown as outdated.
TEST(Fleet, IgnoresPoliciesOfAnotherNamespace) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  reports::PolicyReport elsewhere{.policy = {"SriovResourcePolicy", "other", "p"}, .generation = 1};
  fleet.put_report(fleet_report(reporting("a", {elsewhere, of_exposure("unlisted", 1)})));
  fleet.set_knows_policies("SriovResourcePolicy", "ns");
  fleet.put_policy({.kind = "SriovResourcePolicy", .name = "ns/p", .generation = 1});
  EXPECT_TRUE(row_of(fleet.rows(), "a").behind.empty());
}

TEST(Fleet, SortsNodesNaturally) {
  Fleet fleet({kDriver});
  for (const char* node : {"worker-10", "worker-2", "worker-1"}) fleet.put_node(node);
  std::vector<std::string> names;
  for (const NodeRow& row : fleet.rows()) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"worker-1", "worker-2", "worker-10"}));
}

TEST(Fleet, ShortensAStateAndCountsTheRest) {
  NodeRow row;
  EXPECT_EQ(state_of(row), "ok");
  row.report = FleetReport{.waits_for = "configuration: node"};
  EXPECT_EQ(state_of(row), "waits for configuration: node") << "which is not a problem";
  EXPECT_NE(health_of(row), "warning");
  row.problems = {"one", "two", std::string(90, 'x'), "four"};
  EXPECT_EQ(state_of(row), "one; two (+2 more)");
  row.problems = {std::string(500, 'x')};
  EXPECT_EQ(state_of(row).size(), kStateBytes) << "and that it was cut";
}

// Red when a user who may not list slices or claims gets wrong numbers.
TEST(Fleet, ReportsForbiddenDataAsUnknown) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.set_knows_slices(false);
  EXPECT_EQ(health_of(row_of(fleet.rows(), "a")), "ok");
  EXPECT_NE(nodes_text(fleet.rows(), {}).find("\na     -      -        -          -     -        -"),
            std::string::npos)
      << nodes_text(fleet.rows(), {});
  fleet.set_knows_slices(true);
  fleet.set_knows_claims(false);
  fleet.put_slice(slice("s", "a", {{"1"}}));
  EXPECT_NE(nodes_text(fleet.rows(), {}).find("\na     1      1        -          -     0        -"),
            std::string::npos)
      << nodes_text(fleet.rows(), {});
  EXPECT_EQ(kube::encode_json(*json_of(fleet.rows()).find({"totals", "usage"})),
            R"({"devices":1,"tainted":0})");
  const std::string top = top_text(fleet.rows(), {});
  EXPECT_NE(top.find("\na     1        -          -     -     ok"), std::string::npos) << top;
  EXPECT_EQ(top.find("%"), std::string::npos) << top;
}

Result<FleetSlice> decoded(const std::string& yaml) {
  return decode_fleet_slice(kube::decode_yaml(yaml).documents.at(0));
}

TEST(Fleet, DecodesASliceAsFarAsNeeded) {
  const auto slice = decoded(
      "metadata: {name: s}\n"
      "spec: {driver: d, nodeName: worker, pool: {name: p, generation: 3, resourceSliceCount: 2},\n"
      "  devices: [{name: one, attributes: {a: nonsense}}, {name: two, taints: [{key: k, effect: NoSchedule}]}]}\n");
  ASSERT_TRUE(slice.ok()) << slice.error().what;
  EXPECT_EQ(*slice, (FleetSlice{.name = "s",
                                .driver = "d",
                                .pool = "p",
                                .node = "worker",
                                .generation = 3,
                                .slice_count = 2,
                                .devices = {{"one"}, {"two", true}}}));
}

TEST(Fleet, NamesASliceThatCannotBeCounted) {
  EXPECT_EQ(decoded("spec: {driver: d, pool: {name: p}}\n").error().what, "a ResourceSlice without a name");
  EXPECT_EQ(decoded("metadata: {name: s}\nspec: {pool: {name: p}}\n").error().what,
            "ResourceSlice s: spec.driver is missing");
  EXPECT_EQ(decoded("metadata: {name: s}\nspec: {driver: d}\n").error().what,
            "ResourceSlice s: spec.pool.name is missing");
  EXPECT_EQ(decoded("metadata: {name: s}\nspec: {driver: d, pool: {name: p}, devices: [{basic: {}}]}\n")
                .error()
                .what,
            "ResourceSlice s: spec.devices: an entry has no name");
}

}  // namespace
}  // namespace fleet_test
}  // namespace sliced::kubectl
