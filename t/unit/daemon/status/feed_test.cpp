#include "daemon/status/feed.h"

#include <gtest/gtest.h>

#include "t/unit/http/server_world.h"

namespace sliced::status {
namespace feed_test {

using namespace std::chrono_literals;

struct FeedTest : testing::Test, http::ServerWorld {
  FeedTest() {
    server = std::make_unique<http::Server>(time,
                                            serve_pages({{"/events", feed.page([this] { return welcome; })}}),
                                            http::ServerOptions{.bounds = {.stall_max = 10s}});
  }
  fake::WireEnd& listen(bool reads = true) {
    fake::WireEnd& wire = connect();
    wire.is_stuck = !reads;
    wire.say("GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    settle();
    return wire;
  }
  std::string welcome = "event: head\ndata: {}\n\n";
  Feed feed{time, 3};
};

TEST_F(FeedTest, SendsToEveryListener) {
  fake::WireEnd &one = listen(), &two = listen();
  EXPECT_TRUE(one.sent.starts_with("HTTP/1.1 200 ")) << one.sent;
  EXPECT_NE(one.sent.find("content-type: text/event-stream\r\n"), std::string::npos);
  EXPECT_NE(one.sent.find(welcome), std::string::npos);
  EXPECT_EQ(feed.clients(), 2u);
  kube::Json data = kube::Json::Object{};
  data.set("a", std::string("line\nend"));
  feed.tell(event_text("devices", data));
  settle();
  for (const fake::WireEnd* wire : {&one, &two})
    EXPECT_NE(wire->sent.find("event: devices\ndata: {\"a\":\"line\\nend\"}\n\n"), std::string::npos)
        << wire->sent;
  one.end();
  one.fail({Errc::kIo, "gone"});
  settle();
  EXPECT_EQ(feed.clients(), 1u);
}

TEST_F(FeedTest, SendsKeepalives) {
  fake::WireEnd& wire = listen();
  const size_t before = wire.sent.size();
  pass(16s);
  EXPECT_EQ(wire.sent.substr(before), "3\r\n:\n\n\r\n");
}

// Red when everything is kept for a client that does not read.
TEST_F(FeedTest, DisconnectsAListenerThatDoesNotRead) {
  fake::WireEnd &slow = listen(false), &good = listen();
  const std::string event = event_text("devices", kube::Json(std::string(10'000, 'x')));
  for (int i = 0; i < 100; ++i) {
    feed.tell(event);
    settle();
  }
  EXPECT_EQ(feed.clients(), 1u);
  pass(12s);
  EXPECT_TRUE(slow.is_ended || slow.is_gone);
  EXPECT_LE(slow.sent.size(), Feed::kUnsentMax + (256u << 10));
  EXPECT_FALSE(slow.sent.ends_with("0\r\n\r\n")) << "it is no end that it could take for one";
  EXPECT_FALSE(good.is_ended);
  EXPECT_GT(good.sent.size(), 1'000'000u);
}

TEST_F(FeedTest, RunsNothingWithoutListeners) {
  EXPECT_EQ(time.next_deadline(), TimePoint::max());
  fake::WireEnd& wire = listen();
  EXPECT_NE(time.next_deadline(), TimePoint::max());
  wire.fail({Errc::kIo, "gone"});
  pass(20s);
  EXPECT_EQ(time.next_deadline(), TimePoint::max());
}

TEST_F(FeedTest, BoundsListeners) {
  for (int i = 0; i < 3; ++i) listen();
  EXPECT_TRUE(listen().sent.starts_with("HTTP/1.1 503 "));
  wires[0]->fail({Errc::kIo, "gone"});
  settle();
  EXPECT_TRUE(listen().sent.starts_with("HTTP/1.1 200 "));
}

}  // namespace feed_test
}  // namespace sliced::status
