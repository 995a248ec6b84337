#include "reactor/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>

#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

// What systemd has: a datagram socket that it reads when it comes to it.
class Manager {
 public:
  explicit Manager(std::string name) : name_(std::move(name)) {
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    const bool is_abstract = name_[0] == '@';
    if (is_abstract) address.sun_path[0] = '\0';
    const auto size = offsetof(sockaddr_un, sun_path) + name_.size() + (is_abstract ? 0 : 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)), 0)
        << name_;
  }
  ~Manager() {
    ::close(fd_);
    if (name_[0] == '/') ::unlink(name_.c_str());
  }
  /// The next datagram; "" when there is none.
  std::string next() {
    char bytes[4096];
    const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
    return size < 0 ? "" : std::string(bytes, static_cast<size_t>(size));
  }

 private:
  std::string name_;
  int fd_ = -1;
};

struct ServiceManagerTest : testing::Test {
  ServiceManagerTest() {
    std::string pattern = testing::TempDir() + "/sliced-notify-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    path = directory + "/notify";
  }
  ~ServiceManagerTest() override { std::filesystem::remove_all(directory); }
  ServiceManager told(const std::string& socket, std::chrono::microseconds watchdog = 0us) {
    return {scheduler, log, {socket, watchdog}};
  }

  fake::FakeScheduler scheduler;
  fake::MemoryLog log;
  std::string directory, path;
};

TEST(ServiceAddress, ReadsTheEnvironmentOfThisProcess) {
  struct Row {
    std::string title;
    std::map<std::string, std::string> env;
    ServiceAddress want;
  };
  const Row rows[] = {
      {"nobody asks", {}, {"", 0us}},
      {"no watchdog", {{"NOTIFY_SOCKET", "/run/n"}}, {"/run/n", 0us}},
      {"both", {{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", "7"}}, {"@n", 30s}},
      {"of any process", {{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", "30000000"}}, {"@n", 30s}},
      {"of another", {{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", "9"}, {"WATCHDOG_PID", "8"}}, {"@n", 0us}},
      {"no number", {{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", "9s"}}, {"@n", 0us}},
      {"negative", {{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", "-9"}}, {"@n", 0us}},
      {"too large", {{"NOTIFY_SOCKET", "@n"}, {"WATCHDOG_USEC", "99999999999999999999"}}, {"@n", 0us}},
  };
  for (const Row& row : rows) {
    const auto env = [&](const char* name) -> std::optional<std::string> {
      const auto at = row.env.find(name);
      return at == row.env.end() ? std::nullopt : std::optional<std::string>(at->second);
    };
    EXPECT_EQ(read_service_address(env, 7), row.want) << row.title;
  }
}

TEST(ServiceAddress, RemovesTheVariableForChildren) {
  ::setenv("NOTIFY_SOCKET", "/run/n", 1);
  ::setenv("WATCHDOG_USEC", "2000000", 1);
  EXPECT_EQ(take_service_address(), (ServiceAddress{"/run/n", 2s}));
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
}

TEST_F(ServiceManagerTest, SendsMessagesInOrder) {
  const std::string abstract = "@sliced-test-" + std::to_string(::getpid());
  for (const std::string& name : {path, abstract}) {
    Manager manager(name);
    ServiceManager us = told(name);
    us.status("reading the host");
    us.ready();
    us.status("12 devices offered");
    us.status("12 devices offered");
    us.stopping();
    EXPECT_EQ(manager.next(), "STATUS=reading the host\n") << name;
    EXPECT_EQ(manager.next(), "READY=1\n");
    EXPECT_EQ(manager.next(), "STATUS=12 devices offered\n");
    EXPECT_EQ(manager.next(), "STOPPING=1\n") << "and the same status is not told twice";
    EXPECT_EQ(manager.next(), "");
  }
  EXPECT_EQ(log.all(), "");
}

TEST_F(ServiceManagerTest, SendsTheMonotonicTimeOfAReload) {
  Manager manager(path);
  ServiceManager us = told(path);
  us.reloading();
  EXPECT_EQ(manager.next(), "") << "who is not ready cannot be reloading";
  us.ready();
  manager.next();
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000ll + time.tv_nsec / 1'000;
  };
  const long long before = now();
  us.reloading();
  const long long after = now();
  const std::string word = manager.next(), begin = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_EQ(word.substr(0, begin.size()), begin);
  const long long micros = std::stoll(word.substr(begin.size()));
  EXPECT_GE(micros, before);
  EXPECT_LE(micros, after);
}

TEST_F(ServiceManagerTest, SendsABoundedStatusInOneLine) {
  Manager manager(path);
  ServiceManager us = told(path);
  us.status("a\nREADY=1");
  EXPECT_EQ(manager.next(), "STATUS=a\\x0aREADY=1\n") << "nobody's text is a word of ours";
  us.status(std::string(5'000, 'x'));
  EXPECT_LE(manager.next().size(), ServiceManager::kStatusBytesMax + 16);
}

TEST_F(ServiceManagerTest, PingsTheWatchdogTwicePerPeriod) {
  Manager manager(path);
  {
    ServiceManager us = told(path, 30s);
    scheduler.advance(14'999ms);
    EXPECT_EQ(manager.next(), "");
    scheduler.advance(1ms);
    EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
    scheduler.advance(30s);
    EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
    EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
    EXPECT_EQ(manager.next(), "");
  }
  scheduler.advance(60s);
  EXPECT_EQ(manager.next(), "") << "and not of one that is gone";
}

TEST_F(ServiceManagerTest, WithoutASocketNothingIsSentOrAwaited) {
  ServiceManager us = told("", 30s);
  us.ready();
  us.status("here");
  EXPECT_FALSE(us.is_asked());
  EXPECT_EQ(scheduler.next_deadline(), TimePoint::max());
  EXPECT_EQ(log.all(), "");
}

TEST_F(ServiceManagerTest, ReportsAMissingSocketOnceAndUsesItLater) {
  ServiceManager us = told(path, 30s);
  us.ready();
  us.status("first");
  us.status("second");
  scheduler.advance(15s);
  EXPECT_EQ(log.count("service manager not notified"), 1u) << log.all();
  EXPECT_EQ(log.count(path), 1u) << "by name";
  Manager manager(path);
  scheduler.advance(15s);
  EXPECT_EQ(manager.next(), "WATCHDOG=1\n");
  EXPECT_EQ(manager.next(), "READY=1\n");
  EXPECT_EQ(manager.next(), "STATUS=second\n");
  EXPECT_EQ(manager.next(), "");
}

TEST_F(ServiceManagerTest, ReportsInvalidAddressesOnce) {
  for (const std::string& name : {std::string("vsock:2:1"), "/" + std::string(200, 'x')}) {
    log.lines.clear();
    ServiceManager us = told(name);
    us.ready();
    us.stopping();
    EXPECT_EQ(log.lines.size(), 1u) << name << "\n" << log.all();
  }
}

TEST_F(ServiceManagerTest, SendsReadyToAFullSocketOnceThereIsRoom) {
  Manager manager(path);
  ServiceManager filler = told(path);
  int filled = 0;
  while (log.lines.empty() && filled < 10'000) filler.status("filler " + std::to_string(filled++));
  ASSERT_EQ(log.lines.size(), 1u) << "the kernel takes any number";
  ServiceManager us = told(path);
  us.ready();
  for (int i = 0; i < 1'000; ++i) us.status("status " + std::to_string(i));
  EXPECT_EQ(log.lines.size(), 2u) << "once each";
  while (manager.next() != "") {
  }
  scheduler.advance(ServiceManager::kRetry);
  std::string heard;
  for (std::string word = manager.next(); word != ""; word = manager.next()) heard += word;
  EXPECT_EQ(heard, "STATUS=filler " + std::to_string(filled - 1) + "\nREADY=1\nSTATUS=status 999\n");
  EXPECT_EQ(scheduler.next_deadline(), TimePoint::max()) << "nothing is left to be tried";
}

}  // namespace
}  // namespace sliced::reactor
