#include "http/message.h"

#include <gtest/gtest.h>

namespace sliced::http {
namespace {

TEST(PrepareRequest, KeepsTheFramingIntact) {
  const Url server = *decode_url("https://kube");
  for (const std::string& value : {std::string("a\r\nX: y"), std::string("a\n"), std::string("a\0b", 3)}) {
    Request request{.method = "GET", .path = "/", .headers = {{"Authorization", value}}};
    EXPECT_FALSE(prepare_request(server, request));
  }
  EXPECT_FALSE(prepare_request(server, {.method = "GET", .path = "/a b"}));
  EXPECT_FALSE(prepare_request(server, {.method = "GET", .path = "/a\r\n"}));
}

TEST(DecodeRetryAfter, AcceptsSecondsAndDates) {
  const struct {
    const char* why;
    Headers headers;
    std::optional<Millis> want;
  } rows[] = {
      {"none", {}, {}},
      {"seconds", {{"retry-after", "7"}}, Millis{7'000}},
      {"zero", {{"Retry-After", "0"}}, Millis{0}},
      {"capped", {{"Retry-After", "3600"}}, Millis{60'000}},
      {"huge", {{"Retry-After", "9223372036854775807"}}, Millis{60'000}},
      {"overflow", {{"Retry-After", "99999999999999999999"}}, {}},
      {"negative", {{"Retry-After", "-1"}}, {}},
      {"nonsense", {{"Retry-After", "soon"}}, {}},
      {"a date after the response's own",
       {{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"Retry-After", "Sun, 06 Nov 1994 08:49:42 GMT"}},
       Millis{5'000}},
      {"a date before it",
       {{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"Retry-After", "Sun, 06 Nov 1994 08:49:30 GMT"}},
       Millis{0}},
      {"a date far ahead",
       {{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}, {"Retry-After", "Sun, 06 Nov 2094 08:49:30 GMT"}},
       Millis{60'000}},
      {"a date and none to measure it", {{"Retry-After", "Sun, 06 Nov 1994 08:49:30 GMT"}}, Millis{60'000}},
  };
  for (const auto& row : rows) EXPECT_EQ(decode_retry_after({429, row.headers}), row.want) << row.why;
}

TEST(DecodeHttpDate, AcceptsTheFormsOfRfc9110) {
  EXPECT_EQ(decode_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(decode_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  EXPECT_EQ(decode_http_date("Thu, 29 Feb 2024 12:00:00 GMT"), 1709208000);
  for (const char* text :
       {"", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 2024 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 -1:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT"})
    EXPECT_EQ(decode_http_date(text), std::nullopt) << text;
}

TEST(DecodeWarnings, ReturnsTheTexts) {
  const Head head{200,
                  {{"Warning", "299 - \"unknown field \\\"spec.x\\\"\""},
                   {"X", "y"},
                   {"warning", "299 kube \"second\" \"date\""},
                   {"Warning", "no quotes"},
                   {"Warning", "299 - \"open"}}};
  EXPECT_EQ(decode_warnings(head),
            (std::vector<std::string>{"unknown field \"spec.x\"", "second", "no quotes", "open"}));
}

TEST(EncodeHttpDate, RoundTrips) {
  EXPECT_EQ(encode_http_date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(encode_http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  for (const int64_t seconds :
       {int64_t{1}, int64_t{951'782'399}, int64_t{951'782'400}, int64_t{4'102'444'799}})
    EXPECT_EQ(decode_http_date(encode_http_date(seconds)), seconds);
}

}  // namespace
}  // namespace sliced::http
