#include "http/grpc/status.h"

#include "reactor/base/text.h"

namespace sliced::grpc {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

Code code_of(Errc code) {
  switch (code) {
    case Errc::kIo:
      return Code::kInternal;
    case Errc::kTimeout:
      return Code::kDeadlineExceeded;
    case Errc::kCanceled:
      return Code::kCancelled;
    case Errc::kNotFound:
    case Errc::kGone:
      return Code::kNotFound;
    case Errc::kConflict:
      return Code::kFailedPrecondition;
    case Errc::kDenied:
      return Code::kPermissionDenied;
    case Errc::kInvalid:
      return Code::kInvalidArgument;
    case Errc::kTooLarge:
      return Code::kResourceExhausted;
    case Errc::kBusy:
      return Code::kUnavailable;
  }
  return Code::kUnknown;
}

}  // namespace

Status status_of(const Error& error) { return {code_of(error.code), error.what}; }

http::Headers encode_status(const Status& status) {
  http::Headers trailers = {{"grpc-status", std::to_string(static_cast<int>(status.code))}};
  if (!status.message.empty())
    trailers.push_back({"grpc-message", percent_encoded(cut(status.message, kStatusMessageMax))});
  return trailers;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%')
      out += c;
    else
      out += {'%', kDigits[byte >> 4], kDigits[byte & 0xf]};
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' && i + 2 < text.size() ? parse_hex(text.substr(i + 1, 2)) : std::nullopt;
    out += byte ? static_cast<char>(*byte) : text[i];
    if (byte) i += 2;
  }
  return out;
}

}  // namespace sliced::grpc
