#include "kube/objects/quantity.h"

#include <gtest/gtest.h>

namespace sliced::kube {
namespace {

Quantity of(std::string_view text) {
  auto quantity = Quantity::decode(text);
  EXPECT_TRUE(quantity.ok()) << text << ": " << (quantity.ok() ? "" : quantity.error().what);
  return quantity.ok() ? *quantity : Quantity();
}

TEST(Quantity, EqualValuesInDifferentFormatsAreEqual) {
  const struct {
    std::string_view a, b;
  } rows[] = {
      {"100000", "100k"},
      {"1", "1000m"},
      {"1", "1.0"},
      {"1", "01"},
      {"1024", "1Ki"},
      {"1Gi", "1024Mi"},
      {"1Ei", "1152921504606846976"},
      {"1E", "1000000000000000000"},
      {"1e3", "1k"},
      {"1E3", "1000"},
      {"1E+3", "1e03"},
      {"1e-3", "1m"},
      {"0.5", "500m"},
      {".5", "0.5"},
      {"5.", "5"},
      {"+5", "5"},
      {"-1", "-1000m"},
      {"0", "-0"},
      {"0", "0Ki"},
      {"1n", "0.000000001"},
      {"1u", "1000n"},
      {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},
      {"1P", "1000T"},
      {"1M", "1000k"},
      {"1.000000000000000000000000", "1"},
      {"9223372036854775807", "9223372036854775.807k"},
      {"0.1Ki", "102.4"},
      {"0e999", "0"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(of(row.a), of(row.b)) << row.a << " " << row.b;
    EXPECT_EQ(of(row.a).text(), row.a) << "the text is kept";
  }
}

TEST(Quantity, ComparesByValue) {
  const std::string_view ascending[] = {"-1Ki", "-1k", "-1", "-1n", "0",  "1n",  "1u",   "1m",
                                        "999m", "1",   "1k", "1Ki", "1M", "1Mi", "1e18", "1Ei"};
  for (size_t i = 0; i + 1 < std::size(ascending); ++i) {
    EXPECT_LT(of(ascending[i]), of(ascending[i + 1])) << ascending[i];
    EXPECT_GT(of(ascending[i + 1]), of(ascending[i])) << ascending[i];
    EXPECT_NE(of(ascending[i]), of(ascending[i + 1]));
  }
  EXPECT_TRUE(of("-1n").is_negative());
  EXPECT_FALSE(of("0").is_negative());
  EXPECT_EQ(Quantity(1000), of("1k"));
  EXPECT_EQ(Quantity(1000).text(), "1000");
  EXPECT_EQ(Quantity(), of("0"));
}

TEST(Quantity, RefusesEverythingElse) {
  for (const std::string_view text : {"",       " ",
                                      "1 ",     " 1",
                                      "k",      "Ki",
                                      ".",      "-",
                                      "+",      "--1",
                                      "1.2.3",  "1ki",
                                      "1K",     "1mi",
                                      "1KiB",   "1e",
                                      "1E+",    "1ex",
                                      "1e1.5",  "e3",
                                      "0x10",   "1_000",
                                      "1,5",    "1e+-3",
                                      "1e5000", "1e-2147483648",
                                      "NaN",    "inf",
                                      "1\n",    "1i",
                                      "1Kii"}) {
    const auto quantity = Quantity::decode(text);
    ASSERT_FALSE(quantity.ok()) << text;
    EXPECT_EQ(quantity.error().code, Errc::kInvalid) << text;
  }
}

TEST(Quantity, RefusesValuesThatTheServerWouldRound) {
  for (const std::string_view text :
       {"0.5n", "1e-10", "0.0000000001", "9223372036854775808", "1e19", "8Ei", "-1e19", "10E", "1e999",
        "1e-999", "022337203685477584771Ei", "99999999999999999999999999999999999999999999999",
        "1.0000000001", "0.1n"}) {
    const auto quantity = Quantity::decode(text);
    ASSERT_FALSE(quantity.ok()) << text;
    EXPECT_EQ(quantity.error().code, Errc::kTooLarge) << text;
  }
}

TEST(Quantity, ReadsJsonLikeKubernetes) {
  EXPECT_EQ(*Quantity::decode(Json("1Gi")), of("1Gi"));
  EXPECT_EQ(*Quantity::decode(Json(64)), of("64"));
  EXPECT_EQ(*Quantity::decode(Json(0.5)), of("500m"));
  EXPECT_EQ(*Quantity::decode(Json(1e18)), of("1E"));
  EXPECT_FALSE(Quantity::decode(Json()).ok());
  EXPECT_FALSE(Quantity::decode(Json(true)).ok());
  EXPECT_FALSE(Quantity::decode(Json(Json::Array{})).ok());
}

}  // namespace
}  // namespace sliced::kube
