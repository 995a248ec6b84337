#include "daemon/status/pages.h"

#include <gtest/gtest.h>

#include "t/unit/http/server_world.h"

namespace sliced::status {
namespace {

struct PagesTest : testing::Test, http::ServerWorld {
  PagesTest() {
    server = std::make_unique<http::Server>(time, serve_pages({{"/a", [this](std::string_view query) {
                                                                  queries.emplace_back(query);
                                                                  return Answer{.body = "page a\n"};
                                                                }}}));
  }
  /// The whole answer to one request.
  std::string ask(const std::string& head, const std::string& body = "") {
    fake::WireEnd& wire = connect();
    wire.say(head + "\r\nhost: localhost\r\n\r\n" + body);
    settle();
    return wire.sent;
  }
  std::vector<std::string> queries;
};

TEST_F(PagesTest, AreReadOnly) {
  const struct {
    const char* head;
    const char* begins;
    const char* has;
  } rows[] = {
      {"GET /a HTTP/1.1", "HTTP/1.1 200 ", "\r\n\r\npage a\n"},
      {"GET /a?verbose&x=%41 HTTP/1.1", "HTTP/1.1 200 ", "content-length: 7\r\n"},
      {"HEAD /a HTTP/1.1", "HTTP/1.1 200 ", "content-length: 7\r\n"},
      {"POST /a HTTP/1.1", "HTTP/1.1 405 ", "allow: GET, HEAD\r\n"},
      {"PUT /a HTTP/1.1", "HTTP/1.1 405 ", "allow: GET, HEAD\r\n"},
      {"DELETE /a HTTP/1.1", "HTTP/1.1 405 ", "allow: GET, HEAD\r\n"},
      {"OPTIONS /a HTTP/1.1", "HTTP/1.1 405 ", "allow: GET, HEAD\r\n"},
      {"TRACE /a HTTP/1.1", "HTTP/1.1 405 ", "allow: GET, HEAD\r\n"},
      {"GET / HTTP/1.1", "HTTP/1.1 404 ", "the pages are: /a\n"},
      {"GET /a/ HTTP/1.1", "HTTP/1.1 404 ", "the pages are: /a\n"},
      {"GET /../a HTTP/1.1", "HTTP/1.1 404 ", "the pages are: /a\n"},
      {"GET /%61 HTTP/1.1", "HTTP/1.1 404 ", "the pages are: /a\n"},
      {"POST /b HTTP/1.1", "HTTP/1.1 404 ", "the pages are: /a\n"},
  };
  for (const auto& row : rows) {
    const std::string answer = ask(row.head);
    EXPECT_TRUE(answer.starts_with(row.begins)) << row.head << "\n" << answer;
    EXPECT_NE(answer.find(row.has), std::string::npos) << row.head << "\n" << answer;
    EXPECT_NE(answer.find("cache-control: no-store\r\n"), std::string::npos) << row.head;
  }
  EXPECT_EQ(queries, (std::vector<std::string>{"", "verbose&x=%41", ""}));
  EXPECT_TRUE(ask("HEAD /a HTTP/1.1").ends_with("\r\n\r\n")) << "no body";
}

TEST_F(PagesTest, DoNotWaitForABody) {
  EXPECT_TRUE(ask("POST /a HTTP/1.1\r\ncontent-length: 1000").starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(ask("GET /a HTTP/1.1\r\ntransfer-encoding: chunked").starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace sliced::status
