#include "cli/caret.h"

#include <gtest/gtest.h>

#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

// Red when the caret stands under another character than the one at the offset.
TEST(Caret, IsUnderTheCharacter) {
  const struct {
    const char* why;
    std::string text;
    int32_t offset;
    std::string wanted;
  } rows[] = {
      {"the first", "a + b", 0, "  a + b\n  ^"},
      {"one inside", "a + \"b\"", 4, "  a + \"b\"\n      ^"},
      {"behind the end", "1 +", 3, "  1 +\n     ^"},
      {"beyond the text", "1 +", 99, "  1 +\n     ^"},
      {"nothing", "", 0, "  \n  ^"},
      {"no place", "x", -1, "  x\n  ^"},
      {"bytes are not characters", "\"\xc3\xa9\xe2\x82\xac\" + x", 10,
       "  \"\xc3\xa9\xe2\x82\xac\" + x\n         ^"},
      {"the line that holds it", "a &&\nb == c &&\nd", 7, "  b == c &&\n    ^"},
      {"the end of a line", "a &&\nb", 4, "  a &&\n      ^"},
      {"the beginning of a line", "a &&\nb", 5, "  b\n  ^"},
      {"an escape is wider than its byte", "\x1b[2J x", 5, "  \\x1b[2J x\n          ^"},
  };
  for (const auto& row : rows) EXPECT_EQ(pointed_at(row.text, row.offset), row.wanted) << row.why;
}

// Red when a long expression fills the screen, or is cut inside a character.
TEST(Caret, ShowsAPartOfALongLine) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\xe2\x82\xac";
  for (int32_t offset = 0; offset <= 3000; offset += 3) {
    const std::string shown = pointed_at(text, offset);
    EXPECT_TRUE(is_utf8(shown)) << offset;
    EXPECT_LT(shown.size(), 300u) << offset;
    EXPECT_EQ(shown.find("\\x"), std::string::npos) << offset << ": " << shown;
  }
  const std::string middle = pointed_at(std::string(500, 'a') + "!" + std::string(500, 'b'), 500);
  EXPECT_EQ(middle, "  ..." + std::string(60, 'a') + "!" + std::string(39, 'b') + "...\n" +
                        std::string(2 + 3 + 60, ' ') + "^");
}

}  // namespace
}  // namespace sliced::cli
