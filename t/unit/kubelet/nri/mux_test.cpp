#include "kubelet/nri/mux.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/nri/wire.h"

namespace sliced::nri {
namespace {

// The runtime reads a piece into a buffer of 4096 bytes.
TEST(Mux, PiecesFitTheRuntimesBuffer) {
  EXPECT_EQ(encode_pieces(2, "abc"), test::piece(2, "abc"));
  EXPECT_EQ(encode_pieces(1, std::string(5000, 'x')),
            test::piece(1, std::string(4096, 'x')) + test::piece(1, std::string(904, 'x')));
  EXPECT_EQ(encode_pieces(1, ""), "");
}

TEST(Mux, SeparatesConnectionsHoweverBytesAreCut) {
  const std::string bytes =
      test::piece(1, "for us ") + test::piece(2, "an answer") + test::piece(1, "") + test::piece(1, "again");
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    PieceReader reader;
    std::string said[3];
    for (size_t at = 0; at < bytes.size(); at += cut) {
      reader.add(std::string_view(bytes).substr(at, cut));
      for (auto next = reader.next(); next.ok() && *next; next = reader.next())
        said[(*next)->connection] += (*next)->bytes;
    }
    EXPECT_EQ(said[1], "for us again") << "cut every " << cut;
    EXPECT_EQ(said[2], "an answer");
  }
}

TEST(Mux, ForbiddenFramesEndTheTrunk) {
  for (const std::string& header : {test::u32(0) + test::u32(1), test::u32(1) + test::u32((4u << 20) + 11)}) {
    PieceReader reader;
    reader.add(header);
    const auto outcome = reader.next();
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Errc::kInvalid);
  }
  PieceReader reader;
  reader.add(test::u32(1) + test::u32((4u << 20) + 10) + "x");
  EXPECT_TRUE(reader.next().ok());
}

TEST(Mux, EmptyPiecesEndTheTrunk) {
  for (const std::string& idle : {test::piece(1, ""), test::piece(7, ""), test::piece(7, "for nobody")}) {
    PieceReader reader;
    std::string all;
    for (size_t i = 0; i < 2 * PieceReader::kIdlePiecesMax; ++i) all += idle;
    reader.add(all);
    size_t given = 0;
    auto next = reader.next();
    for (; next.ok() && *next; next = reader.next()) ++given;
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.error().code, Errc::kInvalid);
    EXPECT_LE(given, PieceReader::kIdlePiecesMax);
  }
  PieceReader reader;  // for all frames in between
  size_t said = 0;
  auto next = reader.next();
  for (size_t i = 0; i <= PieceReader::kIdlePiecesMax && next.ok(); ++i) {
    reader.add(test::piece(1, "") + test::piece(1, "x"));
    for (next = reader.next(); next.ok() && *next; next = reader.next()) ++said;
  }
  EXPECT_FALSE(next.ok());
  EXPECT_EQ(said, PieceReader::kIdlePiecesMax);
}

// Erased from the front one by one, these would move 100 TB.
TEST(Mux, DecodesManySmallPiecesInLinearTime) {
  constexpr size_t kCount = 2'000'000;
  const std::string one = test::piece(1, "x");
  std::string all;
  for (size_t i = 0; i < kCount; ++i) all += one;
  PieceReader reader;
  reader.add(all);
  size_t said = 0;
  for (auto next = reader.next(); next.ok() && *next; next = reader.next()) said += (*next)->bytes.size();
  EXPECT_EQ(said, kCount);
}

}  // namespace
}  // namespace sliced::nri
