#include "http/http2_session.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "reactor/base/text.h"
#include "t/fake/http2_frames.h"
#include "t/unit/http/heard.h"

namespace sliced::http {
namespace {

using namespace std::chrono_literals;
using fake::data_frame;
using fake::Fields;
using fake::frame;
using fake::goaway_frame;
using fake::headers_frame;
using fake::ping_frame;
using fake::reset_frame;
using fake::response_frames;
using fake::settings_frame;

constexpr uint32_t kFirst = 1;

struct Http2SessionTest : testing::Test {
  Http2SessionTest() {
    (void)feed(settings_frame());
    (void)feed(fake::settings_ack());
  }

  Result<Unit> feed(std::string_view bytes) {
    auto fed = session.feed(bytes, now);
    std::string out = session.take_outgoing();
    client.read(out);
    return fed;
  }
  Http2Session::StreamId get(Heard& heard, Limits limits = {}) {
    const auto id = session.send(get_request(), limits, heard);
    std::string out = session.take_outgoing();
    client.read(out);
    return id;
  }
  std::string error_of(std::string_view bytes) {
    const auto fed = feed(bytes);
    return fed ? "" : fed.error().what;
  }

  TimePoint now{};
  Http2Session session{now};
  fake::ClientFrames client;
};

TEST_F(Http2SessionTest, WritesARequestAsRfc9113Requires) {
  Heard heard;
  const auto id = session.send(outgoing({.method = "PUT",
                                         .path = "/api/v1/x",
                                         .query = {{"a", "b c"}},
                                         .headers = {{"Authorization", "Bearer t"}},
                                         .body = "{}"}),
                               {}, heard);
  std::string out = session.take_outgoing();
  client.read(out);
  EXPECT_EQ(id, 1);
  EXPECT_TRUE(client.has_preface);
  const auto& request = client.requests.at(1);
  EXPECT_EQ(request.fields, (Fields{{":method", "PUT"},
                                    {":scheme", "https"},
                                    {":authority", "kube:6443"},
                                    {":path", "/api/v1/x?a=b%20c"},
                                    {"authorization", "Bearer t"},
                                    {"content-length", "2"}}));
  EXPECT_EQ(request.body, "{}");
  EXPECT_TRUE(request.is_whole);
}

TEST_F(Http2SessionTest, DecodesTheSameResponseHoweverBytesAreCut) {
  const std::string bytes = headers_frame(kFirst, {{":status", "103"}, {"link", "x"}}) +
                            headers_frame(kFirst, {{":status", "201"}, {"content-type", "a/b"}}) +
                            data_frame(kFirst, "hel") + ping_frame(false) + data_frame(kFirst, "lo") +
                            headers_frame(kFirst, {{"grpc-status", "0"}}, true);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Http2Session one(now);
    Heard heard;
    ASSERT_TRUE(one.feed(settings_frame(), now));
    (void)one.send(get_request(), {}, heard);
    (void)one.take_outgoing();
    ASSERT_TRUE(one.feed(bytes.substr(0, cut), now));
    EXPECT_EQ(heard.ends, cut == bytes.size() ? 1 : 0);
    ASSERT_TRUE(one.feed(bytes.substr(cut), now));
    EXPECT_EQ(heard.heads, 1) << "interim ones are passed over";
    EXPECT_EQ(heard.head, (Head{201, {{"content-type", "a/b"}}}));
    EXPECT_EQ(heard.body, "hello");
    EXPECT_EQ(heard.trailers, (Headers{{"grpc-status", "0"}}));
    EXPECT_EQ(heard.ends, 1);
    EXPECT_EQ(one.streams(), 0u);
  }
}

TEST_F(Http2SessionTest, StreamsDoNotWaitForEachOther) {
  Heard first, second;
  (void)get(first);
  (void)get(second);
  ASSERT_TRUE(feed(response_frames(3, "two")));
  EXPECT_EQ(second.body, "two");
  EXPECT_EQ(second.ends, 1);
  EXPECT_FALSE(first.is_over());
  ASSERT_TRUE(feed(response_frames(1, "one")));
  EXPECT_EQ(first.body, "one");
}

TEST_F(Http2SessionTest, BuffersAPausedStreamWithinItsWindowWithoutStarvingOthers) {
  // More than fill the window of the connection.
  constexpr size_t kStopped = kHttp2ConnectionWindow / kHttp2StreamWindow + 1;
  std::array<Heard, kStopped> stopped;
  Heard other;
  const std::string piece(16'384, 'x');
  for (Heard& one : stopped) {
    const auto id = get(one);
    session.pause(id);
    ASSERT_TRUE(feed(headers_frame(static_cast<uint32_t>(id), {{":status", "200"}})));
    for (size_t sent = 0; sent < kHttp2StreamWindow; sent += piece.size())
      ASSERT_TRUE(feed(data_frame(static_cast<uint32_t>(id), piece)));
    EXPECT_EQ(one.body, "");
  }
  const auto read = static_cast<uint32_t>(get(other));
  ASSERT_TRUE(feed(headers_frame(read, {{":status", "200"}})));
  // What a server may send now: the connection's credit (65,535 before it is widened) and the stream's.
  int64_t credit = 65'535 - int64_t{kStopped * kHttp2StreamWindow}, stream_credit = kHttp2StreamWindow;
  size_t seen = 0;
  const auto count_credit = [&] {
    for (; seen < client.frames.size(); ++seen) {
      const auto& one = client.frames[seen];
      if (one.type != NGHTTP2_WINDOW_UPDATE) continue;
      uint32_t more = 0;
      for (const char c : one.payload) more = more << 8 | static_cast<uint8_t>(c);
      if (one.stream == 0) credit += more;
      if (one.stream == read) stream_credit += more;
      EXPECT_TRUE(one.stream == 0 || one.stream == read) << "those who do not read get no credit";
    }
  };
  const auto size = static_cast<int64_t>(piece.size());
  for (size_t sent = 0; sent < 8u << 20; sent += piece.size()) {
    count_credit();
    ASSERT_TRUE(credit >= size && stream_credit >= size) << "after " << sent;
    credit -= size;
    stream_credit -= size;
    ASSERT_TRUE(feed(data_frame(read, piece)));
  }
  EXPECT_EQ(other.body.size(), 8u << 20);
  (void)feed(data_frame(1, "one more"));
  EXPECT_TRUE(stopped[0].loss) << "its window is the bound of what is kept";
}

TEST_F(Http2SessionTest, DeliversBufferedDataAfterResumeOfAFinishedResponse) {
  Heard heard;
  const auto id = get(heard);
  session.pause(id);
  ASSERT_TRUE(feed(headers_frame(1, {{":status", "200"}}) + data_frame(1, "abc", true)));
  EXPECT_EQ(heard.heads, 1);
  EXPECT_EQ(heard.body, "");
  EXPECT_EQ(heard.ends, 0);
  session.deliver();
  EXPECT_EQ(heard.body, "") << "paused still";
  session.resume(id);
  session.deliver();
  EXPECT_EQ(heard.body, "abc");
  EXPECT_EQ(heard.ends, 1);
}

TEST_F(Http2SessionTest, ReportsRequestsThatTheServerDidNotProcess) {
  Heard refused, behind, seen, cut;
  (void)get(cut);
  (void)get(refused);
  (void)get(seen);
  (void)get(behind);
  ASSERT_TRUE(feed(headers_frame(1, {{":status", "200"}}) + reset_frame(1, NGHTTP2_INTERNAL_ERROR) +
                   reset_frame(3, NGHTTP2_REFUSED_STREAM) + goaway_frame(5, NGHTTP2_NO_ERROR, "bye")));
  EXPECT_EQ(cut.loss->fate, Loss::Fate::kCut);
  EXPECT_EQ(refused.loss->fate, Loss::Fate::kUnprocessed);
  EXPECT_EQ(behind.loss->fate, Loss::Fate::kUnprocessed);
  EXPECT_FALSE(seen.is_over()) << "it goes on";
  EXPECT_EQ(session.streams_max(), 0u);
  EXPECT_NE(session.farewell().find("bye"), std::string::npos);
  session.fail_all({Errc::kIo, "cut"});
  EXPECT_EQ(seen.loss->fate, Loss::Fate::kUnanswered);
}

TEST_F(Http2SessionTest, AnEarlyAnswerEndsTheRequest) {
  Heard heard;
  (void)session.send(outgoing({.method = "POST", .path = "/x", .body = std::string(1 << 20, 'x')}), {},
                     heard);
  std::string out = session.take_outgoing();
  client.read(out);
  EXPECT_FALSE(client.requests.at(1).is_whole) << "the server's window is 65,535";
  ASSERT_TRUE(feed(response_frames(1, "too much", "413") + reset_frame(1, NGHTTP2_NO_ERROR)));
  EXPECT_EQ(heard.head.status, 413);
  EXPECT_EQ(heard.body, "too much");
  EXPECT_EQ(heard.ends, 1);
}

TEST_F(Http2SessionTest, HonoursTheServersStreamLimit) {
  EXPECT_EQ(Http2Session(now).streams_max(), kHttp2StreamsAssumed);
  EXPECT_EQ(Http2Session(now, 7).streams_max(), 7u);
  ASSERT_TRUE(feed(settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 3}})));
  EXPECT_EQ(session.streams_max(), 3u);
  ASSERT_TRUE(feed(settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1}})));
  EXPECT_EQ(session.streams_max(), 1u);
}

TEST_F(Http2SessionTest, ResponsesAreBounded) {
  const auto lost_by = [&](Limits limits, auto make) {
    Heard heard;
    const auto id = get(heard, limits);
    EXPECT_TRUE(feed(make(static_cast<uint32_t>(id)))) << "the connection lives on";
    EXPECT_TRUE(client.requests.at(static_cast<uint32_t>(id)).was_reset);
    EXPECT_EQ(heard.loss->error.code, Errc::kTooLarge);
    return heard.what();
  };
  EXPECT_NE(lost_by({.head_bytes_max = 4096},
                    [](uint32_t id) {
                      return headers_frame(id, {{":status", "200"}, {"a", std::string(5000, 'x')}});
                    })
                .find("larger than 4096 bytes"),
            std::string::npos);
  EXPECT_NE(lost_by({},
                    [](uint32_t id) {
                      Fields fields = {{":status", "200"}};
                      for (int i = 0; i < 300; ++i) fields.emplace_back("a", "b");
                      return headers_frame(id, fields);
                    })
                .find("more than 256 headers"),
            std::string::npos);
  EXPECT_NE(
      lost_by({.body_bytes_max = 5},
              [](uint32_t id) { return headers_frame(id, {{":status", "200"}}) + data_frame(id, "123456"); })
          .find("larger than 5 bytes"),
      std::string::npos);
  EXPECT_NE(lost_by({.head_bytes_max = 4096},
                    [](uint32_t id) {
                      std::string interim;
                      for (int i = 0; i < 100; ++i)
                        interim += headers_frame(id, {{":status", "103"}, {"link", std::string(60, 'x')}});
                      return interim;
                    })
                .find("larger than 4096 bytes"),
            std::string::npos);
}

TEST_F(Http2SessionTest, FloodsEndTheConnection) {
  const struct {
    const char* why;
    std::string one;
  } rows[] = {{"PING", ping_frame(false)},
              {"PING that answers nothing", ping_frame(true)},
              {"SETTINGS", settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100}})},
              {"empty SETTINGS", settings_frame()},
              {"WINDOW_UPDATE", fake::window_frame(0, 1)},
              {"empty DATA", data_frame(1, "")},
              {"PRIORITY", frame(NGHTTP2_PRIORITY, 0, 1, fake::big_endian(0, 5))},
              {"GOAWAY", goaway_frame(0x7fffffff)},
              {"frames that nobody knows", frame(0xfa, 0, 0, "x")},
              {"RST_STREAM of what is over", reset_frame(1, NGHTTP2_CANCEL)}};
  for (const auto& row : rows) {
    Http2Session one(now);
    Heard heard;
    ASSERT_TRUE(one.feed(settings_frame(), now));
    (void)one.send(get_request(), {}, heard);
    (void)one.take_outgoing();
    ASSERT_TRUE(one.feed(headers_frame(1, {{":status", "200"}}), now));
    size_t taken = 0;
    while (taken < 5000 && one.feed(row.one, now)) {
      (void)one.take_outgoing();
      ++taken;
    }
    EXPECT_LT(taken, 1100u) << row.why;
    EXPECT_GT(taken, 900u) << row.why << ": some are in order";
    EXPECT_FALSE(one.feed(response_frames(1, "x"), now)) << row.why;
  }
}

TEST_F(Http2SessionTest, RefillsTheFrameBudgetWithTimeAndUse) {
  for (int minute = 0; minute < 10; ++minute) {
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(feed(ping_frame(false))) << minute;
    now += 60s;
  }
  for (int request = 0; request < 100; ++request) {
    Heard heard;
    const auto id = static_cast<uint32_t>(get(heard));
    std::string answer;
    for (int i = 0; i < 40; ++i) answer += fake::window_frame(0, 1);
    ASSERT_TRUE(feed(answer + response_frames(id, "x"))) << request;
  }
}

TEST_F(Http2SessionTest, EndlessHeadersEndTheConnection) {
  for (const size_t size : {size_t{0}, size_t{100}}) {
    Http2Session one(now);
    Heard heard;
    ASSERT_TRUE(one.feed(settings_frame(), now));
    (void)one.send(get_request(), {}, heard);
    (void)one.take_outgoing();
    ASSERT_TRUE(one.feed(frame(NGHTTP2_HEADERS, 0, 1, fake::hpack({{":status", "200"}})), now));
    const std::string more =
        frame(NGHTTP2_CONTINUATION, 0, 1, size == 0 ? "" : fake::hpack({{"a", std::string(size, 'b')}}));
    size_t taken = 0;
    while (taken < 1000 && one.feed(more, now)) ++taken;
    EXPECT_EQ(taken, kHttp2ContinuationsMax) << size;
  }
}

TEST_F(Http2SessionTest, InvalidHttp2EndsTheConnection) {
  for (const std::string& bytes : {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"),
                                   std::string("\x15\x03\x01\x00\x02\x02\x0a alert", 13), ping_frame(false),
                                   frame(NGHTTP2_SETTINGS, 0, 0, "odd"), frame(NGHTTP2_SETTINGS, 0, 3, "")}) {
    Http2Session one(now);
    const auto fed = one.feed(bytes, now);
    ASSERT_FALSE(fed) << escaped(bytes);
    EXPECT_EQ(fed.error().code, Errc::kIo);
    EXPECT_NE(fed.error().what.find("HTTP/2"), std::string::npos) << fed.error().what;
  }
  EXPECT_NE(error_of(frame(NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, 1, fake::big_endian(2, 4))), "")
      << "nobody may push";
  EXPECT_FALSE(feed(ping_frame(false))) << "of no use after an error";
}

TEST_F(Http2SessionTest, ABrokenResponseCostsItsStreamOnly) {
  const struct {
    const char* why;
    std::function<std::string(uint32_t)> bytes;
  } rows[] = {
      {"no status", [](uint32_t id) { return headers_frame(id, {{"a", "b"}}); }},
      {"a status that is none",
       [](uint32_t id) { return headers_frame(id, {{":status", "037"}}) + data_frame(id, "x", true); }},
      {"a connection's header",
       [](uint32_t id) { return headers_frame(id, {{":status", "200"}, {"connection", "close"}}); }},
      {"capital letters", [](uint32_t id) { return headers_frame(id, {{":status", "200"}, {"Aa", "b"}}); }},
      {"less than its length",
       [](uint32_t id) {
         return headers_frame(id, {{":status", "200"}, {"content-length", "9"}}) + data_frame(id, "x", true);
       }},
      {"switching protocols", [](uint32_t id) { return headers_frame(id, {{":status", "101"}}); }},
  };
  for (const auto& row : rows) {
    Heard heard, other;
    const auto id = static_cast<uint32_t>(get(heard));
    const auto id_other = static_cast<uint32_t>(get(other));
    ASSERT_TRUE(feed(row.bytes(id) + response_frames(id_other, "fine"))) << row.why;
    ASSERT_TRUE(heard.loss) << row.why;
    EXPECT_EQ(heard.loss->error.code, Errc::kIo) << row.why;
    EXPECT_EQ(heard.ends, 0) << row.why;
    EXPECT_EQ(other.body, "fine") << row.why;
  }
}

TEST_F(Http2SessionTest, AReceiverMayCancelAndSendInEachCallback) {
  const std::string answer = headers_frame(1, {{":status", "200"}}) + data_frame(1, "a") +
                             data_frame(1, "b") + headers_frame(1, {{"t", "u"}}, true);
  for (int at = 1; at <= 5; ++at) {
    Http2Session one(now);
    Heard heard, next;
    int calls = 0;
    ASSERT_TRUE(one.feed(settings_frame(), now));
    heard.then = [&] {
      if (++calls != at) return;
      one.cancel(1);
      (void)one.send(get_request(), {}, next);
      EXPECT_EQ(one.take_outgoing(), "") << "not from within a receiver";
    };
    (void)one.send(get_request(), {}, heard);
    (void)one.take_outgoing();
    ASSERT_TRUE(one.feed(answer, now));
    EXPECT_EQ(calls, at) << "nothing after the cancellation";
    (void)one.take_outgoing();
    ASSERT_TRUE(one.feed(response_frames(3, "next"), now));
    EXPECT_EQ(next.body, "next");
  }
}

}  // namespace
}  // namespace sliced::http
