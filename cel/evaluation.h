#pragma once
// One evaluation: its memory, what it has cost, and how it fails. What library functions are given.
//
// Two things are counted. The *cost* is upstream's, to the digit: what Kubernetes refuses for it is refused
// here. *Work steps* are ours (arena.h): each is at most 100 ns of a processor, so that they bound the time
// that an expression takes, which the cost does not.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/ast.h"
#include "cel/value.h"
#include "reactor/base/result.h"

namespace sliced::cel {

/// How deep expressions are evaluated within each other. The parser lets about 1,250 be written; what
/// cel.bind() binds is evaluated where it is first read, and each may read another. Beyond it an evaluation
/// ends: a stack has no more room than that for sure.
inline constexpr int kNestedMax = 1'500;

/// Upstream's scale: resource/v1 CELSelectorExpressionMaxCost.
inline constexpr uint64_t kCostMax = 1'000'000;
/// Of one evaluation: all values that it makes.
inline constexpr size_t kMemoryMax = size_t{1} << 20;
/// Of one evaluation: at most 0.1 s. Selectors that people write take tens or hundreds.
inline constexpr uint64_t kStepsMax = 1'000'000;
/// Of compiling an expression, with its patterns and constants: at most 50 ms.
inline constexpr uint64_t kCompileStepsMax = 500'000;

/// A variable of a comprehension or of cel.bind().
struct Local {
  Value value;
  const Node* later = nullptr;  // what it is bound to, until it is first read
  uint64_t owed = 0;            // charged when it is first read
};

/// Used again for one evaluation after the other: begin() forgets the last one, and with it all values that
/// were made. Functions of the library get it with their arguments; they fail by what fail() gives.
/// Threads: one at a time; whoever evaluates on several threads has one each.
class Evaluation {
 public:
  explicit Evaluation(size_t memory_max = kMemoryMax, size_t first_block = 4096)
      : arena(memory_max, first_block) {}

  Arena arena;

  /// Adds to the cost; above the limit the evaluation ends, whatever a function answers. What calls cost is
  /// charged by who makes them (price.h): functions count their steps and nothing else.
  void charge(uint64_t cost) { cost_ += cost; }
  /// So far.
  uint64_t cost() const { return cost_; }
  /// Goes back to what was charged for before, as cel-go does where an expression is part of another.
  void recharge(uint64_t cost) { cost_ = cost; }
  /// Adds work steps. false once they are above the limit; the evaluation then ends.
  bool step(uint64_t n = 1) { return arena.step(n); }
  /// The steps of work on so many bytes.
  bool step_for(size_t bytes, size_t bytes_a_step = kReadBytes) {
    return arena.step_for(bytes, bytes_a_step);
  }
  uint64_t steps() const { return arena.steps(); }
  /// A new evaluation: values of the last one are invalid from here on.
  void begin(uint64_t cost_max, uint64_t steps_max = kStepsMax) {
    arena.reset();
    arena.limit_steps(steps_max);
    cost_ = 0;
    cost_max_ = cost_max;
  }
  /// Goes on with what is there, at a cost of 0: for constants, which stay.
  void begin_more() { cost_ = 0; }
  /// One of the four limits is passed: cost, steps, memory, depth. The evaluation then ends with an error
  /// that nothing absorbs, whatever the functions under way answer.
  bool is_beyond() const {
    return cost_ > cost_max_ || arena.is_worn_out() || arena.is_exhausted() || arena.is_too_deep();
  }
  /// What is_beyond() fails with.
  Failure limit() const;

  /// about is copied.
  Value fail(Failure failure, std::string_view about = {}, int32_t offset = -1);
  Value no_overload(std::string_view function = {}) { return fail(Failure::kNoSuchOverload, function); }
  /// kInvalidArgument; takes the steps of putting the text together.
  Value invalid(std::string_view why);

  // Answers of functions, copied into the arena; an error where that has no more room.
  Value text(std::string_view text, Kind kind = Kind::kString);
  /// Copies the items, which are what the values say: what they point to stays whose it is.
  Value list(const std::vector<Value>& items);
  Value list(const Value* items, size_t size);  // the array is the arena's already
  Value some(const Value& value);
  Value none() { return Value::some_or_none(nullptr); }
  /// A library's own value, kept until the next evaluation.
  template <class T>
  Value opaque(Kind kind, T object) {
    const T* kept = arena.make<T>(std::move(object));
    return kept == nullptr ? fail(Failure::kNoMemory) : Value::opaque_of(kind, kept);
  }
  /// The value of a Result, or its error as an error of the evaluation.
  template <class T>
  Value answer(const Result<T>& result) {
    if (!result)
      return result.error().code == Errc::kTooLarge ? fail(Failure::kNoMemory) : invalid(result.error().what);
    if constexpr (std::is_convertible_v<T, std::string_view>)
      return text(*result);
    else
      return Value::of(*result);
  }

  /// The call that a function is answering.
  /// Set for the time of Overload::run: functions read their pattern and where they stand from it.
  const Node* call = nullptr;
  std::vector<Local> locals;  // variables of comprehensions, by slot

 private:
  uint64_t cost_ = 0, cost_max_ = kCostMax;
};

}  // namespace sliced::cel
