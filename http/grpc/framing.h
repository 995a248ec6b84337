#pragma once
// Messages in an HTTP body: each has a prefix of five octets, a flag and its length
// (grpc/doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message").
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/grpc/status.h"

namespace sliced::grpc {

constexpr size_t kPrefixBytes = 5;
constexpr size_t kMessageMax = 1u << 20;  // of a request; the kubelet sends about 100 bytes per claim

/// Returns a message with its prefix, uncompressed.
std::string frame(std::string_view message);

/// Splits a body into its messages. Memory for a message grows with received bytes, not with the announced
/// length.
class Deframer {
 public:
  /// encoding: the value of grpc-encoding ("" if missing); named in the refusal of a compressed message.
  explicit Deframer(std::string encoding, size_t message_max = kMessageMax)
      : encoding_(std::move(encoding)), max_(message_max) {}

  /// on_message: its argument is valid during the call; it must not call feed(). Returns an error if the body
  /// is unusable: kResourceExhausted (a message is too large), kUnimplemented (compressed), kInternal
  /// (invalid framing). Later bytes are ignored.
  Status feed(std::string_view bytes, const std::function<void(std::string_view)>& on_message);
  /// Returns an error if the body ends within a message. Repeats an error of feed().
  Status end() const;

 private:
  Status read_prefix();
  const std::string encoding_;
  const size_t max_;
  std::string pending_;                  // part of a prefix, or of a message after its prefix
  std::optional<size_t> message_bytes_;  // length of the current message
  Status broken_;
};

}  // namespace sliced::grpc
