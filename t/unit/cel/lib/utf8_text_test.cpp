#include "cel/lib/utf8_text.h"

#include <gtest/gtest.h>

#include "t/unit/cel/lib/expect.h"

namespace sliced::cel {
namespace {

using Texts = std::vector<std::string_view>;

// Counting bytes gives other answers for each of these.
TEST(CelText, PositionsCountCodePoints) {
  EXPECT_EQ(code_points(""), 0);
  EXPECT_EQ(code_points("πέντε"), 5);
  EXPECT_EQ(code_points("😀a"), 2);
  EXPECT_EQ(shown(char_at("©αT", 0)), "©");
  EXPECT_EQ(shown(char_at("©αT", 1)), "α");
  EXPECT_EQ(shown(char_at("©αT", 2)), "T");
  EXPECT_EQ(shown(char_at("©αT", 3)), "");
  EXPECT_EQ(shown(substring("tacocat", 4)), "cat");
  EXPECT_EQ(shown(substring("ta©o©αT", 2, 6)), "©o©α");
  EXPECT_EQ(shown(substring("ta©o©αT", 7, 7)), "");
  EXPECT_EQ(shown(substring("ta©o©αT", 7)), "");
  EXPECT_EQ(shown(index_of("©©α", "α")), "2");
  EXPECT_EQ(shown(last_index_of("©α©", "α")), "1");
}

// A position that is not checked reads outside of the text.
TEST(CelText, PositionsOutsideAreErrors) {
  const std::string outside = "error: index out of range: ",
                    crossed = "error: invalid substring range. start: ";
  EXPECT_EQ(shown(char_at("abc", 4)), outside + "4");
  EXPECT_EQ(shown(char_at("abc", -1)), outside + "-1");
  EXPECT_EQ(shown(substring("tacocat", 40)), outside + "40");
  EXPECT_EQ(shown(substring("tacocat", -1)), outside + "-1");
  EXPECT_EQ(shown(substring("tacocat", 1, 50)), outside + "50");
  EXPECT_EQ(shown(substring("tacocat", 49, 50)), outside + "49");
  EXPECT_EQ(shown(substring("tacocat", -1, 0)), outside + "-1");
  EXPECT_EQ(shown(substring("tacocat", 4, 3)), crossed + "4, end: 3");
  EXPECT_EQ(shown(substring("tacocat", 0, -1)), crossed + "0, end: -1");
  EXPECT_EQ(shown(substring("tacocat", INT64_MIN, INT64_MAX)), outside + "-9223372036854775808");
  EXPECT_EQ(shown(index_of("tacocat", "a", -1)), outside + "-1");
  EXPECT_EQ(shown(last_index_of("tacocat", "a", -1)), outside + "-1");
}

// Kubernetes answers -1 past the end, where the newer extension has an error.
TEST(CelText, FindsText) {
  EXPECT_EQ(shown(index_of("tacocat", "ac")), "1");
  EXPECT_EQ(shown(index_of("tacocat", "none")), "-1");
  EXPECT_EQ(shown(index_of("tacocat", "a", 3)), "5");
  EXPECT_EQ(shown(index_of("hello wello", "ello", 6)), "7");
  EXPECT_EQ(shown(index_of("tacocat", "a", 30)), "-1");
  EXPECT_EQ(shown(index_of("abc", "abcd")), "-1");
  EXPECT_EQ(shown(index_of("abc", "", 20)), "20");
  EXPECT_EQ(shown(index_of("abc", "", -1)), "-1");
  EXPECT_EQ(shown(last_index_of("", "@@")), "-1");
  EXPECT_EQ(shown(last_index_of("tacocat", "at")), "5");
  EXPECT_EQ(shown(last_index_of("tacocat", "", 3)), "3");
  EXPECT_EQ(shown(last_index_of("tacocat", "")), "7");
  EXPECT_EQ(shown(last_index_of("tacocat", "a", 3)), "1");
  EXPECT_EQ(shown(last_index_of("bananananana", "nana", 7)), "6");
  EXPECT_EQ(shown(last_index_of("abc", "c", 2)), "2");
  EXPECT_EQ(shown(last_index_of("abc", "c", 3)), "-1");
  EXPECT_EQ(shown(last_index_of("abc", "abcd", 1)), "-1");
}

// Empty separators, empty texts and limits have the results of Go.
TEST(CelText, SplitsText) {
  EXPECT_EQ(split_text("hello world", " "), (Texts{"hello", "world"}));
  EXPECT_EQ(split_text("a,b,,c,", ","), (Texts{"a", "b", "", "c", ""}));
  EXPECT_EQ(split_text("a,b,c", ",", 0), Texts{});
  EXPECT_EQ(split_text("a,b,c", ",", 1), Texts{"a,b,c"});
  EXPECT_EQ(split_text("a,b,c", ",", 2), (Texts{"a", "b,c"}));
  EXPECT_EQ(split_text("a,b,c", ",", 9), (Texts{"a", "b", "c"}));
  EXPECT_EQ(split_text("", ","), Texts{""});
  EXPECT_EQ(split_text("", ""), Texts{});
  EXPECT_EQ(split_text("aé😀", ""), (Texts{"a", "é", "😀"}));
  EXPECT_EQ(split_text("aé😀", "", 2), (Texts{"a", "é😀"}));
  EXPECT_EQ(split_text("aé😀", "", 9), (Texts{"a", "é", "😀"}));
}

TEST(CelText, ReplacesText) {
  EXPECT_EQ(shown(replace_text("1 ©αT taco", "αT", "o©α")), "1 ©o©α taco");
  EXPECT_EQ(shown(replace_text("aaa", "a", "b", 2)), "bba");
  EXPECT_EQ(shown(replace_text("aaa", "a", "b", 0)), "aaa");
  EXPECT_EQ(shown(replace_text("aaaa", "aa", "b")), "bb");
  EXPECT_EQ(shown(replace_text("abé", "", "-")), "-a-b-é-");
  EXPECT_EQ(shown(replace_text("abé", "", "-", 2)), "-a-bé");
  EXPECT_EQ(shown(replace_text("", "", "-")), "-");
}

// Without the bound a selector of a few bytes makes gigabytes.
TEST(CelText, ResultsThatGrowAreBounded) {
  const std::string text(2000, 'a');
  EXPECT_EQ(shown(replace_text(text, "a", text, -1, 4000000)).size(), 4000000u);
  EXPECT_EQ(shown(replace_text(text, "a", text, -1, 3999999)), "error: a string longer than 3999999 bytes");
  EXPECT_EQ(replace_text(text, "a", text).error().code, Errc::kTooLarge);
  EXPECT_EQ(shown(replace_text("abc", "x", "y", -1, 2)), "error: a string longer than 2 bytes");
  EXPECT_EQ(shown(join_texts({"abc", "abc"}, "-", 7)), "abc-abc");
  EXPECT_EQ(shown(join_texts({"abc", "abc"}, "-", 6)), "error: a string longer than 6 bytes");
}

TEST(CelText, JoinsTrimsChangesCaseAndReverses) {
  EXPECT_EQ(shown(join_texts({"x", "y"}, "-")), "x-y");
  EXPECT_EQ(shown(join_texts({}, "-")), "");
  EXPECT_EQ(trim_text(" \f\n\r\t\vtext  "), "text");
  EXPECT_EQ(trim_text("\u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000x\u3000 "), "x");
  EXPECT_EQ(trim_text(" \u3000 "), "");
  EXPECT_EQ(trim_text("\u200b\ufeff\u180e\u001cx"), "\u200b\ufeff\u180e\u001cx") << "no white space";
  EXPECT_EQ(lower_ascii("TacoCÆt\u212a"), "tacocÆt\u212a");
  EXPECT_EQ(upper_ascii("tacoCαt"), "TACOCαT");
}

TEST(CelText, QuotingEscapesLikeCel) {
  EXPECT_EQ(quote_text("first\nsecond"), R"("first\nsecond")");
  EXPECT_EQ(quote_text("\a\b\f\r\t\v"), R"("\a\b\f\r\t\v")");
  EXPECT_EQ(quote_text(R"(two \a\n "x" 'y')"), R"("two \\a\\n \"x\" 'y'")");
  EXPECT_EQ(quote_text("завтра😀\x01\x7f"), "\"завтра😀\x01\x7f\"");
}

}  // namespace
}  // namespace sliced::cel
