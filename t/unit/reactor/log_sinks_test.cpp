#include "reactor/base/log_sinks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace sliced {
namespace {

using namespace std::chrono_literals;

const std::chrono::system_clock::time_point kNow{1'795'216'546'123ms};  // 2026-11-20T23:15:46.123Z

TEST(TextLine, FormatsEachKindOfLine) {
  setenv("TZ", "UTC", 1);
  tzset();
  const struct {
    const char* why;
    std::string got, wanted;
  } rows[] = {
      {"a word needs no quotes", text_line(kNow, Level::kInfo, "published", {{"slices", 3}, {"node", "n-1"}}),
       "I1120 23:15:46.123 published slices=3 node=n-1\n"},
      {"levels", text_line(kNow, Level::kError, "no", {}), "E1120 23:15:46.123 no\n"},
      {"what is not a word is quoted",
       text_line(kNow, Level::kWarning, "x", {{"a", ""}, {"b", "c d"}, {"e", "f=g"}}),
       "W1120 23:15:46.123 x a=\"\" b=\"c d\" e=\"f=g\"\n"},
      {"quotes in a value", text_line(kNow, Level::kDebug, "say \"x\"", {{"a", "b \"c\\"}}),
       "D1120 23:15:46.123 say \"x\" a=\"b \\\"c\\\\\"\n"},
      {"no value ends a line or steers a terminal",
       text_line(kNow, Level::kInfo, "a\nb", {{"n", "x\n\x1b[2Jy\xff\xc2\x9b"}}),
       "I1120 23:15:46.123 a\\x0ab n=\"x\\x0a\\x1b[2Jy\\xff\\xc2\\x9b\"\n"},
      {"other scripts are not escaped", text_line(kNow, Level::kInfo, "x", {{"n", "äé€"}}),
       "I1120 23:15:46.123 x n=\"äé€\"\n"},
  };
  for (const auto& row : rows) EXPECT_EQ(row.got, row.wanted) << row.why;
}

TEST(JsonLine, FormatsEachKindOfLine) {
  const std::string head = R"({"ts":"2026-11-20T23:15:46.123Z","level":)";
  const struct {
    const char* why;
    std::string got, wanted;
  } rows[] = {
      {"plain", json_line(kNow, Level::kInfo, "published", {{"slices", 3}}),
       R"("info","msg":"published","slices":"3"})"},
      {"escapes", json_line(kNow, Level::kError, "a\"\\\n", {{"b", "\x01\x7f\xff\xc2\x9b ä"}}),
       R"("error","msg":"a\"\\\u000a","b":"\u0001\u007f\ufffd\u009b ä"})"},
      {"no member twice", json_line(kNow, Level::kDebug, "m", {{"msg", "x"}, {"level", "y"}, {"ts", "z"}}),
       R"("debug","msg":"m","msg_":"x","level_":"y","ts_":"z"})"},
  };
  for (const auto& row : rows) EXPECT_EQ(row.got, head + row.wanted + "\n") << row.why;
}

TEST(JournalEntry, Fields) {
  EXPECT_EQ(journal_entry(Level::kWarning, "a\nPRIORITY=0", {{"dev-name", "x\nMESSAGE=y"}}),
            "MESSAGE=a\\x0aPRIORITY=0 dev-name=\"x\\x0aMESSAGE=y\"\nPRIORITY=4\nSYSLOG_IDENTIFIER=sliced\n"
            "SLICED_DEV_NAME=x\\x0aMESSAGE=y\n")
      << "no value can forge a field";
  const std::string long_key(100, 'k');
  const std::string entry = journal_entry(Level::kInfo, "m", {{long_key, "v"}});
  EXPECT_NE(entry.find("\nSLICED_" + std::string(57, 'K') + "=v\n"), std::string::npos)
      << "names have at most 64 bytes";
}

TEST(LogLines, AreBounded) {
  const std::string large(1u << 20, 'x');
  EXPECT_LT(text_line(kNow, Level::kInfo, "m", {{"v", large}}).size(), (64u << 10) + 100);
  EXPECT_LT(json_line(kNow, Level::kInfo, large, {}).size(), (64u << 10) + 100);
}

// A socket in place of journald's, and a pipe in place of standard error.
struct JournalTest : testing::Test {
  JournalTest() {
    directory = std::filesystem::temp_directory_path() / ("sliced-journal-" + std::to_string(getpid()));
    std::filesystem::create_directory(directory);
    target.journal_socket = directory / "socket";
    target.now = [] { return kNow; };
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    reading = ends[0];
    target.fd = ends[1];
  }
  ~JournalTest() override {
    for (const int fd : {reading, target.fd, journal})
      if (fd >= 0) close(fd);
    std::filesystem::remove_all(directory);
  }
  void listen() {
    journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, target.journal_socket.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(bind(journal, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // The next datagram, or the content of the memory file it carries; "" when there is none.
  std::string received() {
    std::string bytes(1u << 20, '\0');
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(journal, &message, 0);
    if (size < 0) return "";  // nothing was received, and msg_controllen is undefined
    bytes.resize(static_cast<size_t>(size));
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr) return bytes;
    int file = -1;
    std::memcpy(&file, CMSG_DATA(header), sizeof file);
    struct stat about{};
    EXPECT_EQ(fstat(file, &about), 0);
    bytes.resize(static_cast<size_t>(about.st_size));
    EXPECT_EQ(pread(file, bytes.data(), bytes.size(), 0), about.st_size);
    EXPECT_EQ(pwrite(file, "x", 1, 0), -1) << "sealed";
    close(file);
    return bytes;
  }
  std::string written() {
    std::string bytes(4096, '\0');
    const ssize_t size = read(reading, bytes.data(), bytes.size());
    bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
    return bytes;
  }

  std::filesystem::path directory;
  LogTarget target;
  int reading = -1, journal = -1;
};

TEST_F(JournalTest, WritesEntriesToTheSocket) {
  listen();
  const auto log = make_log(LogFormat::kJournald, Level::kInfo, target);
  log->debug("not this");
  log->info("hello", {{"a", 1}});
  EXPECT_EQ(received(), "MESSAGE=hello a=1\nPRIORITY=6\nSYSLOG_IDENTIFIER=sliced\nSLICED_A=1\n");
  log->set_level(Level::kDebug);
  log->debug("this");
  EXPECT_EQ(received(), "MESSAGE=this\nPRIORITY=7\nSYSLOG_IDENTIFIER=sliced\n");
}

TEST_F(JournalTest, PassesALargeEntryInASealedMemoryFile) {
  listen();
  const auto log = make_log(LogFormat::kJournald, Level::kInfo, target);
  const std::string value(60'000, 'v');
  log->info("m", {{"a", value}, {"b", value}, {"c", value}, {"d", value}});
  const std::string entry = received();
  EXPECT_EQ(entry,
            journal_entry(Level::kInfo, "m", {{"a", value}, {"b", value}, {"c", value}, {"d", value}}));
  EXPECT_GT(entry.size(), 400'000u);
}

TEST_F(JournalTest, WritesToTheStreamWithoutAJournal) {
  setenv("TZ", "UTC", 1);
  tzset();
  const auto log = make_log(LogFormat::kJournald, Level::kInfo, target);
  log->info("hello");
  EXPECT_EQ(written(), "I1120 23:15:46.123 hello\n");
  listen();  // journald is back
  log->info("again");
  EXPECT_EQ(received(), "MESSAGE=again\nPRIORITY=6\nSYSLOG_IDENTIFIER=sliced\n");
}

TEST_F(JournalTest, DropsAndReportsEntriesForAFullSocket) {
  listen();
  const auto log = make_log(LogFormat::kJournald, Level::kInfo, target);
  constexpr int kLines = 10'000;  // more than any socket's queue holds
  for (int i = 0; i < kLines; ++i) log->info("fill");
  int kept = 0;
  while (!received().empty()) ++kept;
  ASSERT_LT(kept, kLines);
  log->info("after");
  EXPECT_EQ(received(), "MESSAGE=after\nPRIORITY=6\nSYSLOG_IDENTIFIER=sliced\nSLICED_LINES_LOST=" +
                            std::to_string(kLines - kept) + "\n");
  log->info("once only");
  EXPECT_EQ(received(), "MESSAGE=once only\nPRIORITY=6\nSYSLOG_IDENTIFIER=sliced\n");
}

TEST_F(JournalTest, AutoSelectsTheJournalForItsOwnStream) {
  listen();
  struct stat about{};
  ASSERT_EQ(fstat(target.fd, &about), 0);
  target.journal_stream = std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino);
  make_log(LogFormat::kAuto, Level::kInfo, target)->info("x");
  EXPECT_EQ(received(), "MESSAGE=x\nPRIORITY=6\nSYSLOG_IDENTIFIER=sliced\n");

  setenv("TZ", "UTC", 1);
  tzset();
  target.journal_stream = "1:2";  // standard error was redirected since
  make_log(LogFormat::kAuto, Level::kInfo, target)->info("y");
  EXPECT_EQ(written(), "I1120 23:15:46.123 y\n");
  make_log(LogFormat::kJson, Level::kInfo, target)->info("z");
  EXPECT_EQ(written(), "{\"ts\":\"2026-11-20T23:15:46.123Z\",\"level\":\"info\",\"msg\":\"z\"}\n");
}

}  // namespace
}  // namespace sliced
