#include "cel/lib/cel_quantity.h"

#include <gtest/gtest.h>

#include "t/unit/cel/lib/expect.h"

namespace sliced::cel {
namespace {

CelQuantity quantity(std::string_view text) {
  const auto decoded = CelQuantity::decode(text);
  EXPECT_TRUE(decoded) << text;
  return decoded.value_or(CelQuantity());
}

std::string integer(const CelQuantity& value) {
  const auto number = value.as_integer();
  return number ? std::to_string(*number) : "none";
}

// What Kubernetes accepts beyond reason is accepted: a selector that it runs must run.
TEST(CelQuantity, FollowsTheGrammarOfUpstream) {
  for (const char* text : {"0", "+5", ".5", "5.", "1e3", "1E3", "1E", "1E+3", "1e-3", "00", "+", "-", ".",
                           "m", "Ki", "e3", "-.m", "00.m", "123456789012345678901234567890n"})
    EXPECT_TRUE(CelQuantity::decode(text)) << text;
  for (const char* text :
       {"",    "1K",  "1mi", "1e",  "1e+-3", "1e3k", "1Ee3", "1.2.3", " 1",     "1 ",
        "00x", "--1", "0x1", "1m3", "Ei",    ".Pi",  "e-10", "1k+",   "1e1001", "1e99999999999"})
    EXPECT_EQ(CelQuantity::decode(text).error().code, Errc::kInvalid) << text;
}

// A sum of exponents, or of their digits, must not wrap or take the time of its size.
TEST(CelQuantity, SizesAreBounded) {
  for (const std::string& text : {std::string(CelQuantity::kDigitsMax, '9'), std::string(200, '1') + "e900"})
    EXPECT_EQ(CelQuantity::decode(text).error().code, Errc::kTooLarge) << text;
  EXPECT_EQ(quantity("0." + std::string(20, '1') + "Ki"), quantity("113777777778n"));
  EXPECT_EQ(quantity("0." + std::string(1000, '0') + "1"), quantity("1n"));
  EXPECT_EQ(quantity(std::string(1000, '9') + "Ki"), quantity("8Ei"));
  EXPECT_EQ(quantity(std::string(19, '9') + "Ei"), quantity("8Ei"));
  EXPECT_GT(quantity("1e1000"), quantity("1e999"));
  EXPECT_LT(quantity("-1e1000"), quantity("-1e999"));
  EXPECT_EQ(*quantity("1e1000").add(quantity("1"))->sub(quantity("1e1000")), quantity("1"));
  EXPECT_EQ(quantity("1e1000").sub(quantity("1e1000"))->sign(), 0);
  const auto large =
      quantity(std::string(CelQuantity::kDigitsMax - 9, '9'));  // as many as there may be in nanos
  EXPECT_EQ(large.add(large).error().code, Errc::kTooLarge);
}

TEST(CelQuantity, ComparesByRoundedValue) {
  for (const auto& [a, b] :
       std::initializer_list<std::pair<const char*, const char*>>{{"1Mi", "1048576"},
                                                                  {"1.5Ki", "1536"},
                                                                  {"1000m", "1"},
                                                                  {"1k", "1e3"},
                                                                  {"m", "0"},
                                                                  {"-0", "0"},
                                                                  {"0.1n", "1n"},
                                                                  {"-0.1n", "-1n"},
                                                                  {"1e-10", "1n"},
                                                                  {"1.0000000001", "1.000000001"},
                                                                  {"1.123456789012345678", "1.123456790"},
                                                                  {"0.0001Ki", "102400u"},
                                                                  {"0.00000000001Ki", "11n"},
                                                                  {"8Ei", "9Ei"},
                                                                  {"-8Ei", "-9Ei"},
                                                                  {"8Ei", "9223372036854775807"},
                                                                  {"1e20", "100000000000000000000"}})
    EXPECT_EQ(quantity(a), quantity(b)) << a;
  const std::initializer_list<const char*> ascending = {"-1e30", "-2",  "-1.5", "-1n",  "0",   "1n",  "999m",
                                                        "1",     "1.5", "2",    "9",    "10",  "1Ki", "1M",
                                                        "1Mi",   "7Ei", "8Ei",  "1e19", "1e30"};
  for (const auto *i = ascending.begin(), *j = i + 1; j != ascending.end(); ++i, ++j)
    EXPECT_LT(quantity(*i), quantity(*j)) << *i << " and " << *j;
}

// Upstream answers by the form that a number is kept in; asking for a whole number instead gives "1" for
// "1.0".
TEST(CelQuantity, RecognizesIntegersLikeUpstream) {
  for (const auto& [text, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0", "0"},
           {"0m", "none"},
           {"0Ki", "0"},
           {"1Ki", "1024"},
           {"1.Ki", "1024"},
           {"1.0Ki", "none"},
           {"99999999Mi", "104857598951424"},
           {"999999999Mi", "none"},
           {"99999Gi", "107373108658176"},
           {"999999Gi", "none"},
           {"99Ti", "108851651149824"},
           {"999Ti", "none"},
           {"1Pi", "none"},
           {"7Ei", "none"},
           {"1E", "1000000000000000000"},
           {"9E", "9000000000000000000"},
           {"10E", "none"},
           {"1e3", "1000"},
           {"9223372036854775807", "none"},
           {"123456789012345678", "123456789012345678"},
           {"1.0", "none"},
           {"1.0k", "1000"},
           {"1.5k", "1500"},
           {"1500m", "none"},
           {"0000000000000000000000000001", "1"},
           {"m", "none"}})
    EXPECT_EQ(integer(quantity(text)), value) << text;
}

TEST(CelQuantity, SumsKeepTheirForm) {
  const auto sum = [](const char* a, const char* b) { return *quantity(a).add(quantity(b)); };
  EXPECT_EQ(sum("500m", "500m"), quantity("1"));
  EXPECT_EQ(integer(sum("500m", "500m")), "none");
  EXPECT_EQ(integer(sum("1k", "1")), "1001");
  EXPECT_EQ(integer(sum("1", "1k")), "1001");
  EXPECT_EQ(integer(sum("0m", "1")), "1") << "zero takes the other's form";
  EXPECT_EQ(integer(sum("1m", "0")), "none");
  EXPECT_EQ(sum("1Ei", "1Ei"), quantity("2Ei"));
  EXPECT_EQ(integer(*quantity("1").add(CelQuantity(INT64_MAX - 1))), "9223372036854775807");
  EXPECT_EQ(integer(*quantity("1").add(CelQuantity(INT64_MAX))), "none");
  EXPECT_EQ(*quantity("1").add(CelQuantity(INT64_MAX)), quantity("9223372036854775808"));
  EXPECT_EQ(integer(*quantity("1").sub(CelQuantity(3))), "-2");
  EXPECT_EQ(integer(*quantity("10E").sub(CelQuantity(9'000'000'000'000'000'000))), "none")
      << "10E is not an int64";
  EXPECT_EQ(integer(*quantity("0").sub(CelQuantity(INT64_MIN))), "-9223372036854775808")
      << "upstream's own opposite";
  EXPECT_EQ(*quantity("-1").sub(CelQuantity(INT64_MIN)), quantity("9223372036854775807"));
}

// Dividing by 10^9 instead of multiplying with its inverse gives 7e-09.
TEST(CelQuantity, RoundsApproximateFloatsLikeUpstream) {
  for (const auto& [text, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"1.5", "1.5"},
           {"100m", "0.1"},
           {"123456789012345678901", "1.2345678901234568e+20"},
           {"1234567890123456789", "1.234567890123457e+18"},
           {"0.3Ki", "307.20000000000005"},
           {"7n", "7.000000000000001e-09"},
           {"1.1n", "2e-09"},
           {"333m", "0.333"},
           {"3e40", "3e+40"},
           {"123456789012345678901234567890123456789012345", "1.2345678901234569e+44"},
           {"16Ei", "9.223372036854776e+18"},
           {"-16Ei", "-9.223372036854776e+18"},
           {"1e308", "1e+308"},
           {"1e309", "+Inf"},
           {"-1e309", "-Inf"},
           {"0e309", "NaN"},
           {"m", "0"}})
    EXPECT_EQ(shown(quantity(text).as_approximate_float()), value) << text;
  EXPECT_EQ(quantity("-1m").sign(), -1);
  EXPECT_EQ(quantity("-0").sign(), 0);
}

}  // namespace
}  // namespace sliced::cel
