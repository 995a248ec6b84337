#pragma once
// What the expressions of DeviceClasses and claims say of devices, each asked once.
// The environment is that of Kubernetes' device selectors (cel/environment.h): `device`, as its driver has
// published it.
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

namespace sliced::allocation {

/// kError: the expression does not compile, or fails on the device; the scheduler then ends its attempt.
enum class Says : uint8_t { kYes, kNo, kError };

/// What all of an answer may take, in steps of 100 ns at most (cel/arena.h): claims and classes are written by anybody who
/// may, and a minute is waited for.
inline constexpr uint64_t kEffortMax = 600'000'000;

/// Compiles each expression once, and keeps what was answered until forget(). Devices are told apart by their
/// address: forget() before any of them goes.
/// Bounds:  once effort_max is spent kNo is all that is said, and nothing that follows from it is known.
/// Threads: one. Memory: an answer a device and expression until forget(); programs as cel/program.h says.
class Selectors {
 public:
  explicit Selectors(uint64_t effort_max = kEffortMax) : effort_max_(effort_max), effort_left_(effort_max) {}
  /// Of what else is done for the answer.
  void take(uint64_t steps) { effort_left_ -= std::min(steps, effort_left_); }
  bool is_spent() const { return effort_left_ == 0; }
  /// The other half is for what has to be known of every node.
  bool is_half_spent() const { return effort_left_ <= effort_max_ / 2; }
  Says ask(const std::string& expression, const Candidate& candidate);
  /// Of what gave kError.
  /// This and no_of() may evaluate again, and that is taken from the effort, too.
  std::string error_of(const std::string& expression, const Candidate& candidate);
  /// Of what gave kNo: the first part of an && chain that says no, with what the device has of what is read there:
  /// `device.attributes["x"].y == "a"`, y is "b".
  std::string no_of(const std::string& expression, const Candidate& candidate);
  /// The attributes and capacities that it reads; none of one that does not compile.
  const std::vector<cel::Path>& paths_of(const std::string& expression);
  /// Programs stay compiled, and what was spent stays spent.
  void forget() { answers_.clear(); }

 private:
  struct Compiled {
    std::unique_ptr<cel::Program> program;  // nullptr: error says why
    std::string error;
    size_t index = 0;
  };
  Compiled& compile(const std::string& expression);
  cel::Answer::Is select(const Compiled& compiled, const Candidate& candidate);

  std::map<std::string, Compiled, std::less<>> programs_;
  std::map<std::pair<size_t, const kube::Device*>, Says> answers_;
  cel::Evaluator evaluator_;
  const uint64_t effort_max_;
  uint64_t effort_left_;
};

/// The parts of a chain of && outside of any parentheses; the whole where there is none.
/// The whole also where it has a || or a ?: at that level, which bind weaker. Nothing is parsed: a part need
/// not compile.
std::vector<std::string> conjuncts(std::string_view expression);

}  // namespace sliced::allocation
