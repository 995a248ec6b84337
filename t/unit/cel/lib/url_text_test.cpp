#include "cel/lib/url_text.h"

#include <gtest/gtest.h>

namespace sliced::cel {
namespace {

UrlText url(std::string_view text) {
  const auto decoded = decode_url_text(text);
  EXPECT_TRUE(decoded) << text;
  return decoded.value_or(UrlText());
}

using Values = std::map<std::string, std::vector<std::string>>;
Values query(const std::string& text) { return url("http://a/b?" + text).query_values(); }

// What a reader of RFC 3986 would decide otherwise is as Go decides.
TEST(CelUrl, AcceptsUrlsAndRefusesOtherTexts) {
  for (const char* text : {"https://example.com:80/",
                           "/path",
                           "*",
                           "foo:bar",
                           "foo:/bar",
                           "mailto:a@b",
                           "HTTP://a",
                           "ht+tp-1.://a",
                           "http://",
                           "http:///p",
                           "//host/p",
                           "///p",
                           "http://a/b c",
                           "http://a/?%zz",
                           "http://a/?a b",
                           "http://[::1]:80/",
                           "http://a:/",
                           "http://a:99999999/",
                           "http://[fe80::1%25eth0]/",
                           "http://[::ffff:1.2.3.4]/",
                           "http://user:pass@host/",
                           "http://a@b@c/",
                           "http://%e4%bd/",
                           "http://exämple/",
                           "http://a<b/",
                           "http://a\"b/",
                           "http://a'b/",
                           "http://a;b,c/",
                           "/a:b",
                           "http:a/b",
                           "http:?x",
                           "http:/",
                           "a:b:c",
                           "/#x",
                           "postgres://a:1,b:2/"})
    EXPECT_TRUE(is_url(text)) << text;
  for (const char* text : {"",
                           "../relative-path",
                           "foo",
                           "1http://a",
                           "ht tp://a",
                           ":foo",
                           "http://a b/",
                           "http://a/b\tc",
                           "http://a/b\x7f",
                           "http://a/%zz",
                           "http://a/%2",
                           "http://a/%",
                           "http://a/#%zz",
                           "http://[::1",
                           "http://[::1]x",
                           "http://::1/",
                           "http://a:b:80/",
                           "http://a:1:2",
                           "http://a:80x/",
                           "http://[fe80::1%eth0]/",
                           "http://[fe80::1%25]/",
                           "http://[fe80::1%25e%a5]/",
                           "http://[1.2.3.4]/",
                           "http://[nope]/",
                           "http://[]/",
                           "http://us er@host/",
                           "http://us%zz@host/",
                           "http://a%20b/",
                           "http://a%41b/",
                           "http://a\\b/",
                           "http://a{b/",
                           "http://a^b/",
                           "http://a[b/",
                           "a/b:c",
                           "#x",
                           "?x",
                           "http://h#x"})
    EXPECT_FALSE(is_url(text)) << text;
  EXPECT_TRUE(is_url("http://a/?q#%zz")) << "a fragment is no matter of requests";
  EXPECT_EQ(decode_url_text("http://a/?q#%zz").error().code, Errc::kInvalid);
}

TEST(CelUrl, Parts) {
  const UrlText full = url("HTTPS://user:p%41w@Example.com:80/a/b?x=1#frag");
  EXPECT_EQ(full.scheme, "https");
  EXPECT_EQ(full.user, "user:pAw@");
  EXPECT_EQ(full.host, "Example.com:80");
  EXPECT_EQ(full.hostname(), "Example.com");
  EXPECT_EQ(full.port(), "80");
  EXPECT_EQ(full.escaped_path, "/a/b");
  EXPECT_EQ(full.query_values(), (Values{{"x", {"1"}}}));
  const struct {
    const char *text, *host, *hostname, *port, *path;
  } rows[] = {
      {"https://[::1]:80/", "[::1]:80", "::1", "80", "/"},
      {"https://[::1]", "[::1]", "::1", "", ""},
      {"https://[fe80::1%25eth0]:8/", "[fe80::1%eth0]:8", "fe80::1%eth0", "8", "/"},
      {"https://%e4%bd%a0/", "你", "你", "", "/"},
      {"https://%e4%bd/", "\ufffd\ufffd", "\ufffd\ufffd", "", "/"},
      {"http://a:", "a:", "a", "", ""},
      {"/path", "", "", "", "/path"},
      {"//host/p", "host", "host", "", "/p"},
      {"///p", "", "", "", "///p"},
      {"mailto:a@b", "", "", "", ""},
      {"foo:/bar", "", "", "", "/bar"},
      {"*", "", "", "", "*"},
      {"http://a?x=1", "a", "a", "", ""},
      {"/a#b", "", "", "", "/a"},
  };
  for (const auto& row : rows) {
    const UrlText parts = url(row.text);
    EXPECT_EQ(parts.host, row.host) << row.text;
    EXPECT_EQ(parts.hostname(), row.hostname) << row.text;
    EXPECT_EQ(parts.port(), row.port) << row.text;
    EXPECT_EQ(parts.escaped_path, row.path) << row.text;
  }
}

// A path that needs one more escape loses those it does not need; another stays as it was written.
TEST(CelUrl, EscapedPaths) {
  for (const auto& [path, escaped] : std::initializer_list<std::pair<const char*, const char*>>{
           {"/path with spaces/", "/path%20with%20spaces/"},
           {"/%2f%2F%41 b", "///A%20b"},
           {"/%41", "/%41"},
           {"/a+b c", "/a+b%20c"},
           {"/a[b]c!$&'()*+,;=:@", "/a[b]c!$&'()*+,;=:@"},
           {"/ä", "/%C3%A4"},
           {"/%e4", "/%e4"},
           {"/a\"b<c>", "/a%22b%3Cc%3E"},
           {"/a^b`{|}~", "/a%5Eb%60%7B%7C%7D~"},
           {"//b", "//b"}})
    EXPECT_EQ(url(std::string("http://a") + path).escaped_path, escaped);
}

TEST(CelUrl, ReadsQueries) {
  EXPECT_EQ(query("k1=a&k2=b&k2=c"), (Values{{"k1", {"a"}}, {"k2", {"b", "c"}}}));
  EXPECT_EQ(query("key with spaces=a b"), (Values{{"key with spaces", {"a b"}}}));
  EXPECT_EQ(query("a+b=c+d%20e"), (Values{{"a b", {"c d e"}}}));
  EXPECT_EQ(query(""), Values{});
  EXPECT_EQ(query("a"), (Values{{"a", {""}}}));
  EXPECT_EQ(query("=x&&"), (Values{{"", {"x"}}}));
  EXPECT_EQ(query("a=b=c"), (Values{{"a", {"b=c"}}}));
  EXPECT_EQ(query("a=%zz&b=1&c;d=2"), (Values{{"b", {"1"}}}));
  EXPECT_EQ(query("%41=%e4x"), (Values{{"A", {"\ufffdx"}}}));
  EXPECT_EQ(query(std::string(9'999, '&') + "a=1").size(), 1u);
  EXPECT_EQ(query(std::string(10'000, '&') + "a=1").size(), 0u);
  EXPECT_EQ(url("foo:bar?x=1").query_values(), (Values{{"x", {"1"}}}));
}

TEST(CelUrl, ComparesUrls) {
  EXPECT_EQ(url("HTTP://a/x"), url("http://a/x"));
  EXPECT_NE(url("http://A/x"), url("http://a/x"));
  EXPECT_NE(url("http://a/x#f"), url("http://a/x"));
  EXPECT_NE(url("http://a/x?"), url("http://a/x"));
  EXPECT_NE(url("http:/x"), url("http:///x"));
  EXPECT_NE(url("http://@a/x"), url("http://a/x"));
}

}  // namespace
}  // namespace sliced::cel
