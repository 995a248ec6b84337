#pragma once
// What one evaluation may make and do. Memory is handed out by moving a pointer and given back all at once;
// work is counted in steps.
//
// A *step* is work that takes at most 100 ns of a processor, in a build without sanitizers: a node evaluated,
// two values compared, a block of bytes copied or read, an allocation, a few instructions of a compiled
// pattern. What is taken follows from the expression and its values alone, never from a clock: it is the same
// on every node and in every replay. (cel-go's cost is kept beside it, evaluation.h: prices of another
// machine that calculates otherwise.)
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sliced::cel {

/// What a step pays for: bytes that the processor moves or compares in blocks, and bytes looked at one by
/// one.
inline constexpr size_t kBlockBytes = 64, kReadBytes = 16;
/// Of values within values. What goes deeper ends the evaluation: a stack has no more room than that for
/// sure.
inline constexpr int kDepthMax = 250;

/// Not thread-safe, and cheap to use again: reset() keeps the first block. Whoever makes values in it
/// checks what it gives; who counts steps looks at the answer where a loop can be long, and otherwise at
/// is_worn_out() in the end.
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
  /// A copy; "" when the bound is reached.
  std::string_view copy(std::string_view text);

  /// Counts bytes that live elsewhere but belong to this evaluation; false when the bound is reached.
  bool charge(size_t bytes);
  bool is_exhausted() const { return is_exhausted_; }
  /// Bytes that are left; for what is about to be made elsewhere first.
  size_t room() const { return is_exhausted_ ? 0 : bytes_max_ - used_; }
  size_t used() const { return used_; }
  /// Bytes of memory that it has taken, with what is not handed out yet.
  size_t held() const;

  /// Counts work. false once it is above the limit; loops end then, whatever they answer. A single n is below
  /// 2^40.
  bool step(uint64_t n = 1) {
    steps_ += n;
    return steps_ <= steps_max_;
  }
  /// The steps of work on so many bytes.
  bool step_for(size_t bytes, size_t bytes_a_step) { return step(1 + bytes / bytes_a_step); }
  uint64_t steps() const { return steps_; }
  uint64_t steps_max() const { return steps_max_; }
  bool is_worn_out() const { return steps_ > steps_max_; }
  /// What has been counted stays.
  void limit_steps(uint64_t steps_max) { steps_max_ = steps_max; }
  /// For values that are nested deeper than kDepthMax.
  bool exceed_depth() {
    is_too_deep_ = true;
    return false;
  }
  bool is_too_deep() const { return is_too_deep_; }

  /// Everything handed out becomes invalid, steps begin anew. The first block is kept for the next time.
  void reset();

  /// A moment to which release() goes back: what was handed out since becomes invalid, steps stay counted.
  struct Mark {
    size_t blocks, at, used, owned;
  };
  Mark mark() const { return {blocks_.size(), at_, used_, owned_.size()}; }
  /// What was made since is destroyed, and its memory is there again; what was exhausted or too deep stays
  /// so.
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
