#include "http/grpc/framing.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::grpc {

std::string frame(std::string_view message) {
  std::string out(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(message.size() >> shift);
  return out.append(message);
}

Status Deframer::feed(std::string_view bytes, const std::function<void(std::string_view)>& on_message) {
  while (broken_.is_ok() && (!bytes.empty() || message_bytes_ == 0u)) {
    const size_t missing = message_bytes_.value_or(kPrefixBytes) - pending_.size();
    const size_t consumed = std::min(missing, bytes.size());
    pending_ += bytes.substr(0, consumed);
    bytes.remove_prefix(consumed);
    if (consumed < missing) break;
    if (!message_bytes_) {
      broken_ = read_prefix();
      continue;
    }
    message_bytes_.reset();
    const std::string message = std::exchange(pending_, {});
    on_message(message);
  }
  return broken_;
}

Status Deframer::read_prefix() {
  size_t size = 0;
  for (size_t i = 1; i < kPrefixBytes; ++i) size = size << 8 | static_cast<uint8_t>(pending_[i]);
  const auto flag = static_cast<uint8_t>(pending_[0]);
  pending_.clear();
  if (flag > 1) return {Code::kInternal, "a message with the flag " + std::to_string(flag) + ", not 0 or 1"};
  if (flag == 1 && (encoding_.empty() || encoding_ == "identity"))
    return {Code::kInternal, "a compressed message, and grpc-encoding names no compression"};
  if (flag == 1)
    return {Code::kUnimplemented,
            "grpc-encoding " + in_quotes(encoding_, 64) + " is not understood: send identity"};
  if (size > max_)
    return {Code::kResourceExhausted, "a message of " + std::to_string(size) + " bytes; at most " +
                                          std::to_string(max_) + " are taken"};
  message_bytes_ = size;
  return {};
}

Status Deframer::end() const {
  if (!broken_.is_ok() || (pending_.empty() && !message_bytes_)) return broken_;
  return {Code::kInternal, "the request ends in the middle of a message"};
}

}  // namespace sliced::grpc
