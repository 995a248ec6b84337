#include "kubectl/fleet/fleet_reading.h"

#include <gtest/gtest.h>

#include <set>

#include "kube/objects/kinds.h"
#include "t/unit/kubectl/late_objects.h"

namespace sliced::kubectl {
namespace fleet_reading_test {
namespace {

std::string slice(const std::string& node) {
  return R"({"metadata":{"name":"s-)" + node + R"("},"spec":{"driver":"d.example","nodeName":")" + node +
         R"(","pool":{"name":")" + node +
         R"(","generation":1,"resourceSliceCount":1},"devices":[{"name":"x"}]}})";
}

struct FleetReadingTest : testing::Test, LateObjects {
  FleetReadingTest() {
    cluster.install(kube::kResourceClaims);
    cluster.install(kube::kNodeDeviceReports);
    for (const std::string node : {"a", "b"}) {
      cluster.put_text(kube::kNodes, R"({"metadata":{"name":")" + node + R"("}})");
      cluster.put_text(kube::kResourceSlices, slice(node));
      cluster.put_text(kube::kNodeDeviceReports, R"({"metadata":{"name":")" + node + R"("},"status":{}})");
      cluster.put_text(
          kube::kResourceClaims,
          R"({"metadata":{"namespace":"ns","name":")" + node +
              R"("},"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.example","pool":")" +
              node + R"(","device":"x"}]}}}})");
    }
  }
  Result<Unit> read() { return read_fleet(objects, "ns", fleet, unread); }

  void forget_all() {
    fleet.clear_nodes(), fleet.clear_slices(), fleet.clear_claims(), fleet.clear_reports(),
        fleet.clear_leases();
    unread.clear();
  }

  Fleet fleet{{"d.example"}};
  std::vector<std::string> unread;
};

// Red when a list with an expired continue token ends the command, or when objects that were deleted meanwhile are shown.
TEST_F(FleetReadingTest, RestartsAnExpiredListAndDropsItsObjects) {
  pages.late = {{"nodes", 1}, {"resourceslices", 2}, {"nodedevicereports", 1}, {"resourceclaims", 1}};
  const std::map<std::string, std::pair<kube::Resource, std::string>> gone = {
      {"nodes", {kube::kNodes, "b"}},
      {"resourceslices", {kube::kResourceSlices, "s-b"}},
      {"nodedevicereports", {kube::kNodeDeviceReports, "b"}},
      {"resourceclaims", {kube::kResourceClaims, "b"}}};
  pages.meanwhile = [&](const std::string& plural) {
    const auto& [kind, name] = gone.at(plural);
    cluster.remove(kind, name, kind.namespaced ? "ns" : "");
  };
  ASSERT_TRUE(read());
  EXPECT_EQ(unread, std::vector<std::string>{});
  const auto rows = fleet.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "a");
  EXPECT_EQ(rows[0].usage, (Usage{.devices = 1, .allocated = 1}));
  EXPECT_TRUE(rows[0].report);
  EXPECT_EQ(cluster.count("list", "resourceslices"), 3u);
}

TEST_F(FleetReadingTest, ReportsAnUnreadableObjectOnce) {
  cluster.put_text(kube::kResourceSlices, R"({"metadata":{"name":"broken"},"spec":{"driver":"d.example"}})");
  pages.late["resourceslices"] = 2;
  ASSERT_TRUE(read());
  EXPECT_EQ(unread, std::vector<std::string>{"ResourceSlice broken: spec.pool.name is missing"});
}

// Red when a forbidden list ends the command, or when the missing data is not named.
TEST_F(FleetReadingTest, NamesForbiddenListsAndReadsTheOthers) {
  cluster.install(kube::kLeases);
  cluster.install(kube::kDeviceExposurePolicies);
  const std::map<std::string, std::string> lacks = {
      {"nodes", "nodes without slices are unknown: list nodes"},
      {"resourceslices", "DEVICES, ALLOCATED and FREE are unknown: list resourceslices"},
      {"nodedevicereports", "HIDDEN, VERSION, CHANGED and problems are unknown: list nodedevicereports"},
      {"resourceclaims", "ALLOCATED and FREE are unknown: list resourceclaims"},
      {"deviceexposurepolicies",
       "whether nodes have applied the latest policies is unknown: list deviceexposurepolicies"},
      {"leases", "whether daemons are alive is unknown: list leases"}};
  for (const auto& [plural, lack] : lacks) {
    cluster.deny(plural);
    forget_all();
    ASSERT_TRUE(read()) << plural;
    ASSERT_EQ(unread.size(), 1u) << plural;
    EXPECT_EQ(unread[0].find(lack), 0u) << unread[0];
    EXPECT_EQ(fleet.rows().size(), 2u) << plural;
    cluster.allow(plural);
  }
  for (const char* plural : {"resourceclaims", "leases", "deviceexposurepolicies", "nodes", "resourceslices"})
    cluster.deny(plural);
  forget_all();
  ASSERT_TRUE(read()) << "reports are left";
  EXPECT_EQ(unread.size(), 5u);
  EXPECT_EQ(fleet.rows().size(), 2u);
  cluster.deny("nodedevicereports");
  const auto refused = read();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
}

// Red when a daemon's Lease is not read in the namespace of the policies, or a policy that a node has not applied goes unseen.
TEST_F(FleetReadingTest, ReadsLeasesAndPoliciesOfEachNode) {
  cluster.install(kube::kLeases);
  cluster.install(kube::kDeviceExposurePolicies);
  cluster.clock = [] { return int64_t{1'795'220'000}; };
  cluster.put_text(
      kube::kLeases,
      R"({"metadata":{"name":"sliced-node-a","namespace":"ns"},"spec":{"renewTime":"2026-11-21T00:10:10Z"}})");
  cluster.put_text(
      kube::kLeases,
      R"({"metadata":{"name":"sliced-node-b","namespace":"other"},"spec":{"renewTime":"2026-11-21T00:10:10Z"}})");
  cluster.put_text(kube::kDeviceExposurePolicies, R"({"metadata":{"name":"p","generation":1},"spec":{}})");
  ASSERT_TRUE(read());
  const auto rows = fleet.rows();
  EXPECT_EQ(rows.at(0).silent_for, 190);
  EXPECT_EQ(rows.at(0).behind, (std::vector<PolicyLag>{{"DeviceExposurePolicy", "p", 0, 1}}));
  EXPECT_FALSE(rows.at(1).silent_for);
}

TEST_F(FleetReadingTest, NamesPoliciesThatMayNotBeListed) {
  cluster.install(kube::kDeviceExposurePolicies);
  cluster.deny("deviceexposurepolicies");
  FleetPolicies policies({"d.example", "e.example"}, "ns");
  EXPECT_FALSE(read_policies(objects, "ns", policies, unread)) << "for who needs them all";
  std::set<std::string> unlisted;
  EXPECT_TRUE(read_policies(objects, "ns", policies, unread, &unlisted));
  EXPECT_EQ(unlisted, std::set<std::string>{"DeviceExposurePolicy"});
  EXPECT_EQ(unread.size(), 1u);
}

TEST_F(FleetReadingTest, BoundsRestartsOfExpiredLists) {
  pages.late["resourceslices"] = 100;
  const auto told = read();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().what, "list resourceslices: too old");
  EXPECT_EQ(cluster.count("list", "resourceslices"), 3u);
}

TEST_F(FleetReadingTest, ReadsOneNode) {
  pages.late["resourceslices"] = 1;
  const auto slices = read_slices_of(objects, "a", unread);
  ASSERT_TRUE(slices);
  EXPECT_EQ(slices->size(), 1u);
}

using Visited = std::vector<std::string>;

// An object that is deleted while the continue token of its kind expires must not be shown, for any kind.
struct FleetForgottenTest : FleetReadingTest {
  Visited visited(const NodeViews& nodes) {
    Visited out;
    EXPECT_TRUE(visit_nodes(
        objects, &nodes, unread, [&](const auto& node, const auto* report, std::string_view why_none) {
          out.push_back(node.name + (report != nullptr ? " reports" : ": " + std::string(why_none)));
        }));
    return out;
  }
  void forget(const kube::Resource& kind, const std::string& gone) {
    pages.late[kind.plural] = 1;
    pages.meanwhile = [this, kind, gone](const std::string&) {
      EXPECT_TRUE(cluster.remove(kind, gone, kind.namespaced ? "ns" : ""));
    };
  }
};

TEST_F(FleetForgottenTest, ForgetsDeletedPolicies) {
  const struct {
    const kube::Resource& kind;
    std::string name, spec;
  } rows[] = {{kube::kSriovResourcePolicies, "s-", R"({"configs":[]})"},
              {kube::kDeviceAttributes, "t-", R"({"attributes":{"a":{"string":"b"}}})"},
              {kube::kDeviceExposurePolicies, "x-", R"({"action":"exclude","selector":{"cel":"true"}})"}};
  std::set<std::string> there;
  const auto id = [](const auto& row, const std::string& of) {
    return (row.kind.namespaced ? "ns/" : "") + row.name + of;
  };
  for (const auto& row : rows) {
    cluster.install(row.kind);
    for (const std::string of : {"a", "b"}) {
      there.insert(id(row, of));
      cluster.put_text(row.kind, std::string(R"({"metadata":{)") +
                                     (row.kind.namespaced ? R"("namespace":"ns",)" : "") + R"("name":")" +
                                     row.name + of + R"("},"spec":)" + row.spec + "}");
    }
  }
  for (const auto& row : rows) {
    forget(row.kind, row.name + "b");
    there.erase(id(row, "b"));
    const FleetPolicies none({"d.example", "e.example"}, "ns");
    FleetPolicies policies = none;
    ASSERT_TRUE(read_policies(objects, "ns", policies, unread));
    EXPECT_EQ(policies.changed_since(none), there) << row.kind.plural;
  }
}

TEST_F(FleetForgottenTest, ForgetsDeletedNodes) {
  forget(kube::kNodes, "b");
  NodeViews nodes;
  ASSERT_TRUE(read_node_views(objects, nodes, unread));
  EXPECT_EQ(nodes.size(), 1u);
  EXPECT_TRUE(nodes.contains("a"));
}

// Red when a node is shown twice.
TEST_F(FleetForgottenTest, VisitsANodeOnce) {
  cluster.put_text(kube::kNodes, R"({"metadata":{"name":"c"}})");
  NodeViews nodes;
  ASSERT_TRUE(read_node_views(objects, nodes, unread));
  forget(kube::kNodeDeviceReports, "b");
  EXPECT_EQ(visited(nodes), (Visited{"a reports", "b reports", "c: it writes no report"}));
}

// Red when a node with an unreadable report is shown as one without a report.
TEST_F(FleetForgottenTest, ReportsAnUnreadableReport) {
  NodeViews nodes;
  ASSERT_TRUE(read_node_views(objects, nodes, unread));
  std::string long_one = R"({"metadata":{"name":"b"},"status":[0)";
  for (size_t i = 0; i < kube::kSliceLimits.nodes_max; ++i) long_one += ",0";
  cluster.put_text(kube::kNodeDeviceReports, long_one + "]}");
  EXPECT_EQ(visited(nodes), (Visited{"a reports", "b: it writes no report that can be read"}));
  EXPECT_EQ(unread.size(), 1u);
}

}  // namespace
}  // namespace fleet_reading_test
}  // namespace sliced::kubectl
