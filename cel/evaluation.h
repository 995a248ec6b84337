#pragma once
// One evaluation for library functions: its memory, cost and failures. Two quantities are counted. The *cost*
// is upstream's, exactly: an expression that Kubernetes refuses because of it is refused here. *Work steps*
// are sliced's (arena.h): each is at most 100 ns, so they limit the time of an expression, which the cost
// does not.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/ast.h"
#include "cel/value.h"
#include "reactor/base/result.h"

namespace sliced::cel {

/// Limit of nested evaluation. The parser permits about 1,250 levels. The value of cel.bind() is evaluated at
/// its first use, and may use another one, so more levels are possible. Beyond it an evaluation ends, because
/// the stack may not suffice.
inline constexpr int kNestedMax = 1'500;

/// In upstream's units: resource/v1 CELSelectorExpressionMaxCost.
inline constexpr uint64_t kCostMax = 1'000'000;
/// Limit of one evaluation: all values that it creates.
inline constexpr size_t kMemoryMax = size_t{1} << 20;
/// Limit of one evaluation: at most 0.1 s. Typical selectors use tens or hundreds.
inline constexpr uint64_t kStepsMax = 1'000'000;
/// Limit of compiling an expression, with its patterns and constants: at most 50 ms.
inline constexpr uint64_t kCompileStepsMax = 500'000;

/// A variable of a comprehension or of cel.bind().
struct Local {
  Value value;
  const Node* later = nullptr;  // its unevaluated expression, until the first use
  uint64_t owed = 0;            // charged at the first use
};

/// Reused for consecutive evaluations: begin() invalidates the last one with all its values. Library
/// functions get it with their arguments, and return failures from fail(). Threads: one at a time; each
/// thread has its own.
class Evaluation {
 public:
  explicit Evaluation(size_t memory_max = kMemoryMax, size_t first_block = 4096)
      : arena(memory_max, first_block) {}

  Arena arena;

  /// Adds to the cost; above the limit the evaluation ends, and a function's result is ignored. The evaluator
  /// charges calls (price.h): functions only count their steps.
  void charge(uint64_t cost) { cost_ += cost; }
  /// So far.
  uint64_t cost() const { return cost_; }
  /// Restores an earlier cost, as cel-go does for an expression that is part of another.
  void recharge(uint64_t cost) { cost_ = cost; }
  /// Adds work steps. Returns false above the limit; the evaluation then ends.
  bool step(uint64_t n = 1) { return arena.step(n); }
  /// Counts the steps for so many bytes.
  bool step_for(size_t bytes, size_t bytes_a_step = kReadBytes) {
    return arena.step_for(bytes, bytes_a_step);
  }
  uint64_t steps() const { return arena.steps(); }
  /// Starts a new evaluation: invalidates the values of the last one.
  void begin(uint64_t cost_max, uint64_t steps_max = kStepsMax) {
    arena.reset();
    arena.limit_steps(steps_max);
    cost_ = 0;
    cost_max_ = cost_max;
  }
  /// Continues with the existing values, at a cost of 0: for constants, which stay.
  void begin_more() { cost_ = 0; }
  /// Returns whether one of the four limits is exceeded: cost, steps, memory, depth. The evaluation then ends
  /// with an error that nothing absorbs, and results of functions are ignored.
  bool is_beyond() const {
    return cost_ > cost_max_ || arena.is_worn_out() || arena.is_exhausted() || arena.is_too_deep();
  }
  /// Returns the failure of is_beyond().
  Failure limit() const;

  /// about is copied.
  Value fail(Failure failure, std::string_view about = {}, int32_t offset = -1);
  Value no_overload(std::string_view function = {}) { return fail(Failure::kNoSuchOverload, function); }
  /// kInvalidArgument; counts the steps of building the text.
  Value invalid(std::string_view why);

  // Results of functions, copied into the arena; an error if it has no room.
  Value text(std::string_view text, Kind kind = Kind::kString);
  /// Copies the items; data that they point to is not copied.
  Value list(const std::vector<Value>& items);
  Value list(const Value* items, size_t size);  // the array is already in the arena
  Value some(const Value& value);
  Value none() { return Value::some_or_none(nullptr); }
  /// A library's own value, kept until the next evaluation.
  template <class T>
  Value opaque(Kind kind, T object) {
    const T* stored = arena.make<T>(std::move(object));
    return stored == nullptr ? fail(Failure::kNoMemory) : Value::opaque_of(kind, stored);
  }
  /// Returns the value of a Result, or its error as an error of the evaluation.
  template <class T>
  Value answer(const Result<T>& result) {
    if (!result)
      return result.error().code == Errc::kTooLarge ? fail(Failure::kNoMemory) : invalid(result.error().what);
    if constexpr (std::is_convertible_v<T, std::string_view>)
      return text(*result);
    else
      return Value::of(*result);
  }

  /// The current call during Overload::run: functions read their pattern and their offset from it.
  const Node* call = nullptr;
  std::vector<Local> locals;  // variables of comprehensions, by slot

 private:
  uint64_t cost_ = 0, cost_max_ = kCostMax;
};

}  // namespace sliced::cel
