#pragma once
// Private to the files messages.cpp: protobuf-c with a memory limit. The library allocates memory for the
// content of a message, which can be much larger in memory than on the wire.
#include <protobuf-c/protobuf-c.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kubelet/proto/known_fields.h"
#include "reactor/base/result.h"

namespace sliced::proto {

/// The allocator of one message; allocations beyond the limit fail. Must not be moved.
class BoundedAllocator {
 public:
  /// bytes_max: for all allocations together. Freed memory does not count as available, because a message
  /// only grows until it is freed as a whole.
  explicit BoundedAllocator(size_t bytes_max) : left_(bytes_max) {}
  BoundedAllocator(const BoundedAllocator&) = delete;
  /// For protobuf-c. Points into this object, which must outlive the message.
  ProtobufCAllocator* raw() { return &raw_; }

 private:
  // On nullptr the library abandons the message, and frees its memory.
  static void* take(void* self, size_t size) {
    auto& left = static_cast<BoundedAllocator*>(self)->left_;
    if (size > left) return nullptr;
    left -= size;
    return std::malloc(size);
  }
  // remaining bytes
  size_t left_;
  ProtobufCAllocator raw_{&take, [](void*, void* memory) { std::free(memory); }, this};
};

/// A decoded message. Ownership: of the message and its allocator. Texts and bytes read from it are valid as
/// long as this object.
template <class Message>
class Unpacked {
 public:
  /// Requires: message is not nullptr, and was allocated by that allocator.
  Unpacked(std::unique_ptr<BoundedAllocator> allocator, Message* message)
      : allocator_(std::move(allocator)), message_(message) {}
  Unpacked(Unpacked&& other) noexcept
      : allocator_(std::move(other.allocator_)), message_(std::exchange(other.message_, nullptr)) {}
  ~Unpacked() {
    if (message_) protobuf_c_message_free_unpacked(&message_->base, allocator_->raw());
  }
  const Message& operator*() const { return *message_; }
  const Message* operator->() const { return message_; }

 private:
  // On the heap, so that raw() stays valid when this object is moved.
  std::unique_ptr<BoundedAllocator> allocator_;
  Message* message_;
};

/// bytes_max: memory limit of the message. The caller checks that strings are valid text. Unknown fields are
/// skipped and do not count, because a peer's additions must not prevent decoding. Errors: kInvalid (not such
/// a message, or above the limit).
template <class Message>
Result<Unpacked<Message>> unpack(const ProtobufCMessageDescriptor& descriptor, std::string_view bytes,
                                 size_t bytes_max) {
  const Result<std::string> known = known_fields(descriptor, bytes);
  if (!known) return known.error();
  auto allocator = std::make_unique<BoundedAllocator>(bytes_max);
  auto* message = reinterpret_cast<Message*>(protobuf_c_message_unpack(
      &descriptor, allocator->raw(), known->size(), reinterpret_cast<const uint8_t*>(known->data())));
  if (message == nullptr)
    return Error{Errc::kInvalid, std::string(descriptor.name) + ": not decodable within " +
                                     std::to_string(bytes_max) + " bytes of memory"};
  return Unpacked<Message>(std::move(allocator), message);
}

/// Returns the encoded message. Cannot fail. Reads borrowed fields (below) during the call only.
template <class Message>
std::string packed(const Message& message) {
  std::string bytes(protobuf_c_message_get_packed_size(&message.base), '\0');
  protobuf_c_message_pack(&message.base, reinterpret_cast<uint8_t*>(bytes.data()));
  return bytes;
}

/// Returns a copy of a message's string; "" if it is missing. The text is not validated: callers check for
/// UTF-8 before they show or pass it on.
inline std::string text(const char* value) { return value == nullptr ? "" : value; }
/// For a field of a message that is encoded before the text is destroyed; protobuf-c does not write to it.
inline char* borrowed(const std::string& value) { return const_cast<char*>(value.c_str()); }
/// The same for bytes: `value` outlives the encoding.
inline ProtobufCBinaryData borrowed_bytes(std::string_view value) {
  return {value.size(), reinterpret_cast<uint8_t*>(const_cast<char*>(value.data()))};
}
/// Returns a view into the message, valid as long as the message.
inline std::string_view bytes_of(const ProtobufCBinaryData& value) {
  return {reinterpret_cast<const char*>(value.data), value.len};
}

}  // namespace sliced::proto
