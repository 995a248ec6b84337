#pragma once
// Evaluates the expressions of DeviceClasses and claims for devices, each once. The environment is that of
// Kubernetes' device selectors (cel/environment.h): `device`, as published by its driver.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/program.h"
#include "kubectl/why/pools.h"

namespace sliced::why {

/// kError: the expression does not compile, or fails on the device; the scheduler then ends its attempt.
enum class SelectorResult : uint8_t { kYes, kNo, kError };

/// Work budget of an answer, in steps of at most 100 ns (cel/arena.h). Any user may write claims, and an
/// answer may take a minute.
inline constexpr uint64_t kEffortMax = 600'000'000;

/// Compiles each expression once, and caches results until forget(). Devices are identified by address: call
/// forget() before any of them is destroyed. Bounds: when effort_max is used up, all results are kNo, and
/// conclusions from them are invalid. Threads: one. Memory: a result per device and expression until
/// forget(); programs as in cel/program.h.
class Selectors {
 public:
  explicit Selectors(uint64_t effort_max = kEffortMax) : effort_max_(effort_max), effort_left_(effort_max) {}
  /// Subtracts other work for the answer.
  void take(uint64_t steps) { effort_left_ -= std::min(steps, effort_left_); }
  bool is_spent() const { return effort_left_ == 0; }
  /// The other half is reserved for questions about every node.
  bool is_half_spent() const { return effort_left_ <= effort_max_ / 2; }
  SelectorResult ask(const std::string& expression, const Candidate& candidate);
  /// Returns the error of a kError result. This and mismatch_of() may evaluate again, which counts against the
  /// budget, too.
  std::string error_of(const std::string& expression, const Candidate& candidate);
  /// For a kNo result: returns the first false part of an && chain, with the device's value:
  /// `device.attributes["x"].y == "a"`, y is "b".
  std::string mismatch_of(const std::string& expression, const Candidate& candidate);
  /// Returns the attributes and capacities that it reads; empty if it does not compile.
  const std::vector<cel::Path>& paths_of(const std::string& expression);
  /// Clears results. Programs stay compiled, and the budget stays used.
  void forget() { answers_.clear(); }

 private:
  struct Compiled {
    std::unique_ptr<cel::Program> program;  // nullptr: error has the reason
    std::string error;
    size_t index = 0;
  };
  Compiled& compile(const std::string& expression);
  cel::Answer::Is select(const Compiled& compiled, const Candidate& candidate);

  std::map<std::string, Compiled, std::less<>> programs_;
  std::map<std::pair<size_t, const kube::Device*>, SelectorResult> answers_;
  cel::Evaluator evaluator_;
  const uint64_t effort_max_;
  uint64_t effort_left_;
};

/// Returns X if `device.driver == "X"` is such a part of the expression (conjuncts()); "" otherwise.
std::string compared_driver(std::string_view expression);

/// Returns the parts of a chain of && outside parentheses; the whole text without one, or with || or ?: at
/// that level, which bind weaker. Does not parse: a part may not compile.
std::vector<std::string> conjuncts(std::string_view expression);

}  // namespace sliced::why
