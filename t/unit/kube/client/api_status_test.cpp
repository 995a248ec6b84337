#include "kube/client/api_status.h"

#include <gtest/gtest.h>

namespace sliced::kube {
namespace {

TEST(DecodeRefusal, ReturnsTheErrorOfEachStatus) {
  const struct {
    http::Head head;
    const char* body;
    Failure want;
  } rows[] = {
      {{403, {}},
       R"({"kind":"Status","reason":"Forbidden","message":"nodes is forbidden: User \"x\" cannot\u0007 list","code":403})",
       {Errc::kDenied,
        403,
        "Forbidden",
        "list nodes: the server said 403 Forbidden: nodes is forbidden: User \"x\" cannot\\x07 list",
        {}}},
      {{429, {{"Retry-After", "5"}}},
       R"({"kind":"Status","reason":"TooManyRequests","message":"slow down","details":{"retryAfterSeconds":9}})",
       {Errc::kBusy, 429, "TooManyRequests", "list nodes: the server said 429 TooManyRequests: slow down",
        Millis{5'000}}},
      {{500, {}},
       R"({"kind":"Status","details":{"retryAfterSeconds":900}})",
       {Errc::kBusy, 500, "", "list nodes: the server said 500", Millis{60'000}}},
      {{422, {}},
       R"({"kind":"Status","reason":"Invalid","message":"bad a","details":{"causes":[{"message":"a","field":"x"},{"message":"too long","field":"spec.b"}]}})",
       {Errc::kInvalid,
        422,
        "Invalid",
        "list nodes: the server said 422 Invalid: bad a; spec.b: too long",
        {},
        {"x", "spec.b"}}},
      {{504, {}},
       R"({"kind":"Status","reason":"Timeout","message":"m","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}})",
       {Errc::kGone,
        504,
        "Timeout",
        "list nodes: the server said 504 Timeout: m; Too large resource version",
        {}}},
      {{410, {}}, "", {Errc::kGone, 410, "", "list nodes: the server said 410", {}}},
      {{502, {}},
       "<html>Bad\x01",
       {Errc::kBusy, 502, "", "list nodes: the server said 502: <html>Bad\\x01", {}}},
      {{302, {{"Location", "/login"}}},
       "",
       {Errc::kIo,
        302,
        "",
        "list nodes: the server said 302 (a redirect to \"/login\", which is not followed: give the address "
        "of the API server itself)",
        {}}},
  };
  for (const auto& row : rows) {
    const Failure got = decode_refusal("list nodes", row.head, row.body);
    EXPECT_EQ(got, row.want) << got.what;
  }
}

TEST(DecodeRefusal, HasTheCodesThatCallersExpect) {
  const std::pair<int, Errc> rows[] = {{400, Errc::kInvalid},  {401, Errc::kDenied},  {403, Errc::kDenied},
                                       {404, Errc::kNotFound}, {405, Errc::kInvalid}, {409, Errc::kConflict},
                                       {410, Errc::kGone},     {413, Errc::kInvalid}, {422, Errc::kInvalid},
                                       {429, Errc::kBusy},     {500, Errc::kBusy},    {503, Errc::kBusy},
                                       {307, Errc::kIo}};
  for (const auto& [status, code] : rows) EXPECT_EQ(errc_of_status(status), code) << status;
}

TEST(DecodeErrorEvent, ReturnsTheErrorOfEachEvent) {
  Failure got = decode_error_event("watch nodes",
                                   R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})");
  EXPECT_EQ(got,
            (Failure{Errc::kGone, 410, "Expired", "watch nodes: the server said 410 Expired: too old", {}}));
  EXPECT_EQ(decode_error_event("w", R"({"kind":"Status","reason":"Gone"})").code, Errc::kGone)
      << "the reason suffices";
  EXPECT_EQ(decode_error_event("w", R"({"kind":"Status","code":500})").code, Errc::kBusy);
  EXPECT_EQ(decode_error_event("w", R"({"kind":"Status","code":200})").code, Errc::kBusy)
      << "never a success";
  EXPECT_EQ(decode_error_event("w", R"({"kind":"Status","code":99999999999})").code, Errc::kBusy);
  EXPECT_EQ(decode_error_event("w", R"({"kind":"Pod"})").code, Errc::kIo);
  EXPECT_EQ(decode_error_event("w", "{x").code, Errc::kIo);
}

TEST(NoAnswer, IsNeverAttributedToTheServer) {
  EXPECT_EQ(no_response("get x", {Errc::kTimeout, "t"}), (Failure{Errc::kTimeout, 0, "", "get x: t", {}}));
  for (const Errc code :
       {Errc::kNotFound, Errc::kGone, Errc::kConflict, Errc::kDenied, Errc::kInvalid, Errc::kCanceled})
    EXPECT_EQ(no_response("get x", {code, "t"}).code, Errc::kIo);
}

}  // namespace
}  // namespace sliced::kube
