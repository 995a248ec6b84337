#pragma once
// Memory of one evaluation: handed out by moving a pointer, given back all at once. What an expression may
// make in one evaluation is bounded by it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sliced::cel {

class Arena {
 public:
  /// bytes_max: of all that is made between two resets. first_block: what is taken for a start.
  explicit Arena(size_t bytes_max, size_t first_block = 4096)
      : bytes_max_(bytes_max), first_block_(first_block) {}
  ~Arena() { reset(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Aligned for anything; nullptr when the bound is reached, and is_exhausted() from then on.
  void* allocate(size_t bytes);
  template <class T>
  T* array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > bytes_max_ / sizeof(T)) return exhaust<T>();
    return static_cast<T*>(allocate(count * sizeof(T)));
  }
  /// Destroyed by reset().
  template <class T, class... Args>
  T* make(Args&&... args) {
    void* at = allocate(sizeof(T));
    if (at == nullptr) return nullptr;
    T* made = new (at) T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>)
      owned_.push_back({made, [](void* it) { static_cast<T*>(it)->~T(); }});
    return made;
  }
  /// A copy; "" when the bound is reached.
  std::string_view copy(std::string_view text);

  /// Counts bytes that live elsewhere but belong to this evaluation; false when the bound is reached.
  bool charge(size_t bytes);
  bool is_exhausted() const { return is_exhausted_; }
  /// Everything handed out becomes invalid. The first block is kept for the next time.
  void reset();

 private:
  template <class T>
  T* exhaust() {
    is_exhausted_ = true;
    return nullptr;
  }
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };
  struct Owned {
    void* object;
    void (*destroy)(void*);
  };
  const size_t bytes_max_, first_block_;
  size_t used_ = 0;  // of bytes_max_
  bool is_exhausted_ = false;
  std::vector<Block> blocks_;
  size_t at_ = 0;  // in the last block
  std::vector<Owned> owned_;
};

}  // namespace sliced::cel
