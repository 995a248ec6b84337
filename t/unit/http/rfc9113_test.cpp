// RFC 9113 (HTTP/2), and 7541 where it is named: what a client sends, and what must come back. The choice of
// cases is that of the RFC's own sentences with MUST in them; where it leaves a choice (a stream error may be
// treated as a connection error, section 5.4.1), the row says which one is ours.
#include "t/unit/http/http2_client.h"

namespace sliced::http {
namespace rfc9113_test {
namespace {

using fake::big_endian;
using fake::data_frame;
using fake::Fields;
using fake::frame;
using fake::goaway_frame;
using fake::headers_frame;
using fake::hpack;
using fake::ping_frame;
using fake::reset_frame;
using fake::settings_frame;
using fake::window_frame;

enum class Comes {
  kGoaway,   // a connection error of that code, and the end of the connection
  kReset,    // a stream error of that code, on stream 1; others go on
  kAnswer,   // that status, on stream 1
  kNothing,  // it is passed over
};

struct Case {
  const char* section;
  std::string sent;  // behind preface, settings and their acknowledgement
  Comes comes;
  uint32_t code = 0;
  std::string then = "";  // sent once that has been answered
};

const Fields kPost = request_fields();

std::string get(uint32_t id) { return headers_frame(id, kPost, true); }
std::string open(uint32_t id) { return headers_frame(id, kPost); }
// Its answer is not made: the stream stays half-closed.
std::string hold(uint32_t id) { return headers_frame(id, request_fields("/hold"), true); }
std::string with(const Fields& more) {
  Fields fields = kPost;
  fields.insert(fields.end(), more.begin(), more.end());
  return headers_frame(1, fields, true);
}
std::string only(const Fields& fields) { return headers_frame(1, fields, true); }
std::string setting(int id, uint32_t value) { return settings_frame({{id, value}}); }
std::string padded(int type, int flags, uint32_t stream, uint8_t padding, const std::string& payload) {
  return frame(type, flags | NGHTTP2_FLAG_PADDED, stream, static_cast<char>(padding) + payload);
}

constexpr int kEnds = NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS;

std::vector<Case> cases_of_frames() {
  return {
      {"4.1 unknown frames are passed over", frame(0xfa, 0xff, 0, "what") + get(1), Comes::kAnswer, 200},
      {"4.1 unknown frames of a stream, too", open(1) + frame(0xfa, 0xff, 1, "") + data_frame(1, "x", true),
       Comes::kAnswer, 200},
      {"4.1 unknown flags are passed over", frame(NGHTTP2_PING, 0x16, 0, "12345678") + get(1), Comes::kAnswer,
       200},
      {"4.1 the reserved bit is passed over", frame(NGHTTP2_HEADERS, kEnds, 0x80000001, hpack(kPost)),
       Comes::kAnswer, 200},
      {"4.2 DATA above MAX_FRAME_SIZE", open(1) + data_frame(1, std::string(16'385, 'x')), Comes::kGoaway,
       NGHTTP2_FRAME_SIZE_ERROR},
      {"4.2 HEADERS above MAX_FRAME_SIZE", headers_frame(1, {{"a", std::string(16'385, 'x')}}),
       Comes::kGoaway, NGHTTP2_FRAME_SIZE_ERROR},
      {"4.2 SETTINGS above MAX_FRAME_SIZE", frame(NGHTTP2_SETTINGS, 0, 0, std::string(16'386, 0)),
       Comes::kGoaway, NGHTTP2_FRAME_SIZE_ERROR},
      {"4.3 a block that cannot be decoded (RFC 7541 6.1: index 0)", frame(NGHTTP2_HEADERS, kEnds, 1, "\x80"),
       Comes::kGoaway, NGHTTP2_COMPRESSION_ERROR},
      {"4.3 a block that cannot be decoded (RFC 7541 2.3.3: no such entry)",
       frame(NGHTTP2_HEADERS, kEnds, 1, "\xff\x00"), Comes::kGoaway, NGHTTP2_COMPRESSION_ERROR},
      {"4.3 a block that cannot be decoded (RFC 7541 5.2: padding of Huffman)",
       frame(NGHTTP2_HEADERS, kEnds, 1, std::string("\x00\x81\xff\x00", 4)), Comes::kGoaway,
       NGHTTP2_COMPRESSION_ERROR},
      {"4.3 a block that cannot be decoded (RFC 7541 4.2: a table above the bound)",
       frame(NGHTTP2_HEADERS, kEnds, 1, "\x3f\xe2\x1f" + hpack(kPost)), Comes::kGoaway,
       NGHTTP2_COMPRESSION_ERROR},
      {"4.3 another frame within a block", frame(NGHTTP2_HEADERS, 0, 1, hpack(kPost)) + ping_frame(false),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"4.3 another stream within a block", frame(NGHTTP2_HEADERS, 0, 1, hpack(kPost)) + get(3),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.1 DATA of stream 0", data_frame(0, "x"), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.1 padding as long as the payload", open(1) + padded(NGHTTP2_DATA, 1, 1, 6, "12345"), Comes::kGoaway,
       NGHTTP2_PROTOCOL_ERROR},
      {"6.1 padding", open(1) + padded(NGHTTP2_DATA, 1, 1, 5, "x12345"), Comes::kAnswer, 200},
      {"6.1 PADDED without a length", open(1) + frame(NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, ""),
       Comes::kGoaway, NGHTTP2_FRAME_SIZE_ERROR},
      {"6.2 HEADERS of stream 0", headers_frame(0, kPost, true), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.2 padding longer than the payload", padded(NGHTTP2_HEADERS, kEnds, 1, 250, hpack(kPost)),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.2 padding", padded(NGHTTP2_HEADERS, kEnds, 1, 3, hpack(kPost) + "123"), Comes::kAnswer, 200},
      {"6.2 priority fields are passed over",
       frame(NGHTTP2_HEADERS, kEnds | NGHTTP2_FLAG_PRIORITY, 1, big_endian(0, 4) + "\x10" + hpack(kPost)),
       Comes::kAnswer, 200},
  };
}

std::vector<Case> cases_of_control_frames() {
  return {
      {"6.3 PRIORITY of stream 0", frame(NGHTTP2_PRIORITY, 0, 0, big_endian(0, 5)), Comes::kGoaway,
       NGHTTP2_PROTOCOL_ERROR},
      {"6.3 PRIORITY of another size (stream error; ours is the connection's)",
       frame(NGHTTP2_PRIORITY, 0, 1, big_endian(0, 4)), Comes::kGoaway, NGHTTP2_FRAME_SIZE_ERROR},
      {"6.3 PRIORITY in any state", hold(1) + frame(NGHTTP2_PRIORITY, 0, 1, big_endian(0, 5)),
       Comes::kNothing},
      {"6.4 RST_STREAM of stream 0", reset_frame(0, NGHTTP2_CANCEL), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.4 RST_STREAM of an idle stream", reset_frame(1, NGHTTP2_CANCEL), Comes::kGoaway,
       NGHTTP2_PROTOCOL_ERROR},
      {"6.4 RST_STREAM of another size", open(1) + frame(NGHTTP2_RST_STREAM, 0, 1, "123"), Comes::kGoaway,
       NGHTTP2_FRAME_SIZE_ERROR},
      {"6.5 an acknowledgement with a payload", frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, "123456"),
       Comes::kGoaway, NGHTTP2_FRAME_SIZE_ERROR},
      {"6.5 SETTINGS of a stream", frame(NGHTTP2_SETTINGS, 0, 1, ""), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.5 SETTINGS of another size", frame(NGHTTP2_SETTINGS, 0, 0, "12345"), Comes::kGoaway,
       NGHTTP2_FRAME_SIZE_ERROR},
      {"6.5.2 ENABLE_PUSH is 0 or 1", setting(NGHTTP2_SETTINGS_ENABLE_PUSH, 2), Comes::kGoaway,
       NGHTTP2_PROTOCOL_ERROR},
      {"6.5.2 INITIAL_WINDOW_SIZE above 2^31-1", setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x80000000),
       Comes::kGoaway, NGHTTP2_FLOW_CONTROL_ERROR},
      {"6.5.2 MAX_FRAME_SIZE below 2^14", setting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16'383), Comes::kGoaway,
       NGHTTP2_PROTOCOL_ERROR},
      {"6.5.2 MAX_FRAME_SIZE above 2^24-1", setting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 24), Comes::kGoaway,
       NGHTTP2_PROTOCOL_ERROR},
      {"6.5.2 unknown settings are passed over", setting(0xfa, 1) + get(1), Comes::kAnswer, 200},
      {"6.6 PUSH_PROMISE of a client",
       open(1) + frame(NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, 1, big_endian(2, 4) + hpack(kPost)),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.7 PING of a stream", frame(NGHTTP2_PING, 0, 1, "12345678"), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.7 PING of another size", frame(NGHTTP2_PING, 0, 0, "1234567"), Comes::kGoaway,
       NGHTTP2_FRAME_SIZE_ERROR},
      {"6.7 an answer to no PING", ping_frame(true), Comes::kNothing},
      {"6.8 GOAWAY of a stream", frame(NGHTTP2_GOAWAY, 0, 1, big_endian(0, 8)), Comes::kGoaway,
       NGHTTP2_PROTOCOL_ERROR},
      {"6.9 WINDOW_UPDATE of 0 (connection)", window_frame(0, 0), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.9 WINDOW_UPDATE of 0 (stream error; ours is the connection's)", open(1) + window_frame(1, 0),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.9 WINDOW_UPDATE of another size", frame(NGHTTP2_WINDOW_UPDATE, 0, 0, "123"), Comes::kGoaway,
       NGHTTP2_FRAME_SIZE_ERROR},
      {"6.9.1 a window above 2^31-1 (connection)", window_frame(0, 0x7fffffff), Comes::kGoaway,
       NGHTTP2_FLOW_CONTROL_ERROR},
      {"6.9.1 a window above 2^31-1 (stream)", open(1) + window_frame(1, 0x7fffffff), Comes::kReset,
       NGHTTP2_FLOW_CONTROL_ERROR},
      {"6.9.2 a window above 2^31-1, by settings (connection error; nghttp2's is the stream's)",
       open(1) + window_frame(1, 0x7fff0000) + setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x7fffffff),
       Comes::kReset, NGHTTP2_FLOW_CONTROL_ERROR},
      {"6.10 CONTINUATION behind nothing", frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, ""),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.10 CONTINUATION behind a whole block",
       open(1) + frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, hpack({{"a", "b"}})),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.10 CONTINUATION of another stream",
       frame(NGHTTP2_HEADERS, 0, 1, hpack(kPost)) +
           frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 3, hpack({{"a", "b"}})),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.10 CONTINUATION of stream 0",
       frame(NGHTTP2_HEADERS, 0, 1, hpack(kPost)) +
           frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 0, ""),
       Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"6.10 blocks in pieces",
       frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, hpack(kPost)) +
           frame(NGHTTP2_CONTINUATION, 0, 1, hpack({{"a", "b"}})) +
           frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, ""),
       Comes::kAnswer, 200},
  };
}

std::vector<Case> cases_of_streams() {
  return {
      {"5.1 idle: DATA", data_frame(1, "x"), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"5.1 idle: WINDOW_UPDATE", window_frame(1, 1), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"5.1 idle: PRIORITY", frame(NGHTTP2_PRIORITY, 0, 1, big_endian(0, 5)) + get(3) + get(5),
       Comes::kNothing},
      {"5.1 half-closed: DATA (stream error; ours is the connection's)", hold(1) + data_frame(1, "x"),
       Comes::kGoaway, NGHTTP2_STREAM_CLOSED},
      {"5.1 half-closed: HEADERS (stream error; ours is the connection's)", hold(1) + get(1), Comes::kGoaway,
       NGHTTP2_STREAM_CLOSED},
      {"5.1 half-closed: WINDOW_UPDATE", hold(1) + window_frame(1, 1), Comes::kNothing},
      {"5.1 half-closed: RST_STREAM", hold(1) + reset_frame(1, NGHTTP2_CANCEL), Comes::kNothing},
      {"5.1 closed: RST_STREAM", get(1), Comes::kAnswer, 200, reset_frame(1, NGHTTP2_CANCEL)},
      {"5.1 closed: WINDOW_UPDATE", get(1), Comes::kAnswer, 200, window_frame(1, 1)},
      {"5.1 closed: HEADERS (may be an error)", get(1), Comes::kAnswer, 200, get(1)},
      {"5.1 closed: DATA (may be an error)", get(1), Comes::kAnswer, 200, data_frame(1, "x")},
      {"5.1 closed by RST_STREAM: HEADERS (may be an error)", open(1), Comes::kNothing, 0,
       reset_frame(1, NGHTTP2_CANCEL) + get(1)},
      {"5.1.1 numbers of clients are odd", get(2), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"5.1.1 numbers grow: what is passed over is closed", get(5), Comes::kNothing, 0, get(3) + get(1)},
      {"5.1.2 more streams than there may be (stream error; ours is the connection's)",
       hold(1) + hold(3) + hold(5) + hold(7) + hold(9), Comes::kGoaway, NGHTTP2_PROTOCOL_ERROR},
      {"8.1 trailers end the request", open(1) + data_frame(1, "x") + headers_frame(1, {{"a", "b"}}, true),
       Comes::kAnswer, 200},
      {"8.1 trailers that do not", open(1) + headers_frame(1, {{"a", "b"}}) + data_frame(1, "x", true),
       Comes::kReset, NGHTTP2_PROTOCOL_ERROR},
      {"8.1 pseudo-headers in trailers", open(1) + headers_frame(1, {{":path", "/"}}, true), Comes::kReset,
       NGHTTP2_PROTOCOL_ERROR},
  };
}

std::vector<Case> cases_of_fields() {
  constexpr uint32_t kBad = NGHTTP2_PROTOCOL_ERROR;
  return {
      {"8.1.1 less than content-length",
       headers_frame(1, {{":method", "POST"},
                         {":scheme", "http"},
                         {":path", "/"},
                         {"content-length", "2"},
                         {"host", "h"}}) +
           data_frame(1, "x", true),
       Comes::kReset, kBad},
      {"8.1.1 more than content-length",
       headers_frame(1, {{":method", "POST"},
                         {":scheme", "http"},
                         {":path", "/"},
                         {"content-length", "2"},
                         {"host", "h"}}) +
           data_frame(1, "xyz", true),
       Comes::kReset, kBad},
      {"8.1.1 content-length in pieces",
       headers_frame(1, {{":method", "POST"},
                         {":scheme", "http"},
                         {":path", "/"},
                         {"content-length", "2"},
                         {"host", "h"}}) +
           data_frame(1, "x") + data_frame(1, "y", true),
       Comes::kAnswer, 200},
      {"8.1.1 no content-length at all", with({{"content-length", "x"}}), Comes::kReset, kBad},
      {"8.1.1 two content-lengths", with({{"content-length", "0"}, {"content-length", "0"}}), Comes::kReset,
       kBad},
      {"8.2 capital letters", with({{"Aa", "b"}}), Comes::kReset, kBad},
      {"8.2.1 a name with white space", with({{"a b", "c"}}), Comes::kReset, kBad},
      {"8.2.1 a line end in a value", with({{"a", "b\r\nc"}}), Comes::kReset, kBad},
      {"8.2.1 a NUL in a value", with({{"a", std::string("b\0c", 3)}}), Comes::kReset, kBad},
      {"8.2.2 connection", with({{"connection", "keep-alive"}}), Comes::kReset, kBad},
      {"8.2.2 keep-alive", with({{"keep-alive", "x"}}), Comes::kReset, kBad},
      {"8.2.2 proxy-connection", with({{"proxy-connection", "x"}}), Comes::kReset, kBad},
      {"8.2.2 transfer-encoding", with({{"transfer-encoding", "chunked"}}), Comes::kReset, kBad},
      {"8.2.2 upgrade", with({{"upgrade", "h2c"}}), Comes::kReset, kBad},
      {"8.2.2 te: trailers", with({{"te", "trailers"}}), Comes::kAnswer, 200},
      {"8.2.2 te: something else", with({{"te", "trailers, deflate"}}), Comes::kReset, kBad},
      {"8.2.3 cookies in pieces", with({{"cookie", "a=b"}, {"cookie", "c=d"}}), Comes::kAnswer, 200},
      {"8.3 an unknown pseudo-header", with({{":what", "x"}}), Comes::kReset, kBad},
      {"8.3 an answer's pseudo-header", with({{":status", "200"}}), Comes::kReset, kBad},
      {"8.3 a pseudo-header behind a header",
       only({{":method", "GET"}, {":scheme", "http"}, {"a", "b"}, {":path", "/"}}), Comes::kReset, kBad},
      {"8.3 the same pseudo-header twice", with({{":path", "/"}}), Comes::kReset, kBad},
      {"8.3.1 no :method", only({{":scheme", "http"}, {":path", "/"}}), Comes::kReset, kBad},
      {"8.3.1 no :scheme", only({{":method", "GET"}, {":path", "/"}}), Comes::kReset, kBad},
      {"8.3.1 no :path", only({{":method", "GET"}, {":scheme", "http"}}), Comes::kReset, kBad},
      {"8.3.1 an empty :path", only({{":method", "GET"}, {":scheme", "http"}, {":path", ""}}), Comes::kReset,
       kBad},
      {"8.3.1 a :path that is none", only({{":method", "GET"}, {":scheme", "http"}, {":path", "x"}}),
       Comes::kReset, kBad},
      {"8.3.1 neither :authority nor host", only({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}}),
       Comes::kReset, kBad},
      {"8.3.1 host alone", only({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"host", "h"}}),
       Comes::kAnswer, 200},
      {"8.3.1 :authority and another host",
       only({{":method", "GET"}, {":scheme", "http"}, {":authority", "h"}, {":path", "/"}, {"host", "evil"}}),
       Comes::kAnswer, 400},
      {"8.3.1 :authority and the same host",
       only({{":method", "GET"}, {":scheme", "http"}, {":authority", "h"}, {":path", "/"}, {"host", "H"}}),
       Comes::kAnswer, 200},
      {"8.3.1 asterisk form",
       only({{":method", "OPTIONS"}, {":scheme", "http"}, {":path", "*"}, {":authority", "h"}}),
       Comes::kAnswer, 200},
      {"8.3.1 :authority of gRPC over unix sockets",
       only({{":method", "POST"},
             {":scheme", "http"},
             {":authority", "%2Fvar%2Flib%2Fkubelet%2Fplugins%2Fx.sock"},
             {":path", "/"}}),
       Comes::kAnswer, 200},
      {"8.5 CONNECT", only({{":method", "CONNECT"}, {":authority", "h:1"}}), Comes::kAnswer, 501},
      {"8.5 CONNECT with a :path",
       only({{":method", "CONNECT"}, {":authority", "h:1"}, {":scheme", "http"}, {":path", "/"}}),
       Comes::kReset, kBad},
  };
}

void expect(const Case& one) {
  ServerWorld world({.streams_max = 4});
  world.on_request = [](Served& served) {
    served.then = [&served] {
      if (served.ends == 1 && served.head.target != "/hold") served.response->answer(200, "ok");
    };
  };
  Http2Client client(world);
  client.say(one.sent);
  if (!one.then.empty()) client.say(one.then);
  client.say(ping_frame(false, "stillher"));
  const int64_t goaway = client.goaway(), reset = client.reset(1);
  const bool answers = client.server.count(NGHTTP2_PING, NGHTTP2_FLAG_ACK) > 0;
  EXPECT_EQ(goaway, one.comes == Comes::kGoaway ? int64_t{one.code} : -1) << one.section;
  EXPECT_EQ(client.wire.is_ended, one.comes == Comes::kGoaway) << one.section;
  if (one.comes == Comes::kGoaway) {
    EXPECT_EQ(world.troubles.size(), 1u) << one.section;
    for (const Served& served : world.served) EXPECT_TRUE(served.is_over) << one.section;
    return;
  }
  EXPECT_TRUE(answers) << one.section << ": the connection goes on";
  EXPECT_EQ(reset, one.comes == Comes::kReset ? int64_t{one.code} : -1) << one.section;
  EXPECT_EQ(client.status(1), one.comes == Comes::kAnswer ? std::to_string(one.code) : "") << one.section;
  client.say(get(101));
  EXPECT_EQ(client.status(101), "200") << one.section << ": others are answered";
}

TEST(Rfc9113, Frames) {
  for (const Case& one : cases_of_frames()) expect(one);
  for (const Case& one : cases_of_control_frames()) expect(one);
}
TEST(Rfc9113, Streams) {
  for (const Case& one : cases_of_streams()) expect(one);
}
TEST(Rfc9113, Fields) {
  for (const Case& one : cases_of_fields()) expect(one);
}

// Section 3.4: the bytes before the first request.
TEST(Rfc9113, Prefaces) {
  const std::string magic = NGHTTP2_CLIENT_MAGIC;
  const struct {
    const char* why;
    std::string sent;
    int64_t goaway;
  } rows[] = {
      {"3.4 no preface", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", NGHTTP2_PROTOCOL_ERROR},
      {"3.4 a broken preface", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", NGHTTP2_PROTOCOL_ERROR},
      {"3.4 no settings behind it", magic + ping_frame(false), NGHTTP2_PROTOCOL_ERROR},
      {"3.4 settings", magic + settings_frame(), -1},
      {"3.4 a request before our settings are acknowledged", magic + settings_frame() + get(1), -1},
  };
  for (const auto& row : rows) {
    ServerWorld world;
    Http2Client client(world, false);
    ASSERT_FALSE(client.wire.sent.empty() && client.server.frames.empty()) << "its settings come at once";
    client.say(row.sent);
    EXPECT_EQ(client.goaway(), row.goaway) << row.why;
    ASSERT_FALSE(client.server.frames.empty()) << row.why;
    EXPECT_EQ(client.server.frames[0].type, NGHTTP2_SETTINGS) << row.why;
    EXPECT_EQ(client.server.count(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK), row.goaway == -1 ? 1u : 0u) << row.why;
  }
}

}  // namespace
}  // namespace rfc9113_test
}  // namespace sliced::http
