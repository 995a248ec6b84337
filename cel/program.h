#pragma once
// An expression, compiled once and evaluated for many devices.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/activation.h"
#include "cel/ast.h"
#include "cel/device.h"
#include "cel/environment.h"
#include "cel/evaluation.h"
#include "cel/types.h"
#include "reactor/base/result.h"

namespace sliced::cel {

/// The environment of device selectors: `device`, and a bool as result.
const Environment& selector_environment();

/// Shown to people with a column that counts code points from 1.
struct Place {
  static int column(std::string_view text, int32_t offset);
};

/// Threads: immutable; several Evaluators on several threads may evaluate one at a time each. Views and nodes
/// that it gives last as long as it does, also when it is moved.
/// Memory: at most 2 MiB for tree and constants, and 2 MiB for what its patterns take.
class Program {
 public:
  /// kInvalid: "column 7: ..."; the same as data in *mistake, where it is given. So is an expression refused
  /// that takes more than steps_max to compile: at most 100 ns each (arena.h), and a constant of 1 ms.
  static Result<Program> compile(std::string text, const Environment& environment, Mistake* mistake = nullptr,
                                 uint64_t steps_max = kCompileStepsMax);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const std::string& text() const;
  const Node& root() const;
  const std::vector<Path>& paths() const;
  size_t locals() const;
  /// What the root gives, as far as it is known: bool or dyn in a selector.
  const Type& type() const;
  /// What compiling it took. (Of what is refused: Mistake::steps.)
  uint64_t compile_steps() const;
  /// Bytes that it holds, with the most that its patterns take when they search: the same with every RE2.
  size_t memory() const;

 private:
  struct State;
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A value that outlives program and device.
struct Answer {
  /// kUnknown: what the expression reads of the device is not known now. Said by who knows the device, never
  /// by an Evaluator, to which reading it is an error.
  enum class Is : uint8_t { kTrue, kFalse, kError, kUnknown } is = Is::kError;
  uint64_t cost = 0;   // upstream's
  uint64_t steps = 0;  // ours
  std::string error;   // "no such key: x (column 12)"
};

/// Evaluates programs, one after the other; its memory is used again. Not thread-safe.
class Evaluator {
 public:
  explicit Evaluator(size_t memory_max = kMemoryMax) : in_(memory_max) {}
  /// Valid until the next call. The error of an aborted evaluation is kCost, kSteps, kNoMemory or kDepth.
  Value evaluate(const Program& program, const Activation& activation, uint64_t cost_max = kCostMax,
                 uint64_t steps_max = kStepsMax);
  /// Whether the expression selects the device.
  Answer::Is select(const Program& program, const Device& device, uint64_t cost_max = kCostMax,
                    uint64_t steps_max = kStepsMax);
  /// Of the last evaluation. Steps may be above their limit, by what a single call takes.
  uint64_t cost() const { return in_.cost(); }
  uint64_t steps() const { return in_.steps(); }
  /// Of the last select() that gave kError.
  std::string error_text(const Program& program) const;

 private:
  Evaluation in_;
  Value last_;
  Activation activation_;
};

}  // namespace sliced::cel
