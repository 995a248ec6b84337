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

/// Returns the environment of device selectors: `device`, and a bool result.
const Environment& selector_environment();

/// Position for people: a column counts code points from 1.
struct Place {
  static int column(std::string_view text, int32_t offset);
};

/// Threads: immutable; several Evaluators may use it on several threads. Its views and nodes are valid as
/// long as it is, also after a move. Memory: at most 2 MiB for tree and constants, and 2 MiB for its
/// patterns.
class Program {
 public:
  /// Errors: kInvalid: "column 7: ..."; the same as data in *mistake, if it is given. An expression that
  /// requires more than steps_max to compile is refused, too: at most 100 ns each (arena.h), and a constant
  /// of 1 ms.
  static Result<Program> compile(std::string text, const Environment& environment, Mistake* mistake = nullptr,
                                 uint64_t steps_max = kCompileStepsMax);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const std::string& text() const;
  const Node& root() const;
  const std::vector<Path>& paths() const;
  size_t locals() const;
  /// Returns the root's type, as far as it is known: bool or dyn in a selector.
  const Type& type() const;
  /// Returns the steps of its compilation. (For a refused one: Mistake::steps.)
  uint64_t compile_steps() const;
  /// Returns its memory in bytes, with the maximum for searches of its patterns: independent of the RE2
  /// version.
  size_t memory() const;

 private:
  struct State;
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A result that outlives program and device.
struct Answer {
  /// kUnknown: a fact that the expression reads is not known now. Set by code that knows the device, never by
  /// an Evaluator, for which reading it is an error.
  enum class Is : uint8_t { kTrue, kFalse, kError, kUnknown } is = Is::kError;
  uint64_t cost = 0;   // upstream's
  uint64_t steps = 0;  // sliced's
  std::string error;   // "no such key: x (column 12)"
};

/// Evaluates programs, one after the other, and reuses its memory. Not thread-safe.
class Evaluator {
 public:
  explicit Evaluator(size_t memory_max = kMemoryMax) : in_(memory_max) {}
  /// Valid until the next call. The error of an aborted evaluation is kCost, kSteps, kNoMemory or kDepth.
  Value evaluate(const Program& program, const Activation& activation, uint64_t cost_max = kCostMax,
                 uint64_t steps_max = kStepsMax);
  /// Returns whether the expression selects the device.
  Answer::Is select(const Program& program, const Device& device, uint64_t cost_max = kCostMax,
                    uint64_t steps_max = kStepsMax);
  /// Counts of the last evaluation. Steps may exceed their limit by those of a single call.
  uint64_t cost() const { return in_.cost(); }
  uint64_t steps() const { return in_.steps(); }
  /// Of the last select() with kError.
  std::string error_text(const Program& program) const;

 private:
  Evaluation in_;
  Value last_;
  Activation activation_;
};

}  // namespace sliced::cel
