#include "cli/fleet/fleet_page.h"

#include <gtest/gtest.h>

#include "reactor/base/text.h"

namespace sliced::cli {
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

TEST(FleetPage, NodesAreShownByHealthAndByPolicy) {
  FleetPageFacts facts;
  facts.rows = {node("a", "", false), node("b", "broken", true), node("c", "late", false)};
  facts.rows.push_back({.name = "d", .problems = {"no slices"}});
  facts.rows[2].report = FleetReport{.node = "c", .policies = {{"ns/p", 4, 3, "spec.x: wrong"}}};
  const std::string all = fleet_page(facts);
  EXPECT_EQ(count(all, "<tr class=\"node"), 4u);
  EXPECT_NE(all.find("<b>4</b> nodes"), std::string::npos);
  EXPECT_NE(all.find("<b>1</b> not as they should be"), std::string::npos);
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
  EXPECT_EQ(kube::encode_json(*rows.find("policies")),
            R"x([{"name":"ns/p","nodes":1,"matched":4,"offered":3,"problem":"spec.x: wrong (on 1 node)"}])x");
  EXPECT_EQ((*rows.find("nodes")->array())[0].text("state"),
            "ns/p: 4 matched, 3 offered; spec.x: wrong; late");
}

TEST(FleetPage, DevicesOfANodeAreToldWithWhoHasOrHidesThem) {
  FleetPageFacts facts;
  facts.node = "a";
  EXPECT_NE(fleet_page(facts).find("<p>There is none.</p>"), std::string::npos);
  facts.devices = {
      {.entry = "vf-0", .pci = "0000:3b:01.0", .stands = DeviceStands::kAllocated, .claims = {"ns/c"}},
      {.pci = "0000:3b:01.1", .stands = DeviceStands::kHidden, .why = "no-vfs: excluded"}};
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
TEST(FleetPage, NamesAreText) {
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

TEST(FleetPage, WhyAPodWaitsIsToldInLines) {
  FleetPageFacts facts;
  facts.pod = "ns/p";
  facts.why = "pod ns/p: <pending>\n  a\x1b\n";
  EXPECT_NE(fleet_page(facts).find("<pre>pod ns/p: &lt;pending&gt;\n  a\\x1b\n</pre>"), std::string::npos);
}

TEST(FleetPage, OnlyItsOwnServerIsAskedByItsForm) {
  for (const http::Header& header : fleet_page_headers())
    if (header.name == "content-security-policy") {
      EXPECT_NE(header.value.find("form-action 'self'"), std::string::npos);
      EXPECT_NE(header.value.find("default-src 'none'"), std::string::npos);
    }
  EXPECT_EQ(kube::encode_json(page_moment({node("a", "", false)}, 7, "", {})),
            R"({"moment":"7","state":"4 devices, 1 allocated, 3 free","well":true})");
  EXPECT_EQ(page_moment({}, 7, "", 3).text("edit"), "3");
}

}  // namespace
}  // namespace fleet_page_test
}  // namespace sliced::cli
