// Every input that is kept for a target, as a test: what was found once stays found. Red when one makes the
// target abort, or when the inputs are not there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "t/fuzz/fuzz.h"

namespace sliced::fuzz {
namespace {

TEST(Corpus, EveryInputIsTaken) {
  size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FUZZ_CORPUS)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const std::string text = bytes.str();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    ++inputs;
  }
  EXPECT_GE(inputs, 3u) << "in " << FUZZ_CORPUS;
  LLVMFuzzerTestOneInput(nullptr, 0);
}

}  // namespace
}  // namespace sliced::fuzz
