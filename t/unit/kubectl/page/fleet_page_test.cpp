#include "kubectl/page/fleet_page.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace fleet_page_test {
namespace {

NodeRow node(const std::string& name, const std::string& problem, bool is_bad) {
  NodeRow out{.name = name};
  out.usage = {.devices = 4, .allocated = 1, .free = 3};
  out.pools = {
      {.driver = "d", .name = name, .generation = 1, .slices = 1, .slices_wanted = 1, .usage = out.usage}};
  if (!problem.empty()) out.problems = {problem};
  out.is_bad = is_bad;
  return out;
}

size_t count(const std::string& text, const std::string& word) {
  size_t out = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++out;
  return out;
}

TEST(FleetPage, ShowsNodesByHealthAndPolicy) {
  FleetPageFacts facts;
  facts.rows = {node("a", "", false), node("b", "broken", true), node("c", "late", false)};
  facts.rows.push_back({.name = "d", .problems = {"no slices"}});
  facts.rows[2].report = FleetReport{.node = "c",
                                     .policies = {{.name = "ns/p",
                                                   .matched = 4,
                                                   .offered = 3,
                                                   .problem = "spec.x: wrong",
                                                   .kind = "SriovResourcePolicy",
                                                   .action = "expose",
                                                   .hidden = 1}}};
  const std::string all = fleet_page(facts);
  EXPECT_EQ(count(all, "<tr class=\"node"), 4u);
  EXPECT_NE(all.find("<b>4</b> nodes"), std::string::npos);
  EXPECT_NE(all.find("<b>1</b> failing"), std::string::npos);
  EXPECT_NE(all.find("href=\"/?policy=ns%2Fp\""), std::string::npos);
  EXPECT_EQ(all.find("{{"), std::string::npos);
  facts.filter.health = "bad";
  EXPECT_EQ(count(fleet_page(facts), "<tr class=\"node"), 1u);
  facts.filter = {.health = "", .policy = "ns/p"};
  EXPECT_EQ(count(fleet_page(facts), "<tr class=\"node warning\" data-name=\"c\""), 1u);
  const kube::Json rows = page_rows(facts.rows, facts.filter);
  EXPECT_EQ(rows.find("nodes")->array()->size(), 1u);
  EXPECT_EQ(kube::encode_json(*rows.find("counts")),
            R"({"all":4,"bad":1,"warning":1,"empty":1,"ok":1,"policies":1})");
  EXPECT_EQ(
      kube::encode_json(*rows.find("policies")),
      R"x([{"name":"ns/p","kind":"SriovResourcePolicy","action":"expose","nodes":1,"matched":4,"offered":"3","hidden":1,)x"
      R"x("behind":0,"problem":"spec.x: wrong (on 1 node)"}])x");
  EXPECT_EQ((*rows.find("nodes")->array())[0].text("state"),
            "ns/p: 4 matched, 3 offered; spec.x: wrong; late");
}

TEST(FleetPage, ShowsDevicesWithTheirClaimOrPolicy) {
  FleetPageFacts facts;
  facts.node = "a";
  EXPECT_NE(fleet_page(facts).find("<p>No devices.</p>"), std::string::npos);
  facts.devices = {
      {.entry = "vf-0", .pci = "0000:3b:01.0", .state = DeviceState::kAllocated, .claims = {"ns/c"}},
      {.pci = "0000:3b:01.1", .state = DeviceState::kHidden, .why = "no-vfs: excluded"}};
  facts.problem = "a slice cannot be read";
  const std::string text = fleet_page(facts);
  EXPECT_NE(
      text.find("<tr class=\"hidden\"><th scope=\"row\"></th><td>0000:3b:01.1</td><td></td><td></td><td></td>"
                "<td>hidden</td><td>no-vfs: excluded</td></tr>"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("<td>ns/c</td>"), std::string::npos);
  EXPECT_NE(text.find("a slice cannot be read"), std::string::npos);
}

// Red when a name of others' becomes markup.
TEST(FleetPage, EscapesNames) {
  const std::string hostile = "<img src=x onerror=1>\"'";
  FleetPageFacts facts;
  facts.rows = {node(hostile, hostile, true)};
  facts.rows[0].report =
      FleetReport{.node = hostile, .version = hostile, .policies = {{hostile, 1, 1, hostile}}};
  facts.cluster = facts.note = facts.node = hostile;
  facts.filter.policy = "";
  facts.devices = {{.entry = hostile,
                    .pci = hostile,
                    .pf = hostile,
                    .interface = hostile,
                    .kernel_driver = hostile,
                    .claims = {hostile},
                    .taints = {hostile},
                    .why = hostile}};
  facts.problem = hostile;
  EXPECT_EQ(fleet_page(facts).find("<img"), std::string::npos);
  facts.pod = facts.why = hostile;
  facts.filter = {.health = hostile, .policy = hostile};
  EXPECT_EQ(fleet_page(facts).find("<img"), std::string::npos);
  EXPECT_EQ(fleet_page(facts).find("data-health=\"<"), std::string::npos);
}

// Red when nodes with problems are sorted by name among the others, or when the headline reports no problem.
TEST(FleetPage, SortsAndHeadlinesNodesWithProblems) {
  FleetPageFacts facts;
  facts.rows = {node("a", "", false), node("b", "late", false), node("c", "broken", true)};
  facts.rows.push_back({.name = "d", .problems = {"no slices"}});
  const std::string text = fleet_page(facts);
  std::vector<size_t> places;
  for (const char* name : {"c", "b", "d", "a"})
    places.push_back(text.find("data-name=\"" + std::string(name) + "\""));
  EXPECT_TRUE(std::ranges::is_sorted(places)) << text;
  EXPECT_NE(
      text.find(
          "<p id=\"state\" class=\"bad\" role=\"status\">1 failing, 1 with warnings: 12 devices, 3 allocated, 9 free</p>"),
      std::string::npos)
      << text;
  std::vector<std::string> names;
  const kube::Json rows = page_rows(facts.rows, {});
  for (const kube::Json& one : *rows.find("nodes")->array()) names.emplace_back(one.text("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"c", "b", "d", "a"}));
  EXPECT_EQ(page_moment({facts.rows[0], facts.rows[1]}, 1, "", {}).text("tone"), "stale");
  EXPECT_EQ(page_moment({facts.rows[0]}, 1, "", {}).text("tone"), "");
}

// Red when an exclude, which offers nothing, looks like a policy that is broken, or when nodes that lag behind are not counted.
TEST(FleetPage, APolicyShowsKindActionAndHiddenDevices) {
  FleetPageFacts facts;
  facts.rows = {node("a", "", false), node("b", "", false)};
  facts.rows[0].report = FleetReport{
      .node = "a",
      .policies = {
          {.name = "no", .matched = 6, .kind = "DeviceExposurePolicy", .action = "exclude", .hidden = 6}}};
  facts.rows[1].report = FleetReport{.node = "b"};
  facts.rows[1].behind = {{"DeviceExposurePolicy", "no", 0, 1}};
  const std::string text = fleet_page(facts);
  EXPECT_NE(
      text.find(
          "<tr class=\"exclude\"><th scope=\"row\"><a href=\"/?policy=no\">no</a></th><td class=\"kind\">"
          "DeviceExposurePolicy</td><td class=\"action\">exclude</td><td class=\"number\" data-of=\"nodes\">1</td>"
          "<td class=\"number\" data-of=\"matched\">6</td><td class=\"number\" data-of=\"offered\">–</td>"
          "<td class=\"number\" data-of=\"hidden\">6</td><td class=\"number\" data-of=\"behind\">1</td>"),
      std::string::npos)
      << text;
}

TEST(FleetPage, NamesForbiddenDataInsteadOfANumber) {
  FleetPageFacts facts;
  facts.rows = {node("a", "", false)};
  facts.rows[0].knows_claims = false;
  facts.gaps = {"ALLOCATED and FREE are unknown: list <resourceclaims>"};
  const std::string text = fleet_page(facts);
  EXPECT_NE(text.find("<p class=\"gap\">ALLOCATED and FREE are unknown: list &lt;resourceclaims&gt;</p>"),
            std::string::npos);
  EXPECT_NE(text.find("data-of=\"allocated\">–</td><td class=\"used\"></td>"), std::string::npos) << text;
}

// Red when the answer is below the table, or the table is not a table.
TEST(FleetPage, ShowsAnswerReasonsAndTableOfAPendingPod) {
  FleetPageFacts facts;
  facts.pod = "ns/p";
  facts.why = "pod ns/p: <pending>\n  a\x1b\n";
  EXPECT_NE(
      fleet_page(facts).find("<p class=\"answer\">pod ns/p: &lt;pending&gt;</p>\n<pre>  a\\x1b\n</pre>"),
      std::string::npos)
      << fleet_page(facts);
  facts.why =
      "pod ns/p is pending\n"
      "claim ns/c is not allocated\n"
      "\n"
      "NODE      REQUEST  WANTED  WHY\n"
      "worker-1  a        1       <b>  and two spaces\n"
      "worker-2  a        1       -\n"
      "Pools: 2 pools of x (sliced's).\n"
      "\n"
      "Any one of these would help:\n"
      "  - delete pod q\n";
  const std::string text = fleet_page(facts);
  const size_t answer = text.find("<p class=\"answer\">pod ns/p is pending</p>"),
               rest = text.find("<pre>claim ns/c is not allocated\n\nPools: 2 pools of x (sliced"),
               help = text.find("  - delete pod q"),
               table = text.find("<table>\n<thead><tr><th scope=\"col\">NODE</th>");
  EXPECT_LT(answer, rest) << text;
  EXPECT_LT(rest, help);
  EXPECT_LT(help, table);
  EXPECT_NE(text.find("<tr><td>worker-1</td><td>a</td><td>1</td><td>&lt;b&gt;  and two spaces</td></tr>\n"
                      "<tr><td>worker-2</td><td>a</td><td>1</td><td>-</td></tr>\n</tbody>"),
            std::string::npos)
      << text;
}

TEST(FleetPage, TheFormSendsOnlyToItsServer) {
  for (const http::Header& header : fleet_page_headers())
    if (header.name == "content-security-policy") {
      EXPECT_NE(header.value.find("form-action 'self'"), std::string::npos);
      EXPECT_NE(header.value.find("default-src 'none'"), std::string::npos);
    }
  EXPECT_EQ(kube::encode_json(page_moment({node("a", "", false)}, 7, "", {})),
            R"({"moment":"7","state":"4 devices, 1 allocated, 3 free","tone":""})");
  EXPECT_EQ(page_moment({}, 7, "", 3).text("edit"), "3");
}

}  // namespace
}  // namespace fleet_page_test
}  // namespace sliced::kubectl
