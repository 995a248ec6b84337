#include "reactor/base/line_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "reactor/base/text.h"

namespace sliced {
namespace {

struct LineWriterTest : testing::Test {
  LineWriterTest() {
    std::signal(SIGPIPE, SIG_IGN);  // as the loop has it
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    reading = ends[0];
    writing = ends[1];
  }
  ~LineWriterTest() override {
    for (const int fd : {reading, writing})
      if (fd >= 0) close(fd);
  }
  static std::string report_loss(uint64_t lines) { return "lost " + std::to_string(lines) + "\n"; }

  // Whole lines, up to those that have `part`.
  std::string read_until(std::string_view part) const {
    std::string bytes;
    char some[65'536];
    while (bytes.find(part) == std::string::npos || bytes.back() != '\n') {
      const ssize_t size = read(reading, some, sizeof some);
      if (size <= 0) break;
      bytes.append(some, static_cast<size_t>(size));
    }
    return bytes;
  }
  static std::vector<std::string> lines_of(std::string_view bytes) {
    std::vector<std::string> lines;
    for (const std::string_view line : split(bytes, '\n'))
      if (!line.empty()) lines.emplace_back(line);
    return lines;
  }

  int reading = -1, writing = -1;
};

TEST_F(LineWriterTest, WritesWholeLinesInOrder) {
  LineWriter writer(writing, &report_loss);
  for (int i = 0; i < 1'000; ++i) writer.put("line " + std::to_string(i) + "\n");
  const auto lines = lines_of(read_until("line 999"));
  ASSERT_EQ(lines.size(), 1'000u);
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], "line " + std::to_string(i));
  EXPECT_TRUE(writer.flush());
}

TEST_F(LineWriterTest, DropsAndCountsLinesForAFullPipe) {
  constexpr uint64_t kLines = 20'000;
  LineWriter writer(writing, &report_loss);
  const std::string rest(1'000, 'x');
  for (uint64_t i = 0; i < kLines; ++i) writer.put(std::to_string(i) + " " + rest + "\n");
  EXPECT_FALSE(writer.flush(std::chrono::milliseconds{1})) << "nobody reads";

  std::string bytes = read_until("lost ");  // also when no other line comes
  writer.put("end\n");
  bytes += read_until("end");
  uint64_t next = 0, kept = 0;
  for (const std::string& line : lines_of(bytes)) {
    if (line == "end") continue;
    if (line.starts_with("lost ")) {
      next += static_cast<uint64_t>(*parse_int(line.substr(5)));
      continue;
    }
    EXPECT_EQ(line, std::to_string(next) + " " + rest) << "the loss is told where it happened";
    ++kept, ++next;
  }
  EXPECT_EQ(next, kLines);
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(writer.lost(), kLines - kept);
  EXPECT_LT(bytes.size(), LineWriter::kBytesMax + (256u << 10)) << "what waits is bounded";
  EXPECT_TRUE(writer.flush());
}

TEST_F(LineWriterTest, DropsLinesWithoutAReader) {
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  {
    LineWriter writer(fd, &report_loss);
    writer.put("1\n");
    EXPECT_TRUE(writer.flush());
    EXPECT_TRUE(writer.is_refused());
    close(reading);
    ASSERT_EQ(dup2(writing, fd), fd);  // EPIPE from now on
    writer.put("2\n");
    EXPECT_TRUE(writer.flush());
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reading = ends[0];
    ASSERT_EQ(dup2(ends[1], fd), fd);
    close(ends[1]);
    writer.put("3\n");
    EXPECT_EQ(lines_of(read_until("3")), (std::vector<std::string>{"lost 2", "3"}));
    EXPECT_TRUE(writer.flush());
    EXPECT_FALSE(writer.is_refused());
    EXPECT_EQ(writer.lost(), 2u) << "each once, told or not";
  }
  close(fd);
}

TEST_F(LineWriterTest, LosesNothingOnANonblockingDescriptor) {
  ASSERT_EQ(fcntl(writing, F_SETFL, O_NONBLOCK), 0);
  LineWriter writer(writing, &report_loss);
  const std::string large(100'000, 'x');  // more than the buffer of a pipe
  writer.put(large + "\n");
  writer.put("end\n");
  EXPECT_EQ(lines_of(read_until("end")), (std::vector<std::string>{large, "end"}));
  EXPECT_TRUE(writer.flush());
}

TEST_F(LineWriterTest, IsAbandonedIfThePipeIsNotRead) {
  {
    LineWriter writer(writing, &report_loss);
    writer.put(std::string(100'000, 'x') + "\n");
    writer.put("never written\n");
    EXPECT_FALSE(writer.flush(std::chrono::milliseconds{1}));
  }  // the destructor returns, as the test requires
  char some[65'536];
  EXPECT_GT(read(reading, some, sizeof some), 0);
  close(reading);  // lets the thread go, which may need the other end a moment longer
  reading = writing = -1;
}

// exit() destroys globals that destructors of a thread's local values use.
TEST_F(LineWriterTest, ItsDestructorWaitsUntilTheThreadHasEnded) {
  static std::atomic<int> ended;
  ended = 0;
  struct ThreadData {
    ~ThreadData() {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      ++ended;
    }
    std::string text;
  };
  {
    LineWriter writer(
        writing,
        [](uint64_t lines) {
          thread_local ThreadData data;
          return data.text = report_loss(lines);
        },
        100);
    writer.put(std::string(200, 'x') + "\n");
    EXPECT_EQ(lines_of(read_until("lost")), std::vector<std::string>{"lost 1"});
  }
  EXPECT_EQ(ended, 1);
}

TEST_F(LineWriterTest, KeepsTheFlagsOfTheDescriptor) {
  const int before = fcntl(writing, F_GETFL);
  LineWriter writer(writing, &report_loss);
  writer.put("x\n");
  EXPECT_TRUE(writer.flush());
  EXPECT_EQ(fcntl(writing, F_GETFL), before) << "the user's shell shares them";
}

}  // namespace
}  // namespace sliced
