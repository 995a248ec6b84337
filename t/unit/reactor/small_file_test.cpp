#include "reactor/small_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sliced::reactor {
namespace {

TEST(ReadSmallFile, ReadsRegularFilesUpToALimitAndNamesOthers) {
  char name[] = "/tmp/small-file-test-XXXXXX";
  const std::string root = ::mkdtemp(name);
  std::ofstream(root + "/text") << "text\n";
  std::ofstream(root + "/most") << std::string(kSmallFileBytesMax, 'x');
  std::ofstream(root + "/more") << std::string(kSmallFileBytesMax + 1, 'x');
  std::filesystem::create_symlink("text", root + "/link");
  ASSERT_EQ(::mkfifo((root + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_small_file(root + "/text").value(), "text\n");
  EXPECT_EQ(read_small_file(root + "/link").value(), "text\n");
  EXPECT_EQ(read_small_file(root + "/most").value().size(), kSmallFileBytesMax);
  const struct {
    std::string name;
    Errc code;
  } rows[] = {{"more", Errc::kTooLarge},
              {"none", Errc::kNotFound},
              {"text/x", Errc::kNotFound},
              {"pipe", Errc::kInvalid},
              {".", Errc::kInvalid}};
  for (const auto& row : rows) {
    const auto read = read_small_file(root + "/" + row.name);
    ASSERT_FALSE(read) << row.name;
    EXPECT_EQ(read.error().code, row.code) << row.name;
    EXPECT_NE(read.error().what.find(root + "/" + row.name), std::string::npos) << read.error().what;
  }
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sliced::reactor
