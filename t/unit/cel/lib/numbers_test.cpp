#include "cel/lib/numbers.h"

#include <gtest/gtest.h>

#include <limits>

#include "t/unit/cel/lib/expect.h"

namespace sliced::cel {
namespace numbers_test {

constexpr int64_t kIntMax = INT64_MAX, kIntMin = INT64_MIN;
constexpr uint64_t kUintMax = UINT64_MAX;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// C++'s own choice between fixed and scientific is the shorter one, or begins at another exponent.
TEST(CelNumbers, WritesDoublesLikeGo) {
  const struct {
    double value;
    const char* text;
  } rows[] = {
      {1, "1"},
      {-0.0, "-0"},
      {100000, "100000"},
      {1000000, "1e+06"},
      {999999.5, "999999.5"},
      {12345678.9, "1.23456789e+07"},
      {123456789012345680000.0, "1.2345678901234568e+20"},
      {1e21, "1e+21"},
      {0.0001, "0.0001"},
      {0.00001234, "1.234e-05"},
      {-4.5e-3, "-0.0045"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},
      {kNan, "NaN"},
      {kInfinity, "+Inf"},
      {-kInfinity, "-Inf"},
  };
  for (const auto& row : rows) EXPECT_EQ(double_text(row.value), row.text);
}

// from_chars alone stops at junk, takes "-1" for unsigned and no "+".
TEST(CelNumbers, ConvertsOnlyWholeTextsToNumbers) {
  const std::string no_int = "error: cannot convert \"", no_uint = no_int;
  for (const auto& [text, value] : std::initializer_list<std::pair<const char*, int64_t>>{
           {"987", 987}, {"+1", 1}, {"-0", 0}, {"007", 7}, {"-9223372036854775808", kIntMin}})
    EXPECT_EQ(shown(to_int(text)), shown(value)) << text;
  for (const char* text :
       {"", " 1", "1 ", "0x10", "1_000", "+", "-", "+-1", "--1", "1.0", "9223372036854775808"})
    EXPECT_EQ(shown(to_int(text)), no_int + text + "\" to int");

  EXPECT_EQ(shown(to_uint("300")), "300u");
  EXPECT_EQ(shown(to_uint("18446744073709551615")), "18446744073709551615u");
  for (const char* text : {"", "+1", "-0", "-1", " 1", "18446744073709551616"})
    EXPECT_EQ(shown(to_uint(text)), no_uint + text + "\" to uint");

  for (const char* text : {"1", "t", "T", "true", "TRUE", "True"}) EXPECT_EQ(shown(to_bool(text)), "true");
  for (const char* text : {"0", "f", "F", "false", "FALSE", "False"})
    EXPECT_EQ(shown(to_bool(text)), "false");
  for (const char* text : {"", "tRuE", "yes", "01"}) EXPECT_FALSE(to_bool(text)) << text;
}

// Out of range is one code for both ends: the small end is a zero, the large one an error.
TEST(CelNumbers, TextsBecomeDoubles) {
  for (const auto& [text, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0", "0"},
           {"-0.0", "-0"},
           {".5", "0.5"},
           {"5.", "5"},
           {"+5e+3", "5000"},
           {"-987.654", "-987.654"},
           {"6.02214e23", "6.02214e+23"},
           {"1_000.5", "1000.5"},
           {"1e1_0", "1e+10"},
           {"0x1p4", "16"},
           {"0X.8P1", "1"},
           {"0x_1p4", "16"},
           {"0x1p-99999", "0"},
           {"infinity", "+Inf"},
           {"+Inf", "+Inf"},
           {"-inf", "-Inf"},
           {"NAN", "NaN"},
           {"-1e-400", "-0"},
           {"0.00000000000000000000000000001e-300", "0"},
           {"1000000000000000000000000000000e-400", "0"},
           {"1e-99999999999999999999", "0"},
           {"0e99999999999999999999", "0"}})
    EXPECT_EQ(shown(to_double(text)), value) << text;
  for (const char* text : {"",
                           ".",
                           "-",
                           "+-1",
                           " 1",
                           "1e",
                           "1d",
                           "+nan",
                           "nan(1)",
                           "inf1",
                           "_1",
                           "1_",
                           "1__0",
                           "1_.5",
                           "0x",
                           "0x1",
                           "0x1p99999",
                           "0x1p+-3",
                           "0x1p",
                           "0x1p+",
                           "1e400",
                           "0.001e400",
                           "1e99999999999999999999"})
    EXPECT_EQ(shown(to_double(text)), std::string("error: cannot convert \"") + text + "\" to double");
  const std::string zeros(400, '0');
  EXPECT_EQ(shown(to_double("0." + zeros + "1e5")), "0");
  EXPECT_FALSE(to_double("1" + zeros + "e-5"));
}

// Converting a double outside of the range is undefined in C++.
TEST(CelNumbers, ConversionsBetweenKindsCheckTheRange) {
  EXPECT_EQ(shown(to_int(-123.456)), "-123");
  EXPECT_EQ(shown(to_int(11.5)), "11");
  EXPECT_EQ(shown(to_int(9223372036854774784.0)), "9223372036854774784");
  for (const double value : {9223372036854775808.0, -9223372036854775808.0, 1e99, kNan, kInfinity})
    EXPECT_EQ(shown(to_int(value)), "error: integer overflow") << value;
  EXPECT_EQ(shown(to_uint(3.14159265)), "3u");
  EXPECT_EQ(shown(to_uint(-0.0)), "0u");
  EXPECT_EQ(shown(to_uint(18446744073709549568.0)), "18446744073709549568u");
  for (const double value : {-0.5, -1.0, 18446744073709551616.0, 6.022e23, kNan, -kInfinity})
    EXPECT_EQ(shown(to_uint(value)), "error: unsigned integer overflow") << value;
  EXPECT_EQ(shown(to_int(uint64_t{9223372036854775807})), "9223372036854775807");
  EXPECT_EQ(shown(to_int(kUintMax)), "error: integer overflow");
  EXPECT_EQ(shown(to_uint(kIntMax)), "9223372036854775807u");
  EXPECT_EQ(shown(to_uint(int64_t{-1})), "error: unsigned integer overflow");
}

// Without the checks the sums wrap, and the divisions raise SIGFPE.
TEST(CelNumbers, ArithmeticNeverWraps) {
  const std::string over = "error: integer overflow", under = "error: unsigned integer overflow";
  EXPECT_EQ(shown(add(int64_t{40}, int64_t{2})), "42");
  EXPECT_EQ(shown(subtract(int64_t{40}, int64_t{42})), "-2");
  EXPECT_EQ(shown(multiply(int64_t{-6}, int64_t{7})), "-42");
  EXPECT_EQ(shown(add(uint64_t{40}, uint64_t{2})), "42u");
  EXPECT_EQ(shown(subtract(uint64_t{44}, uint64_t{2})), "42u");
  EXPECT_EQ(shown(multiply(uint64_t{6}, uint64_t{7})), "42u");
  EXPECT_EQ(shown(add(kIntMax, int64_t{1})), over);
  EXPECT_EQ(shown(subtract(kIntMin, int64_t{1})), over);
  EXPECT_EQ(shown(multiply(kIntMax, int64_t{2})), over);
  EXPECT_EQ(shown(multiply(kIntMin, int64_t{-1})), over);
  EXPECT_EQ(shown(negate(kIntMin)), over);
  EXPECT_EQ(shown(negate(int64_t{5})), "-5");
  EXPECT_EQ(shown(divide(int64_t{-7}, int64_t{2})), "-3");
  EXPECT_EQ(shown(modulo(int64_t{-7}, int64_t{2})), "-1");
  EXPECT_EQ(shown(divide(kIntMin, int64_t{-1})), over);
  EXPECT_EQ(shown(modulo(kIntMin, int64_t{-1})), over);
  EXPECT_EQ(shown(divide(int64_t{1}, int64_t{0})), "error: division by zero");
  EXPECT_EQ(shown(modulo(int64_t{1}, int64_t{0})), "error: modulus by zero");
  EXPECT_EQ(shown(subtract(uint64_t{1}, uint64_t{2})), under);
  EXPECT_EQ(shown(add(kUintMax, uint64_t{1})), under);
  EXPECT_EQ(shown(multiply(kUintMax, uint64_t{2})), under);
  EXPECT_EQ(shown(divide(kUintMax, uint64_t{2})), "9223372036854775807u");
  EXPECT_EQ(shown(modulo(kUintMax, uint64_t{10})), "5u");
  EXPECT_EQ(shown(divide(uint64_t{1}, uint64_t{0})), "error: division by zero");
  EXPECT_EQ(shown(modulo(uint64_t{1}, uint64_t{0})), "error: modulus by zero");
}

// An int that is cast to uint first would be the larger one.
TEST(CelNumbers, ComparesThreeKindsByValue) {
  EXPECT_TRUE(compare(int64_t{-1}, kUintMax) < 0);
  EXPECT_TRUE(compare(kIntMax, uint64_t{9223372036854775807}) == 0);
  EXPECT_TRUE(compare(kIntMax, kUintMax) < 0);
  EXPECT_TRUE(compare(int64_t{1}, 1.5) < 0);
  EXPECT_TRUE(compare(kIntMax, 9223372036854775808.0) == 0);
  EXPECT_TRUE(compare(kIntMax, 9223372036854777856.0) < 0);
  EXPECT_TRUE(compare(uint64_t{42}, 42.0) == 0);
  EXPECT_TRUE(compare(uint64_t{0}, -0.5) > 0);
  EXPECT_TRUE(compare(kUintMax, kInfinity) < 0);
  EXPECT_TRUE(compare(int64_t{0}, kNan) == std::partial_ordering::unordered);
}

}  // namespace numbers_test
}  // namespace sliced::cel
