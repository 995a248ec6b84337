#include "kubectl/fleet/fleet_tables.h"

#include <gtest/gtest.h>

#include "daemon/status/history.h"
#include "reactor/base/table.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace fleet_tables_test {
namespace {

NodeRow node(const std::string& name, size_t devices, size_t allocated) {
  NodeRow out{.name = name};
  out.usage = {.devices = devices, .allocated = allocated, .free = devices - allocated};
  if (devices > 0)
    out.pools = {
        {.driver = "d", .name = name, .generation = 4, .slices = 1, .slices_wanted = 1, .usage = out.usage}};
  return out;
}

std::vector<NodeRow> three() {
  std::vector<NodeRow> out = {node("a", 8, 2), node("b", 4, 4), node("c", 0, 0)};
  out[0].report =
      FleetReport{.node = "a", .version = "0.1.0", .changed = "2026-11-21T00:17:41.000Z", .hidden = 3};
  out[1].is_bad = true;
  out[1].problems = {"one", "two"};
  out[2].problems = {"no slices"};
  return out;
}

TEST(FleetTables, PrintsARowPerNodeAndTotals) {
  const int64_t now = status::ms_of_utc("2026-11-21T00:20:41.000Z");
  EXPECT_EQ(nodes_text(three(), {.now_ms = now}),
            "NODE  POOLS  DEVICES  ALLOCATED  FREE  TAINTED  HIDDEN  VERSION  CHANGED  STATE\n"
            "a     1      8        2          6     0        3       0.1.0    3m       ok\n"
            "b     1      4        4          0     0        -       -        -        one; two\n"
            "c     0      0        0          0     0        -       -        -        no slices\n"
            "3 nodes, 1 without slices, 1 failing: 12 devices, 6 allocated, 6 free, 0 tainted\n");
}

TEST(FleetTables, WidePrintsARowPerPool) {
  auto rows = three();
  rows[1].pools.push_back({.driver = "e", .name = "p", .generation = 2, .slices = 1, .slices_wanted = 3});
  EXPECT_EQ(nodes_text(rows, {.is_wide = true}),
            "NODE  DRIVER  POOL  GENERATION  SLICES  DEVICES  ALLOCATED  FREE  TAINTED  STATE\n"
            "a     d       a     4           1       8        2          6     0        ok\n"
            "b     d       b     4           1       4        4          0     0        one; two\n"
            "b     e       p     2           1/3     0        0          0     0        one; two\n"
            "c     -       -     0           0       0        0          0     0        no slices\n"
            "3 nodes, 1 without slices, 1 failing: 12 devices, 6 allocated, 6 free, 0 tainted\n");
}

// Red when a foreign name controls the terminal, or our escape sequences are printed without a terminal.
TEST(FleetTables, EscapesNamesAndColoursTerminalsOnly) {
  std::vector<NodeRow> rows = {node("evil\x1b[2J\n", 1, 0)};
  rows[0].problems = {"\x1b]0;title\x07"};
  for (const std::string& text :
       {nodes_text(rows, {}), nodes_text(rows, {.is_wide = true}), top_text(rows, {})})
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  const std::string coloured = nodes_text(rows, {.has_colours = true});
  EXPECT_NE(coloured.find("\x1b[33m\\x1b]0;title\\x07\x1b[0m"), std::string::npos) << coloured;
  EXPECT_EQ(coloured.find("\x1b[2J"), std::string::npos);
}

TEST(FleetTables, DataContainsPoolsAndProblemsOfEachNode) {
  const kube::Json all = json_of(three());
  const kube::Json& first = (*all.find("nodes")->array())[0];
  EXPECT_EQ(
      kube::encode_json(first),
      R"({"name":"a","usage":{"devices":8,"allocated":2,"free":6,"tainted":0},"pools":[{"driver":"d","name":"a",)"
      R"("generation":4,"slices":1,"slicesWanted":1,"usage":{"devices":8,"allocated":2,"free":6,"tainted":0}}],)"
      R"("report":{"daemonVersion":"0.1.0","lastChange":"2026-11-21T00:17:41.000Z","hidden":3,"heldBack":0},"health":"ok"})");
  EXPECT_EQ(
      kube::encode_json(*all.find({"totals"})),
      R"({"nodes":3,"withoutSlices":1,"bad":1,"warning":0,"silent":0,"withoutKubeletPlugin":0,"usage":{"devices":12,"allocated":6,"free":6,"tainted":0}})");
}

TEST(FleetTables, DataIsValidDespiteInvalidNames) {
  const std::string text = kube::encode_json(json_of({node("a\xff", 1, 0)}));
  EXPECT_NE(text.find("a\\\\xff"), std::string::npos) << text;
}

TEST(FleetTables, TopSortsProblemsFirstThenTheFullest) {
  std::vector<NodeRow> rows = three();
  rows.push_back(node("d", 10, 9));
  const std::string text = top_text(rows, {});
  EXPECT_EQ(text,
            "4 nodes, 1 without slices, 1 failing: 22 devices, 15 allocated, 7 free, 0 tainted (68 % "
            "allocated)\n"
            "NODE  DEVICES  ALLOCATED  FREE  USED                        STATE\n"
            "b     4        4          0     #################### 100 %  one; two\n"
            "d     10       9          1     ##################.. 90 %   ok\n"
            "a     8        2          6     #####............... 25 %   ok\n"
            "c     0        0          0     .................... 0 %    no slices\n");
}

TEST(FleetTables, AlignsColumnsByTerminalWidth) {
  EXPECT_EQ(columns_of("ab"), 2u);
  EXPECT_EQ(columns_of("\u00e9"), 1u);
  EXPECT_EQ(columns_of("e\u0301"), 1u);
  EXPECT_EQ(columns_of("\u7db2\u7d61"), 4u);
  EXPECT_EQ(columns_of("\U0001F600"), 2u);
  EXPECT_EQ(columns_of("\xff"), 1u);
  EXPECT_EQ(table({"A", "B"}, {{"\u7db2", "x"}, {"abc", "y"}}),
            "A    B\n"
            "\u7db2   x\n"
            "abc  y\n");
  const std::string frame = top_text({node("\u7db2\u7db2\u7db2", 1, 0)}, {.columns_max = 5});
  EXPECT_EQ(split(frame, '\n')[2], "\u7db2\u7db2");
}

// Red when a frame is larger than the terminal, which then scrolls.
TEST(FleetTables, AFrameFitsIntoTheTerminal) {
  std::vector<NodeRow> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(node("node-" + std::to_string(i), 4, 1));
  const std::string text =
      top_text(rows, {.rows_max = 10, .columns_max = 30, .has_colours = true, .note = "old"});
  const auto lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 1 + 1 + 1 + 10 + 1 + 1u) << text;  // the last is empty
  for (const std::string_view line : lines) {
    size_t columns = 0;
    bool is_code = false;
    for (const char c : line) {
      if (c == '\x1b') is_code = true;
      columns += !is_code;
      if (c == 'm') is_code = false;
    }
    EXPECT_LE(columns, 30u) << line;
  }
  EXPECT_EQ(lines[13], "and 90 more nodes");
}

}  // namespace
}  // namespace fleet_tables_test
}  // namespace sliced::kubectl
