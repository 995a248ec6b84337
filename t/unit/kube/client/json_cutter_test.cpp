#include "kube/client/json_cutter.h"

#include <gtest/gtest.h>

#include <vector>

namespace sliced::kube {
namespace {

struct Cut {
  std::vector<std::string> members, items;
  std::string error;
  bool operator==(const Cut&) const = default;
};

Cut cut(const std::vector<std::string_view>& pieces, size_t piece_bytes_max = 1000) {
  Cut out;
  JsonCutter cutter("items", piece_bytes_max,
                    {.on_member =
                         [&](std::string_view key, std::string_view raw) {
                           out.members.push_back(std::string(key) + '=' + std::string(raw));
                           return true;
                         },
                     .on_item =
                         [&](std::string_view raw) {
                           out.items.emplace_back(raw);
                           return true;
                         }});
  for (const std::string_view piece : pieces)
    if (const auto fed = cutter.feed(piece); !fed) {
      out.error = fed.error().what;
      return out;
    }
  if (const auto finished = cutter.finish(); !finished) out.error = finished.error().what;
  return out;
}

TEST(JsonCutter, ReturnsTheSamePiecesHoweverBytesAreCut) {
  const std::string_view text =
      " {\"kind\" : \"X\\\"]}List\",\"n\":-1.5e3,\"metadata\":{\"a\":[1,{\"b\":\"}\"}]},\n"
      "\"items\":[ {\"a\":\"[\\\\\"},{\"b\":[]} ,3,\"s,]\",null , [1]], \"t\":true,\"e\":{},\"k\\\"ey\":[] "
      "}\n";
  const Cut want{{"kind=\"X\\\"]}List\"", "n=-1.5e3", "metadata={\"a\":[1,{\"b\":\"}\"}]}", "t=true", "e={}",
                  "k\"ey=[]"},
                 {"{\"a\":\"[\\\\\"}", "{\"b\":[]}", "3", "\"s,]\"", "null", "[1]"},
                 ""};
  for (size_t at = 0; at <= text.size(); ++at)
    EXPECT_EQ(cut({text.substr(0, at), text.substr(at)}), want) << "cut at " << at;
  std::vector<std::string_view> single;
  for (size_t i = 0; i < text.size(); ++i) single.push_back(text.substr(i, 1));
  EXPECT_EQ(cut(single), want);
}

TEST(JsonCutter, RefusesATruncatedTextAtEveryByte) {
  const std::string_view text = R"({"items":[{"a":1},2],"b":"c"})";
  for (size_t at = 0; at < text.size(); ++at)
    EXPECT_NE(cut({text.substr(0, at)}).error, "") << "cut at " << at;
  EXPECT_EQ(cut({text}).error, "");
}

TEST(JsonCutter, EmptyListsAndNull) {
  for (const char* text : {R"({"items":[]})", R"({"items": [ ] })", R"({"items":null})", "{}"})
    EXPECT_EQ(cut({text}), Cut{}) << text;
}

// A list whose name is spelled with an escape is the list all the same, not an empty answer.
TEST(JsonCutter, UnescapesNames) {
  const Cut out = cut({R"({"it\u0065ms":[1],"\u006b":2})"});
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.items, std::vector<std::string>{"1"});
  EXPECT_EQ(out.members, std::vector<std::string>{"k=2"});
  EXPECT_NE(cut({R"({"items":[1],"it\u0065ms":[2]})"}).error, "");
  EXPECT_NE(cut({R"({"\x":[2]})"}).error, "");
}

TEST(JsonCutter, IgnoresInvalidItems) {
  const Cut out = cut({"{\"items\":[{nonsense: [},,:\"a\\\\\" 1 ],{\"b\":1},\"\xff\\x\"]}"});
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.items.size(), 3u);
  EXPECT_EQ(out.items[1], "{\"b\":1}");
}

TEST(JsonCutter, RefusesOtherValues) {
  for (const char* text : {"",
                           "[]",
                           "x",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\":1 2}",
                           "{\"items\":[1 2]}",
                           "{\"items\":[1,]}",
                           "{\"items\":{}}",
                           "{\"items\":\"x\"}",
                           "{\"items\":5}",
                           "{} x",
                           "{}{}",
                           "{\"a\":'x'}",
                           "{\"items\":[],\"items\":[]}",
                           "{\"items\":nul}",
                           "{\"items\":[}",
                           "<html>"})
    EXPECT_NE(cut({text}).error, "") << text;
}

TEST(JsonCutter, BoundsAPiece) {
  EXPECT_EQ(cut({R"({"items":["123"]})"}, 5).error, "");
  EXPECT_NE(cut({R"({"kind":"1234"})"}, 5).error.find("larger than 5"), std::string::npos);
  const std::string_view text = R"({"items":[1,{"a":[{"b":"}"}]},"1234",2]})";
  const Cut want{{}, {"1", "{\"a\":", "\"1234", "2"}, ""};
  for (size_t at = 0; at <= text.size(); ++at)
    EXPECT_EQ(cut({text.substr(0, at), text.substr(at)}, 5), want)
        << "an item that is too large harms no other";
  EXPECT_NE(cut({"{\"" + std::string(2000, 'k')}, 100'000).error, "") << "keys are bounded too";
}

TEST(JsonCutter, BoundsAKey) {
  const auto object = [](size_t size) { return "{\"" + std::string(size, 'k') + "\":1,\"items\":[2]}"; };
  EXPECT_EQ(cut({object(JsonCutter::kKeyBytesMax)}).error, "");
  EXPECT_TRUE(
      cut({object(JsonCutter::kKeyBytesMax + 1)}).error.starts_with("a key is longer than 1024 bytes"));
}

TEST(JsonCutter, StopsWhenAsked) {
  int items = 0;
  JsonCutter cutter("items", 100,
                    {.on_member = [](std::string_view, std::string_view) { return true; },
                     .on_item = [&](std::string_view) { return ++items < 2; }});
  const auto fed = cutter.feed(R"({"items":[1,2,3]})");
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, Errc::kCanceled);
  EXPECT_EQ(items, 2);
  EXPECT_FALSE(cutter.feed("x"));
}

}  // namespace
}  // namespace sliced::kube
