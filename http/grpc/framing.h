#pragma once
// Messages in a body of HTTP: five octets before each, a flag and its length (grpc/doc/PROTOCOL-HTTP2.md,
// "Length-Prefixed-Message").
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "http/grpc/status.h"

namespace sliced::grpc {

constexpr size_t kPrefixBytes = 5;
constexpr size_t kMessageMax = 1u << 20;  // of a request; the kubelet says some 100 bytes a claim

/// A message as it stands in a body: not compressed.
std::string frame(std::string_view message);

/// Cuts a body into its messages, wherever it is cut itself. Room for a message is made as it comes, not as it
/// is announced.
class Deframer {
 public:
  /// encoding: what grpc-encoding says ("" where it says nothing); a compressed message is refused with it.
  explicit Deframer(std::string encoding, size_t message_max = kMessageMax)
      : encoding_(std::move(encoding)), max_(message_max) {}

  /// on_message: valid during the call; may not feed. Not kOk: this body is not worth reading on
  /// (kResourceExhausted: announces more than there may be; kUnimplemented: compressed; kInternal: breaks the
  /// framing), and nothing more is taken.
  Status feed(std::string_view bytes, const std::function<void(std::string_view)>& on_message);
  /// Behind the last byte: not kOk in the middle of a message.
  /// After an error of feed() this says the same again.
  Status end() const;

 private:
  Status look_at_prefix();
  const std::string encoding_;
  const size_t max_;
  std::string pending_;           // of a prefix, or of a message behind its prefix
  std::optional<size_t> wanted_;  // bytes of the message that comes
  Status broken_;
};

}  // namespace sliced::grpc
