#include "http/grpc/server.h"

#include <gtest/gtest.h>

#include <optional>

#include "http/grpc/framing.h"
#include "t/unit/http/http2_client.h"

namespace sliced::grpc {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using http::Http2Client;
using http::ServerWorld;

// A server with a method that echoes, one that waits for the test, one that aborts and one that streams.
struct GrpcWorld : ServerWorld {
  explicit GrpcWorld(http::ServerBounds bounds = patient_bounds()) {
    server = std::make_unique<http::Server>(
        time,
        serve_methods(
            time,
            {{"/t.S/Echo", {.handle = [](std::string_view message, Answer answer) { answer.send(message); }}},
             {"/t.S/Wait",
              {.handle = [this](std::string_view message,
                                Answer answer) { keep(message, std::move(answer)); },
               .longest = 45s}},
             {"/t.S/Drop", {.handle = [](std::string_view, Answer) {}}},
             {"/t.S/Watch",
              {.handle = [this](std::string_view message,
                                Answer answer) { keep(message, std::move(answer)); },
               .is_stream = true}}}),
        http::ServerOptions{.bounds = bounds});
  }
  ~GrpcWorld() { waiting.reset(); }
  void keep(std::string_view message, Answer answer) {
    asked = message;
    answer.on_loss([this] { ++losses; });
    waiting.emplace(std::move(answer));
  }
  std::string asked;
  std::optional<Answer> waiting;
  int losses = 0;
};

fake::Fields head(const std::string& path, fake::Fields more = {}) {
  fake::Fields fields = {{":method", "POST"},
                         {":scheme", "http"},
                         {":authority", "%2Ftmp%2Fa-reg.sock"},
                         {":path", path},
                         {"content-type", "application/grpc"},
                         {"te", "trailers"}};
  for (auto& field : more) fields.push_back(std::move(field));
  return fields;
}
void call(Http2Client& client, uint32_t stream, const std::string& path, const std::string& body,
          fake::Fields more = {}) {
  client.say(fake::headers_frame(stream, head(path, std::move(more))) + fake::data_frame(stream, body, true));
}
// "13 why", with the message decoded.
std::string ended(Http2Client& client, uint32_t stream) {
  client.look();
  const auto& answer = client.answer(stream);
  const std::string message = percent_decoded(answer.field("grpc-message"));
  return answer.field("grpc-status") + (message.empty() ? "" : " " + message);
}

TEST(GrpcServer, ExchangesOneMessageEachWay) {
  GrpcWorld world;
  Http2Client client(world);
  call(client, 1, "/t.S/Echo", frame("hello"), {{"grpc-timeout", "1S"}});
  const auto& answer = client.answer(1);
  EXPECT_EQ(answer.field(":status"), "200");
  EXPECT_EQ(answer.field("content-type"), "application/grpc");
  EXPECT_EQ(answer.field("grpc-accept-encoding"), "identity");
  EXPECT_EQ(answer.body, frame("hello"));
  EXPECT_EQ(ended(client, 1), "0");
  EXPECT_TRUE(answer.is_whole);
  client.live(2s);
  EXPECT_EQ(ended(client, 1), "0") << "its timeout is forgotten";
}

TEST(GrpcServer, RefusesOtherRequestsAsTheProtocolRequires) {
  const struct {
    const char* what;
    const char* method;
    const char* type;
    const char* status;
  } rows[] = {
      {"GET", "GET", "application/grpc", "405"},
      {"no type", "POST", "", "415"},
      {"JSON", "POST", "application/json", "415"},
      {"JSON in gRPC", "POST", "application/grpc+json", "415"},
      {"gRPC-Web", "POST", "application/grpc-web", "415"},
      {"named messages", "POST", "application/grpc+proto", "200"},
      {"parameters", "POST", "application/grpc; x=y", "200"},
  };
  for (const auto& row : rows) {
    GrpcWorld world;
    Http2Client client(world);
    fake::Fields fields = http::request_fields("/t.S/Echo", row.method);
    if (*row.type != 0) fields.emplace_back("content-type", row.type);
    client.say(fake::headers_frame(1, fields) + fake::data_frame(1, frame(""), true));
    EXPECT_EQ(client.status(1), row.status) << row.what;
  }
}

TEST(GrpcServer, EveryErrorHasItsStatus) {
  const struct {
    const char* path;
    std::string body;
    fake::Fields more;
    const char* ended;
  } rows[] = {
      {"/t.S/None", frame(""), {}, "12 there is no method /t.S/None"},
      {"/t.S", frame(""), {}, "12 there is no method /t.S"},
      {"/", frame(""), {}, "12 there is no method /"},
      {"/t.S/Drop", frame(""), {}, "13 the call was given up without an answer"},
      {"/t.S/Echo", "", {}, "12 the method takes one message, not 0"},
      {"/t.S/Echo", frame("a") + frame("b"), {}, "12 the method takes one message, not 2"},
      {"/t.S/Echo", "\0\0\0\0\5ab"s, {}, "13 the request ends in the middle of a message"},
      {"/t.S/Echo", "\0\0\x10\0\1"s, {}, "8 a message of 1048577 bytes; at most 1048576 are taken"},
      {"/t.S/Echo",
       "\1\0\0\0\1a"s,
       {{"grpc-encoding", "gzip"}},
       "12 grpc-encoding \"gzip\" is not understood: send identity"},
      {"/t.S/Echo",
       frame("a"),
       {{"grpc-timeout", "soon"}},
       "13 grpc-timeout \"soon\" is not a timeout, such as 45S"},
      {"/t.S/Wait", frame("a"), {{"grpc-timeout", "0n"}}, "4 no answer within 0 ms"},
  };
  for (const auto& row : rows) {
    GrpcWorld world;
    Http2Client client(world);
    call(client, 1, row.path, row.body, row.more);
    EXPECT_EQ(ended(client, 1), row.ended) << row.path;
    EXPECT_EQ(client.status(1), "200") << row.path;
    EXPECT_EQ(client.answer(1).field("grpc-accept-encoding"), "identity");
    EXPECT_TRUE(client.answer(1).is_whole);
    call(client, 3, "/t.S/Echo", frame("after"));
    EXPECT_EQ(ended(client, 3), "0") << "the connection goes on behind " << row.path;
  }
}

TEST(GrpcServer, UsesTheClientsTimeoutUpToTheMethodsLimit) {
  const struct {
    fake::Fields more;
    Millis waits;
  } rows[] = {{{{"grpc-timeout", "1S"}}, 1s}, {{{"grpc-timeout", "90S"}}, 45s}, {{}, 45s}};
  for (const auto& row : rows) {
    GrpcWorld world;
    Http2Client client(world);
    call(client, 1, "/t.S/Wait", frame("x"), row.more);
    client.live(row.waits - 1ms);
    EXPECT_TRUE(world.waiting->is_wanted());
    EXPECT_EQ(ended(client, 1), "");
    world.pass(1ms);
    EXPECT_FALSE(world.waiting->is_wanted());
    EXPECT_EQ(world.losses, 1);
    EXPECT_EQ(ended(client, 1), "4 no answer within " + std::to_string(row.waits.count()) + " ms");
    world.waiting->send("too late");
    client.look();
    EXPECT_EQ(client.answer(1).body, "");
    EXPECT_EQ(world.losses, 1);
  }
}

TEST(GrpcServer, SendsALateAnswerOnce) {
  GrpcWorld world;
  Http2Client client(world);
  call(client, 1, "/t.S/Wait", frame("x"));
  EXPECT_EQ(world.asked, "x");
  client.live(20s);
  world.waiting->send("first");
  world.waiting->send("second");
  world.waiting->finish({Code::kInternal, "third"});
  EXPECT_EQ(ended(client, 1), "0");
  EXPECT_EQ(client.answer(1).body, frame("first"));
  EXPECT_EQ(world.losses, 0);
}

TEST(GrpcServer, ReportsALostClientOnceAndSendsNothing) {
  for (const char* way : {"reset", "closed", "server"}) {
    GrpcWorld world;
    Http2Client client(world);
    call(client, 1, "/t.S/Wait", frame("x"));
    ASSERT_TRUE(world.waiting->is_wanted());
    if (way == "reset"s) client.say(fake::reset_frame(1, NGHTTP2_CANCEL));
    if (way == "closed"s) client.wire.end();
    if (way == "server"s) world.server.reset();
    EXPECT_FALSE(world.waiting->is_wanted()) << way;
    EXPECT_EQ(world.losses, 1) << way;
    world.waiting->send("late");
    world.waiting->on_loss(nullptr);
    world.waiting.reset();
    EXPECT_EQ(world.losses, 1) << way;
  }
}

TEST(GrpcServer, AStreamHasManyMessagesAndOneEnd) {
  GrpcWorld world;
  Http2Client client(world);
  call(client, 1, "/t.S/Watch", frame(""));
  world.waiting->send("one");
  client.look();
  EXPECT_EQ(client.answer(1).body, frame("one"));
  client.live(3600s);
  EXPECT_TRUE(world.waiting->is_wanted()) << "it lasts";
  world.waiting->send("two");
  world.waiting->finish({Code::kUnavailable, "over"});
  EXPECT_EQ(ended(client, 1), "14 over");
  EXPECT_EQ(client.answer(1).body, frame("one") + frame("two"));
  EXPECT_EQ(world.losses, 0);
}

TEST(GrpcServer, AStreamIsNotifiedOfRoom) {
  GrpcWorld world;
  Http2Client client(world);
  call(client, 1, "/t.S/Watch", frame(""));
  int rooms = 0;
  world.waiting->on_room([&] { ++rooms; });
  world.waiting->send(std::string(300'000, 'x'));
  client.look();
  EXPECT_GT(world.waiting->unsent_bytes(), http::kResponseRoom) << "the client's window is 64 KiB";
  EXPECT_EQ(rooms, 0);
  client.say(fake::window_frame(0, 1 << 20) + fake::window_frame(1, 1 << 20));
  EXPECT_EQ(world.waiting->unsent_bytes(), 0u);
  EXPECT_EQ(rooms, 1);
}

TEST(GrpcServer, KeepsIdleConnections) {
  GrpcWorld world;
  Http2Client client(world);
  call(client, 1, "/t.S/Echo", frame("x"));
  client.live(std::chrono::hours(24));
  EXPECT_FALSE(client.wire.is_gone || client.wire.is_ended);
  call(client, 3, "/t.S/Echo", frame("y"));
  EXPECT_EQ(ended(client, 3), "0");
}

TEST(GrpcServer, TimesOutOnAnIncompleteRequest) {
  GrpcWorld world;
  Http2Client client(world);
  client.say(fake::headers_frame(1, head("/t.S/Echo")) + fake::data_frame(1, "\0\0\0\0\5a"s));
  client.live(75s);  // a minute, and the rest of it after the answer
  EXPECT_EQ(world.server->calls(), 0u);
}

TEST(GrpcServer, DropsAnOversizedMessage) {
  GrpcWorld world;
  Http2Client client(world);
  std::string bytes = fake::headers_frame(1, head("/t.S/Echo")) + fake::data_frame(1, "\0\xff\xff\xff\xff"s);
  client.say(bytes);
  EXPECT_EQ(ended(client, 1).substr(0, 2), "8 ") << "before its end";
}

}  // namespace
}  // namespace sliced::grpc
