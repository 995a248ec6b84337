// Every input that is kept for a target, as a test: what was found once stays found. Red when one makes the
// target abort, or when the inputs are not there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "t/fuzz/fuzz.h"

namespace sliced::fuzz {
namespace {

namespace fs = std::filesystem;

class Corpus : public testing::TestWithParam<std::pair<const std::string, Take>> {};

TEST_P(Corpus, EveryInputIsTaken) {
  const auto& [name, take] = GetParam();
  size_t inputs = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(FUZZ_CORPUS) / name)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const std::string text = bytes.str();
    take(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    ++inputs;
  }
  EXPECT_GE(inputs, 3u);
  take(nullptr, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, Corpus, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& one) { return one.param.first; });

TEST(Corpora, EachHasItsTarget) {
  for (const auto& entry : fs::directory_iterator(FUZZ_CORPUS))
    EXPECT_TRUE(targets().contains(entry.path().filename().string())) << entry.path();
}

}  // namespace
}  // namespace sliced::fuzz
