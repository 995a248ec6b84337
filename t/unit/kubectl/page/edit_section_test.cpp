#include "kubectl/page/edit_section.h"

#include <gtest/gtest.h>

namespace sliced::kubectl {
namespace edit_section_test {
namespace {

EditEffect effect(std::string out, int exit_status = 2, std::string err = {}) {
  return edit_effect("p.yaml", {.exit_status = exit_status, .out = std::move(out), .err = std::move(err)});
}

TEST(EditSection, ShowsAdditionsRemovalsAndChangesPerNode) {
  const EditEffect told = effect(
      R"({"nodes":[{"name":"a","changes":[)"
      R"({"change":"added","draDriver":"d","entry":"vf-0","device":"0000:3b:01.0","after":"P ns/p"},)"
      R"x({"change":"removed","draDriver":"d","entry":"vf-1","device":"vf-1","before":"P ns/p","claims":["ns/c (pod a)","ns/d"]},)x"
      R"({"change":"changed","draDriver":"d","entry":"vf-2","device":"vf-2","before":"P ns/p","after":"P ns/q",)"
      R"("attributes":["a: 1 -> 2","b: 1 -> 2","c: 1 -> 2","d: 1 -> 2"]}]}],)"
      R"("unjudged":[{"name":"b","why":"it writes no report"}],"same":7})");
  EXPECT_EQ(summary_of(told), "1 node would change, 7 nodes would not, 1 node cannot be judged");
  EXPECT_EQ(
      kube::encode_json(*json_of(told).find("nodes")),
      R"([{"name":"a","unjudged":"","more":"","changes":[)"
      R"({"kind":"added","text":"+ vf-0 (0000:3b:01.0), P ns/p"},)"
      R"x({"kind":"removed","text":"- vf-1, P ns/p; allocated now: ns/c (pod a), ns/d"},)x"
      R"({"kind":"changed","text":"~ vf-2, P ns/p -> P ns/q; a: 1 -> 2; b: 1 -> 2; c: 1 -> 2; and 1 more attribute"}]},)"
      R"({"name":"b","unjudged":"cannot be judged: it writes no report","more":"","changes":[]}])");
  const std::string html = html_of(told);
  EXPECT_NE(html.find("<div class=\"removed\">- vf-1, P ns/p; allocated now: ns/c (pod a), ns/d</div>"),
            std::string::npos)
      << html;
  EXPECT_NE(html.find("cannot be judged: it writes no report"), std::string::npos);
  EXPECT_NE(html.find("<pre id=\"edit-problem\" hidden>"), std::string::npos);
}

TEST(EditSection, CountsOmittedRows) {
  std::string nodes;
  for (int i = 0; i < 300; ++i) {
    std::string changes;
    for (int device = 0; device < 30; ++device)
      changes += std::string(device > 0 ? "," : "") +
                 R"({"change":"removed","entry":"e","device":"e","before":"P"})";
    nodes += std::string(i > 0 ? "," : "") + R"({"name":"n)" + std::to_string(i) + R"(","changes":[)" +
             changes + "]}";
  }
  const EditEffect told = effect(R"({"nodes":[)" + nodes + R"(],"unjudged":[],"same":0})");
  EXPECT_EQ(told.nodes.size(), kEditNodesMax);
  EXPECT_EQ(told.nodes[0].changes.size(), kEditChangesMax);
  EXPECT_EQ(told.nodes[0].more, 10u);
  EXPECT_EQ(summary_of(told), "300 nodes would change, 0 nodes would not; 100 nodes more are not shown");
  EXPECT_NE(html_of(told).find("<div>and 10 more changes</div>"), std::string::npos);
}

TEST(EditSection, ShowsWhyThereIsNoAnswer) {
  const struct {
    CommandResult result;
    const char* problem;
  } table[] = {
      {{.exit_status = 1, .out = {}, .err = "p.yaml:3: broken"}, "p.yaml:3: broken"},
      {{.exit_status = 1, .out = {}, .err = {}}, "there is no answer"},
      {{.exit_status = 1, .timed_out = true, .out = {}, .err = {}}, "no answer in time"},
      {{.exit_status = 2, .out = "\"" + std::string(kEditBytesMax, 'x') + "\"", .err = {}},
       "it would change more than fits on this page; ask kubectl sliced policies --diff"},
      {{.exit_status = 2, .out = "nonsense", .err = {}}, "there is no answer"},
  };
  for (const auto& row : table) {
    const EditEffect told = edit_effect("p.yaml", row.result);
    EXPECT_EQ(told.problem, row.problem);
    EXPECT_EQ(summary_of(told), "");
    EXPECT_NE(html_of(told).find(row.problem), std::string::npos);
    EXPECT_TRUE(told.nodes.empty());
  }
  const EditEffect lines = effect("", 1, "a: \x1b<b>\nb\n");
  EXPECT_NE(html_of(lines).find(">a: \\x1b&lt;b&gt;\nb</pre>"), std::string::npos) << html_of(lines);
  EXPECT_EQ(json_of(lines).text("problem"), "a: \\x1b<b>\nb");
  // The note about an answer is shown beside it.
  const EditEffect same =
      effect(R"({"nodes":[],"unjudged":[],"same":2})", 0, "p.yaml: says what the cluster has");
  EXPECT_EQ(summary_of(same), "0 nodes would change, 2 nodes would not");
  EXPECT_EQ(same.problem, "p.yaml: says what the cluster has");
}

// Red when a name of others' becomes markup.
TEST(EditSection, EscapesNames) {
  const std::string hostile = R"(<img src=x onerror=1>')";
  EditEffect told =
      effect(R"({"nodes":[{"name":")" + hostile + R"(","changes":[{"change":")" + hostile + R"(","entry":")" +
                 hostile + R"(","device":")" + hostile + R"(","after":")" + hostile +
                 R"("}]}],"unjudged":[{"name":")" + hostile + R"(","why":")" + hostile + R"("}]})",
             2, hostile);
  told.file = hostile;
  ASSERT_TRUE(told.has_result);
  EXPECT_EQ(html_of(told).find("<img"), std::string::npos);
}

}  // namespace
}  // namespace edit_section_test
}  // namespace sliced::kubectl
