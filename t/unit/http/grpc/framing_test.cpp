#include "http/grpc/framing.h"

#include <gtest/gtest.h>

#include <vector>

namespace sliced::grpc {
namespace {

using namespace std::string_literals;

// What comes out of a body that is fed in pieces of that size.
struct Cut {
  std::vector<std::string> messages;
  Status status, end;
};
Cut cut_body(const std::string& body, size_t piece, const std::string& encoding = "", size_t max = 100) {
  Deframer deframer(encoding, max);
  Cut out;
  for (size_t at = 0; at < body.size(); at += piece)
    out.status = deframer.feed(std::string_view(body).substr(at, piece),
                               [&](std::string_view message) { out.messages.emplace_back(message); });
  out.end = deframer.end();
  return out;
}

TEST(GrpcFraming, DecodesMessagesHoweverTheyAreCut) {
  const std::vector<std::string> sent = {"", "a", std::string(100, 'x'), "", "\0\1\2"s};
  std::string body;
  for (const std::string& message : sent) body += frame(message);
  for (size_t piece = 1; piece <= body.size(); ++piece) {
    const Cut cut = cut_body(body, piece);
    EXPECT_EQ(cut.messages, sent) << piece;
    EXPECT_TRUE(cut.status.is_ok() && cut.end.is_ok()) << piece;
  }
}

TEST(GrpcFraming, RefusesWithTheProtocolsCode) {
  const struct {
    const char* what;
    std::string body, encoding;
    Code code;
  } rows[] = {
      {"more than there may be", "\0\0\0\0\x65"s, "", Code::kResourceExhausted},
      {"4 GiB are not waited for", "\0\xff\xff\xff\xff"s, "", Code::kResourceExhausted},
      {"a flag that is none", "\2\0\0\0\1a"s, "", Code::kInternal},
      {"compressed without a compression", "\1\0\0\0\1a"s, "", Code::kInternal},
      {"compressed by identity", "\1\0\0\0\1a"s, "identity", Code::kInternal},
      {"gzip", "\1\0\0\0\1a"s, "gzip", Code::kUnimplemented},
  };
  for (const auto& row : rows)
    for (size_t piece = 1; piece <= row.body.size(); ++piece) {
      const Cut cut = cut_body(row.body + "\0\0\0\0\1b"s, piece, row.encoding);
      EXPECT_EQ(cut.status.code, row.code) << row.what;
      EXPECT_EQ(cut.end.code, row.code) << row.what;
      EXPECT_TRUE(cut.messages.empty()) << row.what << ": nothing behind it is looked at";
    }
  EXPECT_EQ(cut_body(frame("plain"), 3, "gzip").messages, std::vector<std::string>{"plain"})
      << "each message says whether it is compressed";
}

TEST(GrpcFraming, ReportsATruncatedMessage) {
  const std::string whole = frame("message");
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_EQ(cut_body(whole.substr(0, size), 100).end.code, Code::kInternal) << size;
  EXPECT_TRUE(cut_body("", 1).end.is_ok());
}

}  // namespace
}  // namespace sliced::grpc
