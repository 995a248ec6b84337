#include "http/http2_server.h"

#include <algorithm>

#include "http/http2_framing.h"
#include "reactor/base/text.h"
#include "t/unit/http/http2_client.h"

namespace sliced::http {
namespace http2_server_test {
namespace {

using fake::big_endian;
using fake::data_frame;
using fake::Fields;
using fake::frame;
using fake::goaway_frame;
using fake::headers_frame;
using fake::ping_frame;
using fake::reset_frame;
using fake::settings_frame;
using fake::window_frame;

std::string get(uint32_t id) { return headers_frame(id, request_fields("/x", "GET"), true); }
std::string post(uint32_t id) { return headers_frame(id, request_fields()); }

struct Http2ServerTest : testing::Test {
  ServerWorld world;
  Http2Client client{world};
};

TEST_F(Http2ServerTest, ServesAUnaryGrpcCall) {
  Fields fields = request_fields("/v1.DRAPlugin/NodePrepareResources");
  fields.insert(fields.end(), {{"content-type", "application/grpc"}, {"te", "trailers"}});
  client.say(headers_frame(1, fields) + data_frame(1, "ask", true));
  Served& served = world.last();
  EXPECT_EQ(served.head.method, "POST");
  EXPECT_EQ(served.head.target, "/v1.DRAPlugin/NodePrepareResources");
  EXPECT_EQ(served.head.authority, "h");
  EXPECT_EQ(*served.head.header("content-type"), "application/grpc");
  EXPECT_EQ(served.body, "ask");
  EXPECT_EQ(served.ends, 1);
  served.response->send_head({.status = 200, .headers = {{"Content-Type", "application/grpc"}}});
  served.response->send_body("told");
  served.response->finish({{"grpc-status", "0"}});
  client.look();
  const auto& answer = client.answer(1);
  EXPECT_EQ(answer.fields,
            (Fields{{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "0"}}));
  EXPECT_EQ(answer.body, "told");
  EXPECT_TRUE(answer.is_whole);
  EXPECT_FALSE(answer.was_reset);
  EXPECT_EQ(client.server.count(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM), 1u) << "the trailers end it";
  EXPECT_TRUE(served.is_over);
  EXPECT_FALSE(served.loss);
}

TEST_F(Http2ServerTest, SendsAGrpcRefusalInOneFrame) {
  client.say(post(1));
  world.last().response->send_head({.status = 200, .headers = {{"grpc-status", "12"}}});
  world.last().response->finish();
  client.look();
  EXPECT_EQ(client.server.count(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM), 1u);
  EXPECT_EQ(client.server.count(NGHTTP2_DATA), 0u);
  EXPECT_TRUE(world.last().is_over);
  EXPECT_EQ(client.reset(1), -1) << "clients lose answers that a reset follows at once";
  client.say(data_frame(1, "rest"));
  world.pass(9s);
  client.look();
  EXPECT_EQ(client.reset(1), -1);
  world.pass(2s);
  client.look();
  EXPECT_EQ(client.reset(1), NGHTTP2_NO_ERROR) << "the rest of the request is not needed";
  EXPECT_EQ(world.server->calls(), 0u);
}

// As curl does: everything that there is credit for, as long as nothing resets the stream.
struct Uploader {
  Uploader(Http2Client& client_in, uint32_t id_in) : client(client_in), id(id_in) { client.say(post(id)); }
  /// Says whether all of it went.
  bool send(size_t bytes, bool end) {
    while (bytes > 0 && client.reset(id) == -1) {
      const size_t piece = std::min<size_t>({bytes, 16'384, credit(id, 65'536), credit(0, 65'535)});
      if (piece == 0) return false;
      sent += piece;
      bytes -= piece;
      client.say(data_frame(id, std::string(piece, 'x'), end && bytes == 0));
    }
    return bytes == 0;
  }
  size_t credit(uint32_t stream, size_t first) const {
    for (const auto& one : client.server.frames)
      if (one.type == NGHTTP2_WINDOW_UPDATE && one.stream == stream)
        first += static_cast<size_t>(std::stoul(hex_of(one.payload), nullptr, 16));
    return first - sent;
  }
  static std::string hex_of(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) text += hex(static_cast<uint8_t>(c), 2);
    return text;
  }
  Http2Client& client;
  const uint32_t id;
  size_t sent = 0;
};

TEST_F(Http2ServerTest, DropsTheRestOfAnAnsweredRequest) {
  world.on_request = [](Served& served) { served.response->answer(403, "no"); };
  Uploader whole(client, 1);
  EXPECT_EQ(client.status(1), "403");
  EXPECT_TRUE(client.answer(1).is_whole);
  EXPECT_TRUE(whole.send(4u << 20, true)) << "stuck after " << whole.sent << " bytes";
  EXPECT_EQ(client.reset(1), -1) << "it has ended by itself";
  EXPECT_EQ(world.last().body, "") << "who has answered hears no more";
  EXPECT_EQ(world.server->calls(), 0u);
}

TEST_F(Http2ServerTest, ReadsTheRestUpToTheBodyLimit) {
  ServerWorld one({.request = {.body_bytes_max = 1u << 20}});
  one.on_request = [](Served& served) { served.response->answer(200, "ok"); };
  Http2Client endless(one);
  Uploader upload(endless, 1);
  EXPECT_FALSE(upload.send(2u << 20, true));
  EXPECT_EQ(endless.reset(1), NGHTTP2_NO_ERROR);
  EXPECT_GT(upload.sent, 1u << 20);
  EXPECT_LE(upload.sent, (1u << 20) + 16'384);
  EXPECT_EQ(one.server->calls(), 0u);
  endless.say(get(3));
  EXPECT_EQ(endless.status(3), "200") << "and others go on";
}

TEST_F(Http2ServerTest, AnswersAnOversizedBodyBeforeTheReset) {
  ServerWorld one({.request = {.body_bytes_max = 100'000}});
  Http2Client large(one);
  Uploader upload(large, 1);
  EXPECT_FALSE(upload.send(1u << 20, true));
  EXPECT_EQ(large.status(1), "413");
  EXPECT_TRUE(large.answer(1).is_whole);
  EXPECT_GT(upload.sent, 200'000u) << "as much again is dropped behind the answer";
  EXPECT_EQ(large.reset(1), NGHTTP2_NO_ERROR);
}

// grpc-go's, by its version, where the target is "unix:///run/x.sock".
TEST_F(Http2ServerTest, AcceptsTheAuthoritiesOfUnixSocketClients) {
  uint32_t id = 1;
  for (const char* authority : {"localhost", "%2Fvar%2Flib%2Fkubelet%2Fplugins%2Fx%2Fdra.sock"}) {
    Fields fields = request_fields();
    fields[2].second = authority;
    client.say(headers_frame(id, fields, true));
    ASSERT_FALSE(world.served.empty()) << authority;
    EXPECT_EQ(world.last().head.authority, authority);
    world.last().response->answer(200, "ok");
    client.look();
    EXPECT_EQ(client.status(id), "200") << authority;
    id += 2;
  }
}

TEST_F(Http2ServerTest, KeepsLongCallsAndIdleConnections) {
  ServerWorld patient({.idle_max = 0ms});
  Http2Client kubelet(patient);
  for (const uint32_t id : {1u, 3u}) {
    kubelet.say(post(id) + data_frame(id, "ask", true));
    kubelet.live(id == 1 ? 45s : 1h);
    EXPECT_FALSE(patient.last().loss);
    patient.last().response->answer(200, "told");
    kubelet.look();
    EXPECT_EQ(kubelet.answer(id).body, "told");
    kubelet.live(24h);
    EXPECT_EQ(kubelet.goaway(), -1);
    EXPECT_FALSE(kubelet.wire.is_ended || kubelet.wire.is_gone);
  }
  EXPECT_TRUE(patient.troubles.empty());
}

TEST_F(Http2ServerTest, BothHalvesStream) {
  client.say(post(1));
  Served& served = world.last();
  served.response->send_head({.status = 200});
  for (const char* piece : {"a", "b", "c"}) {
    client.say(data_frame(1, piece));
    served.response->send_body(piece);
    client.look();
    EXPECT_EQ(client.answer(1).body, served.body);
  }
  client.say(headers_frame(1, {{"t", "u"}}, true));
  EXPECT_EQ(served.trailers, (Headers{{"t", "u"}}));
  EXPECT_EQ(served.ends, 1);
  client.live(1h);
  EXPECT_FALSE(client.answer(1).is_whole) << "an answer may go on behind the request";
  served.response->send_body("d");
  served.response->finish();
  client.look();
  EXPECT_EQ(client.answer(1).body, "abcd");
  EXPECT_TRUE(client.answer(1).is_whole);
}

TEST_F(Http2ServerTest, DecodesTheSameRequestsHoweverBytesAreCut) {
  const std::string bytes = NGHTTP2_CLIENT_MAGIC + settings_frame() + settings_frame() + post(1) +
                            data_frame(1, "hel") + get(3) + ping_frame(false) + data_frame(1, "lo") +
                            headers_frame(1, {{"t", "u"}}, true) + fake::settings_ack();
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    for (const char* protocol : {"", "h2"}) {  // by its first bytes, or by TLS
      ServerWorld one;
      fake::WireEnd& wire = one.connect(protocol);
      wire.say(bytes.substr(0, cut));
      wire.say(bytes.substr(cut));
      ASSERT_EQ(one.served.size(), 2u) << cut;
      EXPECT_EQ(one.served.front().body, "hello");
      EXPECT_EQ(one.served.front().trailers, (Headers{{"t", "u"}}));
      EXPECT_EQ(one.served.front().ends, 1);
      EXPECT_TRUE(one.troubles.empty());
    }
  }
}

TEST_F(Http2ServerTest, AnswersWaitForCreditAndHandlersForRoom) {
  client.say(get(1) + get(3));
  Served& served = world.served.front();
  size_t made = 0;
  const auto fill = [&] {
    while (made < 1'000'000 && served.response->unsent_bytes() <= kResponseRoom) {
      served.response->send_body(std::string(10'000, 'x'));
      made += 10'000;
    }
  };
  served.response->send_head({.status = 200});
  fill();
  served.then = fill;
  client.look();
  EXPECT_EQ(client.answer(1).body.size(), 65'535u) << "the client's window";
  EXPECT_LT(made, 300'000u);
  world.last().response->answer(204, "");
  client.look();
  EXPECT_EQ(client.status(3), "204") << "others are answered";
  for (int i = 0; i < 100; ++i) client.say(window_frame(1, 20'000) + window_frame(0, 20'000));
  EXPECT_EQ(client.answer(1).body.size(), 1'000'000u);
  EXPECT_GT(served.rooms, 3);
}

TEST_F(Http2ServerTest, BuffersAPausedRequestWithinItsWindow) {
  client.say(post(1));
  world.last().response->pause_request();
  const std::string piece(16'384, 'x');
  for (int i = 0; i < 4; ++i) client.say(data_frame(1, piece));
  EXPECT_EQ(world.last().body, "");
  EXPECT_EQ(client.server.count(NGHTTP2_WINDOW_UPDATE), 1u) << "the connection's, at the beginning";
  client.live(10min);
  world.last().response->resume_request();
  client.look();
  EXPECT_EQ(world.last().body.size(), 65'536u);
  EXPECT_GT(client.server.count(NGHTTP2_WINDOW_UPDATE), 1u);
  client.live(50s);
  EXPECT_FALSE(world.last().loss) << "the pause does not count";
  client.say(data_frame(1, "y", true));
  EXPECT_EQ(world.last().ends, 1);
  client.say(post(3));
  world.last().response->pause_request();
  for (int i = 0; i < 5; ++i) client.say(data_frame(3, piece));
  EXPECT_TRUE(world.last().loss) << "more than its window";
}

TEST_F(Http2ServerTest, ReturnsTheCreditOfALostRequest) {
  const std::string piece(16'384, 'x');
  for (uint32_t id = 1; id < 41; id += 2) {  // 20 times 64 KiB, over a window of 256
    client.say(post(id));
    world.last().response->pause_request();
    for (int i = 0; i < 4; ++i) client.say(data_frame(id, piece));
    if (id % 4 == 1)
      client.say(reset_frame(id, NGHTTP2_CANCEL));
    else
      world.last().response->answer(200, "");
    client.look();
    ASSERT_TRUE(world.last().is_over) << id;
  }
  EXPECT_EQ(client.goaway(), -1);
  client.say(ping_frame(false));
  EXPECT_EQ(client.server.count(NGHTTP2_PING, NGHTTP2_FLAG_ACK), 1u);
}

TEST_F(Http2ServerTest, ReportsAResetAsALoss) {
  client.say(get(1) + post(3));
  client.say(reset_frame(1, NGHTTP2_CANCEL));
  EXPECT_NE(world.served.front().what().find("CANCEL"), std::string::npos);
  EXPECT_TRUE(world.served.front().is_over);
  EXPECT_FALSE(world.last().loss);
  client.wire.fail({Errc::kIo, "gone"});
  EXPECT_EQ(world.last().what(), "gone");
}

TEST_F(Http2ServerTest, ResetsAnAbandonedRequest) {
  client.say(get(1));
  world.last().response->send_head({.status = 200});
  world.last().response->send_body("half");
  client.look();
  world.last().response->abandon();
  client.look();
  EXPECT_EQ(client.reset(1), NGHTTP2_INTERNAL_ERROR);
  EXPECT_FALSE(client.answer(1).is_whole);
}

TEST_F(Http2ServerTest, FloodsEndTheConnection) {
  uint32_t next = 1;
  const struct {
    const char* why;
    std::function<std::string()> one;
  } rows[] = {
      {"PING", [] { return ping_frame(false); }},
      {"PING that answers nothing", [] { return ping_frame(true); }},
      {"SETTINGS", [] { return settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100}}); }},
      {"empty SETTINGS", [] { return settings_frame(); }},
      {"WINDOW_UPDATE", [] { return window_frame(0, 1); }},
      {"empty DATA", [] { return data_frame(1, ""); }},
      {"DATA that is nothing but padding",
       [] {
         return frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, std::string(1, '\xff') + std::string(255, 0));
       }},
      {"PRIORITY", [] { return frame(NGHTTP2_PRIORITY, 0, 1, big_endian(0, 5)); }},
      {"GOAWAY", [] { return goaway_frame(0); }},
      {"frames that nobody knows", [] { return frame(0xfa, 0, 0, "x"); }},
      {"rapid reset (CVE-2023-44487)",
       [&] {
         next += 2;
         return get(next) + reset_frame(next, NGHTTP2_CANCEL);
       }},
      {"requests that we have to reset",
       [&] {
         next += 2;
         return headers_frame(next, {{"Bad", ""}}, true);
       }},
      {"requests that make us reset them (CVE-2025-8671)",
       [&] {
         next += 2;
         return get(next) + window_frame(next, 0x7fffffff);
       }},
  };
  for (const auto& row : rows) {
    ServerWorld one;
    Http2Client rude(one);
    next = 1;
    rude.say(post(1));
    size_t taken = 0;
    while (taken < 5000 && rude.goaway() == -1) {
      rude.say(row.one());
      ++taken;
    }
    EXPECT_LT(taken, 1100u) << row.why;
    EXPECT_GT(taken, 300u) << row.why << ": some are in order";
    EXPECT_EQ(rude.goaway(), NGHTTP2_ENHANCE_YOUR_CALM) << row.why;
    EXPECT_TRUE(rude.wire.is_ended) << row.why;
    for (const Served& served : one.served) EXPECT_TRUE(served.is_over) << row.why;
    rude.say(row.one());
    EXPECT_EQ(one.troubles.size(), 1u) << row.why << ": said once";
  }
}

TEST_F(Http2ServerTest, TreatsCreditByTheByteAsAFlood) {
  client.say(settings_frame({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}}) + get(1));
  world.last().response->answer(200, std::string(100'000, 'x'));
  client.look();
  int taken = 0;
  while (taken < 5000 && client.goaway() == -1) {
    client.say(window_frame(1, 1));
    ++taken;
  }
  EXPECT_LT(taken, 1100);
  EXPECT_EQ(client.goaway(), NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(Http2ServerTest, RefusesTooManyConcurrentStreams) {
  ServerWorld one({.streams_max = 10});
  Http2Client rude(one);
  for (uint32_t id = 1; id < 21; id += 2) rude.say(post(id));
  EXPECT_EQ(one.served.size(), 10u);
  rude.say(post(21));
  EXPECT_EQ(one.served.size(), 10u) << "never more";
}

TEST_F(Http2ServerTest, BoundsUnreadAnswers) {
  world.on_request = [](Served& served) { served.response->answer(200, std::string(100'000, 'x')); };
  client.say(settings_frame({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}}));
  for (uint32_t id = 1; id < 201; id += 2) client.say(get(id));
  EXPECT_EQ(world.served.size(), 3u) << "256 KiB wait then";
  EXPECT_EQ(client.reset(5), -1);
  for (uint32_t id = 7; id < 201; id += 2) EXPECT_EQ(client.reset(id), NGHTTP2_REFUSED_STREAM) << id;
  EXPECT_EQ(world.server->calls(), 3u);
  client.say(window_frame(0, 1 << 20) + window_frame(1, 100'000));
  client.say(get(201));
  EXPECT_EQ(world.served.size(), 4u) << "some was taken";
  EXPECT_EQ(client.goaway(), -1);
}

TEST_F(Http2ServerTest, EndlessHeadersEndTheConnection) {
  client.say(frame(NGHTTP2_HEADERS, 0, 1, fake::hpack(request_fields())));
  int taken = 0;
  while (taken < 100 && client.goaway() == -1) {
    client.say(frame(NGHTTP2_CONTINUATION, 0, 1, fake::hpack({{"a", "b"}})));
    ++taken;
  }
  EXPECT_EQ(taken, int{kHttp2ContinuationsMax} + 1);
  EXPECT_EQ(client.goaway(), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_TRUE(world.served.empty());
}

TEST_F(Http2ServerTest, RequestsAreBounded) {
  ServerWorld one({.request = {.head_bytes_max = 1000, .body_bytes_max = 10}});
  Http2Client rude(one);
  const auto with = [](uint32_t id, const Fields& more) {
    Fields fields = request_fields();
    fields.insert(fields.end(), more.begin(), more.end());
    return headers_frame(id, fields);
  };
  rude.say(with(1, {{"a", std::string(1000, 'x')}}));
  EXPECT_EQ(rude.status(1), "431");
  rude.say(with(3, Fields(kHeadersMax + 1, {"a", ""})));
  EXPECT_EQ(rude.status(3), "431");
  rude.say(with(5, {{"content-length", "11"}}));
  EXPECT_EQ(rude.status(5), "413");
  EXPECT_TRUE(one.served.empty()) << "nobody has seen these";
  rude.say(post(7) + data_frame(7, "123456") + data_frame(7, "123456"));
  EXPECT_EQ(rude.status(7), "413");
  EXPECT_EQ(one.last().loss->code, Errc::kTooLarge);
  rude.say(post(9));
  one.last().response->send_head({.status = 200});
  rude.look();
  rude.say(data_frame(9, "12345678901"));
  EXPECT_EQ(rude.reset(9), NGHTTP2_CANCEL) << "too late for a 413";
  rude.say(post(11) + headers_frame(11, {{"a", std::string(1000, 'x')}}, true));
  EXPECT_EQ(rude.status(11), "431") << "trailers, too";
  // A block that grows a thousandfold: one entry of the table again and again.
  const std::string bomb = fake::hpack(request_fields()) + "\x40" + fake::hpack_text("a") +
                           fake::hpack_text(std::string(3000, 'x')) + std::string(10'000, '\xbe');
  rude.say(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 13, bomb));
  EXPECT_NE(rude.reset(13), -1);
  EXPECT_EQ(one.served.size(), 3u);
  EXPECT_EQ(rude.goaway(), -1) << "each costs its stream alone";
}

TEST_F(Http2ServerTest, TimesOutOnSlowClients) {
  const struct {
    const char* why;
    std::string sent;
    Millis until;
    uint32_t code;
  } rows[] = {
      {"no preface", "", 10s, NGHTTP2_ENHANCE_YOUR_CALM},
      {"half a preface", "PRI *", 10s, NGHTTP2_ENHANCE_YOUR_CALM},
      {"half a frame", NGHTTP2_CLIENT_MAGIC + settings_frame() + fake::settings_ack() + get(1).substr(0, 20),
       10s, NGHTTP2_ENHANCE_YOUR_CALM},
      {"half a block",
       NGHTTP2_CLIENT_MAGIC + settings_frame() + fake::settings_ack() +
           frame(NGHTTP2_HEADERS, 0, 1, fake::hpack(request_fields())),
       10s, NGHTTP2_ENHANCE_YOUR_CALM},
      {"our settings", NGHTTP2_CLIENT_MAGIC + settings_frame(), 30s, NGHTTP2_SETTINGS_TIMEOUT},
  };
  for (const auto& row : rows) {
    ServerWorld one;
    Http2Client slow(one, false);
    slow.say(row.sent);
    one.pass(row.until - 1s);
    slow.look();
    EXPECT_EQ(slow.goaway(), -1) << row.why;
    one.pass(2s);
    slow.look();
    EXPECT_EQ(slow.goaway(), row.code) << row.why;
    EXPECT_TRUE(slow.wire.is_ended) << row.why;
  }
}

TEST_F(Http2ServerTest, AnswersASlowRequestAndResetsASlowReader) {
  client.say(post(1) + post(3) + get(5));
  auto served = world.served.begin();
  (++served)->response->send_head({.status = 200});
  Served& unread = world.last();
  unread.response->send_head({.status = 200});
  unread.response->send_body(std::string(100'000, 'x'));
  client.look();
  for (int second = 0; second < 29; ++second) {
    world.pass(1s);
    client.say(data_frame(1, "x") + data_frame(3, "x"));
  }
  EXPECT_EQ(client.reset(5), -1);
  world.pass(3s);
  client.look();
  EXPECT_EQ(client.reset(5), NGHTTP2_CANCEL);
  EXPECT_EQ(unread.what(), "the client does not take the answer");
  for (int second = 0; second < 32; ++second) {
    world.pass(1s);
    client.say(window_frame(0, 1));
  }
  EXPECT_EQ(client.status(1), "408");
  EXPECT_EQ(client.reset(3), NGHTTP2_CANCEL) << "its answer has begun";
  EXPECT_EQ(world.served.front().loss->code, Errc::kTimeout);
  EXPECT_EQ(client.goaway(), -1);
}

TEST_F(Http2ServerTest, WaitsForASlowButActiveReader) {
  client.say(get(1));
  world.last().response->send_head({.status = 200});
  world.last().response->send_body(std::string(200'000, 'x'));
  client.look();
  for (int i = 0; i < 20; ++i) {
    world.pass(20s);
    client.say(window_frame(1, 1500) + window_frame(0, 1500));
  }
  EXPECT_FALSE(world.last().loss);
  // A pause of hours without readable data does not count against the client.
  client.say(window_frame(1, 1 << 20) + window_frame(0, 1 << 20));
  client.live(1h);
  world.last().response->send_body(std::string(2 << 20, 'x'));
  client.look();
  world.pass(20s);
  EXPECT_FALSE(world.last().loss);
}

TEST_F(Http2ServerTest, PingsASilentClientThenClosesIt) {
  client.say(get(1));
  world.pass(29s);
  client.look();
  EXPECT_EQ(client.server.count(NGHTTP2_PING), 0u);
  world.pass(2s);
  client.look();
  EXPECT_EQ(client.server.count(NGHTTP2_PING), 1u);
  client.say(ping_frame(true));
  world.pass(40s);
  client.look();
  EXPECT_EQ(client.server.count(NGHTTP2_PING), 2u);
  EXPECT_FALSE(client.wire.is_gone);
  world.pass(16s);
  EXPECT_TRUE(client.wire.is_gone);
  EXPECT_EQ(world.last().what(), "the client does not answer a PING");
}

TEST_F(Http2ServerTest, StopsWithItsLastAnswer) {
  Http2Client idle(world);
  client.say(get(1));
  bool is_done = false;
  world.server->shut_down(60s, [&] { is_done = true; });
  client.look();
  idle.look();
  EXPECT_EQ(idle.goaway(), NGHTTP2_NO_ERROR);
  EXPECT_TRUE(idle.wire.is_ended);
  idle.wire.end();
  const auto last_stream = [&] {
    std::string payload;
    for (const auto& one : client.server.frames)
      if (one.type == NGHTTP2_GOAWAY) payload = one.payload.substr(0, 4);
    return payload;
  };
  EXPECT_EQ(last_stream(), big_endian(0x7fffffff, 4)) << "what is on its way is still served";
  client.say(get(3));
  EXPECT_EQ(world.served.size(), 2u);
  std::string ping;
  for (const auto& one : client.server.frames)
    if (one.type == NGHTTP2_PING) ping = one.payload;
  client.say(ping_frame(true, ping));
  EXPECT_EQ(last_stream(), big_endian(3, 4));
  client.say(get(5));
  EXPECT_EQ(world.served.size(), 2u) << "the client knows that it was not acted on";
  for (Served& served : world.served) served.response->answer(200, "ok");
  client.look();
  EXPECT_TRUE(client.answer(3).is_whole);
  EXPECT_TRUE(client.wire.is_ended);
  client.wire.end();
  client.look();
  EXPECT_TRUE(is_done);
}

TEST_F(Http2ServerTest, FinishesOpenRequestsAfterTheClientsGoaway) {
  client.say(post(1) + goaway_frame(0x7fffffff) + data_frame(1, "x", true));  // as grpc-go sends it
  ASSERT_FALSE(client.wire.is_ended);
  world.last().response->answer(200, "ok");
  client.look();
  EXPECT_EQ(client.answer(1).body, "ok");
  EXPECT_TRUE(client.wire.is_ended);
  EXPECT_TRUE(world.troubles.empty());
}

TEST_F(Http2ServerTest, AcceptsAnAnswerToALostRequest) {
  client.say(post(1) + post(3));
  Served& reset = world.served.front();
  reset.then = [&] { reset.response->answer(200, "too late"); };
  client.say(reset_frame(1, NGHTTP2_CANCEL));
  EXPECT_TRUE(reset.is_over);
  EXPECT_EQ(client.status(1), "");
  Served& late = world.last();
  late.then = [&] { late.response->answer(200, "too late"); };
  for (int i = 0; i < 4; ++i) client.live(20s);
  EXPECT_TRUE(late.is_over);
  EXPECT_EQ(client.status(3), "408");
}

TEST_F(Http2ServerTest, EndsAnIdleConnectionByGoaway) {
  client.say(get(1));
  world.last().response->answer(200, "ok");
  client.look();
  for (int i = 0; i < 13; ++i) {
    EXPECT_EQ(client.goaway(), -1) << i;
    world.pass(9s);
    client.say(ping_frame(true));
  }
  world.pass(5s);
  client.look();
  EXPECT_EQ(client.goaway(), NGHTTP2_NO_ERROR);
  EXPECT_TRUE(client.wire.is_ended);
}

TEST_F(Http2ServerTest, ProducesNothingThatTheClientDoesNotRead) {
  client.say(settings_frame({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7fffffff}}) +
             window_frame(0, 0x7fff0000 - 65'535));
  client.wire.is_stuck = true;
  client.say(get(1));
  world.last().response->send_head({.status = 200});
  world.last().response->send_body(std::string(8 << 20, 'x'));
  client.look();
  EXPECT_LT(client.wire.unsent, 200'000u);
  EXPECT_TRUE(client.wire.is_held) << "and it is not heard";
  world.pass(32s);
  EXPECT_TRUE(client.wire.is_gone);
  EXPECT_EQ(world.last().what(), "the client does not read");
}

TEST_F(Http2ServerTest, SendsContinueIfExpected) {
  Fields fields = request_fields();
  fields.push_back({"expect", "100-continue"});
  client.say(headers_frame(1, fields));
  EXPECT_EQ(client.status(1), "100");
  client.say(data_frame(1, "x", true));
  world.last().response->answer(200, "ok");
  client.look();
  EXPECT_EQ(client.answer(1).body, "ok");
}

}  // namespace
}  // namespace http2_server_test
}  // namespace sliced::http
