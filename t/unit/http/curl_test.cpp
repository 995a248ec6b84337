// A client that is not ours: Debian's curl, over both versions.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "http/server.h"
#include "reactor/child.h"
#include "t/fake/fake_scheduler.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::http {
namespace {

struct CurlTest : fixture::LoopTest {
  CurlTest() {
    char name[] = "/tmp/curl-test-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~CurlTest() override { std::filesystem::remove_all(root); }

  /// Returns what curl prints: the answer's body, its status, and curl's exit code. The server's time stands still, so curl ends
  /// because it has its answer, and not because the server has waited long enough for the rest of its request.
  std::string ask(const std::vector<std::string>& more) {
    fake::FakeScheduler time;
    Server server(time, [](const RequestHead& head, Response& response) {
      response.answer(head.method == "GET" ? 200 : 403, "answered\n");
      return nullptr;
    });
    const auto listener =
        reactor::net::listen_unix(loop, root + "/socket", {}, [&](auto stream, reactor::net::Peer peer) {
          server.take(std::move(stream), std::move(peer));
        }).value();
    std::vector<std::string> argv = {"curl",
                                     "-sS",
                                     "--write-out",
                                     "%{http_code} %{exitcode}",
                                     "--unix-socket",
                                     root + "/socket",
                                     "http://localhost/x"};
    argv.insert(argv.end(), more.begin(), more.end());
    std::optional<reactor::ChildResult> result;
    const auto child = reactor::Child::start(loop, {.argv = argv}, [&](reactor::ChildResult told) {
                         result = std::move(told);
                       }).value();
    EXPECT_TRUE(run_until([&] {
      time.advance(Millis{0});
      return result.has_value();
    })) << "curl has not ended";
    if (!result) return "";
    return result->out + result->err;
  }
  std::string file_of(size_t bytes) const {
    std::ofstream(root + "/body") << std::string(bytes, 'x');
    return "@" + root + "/body";
  }
  std::string root;
};

constexpr const char* kVersions[] = {"--http1.1", "--http2-prior-knowledge"};

TEST_F(CurlTest, IsAnswered) {
  for (const char* version : kVersions) EXPECT_EQ(ask({version}), "answered\n200 0") << version;
}

TEST_F(CurlTest, ReceivesAnAnswerBeforeItsRequestIsComplete) {
  for (const char* version : kVersions)
    EXPECT_EQ(ask({version, "--data-binary", file_of(3u << 20)}), "answered\n403 0") << version;
}

TEST_F(CurlTest, ReceivesTheRefusalOfALargeBody) {
  for (const char* version : kVersions) {
    const std::string told = ask({version, "--data-binary", file_of(20u << 20)});
    EXPECT_TRUE(told.ends_with("\n413 0")) << version << ": " << told;
  }
}

}  // namespace
}  // namespace sliced::http
