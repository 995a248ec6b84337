#pragma once
// Compiled selectors. Each text is compiled once, in a decision, and passed on to later decisions. A policy
// that does not select the node costs its decoding only.
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

/// steps: work steps of compiling, or half the bytes of the program, whichever is more.
struct CompiledSelector {
  std::shared_ptr<const cel::Program> program;  // nullptr: the selector cannot be used
  std::string problem;                          // the reason, if so
  uint64_t steps = 0;                           // as counted for the budget, including memory
};
using SelectorPrograms = std::map<std::string, CompiledSelector>;  // by text
using SelectorProgramsPtr = std::shared_ptr<const SelectorPrograms>;

/// Compiles one selector outside of a decision. steps_max: limit of compiling; the program may have twice as
/// many bytes. A larger program is an error.
CompiledSelector compile_once(const std::string& cel, const std::string& driver,
                              uint64_t steps_max = WorkBudgets{}.compiling.each);

/// Compiles for one decision.
class SelectorCompiler {
 public:
  /// driver: the domain of our attributes. before: of the previous decision; nullptr if none.
  SelectorCompiler(std::string driver, SelectorProgramsPtr before, Budget budget, std::stop_token stop);
  /// Compiles the texts within the budget; each of the others gets a problem. Each call has a whole budget
  /// for texts that no earlier call compiled.
  void compile(const std::set<std::string>& texts);
  /// Requires: the text was passed to compile().
  const CompiledSelector& of(const std::string& text) const { return compiled_.at(text); }
  /// Returns the programs for the next decision. Texts beyond the budget are missing, so that it tries them
  /// again.
  SelectorProgramsPtr programs() const;

 private:
  const std::string driver_;
  const SelectorProgramsPtr before_;
  const Budget budget_;
  const std::stop_token stop_;
  SelectorPrograms compiled_;
  std::set<std::string> left_;  // beyond the budget
};

/// For `validate`: compiles the selector and adds a problem on failure. Returns no program if the policy has
/// no selector.
CompiledSelector check_selector(ExposurePolicy& policy, const std::string& driver);

}  // namespace sliced::policy
