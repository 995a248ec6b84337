#include "http/http1_server.h"

#include "reactor/base/text.h"
#include "t/unit/http/server_world.h"

namespace sliced::http {
namespace {

const std::string kGet = "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n";

struct Http1ServerTest : testing::Test {
  /// Answers "ok" immediately, or leaves the answer to the test.
  void answer_all() {
    world.on_request = [](Served& served) { served.response->answer(200, "ok"); };
  }
  std::string say(std::string bytes) {
    wire.say(std::move(bytes));
    world.settle();
    return std::exchange(wire.sent, {});
  }
  ServerWorld world;
  fake::WireEnd& wire = world.connect();
};

std::string status_of(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

TEST_F(Http1ServerTest, TransfersHeadsBodiesAndTrailers) {
  wire.say(
      "POST /a?b=c HTTP/1.1\r\nHost: kube:443\r\nX-One: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n");
  ASSERT_EQ(world.served.size(), 1u);
  Served& served = world.last();
  EXPECT_EQ(served.head.method, "POST");
  EXPECT_EQ(served.head.target, "/a?b=c");
  EXPECT_EQ(served.head.authority, "kube:443");
  EXPECT_EQ(*served.head.header("x-one"), "1");
  EXPECT_EQ(served.head.from->name, "test");
  served.response->send_head({.status = 200, .headers = {{"X-Two", "2"}}});
  served.response->send_body("early");
  world.settle();
  EXPECT_EQ(std::exchange(wire.sent, {}),
            "HTTP/1.1 200 OK\r\nx-two: 2\r\ntransfer-encoding: chunked\r\n\r\n5\r\nearly\r\n")
      << "an answer does not wait for the whole request";
  wire.say("2\r\nlo\r\n0\r\nT: u\r\n\r\n");
  EXPECT_EQ(served.body, "hello");
  EXPECT_EQ(served.trailers, (Headers{{"t", "u"}}));
  EXPECT_EQ(served.ends, 1);
  served.response->finish({{"Grpc-Status", "0"}});
  world.settle();
  EXPECT_EQ(wire.sent, "0\r\ngrpc-status: 0\r\n\r\n");
  EXPECT_TRUE(served.is_over);
  EXPECT_FALSE(served.loss);
  EXPECT_FALSE(wire.is_ended) << "it is kept";
}

TEST_F(Http1ServerTest, DecodesTheSameRequestsHoweverBytesAreCut) {
  const std::string bytes =
      "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello" + kGet +
      "PUT /y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    ServerWorld one;
    one.on_request = [](Served& served) { served.response->send_head({.status = 200}); };
    fake::WireEnd& end = one.connect();
    const auto finish_all = [&] {
      for (int i = 0; i < 3; ++i) {
        for (Served& served : one.served)
          if (!served.is_over && served.ends > 0) served.response->finish();
        one.settle();
      }
    };
    end.say(bytes.substr(0, cut));
    finish_all();
    end.say(bytes.substr(cut));
    finish_all();
    ASSERT_EQ(one.served.size(), 3u) << cut;
    EXPECT_EQ(one.served.front().body, "hello");
    EXPECT_EQ(one.served.back().body, "a");
    EXPECT_TRUE(one.served.back().is_over);
    EXPECT_TRUE(one.troubles.empty());
  }
}

TEST_F(Http1ServerTest, FramesAnswersAsTheRequestRequires) {
  const struct {
    const char* why;
    std::string request;
    std::function<void(Response&)> answer;
    std::string wanted;
    bool is_kept;
  } rows[] = {
      {"whole at once", kGet, [](Response& r) { r.answer(200, "ok", "a/b"); },
       "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 2\r\n\r\nok", true},
      {"empty", kGet, [](Response& r) { r.send_head({.status = 404}), r.finish(); },
       "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", true},
      {"no content", kGet, [](Response& r) { r.send_head({.status = 204}), r.send_body("x"), r.finish(); },
       "HTTP/1.1 204 No Content\r\n\r\n", true},
      {"HEAD", "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", [](Response& r) { r.answer(200, "ok", "a/b"); },
       "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 2\r\n\r\n", true},
      {"the client's last", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
       [](Response& r) { r.answer(200, "ok", "a/b"); },
       "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok", false},
      {"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", [](Response& r) { r.answer(200, "ok", "a/b"); },
       "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok", false},
      {"HTTP/1.0, trailers", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       [](Response& r) { r.send_head({.status = 200}), r.send_body("ok"), r.finish({{"t", "u"}}); },
       "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok", false},
      {"HTTP/1.0, kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       [](Response& r) { r.answer(200, "ok", "a/b"); },
       "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok", true},
      {"a length that is kept to", kGet,
       [](Response& r) { r.send_head({200, {{"Content-Length", "2"}}}), r.send_body("ok"), r.finish(); },
       "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true},
      {"more than its length", kGet,
       [](Response& r) { r.send_head({200, {{"Content-Length", "2"}}}), r.send_body("okay"), r.finish(); },
       "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true},
      {"less than its length", kGet,
       [](Response& r) { r.send_head({200, {{"Content-Length", "3"}}}), r.send_body("ok"), r.finish(); },
       "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok", false},
      {"no answer", kGet, [](Response& r) { r.finish(); },
       "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: "
       "19\r\n\r\nthere is no answer\n",
       true},
      {"a head that would break the framing", kGet,
       [](Response& r) { r.send_head({200, {{"a", "b\r\nc: d"}}}), r.finish(); },
       "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: "
       "36\r\n\r\nthe answer's head cannot be written\n",
       true},
      {"framing is ours", kGet,
       [](Response& r) { r.send_head({200, {{"Transfer-Encoding", "x"}, {"Connection", "y"}}}), r.finish(); },
       "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", true},
      {"abandoned", kGet, [](Response& r) { r.send_head({.status = 200}), r.send_body("ok"), r.abandon(); },
       "", false},
  };
  for (const auto& row : rows) {
    ServerWorld one;
    one.on_request = [&](Served& served) { row.answer(*served.response); };
    fake::WireEnd& end = one.connect();
    end.say(row.request);
    one.settle();
    EXPECT_EQ(end.sent, row.wanted) << row.why;
    EXPECT_EQ(!end.is_ended, row.is_kept) << row.why;
    EXPECT_TRUE(one.last().is_over) << row.why;
  }
}

// RFC 9112, and 9110 where it is named: the request, and the answer; "" for none.
TEST_F(Http1ServerTest, FollowsRfc9112) {
  const std::string host = "Host: h\r\n";
  const struct {
    const char* section;
    std::string sent;
    int status;
    bool is_kept;
  } rows[] = {
      {"2.2: line ends before a request", "\r\n\r\n" + kGet, 200, true},
      {"2.2: white space before the first header", "GET / HTTP/1.1\r\n X: y\r\n" + host + "\r\n", 400, false},
      {"2.3: a version that nobody knows", "GET / HTTP/3.7\r\n" + host + "\r\n", 400, false},
      {"2.3: HTTP/2.0 without its preface", "GET / HTTP/2.0\r\n" + host + "\r\n", 505, false},
      {"3: no method", " / HTTP/1.1\r\n" + host + "\r\n", 400, false},
      {"3: a method that nobody knows", "BREW / HTTP/1.1\r\n" + host + "\r\n", 400, false},
      {"3: TLS to a plain port", std::string("\x16\x03\x01\x02\x00\x01", 6), 400, false},
      {"3.2: no Host", "GET / HTTP/1.1\r\n\r\n", 400, false},
      {"3.2: two Hosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n", 400, false},
      {"3.2.1: a target that is not a path", "GET x HTTP/1.1\r\n" + host + "\r\n", 400, false},
      {"3.2.2: absolute form", "GET http://other/x HTTP/1.1\r\n" + host + "\r\n", 200, true},
      {"3.2.2: absolute form without a host", "GET http:///x HTTP/1.1\r\n" + host + "\r\n", 400, false},
      {"3.2.3: CONNECT", "CONNECT h:1 HTTP/1.1\r\n" + host + "\r\n", 501, false},
      {"3.2.4: asterisk form", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 200, true},
      {"3.2.4: asterisk form of another method", "GET * HTTP/1.1\r\n" + host + "\r\n", 400, false},
      {"5.1: white space before the colon", "GET / HTTP/1.1\r\n" + host + "A : b\r\n\r\n", 400, false},
      {"5.1: a name with white space", "GET / HTTP/1.1\r\n" + host + "A b: c\r\n\r\n", 400, false},
      {"5.1: an empty name", "GET / HTTP/1.1\r\n" + host + ": c\r\n\r\n", 400, false},
      {"5.2: a header that goes on in another line", "GET / HTTP/1.1\r\n" + host + "A: b\r\n c\r\n\r\n", 400,
       false},
      {"5.2: one that begins there", "GET / HTTP/1.1\r\n" + host + "A:\r\n\tb\r\n\r\n", 400, false},
      {"5.2: a coding that does",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400, false},
      {"9110 5.5: a NUL in a value", "GET / HTTP/1.1\r\n" + host + std::string("A: b\0c\r\n\r\n", 11), 400,
       false},
      {"6.1: a coding that nobody knows",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, false},
      {"6.1: chunked is not the last",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
       400, false},
      {"6.1: HTTP/1.0 has no codings",
       "POST / HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, false},
      {"6.1: a coding and a length",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400,
       false},
      {"6.2: two lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
       400, false},
      {"6.2: a length that is none", "POST / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\na", 400,
       false},
      {"6.2: a length that no number holds",
       "POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\na", 400, false},
      {"6.3: neither", "POST / HTTP/1.1\r\n" + host + "\r\n", 200, true},
      {"7.1: a chunk without a size",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nx\r\n", 400, false},
      {"7.1: a chunk longer than its size",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400, false},
      {"7.1: a chunk that something else ends",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1\r\naXX0\r\n\r\n", 400, false},
      {"7.1.1: extensions of chunks",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n", 200, true},
      {"7.1.2: trailers",
       "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", 200, true},
      {"9.3: HTTP/1.1 is kept", kGet, 200, true},
      {"9.3: HTTP/1.0 is not", "GET / HTTP/1.0\r\n\r\n", 200, false},
      {"9.6: close", "GET / HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n", 200, false},
      {"9110 7.8: an upgrade is passed over",
       "GET / HTTP/1.1\r\n" + host + "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n", 200, true},
      {"9110 10.1.1: something else is expected", "GET / HTTP/1.1\r\n" + host + "Expect: x\r\n\r\n", 417,
       false},
  };
  for (const auto& row : rows) {
    ServerWorld one;
    one.on_request = [](Served& served) {
      served.then = [&served] {
        if (served.ends == 1) served.response->answer(200, "ok");
      };
    };
    fake::WireEnd& end = one.connect();
    end.say(row.sent);
    one.settle();
    EXPECT_EQ(status_of(end.sent).substr(0, 13), "HTTP/1.1 " + std::to_string(row.status) + " ")
        << row.section;
    EXPECT_EQ(!end.is_ended, row.is_kept) << row.section;
    EXPECT_EQ(one.troubles.size(), row.status == 200 ? 0u : 1u) << row.section;
  }
}

TEST_F(Http1ServerTest, RefusesAFoldedHeaderHoweverItIsCut) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n \t c\r\n\r\n";
  const std::string good = "GET / HTTP/1.1\r\nHost: h\r\nA: \t b \t c\r\n\r\n";
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    for (const std::string& sent : {bytes, good}) {
      ServerWorld one;
      one.on_request = [](Served& served) { served.response->answer(200, "ok"); };
      fake::WireEnd& end = one.connect();
      end.say(sent.substr(0, cut));
      end.say(sent.substr(std::min(cut, sent.size())));
      one.settle();
      EXPECT_EQ(status_of(end.sent), sent == good ? "HTTP/1.1 200 OK" : "HTTP/1.1 400 Bad Request") << cut;
    }
  }
}

TEST_F(Http1ServerTest, SendsContinueIfExpected) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(say(head), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(say("ab"), "");
  world.last().response->answer(200, "ok");
  world.settle();
  EXPECT_EQ(status_of(wire.sent), "HTTP/1.1 200 OK");
  wire.sent.clear();
  answer_all();
  EXPECT_EQ(status_of(say(head)), "HTTP/1.1 200 OK") << "an answer at once needs no body";
  EXPECT_TRUE(wire.is_ended) << "it comes or does not";
}

TEST_F(Http1ServerTest, RequestsAreBounded) {
  const ServerBounds bounds{.request = {.head_bytes_max = 1000, .body_bytes_max = 10}};
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string many;
  for (int i = 0; i < 300; ++i) many += "a: \r\n";
  const struct {
    const char* why;
    std::string sent;
    int status;
  } rows[] = {
      {"a long target", "GET /" + std::string(1000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n", 431},
      {"a long header", "GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(1000, 'x') + "\r\n\r\n", 431},
      {"many headers", "GET / HTTP/1.1\r\n" + many, 431},
      {"a large body, said", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n", 413},
      {"a large body", chunked + "b\r\n12345678901\r\n", 413},
      {"many chunks", chunked + "6\r\n123456\r\n6\r\n123456\r\n", 413},
      {"extensions of chunks", chunked + "1;" + std::string(1000, 'x') + "\r\na\r\n", 431},
      {"trailers", chunked + "0\r\nA: " + std::string(1000, 'x') + "\r\n\r\n", 431},
  };
  for (const auto& row : rows) {
    ServerWorld one(bounds);
    fake::WireEnd& end = one.connect();
    end.say(row.sent);
    one.settle();
    EXPECT_TRUE(status_of(end.sent).starts_with("HTTP/1.1 " + std::to_string(row.status)))
        << row.why << ": " << end.sent;
    EXPECT_TRUE(end.is_ended) << row.why;
    for (const Served& served : one.served) EXPECT_EQ(served.loss->code, Errc::kTooLarge) << row.why;
  }
}

TEST_F(Http1ServerTest, AnswersPipelinedRequestsInOrder) {
  wire.say(kGet + kGet + kGet);
  EXPECT_EQ(world.served.size(), 1u);
  EXPECT_TRUE(wire.is_held) << "no more is read";
  world.on_request = [](Served& served) { served.response->answer(201, "later"); };
  world.last().response->answer(200, "first");
  world.settle();
  EXPECT_EQ(world.served.size(), 3u);
  EXPECT_FALSE(wire.is_held);
  EXPECT_LT(wire.sent.find("first"), wire.sent.find("later"));
}

TEST_F(Http1ServerTest, AnAnswerBeforeTheWholeRequestEndsTheConnection) {
  EXPECT_EQ(say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc"), "");
  world.last().response->answer(403, "no");
  world.settle();
  EXPECT_TRUE(status_of(wire.sent).starts_with("HTTP/1.1 403"));
  EXPECT_NE(wire.sent.find("\r\nconnection: close\r\n"), std::string::npos) << wire.sent;
  EXPECT_TRUE(wire.is_ended);
  EXPECT_FALSE(wire.is_gone) << "what still comes is read, or a reset would overtake the answer";
  wire.say("more");
  wire.end();
  EXPECT_TRUE(wire.is_gone);
  EXPECT_EQ(world.last().body, "abc");
}

TEST_F(Http1ServerTest, AnswersAClientThatHasClosedItsSide) {
  wire.say(kGet);
  wire.end();
  ASSERT_FALSE(wire.is_gone);
  world.last().response->answer(200, "ok");
  world.settle();
  EXPECT_TRUE(wire.sent.ends_with("ok"));
  EXPECT_TRUE(wire.is_ended);
  EXPECT_TRUE(wire.is_gone) << "there is nobody to wait for";
}

// A browser's tab that is closed looks the same.
TEST_F(Http1ServerTest, StopsWorkThatNoClientWaitsFor) {
  for (const bool is_begun : {false, true}) {
    ServerWorld one;
    fake::WireEnd& end = one.connect();
    end.say(kGet);
    if (is_begun) one.last().response->send_head({.status = 200, .headers = {}});
    one.settle();
    end.end();
    one.pass(4s);
    EXPECT_FALSE(one.last().loss);
    one.pass(3s);
    EXPECT_EQ(one.last().loss.has_value(), !is_begun) << "the kernel says whether anybody takes what is sent";
    EXPECT_EQ(end.is_gone, !is_begun);
  }
}

// Red when the last of several requests is lost because the client closes its sending side after them.
TEST_F(Http1ServerTest, AnswersPipelinedRequestsOfAHalfClosedClient) {
  for (const bool is_cut : {false, true}) {
    ServerWorld one;
    fake::WireEnd& end = one.connect();
    end.say(kGet + (is_cut ? kGet.substr(0, 9) : kGet));
    end.end();
    one.on_request = [](Served& served) { served.response->answer(201, "second"); };
    one.last().response->answer(200, "first");
    one.settle();
    EXPECT_EQ(one.served.size(), is_cut ? 1u : 2u);
    EXPECT_NE(end.sent.find("first"), std::string::npos);
    EXPECT_EQ(end.sent.find("second") != std::string::npos, !is_cut);
    EXPECT_TRUE(end.is_ended && end.is_gone);
  }
}

TEST_F(Http1ServerTest, DetectsAClosedClientWhileAnswering) {
  wire.say(kGet);
  EXPECT_FALSE(wire.is_held);
  wire.say(kGet);
  EXPECT_TRUE(wire.is_held) << "of what is sent ahead there is an end";
}

TEST_F(Http1ServerTest, ReportsALostClient) {
  wire.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc");
  wire.end();
  EXPECT_NE(world.last().what().find("in the middle"), std::string::npos) << world.last().what();
  EXPECT_TRUE(world.last().is_over);
  fake::WireEnd& other = world.connect();
  other.say(kGet);
  other.fail({Errc::kIo, "reset"});
  EXPECT_EQ(world.last().what(), "reset");
  EXPECT_TRUE(other.is_gone);
}

TEST_F(Http1ServerTest, DoesNotReadAPausedRequest) {
  wire.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
  world.last().response->pause_request();
  wire.say("c");  // was on its way
  EXPECT_TRUE(wire.is_held);
  world.pass(10min);
  EXPECT_FALSE(world.last().loss) << "time is not counted";
  world.last().response->resume_request();
  world.settle();
  EXPECT_FALSE(wire.is_held);
  world.pass(50s);
  EXPECT_FALSE(world.last().loss) << "the pause is not counted either";
  wire.say("d");
  EXPECT_EQ(world.last().body, "abcd");
}

}  // namespace
}  // namespace sliced::http
