#include "http/http2_connection.h"

#include "t/unit/http/http2_world.h"

namespace sliced::http {
namespace {

TEST(Http2ConnectionTest, PingsASilentServerAfter30SecondsAndFailsAfter15) {
  Http2World world;
  Told watch, write;
  const auto watching = world.watch(watch);
  world.settle();
  world.peer(0).say(headers_frame(1, {{":status", "200"}}));
  world.pass(29'999ms);
  EXPECT_EQ(world.peer(0).frames.count(NGHTTP2_PING), 0u);
  world.pass(1ms);
  EXPECT_EQ(world.peer(0).frames.count(NGHTTP2_PING), 1u);
  const auto writing = world.create(write);
  world.settle();
  world.pass(14'999ms);
  EXPECT_FALSE(watch.is_over());
  world.pass(1ms);
  for (const Told* one : {&watch, &write}) {
    ASSERT_TRUE(one->failure);
    EXPECT_EQ(one->failure->code, Errc::kTimeout);
    EXPECT_NE(one->what().find("PING"), std::string::npos) << one->what();
  }
  EXPECT_TRUE(world.peer(0).wire->is_gone);
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

TEST(Http2ConnectionTest, KeepsAServerThatAnswersPings) {
  Http2World world;
  Told watch;
  const auto watching = world.watch(watch);
  world.settle();
  world.peer(0).say(headers_frame(1, {{":status", "200"}}));
  for (size_t i = 1; i <= 7; ++i) {
    world.pass(30s);
    ASSERT_EQ(world.peer(0).frames.count(NGHTTP2_PING), i);
    world.pass(14s);
    world.peer(0).say(ping_frame(true));
  }
  EXPECT_FALSE(watch.is_over()) << watch.what();
}

TEST(Http2ConnectionTest, DoesNotPingABusyConnection) {
  Http2World world;
  Told watch;
  const auto watching = world.watch(watch);
  world.settle();
  world.peer(0).say(headers_frame(1, {{":status", "200"}}));
  for (int i = 0; i < 30; ++i) {
    world.pass(20s);
    world.peer(0).say(data_frame(1, "event\n"));
  }
  EXPECT_EQ(world.peer(0).frames.count(NGHTTP2_PING), 0u);
}

TEST(Http2ConnectionTest, RepeatsOnlyIdempotentUnansweredRequestsAfterACut) {
  Http2World world;
  Told first, read, watch, write;
  const auto one = world.get(first);
  world.settle();
  world.peer(0).answer(1, "x");
  const auto reading = world.get(read), watching = world.watch(watch), writing = world.create(write);
  world.settle();
  world.peer(0).say(headers_frame(5, {{":status", "200"}}));
  world.peer(0).wire->fail({Errc::kIo, "reset by peer"});
  world.settle();
  EXPECT_EQ(watch.failure->code, Errc::kIo) << "its response had begun";
  EXPECT_EQ(write.failure->code, Errc::kIo) << "it must not happen twice";
  ASSERT_EQ(world.peers.size(), 2u);
  ASSERT_EQ(world.peer(1).waiting().size(), 1u);
  world.peer(1).answer(1, "again");
  EXPECT_EQ(read.body, "again");
}

TEST(Http2ConnectionTest, FailuresIncludeTheServersLastMessage) {
  Http2World world;
  Told told;
  const auto running = world.create(told);
  world.settle();
  world.peer(0).say(goaway_frame(1, NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings"));
  world.peer(0).wire->end();
  EXPECT_EQ(told.what(),
            "http://kube:80: the server closed the connection (ENHANCE_YOUR_CALM: too_many_pings)");
}

TEST(Http2ConnectionTest, TimesOutAndResetsOneUnansweredExchange) {
  Http2World world;
  Told slow, watch;
  const auto watching = world.watch(watch);
  const auto running = world.create(slow);
  world.settle();
  world.peer(0).say(headers_frame(1, {{":status", "200"}}));
  world.pass(20s);
  world.peer(0).say(data_frame(1, "event\n"));
  world.pass(10s);
  EXPECT_EQ(slow.failure->code, Errc::kTimeout);
  EXPECT_TRUE(world.peer(0).frames.requests.at(3).was_reset);
  EXPECT_FALSE(watch.is_over());
}

TEST(Http2ConnectionTest, ResumesAPausedExchange) {
  Http2World world;
  Told told;
  const auto running = world.get(told);
  world.settle();
  world.peer(0).say(headers_frame(1, {{":status", "200"}}) + data_frame(1, "a"));
  running->pause();
  world.peer(0).say(data_frame(1, "b"));
  for (int i = 0; i < 10; ++i) {
    world.pass(25s);
    world.peer(0).say(ping_frame(true));
  }
  EXPECT_EQ(told.body, "a");
  EXPECT_FALSE(told.is_over()) << "silence is not counted: " << told.what();
  running->resume();
  EXPECT_EQ(told.body, "a") << "not from within resume()";
  world.settle();
  EXPECT_EQ(told.body, "ab");
  world.peer(0).say(data_frame(1, "c", true));
  EXPECT_TRUE(told.is_done);
}

}  // namespace
}  // namespace sliced::http
