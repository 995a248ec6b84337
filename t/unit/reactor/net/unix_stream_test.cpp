#include "reactor/net/unix_stream.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "reactor/net/unix_socket.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor::net {
namespace {

using namespace std::chrono_literals;

struct UnixStreamTest : fixture::LoopTest {
  UnixStreamTest() {
    char name[] = "/tmp/unix-stream-test-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~UnixStreamTest() override { std::filesystem::remove_all(root); }

  static Descriptor listener(const std::string& path, int backlog = 8) {
    Descriptor made = unix_socket();
    const UnixAddress address = unix_address(path).value();
    EXPECT_EQ(::bind(made.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size), 0);
    EXPECT_EQ(::listen(made.get(), backlog), 0);
    return made;
  }
  Result<std::unique_ptr<ByteStream>> connect(const std::string& path,
                                              Millis deadline = fixture::patience()) {
    std::optional<Result<std::unique_ptr<ByteStream>>> outcome;
    const auto connecting =
        connect_unix(loop, path, deadline, [&](auto result) { outcome = std::move(result); });
    EXPECT_FALSE(outcome) << "not from within connect_unix()";
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return std::move(*outcome);
  }
  std::string root;
};

TEST_F(UnixStreamTest, ConnectsToAPathAndAnAbstractName) {
  const std::string abstract = std::string(1, '\0') + "unix-stream-test-" + std::to_string(::getpid());
  for (const std::string& path : {root + "/socket", abstract}) {
    const Descriptor server = listener(path);
    auto stream = connect(path);
    ASSERT_TRUE(stream) << stream.error().what;
    const Descriptor peer(::accept(server.get(), nullptr, nullptr));
    ASSERT_TRUE(peer);
    std::string got;
    bool ended = false;
    (*stream)->receive(
        {.on_data = [&](std::string_view bytes) { got += bytes; }, .on_end = [&] { ended = true; }});
    ASSERT_EQ(::write(peer.get(), "hello", 5), 5);
    EXPECT_TRUE(run_until([&] { return got == "hello"; }));
    (*stream)->write("answer");
    (*stream)->close();
    char space[16] = "";
    size_t size = 0;
    EXPECT_TRUE(run_until([&] {
      const ssize_t part = ::recv(peer.get(), space + size, sizeof space - size, MSG_DONTWAIT);
      if (part > 0) size += static_cast<size_t>(part);
      return part == 0;
    }));
    EXPECT_EQ(std::string(space, size), "answer");
    ::shutdown(peer.get(), SHUT_WR);
    EXPECT_TRUE(run_until([&] { return ended; }));
  }
}

TEST_F(UnixStreamTest, ErrorsNameThePath) {
  std::filesystem::create_directory(root + "/sub");
  {
    const Descriptor gone = listener(root + "/gone");
  }
  const struct {
    std::string path;
    Errc code;
    std::string text;
  } rows[] = {
      {root + "/none", Errc::kNotFound, "connect unix:" + root + "/none: no such file or directory"},
      {root + "/gone", Errc::kIo, "connect unix:" + root + "/gone: connection refused"},
      {std::string(108, 'x'), Errc::kInvalid, "1 to 107 bytes"},
      {"", Errc::kInvalid, "1 to 107 bytes"},
      {std::string("a\0b", 3), Errc::kInvalid, "NUL byte"},
      {std::string("\0no-such-name-here", 18), Errc::kIo, "unix:@no-such-name-here: connection refused"},
  };
  for (const auto& row : rows) {
    const auto stream = connect(row.path);
    ASSERT_FALSE(stream) << row.path;
    EXPECT_EQ(stream.error().code, row.code) << stream.error().what;
    EXPECT_NE(stream.error().what.find(row.text), std::string::npos) << stream.error().what;
  }
}

TEST_F(UnixStreamTest, WaitsForAFullBacklogUntilTheDeadline) {
  const std::string path = root + "/busy";
  const Descriptor server = listener(path, 0);
  auto first = connect(path);
  ASSERT_TRUE(first);
  const auto late = connect(path, 200ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);

  std::optional<bool> good;
  const auto connecting =
      connect_unix(loop, path, fixture::patience(), [&](auto result) { good = result.ok(); });
  pass(100ms);  // it is tried again and again
  EXPECT_FALSE(good);
  const Descriptor peer(::accept(server.get(), nullptr, nullptr));
  EXPECT_TRUE(run_until([&] { return good == true; }));
}

TEST_F(UnixStreamTest, DroppingTheAttemptCancels) {
  connect_unix(loop, root + "/none", 1s, [](auto) { ADD_FAILURE() << "called"; }).reset();
  handle_ready();
}

}  // namespace
}  // namespace sliced::reactor::net
