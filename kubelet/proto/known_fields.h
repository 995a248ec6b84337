#pragma once
// Private to proto/: removes unknown fields from a message.
#include <protobuf-c/protobuf-c.h>

#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::proto {

/// Returns the encoded message without the fields that the descriptor lacks, at every depth (protobuf.dev,
/// "Encoding"). protobuf-c stores unknown fields, with about 50 bytes of memory for 2 bytes on the wire.
/// Errors: kInvalid (not protobuf, or groups). Types of fields are checked by the decoder.
Result<std::string> known_fields(const ProtobufCMessageDescriptor& descriptor, std::string_view bytes);

}  // namespace sliced::proto
