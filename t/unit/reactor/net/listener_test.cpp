#include "reactor/net/listener.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "reactor/net/unix_socket.h"
#include "reactor/net/unix_stream.h"
#include "reactor/thread_executor.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor::net {
namespace {

using namespace std::chrono_literals;
using StreamResult = Result<std::unique_ptr<ByteStream>>;

struct ListenerTest : fixture::LoopTest {
  ListenerTest() {
    char name[] = "/tmp/listener-test-XXXXXX";
    root = ::mkdtemp(name);
    path = root + "/socket";
  }
  ~ListenerTest() override { std::filesystem::remove_all(root); }

  struct Accepted {
    std::unique_ptr<ByteStream> stream;
    Peer peer;
  };
  OnAccept keep(std::vector<Accepted>& accepted) {
    return [&accepted](std::unique_ptr<ByteStream> stream, Peer peer) {
      accepted.push_back({std::move(stream), std::move(peer)});
    };
  }
  static std::unique_ptr<ByteStream> take(StreamResult outcome) {
    return outcome ? std::move(outcome).value() : nullptr;
  }
  std::unique_ptr<ByteStream> connect(const std::string& to) {
    std::optional<StreamResult> outcome;
    const auto connecting =
        connect_unix(loop, to, fixture::patience(), [&](auto result) { outcome = std::move(result); });
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return take(std::move(*outcome));
  }
  std::unique_ptr<ByteStream> connect(const Endpoint& to) {
    std::optional<StreamResult> outcome;
    ThreadExecutor executor(loop);
    const auto connecting = connect_tcp(loop, executor, to, fixture::patience(),
                                        [&](auto result) { outcome = std::move(result); });
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return take(std::move(*outcome));
  }
  // What is left of a process that was killed.
  static void leave_stale(const std::string& at) {
    const Descriptor dead = unix_socket();
    const UnixAddress address = unix_address(at).value();
    EXPECT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size), 0);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(root))
      names.push_back(entry.path().filename());
    return names;
  }
  static unsigned mode_of(const std::string& file) {
    struct stat found{};
    EXPECT_EQ(::lstat(file.c_str(), &found), 0);
    return found.st_mode & 07777;
  }

  std::string root, path;
};

TEST_F(ListenerTest, TalksOverTcpAndOverUnixSockets) {
  const std::string abstract = std::string(1, '\0') + "listener-test-" + std::to_string(::getpid());
  for (const std::string& way : {std::string("127.0.0.1"), std::string("::1"), path, abstract}) {
    const bool is_tcp = way == "127.0.0.1" || way == "::1";
    std::vector<Accepted> accepted;
    auto made =
        is_tcp ? listen_tcp(loop, {way, 0}, {}, keep(accepted)) : listen_unix(loop, way, {}, keep(accepted));
    ASSERT_TRUE(made) << made.error().what;
    const auto listener = std::move(made).value();
    const auto client = is_tcp ? connect(Endpoint{way, listener->port()}) : connect(way);
    ASSERT_TRUE(client);
    ASSERT_TRUE(run_until([&] { return accepted.size() == 1; }));
    std::string asked, answered;
    client->receive({.on_data = [&](std::string_view bytes) { answered += bytes; }});
    ByteStream& server = *accepted[0].stream;
    server.receive({.on_data = [&](std::string_view bytes) {
      asked += bytes;
      server.write("pong");
    }});
    client->write("ping");
    EXPECT_TRUE(run_until([&] { return answered == "pong"; }));
    EXPECT_EQ(asked, "ping");
    const Peer& peer = accepted[0].peer;
    EXPECT_EQ(peer.credentials.has_value(), !is_tcp);
    if (is_tcp) {
      EXPECT_TRUE(peer.name.starts_with(way == "::1" ? "[::1]:" : "127.0.0.1:")) << peer.name;
    } else {
      EXPECT_EQ(peer.credentials->uid, ::getuid());
      EXPECT_EQ(peer.credentials->pid, ::getpid());
      EXPECT_NE(peer.name.find("(pid " + std::to_string(::getpid())), std::string::npos) << peer.name;
    }
  }
}

TEST_F(ListenerTest, BoundsOpenConnections) {
  std::vector<Accepted> accepted;
  auto listener = listen_unix(loop, path, {.connections_max = 2}, keep(accepted)).value();
  std::vector<std::unique_ptr<ByteStream>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(connect(path));
  ASSERT_TRUE(run_until([&] { return accepted.size() == 2; }));
  handle_ready();
  EXPECT_EQ(accepted.size(), 2u);
  EXPECT_EQ(listener->connections(), 2u);
  accepted.erase(accepted.begin());
  EXPECT_TRUE(run_until([&] { return accepted.size() == 2; })) << "the next one";
  accepted.clear();
  EXPECT_TRUE(run_until([&] { return accepted.size() == 1; }));
  listener.reset();
  accepted.clear();
}

TEST_F(ListenerTest, AcceptsAWaitingConnectionWhenRoomIsFreed) {
  std::vector<Accepted> accepted;
  int asked = 0;
  bool may_drop = false;
  auto listener = listen_unix(loop, path,
                              {.connections_max = 2,
                               .make_room =
                                   [&] {
                                     ++asked;
                                     if (may_drop) accepted.erase(accepted.begin());
                                     return may_drop;
                                   }},
                              keep(accepted))
                      .value();
  std::vector<std::unique_ptr<ByteStream>> clients;
  for (int i = 0; i < 2; ++i) clients.push_back(connect(path));
  ASSERT_TRUE(run_until([&] { return accepted.size() == 2; }));
  handle_ready();
  EXPECT_EQ(asked, 0) << "nobody waits";
  const auto began = Clock::now();
  clients.push_back(connect(path));
  ASSERT_TRUE(run_until([&] { return asked >= 1; }));
  handle_ready();
  EXPECT_LE(asked, 1 + (Clock::now() - began) / 100ms) << "not in every turn, but every 100 ms";
  EXPECT_EQ(accepted.size(), 2u);
  may_drop = true;
  const int before = asked;
  ASSERT_TRUE(run_until([&] { return asked > before; }));
  EXPECT_EQ(asked, before + 1);
  EXPECT_EQ(accepted.size(), 2u) << "one went, one came";
  for (int i = 0; i < 20; ++i) clients.push_back(connect(path));
  ASSERT_TRUE(run_until([&] { return asked >= before + 21; }));
  handle_ready();
  EXPECT_EQ(asked, before + 21) << "a place for each, and none for nobody";
  EXPECT_EQ(listener->connections(), 2u);
  listener.reset();
  accepted.clear();
}

TEST_F(ListenerTest, SetsTheFileModeAndRemovesTheFileAtItsEnd) {
  for (const unsigned mode : {0600u, 0660u, 0666u}) {
    auto listener = listen_unix(loop, path, {.mode = mode}, [](auto, auto) {}).value();
    EXPECT_EQ(mode_of(path), mode);
    EXPECT_EQ(files(), (std::vector<std::string>{"socket"}));
    listener.reset();
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(ListenerTest, KeepsAFileThatBelongsToAnotherProcess) {
  auto first = listen_unix(loop, path, {}, [](auto, auto) {}).value();
  std::filesystem::rename(path, root + "/old");
  auto second = listen_unix(loop, path, {}, [](auto, auto) {}).value();
  first.reset();
  EXPECT_TRUE(connect(path)) << "the second one's";
}

TEST_F(ListenerTest, AStaleSocketIsReplaced) {
  leave_stale(path);
  std::vector<Accepted> accepted;
  const auto listener = listen_unix(loop, path, {}, keep(accepted));
  ASSERT_TRUE(listener) << listener.error().what;
  EXPECT_TRUE(connect(path));
  EXPECT_EQ(files(), (std::vector<std::string>{"socket"}));
}

TEST_F(ListenerTest, RemovesNothingElse) {
  const Descriptor full = unix_socket();  // its backlog: no process accepts
  const UnixAddress full_address = unix_address(root + "/full").value();
  ASSERT_EQ(::bind(full.get(), reinterpret_cast<const sockaddr*>(&full_address.raw), full_address.size), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  const auto waiting = connect(root + "/full");
  const auto living = listen_unix(loop, root + "/living", {}, [](auto, auto) {}).value();
  std::ofstream(root + "/file") << "x";
  std::filesystem::create_symlink(root + "/living", root + "/link");
  const Descriptor datagram(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const UnixAddress datagram_address = unix_address(root + "/datagram").value();
  ASSERT_EQ(
      ::bind(datagram.get(), reinterpret_cast<const sockaddr*>(&datagram_address.raw), datagram_address.size),
      0);
  const auto before = files();
  const struct {
    std::string name;
    Errc code;
    std::string text;
  } rows[] = {{"full", Errc::kBusy, "another process listens on it"},
              {"living", Errc::kBusy, "another process listens on it"},
              {"file", Errc::kInvalid, "not a socket is there; remove it"},
              {"link", Errc::kInvalid, "not a socket is there; remove it"},
              {"datagram", Errc::kIo, "check for a listener"},
              {"none/socket", Errc::kNotFound, "no such file or directory"},
              {std::string(108, 'x'), Errc::kInvalid, "1 to 107 bytes"}};
  for (const auto& row : rows) {
    const auto refused = listen_unix(loop, root + "/" + row.name, {}, [](auto, auto) {});
    ASSERT_FALSE(refused) << row.name;
    EXPECT_EQ(refused.error().code, row.code) << refused.error().what;
    EXPECT_NE(refused.error().what.find(row.text), std::string::npos) << refused.error().what;
    EXPECT_NE(refused.error().what.find("listen on unix:" + root), std::string::npos);
    EXPECT_EQ(files().size(), before.size()) << "nothing is left behind, nothing is gone";
  }
}

TEST_F(ListenerTest, AcceptsThePathOfTheMaximumLength) {
  for (const size_t name : {2u, 3u, 8u, 20u}) {  // shorter than the hidden name beside it, and longer
    const std::string directory = root + "/" + std::string(107 - root.size() - 2 - name, 'd');
    std::filesystem::create_directory(directory);
    const std::string longest = directory + "/" + std::string(name, 's');
    ASSERT_EQ(longest.size(), 107u);
    leave_stale(longest);
    std::vector<Accepted> accepted;
    auto listener = listen_unix(loop, longest, {}, keep(accepted));
    ASSERT_TRUE(listener) << listener.error().what;
    EXPECT_TRUE(connect(longest));
    EXPECT_FALSE(listen_unix(loop, longest + "s", {}, keep(accepted)));
    listener = Error{};
    EXPECT_TRUE(std::filesystem::is_empty(directory));
  }
}

// Where the hidden name has one digit, it is soon one that is there: it may be the stale socket's, or one's own.
TEST_F(ListenerTest, NeedsOneOfSixteenHiddenNames) {
  const std::string directory = root + "/" + std::string(107 - root.size() - 1 - 3, 'd');
  std::filesystem::create_directory(directory);
  const std::string longest = directory + "/ss";
  ASSERT_EQ(longest.size(), 107u);
  for (const char* taken : {"0", "3", "7", "a", "c", "f"})
    std::ofstream(directory + "/." + taken) << "of another";
  std::vector<Accepted> accepted;
  for (int i = 0; i < 100; ++i) {
    leave_stale(longest);
    auto listener = listen_unix(loop, longest, {}, keep(accepted));
    ASSERT_TRUE(listener) << i << ": " << listener.error().what;
  }
  const auto left = std::filesystem::directory_iterator(directory);
  EXPECT_EQ(std::distance(begin(left), end(left)), 6);
}

TEST_F(ListenerTest, AcceptsOnlyTheNamedUsers) {
  std::vector<Accepted> accepted;
  std::vector<std::string> refused;
  const auto on_refused = [&](const Peer& peer) { refused.push_back(peer.name); };
  const auto others =
      listen_unix(loop, path, {.mode = 0666, .users = {::getuid() + 1}, .on_refused = on_refused},
                  keep(accepted))
          .value();
  const auto client = connect(path);
  ASSERT_TRUE(client);
  bool is_closed = false;
  client->receive({.on_data = [](std::string_view) { ADD_FAILURE() << "nothing is said to it"; },
                   .on_end = [&] { is_closed = true; },
                   .on_error = [&](const Error&) { is_closed = true; }});
  EXPECT_TRUE(run_until([&] { return is_closed; }));
  EXPECT_TRUE(accepted.empty());
  EXPECT_EQ(others->connections(), 0u);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("uid " + std::to_string(::getuid())), std::string::npos) << refused[0];
  const auto ours =
      listen_unix(loop, root + "/ours", {.users = {::getuid() + 1, ::getuid()}, .on_refused = on_refused},
                  keep(accepted))
          .value();
  const auto welcome = connect(root + "/ours");
  EXPECT_TRUE(run_until([&] { return accepted.size() == 1; }));
  EXPECT_EQ(refused.size(), 1u);
}

TEST_F(ListenerTest, NamesAnAddressThatIsInUseOrInvalid) {
  const auto first = listen_tcp(loop, {"127.0.0.1", 0}, {}, [](auto, auto) {}).value();
  const auto second = listen_tcp(loop, {"127.0.0.1", first->port()}, {}, [](auto, auto) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kBusy);
  EXPECT_NE(second.error().what.find("127.0.0.1 port " + std::to_string(first->port())), std::string::npos);
  const auto name = listen_tcp(loop, {"localhost", 0}, {}, [](auto, auto) {});
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, Errc::kInvalid);
}

TEST_F(ListenerTest, RetriesWithoutSpinningIfDescriptorsAreExhausted) {
  std::vector<Accepted> accepted;
  const auto listener = listen_unix(loop, path, {}, keep(accepted)).value();
  const auto first = connect(path);
  ASSERT_TRUE(run_until([&] { return accepted.size() == 1; }));
  const Descriptor client = unix_socket();
  const UnixAddress address = unix_address(path).value();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(client.get());
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size), 0);
  // A try and the end of its pause of 100 ms are a turn each, or two. A machine may be slower, but never faster.
  const auto began = Clock::now();
  for (int turn = 0; turn < 12; ++turn) loop.turn(1h);
  EXPECT_GE(Clock::now() - began, 200ms);
  EXPECT_EQ(accepted.size(), 1u);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(run_until([&] { return accepted.size() == 2; }));
}

TEST_F(ListenerTest, MustNotBeDestroyedByItsCallbacks) {
  const auto destroy = [this] {
    Loop own;
    std::unique_ptr<Listener> listener;
    listener = listen_unix(own, path, {}, [&](auto, const Peer&) { listener.reset(); }).value();
    const auto client = connect(path);
    while (listener) own.turn(1s);
  };
  EXPECT_DEATH(destroy(), "destroyed by its own callback: ");
}

TEST_F(ListenerTest, NotifiesAWriterOfFlushedData) {
  std::vector<Accepted> accepted;
  const auto listener = listen_unix(loop, path, {}, keep(accepted)).value();
  const auto client = connect(path);
  ASSERT_TRUE(run_until([&] { return accepted.size() == 1; }));
  size_t got = 0;
  int drained = 0;
  ByteStream& server = *accepted[0].stream;
  server.receive({.on_drained = [&] {
    ++drained;
    EXPECT_EQ(server.unsent_bytes(), 0u);
  }});
  const std::string much(4 << 20, 'x');
  server.write(much);
  EXPECT_EQ(drained, 0) << "not from within write()";
  handle_ready();
  EXPECT_EQ(drained, 0) << "nobody reads";
  EXPECT_GT(server.unsent_bytes(), 0u);
  client->receive({.on_data = [&](std::string_view bytes) { got += bytes.size(); }});
  EXPECT_TRUE(run_until([&] { return got == much.size(); }));
  EXPECT_TRUE(run_until([&] { return drained > 0; }));
}

}  // namespace
}  // namespace sliced::reactor::net
