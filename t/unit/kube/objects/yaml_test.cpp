#include "kube/objects/yaml.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace {

Json one(std::string_view text) {
  auto decoded = decode_yaml(text);
  EXPECT_TRUE(decoded.problems.empty()) << text << ": " << decoded.problems.front().what;
  EXPECT_EQ(decoded.documents.size(), 1u) << text;
  return decoded.documents.empty() ? Json("nothing was read") : decoded.documents.front();
}

TEST(DecodeYaml, ReadsScalarsLikeKubernetes) {
  const struct {
    std::string text;
    Json wanted;
  } rows[] = {
      {"yes", true},
      {"Yes", true},
      {"on", true},
      {"ON", true},
      {"y", true},
      {"true", true},
      {"no", false},
      {"off", false},
      {"n", false},
      {"N", false},
      {"False", false},
      {"yEs", "yEs"},
      {"~", nullptr},
      {"null", nullptr},
      {"NULL", nullptr},
      {"", nullptr},
      {"nil", "nil"},
      {"tRue", "tRue"},
      {"0", 0},
      {"-0", 0},
      {"12", 12},
      {"+12", 12},
      {"-12", -12},
      {"1_000", 1000},
      {"0x1F", 31},
      {"-0x10", -16},
      {"0o17", 15},
      {"017", 15},
      {"0123", 83},
      {"08", 8},
      {"0b101", 5},
      {"-0b11", -3},
      {"0.5", 0.5},
      {".5", 0.5},
      {"5.", 5},
      {"-1.25", -1.25},
      {"1e3", 1000},
      {"1E+2", 100},
      {"1.5e-3", 0.0015},
      {"1.0", 1},
      {"1e", "1e"},
      {"e3", "e3"},
      {".0_1", 0.01},
      {"0x1ffffffffffffffff", "0x1ffffffffffffffff"},
      {"0xffffffffffffffff", 18446744073709551615.0},
      {"0x", "0x"},
      {"0xZZ", "0xZZ"},
      {"12:30:45", "12:30:45"},
      {"1.2.3", "1.2.3"},
      {"0000:03:00.2", "0000:03:00.2"},
      {"2001-12-14", "2001-12-14"},
      {"-", Json::Array{nullptr}},
      {"9223372036854775807", int64_t{9223372036854775807}},
      {"1e400", "1e400"},
      {"9223372036854775808", 9223372036854775808.0},
      {"1Gi", "1Gi"},
      {"'yes'", "yes"},
      {"\"12\"", "12"},
      {"''", ""},
      {"\"a\\tb\"", "a\tb"},
      {"'it''s'", "it's"},
      {"!!str 12", "12"},
      {"! 12", "12"},
      {"!!int \"12\"", 12},
      {"!!bool yes", true},
      {"!!float 3", 3},
      {"!!null ''", nullptr},
      {"<<", "<<"},
      {"...x", "...x"},
      {"ens1f0#0-3", "ens1f0#0-3"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(*one("k: " + (row.text == "-" ? std::string("[~]") : row.text) + "\n").find("k"), row.wanted)
        << row.text;
  }
}

TEST(DecodeYaml, AnEmptyTextHasNoDocument) {
  for (const std::string_view nothing : {std::string_view(), std::string_view("")}) {
    EXPECT_TRUE(decode_yaml(nothing).documents.empty());
    EXPECT_TRUE(decode_yaml(nothing).problems.empty());
  }
}

TEST(DecodeYaml, KeysBecomeText) {
  EXPECT_EQ(one("{1: a, on: b, 1.5: d, 'z': e, 0x10: f}"),
            (Json::Object{{"1", "a"}, {"true", "b"}, {"1.5", "d"}, {"z", "e"}, {"16", "f"}}));
}

TEST(DecodeYaml, ReadsBlocksFlowsAndBlockScalars) {
  EXPECT_EQ(
      one("a:\n- 1\n- b: 2\n  c: [x, {u: z}]\nd: |\n  one\n  two\ne: >-\n  three\n  four\nf: |+\n  x\n\n"),
      (Json::Object{
          {"a", Json::Array{1, Json::Object{{"b", 2}, {"c", Json::Array{"x", Json::Object{{"u", "z"}}}}}}},
          {"d", "one\ntwo\n"},
          {"e", "three four"},
          {"f", "x\n\n"}}));
}

TEST(DecodeYaml, ValuesHaveLines) {
  for (const std::string text : {"# c\na: 1\nb:\n  - x\n  - c:\n      d: y\n",
                                 "\n{\"a\": 1,\n\"b\": [\n \"x\",\n{\"c\": {\n\"d\":\"y\"}}]}"}) {
    const Json json = one(text);
    EXPECT_EQ(json.line(), 2) << text;
    EXPECT_EQ(json.find("a")->line(), 2);
    EXPECT_EQ(json.find("b")->array()->at(0).line(), 4);
    EXPECT_EQ(json.find("b")->array()->at(1).line(), 5);
    EXPECT_EQ(json.find("b")->array()->at(1).find({"c", "d"})->line(), 6);
  }
}

TEST(DecodeYaml, ReadsSeveralDocumentsAndOmitsEmptyOnes) {
  const auto decoded = decode_yaml("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n---\nc: 3\n");
  EXPECT_TRUE(decoded.problems.empty());
  EXPECT_EQ(decoded.documents,
            (std::vector<Json>{Json::Object{{"a", 1}}, Json::Object{{"b", 2}}, Json::Object{{"c", 3}}}));
  EXPECT_TRUE(decode_yaml("").documents.empty());
  EXPECT_TRUE(decode_yaml("# only a comment\n").documents.empty());
  EXPECT_TRUE(decode_yaml("# only a comment\n").problems.empty());
}

TEST(DecodeYaml, ASyntaxErrorNamesItsLineAndKeepsEarlierDocuments) {
  const auto decoded = decode_yaml("a: 1\n---\nb: 2\nc: [1,\n---\nd: 3\n");
  ASSERT_EQ(decoded.documents.size(), 1u);
  EXPECT_EQ(decoded.documents[0], (Json::Object{{"a", 1}}));
  ASSERT_EQ(decoded.problems.size(), 1u);
  EXPECT_EQ(decoded.problems[0].line, 5) << decoded.problems[0].what;
}

TEST(DecodeYaml, AFaultyDocumentAffectsNoOther) {
  const struct {
    std::string text, what;
    int line;
  } rows[] = {
      {"a: 1\nb: 2\na: 3\n", "\"a\" appears twice", 3},
      {"x:\n  a: 1\n  a: 2\n", "\"a\" appears twice", 3},
      {"y: 1\non: 2\n", "\"true\" appears twice", 2},
      {"a: !!binary aGk=\n", "!!binary", 1},
      {"a: !custom x\n", "!custom", 1},
      {"a: !!set {x}\n", "set", 1},
      {"a:\n  ? [1, 2]\n  : 3\n", "must be text, not list", 2},
      {"a:\n  ~: 3\n", "must be text, not null", 2},
      {"a: .inf\n", "not a JSON value", 1},
      {"a: -.INF\n", "not a JSON value", 1},
      {"a: !!int x\n", "no !!int", 1},
      {"a: !!int 1.5\n", "no !!int", 1},
      {"a: !!bool 2\n", "no !!bool", 1},
      {"a:\n- *x\n", "alias *x", 2},
      {"a: &x [1, *x]\n", "alias *x", 1},
      {"a:\n  <<: 3\n", "value of <<", 2},
      {"a:\n  <<: [{b: 1}, 3]\n", "value of <<", 2},
  };
  for (const auto& row : rows) {
    const auto decoded = decode_yaml("first: 1\n---\n" + row.text + "---\nlast: 1\n");
    EXPECT_EQ(decoded.documents, (std::vector<Json>{Json::Object{{"first", 1}}, Json::Object{{"last", 1}}}))
        << row.text;
    ASSERT_EQ(decoded.problems.size(), 1u) << row.text;
    EXPECT_EQ(decoded.problems[0].line, row.line + 2) << row.text;
    EXPECT_NE(decoded.problems[0].what.find(row.what), std::string::npos)
        << row.text << ": " << decoded.problems[0].what;
  }
}

TEST(DecodeYaml, AliasesAndMergesCopy) {
  EXPECT_EQ(one("base: &b {x: 1, v: 2}\nother: &o {v: 5, w: 6}\na: *b\nc:\n  <<: *b\n  v: 3\nd:\n  <<: [*b, "
                "*o]\n  \"<<\": q\n"),
            (Json::Object{{"base", Json::Object{{"x", 1}, {"v", 2}}},
                          {"other", Json::Object{{"v", 5}, {"w", 6}}},
                          {"a", Json::Object{{"x", 1}, {"v", 2}}},
                          {"c", Json::Object{{"v", 3}, {"x", 1}}},
                          {"d", Json::Object{{"<<", "q"}, {"x", 1}, {"v", 2}, {"w", 6}}}}));
  EXPECT_TRUE(decode_yaml("a: &x 1\n---\nb: *x\n").problems.size() == 1) << "anchors end with their document";
}

// Red when the reason that people meet most often is not named.
TEST(DecodeYaml, NamesTabsUtf16AndAnchorsOfOtherDocuments) {
  const auto problem = [](std::string_view text) {
    const YamlDocuments read = decode_yaml(text);
    return read.problems.empty() ? std::string() : read.problems.front().what;
  };
  EXPECT_NE(problem("a:\n\tb: 1\n").find("the line begins with a tab, and YAML allows spaces only"),
            std::string::npos)
      << problem("a:\n\tb: 1\n");
  EXPECT_EQ(problem("a: 1\nb: @c\n").find("tab"), std::string::npos);
  for (const char* text : {"a: \"x\n\ty\" z\n", "{\n\t\"a\": 1,\n\t\"b\": [2}\n}\n"}) {
    EXPECT_NE(problem(text), "") << text;
    EXPECT_EQ(problem(text).find("tab"), std::string::npos) << "tabs are allowed here: " << problem(text);
  }
  EXPECT_EQ(problem("a: &x {b: 1}\n---\nc: *x\n"),
            "the alias *x has no anchor before it: &x is in an earlier document, and an anchor ends at ---");
  EXPECT_EQ(problem("c: *x\n"), "the alias *x has no anchor before it");
  for (const std::string_view text :
       {std::string_view("\xFF\xFE{\0}\0", 6), std::string_view("\xFE\xFF\0{\0}", 6)})
    EXPECT_TRUE(problem(text).starts_with("the text is UTF-16, expected UTF-8")) << problem(text);
}

TEST(DecodeYaml, AliasExpansionIsBounded) {
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const auto prev = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + prev + ", " + prev + "]\n";
  }
  auto decoded = decode_yaml(bomb);
  EXPECT_TRUE(decoded.documents.empty());
  ASSERT_EQ(decoded.problems.size(), 1u);
  std::string wide = "a: &a \"" + std::string(1'000'000, 'x') + "\"\nb: [*a";
  for (int i = 0; i < 100; ++i) wide += ", *a";
  decoded = decode_yaml(wide + "]\n");
  EXPECT_TRUE(decoded.documents.empty());
  ASSERT_EQ(decoded.problems.size(), 1u);
  EXPECT_NE(decoded.problems[0].what.find("aliases"), std::string::npos) << decoded.problems[0].what;
  std::string deep = "a0: &a0 [[[[[[[[x]]]]]]]]\n";
  for (int i = 1; i < 20; ++i)
    deep +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [[[[*a" + std::to_string(i - 1) + "]]]]\n";
  EXPECT_EQ(decode_yaml(deep).problems.size(), 1u);
}

TEST(DecodeYaml, HonoursItsLimits) {
  EXPECT_NE(decode_yaml(std::string(20'000, '[')).problems.at(0).what.find("deeper"), std::string::npos);
  EXPECT_NE(decode_yaml(std::string(20'000, '{')).problems.at(0).what.find("deeper"), std::string::npos);
  EXPECT_TRUE(decode_yaml(std::string(64, '[') + std::string(64, ']')).problems.empty());
  EXPECT_EQ(decode_yaml(std::string(65, '[') + std::string(65, ']')).problems.size(), 1u);
  std::string dashes;
  for (int i = 0; i < 20'000; ++i) dashes += "- ";
  EXPECT_EQ(decode_yaml(dashes).problems.size(), 1u);
  EXPECT_EQ(decode_yaml("[1, 2, 3, 4]", {.nodes_max = 4}).problems.size(), 1u);
  EXPECT_EQ(decode_yaml("[1, 2]", {.size_max = 5}).problems.size(), 1u);
}

TEST(DecodeYaml, RefusesBytesThatAreNotText) {
  for (const std::string& text :
       {std::string("a: \xff\n"), std::string("a: \"\xc0\xaf\"\n"), std::string("a: \x01\n"),
        std::string("a: b\0c\n", 7), std::string("a:\n\tb: 1\n"),
        std::string("\xff\xfe"
                    "a\0",
                    4)}) {
    const auto decoded = decode_yaml(text);
    EXPECT_EQ(decoded.problems.size(), 1u) << text;
    EXPECT_TRUE(decoded.documents.empty()) << text;
  }
  EXPECT_EQ(decode_yaml("ok: 1\n---\nx: y\nz: \xff\n").problems.at(0).line, 4);
}

TEST(DecodeYaml, ReadsJsonWithItsOwnEscapesAndAByteOrderMark) {
  EXPECT_EQ(one("{\"a\": \"\\ud83d\\ude00\\/\"}"), (Json::Object{{"a", "\xF0\x9F\x98\x80/"}}));
  EXPECT_EQ(one("\xEF\xBB\xBF"
                "a: 1"),
            (Json::Object{{"a", 1}}));
  EXPECT_EQ(one("{a: 1, b: [yes]} # flow YAML, no JSON"), (Json::Object{{"a", 1}, {"b", Json::Array{true}}}));
}

TEST(EncodeYaml, WritesIdiomaticYaml) {
  const Json value = Json::Object{
      {"apiVersion", "resource.k8s.io/v1"},
      {"metadata", Json::Object{{"name", "00000-x-node"}, {"labels", Json::Object{{"a/b", "yes"}}}}},
      {"spec", Json::Object{{"devices", Json::Array{Json::Object{{"name", "eth0"}, {"mtu", 1500}},
                                                    Json::Array{1, Json::Array{}}}},
                            {"empty", Json::Object{}},
                            {"none", nullptr}}}};
  EXPECT_EQ(encode_yaml(value),
            "apiVersion: resource.k8s.io/v1\n"
            "metadata:\n"
            "  name: \"00000-x-node\"\n"
            "  labels:\n"
            "    a/b: \"yes\"\n"
            "spec:\n"
            "  devices:\n"
            "  - name: eth0\n"
            "    mtu: 1500\n"
            "  - - 1\n"
            "    - []\n"
            "  empty: {}\n"
            "  none: null\n");
}

TEST(EncodeYaml, QuotesAmbiguousScalars) {
  for (const std::string text : {"",
                                 "0000:03:00.2",
                                 "1e3",
                                 "yes",
                                 "No",
                                 "oN",
                                 "y",
                                 "N",
                                 "null",
                                 "~",
                                 "Null",
                                 "true",
                                 "0123",
                                 "0o7",
                                 "0x1F",
                                 "1_000",
                                 "12",
                                 "-1",
                                 "+1",
                                 ".5",
                                 ".inf",
                                 "-.INF",
                                 ".nan",
                                 "nan",
                                 "inf",
                                 "2001-12-14",
                                 "12:30",
                                 "=",
                                 "<<",
                                 "-",
                                 "?",
                                 ":",
                                 "- a",
                                 "a: b",
                                 "a #b",
                                 "#a",
                                 " a",
                                 "a ",
                                 "a:",
                                 "[a]",
                                 "{a}",
                                 "&a",
                                 "*a",
                                 "!a",
                                 "|",
                                 ">",
                                 "%a",
                                 "@a",
                                 "`a",
                                 "'a'",
                                 "\"a\"",
                                 "a\nb",
                                 "a\tb",
                                 "---",
                                 "...",
                                 "\x7f",
                                 "\xC2\x85",
                                 "\xE2\x80\xA8",
                                 "\xEF\xBB\xBF",
                                 "1.2.3",
                                 "a\\b"}) {
    const std::string yaml = encode_yaml(Json(text));
    EXPECT_EQ(yaml.front(), '"') << text << " is written as " << yaml;
    EXPECT_EQ(one("k: " + yaml), (Json::Object{{"k", text}}));
  }
}

TEST(EncodeYaml, RoundTrips) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {"a",
                                           "Z",
                                           "0",
                                           "9",
                                           " ",
                                           ":",
                                           "-",
                                           ".",
                                           "#",
                                           "'",
                                           "\"",
                                           "\\",
                                           "\n",
                                           "\t",
                                           "\r",
                                           "[",
                                           "]",
                                           "{",
                                           "}",
                                           ",",
                                           "&",
                                           "*",
                                           "!",
                                           "|",
                                           ">",
                                           "%",
                                           "@",
                                           "`",
                                           "~",
                                           "?",
                                           "=",
                                           "<<",
                                           "y",
                                           "null",
                                           "1e3",
                                           "0x",
                                           "_",
                                           "\xC3\xA9",
                                           "\xE2\x82\xAC",
                                           "\xF0\x9F\x98\x80",
                                           "/",
                                           "+",
                                           ";",
                                           "\x01",
                                           "\x1b",
                                           "\x7f",
                                           "\xC2\x85",
                                           "\xE2\x80\xA9",
                                           "\xEF\xBF\xBE",
                                           "---"};
  const auto text = [&] {
    std::string out;
    for (size_t i = random() % 6; i-- > 0;) out += pieces[random() % pieces.size()];
    return out;
  };
  const std::function<Json(int)> value = [&](int depth) -> Json {
    switch (random() % (depth > 4 ? 5 : 8)) {
      case 0:
        return nullptr;
      case 1:
        return random() % 2 == 0;
      case 2:
        return static_cast<int64_t>((uint64_t{random()} << 32) + random());
      case 3:
        return static_cast<double>(random()) / 1024 + 0.0001;
      case 4:
        return text();
      case 5: {
        Json::Array items;
        for (size_t i = random() % 4; i-- > 0;) items.push_back(value(depth + 1));
        return items;
      }
      default: {
        Json out = Json::Object();
        for (size_t i = random() % 4; i-- > 0;)
          out.set(random() % 20 == 0 ? std::string(2000, 'k') : text(), value(depth + 1));
        return out;
      }
    }
  };
  for (int round = 0; round < 20'000; ++round) {
    const Json root = Json::Object{{"root", value(0)}};
    const std::string yaml = encode_yaml(root);
    const auto decoded = decode_yaml(yaml);
    ASSERT_TRUE(decoded.problems.empty())
        << yaml << decoded.problems[0].line << ": " << decoded.problems[0].what;
    ASSERT_EQ(decoded.documents.size(), 1u) << yaml;
    ASSERT_EQ(decoded.documents[0], root) << yaml << encode_json(decoded.documents[0]);
    ASSERT_EQ(*decode_json(encode_json(root)), root);
    ASSERT_EQ(*decode_json(encode_json_pretty(root)), root);
  }
}

}  // namespace
}  // namespace sliced::kube
