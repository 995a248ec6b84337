#include "daemon/status/guard.h"

#include <gtest/gtest.h>

namespace sliced::status {
namespace guard_test {

bool is_refused(const std::string& host, http::Headers headers = {}, bool over_tcp = true) {
  auto peer = std::make_shared<reactor::net::Peer>();
  if (!over_tcp) peer->credentials.emplace();
  return !refusal_of({.method = "GET",
                      .target = "/",
                      .authority = host,
                      .headers = std::move(headers),
                      .from = peer},
                     {"node-1"})
              .empty();
}

TEST(Guard, AcceptsOnlyAddressesAndOwnNames) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:9810", "[::1]:9810", "[fe80::1]", "10.1.2.3:80",
                           "localhost", "LOCALHOST:9810", "node-1", "Node-1:9810"})
    EXPECT_FALSE(is_refused(host)) << host;
  for (const char* host :
       {"", ":9810", "rebound.example", "rebound.example:9810", "127.0.0.1.rebound.example",
        "localhost.rebound.example", "node-1.rebound.example", "[::1", "[rebound.example]", "1", "0x7f000001",
        "127.0.0.1:9810:rebound.example", "[::1]rebound.example", "127.0.0.1:9810@rebound.example",
        "localhost:x", "%2Frun%2Fx.sock"})
    EXPECT_TRUE(is_refused(host)) << host;
  EXPECT_FALSE(is_refused("%2Frun%2Fx.sock", {}, false)) << "no browser speaks to a unix socket";
}

TEST(Guard, RefusesOtherOriginsAndSites) {
  const std::string host = "127.0.0.1:9810";
  EXPECT_FALSE(is_refused(host, {{"origin", "http://127.0.0.1:9810"}}));
  for (const char* origin :
       {"", "null", "http://127.0.0.1", "http://127.0.0.1:9811", "https://127.0.0.1:9810",
        "http://rebound.example", "http://127.0.0.1:9810.rebound.example"})
    EXPECT_TRUE(is_refused(host, {{"origin", origin}})) << origin;
  EXPECT_TRUE(is_refused(host, {{"origin", "http://127.0.0.1:9810"}, {"Origin", "http://evil.example"}}))
      << "the first of two is not the only one";
  EXPECT_FALSE(is_refused(host, {{"sec-fetch-site", "same-origin"}, {"sec-fetch-mode", "cors"}}));
  EXPECT_FALSE(is_refused(host, {{"sec-fetch-site", "none"}, {"sec-fetch-mode", "navigate"}}));
  EXPECT_FALSE(is_refused(host, {{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}))
      << "a link";
  const auto is_refused_to = [&](const char* dest) {
    return is_refused(
        host, {{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", dest}});
  };
  EXPECT_FALSE(is_refused_to("document"));
  for (const char* dest : {"iframe", "frame", "embed", "object"}) EXPECT_TRUE(is_refused_to(dest)) << dest;
  for (const char* mode : {"no-cors", "cors", "same-origin", "websocket"})
    EXPECT_TRUE(is_refused(host, {{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", mode}})) << mode;
  EXPECT_TRUE(is_refused(host, {{"sec-fetch-site", "same-site"}}));
}

}  // namespace guard_test
}  // namespace sliced::status
