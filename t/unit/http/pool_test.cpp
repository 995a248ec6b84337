// The assignment of exchanges to connections, for HTTP/2 servers.
#include "http/pool.h"

#include <algorithm>

#include "t/unit/http/http2_world.h"

namespace sliced::http {
namespace {

TEST(PoolTest, ConcurrentRequestsShareOneConnection) {
  Http2World world;
  std::vector<Told> told(10);
  std::vector<ExchangePtr> running;
  for (size_t i = 0; i < 6; ++i) running.push_back(world.watch(told[i]));
  for (size_t i = 6; i < 10; ++i) running.push_back(world.get(told[i]));
  world.settle();
  EXPECT_EQ(world.dials.dialed, 1u);
  ASSERT_EQ(world.peer(0).waiting().size(), 10u);
  for (const uint32_t id : world.peer(0).waiting()) world.peer(0).answer(id, std::to_string(id));
  EXPECT_TRUE(std::all_of(told.begin(), told.end(), [](const Told& one) { return one.is_done; }));
  Told later;
  const auto next = world.get(later);
  world.settle();
  EXPECT_EQ(world.dials.dialed, 1u) << "it is kept";
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

TEST(PoolTest, ClosesAnIdleConnectionAfterItsTimeout) {
  Http2World world;
  Told told;
  const auto running = world.get(told);
  world.settle();
  world.peer(0).answer(1, "x");
  EXPECT_EQ(world.client.idle_connections(), 1u);
  for (int i = 0; i < 4; ++i) {  // PINGs are answered
    world.pass(15s);
    world.peer(0).say(ping_frame(true));
  }
  EXPECT_EQ(world.client.idle_connections(), 0u);
  EXPECT_TRUE(world.peer(0).wire->is_gone);
  EXPECT_EQ(world.peer(0).frames.count(NGHTTP2_GOAWAY), 1u) << "and says so";
}

TEST(PoolTest, AFailedDialFailsAllWaitingRequests) {
  Http2World world;
  world.dials.refusal = Error{Errc::kIo, "connection refused"};
  std::vector<Told> told(3);
  std::vector<ExchangePtr> running;
  for (Told& one : told) running.push_back(world.watch(one));
  world.settle();
  EXPECT_EQ(world.dials.dialed, 1u);
  for (const Told& one : told) EXPECT_EQ(one.what(), "http://kube:80: connection refused");
}

TEST(PoolTest, ContinuesADialForRemainingRequests) {
  Http2World world;
  world.dials.takes = 10ms;
  Told first, second;
  auto one = world.get(first);
  const auto two = world.get(second);
  world.settle();
  one.reset();
  world.pass(10ms);
  EXPECT_EQ(world.dials.dialed, 1u);
  ASSERT_EQ(world.peer(0).waiting().size(), 1u);
  world.peer(0).answer(1, "x");
  EXPECT_TRUE(second.is_done);
}

TEST(PoolTest, CancelsADialWithoutRequests) {
  Http2World world;
  world.dials.takes = 10ms;
  Told told;
  auto one = world.get(told);
  world.settle();
  one.reset();
  world.pass(10ms);
  EXPECT_TRUE(world.dials.wires.empty());
}

TEST(PoolTest, TimesOutADialWithoutAnAnswer) {
  Http2World world;
  world.dials.is_mute = true;
  Told told;
  const auto running = world.get(told);
  world.settle();
  world.pass(9'999ms);
  EXPECT_FALSE(told.is_over());
  world.pass(1ms);
  EXPECT_EQ(told.failure->code, Errc::kTimeout) << told.what();
}

TEST(PoolTest, SendsAWriteBesideWatchesThatFillTheConnection) {
  Http2World world;
  world.greeting = settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 4}});
  std::vector<Told> told(6);
  std::vector<ExchangePtr> running;
  for (Told& one : told) {
    running.push_back(world.watch(one));
    world.settle();
  }
  EXPECT_EQ(world.dials.dialed, 2u);
  EXPECT_EQ(world.peer(0).waiting().size(), 3u) << "one place is reserved";
  EXPECT_EQ(world.peer(1).waiting().size(), 3u);
  Told write;
  const auto writing = world.create(write);
  world.settle();
  EXPECT_EQ(world.dials.dialed, 2u);
  ASSERT_EQ(world.peer(0).waiting().size() + world.peer(1).waiting().size(), 7u);
}

TEST(PoolTest, OpensAConnectionPerRequestIfTheServerAllowsOneStream) {
  for (const bool is_lowered_later : {false, true}) {
    Http2World world;
    const std::string one_only = settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1}});
    if (!is_lowered_later) world.greeting = one_only;
    std::vector<Told> told(6);
    std::vector<ExchangePtr> running;
    for (Told& watch : told) running.push_back(world.watch(watch));
    world.settle();
    if (is_lowered_later) {
      world.peer(0).say(one_only);
      world.greeting = one_only;
    }
    // As a server with one place: further streams are refused.
    for (int round = 0; round < 20; ++round) {
      for (const auto& peer : world.peers) {
        auto waiting = peer->waiting();
        for (size_t i = 1; i < waiting.size(); ++i) {
          peer->answered[waiting[i]] = true;
          peer->say(reset_frame(waiting[i], NGHTTP2_REFUSED_STREAM));
        }
      }
      world.pass(100ms);
    }
    for (const Told& watch : told) EXPECT_FALSE(watch.is_over()) << watch.what();
    for (const auto& peer : world.peers) EXPECT_LE(peer->waiting().size(), 1u);
    Told write;
    const auto writing = world.create(write);
    world.settle();
    size_t written = 0;
    for (const auto& peer : world.peers)
      for (const uint32_t id : peer->waiting()) {
        if (peer->frames.requests.at(id).field(":method") != "POST") continue;
        ++written;
        peer->answer(id, "ok");
      }
    EXPECT_EQ(written, 1u);
    EXPECT_TRUE(write.is_done) << "a write waits for no watch";
  }
}

TEST(PoolTest, MovesWatchesWithin30SecondsOfGoaway) {
  Http2World world;
  Told watch, write, later;
  const auto watching = world.watch(watch);
  const auto writing = world.create(write);
  world.settle();
  Http2Peer& old = world.peer(0);
  old.say(headers_frame(1, {{":status", "200"}}) + data_frame(1, "one\n"));
  old.say(goaway_frame(0x7fffffff));
  world.settle();
  const auto next = world.create(later);
  world.settle();
  EXPECT_EQ(world.dials.dialed, 2u) << "what is new goes to a new connection";
  ASSERT_EQ(world.peer(1).waiting().size(), 1u);
  EXPECT_EQ(world.connections(), 2u) << "two while one drains";
  old.say(goaway_frame(3));
  old.answer(3, "written");
  EXPECT_TRUE(write.is_done) << "what the old one has is finished there";
  world.pass(14'999ms);
  old.say(data_frame(1, "two\n"));
  EXPECT_EQ(watch.body, "one\ntwo\n") << "what still comes is heard";
  EXPECT_FALSE(watch.was_moved);
  world.pass(1ms);
  EXPECT_TRUE(watch.was_moved) << "half of 30 s, by the dice";
  world.settle();
  EXPECT_TRUE(old.wire->is_gone);
  EXPECT_EQ(watch.ends, 1);
}

TEST(PoolTest, RepeatsOnlyRequestsThatGoawayDidNotProcess) {
  Http2World world;
  std::vector<Told> told(3);
  std::vector<ExchangePtr> running;
  for (Told& one : told) running.push_back(world.create(one));
  world.settle();
  Http2Peer& old = world.peer(0);
  ASSERT_EQ(old.waiting(), (std::vector<uint32_t>{1, 3, 5}));
  old.say(goaway_frame(3));
  world.settle();
  ASSERT_EQ(world.peers.size(), 2u);
  EXPECT_EQ(world.peer(1).waiting().size(), 1u) << "the third alone";
  old.answer(1, "one");
  old.wire->end();
  world.settle();
  EXPECT_TRUE(told[0].is_done);
  EXPECT_EQ(told[1].failure->code, Errc::kIo) << "nobody knows whether it was acted on";
  EXPECT_EQ(world.peer(1).waiting().size(), 1u) << "it is not sent twice";
  world.peer(1).answer(1, "three");
  EXPECT_EQ(told[2].body, "three");
}

TEST(PoolTest, DoesNotAccumulateConnectionsThatTheServerCloses) {
  Http2World world;
  std::vector<std::unique_ptr<Told>> told;
  std::vector<ExchangePtr> running;
  for (int i = 0; i < 20; ++i) {
    told.push_back(std::make_unique<Told>());
    running.push_back(world.watch(*told.back()));
    world.settle();
    Http2Peer& newest = *world.peers.back();
    newest.say(headers_frame(1, {{":status", "200"}}));
    newest.say(goaway_frame(1));
    world.settle();
    EXPECT_LE(world.connections(), 2u) << i;
  }
}

TEST(PoolTest, RepeatsRefusedRequestsFiveTimes) {
  Http2World world;
  Told told;
  const auto running = world.create(told);
  world.settle();
  size_t asked = 0;
  for (int i = 0; i < 100 && !told.is_over(); ++i) {
    for (const auto& peer : world.peers)
      for (const uint32_t id : peer->waiting()) {
        ++asked;
        peer->answered[id] = true;
        peer->say(reset_frame(id, NGHTTP2_REFUSED_STREAM));
      }
    world.pass(100ms);
  }
  EXPECT_EQ(asked, 6u);
  EXPECT_EQ(told.failure->code, Errc::kBusy) << told.what();
  EXPECT_EQ(world.dials.dialed, 1u);
}

TEST(PoolTest, BoundsDialsToAServerThatRefusesEverything) {
  Http2World world;
  world.greeting = settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0}});
  Told told;
  const auto running = world.get(told);
  for (int i = 0; i < 300 && !told.is_over(); ++i) {
    world.settle();
    for (const auto& peer : world.peers)
      for (const uint32_t id : peer->waiting()) {
        peer->answered[id] = true;
        peer->say(reset_frame(id, NGHTTP2_REFUSED_STREAM));
      }
    world.pass(100ms);
  }
  EXPECT_TRUE(told.failure);
  EXPECT_LE(world.dials.dialed, 8u);
}

TEST(PoolTest, DrainsOldConnectionsOnANewTarget) {
  Http2World world;
  Told watch, write;
  const auto watching = world.watch(watch);
  world.settle();
  world.peer(0).say(headers_frame(1, {{":status", "200"}}));
  world.target = Http2World::make_target();  // another certificate
  const auto writing = world.create(write);
  world.settle();
  ASSERT_EQ(world.peers.size(), 2u);
  EXPECT_EQ(world.peer(1).waiting().size(), 1u);
  EXPECT_FALSE(world.peer(0).wire->is_gone);
  world.pass(15s);
  EXPECT_TRUE(watch.was_moved);
  EXPECT_TRUE(world.peer(0).wire->is_gone);
}

TEST(PoolTest, IsSilentWhenDroppedAtAnyMomentAndKeepsItsConnection) {
  for (int stage = 0; stage < 6; ++stage) {
    SCOPED_TRACE(stage);
    Http2World world;
    Told other;
    const auto neighbour = world.watch(other);
    int heard_after = 0, heard = 0;
    ExchangePtr call;
    const auto hear = [&] {
      if (!call) ++heard_after;
      if (++heard == stage - 2) call.reset();
    };
    call = world.client.start(world.target, {.method = "GET", .path = "/"}, {},
                              {.on_head = [&](const Head&) { hear(); },
                               .on_body = [&](std::string_view) { hear(); },
                               .on_done = [&] { hear(); },
                               .on_failure = [&](const Error&) { hear(); }});
    if (stage == 0) call.reset();
    world.time.advance(0ms);
    if (stage == 1) call.reset();
    world.settle();
    if (stage == 2) call.reset();
    world.settle();
    for (const uint32_t id : world.peer(0).waiting())
      if (id != 1) world.peer(0).answer(id, "x");
    world.settle();
    EXPECT_EQ(heard_after, 0);
    EXPECT_EQ(world.connections(), 1u);
    world.peer(0).answer(1, "alive");
    EXPECT_EQ(other.body, "alive");
  }
}

}  // namespace
}  // namespace sliced::http
