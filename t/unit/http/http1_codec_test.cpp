#include "http/http1_codec.h"

#include <gtest/gtest.h>

namespace sliced::http {
namespace {

struct Decoded {
  Head head;
  std::string body;
  bool complete = false, keep_alive = false;
  std::string error;
  bool operator==(const Decoded&) const = default;
};

// Feeds the pieces, then the end of the connection when asked to.
Decoded decode(const std::vector<std::string_view>& pieces, bool then_end = false, Limits limits = {}) {
  Decoded out;
  ResponseDecoder decoder(limits, {.on_head =
                                       [&](const Head& head) {
                                         EXPECT_EQ(out.head.status, 0) << "one head only";
                                         out.head = head;
                                         return true;
                                       },
                                   .on_body =
                                       [&](std::string_view bytes) {
                                         EXPECT_FALSE(bytes.empty());
                                         out.body += bytes;
                                         return true;
                                       }});
  for (const std::string_view piece : pieces) {
    const auto fed = decoder.feed(piece);
    if (fed) continue;
    out.error = fed.error().what;
    return out;
  }
  if (then_end) {
    const auto finished = decoder.finish();
    if (!finished) out.error = finished.error().what;
  }
  out.complete = decoder.complete();
  out.keep_alive = decoder.complete() && decoder.keep_alive();
  return out;
}

constexpr std::string_view kPlain =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{\"a\"}";
constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A:  b "
    "\r\n\r\n5\r\nhello\r\n1;ext=1\r\n!\r\n0\r\nTrailer: t\r\n\r\n";
constexpr std::string_view kInterim =
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 201 "
    "Created\r\nContent-Length: 2\r\n\r\nok";
constexpr std::string_view kNoBody = "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n";
constexpr std::string_view kClose =
    "HTTP/1.1 409 Conflict\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
constexpr std::string_view kUntilEnd = "HTTP/1.0 500 Oops\r\nServer: y\r\n\r\nall of it";

TEST(ResponseDecoder, DecodesTheSameResponseHoweverBytesAreCut) {
  const struct {
    std::string_view bytes;
    bool then_end;
    Decoded want;
  } rows[] = {
      {kPlain,
       false,
       {{200, {{"Content-Type", "application/json"}, {"Content-Length", "5"}}}, "{\"a\"}", true, true, ""}},
      {kChunked, false, {{200, {{"Transfer-Encoding", "chunked"}, {"X-A", "b"}}}, "hello!", true, true, ""}},
      {kInterim, false, {{201, {{"Content-Length", "2"}}}, "ok", true, true, ""}},
      {kNoBody, false, {{204, {{"Date", "x"}}}, "", true, true, ""}},
      {kClose, false, {{409, {{"Connection", "close"}, {"Content-Length", "1"}}}, "x", true, false, ""}},
      {kUntilEnd, true, {{500, {{"Server", "y"}}}, "all of it", true, false, ""}},
  };
  for (const auto& row : rows) {
    for (size_t cut = 0; cut <= row.bytes.size(); ++cut)
      EXPECT_EQ(decode({row.bytes.substr(0, cut), row.bytes.substr(cut)}, row.then_end), row.want)
          << row.want.head.status << " cut at " << cut;
    std::vector<std::string_view> single;
    for (size_t i = 0; i < row.bytes.size(); ++i) single.push_back(row.bytes.substr(i, 1));
    EXPECT_EQ(decode(single, row.then_end), row.want) << row.want.head.status << " byte by byte";
  }
}

TEST(ResponseDecoder, RefusesATruncatedResponseAtEveryByte) {
  for (const std::string_view bytes : {kPlain, kChunked, kInterim, kNoBody, kClose})
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      const Decoded out = decode({bytes.substr(0, cut)}, /*then_end=*/true);
      EXPECT_FALSE(out.complete) << "cut at " << cut << " of " << bytes;
      EXPECT_NE(out.error, "") << "cut at " << cut << " of " << bytes;
    }
}

TEST(ResponseDecoder, BytesAfterTheResponseForbidReuse) {
  const std::string bytes = std::string(kPlain) + "HTTP/1.1 200 OK\r\n";
  Decoded out = decode({bytes});
  EXPECT_TRUE(out.complete);
  EXPECT_FALSE(out.keep_alive);
  EXPECT_EQ(out.body, "{\"a\"}");
  out = decode({kPlain, "x"});
  EXPECT_NE(out.error.find("after its response"), std::string::npos) << out.error;
}

TEST(ResponseDecoder, RefusesInvalidResponses) {
  for (const std::string_view bytes :
       {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "HTTP/1.1 20x OK\r\n\r\n",
        "hello world\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nNo colon here\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"}) {
    const Decoded out = decode({bytes});
    EXPECT_NE(out.error, "") << bytes;
    EXPECT_FALSE(out.complete) << bytes;
  }
}

TEST(ResponseDecoder, Bounds) {
  const std::string big_header = "HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'x') + "\r\n\r\n";
  EXPECT_NE(decode({big_header}).error.find("headers are larger than 65536"), std::string::npos);
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 300; ++i) many += "A: b\r\n";
  EXPECT_NE(decode({many + "\r\n"}).error.find("more than 256 headers"), std::string::npos);
  const std::string big_reason = "HTTP/1.1 200 " + std::string(70'000, 'x');
  EXPECT_NE(decode({big_reason}).error.find("headers are larger"), std::string::npos);
  const Decoded body = decode({kPlain}, false, {.head_bytes_max = 1000, .body_bytes_max = 4});
  EXPECT_NE(body.error.find("body is larger than 4"), std::string::npos) << body.error;
  EXPECT_EQ(decode({kPlain}, false, {.head_bytes_max = 1000, .body_bytes_max = 5}).error, "");
  EXPECT_EQ(decode({kPlain}, false, {.head_bytes_max = 1000, .body_bytes_max = 0}).error, "");
  const std::string trailers =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: " + std::string(70'000, 'x');
  EXPECT_NE(decode({trailers}).error.find("headers are larger"), std::string::npos);
}

TEST(ResponseDecoder, AHandlerCanStopIt) {
  for (const bool at_head : {true, false}) {
    ResponseDecoder decoder({}, {.on_head = [&](const Head&) { return !at_head; },
                                 .on_body = [](std::string_view) { return false; }});
    const auto fed = decoder.feed(kPlain);
    ASSERT_FALSE(fed);
    EXPECT_EQ(fed.error().code, Errc::kCanceled);
    EXPECT_FALSE(decoder.feed("more"));
  }
}

std::string encoded(const Url& server, Request request) {
  const auto outgoing = prepare_request(server, std::move(request));
  return outgoing ? encode_http1(**outgoing) : outgoing.error().what;
}

TEST(EncodeHttp1, WritesRequestsAsRfc9112Requires) {
  const Url server = *decode_url("https://kube:6443/base");
  Request request{.method = "PUT",
                  .path = "/api/v1/x",
                  .query = {{"a", "b c"}},
                  .headers = {{"Accept", "*/*"}},
                  .body = "{}"};
  EXPECT_EQ(
      encoded(server, request),
      "PUT /base/api/v1/x?a=b%20c HTTP/1.1\r\nHost: kube:6443\r\nAccept: */*\r\nContent-Length: 2\r\n\r\n{}");
  request = {.method = "GET", .path = "/version"};
  EXPECT_EQ(encoded(server, request), "GET /base/version HTTP/1.1\r\nHost: kube:6443\r\n\r\n");
  request = {.method = "POST", .path = "/x"};
  EXPECT_NE(encoded(server, request).find("Content-Length: 0\r\n"), std::string::npos);
}

}  // namespace
}  // namespace sliced::http
