#include "cel/arena.h"

#include <algorithm>
#include <cstring>

namespace sliced::cel {
bool Arena::charge(size_t bytes) {
  if (is_exhausted_ || bytes > bytes_max_ - used_) {
    is_exhausted_ = true;
    return false;
  }
  used_ += bytes;
  return true;
}

void* Arena::allocate(size_t bytes) {
  constexpr size_t kAlign = alignof(std::max_align_t);
  if (bytes > bytes_max_) return exhaust<void>();
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  if (!charge(bytes)) return nullptr;
  step_for(bytes, kBlockBytes);
  if (blocks_.empty() || blocks_.back().size - at_ < bytes) {
    // Programs live long, so at most a ninth of a large one is unused.
    const size_t size = std::max({bytes, first_block_, used_ / 8});
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    at_ = 0;
  }
  void* out = blocks_.back().bytes.get() + at_;
  at_ += bytes;
  return out;
}

size_t Arena::allocated_bytes() const {
  size_t bytes = blocks_.capacity() * sizeof(Block) + owned_.capacity() * sizeof(Owned);
  for (const Block& block : blocks_) bytes += block.size;
  return bytes;
}

std::string_view Arena::copy(std::string_view text) {
  auto* at = static_cast<char*>(allocate(text.size()));
  if (at == nullptr) return {};
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return {at, text.size()};
}

void Arena::reset() {
  release({std::min<size_t>(blocks_.size(), 1), 0, 0, 0});
  steps_ = 0;
}

void Arena::release(const Mark& mark) {
  for (; owned_.size() > mark.owned; owned_.pop_back()) owned_.back().destroy(owned_.back().object);
  blocks_.resize(mark.blocks);
  at_ = mark.at;
  used_ = mark.used;
  is_exhausted_ = is_too_deep_ = false;
}

}  // namespace sliced::cel
