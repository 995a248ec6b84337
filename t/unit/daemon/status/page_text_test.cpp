#include "daemon/status/page_text.h"

#include <gtest/gtest.h>

#include "reactor/base/text.h"

namespace sliced::status {
namespace page_text_test {

constexpr const char* kHostile = "<img src=x onerror=\"a\">&'";

DeviceRow row(const std::string& id, const std::string& group = "0000:3b:00.0",
              const std::string& order = "") {
  return {.id = id,
          .type = "vf",
          .kind = "VF 1",
          .interface = "i-" + id,
          .link = "up 25 Gb/s",
          .driver = "iavf",
          .disposition = "offered",
          .claim = "",
          .why = "offered",
          .group = group,
          .order = order};
}

std::string whole(PageFacts facts, const DeviceRows& rows) {
  PageText text(std::move(facts));
  std::string out;
  for (std::string piece = text.next(rows); !piece.empty(); piece = text.next(rows)) {
    EXPECT_LE(piece.size(), 64u << 10);
    out += piece;
  }
  return out;
}

// Red when any foreign text is markup, at any place.
TEST(PageText, EscapesText) {
  const std::string bad = kHostile;
  DeviceRows rows{.moment = 7,
                  .rows = {{.id = bad,
                            .type = bad,
                            .kind = bad,
                            .interface = bad,
                            .link = bad,
                            .driver = bad,
                            .disposition = bad,
                            .claim = bad,
                            .why = bad,
                            .group = bad,
                            .order = bad}}};
  PageFacts facts{.report = {.version = bad, .node = bad, .cluster = bad},
                  .history = {},
                  .explanation = kube::Json::Object{}};
  facts.report.sources = {{.name = bad, .state = bad, .why = bad}};
  facts.report.stands_by_for = bad;
  facts.history = {std::make_shared<const PastChange>(PastChange{
      1, {.driver = bad, .devices = {bad}, .policy = bad, .generation = 1, .manager = bad, .outcome = bad}})};
  kube::Json rule = kube::Json::Object{};
  for (const char* key : {"policy", "place", "said", "field", "found", "wanted", "outcome", "summary"})
    rule.set(key, bad);
  for (const char* key : {"device", "summary"}) facts.explanation->set(key, bad);
  facts.explanation->set("rules", kube::Json::Array{rule});
  facts.explanation->set("personas", kube::Json::Array{rule});
  const std::string page = whole(std::move(facts), rows);
  EXPECT_EQ(page.find("<img"), std::string::npos) << page;
  EXPECT_EQ(page.find("\"a\""), std::string::npos) << "no attribute is left";
  EXPECT_GE(split(page, '<').size(), 100u);
  EXPECT_NE(page.find("&lt;img src=x onerror=&quot;a&quot;&gt;&amp;&#39;"), std::string::npos) << page;
  EXPECT_EQ(html("\x1b[31m\n\xff"), "\\x1b[31m\\x0a\\xff") << "and nothing that steers or is not text";
  EXPECT_EQ(page.find("{{"), std::string::npos) << "everything is filled in";
}

// An object with the name "{{problems}}" is not replaced.
TEST(PageText, EscapesPoolsAndLinks) {
  const std::string page =
      whole({.report = {.version = "v", .node = "{{cluster}}", .cluster = "secret"}}, {});
  EXPECT_NE(page.find("<h1>{{cluster}}</h1>"), std::string::npos) << page;
}

TEST(PageText, GroupsDevicesAndShowsTheRequestedOnes) {
  DeviceRows rows{.moment = 7, .rows = {row("b"), row("a"), row("c", "0000:3b:00.1"), row("d", "~")}};
  rows.rows[0].disposition = "hidden";
  sort_rows(rows.rows);
  const std::string page = whole({}, rows);
  EXPECT_EQ(split(page, '\n').size(), split(whole({.disposition = "hidden"}, rows), '\n').size() + 3);
  size_t bodies = 0;
  for (size_t at = page.find("<tbody"); at != std::string::npos; at = page.find("<tbody", at + 1)) ++bodies;
  EXPECT_EQ(bodies, 3u);
  EXPECT_LT(page.find("data-id=\"a\""), page.find("data-id=\"b\""));
  EXPECT_LT(page.find("data-id=\"c\""), page.find("data-id=\"d\""));
  EXPECT_NE(page.find("data-moment=\"7\""), std::string::npos);
}

TEST(PageText, BuildsAThousandDevicesInPieces) {
  DeviceRows rows{.moment = 7, .rows = {}};
  for (int i = 0; i < 1'000; ++i) rows.rows.push_back(row(std::to_string(i)));
  EXPECT_GT(whole({}, rows).size(), 256u << 10);
}

TEST(DeviceRows, ApplyingADifferenceGivesTheNewRows) {
  DeviceRows before{.moment = 7, .rows = {row("a"), row("b"), row("c")}}, now = before;
  now.moment = 9;
  EXPECT_TRUE(difference(before, now).is_empty);
  now.rows[1].why = "changed";
  now.rows.erase(now.rows.begin());
  now.rows.push_back(row("d"));
  const RowsDelta delta = difference(before, now);
  EXPECT_TRUE(delta.is_whole);
  EXPECT_FALSE(delta.is_empty);
  const kube::Json& json = delta.json;
  EXPECT_EQ(*json.find("from")->integer(), 7);
  EXPECT_EQ(*json.find("to")->integer(), 9);
  ASSERT_EQ(json.find("set")->array()->size(), 2u);
  EXPECT_EQ(json.find("set")->array()->at(0).text("why"), "changed");
  EXPECT_EQ(json.find("set")->array()->at(1).text("id"), "d");
  EXPECT_EQ(kube::encode_json(*json.find("gone")), "[\"a\"]");
  const RowsDelta large = difference(before, now, 2);
  EXPECT_FALSE(large.is_whole);
  EXPECT_EQ(kube::encode_json(large.json), "{\"to\":9}");
}

}  // namespace page_text_test
}  // namespace sliced::status
