#include "http/grpc/status.h"

#include <gtest/gtest.h>

namespace sliced::grpc {
namespace {

TEST(GrpcStatus, MessagesArePrintableAscii) {
  const struct {
    const char* text;
    const char* encoded;
  } rows[] = {
      {"", ""},
      {"plain ~text", "plain ~text"},
      {"100%", "100%25"},
      {"line\nend\r\x7f", "line%0Aend%0D%7F"},
      {"grün", "gr%C3%BCn"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(percent_encoded(row.text), row.encoded);
    EXPECT_EQ(percent_decoded(row.encoded), row.text);
  }
}

TEST(GrpcStatus, KeepsInvalidEscapes) {
  for (const char* text : {"%", "%4", "%zz", "a%", "%%%"}) EXPECT_EQ(percent_decoded(text), text);
  EXPECT_EQ(percent_decoded("%2Ftmp%2fx-reg.sock"), "/tmp/x-reg.sock");
}

TEST(GrpcStatus, TrailersOfEachEnd) {
  EXPECT_EQ(encode_status({}), (http::Headers{{"grpc-status", "0"}}));
  EXPECT_EQ(encode_status({Code::kInternal, "a\nb"}),
            (http::Headers{{"grpc-status", "13"}, {"grpc-message", "a%0Ab"}}));
  const http::Headers large = encode_status({Code::kUnknown, std::string(1 << 20, '\n')});
  EXPECT_LE(large[1].value.size(), 3 * kStatusMessageMax);
}

TEST(GrpcStatus, ErrorsHaveTheCodesThatCallersExpect) {
  const struct {
    Errc from;
    Code to;
  } rows[] = {
      {Errc::kIo, Code::kInternal},
      {Errc::kTimeout, Code::kDeadlineExceeded},
      {Errc::kCanceled, Code::kCancelled},
      {Errc::kNotFound, Code::kNotFound},
      {Errc::kGone, Code::kNotFound},
      {Errc::kConflict, Code::kFailedPrecondition},
      {Errc::kDenied, Code::kPermissionDenied},
      {Errc::kInvalid, Code::kInvalidArgument},
      {Errc::kTooLarge, Code::kResourceExhausted},
      {Errc::kBusy, Code::kUnavailable},
  };
  for (const auto& row : rows) EXPECT_EQ(status_of({row.from, "why"}), (Status{row.to, "why"}));
}

}  // namespace
}  // namespace sliced::grpc
