#include "reactor/base/base64.h"

#include <gtest/gtest.h>

namespace sliced {
namespace {

TEST(DecodeBase64, DecodesTheVectorsOfRfc4648) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
  EXPECT_EQ(decode_base64("Zm9v\nYmFy\n"), "foobar");
  EXPECT_EQ(decode_base64("+/8A"), std::string("\xfb\xff\0", 3));
}

TEST(EncodeBase64, EncodesTheVectorsOfRfc4648) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foo"), "Zm9v");
  EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encode_base64(std::string("\xfb\xff\0", 3)), "+/8A");
}

TEST(DecodeBase64, Refuses) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zm9", "Z===", "====", "Zg==Zg==", "Zm=v", "Zm9v-_", "Zg==x", "Zm9v!"})
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace sliced
