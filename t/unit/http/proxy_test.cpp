#include "http/proxy.h"

#include <gtest/gtest.h>

#include <map>

#include "reactor/base/base64.h"

namespace sliced::http {
namespace {

ProxyEnvironment environment_of(const std::map<std::string, std::string>& variables) {
  return read_proxy_environment([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

std::string chosen(const std::string& server, const std::map<std::string, std::string>& variables,
                   const std::string& proxy_url = "") {
  const auto proxy = proxy_for(*decode_url(server), proxy_url, environment_of(variables));
  if (!proxy) return "refused: " + proxy.error().what;
  return *proxy ? describe(**proxy) + (*proxy)->authorization : "direct";
}

// As golang.org/x/net/http/httpproxy decides it.
TEST(Proxy, SelectsTheProxyLikeGo) {
  const struct {
    const char* server;
    std::map<std::string, std::string> variables;
    const char* wanted;
  } rows[] = {
      {"https://k:6443", {}, "direct"},
      {"https://k:6443", {{"HTTPS_PROXY", "http://p:3128"}}, "proxy p:3128 (HTTPS_PROXY)"},
      {"https://k:6443", {{"https_proxy", "http://p:3128"}}, "proxy p:3128 (https_proxy)"},
      {"https://k:6443",
       {{"HTTPS_PROXY", "http://a:1"}, {"https_proxy", "http://b:2"}},
       "proxy a:1 (HTTPS_PROXY)"},
      {"https://k:6443", {{"HTTPS_PROXY", ""}, {"https_proxy", "http://b:2"}}, "proxy b:2 (https_proxy)"},
      {"https://k:6443", {{"HTTP_PROXY", "http://p:3128"}}, "direct"},
      {"https://k:6443", {{"ALL_PROXY", "http://p:3128"}}, "direct"},
      {"https://k:6443", {{"HTTPS_PROXY", "http://p"}}, "proxy p:80 (HTTPS_PROXY)"},
      {"https://k:6443", {{"HTTPS_PROXY", "p:3128"}}, "proxy p:3128 (HTTPS_PROXY)"},
      {"https://k:6443", {{"HTTPS_PROXY", "p"}}, "proxy p:80 (HTTPS_PROXY)"},
      {"https://k:6443", {{"HTTPS_PROXY", "HTTP://p:3128/"}}, "proxy p:3128 (HTTPS_PROXY)"},
      {"https://k:6443", {{"HTTPS_PROXY", "http://[fd00::1]:3128"}}, "proxy [fd00::1]:3128 (HTTPS_PROXY)"},
      // localhost and loopback never
      {"https://localhost:6443", {{"HTTPS_PROXY", "socks5://p"}}, "direct"},
      {"https://127.0.0.1:6443", {{"HTTPS_PROXY", "http://p"}}, "direct"},
      {"https://127.9.9.9:6443", {{"HTTPS_PROXY", "http://p"}}, "direct"},
      {"https://[::1]:6443", {{"HTTPS_PROXY", "http://p"}}, "direct"},
      {"http://127.0.0.1:8001", {{"HTTP_PROXY", "http://p"}}, "direct"},
      {"https://localhost.example.com", {{"HTTPS_PROXY", "http://p"}}, "proxy p:80 (HTTPS_PROXY)"},
  };
  for (const auto& row : rows) EXPECT_EQ(chosen(row.server, row.variables), row.wanted) << row.server;
}

TEST(Proxy, ReadsNoProxyLikeGo) {
  const struct {
    const char *no_proxy, *host;
    uint16_t port;
    bool direct;
  } rows[] = {
      {"", "k.example.com", 443, false},
      {"*", "k.example.com", 443, true},
      {"x, * ", "10.1.2.3", 443, true},
      {"example.com", "example.com", 443, true},
      {"example.com", "k.example.com", 443, true},
      {"example.com", "kexample.com", 443, false},
      {"EXAMPLE.com", "K.Example.COM", 443, true},
      {".example.com", "k.example.com", 443, true},
      {".example.com", "example.com", 443, false},
      {"*.example.com", "k.example.com", 443, true},
      {"*.example.com", "example.com", 443, false},
      {"a.b.*.com", "a.b.c.com", 443, false},
      {" a.com ,\texample.com ", "example.com", 443, true},
      {",,", "example.com", 443, false},
      {"example.com:443", "k.example.com", 443, true},
      {"example.com:443", "k.example.com", 6443, false},
      {".example.com:6443", "k.example.com", 6443, true},
      {"example.com:", "k.example.com", 6443, true},
      {":443", "k.example.com", 443, false},
      {"10.0.0.1", "10.0.0.1", 443, true},
      {"10.0.0.1", "10.0.0.11", 443, false},
      {"10.0.0.1:6443", "10.0.0.1", 6443, true},
      {"10.0.0.1:6443", "10.0.0.1", 443, false},
      {"10.0.0.0/8", "10.200.3.4", 443, true},
      {"10.0.0.0/8", "11.0.0.1", 443, false},
      {"10.96.0.0/12", "10.96.0.1", 443, true},
      {"10.96.0.0/12", "10.112.0.1", 443, false},
      {"0.0.0.0/0", "9.9.9.9", 443, true},
      {"0.0.0.0/0", "fd00::1", 443, false},
      {"0.0.0.0/0", "k.example.com", 443, false},
      {"10.0.0.0/33", "10.0.0.1", 443, false},
      {"10.0.0.0/", "10.0.0.1", 443, false},
      {"fd00::/8", "fd12::1", 443, true},
      {"fd00::/8", "fe80::1", 443, false},
      {"fd00::1", "fd00:0::1", 443, true},
      {"[fd00::1]:6443", "fd00::1", 6443, true},
      {"[fd00::1]:6443", "fd00::1", 443, false},
      {"[fd00::1]", "fd00::1", 443, false},
      {"::ffff:10.0.0.1", "10.0.0.1", 443, true},
      {"1", "10.0.0.1", 443, false},
      {".0.0.1", "10.0.0.1", 443, false},
      {"svc,cluster.local", "kubernetes.default.svc", 443, true},
      {"010.0.0.1", "10.0.0.1", 443, false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(is_reached_directly(row.host, row.port, row.no_proxy), row.direct)
        << row.no_proxy << " for " << row.host << ":" << row.port;
}

TEST(Proxy, SendsUserInformationAndNeverShowsIt) {
  const struct {
    const char *proxy, *user;
  } rows[] = {{"http://a:b@p:1", "a:b"}, {"http://a@p:1", "a:"},
              {"http://a:@p:1", "a:"},   {"http://a%40b:c%3Ad%25@p:1", "a@b:c:d%"},
              {"a:b@p:1", "a:b"},        {"http://a:b@c@p:1", "a:b@c"}};
  for (const auto& row : rows) {
    const auto proxy = proxy_for(*decode_url("https://k"), "", environment_of({{"HTTPS_PROXY", row.proxy}}));
    ASSERT_TRUE(proxy && *proxy) << row.proxy;
    EXPECT_EQ((*proxy)->authorization, "Basic " + encode_base64(row.user)) << row.proxy;
    EXPECT_EQ(describe(**proxy), "proxy p:1 (HTTPS_PROXY)");
  }
  for (const char* text : {"socks5://secret:word@p", "http://secret:wo%zz@p", "http://secret:word@p:x",
                           "https://secret:word@p", "http://secret:word@"}) {
    const std::string said = chosen("https://k", {{"HTTPS_PROXY", text}});
    EXPECT_TRUE(said.starts_with("refused: HTTPS_PROXY: ")) << said;
    EXPECT_EQ(said.find("secret"), std::string::npos) << said;
  }
}

// Red when a proxy that cannot be used is passed by: its owner meant traffic to go through it.
TEST(Proxy, NamesAnInvalidProxy) {
  const struct {
    const char* server;
    std::map<std::string, std::string> variables;
    const char *proxy_url, *wanted;
  } rows[] = {
      {"https://k", {{"HTTPS_PROXY", "https://p"}}, "", "refused: HTTPS_PROXY: a proxy by \"https\"://"},
      {"https://k", {{"https_proxy", "socks5://p"}}, "", "refused: https_proxy: a proxy by \"socks5\"://"},
      {"https://k", {{"HTTPS_PROXY", "http://"}}, "", "refused: HTTPS_PROXY: no valid HOST"},
      {"https://k", {{"HTTPS_PROXY", "http://p:99999"}}, "", "refused: HTTPS_PROXY: no valid HOST"},
      {"http://k", {{"HTTP_PROXY", "http://p"}}, "", "refused: HTTP_PROXY: an API server without TLS"},
      {"http://k",
       {{"http_proxy", "http://p"}, {"REQUEST_METHOD", "GET"}},
       "",
       "refused: http_proxy: not used where REQUEST_METHOD"},
      {"https://k", {}, "socks5://p", "refused: proxy-url: a proxy by \"socks5\"://"},
      {"http://k", {}, "http://p", "refused: proxy-url: an API server without TLS"},
      {"https://k", {{"HTTPS_PROXY", "socks5://p"}, {"NO_PROXY", "k"}}, "", "direct"},
      {"https://k", {{"HTTPS_PROXY", "http://a"}, {"NO_PROXY", "k"}}, "http://b:8", "proxy b:8 (proxy-url)"},
      {"https://127.0.0.1", {}, "http://b:8", "proxy b:8 (proxy-url)"},
  };
  for (const auto& row : rows)
    EXPECT_TRUE(chosen(row.server, row.variables, row.proxy_url).starts_with(row.wanted))
        << chosen(row.server, row.variables, row.proxy_url) << ", expected " << row.wanted;
}

}  // namespace
}  // namespace sliced::http
