#include "cli/fleet/fleet.h"

#include <gtest/gtest.h>

#include "cli/fleet/fleet_tables.h"
#include "kube/yaml.h"

namespace sliced::cli {
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

// Red when what is had, tainted or gone counts as free, or the other way round.
TEST(Fleet, CountsWhatEachNodeOffersAndWhoHasIt) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_slice(slice("s", "a", {{"1"}, {"2"}, {"3", true}, {"4", true}}));
  fleet.put_claim(claim("ns/c", "a", {"2", "4", "away"}));
  const NodeRow row = row_of(fleet.rows(), "a");
  EXPECT_EQ(row.usage, (Usage{.devices = 4, .allocated = 2, .free = 1, .tainted = 2, .gone = 1}));
  EXPECT_EQ(row.problems, std::vector<std::string>{"pool d.example/a: 1 allocated and not offered any more"});
  EXPECT_FALSE(row.is_bad);
  EXPECT_EQ(fleet.holders(kDriver, "a", "2"), std::vector<std::string>{"ns/c (pod pod-of-c)"});

  fleet.remove_claim("ns/c");
  EXPECT_EQ(row_of(fleet.rows(), "a").usage, (Usage{.devices = 4, .allocated = 0, .free = 2, .tainted = 2}));
  EXPECT_TRUE(fleet.holders(kDriver, "a", "2").empty());
}

TEST(Fleet, AClaimThatSaysSomethingElseHasWhatItSaysNow) {
  Fleet fleet({kDriver});
  fleet.put_slice(slice("s", "a", {{"1"}, {"2"}}));
  fleet.put_claim(claim("ns/c", "a", {"1", "1"}));  // two shares of one device
  EXPECT_EQ(fleet.holders(kDriver, "a", "1").size(), 1u);
  fleet.put_claim(claim("ns/c", "a", {"2"}));
  EXPECT_TRUE(fleet.holders(kDriver, "a", "1").empty());
  EXPECT_EQ(fleet.holders(kDriver, "a", "2").size(), 1u);
  EXPECT_EQ(row_of(fleet.rows(), "a").usage.allocated, 1u);
}

// The scheduler gives nothing of such a pool away: red when it looks as if there were something to be had.
TEST(Fleet, APoolOfWhichSlicesAreMissingIsMarkedAndNothingOfItIsFree) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_slice(slice("new-1", "a", {{"1"}, {"2"}}, 2, 2));
  fleet.put_slice(slice("old-1", "a", {{"1"}, {"2"}, {"3"}}, 1, 1));
  const NodeRow row = row_of(fleet.rows(), "a");
  EXPECT_TRUE(row.is_bad);
  EXPECT_EQ(row.usage, (Usage{.devices = 2, .allocated = 0, .free = 0, .tainted = 0}));
  EXPECT_EQ(row.problems,
            std::vector<std::string>{"pool d.example/a: 1 of 2 slices of generation 2: nothing is "
                                     "allocated from it"});
  fleet.put_slice(slice("new-2", "a", {{"3"}}, 2, 2));
  EXPECT_FALSE(row_of(fleet.rows(), "a").is_bad);
  EXPECT_EQ(row_of(fleet.rows(), "a").usage.free, 3u);
}

TEST(Fleet, ANodeWithoutSlicesAndSlicesWithoutANodeAreMarked) {
  Fleet fleet({kDriver});
  fleet.put_node("empty");
  fleet.put_slice(slice("s", "gone", {{"1"}}));
  FleetSlice other = slice("o", "empty", {{"1"}});
  other.driver = "of.another";
  fleet.put_slice(other);
  const auto rows = fleet.rows();
  EXPECT_EQ(row_of(rows, "empty").problems, std::vector<std::string>{"no slices"});
  EXPECT_FALSE(row_of(rows, "empty").is_bad);
  EXPECT_EQ(row_of(rows, "gone").problems,
            std::vector<std::string>{"there is no such node, and slices for it"});
  EXPECT_TRUE(row_of(rows, "gone").is_bad);
  const FleetTotals all = totals_of(rows);
  EXPECT_EQ(all.nodes, 1u);
  EXPECT_EQ(all.without_slices, 1u);
  EXPECT_EQ(all.bad, 1u);
}

// Red when pods that hold devices of a node that has withdrawn everything look like none.
TEST(Fleet, WhatIsHeldOfAPoolThatIsGoneIsToldOnItsNode) {
  Fleet fleet({kDriver});
  fleet.put_node("a");
  fleet.put_claim(claim("ns/c", "a", {"1", "2"}));
  fleet.put_claim(claim("ns/d", "nowhere", {"3"}));
  const auto rows = fleet.rows();
  EXPECT_EQ(
      row_of(rows, "a").problems,
      (std::vector<std::string>{"pool d.example/a: 2 allocated and not offered any more", "no slices"}));
  EXPECT_EQ(health_of(row_of(rows, "a")), "warning");
  EXPECT_EQ(row_of(rows, "").usage, (Usage{.gone = 1}));
  EXPECT_EQ(totals_of(rows).nodes, 1u);
  EXPECT_EQ(totals_of(rows).without_slices, 1u);
}

TEST(Fleet, WhereNodesAreNotKnownThoseWithSlicesAreThere) {
  Fleet fleet({kDriver});
  fleet.set_knows_nodes(false);
  fleet.put_slice(slice("s", "a", {{"1"}}));
  EXPECT_TRUE(row_of(fleet.rows(), "a").is_there);
  EXPECT_FALSE(row_of(fleet.rows(), "a").is_bad);
}

TEST(Fleet, WhatANodeReportsStandsBesideWhatItOffers) {
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
  ASSERT_EQ(row.problems.size(), 7u);
  EXPECT_EQ(row.problems.front(), "waits for configuration: node");
  EXPECT_EQ(row.problems.back(), "and 7 more problems");
  EXPECT_FALSE(row.is_bad);
}

Result<FleetSlice> decoded(const std::string& yaml) {
  return decode_fleet_slice(kube::decode_yaml(yaml).documents.at(0));
}

TEST(Fleet, ASliceIsReadAsFarAsItIsCounted) {
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

TEST(Fleet, ASliceThatCannotBeCountedIsNamed) {
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
}  // namespace sliced::cli
