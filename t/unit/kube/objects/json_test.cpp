#include "kube/objects/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace {

TEST(DecodeJson, ReadsEveryKindOfValue) {
  const auto json =
      decode_json(R"({"n":null,"t":true,"f":false,"i":-7,"d":1.5,"s":"a\"b","l":[1,"x",[]],"m":{"k":{}}})");
  ASSERT_TRUE(json.ok()) << json.error().what;
  EXPECT_EQ(*json, (Json::Object{{"n", nullptr},
                                 {"t", true},
                                 {"f", false},
                                 {"i", -7},
                                 {"d", 1.5},
                                 {"s", "a\"b"},
                                 {"l", Json::Array{1, "x", Json::Array{}}},
                                 {"m", Json::Object{{"k", Json::Object{}}}}}));
}

TEST(DecodeJson, ReadsScalarsAtTheRoot) {
  const struct {
    std::string text;
    Json wanted;
  } rows[] = {{"null", nullptr}, {" true ", true}, {"false", false},      {"12", 12},
              {"-0.5\n", -0.5},  {"\"x\"", "x"},   {"[]", Json::Array{}}, {"\t{}", Json::Object{}}};
  for (const auto& row : rows) {
    const auto json = decode_json(row.text);
    ASSERT_TRUE(json.ok()) << row.text << ": " << json.error().what;
    EXPECT_EQ(*json, row.wanted) << row.text;
  }
}

TEST(DecodeJson, KeepsIntegersExact) {
  const struct {
    std::string text;
    Json wanted;
  } rows[] = {
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<int64_t>::min()},
      {"9223372036854775808", 9223372036854775808.0},
      {"18446744073709551615", 18446744073709551615.0},
      {"18446744073709551616", 18446744073709551616.0},
      {"1500.0000000000000001", 1500.0},
      {"-4.000000000000000000000 ", -4.0},
      {"123456789012345678.9", 123456789012345678.9},
      {"0.000000000000000000000000012345678901234567890123e10", 1.2345678901234567890123e-16},
      {"-9223372036854775809", -9223372036854775809.0},
      {"100000000000000000000000", 1e23},
      {"1e3", 1000.0},
      {"1.0", 1.0},
      {"9007199254740993", int64_t{9007199254740993}},
  };
  for (const auto& row : rows) {
    for (const auto& [prefix, suffix] : {std::pair{"", ""}, {"[", "]"}}) {
      const auto json = decode_json(prefix + row.text + suffix);
      ASSERT_TRUE(json.ok()) << row.text << ": " << json.error().what;
      EXPECT_EQ(*prefix ? json->array()->at(0) : *json, row.wanted) << row.text;
    }
  }
}

TEST(DecodeJson, RefusesOtherThanOneDocument) {
  const std::string_view rows[] = {
      "",
      "   ",
      "{",
      "}",
      "[",
      "]",
      "[1",
      "[1,]",
      "[,1]",
      "[1 2]",
      "{\"a\":1,}",
      "{\"a\" 1}",
      "{\"a\":}",
      "{a:1}",
      "{'a':1}",
      "{\"a\":1]",
      "[1}",
      "{\"a\":1}x",
      "{\"a\":1} {\"b\":2}",
      "[1][2]",
      "1 2",
      "nul",
      "nulll",
      "tru",
      "truex",
      "\"a",
      "\"a\nb\"",
      "\"\\q\"",
      "\"\\u12\"",
      "\"\\ud800\"",
      "\"\\ud800x\"",
      "\"\\udc00\"",
      "\"\xff\"",
      "\"\xc0\xaf\"",
      "\"\xed\xa0\x80\"",
      "01",
      "-",
      "+1",
      "1.",
      ".5",
      "1e",
      "0x10",
      "NaN",
      "Infinity",
      "1e400",
      "[01]",
      "[-]",
      "[1.]",
      "[nul]",
      "[truex]",
      "{\"a\":01}",
      "{\"a\":nul}",
      "{1:2}",
      "{\"a\":1,,\"b\":2}",
      "// x\n1",
      "[\"a\" \"b\"]",
      "{\"a\":1 \"b\":2}",
      "-09223372036854775809",
      "[00000000000000000000000]",
      {"[null\0]", 7},
      {"[1\0,2]", 7},
      {"\0{}", 3},
  };
  for (const auto row : rows) {
    const auto json = decode_json(row);
    EXPECT_FALSE(json.ok()) << row << " was read as " << (json.ok() ? encode_json(*json) : "");
    if (!json.ok()) {
      EXPECT_EQ(json.error().code, Errc::kInvalid) << row;
    }
  }
}

TEST(DecodeJson, EveryPrefixOfADocumentIsRefused) {
  const std::string text = R"({"a":[1,2.5,"x\u00e9",{"b":null}],"c":true})";
  ASSERT_TRUE(decode_json(text).ok());
  for (size_t cut = 0; cut < text.size(); ++cut) EXPECT_FALSE(decode_json(text.substr(0, cut)).ok()) << cut;
}

TEST(DecodeJson, RefusesDuplicateKeysAtAnyLevelAndInLargeMaps) {
  EXPECT_NE(decode_json(R"({"a":1,"a":1})").error().what.find("\"a\" appears twice"), std::string::npos);
  EXPECT_FALSE(decode_json(R"([{"x":{"a":1,"b":2,"\u0061":3}}])").ok()) << "an escaped key is the same key";
  std::string large = "{";
  for (int i = 0; i < 1000; ++i) large += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(decode_json(large + "\"z\":0}").ok());
  EXPECT_FALSE(decode_json(large + "\"k3\":0}").ok());
  EXPECT_FALSE(decode_json(large + "\"k999\":0}").ok());
}

TEST(DecodeJson, HonoursItsLimits) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(decode_json(nested(64)).ok());
  EXPECT_EQ(decode_json(nested(65)).error().code, Errc::kTooLarge);
  EXPECT_EQ(decode_json(nested(20'000)).error().code, Errc::kTooLarge);
  EXPECT_FALSE(decode_json(std::string(20'000, '[')).ok());
  EXPECT_TRUE(decode_json("[1,2,3]", {.nodes_max = 4}).ok());
  EXPECT_EQ(decode_json("[1,2,3,4]", {.nodes_max = 4}).error().code, Errc::kTooLarge);
  EXPECT_TRUE(decode_json("[1,2]", {.size_max = 5}).ok());
  EXPECT_EQ(decode_json("[1,20]", {.size_max = 5}).error().code, Errc::kTooLarge);
}

TEST(DecodeJson, ErrorsHaveAPosition) {
  EXPECT_NE(decode_json("{\"a\": 1, \"b\": x}").error().what.find("byte 14"), std::string::npos)
      << decode_json("{\"a\": 1, \"b\": x}").error().what;
}

TEST(DecodeJson, ReturnsLinesOnRequest) {
  const auto json = decode_json_with_lines("{\n \"a\": 1,\n\n \"b\": [\n  2,\n  {\"c\": \"x\\n\"}]}");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->line(), 1);
  EXPECT_EQ(json->find("a")->line(), 2);
  EXPECT_EQ(json->find("b")->line(), 4);
  EXPECT_EQ(json->find("b")->array()->at(0).line(), 5);
  EXPECT_EQ(json->find("b")->array()->at(1).find("c")->line(), 6);
}

TEST(EncodeJson, WritesCompactAndPretty) {
  const Json value =
      Json::Object{{"a", Json::Array{1, nullptr}}, {"b", Json::Object{}}, {"c", Json::Array{}}};
  EXPECT_EQ(encode_json(value), R"({"a":[1,null],"b":{},"c":[]})");
  EXPECT_EQ(encode_json_pretty(value),
            "{\n  \"a\": [\n    1,\n    null\n  ],\n  \"b\": {},\n  \"c\": []\n}\n");
}

TEST(EncodeJson, DoublesReadBackTheSame) {
  const double rows[] = {
      0.1, 1.0, -0.0, 1e300, 5e-324, 1e22, 123456789.125, std::numeric_limits<double>::max(), 1e15, 1e16};
  for (const double row : rows) {
    const auto back = decode_json(encode_json(Json(row)));
    ASSERT_TRUE(back.ok()) << encode_json(Json(row));
    ASSERT_NE(back->number(), nullptr) << encode_json(Json(row));
    EXPECT_EQ(*back->number(), row);
  }
  EXPECT_EQ(encode_json(Json(0.1)), "0.1");
  EXPECT_EQ(encode_json(Json(std::nan(""))), "null");
}

TEST(EncodeJson, EveryByteStringBecomesValidJson) {
  for (int first = 0; first < 256; ++first) {
    for (const std::string tail : {"", "a", "\x80", "\xbf\xbf"}) {
      const std::string text = std::string("x") + static_cast<char>(first) + tail;
      const auto back = decode_json(encode_json(Json(text)));
      ASSERT_TRUE(back.ok()) << first;
      if (first < 0x80 && (tail.empty() || tail == "a")) {
        EXPECT_EQ(*back->string(), text);
      }
    }
  }
  EXPECT_EQ(encode_json(Json("a\xff"
                             "b")),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(encode_json(Json("\x01\n\"\\")), R"("\u0001\n\"\\")");
  EXPECT_EQ(encode_json(Json("\xF0\x9F\x98\x80")), "\"\xF0\x9F\x98\x80\"");
  EXPECT_EQ(*decode_json(R"("\ud83d\ude00")"), Json("\xF0\x9F\x98\x80"));
}

TEST(Json, FindsTextAndSets) {
  Json value;
  value.set("a", Json::Object{{"b", Json::Object{{"c", "x"}}}});
  EXPECT_EQ(value.find({"a", "b", "c"})->string()[0], "x");
  EXPECT_EQ(value.find({"a", "z", "c"}), nullptr);
  EXPECT_EQ(value.find("a")->text("b"), "") << "no string";
  value.set("a", 1);
  value.set("d", 2);
  EXPECT_EQ(encode_json(value), R"({"a":1,"d":2})");
  EXPECT_EQ(Json("x").find("a"), nullptr);
}

TEST(Json, NamesItsKind) {
  EXPECT_EQ(Json().kind_name(), "null");
  EXPECT_EQ(Json(1).kind_name(), "number");
  EXPECT_EQ(Json(1.5).kind_name(), "number");
  EXPECT_EQ(Json(true).kind_name(), "boolean");
  EXPECT_EQ(Json("").kind_name(), "string");
  EXPECT_EQ(Json(Json::Array{}).kind_name(), "list");
  EXPECT_EQ(Json(Json::Object{}).kind_name(), "map");
}

}  // namespace
}  // namespace sliced::kube
