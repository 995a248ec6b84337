#include "kubelet/proto/known_fields.h"

#include <cstdint>
#include <optional>

namespace sliced::proto {
namespace {

// More than any message needs: none contains itself.
constexpr int kDepthMax = 32;

enum WireType : uint64_t { kVarint = 0, kEightBytes = 1, kLengthDelimited = 2, kFourBytes = 5 };

std::optional<uint64_t> take_varint(std::string_view& rest) {
  uint64_t value = 0;
  for (size_t i = 0; i < rest.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(rest[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    rest.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> take_bytes(std::string_view& rest, uint64_t count) {
  if (count > rest.size()) return std::nullopt;
  const std::string_view field = rest.substr(0, count);
  rest.remove_prefix(count);
  return field;
}

// Returns the bytes after a field's tag; for a length-delimited field the bytes that the length counts.
std::optional<std::string_view> take_value(std::string_view& rest, uint64_t wire_type) {
  const std::string_view before = rest;
  switch (wire_type) {
    case kVarint:
      if (!take_varint(rest)) return std::nullopt;
      return before.substr(0, before.size() - rest.size());
    case kEightBytes:
      return take_bytes(rest, 8);
    case kFourBytes:
      return take_bytes(rest, 4);
    case kLengthDelimited: {
      const auto length = take_varint(rest);
      return length ? take_bytes(rest, *length) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

void append_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

bool append_known(const ProtobufCMessageDescriptor& descriptor, std::string_view rest, int depth,
                  std::string& to) {
  if (depth > kDepthMax) return false;
  while (!rest.empty()) {
    const std::string_view field_begins = rest;
    const auto tag = take_varint(rest);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > (1u << 29) - 1) return false;
    const auto value = take_value(rest, *tag & 7);
    if (!value) return false;
    const ProtobufCFieldDescriptor* field =
        protobuf_c_message_descriptor_get_field(&descriptor, static_cast<unsigned>(*tag >> 3));
    if (field == nullptr) continue;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || (*tag & 7) != kLengthDelimited) {
      to += field_begins.substr(0, field_begins.size() - rest.size());
      continue;
    }
    std::string inner;
    if (!append_known(*static_cast<const ProtobufCMessageDescriptor*>(field->descriptor), *value, depth + 1,
                      inner))
      return false;
    append_varint(to, *tag);
    append_varint(to, inner.size());
    to += inner;
  }
  return true;
}

}  // namespace

Result<std::string> known_fields(const ProtobufCMessageDescriptor& descriptor, std::string_view bytes) {
  std::string known;
  if (!append_known(descriptor, bytes, 0, known))
    return Error{Errc::kInvalid, std::string(descriptor.name) + ": not decodable"};
  return known;
}

}  // namespace sliced::proto
