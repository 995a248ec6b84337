#include "cli/snapshot/archive.h"

#include <gtest/gtest.h>
#include <zstd.h>

namespace sliced::snapshot {
namespace archive_test {
namespace {

std::string compressed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}
std::string tar_of(const Members& members) {
  const std::string packed = pack(members);
  std::string out(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
  ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  return out;
}

TEST(Archive, RoundTrips) {
  const Members members = {
      {"a.json", ""}, {"b.json", std::string(511, 'x')}, {"c", std::string(513, '\0') + "y"}};
  const auto read = unpack(pack(members));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, members);
}

// A shorter file is refused at every length, and never read beyond its end.
TEST(Archive, RefusesATruncatedArchive) {
  const std::string whole = pack({{"a", "some text"}, {"b", "more"}});
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(unpack(whole.substr(0, size))) << size;
  const std::string tar = tar_of({{"a", std::string(700, 'z')}});
  for (size_t size = 0; size + 1024 < tar.size(); size += 100)
    EXPECT_FALSE(unpack(compressed(tar.substr(0, size)))) << size;
}

TEST(Archive, RefusesADecompressionBomb) {
  const auto read = unpack(compressed(std::string(kUnpackedBytesMax + 1, '\0')));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kTooLarge);
}

TEST(Archive, ReadsOnlyRegularFilesWithPlainNames) {
  std::string tar = tar_of({{"a", "x"}, {"b", "y"}});
  const auto change = [&](size_t header, size_t at, char to) {
    tar[header + at] = to;
    unsigned sum = 8 * ' ';
    for (size_t i = 0; i < 512; ++i)
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(tar[header + i]);
    std::snprintf(&tar[header + 148], 8, "%06o", sum);
  };
  change(0, 156, '2');  // a symbolic link
  auto read = unpack(compressed(tar));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, (Members{{"b", "y"}}));
  change(1024, 0, '/');
  read = unpack(compressed(tar));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->empty());
  tar[1024 + 1] = 'q';  // without its sum
  EXPECT_FALSE(unpack(compressed(tar)));
}

TEST(Archive, RefusesTooManyMembers) {
  Members many;
  for (size_t i = 0; i <= kMembersMax; ++i) many["m" + std::to_string(i)] = "";
  const auto read = unpack(pack(many));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kTooLarge);
}

}  // namespace
}  // namespace archive_test
}  // namespace sliced::snapshot
