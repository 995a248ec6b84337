#include "kubelet/nri/server.h"

#include <gtest/gtest.h>

#include <optional>

#include "kubelet/nri/client.h"
#include "t/fake/fake_scheduler.h"
#include "t/unit/kubelet/nri/wire.h"

namespace sliced::nri {
namespace {

struct ServerTest : testing::Test {
  // What has been answered, by stream.
  std::map<uint32_t, Response> answers() {
    std::map<uint32_t, Response> all;
    FrameReader reader;
    reader.add(sent);
    while (const auto frame = reader.next()) {
      EXPECT_EQ(frame->type, FrameType::kResponse);
      EXPECT_TRUE(all.emplace(frame->stream, *decode_response(frame->data)).second) << "answered twice";
    }
    return all;
  }
  Code code_of(uint32_t stream) { return answers().at(stream).status.code; }
  void ask(uint32_t stream, std::string_view method, uint64_t timeout_ms = 0) {
    server->receive(test::request(stream, "svc", method, "in", timeout_ms));
  }

  fake::FakeScheduler scheduler;
  std::string sent;
  std::vector<Answer> kept;
  std::optional<Server> server{
      std::in_place, scheduler,
      std::map<std::string, Server::Method, std::less<>>{
          {"svc/echo", [](auto payload, Answer answer) { answer.give("to " + std::string(payload)); }},
          {"svc/keep", [this](auto, Answer answer) { kept.push_back(std::move(answer)); }},
          {"svc/forget", [](auto, const Answer&) {}},
          {"svc/drop", [this](auto, const Answer&) { server.reset(); }}},
      [this](const std::string& bytes) { sent += bytes; }};
};

TEST_F(ServerTest, AnswersInAnyOrder) {
  ask(1, "keep");
  ask(3, "echo");
  ask(5, "keep");
  EXPECT_EQ(answers().at(3).payload, "to in");
  EXPECT_EQ(answers().size(), 1u);
  EXPECT_TRUE(kept[1].give("five"));
  EXPECT_TRUE(kept[0].refuse(Code::kUnknown, "not one"));
  EXPECT_EQ(answers().at(5).payload, "five");
  EXPECT_EQ(answers().at(1).status, (Status{Code::kUnknown, "not one"}));
  EXPECT_FALSE(kept[0].give("twice"));
}

TEST_F(ServerTest, AnswersUnimplementedAndContinues) {
  ask(1, "none");
  server->receive(test::request(3, "other", "echo", ""));
  server->receive(test::frame(5, 1, test::field(1, "svc") + test::field(2, "echo"), 2));  // a stream
  EXPECT_EQ(code_of(1), Code::kUnimplemented);
  EXPECT_EQ(code_of(3), Code::kUnimplemented);
  EXPECT_EQ(code_of(5), Code::kUnimplemented);
  ask(7, "echo");
  EXPECT_EQ(code_of(7), Code::kOk);
}

TEST_F(ServerTest, RefusesAnInvalidCallByItsStream) {
  ask(9, "echo");
  ask(7, "echo");                                 // streams count up
  ask(10, "echo");                                // and are odd
  server->receive(test::frame(11, 3, "data"));    // of no stream
  server->receive(test::frame(13, 1, "\x0a"));    // no message
  server->receive(test::frame(15, 2, "answer"));  // to nothing that was asked
  EXPECT_EQ(code_of(9), Code::kOk);
  for (const uint32_t stream : {7u, 10u, 11u, 13u})
    EXPECT_EQ(code_of(stream), Code::kInvalidArgument) << stream;
  EXPECT_EQ(answers().count(15), 0u);
}

TEST_F(ServerTest, RefusesAndSkipsAnOversizedMessage) {
  server->receive(test::u32((4u << 20) + 1) + test::u32(1) + std::string("\1\0", 2));
  EXPECT_EQ(code_of(1), Code::kResourceExhausted);
  server->receive(std::string((4u << 20) + 1, 'x') + test::request(3, "svc", "echo", ""));
  EXPECT_EQ(code_of(3), Code::kOk);
}

// A runtime that gets no answer in time drops the plugin and continues as if it had agreed.
TEST_F(ServerTest, RefusesALateCallBeforeTheCallersTimeout) {
  ask(1, "keep", 1000);
  EXPECT_EQ(kept[0].deadline(), scheduler.now() + Millis{900});
  scheduler.advance(Millis{899});
  EXPECT_EQ(answers().size(), 0u);
  scheduler.advance(Millis{1});
  EXPECT_EQ(code_of(1), Code::kAborted);
  EXPECT_FALSE(kept[0].give("late"));
  EXPECT_EQ(answers().size(), 1u);
}

TEST_F(ServerTest, UsesTheConfiguredTimeoutByDefault) {
  server->set_timeout(Millis{500});
  ask(1, "keep");
  EXPECT_EQ(kept[0].deadline(), scheduler.now() + Millis{450});
}

TEST_F(ServerTest, ADroppedAnswerIsAnError) {
  ask(1, "forget");
  EXPECT_EQ(code_of(1), Code::kInternal);
  ask(3, "keep");
  kept.clear();
  EXPECT_EQ(code_of(3), Code::kInternal);
}

TEST_F(ServerTest, BoundsConcurrentCalls) {
  for (uint32_t i = 0; i < 65; ++i) ask(2 * i + 1, "keep");
  EXPECT_EQ(kept.size(), 64u);
  EXPECT_EQ(code_of(129), Code::kResourceExhausted);
  EXPECT_TRUE(kept[0].give(""));
  ask(131, "echo");
  EXPECT_EQ(code_of(131), Code::kOk);
}

TEST_F(ServerTest, AMethodMayDropTheServer) {
  server->receive(test::request(1, "svc", "keep", "") + test::request(3, "svc", "drop", "") +
                  test::request(5, "svc", "echo", ""));
  EXPECT_FALSE(kept[0].give("nobody is there"));
  scheduler.advance(Millis{10'000});
  EXPECT_TRUE(answers().empty());
}

struct ClientTest : testing::Test {
  void call() {
    client->call("svc", "m", "in", Millis{100},
                 [this](Result<std::string> outcome) { outcomes.push_back(std::move(outcome)); });
  }
  fake::FakeScheduler scheduler;
  std::string sent;
  std::vector<Result<std::string>> outcomes;
  std::optional<Client> client{std::in_place, scheduler, [this](const std::string& bytes) { sent += bytes; }};
};

TEST_F(ClientTest, AssignsAnswersToTheirCalls) {
  call();
  call();
  EXPECT_EQ(sent, test::request(1, "svc", "m", "in", 100) + test::request(3, "svc", "m", "in", 100));
  client->receive(test::response(3, "three") + test::response(99, "nobody's") + test::frame(1, 3, "data") +
                  test::refusal(1, 2, "no"));
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(*outcomes[0], "three");
  EXPECT_EQ(outcomes[1].error().what, "m: refused with code 2: no");
}

TEST_F(ClientTest, TimesOutASilentCallAndRefusesInvalidAnswers) {
  call();
  scheduler.advance(Millis{100});
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].error().code, Errc::kTimeout);
  call();
  client->receive(test::response(1, "late") + test::frame(3, 2, "\x0a"));
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[1].error().code, Errc::kInvalid);
}

TEST_F(ClientTest, MayBeDestroyedInItsCallback) {
  client->call("svc", "m", "", Millis{100}, [this](const Result<std::string>&) { client.reset(); });
  call();
  client->receive(test::response(1, "") + test::response(3, ""));
  EXPECT_FALSE(client);
  EXPECT_TRUE(outcomes.empty());
}

}  // namespace
}  // namespace sliced::nri
