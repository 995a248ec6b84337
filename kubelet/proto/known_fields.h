#pragma once
// Private to proto/: what of a message is read at all.
#include <protobuf-c/protobuf-c.h>

#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::proto {

/// The message without the fields that the descriptor does not name, at every depth, as it goes over the wire
/// (protobuf.dev, "Encoding"). protobuf-c keeps such fields, at some 50 bytes of memory for each of 2 bytes on the wire.
/// Errors: kInvalid (no protobuf; groups are not taken). That a field has the type that is wanted is judged by who decodes it.
Result<std::string> known_fields(const ProtobufCMessageDescriptor& descriptor, std::string_view bytes);

}  // namespace sliced::proto
