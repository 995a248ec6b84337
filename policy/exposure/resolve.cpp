#include "policy/exposure/resolve.h"

#include <algorithm>

namespace sliced::policy {
namespace {

using hotplug::DeviceType;

bool may_exclude(const ExposurePolicy& policy) { return policy.action != ExposureAction::kExpose; }

bool selects(const ExposurePolicy& policy, const kube::NodeView& node) {
  return kube::match_node(policy.node_selector, node).matched;
}

// What goes on of a policy: an exclude that can no longer be understood as it was.
const ExposurePolicy& used(const ExposurePolicy& policy) {
  return policy.problems.empty() || policy.last_understood == nullptr ? policy : *policy.last_understood;
}

}  // namespace

std::span<const uint8_t> SelectorMemory::of(const std::string& device) const {
  const auto at = std::lower_bound(devices.begin(), devices.end(), device);
  if (at == devices.end() || *at != device) return {};
  return std::span(answers).subspan(static_cast<size_t>(at - devices.begin()) * selectors.size(),
                                    selectors.size());
}

ExposureResolver::ExposureResolver(const std::vector<ExposurePolicy>& exposures, const kube::NodeView& node,
                                   std::string driver, SelectorMemoryPtr before)
    : exposures_(exposures),
      view_(std::move(driver)),
      costs_(exposures.size(), 0),
      before_(std::move(before)) {
  note_selectors();
  for (const ExposurePolicy& policy : exposures) programs_.push_back(used(policy).selector.program.get());
  for (size_t i = 0; i < exposures.size(); ++i) {
    const ExposurePolicy& policy = exposures[i];
    const auto index = static_cast<int32_t>(i);
    if (policy.problems.empty()) {
      if (selects(policy, node)) (may_exclude(policy) ? node_.excludes : node_.exposes).push_back(index);
    } else if (may_exclude(policy) && policy.last_understood != nullptr) {
      if (selects(*policy.last_understood, node)) node_.excludes.push_back(index);
    } else if (may_exclude(policy) && selects(policy, node)) {
      node_.unreadable.push_back(index);
    }
  }
}

void ExposureResolver::note_selectors() {
  auto& selectors = memory_.selectors;
  const auto index_in = [](const std::vector<std::string>& sorted, const std::string& text) {
    return std::lower_bound(sorted.begin(), sorted.end(), text) - sorted.begin();
  };
  for (const ExposurePolicy& policy : exposures_) selectors.push_back(used(policy).selector.cel);
  std::sort(selectors.begin(), selectors.end());
  selectors.erase(std::unique(selectors.begin(), selectors.end()), selectors.end());
  for (const ExposurePolicy& policy : exposures_)
    selector_of_.push_back(static_cast<size_t>(index_in(selectors, used(policy).selector.cel)));
  index_before_.assign(selectors.size(), -1);
  if (before_ == nullptr) return;
  for (size_t i = 0; i < selectors.size(); ++i) {
    const auto index = index_in(before_->selectors, selectors[i]);
    if (static_cast<size_t>(index) < before_->selectors.size() &&
        before_->selectors[static_cast<size_t>(index)] == selectors[i])
      index_before_[i] = static_cast<int32_t>(index);
  }
}

uint8_t ExposureResolver::standing(size_t selector) const {
  const int32_t index = index_before_[selector];
  return standing_.empty() || index < 0 ? SelectorMemory::kNothing : standing_[static_cast<size_t>(index)];
}

void ExposureResolver::look_at(const DeviceFacts& facts) {
  view_.look_at(facts);
  const bool is_away = facts.device.netdev && facts.device.netdev->stale;
  standing_ = is_away && before_ != nullptr ? before_->of(facts.device.id.text) : std::span<const uint8_t>();
}

std::optional<cel::Answer::Is> ExposureResolver::remembered(int32_t policy) const {
  const uint8_t answer = standing(selector_of_[static_cast<size_t>(policy)]);
  if (answer == SelectorMemory::kNothing) return std::nullopt;
  return static_cast<cel::Answer::Is>(answer - 1);
}

cel::Answer::Is ExposureResolver::answer_of(int32_t policy) {
  const auto before = standing_.empty() ? std::nullopt : remembered(policy);
  const auto is = before ? *before : evaluate(policy);
  if (told_ != nullptr)
    told_[selector_of_[static_cast<size_t>(policy)]] = static_cast<uint8_t>(1 + static_cast<int>(is));
  return is;
}

cel::Answer::Is ExposureResolver::evaluate(int32_t policy) {
  const cel::Program* program = programs_[static_cast<size_t>(policy)];
  if (program == nullptr) return cel::Answer::Is::kError;
  uint64_t& cost = costs_[static_cast<size_t>(policy)];
  if (cost > kPolicyCostMax) return cel::Answer::Is::kError;
  const auto is = evaluator_.select(*program, view_);
  cost += evaluator_.cost();
  if (cost > kPolicyCostMax) spent_.insert(policy);
  return is;
}

Resolution ExposureResolver::of(const DeviceFacts& facts) {
  Resolution out;
  look_at(facts);
  // Interfaces of functions alone can be away.
  told_ = nullptr;
  if (const size_t selectors = memory_.selectors.size(); facts.device.pci && selectors > 0) {
    memory_.devices.push_back(facts.device.id.text);
    memory_.answers.resize(memory_.answers.size() + selectors, SelectorMemory::kNothing);
    told_ = memory_.answers.data() + memory_.answers.size() - selectors;
    if (!standing_.empty())  // what is not asked this time stands too
      for (size_t i = 0; i < selectors; ++i) told_[i] = standing(i);
  }
  for (const int32_t exclude : node_.excludes) {
    const auto is = answer_of(exclude);
    if (is == cel::Answer::Is::kFalse) continue;
    out.excluded_by = exclude;
    out.is_excluded_by_error = is == cel::Answer::Is::kError;
    return out;
  }
  for (const int32_t expose : node_.exposes) {
    const ExposurePolicy& policy = exposures_[static_cast<size_t>(expose)];
    if (facts.device.type == DeviceType::kVirtual && !policy.include_virtual) continue;
    const auto has_suffix = [&](int32_t other) {
      return exposures_[static_cast<size_t>(other)].exposure.name_suffix == policy.exposure.name_suffix;
    };
    if (std::any_of(out.personas.begin(), out.personas.end(), has_suffix)) continue;
    if (answer_of(expose) == cel::Answer::Is::kTrue) out.personas.push_back(expose);
  }
  std::sort(out.personas.begin(), out.personas.end(), [&](int32_t a, int32_t b) {
    return exposures_[static_cast<size_t>(a)].exposure.name_suffix <
           exposures_[static_cast<size_t>(b)].exposure.name_suffix;
  });
  return out;
}

void ExposureResolver::leave(const std::set<int32_t>& policies) {
  const auto is_left = [&](int32_t policy) { return policies.contains(policy); };
  for (const int32_t exclude : node_.excludes)
    if (is_left(exclude)) node_.unreadable.push_back(exclude);
  std::erase_if(node_.excludes, is_left);
  std::erase_if(node_.exposes, is_left);
  std::sort(node_.unreadable.begin(), node_.unreadable.end());
  std::fill(costs_.begin(), costs_.end(), 0);
  spent_.clear();
  memory_.devices.clear();
  memory_.answers.clear();
}

SelectorAnswer ExposureResolver::ask(int32_t policy, const DeviceFacts& facts) {
  const cel::Program* program = programs_[static_cast<size_t>(policy)];
  if (program == nullptr) return {};
  look_at(facts);
  SelectorAnswer out;
  if (const auto before = remembered(policy)) {
    out.is = *before;
    out.is_remembered = true;
    return out;
  }
  out.is = evaluator_.select(*program, view_);
  out.cost = evaluator_.cost();
  if (out.is == cel::Answer::Is::kError) out.error = evaluator_.error_text(*program);
  return out;
}

}  // namespace sliced::policy
