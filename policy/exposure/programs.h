#pragma once
// Selectors as programs. They are compiled where decisions are made, once per text, and handed on from one
// decision to the next: a policy that does not select the node costs nothing but its decoding.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "cel/program.h"
#include "policy/budget.h"
#include "policy/exposure/policy.h"

namespace sliced::policy {

/// steps: work steps of compiling, or half the bytes that it holds, whichever is more.
struct CompiledSelector {
  std::shared_ptr<const cel::Program> program;  // nullptr: it cannot be used
  std::string problem;                          // then why
  uint64_t steps = 0;                           // as counted for the budget, with what it holds of memory
};
using SelectorPrograms = std::map<std::string, CompiledSelector>;  // by text
using SelectorProgramsPtr = std::shared_ptr<const SelectorPrograms>;

/// One selector, without a decision around it. steps_max: what compiling may take, and twice as many bytes
/// what comes of it.
/// A selector whose program is too large has none, like one that cannot be compiled.
CompiledSelector compile_once(const std::string& cel, const std::string& driver,
                              uint64_t steps_max = WorkBudgets{}.compiling.each);

/// Compiles for one decision.
class SelectorCompiler {
 public:
  /// driver: the domain of our attributes. before: of the decision before; nullptr nothing.
  SelectorCompiler(std::string driver, SelectorProgramsPtr before, Budget budget, std::stop_token stop);
  /// Texts beyond the budget are not compiled, and their problem says so. Each call has a whole budget, for what
  /// no call before it has compiled.
  void compile(const std::set<std::string>& texts);
  /// Of a text that was given to compile().
  const CompiledSelector& of(const std::string& text) const { return compiled_.at(text); }
  /// What the next decision need not compile again.
  /// Those of this decision; texts beyond the budget are not among them, so that the next one tries again.
  SelectorProgramsPtr programs() const;

 private:
  const std::string driver_;
  const SelectorProgramsPtr before_;
  const Budget budget_;
  const std::stop_token stop_;
  SelectorPrograms compiled_;
  std::set<std::string> left_;  // beyond the budget
};

/// What `validate` does of a policy beside decoding it: adds a problem when the selector cannot be compiled.
/// Without a program where there is one, or no selector that could be.
CompiledSelector check_selector(ExposurePolicy& policy, const std::string& driver);

}  // namespace sliced::policy
