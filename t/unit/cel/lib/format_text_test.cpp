#include "cel/lib/format_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "t/unit/cel/lib/expect.h"

namespace sliced::cel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr auto kKubernetes = FormatStyle::kKubernetes;
constexpr auto kSpecification = FormatStyle::kSpecification;

using Pieces = std::vector<FormatPiece>;

// One clause with one argument, as the evaluator would do it.
std::string formatted(std::string_view format, FormatArgument argument, FormatStyle style) {
  const auto pieces = decode_format(format);
  if (!pieces) return "error: " + pieces.error().what;
  std::string all;
  for (const FormatPiece& piece : *pieces) {
    all += piece.literal;
    const auto text = piece.clause == 0 ? std::string() : render_clause(piece, argument, style);
    if (!text) return "error: " + text.error().what;
    all += *text;
  }
  return all;
}

TEST(CelFormat, ParsesTemplates) {
  EXPECT_EQ(decode_format("").value(), Pieces{});
  EXPECT_EQ(decode_format("%% and also %%").value(), (Pieces{{"% and also %"}}));
  EXPECT_EQ(decode_format("%s%%").value(), (Pieces{{"", 's'}, {"%"}}));
  EXPECT_EQ(decode_format("é %.3f,%X").value(), (Pieces{{"é ", 'f', 3}, {",", 'X'}}));
  const std::string bad = "error: could not parse formatting clause: ";
  for (const auto& [format, error] : std::initializer_list<std::pair<const char*, std::string>>{
           {"%a", bad + "unrecognized formatting clause \"a\""},
           {"% d", bad + "unrecognized formatting clause \" \""},
           {"%E", bad + "unrecognized formatting clause \"E\""},
           {"%é", bad + "unrecognized formatting clause \"é\""},
           {"%", "error: unexpected end of string"},
           {"%%%", "error: unexpected end of string"},
           {"%.3", bad + "could not find end of precision specifier"},
           {"%.", bad + "could not find end of precision specifier"},
           {"%.f", bad + "a precision without digits"},
           {"%.256f", "error: a precision beyond 255"},
           {"%.99999999999999999999f", "error: a precision beyond 255"}})
    EXPECT_EQ(formatted(format, int64_t{1}, kKubernetes), error);
}

// %x of a negative number in two's complement, or a precision that counts for integers, would be C's.
TEST(CelFormat, SupportsTheCommonClausesOfBothStyles) {
  const struct {
    const char* format;
    FormatArgument argument;
    const char* text;
  } rows[] = {
      {"%d", int64_t{-8}, "-8"},
      {"%.3d", int64_t{15}, "15"},
      {"%d", uint64_t{64}, "64"},
      {"%b", uint64_t{64}, "1000000"},
      {"%b", int64_t{-5}, "-101"},
      {"%b", true, "1"},
      {"%o", int64_t{11}, "13"},
      {"%o", uint64_t{65535}, "177777"},
      {"%o", INT64_MIN, "-1000000000000000000000"},
      {"%X", uint64_t{6000}, "1770"},
      {"%x", int64_t{-255}, "-ff"},
      {"%x", UINT64_MAX, "ffffffffffffffff"},
      {"%X", FormatBytes{"byte string"}, "6279746520737472696E67"},
      {"%X", std::string_view("hello"), "68656C6C6F"},
      {"%x", FormatBytes{std::string_view("\xff\x00", 2)}, "ff00"},
      {"%.3f", 1.2345, "1.234"},
      {"%.0f", 2.5, "2"},
      {"%.2f", 2.675, "2.67"},
      {"%.5f", -1.2, "-1.20000"},
      {"%.2f", -0.001, "-0.00"},
      {"%.20f", 0.1, "0.10000000000000000555"},
      {"%f", kNan, "NaN"},
      {"%s", true, "true"},
      {"%s", 56.8, "56.8"},
      {"%.3s", std::string_view("abcdef"), "abcdef"},
      {"%s", FormatBytes{"abc"}, "abc"},
      {"%s", FormatOther{"null_type", "null"}, "null"},
      {"%s", FormatOther{"google.protobuf.Duration", "1802s"}, "1802s"},
  };
  for (const auto style : {kKubernetes, kSpecification})
    for (const auto& row : rows)
      EXPECT_EQ(formatted(row.format, row.argument, style), row.text) << row.format;
}

TEST(CelFormat, ClausesRefuseOtherKinds) {
  const std::string error = "error: error during formatting: ";
  const FormatOther null{"null_type", "null"};
  for (const auto style : {kKubernetes, kSpecification}) {
    EXPECT_EQ(formatted("%d", std::string_view("a"), style),
              error + "decimal clause can only be used on integers, was given string");
    EXPECT_EQ(formatted("%d", FormatOther{"google.protobuf.Duration", "1s"}, style),
              error + "decimal clause can only be used on integers, was given google.protobuf.Duration");
    EXPECT_EQ(formatted("%o", true, style),
              error + "octal clause can only be used on integers, was given bool");
    EXPECT_EQ(formatted("%b", null, style),
              error + "only integers and bools can be formatted as binary, was given null_type");
    EXPECT_EQ(formatted("%x", 1.5, style),
              error + "only integers, byte buffers, and strings can be formatted as hex, was given double");
    EXPECT_EQ(formatted("%f", std::string_view("abc"), style),
              error + "fixed-point clause can only be used on doubles, was given string");
    EXPECT_EQ(formatted("%e", null, style),
              error + "scientific clause can only be used on doubles, was given null_type");
  }
}

// The older formatter writes for people who read English; its %e has a width where a precision was meant.
TEST(CelFormat, FormatsNumbersAsKubernetesDoes) {
  const struct {
    const char* format;
    double value;
    const char* text;
  } rows[] = {
      {"%f", 2.71828, "2.718280"},
      {"%f", 123, "123.000000"},
      {"%f", -1234567.891, "-1,234,567.891000"},
      {"%.1f", 999.95, "1,000.0"},
      {"%.0f", 1180591620717411303424.0, "1,180,591,620,717,411,303,424"},
      {"%f", -0.0, "0.000000"},
      {"%f", kInfinity, "∞"},
      {"%e", 1052.032911275, "1.052033×10⁰³"},
      {"%e", -0.00012345, "-1.234500×10⁻⁰⁴"},
      {"%e", -0.0, "0.000000×10⁰⁰"},
      {"%e", 5e-324, "4.940656×10⁻³²⁴"},
      {"%.2e", 1e15, "1.000000×10¹⁵"},
      {"%.25e", 1.5, "            1.500000×10⁰⁰"},
      {"%e", kNan, "   NaN"},
      {"%e", -kInfinity, "    -∞"},
      {"%s", 1e10, "1e+10"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(formatted(row.format, row.value, kKubernetes), row.text) << row.format;
  EXPECT_EQ(formatted("%f", std::string_view("-Infinity"), kKubernetes), "-∞");
  EXPECT_EQ(formatted("%f", int64_t{2}, kKubernetes),
            "error: error during formatting: fixed-point clause can only be used on doubles, was given int");
  EXPECT_EQ(formatted("%d", kNan, kKubernetes),
            "error: error during formatting: decimal clause can only be used on integers, was given double");
  EXPECT_EQ(formatted("%.255f", 1.7976931348623157e308, kKubernetes).size(), 309u + 102 + 256);
}

TEST(CelFormat, FormatsNumbersByTheSpecification) {
  const struct {
    const char* format;
    FormatArgument argument;
    const char* text;
  } rows[] = {
      {"%.6e", 1052.032911275, "1.052033e+03"},
      {"%e", int64_t{2}, "2.000000e+00"},
      {"%f", uint64_t{3}, "3.000000"},
      {"%f", 1234567.891, "1234567.891000"},
      {"%f", kInfinity, "Infinity"},
      {"%d", -kInfinity, "-Infinity"},
      {"%e", kNan, "NaN"},
      {"%s", 1e10, "10000000000"},
      {"%s", 5e-7, "0.0000005"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(formatted(row.format, row.argument, kSpecification), row.text) << row.format;
}

// Kubernetes shows literals of CEL inside of lists and maps; unescaped quotes would make them ambiguous.
TEST(CelFormat, ListsAndMaps) {
  const auto element = [](FormatArgument argument, FormatStyle style) {
    return shown(render_element(argument, style));
  };
  const FormatOther when{"google.protobuf.Timestamp", "2023-02-03T23:31:20Z"},
      long_{"google.protobuf.Duration", "422s"};
  EXPECT_EQ(element(std::string_view("b\"c\n\x01\x7fé\u200b\u00a0\u2028😀\U000E0001"), kKubernetes),
            R"("b\"c\n\x01\x7fé\u200b\u00a0\u2028😀\U000e0001")");
  EXPECT_EQ(element(3.14, kKubernetes), "3.140000");
  EXPECT_EQ(element(kNan, kKubernetes), "\"NaN\"");
  EXPECT_EQ(element(FormatBytes{"ab"}, kKubernetes), "b\"ab\"");
  EXPECT_EQ(element(FormatBytes{"\xff"}, kKubernetes),
            "error: invalid UTF-8 in bytes, cannot convert to string");
  EXPECT_EQ(element(when, kKubernetes), "timestamp(\"2023-02-03T23:31:20Z\")");
  EXPECT_EQ(element(long_, kKubernetes), "duration(\"422s\")");
  EXPECT_EQ(element(int64_t{7}, kKubernetes), "7");
  EXPECT_EQ(element(std::string_view("abc"), kSpecification), "abc");
  EXPECT_EQ(element(3.14, kSpecification), "3.14");
  EXPECT_EQ(element(when, kSpecification), "2023-02-03T23:31:20Z");
  EXPECT_EQ(render_list({}), "[]");
  EXPECT_EQ(render_list({"9", "8"}), "[9, 8]");
  EXPECT_EQ(render_map({{"9", "b"}, {"10", "a"}}, kKubernetes), "{10:a, 9:b}");
  EXPECT_EQ(render_map({{"true", "NaN"}, {"1", "value1"}}, kSpecification), "{1: value1, true: NaN}");
}

}  // namespace
}  // namespace sliced::cel
