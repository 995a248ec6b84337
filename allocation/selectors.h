#pragma once
// What the expressions of DeviceClasses and claims say of devices, each asked once.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocation/pools.h"
#include "cel/program.h"

namespace sliced::allocation {

/// kError: the expression does not compile, or fails on the device; the scheduler then ends its attempt.
enum class Says : uint8_t { kYes, kNo, kError };

/// Compiles each expression once, and keeps what was answered until forget(). Devices are told apart by their
/// address: forget() before any of them goes.
/// Threads: one. Memory: an answer a device and expression until forget(); programs as cel/program.h says.
class Selectors {
 public:
  Says ask(const std::string& expression, const Candidate& candidate);
  /// Of what gave kError.
  std::string error_of(const std::string& expression, const Candidate& candidate);
  /// Of what gave kNo: the first part of an && chain that says no, with what the device has of what is read there:
  /// `device.attributes["x"].y == "a"`, y is "b".
  std::string no_of(const std::string& expression, const Candidate& candidate);
  void forget() { answers_.clear(); }

 private:
  struct Compiled {
    std::unique_ptr<cel::Program> program;  // nullptr: error says why
    std::string error;
    size_t index = 0;
  };
  Compiled& compile(const std::string& expression);

  std::map<std::string, Compiled, std::less<>> programs_;
  std::map<std::pair<size_t, const kube::Device*>, Says> answers_;
  cel::Evaluator evaluator_;
};

/// The parts of a chain of && outside of any parentheses; the whole where there is none.
std::vector<std::string> conjuncts(std::string_view expression);

}  // namespace sliced::allocation
