#include "daemon/status/listeners.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <list>

#include "daemon/status/pages.h"
#include "reactor/descriptor.h"
#include "reactor/net/unix_stream.h"
#include "t/fake/memory_log.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::status {
namespace {

namespace fs = std::filesystem;

/// What a client hears until it is cut off.
struct Client {
  std::unique_ptr<reactor::net::ByteStream> stream;
  std::string heard = {};
  bool is_over = false;

  void say(const std::string& bytes) {
    if (!stream) return void(is_over = true);
    stream->receive({.on_data = [this](std::string_view more) { heard += more; },
                     .on_end = [this] { is_over = true; },
                     .on_error = [this](const Error&) { is_over = true; }});
    stream->write(bytes);
  }
};

struct DoorTest : fixture::LoopTest {
  DoorTest() {
    char name[] = "/tmp/door-test-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~DoorTest() override { fs::remove_all(root); }

  std::unique_ptr<StatusListeners> open(const std::string& pod_uid = "",
                                        std::optional<reactor::net::Endpoint> address = {},
                                        const http::ServerBounds& bounds = kStatusListenerBounds) {
    return std::make_unique<StatusListeners>(
        StatusListenerDeps{loop, log, [] { return int64_t{0}; }},
        StatusListeners::Places{root, pod_uid, std::move(address)},
        serve_pages({{"/a", [](std::string_view) { return Answer{.body = "page a\n"}; }}}), bounds);
  }
  std::unique_ptr<reactor::net::ByteStream> connect(const std::string& path) {
    std::optional<Result<std::unique_ptr<reactor::net::ByteStream>>> made;
    const auto connecting = reactor::net::connect_unix(loop, path, fixture::patience(),
                                                       [&](auto stream) { made = std::move(stream); });
    run_until([&] { return made.has_value(); });
    return made && *made ? std::move(**made) : nullptr;
  }
  std::string ask(const std::string& path) {
    Client client{connect(path)};
    client.say("GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    EXPECT_TRUE(run_until([&] { return client.is_over; })) << client.heard;
    return client.heard;
  }

  std::string root;
  fake::MemoryLog log;
};

TEST_F(DoorTest, ServesASocketForItsUserFromStartToEnd) {
  auto door = open();
  ASSERT_EQ(door->socket(), root + "/status.sock");
  struct stat found{};
  ASSERT_EQ(::stat(door->socket().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
  EXPECT_TRUE(ask(door->socket()).ends_with("page a\n"));
  EXPECT_EQ(door->port(), 0) << "no address was asked for";
  door.reset();
  EXPECT_TRUE(fs::is_empty(root));
}

// The kernel connects it, whether or not anybody accepts.
reactor::Descriptor tcp_client(uint16_t port, const std::string& says) {
  reactor::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  EXPECT_EQ(::send(socket.get(), says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
  return socket;
}

// Silent clients may stay for longer than the test waits, so only the arrival of the next one ends them.
TEST_F(DoorTest, SilentClientsBlockNobody) {
  http::ServerBounds bounds = kStatusListenerBounds;
  bounds.head_max = bounds.request_max = bounds.stall_max = bounds.idle_max = 2 * fixture::patience();
  const auto door = open("", reactor::net::Endpoint{"127.0.0.1", 0}, bounds);
  ASSERT_NE(door->port(), 0);
  std::vector<reactor::Descriptor> silent;
  for (size_t i = 0; i < 3 * kTcpConnectionsMax; ++i)
    silent.push_back(tcp_client(door->port(), i % 2 == 0 ? "GET /a HT" : ""));
  std::vector<std::unique_ptr<reactor::net::ByteStream>> local;
  for (size_t i = 0; i < 2 * kLocalConnectionsMax; ++i) local.push_back(connect(door->socket()));
  const auto client = tcp_client(door->port(), "GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  std::string heard;
  EXPECT_TRUE(run_until([&] {
    char bytes[4'096];
    const ssize_t got = ::recv(client.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) heard.append(bytes, static_cast<size_t>(got));
    return heard.ends_with("page a\n");
  })) << heard;
  EXPECT_TRUE(ask(door->socket()).ends_with("page a\n"));
}

TEST_F(DoorTest, TheSecondDaemonUsesAnotherNameUntilTheFirstEnds) {
  auto first = open(), second = open();
  EXPECT_EQ(first->socket(), root + "/status.sock");
  EXPECT_EQ(second->socket(), root + "/status-2.sock");
  EXPECT_TRUE(ask(second->socket()).ends_with("page a\n"));
  first.reset();
  EXPECT_TRUE(run_until([&] { return second->socket() == root + "/status.sock"; }));
  EXPECT_FALSE(fs::exists(root + "/status-2.sock"));
  EXPECT_TRUE(ask(second->socket()).ends_with("page a\n"));
}

TEST_F(DoorTest, APodHasItsOwnName) {
  auto old = open("uid-1"), young = open("uid-2");
  EXPECT_EQ(old->socket(), root + "/status-uid-1.sock");
  EXPECT_EQ(young->socket(), root + "/status-uid-2.sock");
}

TEST_F(DoorTest, RemovesSocketsOfDeadDaemonsOnly) {
  {
    auto pod = open("uid-1");
    fs::rename(root + "/status-uid-1.sock", root + "/kept");
  }
  fs::rename(root + "/kept", root + "/status-uid-1.sock");
  auto living = open("uid-2");
  std::ofstream(root + "/status-3.sock") << "no socket";
  auto door = open();
  EXPECT_FALSE(fs::exists(root + "/status-uid-1.sock"));
  EXPECT_TRUE(ask(living->socket()).ends_with("page a\n"));
  EXPECT_TRUE(fs::exists(root + "/status-3.sock"));
}

// As in the directory of a machine on which daemons of thousands of nodes have run: locks are never removed.
TEST_F(DoorTest, FindsTheSocketOfADeadDaemonAmongThousandsOfLocks) {
  for (int i = 0; i < 5'000; ++i) std::ofstream(root + "/d.example_node-" + std::to_string(i) + ".lock");
  {
    auto pod = open("uid-1");
    fs::rename(root + "/status-uid-1.sock", root + "/kept");
  }
  fs::rename(root + "/kept", root + "/status-uid-1.sock");
  auto door = open();
  EXPECT_FALSE(fs::exists(root + "/status-uid-1.sock"));
}

TEST_F(DoorTest, RestoresARemovedFile) {
  auto door = open();
  fs::remove(root + "/status.sock");
  EXPECT_TRUE(run_until([&] { return fs::is_socket(root + "/status.sock"); }));
  EXPECT_TRUE(ask(door->socket()).ends_with("page a\n"));
}

TEST_F(DoorTest, ReportsAndRetriesAFailedListen) {
  fs::remove(root);
  auto door = open();
  EXPECT_EQ(door->socket(), "");
  pass(Millis{2'000});  // it is tried again
  EXPECT_EQ(log.count("status socket not created"), 1u) << log.all();
  fs::create_directory(root);
  EXPECT_TRUE(run_until([&] { return !door->socket().empty(); }));
}

TEST_F(DoorTest, WaitsForAnAddressInUse) {
  auto first = open("", reactor::net::Endpoint{"127.0.0.1", 0});
  ASSERT_NE(first->port(), 0);
  auto second = open("", reactor::net::Endpoint{"127.0.0.1", first->port()});
  EXPECT_EQ(second->port(), 0);
  EXPECT_EQ(log.count("status not served at --health-address: will retry"), 1u) << log.all();
  const uint16_t port = first->port();
  first.reset();
  EXPECT_TRUE(run_until([&] { return second->port() == port; }));
}

TEST_F(DoorTest, ServesTheAddressWithoutADirectory) {
  StatusListeners door({loop, log, [] { return int64_t{0}; }},
                       {.directory = "", .pod_uid = "", .address = reactor::net::Endpoint{"127.0.0.1", 0}},
                       serve_pages({}));
  EXPECT_NE(door.port(), 0);
  EXPECT_EQ(door.socket(), "");
  EXPECT_EQ(log.count("status not served") + log.count("status socket not created"), 0u) << log.all();
}

// Red when the server waits for one of them, or keeps it in memory: any client may send them.
TEST_F(DoorTest, DisconnectsMisbehavingClients) {
  auto door = open();
  const struct {
    const char* why;
    std::string said;
    const char* answer;
  } rows[] = {
      {"nothing is said", "", ""},
      {"half a head", "GET /a HTTP/1.1\r\nx: ", "HTTP/1.1 408 "},
      {"a head without end", "GET /a HTTP/1.1\r\nx: " + std::string(64u << 10, 'x'), "HTTP/1.1 431 "},
      {"no HTTP", "\x16\x03\x01\x02 hello\r\n\r\n", "HTTP/1.1 400 "},
      {"a tunnel", "CONNECT k:6443 HTTP/1.1\r\nhost: k:6443\r\n\r\n", "HTTP/1.1 501 "},
  };
  std::list<Client> clients;
  for (const auto& row : rows) {
    clients.push_back({connect(door->socket())});
    clients.back().say(row.said);
  }
  EXPECT_TRUE(ask(door->socket()).ends_with("page a\n")) << "others are served meanwhile";
  const auto are_over = [&] { return std::ranges::all_of(clients, &Client::is_over); };
  EXPECT_TRUE(run_until(are_over));
  auto client = clients.begin();
  for (const auto& row : rows) {
    EXPECT_TRUE(client->heard.starts_with(row.answer)) << row.why << ": " << client->heard;
    ++client;
  }
}

TEST_F(DoorTest, BoundsConnections) {
  auto door = open();
  std::vector<std::unique_ptr<reactor::net::ByteStream>> idle;
  for (size_t i = 0; i < kLocalConnectionsMax + 4; ++i) idle.push_back(connect(door->socket()));
  ASSERT_TRUE(run_until([&] { return door->connections() >= kLocalConnectionsMax; }));
  handle_ready();
  EXPECT_LE(door->connections(), kLocalConnectionsMax);
  EXPECT_TRUE(ask(door->socket()).ends_with("page a\n")) << "behind the idle ones, which are cut off";
}

TEST(SocketNames, AreReadAsTheyWereWritten) {
  for (const std::string& name : socket_names("")) EXPECT_TRUE(is_socket_name(name)) << name;
  EXPECT_TRUE(is_socket_name(socket_names("0b1d3c5e-7777")[0]));
  for (const char* name : {"status", "status.sock.x", "xstatus.sock", "dra.sock", "status_a.lock", ""})
    EXPECT_FALSE(is_socket_name(name)) << name;
}

}  // namespace
}  // namespace sliced::status
