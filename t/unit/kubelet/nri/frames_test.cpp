#include "kubelet/nri/frames.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/nri/wire.h"

namespace sliced::nri {
namespace {

std::vector<Frame> all_of(FrameReader& reader) {
  std::vector<Frame> frames;
  while (auto next = reader.next()) frames.push_back(*std::move(next));
  return frames;
}

TEST(Frames, HaveThePublishedFormat) {
  EXPECT_EQ(encode_frame({.stream = 5, .type = FrameType::kResponse, .flags = 1, .data = "ab"}),
            std::string("\0\0\0\2\0\0\0\5\2\1ab", 12));
}

TEST(Frames, DecodeHoweverTheyAreCut) {
  const std::string bytes = test::frame(1, 1, "one") + test::frame(3, 2, "") + test::frame(5, 9, "three", 4);
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (size_t at = 0; at < bytes.size(); at += cut) {
      reader.add(std::string_view(bytes).substr(at, cut));
      for (Frame& next : all_of(reader)) frames.push_back(std::move(next));
    }
    ASSERT_EQ(frames.size(), 3u) << "cut every " << cut;
    EXPECT_EQ(frames[0].data, "one");
    EXPECT_EQ(frames[1].stream, 3u);
    EXPECT_EQ(frames[2].data, "three");
    EXPECT_EQ(frames[2].flags, 4);
    EXPECT_EQ(static_cast<int>(frames[2].type), 9);
  }
}

TEST(Frames, SkipAnOversizedFrame) {
  const size_t size = kFrameDataMax + 1;
  FrameReader reader;
  reader.add(test::u32(static_cast<uint32_t>(size)) + test::u32(7) + std::string("\1\0", 2) + "begins");
  const auto too_large = reader.next();
  ASSERT_TRUE(too_large);
  EXPECT_TRUE(too_large->too_large);
  EXPECT_EQ(too_large->stream, 7u);
  EXPECT_EQ(too_large->data, "");
  for (size_t left = size - 6; left > 0;) {
    const size_t here = std::min<size_t>(left, 65'536);
    reader.add(std::string(here, 'x'));
    EXPECT_FALSE(reader.next());
    left -= here;
  }
  reader.add(test::frame(9, 1, "after"));
  const auto after = reader.next();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->data, "after");
}

TEST(Frames, DecodeTheLargest) {
  FrameReader reader;
  reader.add(test::frame(1, 1, std::string(kFrameDataMax, 'y')));
  const auto frame = reader.next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->data.size(), kFrameDataMax);
}

TEST(Frames, DecodeManySmallOnesInLinearTime) {
  constexpr size_t kCount = 1'000'000;
  const std::string one = test::frame(1, 1, "x");
  std::string all;
  for (size_t i = 0; i < kCount; ++i) all += one;
  FrameReader reader;
  reader.add(all);
  size_t said = 0;
  for (auto frame = reader.next(); frame; frame = reader.next()) said += frame->data.size();
  EXPECT_EQ(said, kCount);
}

}  // namespace
}  // namespace sliced::nri
