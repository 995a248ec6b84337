#pragma once
// Memory and work of one evaluation. Memory is allocated by moving a pointer, and freed all together; work is
// counted in steps. A *step* is work of at most 100 ns in a build without sanitizers: an evaluated node, a
// comparison of two values, a copied or read block of bytes, an allocation, a few instructions of a compiled
// pattern. The number of steps depends only on the expression and its values, never on a clock, so it is the
// same on every node and in every replay. (cel-go's cost is counted separately, evaluation.h, because it is
// not proportional to time here.)
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sliced::cel {

/// Bytes per step: for block copies and comparisons, and for bytes that are read one by one.
inline constexpr size_t kBlockBytes = 64, kReadBytes = 16;
/// Limit of nested values. Deeper ones end the evaluation, because the stack may not suffice.
inline constexpr int kDepthMax = 250;

/// Not thread-safe, and cheap to reuse: reset() keeps the first block. Callers check allocations for nullptr.
/// They check the result of step() in loops that can be long, and otherwise is_worn_out() at the end.
class Arena {
 public:
  /// bytes_max: for everything between two resets. first_block: initial allocation.
  explicit Arena(size_t bytes_max, size_t first_block = 4096)
      : bytes_max_(bytes_max), first_block_(first_block) {}
  ~Arena() { reset(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Aligned for any type. Returns nullptr at the limit, and is_exhausted() stays true.
  void* allocate(size_t bytes);
  template <class T>
  T* array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    // NOLINTBEGIN(bugprone-sizeof-expression): T may be a pointer
    if (count > bytes_max_ / sizeof(T)) return exhaust<T>();
    return static_cast<T*>(allocate(count * sizeof(T)));
    // NOLINTEND(bugprone-sizeof-expression)
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
  /// Returns a copy; "" at the limit.
  std::string_view copy(std::string_view text);

  /// Counts bytes that are allocated elsewhere for this evaluation; returns false at the limit.
  bool charge(size_t bytes);
  bool is_exhausted() const { return is_exhausted_; }
  /// Returns the remaining bytes, to check before an allocation elsewhere.
  size_t room() const { return is_exhausted_ ? 0 : bytes_max_ - used_; }
  size_t used() const { return used_; }
  /// Returns the allocated bytes, including unused ones.
  size_t allocated_bytes() const;

  /// Counts work. Returns false above the limit; loops must end then, and their results are ignored.
  /// Requires: n is below 2^40.
  bool step(uint64_t n = 1) {
    steps_ += n;
    return steps_ <= steps_max_;
  }
  /// Counts the steps for so many bytes.
  bool step_for(size_t bytes, size_t bytes_a_step) { return step(1 + bytes / bytes_a_step); }
  uint64_t steps() const { return steps_; }
  uint64_t steps_max() const { return steps_max_; }
  bool is_worn_out() const { return steps_ > steps_max_; }
  /// Keeps the count.
  void limit_steps(uint64_t steps_max) { steps_max_ = steps_max; }
  /// For values that are nested deeper than kDepthMax.
  bool exceed_depth() {
    is_too_deep_ = true;
    return false;
  }
  bool is_too_deep() const { return is_too_deep_; }

  /// Invalidates all allocations, and restarts the count of steps. Keeps the first block.
  void reset();

  /// A position for release(), which invalidates later allocations; steps stay counted.
  struct Mark {
    size_t blocks, at, used, owned;
  };
  Mark mark() const { return {blocks_.size(), at_, used_, owned_.size()}; }
  /// Destroys later objects, and frees their memory; is_exhausted() and is_too_deep() stay.
  void release(const Mark& mark);

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
  uint64_t steps_ = 0, steps_max_ = UINT64_MAX >> 1;
  bool is_too_deep_ = false;
  std::vector<Owned> owned_;
};

}  // namespace sliced::cel
