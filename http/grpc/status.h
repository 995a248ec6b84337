#pragma once
// How a call of gRPC ended (grpc/doc/statuscodes.md), and how that is written into trailers
// (grpc/doc/PROTOCOL-HTTP2.md, "Responses").
#include <string>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"

namespace sliced::grpc {

/// Those that we say or tell apart; numbers are gRPC's. What a kubelet does after one is the same for all: it
/// asks again.
enum class Code {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

/// message: for people; "" with kOk.
struct Status {
  Code code = Code::kOk;
  std::string message;
  bool is_ok() const { return code == Code::kOk; }
  bool operator==(const Status&) const = default;
};

constexpr size_t kStatusMessageMax = 2048;  // bytes, before they are encoded: clients bound their heads

/// The nearest code, and the same text: what somebody asked for wrongly is kInvalidArgument, what
/// would be right later kUnavailable, a limit of ours kResourceExhausted, and what a disk or a socket did kInternal.
Status status_of(const Error& error);
/// grpc-status and, where there is a message, grpc-message: cut at kStatusMessageMax, percent-encoded.
/// Never empty: also kOk is said, without a message.
http::Headers encode_status(const Status& status);
/// UTF-8 as printable ASCII without '%': every other byte is %HH.
std::string percent_encoded(std::string_view text);
/// The bytes behind it; what is no %HH stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace sliced::grpc
