#include "kube/client/line_assembler.h"

#include <gtest/gtest.h>

#include <vector>

namespace sliced::kube {
namespace {

TEST(LineAssembler, ReturnsTheSameLinesHoweverBytesAreCut) {
  const std::string_view stream = "{\"a\":1}\n\n{\"b\":2}\r\nrest";
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    std::vector<std::string> lines;
    LineAssembler assembler(/*line_bytes_max=*/8);
    for (const auto part : {stream.substr(0, cut), stream.substr(cut)})
      ASSERT_TRUE(assembler.feed(part, [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
      }));
    EXPECT_EQ(lines, (std::vector<std::string>{"{\"a\":1}", "", "{\"b\":2}"})) << "cut at " << cut;
    EXPECT_EQ(assembler.pending(), 4u);
  }
}

TEST(LineAssembler, CutsAnOversizedLineAndContinues) {
  const std::string_view stream = "12345\n123456789\nabc\n";
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    std::vector<std::string> lines;
    LineAssembler assembler(5);
    const auto keep = [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    };
    ASSERT_TRUE(assembler.feed(stream.substr(0, cut), keep));
    EXPECT_LE(assembler.pending(), 6u);
    ASSERT_TRUE(assembler.feed(stream.substr(cut), keep));
    EXPECT_EQ(lines, (std::vector<std::string>{"12345", "123456", "abc"})) << "cut at " << cut;
  }
}

TEST(LineAssembler, ReleasesTheMemoryOfALargeLine) {
  LineAssembler assembler(1 << 20);
  const auto pass = [](std::string_view) { return true; };
  ASSERT_TRUE(assembler.feed(std::string(100'000, 'x'), pass));
  EXPECT_GE(assembler.capacity(), 100'000u);
  ASSERT_TRUE(assembler.feed("\nab", pass));
  EXPECT_EQ(assembler.pending(), 2u);
  EXPECT_LT(assembler.capacity(), 20'000u);
}

TEST(LineAssembler, StopsWhenAsked) {
  LineAssembler assembler(100);
  int lines = 0;
  const auto fed = assembler.feed("a\nb\nc\n", [&](std::string_view) { return ++lines < 2; });
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, Errc::kCanceled);
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace sliced::kube
