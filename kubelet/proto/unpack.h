#pragma once
// Private to the messages.cpp of rooms: protobuf-c within a bound. The library allocates what a message says
// that it holds: a few bytes on the wire can be many in memory.
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

/// The allocator of one message: what is asked of it beyond the bound is not there. Address-stable.
class Bounded {
 public:
  /// bytes_max: of all that is asked for together. What is given back is not given out again: the bound is of
  /// a message, and a message only grows until it is freed as a whole.
  explicit Bounded(size_t bytes_max) : left_(bytes_max) {}
  Bounded(const Bounded&) = delete;
  /// For protobuf-c; points into this, which must outlive the message and may not be moved.
  ProtobufCAllocator* raw() { return &raw_; }

 private:
  // nullptr makes the library give the message up, and free what it has taken for it.
  static void* take(void* self, size_t size) {
    auto& left = static_cast<Bounded*>(self)->left_;
    if (size > left) return nullptr;
    left -= size;
    return std::malloc(size);
  }
  // Bytes that may still be asked for.
  size_t left_;
  ProtobufCAllocator raw_{&take, [](void*, void* memory) { std::free(memory); }, this};
};

/// A decoded message. Frees it.
/// Ownership: of the message and the allocator that made it. What is read of it (texts, bytes) is good as
/// long as this is.
/// Threads:   a value that is moved and not copied; whoever holds it reads.
template <class Message>
class Unpacked {
 public:
  /// message: not nullptr, and made by that allocator.
  Unpacked(std::unique_ptr<Bounded> allocator, Message* message)
      : allocator_(std::move(allocator)), message_(message) {}
  Unpacked(Unpacked&& other) noexcept
      : allocator_(std::move(other.allocator_)), message_(std::exchange(other.message_, nullptr)) {}
  ~Unpacked() {
    if (message_) protobuf_c_message_free_unpacked(&message_->base, allocator_->raw());
  }
  const Message& operator*() const { return *message_; }
  const Message* operator->() const { return message_; }

 private:
  // On the heap, so that raw() stays where it is when this is moved.
  std::unique_ptr<Bounded> allocator_;
  Message* message_;
};

/// bytes_max: of memory, all that the message holds. A string that is no text is the caller's to find.
/// Errors: kInvalid (no such message, or it does not fit into the bound).
/// Fields that the descriptor does not name are skipped and do not count: what others put into them must not keep the rest
/// from being read.
template <class Message>
Result<Unpacked<Message>> unpack(const ProtobufCMessageDescriptor& descriptor, std::string_view bytes,
                                 size_t bytes_max) {
  const Result<std::string> known = known_fields(descriptor, bytes);
  if (!known) return known.error();
  auto allocator = std::make_unique<Bounded>(bytes_max);
  auto* message = reinterpret_cast<Message*>(protobuf_c_message_unpack(
      &descriptor, allocator->raw(), known->size(), reinterpret_cast<const uint8_t*>(known->data())));
  if (message == nullptr)
    return Error{Errc::kInvalid, std::string(descriptor.name) + ": not decodable within " +
                                     std::to_string(bytes_max) + " bytes of memory"};
  return Unpacked<Message>(std::move(allocator), message);
}

/// The message as it goes over the wire.
/// Cannot fail: what is packed was set by us. Fields that are borrowed (below) are read here and not kept.
template <class Message>
std::string packed(const Message& message) {
  std::string bytes(protobuf_c_message_get_packed_size(&message.base), '\0');
  protobuf_c_message_pack(&message.base, reinterpret_cast<uint8_t*>(bytes.data()));
  return bytes;
}

/// A string of a message. protobuf-c says "" for what is absent.
/// A copy, which outlives the message. Not checked: whoever shows it to people, or hands it on, asks whether
/// it is UTF-8.
inline std::string text(const char* value) { return value == nullptr ? "" : value; }
/// For a field of a message that is packed before the text goes; protobuf-c does not write to it.
inline char* borrowed(const std::string& value) { return const_cast<char*>(value.c_str()); }
/// The same for bytes: `value` outlives the packing.
inline ProtobufCBinaryData borrowed_bytes(std::string_view value) {
  return {value.size(), reinterpret_cast<uint8_t*>(const_cast<char*>(value.data()))};
}
/// A view into the message: good as long as that is.
inline std::string_view bytes_of(const ProtobufCBinaryData& value) {
  return {reinterpret_cast<const char*>(value.data), value.len};
}

}  // namespace sliced::proto
