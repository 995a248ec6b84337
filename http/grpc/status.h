#pragma once
// The status of a gRPC call (grpc/doc/statuscodes.md), and its encoding in trailers
// (grpc/doc/PROTOCOL-HTTP2.md, "Responses").
#include <string>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"

namespace sliced::grpc {

/// The codes that are used here; numbers are gRPC's. The kubelet retries after any of them.
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

constexpr size_t kStatusMessageMax = 2048;  // bytes, before encoding: clients limit their heads

/// Returns the nearest code, and the same text: kInvalidArgument for a wrong request, kUnavailable for a
/// temporary condition, kResourceExhausted for a limit, kInternal for failures of a disk or a socket.
Status status_of(const Error& error);
/// Returns grpc-status and, if there is a message, grpc-message: truncated at kStatusMessageMax,
/// percent-encoded. Never empty: kOk is sent too.
http::Headers encode_status(const Status& status);
/// Returns UTF-8 as printable ASCII without '%': every other byte is %HH.
std::string percent_encoded(std::string_view text);
/// Decodes it; an invalid %HH stays unchanged.
std::string percent_decoded(std::string_view text);

}  // namespace sliced::grpc
