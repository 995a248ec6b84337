// Requests whose bodies are sent piece by piece, over both versions.
#include "t/unit/http/http2_world.h"

namespace sliced::http {
namespace upload_test {
namespace {

struct UploadTest : testing::Test {
  Request streamed() { return {.method = "POST", .path = "/x", .upload = upload}; }
  void speak_http1() {
    auto made = std::make_shared<Target>();
    made->url = {.tls = false, .host = "kube", .port = 80, .base_path = ""};
    world.target = made;
    world.greeting.clear();
  }
  const std::shared_ptr<Upload> upload = std::make_shared<Upload>();
  Http2World world;
  Told told;
};

TEST_F(UploadTest, PiecesTrailersAndTheEndGoWhenTheyAreMade) {
  upload->send("early");
  const auto running = world.send(told, streamed());
  world.settle();
  const auto& request = world.peer(0).frames.requests.at(1);
  EXPECT_EQ(request.field("content-length"), "");
  EXPECT_EQ(request.body, "early");
  upload->send(" later");
  world.settle();
  EXPECT_EQ(request.body, "early later");
  EXPECT_FALSE(request.is_whole);
  world.peer(0).say(headers_frame(1, {{":status", "200"}}) + data_frame(1, "both at once"));
  EXPECT_EQ(told.body, "both at once");
  upload->finish({{"T", "u"}});
  upload->send("too late");
  world.settle();
  EXPECT_TRUE(request.is_whole);
  EXPECT_EQ(request.body, "early later");
  EXPECT_EQ(request.field("t"), "u");
  world.peer(0).say(data_frame(1, "", true));
  EXPECT_TRUE(told.is_done);
}

TEST_F(UploadTest, AnEmptyOneIsARequestWithoutBody) {
  upload->finish();
  const auto running = world.send(told, streamed());
  world.settle();
  EXPECT_TRUE(world.peer(0).frames.requests.at(1).is_whole);
  world.peer(0).answer(1, "ok");
  EXPECT_TRUE(told.is_done);
}

TEST_F(UploadTest, WaitsForTheServersCreditAndSaysWhenThereIsRoom) {
  int rooms = 0;
  upload->on_room = [&] { ++rooms; };
  const auto running = world.send(told, streamed());
  world.settle();
  upload->send(std::string(200'000, 'x'));
  world.settle();
  const auto& request = world.peer(0).frames.requests.at(1);
  EXPECT_EQ(request.body.size(), 65'535u);
  EXPECT_EQ(upload->unsent_bytes(), 200'000u - 65'535u);
  EXPECT_EQ(rooms, 0);
  world.peer(0).say(fake::window_frame(0, 100'000) + fake::window_frame(1, 100'000));
  EXPECT_EQ(rooms, 1);
  world.peer(0).say(fake::window_frame(0, 100'000) + fake::window_frame(1, 100'000));
  world.settle();
  EXPECT_EQ(request.body.size(), 200'000u);
  EXPECT_EQ(rooms, 1);
}

TEST_F(UploadTest, CreditByTheByteIsAFlood) {
  world.greeting = settings_frame({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}});
  const auto running = world.send(told, streamed());
  world.settle();
  upload->send(std::string(100'000, 'x'));
  int taken = 0;
  while (taken < 5000 && !told.is_over()) {
    world.peer(0).say(fake::window_frame(1, 1));
    world.settle();
    ++taken;
  }
  EXPECT_LT(taken, 1100);
  EXPECT_GT(taken, 900);
  EXPECT_NE(told.what().find("frames that bring nothing"), std::string::npos) << told.what();
}

TEST_F(UploadTest, WhatTheKernelDoesNotTakeStaysWithItsMaker) {
  const auto running = world.send(told, streamed());
  world.settle();
  world.peer(0).say(fake::window_frame(0, 0x7fff0000) + fake::window_frame(1, 0x7fff0000));
  fake::WireEnd& wire = *world.dials.wires[0];
  wire.is_stuck = true;
  upload->send(std::string(8 << 20, 'x'));
  world.settle();
  EXPECT_LT(wire.unsent, 2u << 20);
  EXPECT_GT(upload->unsent_bytes(), 6u << 20);
  for (int i = 0; i < 10; ++i) wire.take(wire.unsent);
  EXPECT_EQ(upload->unsent_bytes(), 0u);
}

TEST_F(UploadTest, OnceAPieceIsTakenTheRequestIsNotSentAgain) {
  const auto running = world.send(told, streamed());
  world.settle();
  world.peer(0).say(reset_frame(1, NGHTTP2_REFUSED_STREAM));
  world.settle();
  EXPECT_FALSE(told.is_over()) << "nothing is lost yet";
  upload->send("piece");
  world.settle();
  EXPECT_EQ(world.peer(0).frames.requests.at(3).body, "piece");
  world.peer(0).say(reset_frame(3, NGHTTP2_REFUSED_STREAM));
  world.settle();
  ASSERT_TRUE(told.failure);
  EXPECT_EQ(told.failure->code, Errc::kBusy);
  upload->send("to nobody");
  upload->finish();
}

TEST_F(UploadTest, AnExchangeThatIsDroppedHearsNoMore) {
  auto running = world.send(told, streamed());
  world.settle();
  running.reset();
  upload->send("to nobody");
  upload->finish();
  world.settle();
  EXPECT_EQ(world.peer(0).frames.requests.at(1).body, "");
  EXPECT_TRUE(world.peer(0).frames.requests.at(1).was_reset);
}

TEST_F(UploadTest, OverHttp1ItIsChunked) {
  speak_http1();
  const auto running = world.send(told, streamed());
  world.time.advance(0ms);
  fake::WireEnd& wire = *world.dials.wires.at(0);
  EXPECT_EQ(std::exchange(wire.sent, {}),
            "POST /x HTTP/1.1\r\nHost: kube\r\nTransfer-Encoding: chunked\r\n\r\n");
  upload->send("hello");
  EXPECT_EQ(std::exchange(wire.sent, {}), "5\r\nhello\r\n");
  upload->finish({{"t", "u"}});
  EXPECT_EQ(std::exchange(wire.sent, {}), "0\r\nt: u\r\n\r\n");
  wire.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_TRUE(told.is_done);
  EXPECT_EQ(world.client.idle_connections(), 1u);
}

TEST_F(UploadTest, OverHttp1AnAnswerBeforeItsEndCostsTheConnection) {
  speak_http1();
  int rooms = 0;
  upload->on_room = [&] { ++rooms; };
  const auto running = world.send(told, streamed());
  world.time.advance(0ms);
  fake::WireEnd& wire = *world.dials.wires.at(0);
  wire.is_stuck = true;
  upload->send(std::string(100'000, 'x'));
  upload->send(std::string(100'000, 'x'));
  EXPECT_GT(upload->unsent_bytes(), 50'000u);
  while (upload->unsent_bytes() > 0) wire.take(wire.unsent);
  EXPECT_EQ(rooms, 1);
  wire.take(wire.unsent);
  wire.say("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_TRUE(told.is_done);
  EXPECT_TRUE(wire.is_gone);
  upload->send("to nobody");
}

}  // namespace
}  // namespace upload_test
}  // namespace sliced::http
