#include "daemon/status/fragments.h"

#include <gtest/gtest.h>

#include "t/fake/fake_executor.h"
#include "t/unit/http/server_world.h"

namespace sliced::status {
namespace {

using namespace std::chrono_literals;

struct PiecesTest : testing::Test, http::ServerWorld {
  PiecesTest() : http::ServerWorld({.stall_max = 10s}) {
    server = std::make_unique<http::Server>(
        time, serve_pages(
                  {{"/long", in_fragments({executor, time}, 2,
                                          [this](std::string_view query) -> std::variant<Answer, Fragments> {
                                            if (query == "none")
                                              return Answer{.status = 404, .body = "none\n"};
                                            return Fragments{"application/json", [this, left = 20]() mutable {
                                                               if (left-- == 0) return std::string();
                                                               ++made;
                                                               return std::string(20'000, 'a' + left % 26);
                                                             }};
                                          })}}));
  }
  fake::WireEnd& ask(const std::string& head, bool reads = true) {
    fake::WireEnd& wire = connect();
    wire.is_stuck = !reads;
    wire.say(head + "\r\nhost: localhost\r\n\r\n");
    settle();
    return wire;
  }
  fake::FakeExecutor executor{time};
  size_t made = 0;
};

TEST_F(PiecesTest, FormOneAnswer) {
  const std::string sent = ask("GET /long HTTP/1.1").sent;
  EXPECT_TRUE(sent.starts_with("HTTP/1.1 200 ")) << sent.substr(0, 100);
  EXPECT_NE(sent.find("content-type: application/json\r\n"), std::string::npos);
  for (const char piece : {'a', 'j', 't'})
    EXPECT_EQ(std::ranges::count(sent.substr(sent.find("\r\n\r\n")), piece), 20'000) << piece;
  EXPECT_TRUE(sent.ends_with("\r\n0\r\n\r\n")) << "whole";
  EXPECT_EQ(made, 20u);
  EXPECT_TRUE(ask("GET /long?none HTTP/1.1").sent.starts_with("HTTP/1.1 404 "));
  const std::string head = ask("HEAD /long HTTP/1.1").sent;
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  EXPECT_NE(head.find("content-type: application/json\r\n"), std::string::npos) << head;
  EXPECT_TRUE(ask("HEAD /long?none HTTP/1.1").sent.starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(made, 20u) << "nothing is made for a HEAD";
}

// Red when the whole text is created and kept for a client that reads nothing.
TEST_F(PiecesTest, AreBuiltAsTheyAreRead) {
  fake::WireEnd& wire = ask("GET /long HTTP/1.1", false);
  EXPECT_LE(made, 12u) << "twice 64 KiB, and what is on the wire";
  const size_t before = made;
  pass(2s);
  EXPECT_EQ(made, before);
  for (int i = 0; i < 20 && !wire.sent.ends_with("\r\n0\r\n\r\n"); ++i) {
    wire.take(100'000);
    pass(100ms);
  }
  EXPECT_TRUE(wire.sent.ends_with("\r\n0\r\n\r\n"));
  EXPECT_EQ(made, 20u);
}

TEST_F(PiecesTest, BuildsTwoAtATime) {
  fake::WireEnd& first = ask("GET /long HTTP/1.1", false);
  ask("GET /long HTTP/1.1", false);
  const std::string refused = ask("GET /long HTTP/1.1").sent;
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
  EXPECT_NE(refused.find("retry-after: 1\r\n"), std::string::npos) << refused;
  // A client that reads a little now and then is treated like one that reads nothing.
  for (int i = 0; i < 13; ++i) {
    first.take(2'000);
    pass(5s);
  }
  EXPECT_FALSE(first.sent.ends_with("\r\n0\r\n\r\n"));
  EXPECT_TRUE(ask("GET /long HTTP/1.1").sent.starts_with("HTTP/1.1 200 "));
}

TEST_F(PiecesTest, AHangingPieceDoesNotEndTheAnswer) {
  executor.hang_next = 1;
  fake::WireEnd& wire = ask("GET /long HTTP/1.1");
  pass(6s);
  EXPECT_FALSE(wire.sent.ends_with("\r\n0\r\n\r\n"));
  EXPECT_TRUE(wire.is_ended || wire.is_gone);
}

}  // namespace
}  // namespace sliced::status
