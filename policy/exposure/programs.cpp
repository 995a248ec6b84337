#include "policy/exposure/programs.h"

#include <algorithm>

#include "cel/parser.h"
#include "policy/exposure/selector.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

constexpr const char* kSelectorField = "spec.selector.cel";
constexpr uint64_t kProgramBytesAStep = 2;

std::string share_text(uint64_t steps) {
  return std::to_string(steps) + " work steps and " + std::to_string(steps * kProgramBytesAStep) + " bytes";
}

}  // namespace

CompiledSelector compile_once(const std::string& cel, const std::string& driver, uint64_t steps_max) {
  CompiledSelector out;
  cel::Mistake mistake;
  auto program = compile_selector(cel, driver, &mistake, std::min(steps_max, cel::kCompileStepsMax));
  out.steps = program ? program->compile_steps() : mistake.steps;
  if (!program) {
    out.problem = std::move(program.error().what);
    return out;
  }
  const size_t bytes = program->memory();
  out.steps = std::max<uint64_t>(out.steps, bytes / kProgramBytesAStep);
  if (out.steps <= steps_max)
    out.program = std::make_shared<const cel::Program>(std::move(*program));
  else
    out.problem = "takes " + std::to_string(bytes) + " bytes of memory when it is compiled, and may take " +
                  std::to_string(steps_max * kProgramBytesAStep) +
                  "; use fewer or smaller regular expressions";
  return out;
}

SelectorCompiler::SelectorCompiler(std::string driver, SelectorProgramsPtr before, Budget budget,
                                   std::stop_token stop)
    : driver_(std::move(driver)), before_(std::move(before)), budget_(budget), stop_(std::move(stop)) {}

void SelectorCompiler::compile(const std::set<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts)
    if (!compiled_.contains(text) || left_.contains(text)) all.push_back(text);
  const auto work_on = [&](const std::vector<size_t>& some, uint64_t cap, std::vector<Usage>& used) {
    for (const size_t one : some) {
      if (stop_.stop_requested()) return;
      const std::string& text = all[one];
      const auto known = before_ == nullptr ? SelectorPrograms::const_iterator() : before_->find(text);
      const bool is_known = before_ != nullptr && known != before_->end();
      CompiledSelector compiled = is_known ? known->second : compile_once(text, driver_, cap);
      if (compiled.steps > cap) continue;
      used[one] = {compiled.steps, true};
      compiled_.insert_or_assign(text, std::move(compiled));
      left_.erase(text);
    }
  };
  const std::vector<Usage> used = deal_out(all.size(), budget_, work_on);
  for (size_t i = 0; i < all.size(); ++i) {
    if (used[i].is_done) continue;
    left_.insert(all[i]);
    compiled_[all[i]] = {
        nullptr,
        "needs more work to compile, or more memory, than allowed (limits: " + share_text(budget_.each) +
            " for a selector, " + share_text(budget_.all) +
            " for all selectors of a node); simplify it, with fewer or smaller regular expressions",
        budget_.each};
  }
}

SelectorProgramsPtr SelectorCompiler::programs() const {
  auto out = std::make_shared<SelectorPrograms>(compiled_);
  for (const std::string& text : left_) out->erase(text);
  return out;
}

CompiledSelector check_selector(ExposurePolicy& policy, const std::string& driver) {
  const auto concerns_selector = [](const Problem& problem) {
    return problem.field.starts_with("spec.selector");
  };
  if (std::any_of(policy.problems.begin(), policy.problems.end(), concerns_selector)) return {};
  if (trim(policy.selector.cel).empty()) return {};
  CompiledSelector compiled = compile_once(policy.selector.cel, driver);
  if (compiled.program == nullptr)
    policy.problems.push_back({kSelectorField, compiled.problem, policy.selector.line});
  return compiled;
}

}  // namespace sliced::policy
