#include "policy/exposure/answers.h"

#include <algorithm>

#include "policy/exposure/attributes.h"
#include "policy/exposure/selector.h"

namespace sliced::policy {
namespace {

constexpr uint64_t kMantissaMax = 1023;

int32_t index_in(const std::vector<std::string>& sorted, const std::string& text) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), text);
  return at == sorted.end() || *at != text ? -1 : static_cast<int32_t>(at - sorted.begin());
}

class Surveying {
 public:
  Surveying(const hotplug::Inventory& inventory, const std::vector<Question>& questions,
            const std::string& driver, const SelectorMemory* before, const std::vector<std::string>& kept,
            const std::stop_token& stop)
      : questions_(questions), before_(before), stop_(stop), view_(driver), inventory_(inventory) {
    for (const Question& question : questions) memory_.selectors.push_back(question.cel);
    memory_.selectors.insert(memory_.selectors.end(), kept.begin(), kept.end());
    std::sort(memory_.selectors.begin(), memory_.selectors.end());
    memory_.selectors.erase(std::unique(memory_.selectors.begin(), memory_.selectors.end()),
                            memory_.selectors.end());
    for (const Question& question : questions)
      columns_.push_back(static_cast<size_t>(index_in(memory_.selectors, question.cel)));
    if (memory_.selectors.empty()) return;
    memory_.devices.reserve(inventory.devices.size());
    devices_.reserve(inventory.devices.size());
    for (const auto& [id, device] : inventory.devices) {
      memory_.devices.push_back(id);
      devices_.push_back(&device);
    }
    memory_.answers.resize(devices_.size() * memory_.selectors.size());
    next_.resize(questions.size(), 0);
    keep_what_stands();
  }

  Survey run(Budget budget) {
    const std::vector<Spent> spent = deal_out(questions_.size(), budget,
                                              [this](const std::vector<size_t>& left, uint64_t cap,
                                                     std::vector<Spent>& all) { ask(left, cap, all); });
    Survey out;
    for (size_t i = 0; i < questions_.size(); ++i) {
      out.is_answered.push_back(spent[i].is_done);
      if (!spent[i].is_done) forget(i);
    }
    out.memory = std::move(memory_);
    return out;
  }

 private:
  KeptAnswer& answer(size_t device, size_t column) {
    return memory_.answers[device * memory_.selectors.size() + column];
  }

  // Of devices whose interface is away. What is not asked this time stands too.
  void keep_what_stands() {
    if (before_ == nullptr) return;
    std::vector<int32_t> former;
    for (const std::string& selector : memory_.selectors) former.push_back(before_->index_of(selector));
    for (size_t d = 0; d < devices_.size(); ++d) {
      if (!is_away(*devices_[d])) continue;
      const auto standing = before_->of(memory_.devices[d]);
      for (size_t c = 0; c < former.size() && !standing.empty(); ++c)
        if (former[c] >= 0) answer(d, c) = standing[static_cast<size_t>(former[c])];
    }
  }

  // Device by device, since what was read of one serves all questions.
  void ask(const std::vector<size_t>& left, uint64_t cap, std::vector<Spent>& spent) {
    size_t first = devices_.size();
    for (const size_t q : left) first = std::min(first, next_[q]);
    for (size_t d = first; d < devices_.size(); ++d) {
      view_.look_at(facts_of(*devices_[d], inventory_));
      for (const size_t q : left) {
        if (next_[q] != d) continue;  // its share is spent, or it has been asked
        if (stop_.stop_requested()) return;
        ask(q, d, cap, spent[q]);
      }
    }
    for (const size_t q : left) spent[q].is_done = next_[q] == devices_.size();
  }

  void ask(size_t q, size_t d, uint64_t cap, Spent& spent) {
    const Question& question = questions_[q];
    const bool is_passed_over =
        devices_[d]->type == hotplug::DeviceType::kVirtual && !question.is_about_virtual;
    if (!is_passed_over) {
      KeptAnswer& kept = answer(d, columns_[q]);
      const KeptAnswer now = kept.is_known() ? kept : evaluate(*question.program, cap - spent.steps);
      if (spent.steps + now.steps() > cap) return;
      kept = now;
      spent.steps += now.steps();
    }
    ++next_[q];
  }

  // Beyond steps_max it is broken off, and begun again when there is more for it.
  KeptAnswer evaluate(const cel::Program& program, uint64_t steps_max) {
    const auto is = evaluator_.select(program, view_);
    (void)steps_max;
    return {is, evaluator_.cost()};
  }

  // Half an answer is none. What stands of what is away is not its fault.
  void forget(size_t q) {
    for (size_t d = 0; d < devices_.size(); ++d)
      if (!is_away(*devices_[d])) answer(d, columns_[q]) = {};
  }

  const std::vector<Question>& questions_;
  const SelectorMemory* before_;
  const std::stop_token& stop_;
  HostDeviceView view_;
  cel::Evaluator evaluator_;
  const hotplug::Inventory& inventory_;
  std::vector<const hotplug::HostDevice*> devices_;
  std::vector<size_t> columns_;  // by question
  std::vector<size_t> next_;     // by question: the device that it is asked about next
  SelectorMemory memory_;
};

}  // namespace

KeptAnswer::KeptAnswer(cel::Answer::Is is, uint64_t steps) {
  unsigned exponent = 0;
  for (; steps > kMantissaMax && exponent < 15; ++exponent) steps = steps / 2 + steps % 2;
  steps = std::min(steps, kMantissaMax);
  bits_ = static_cast<uint16_t>(steps << 6 | exponent << 2 | (static_cast<unsigned>(is) + 1));
}

std::span<const KeptAnswer> SelectorMemory::of(const std::string& device) const {
  const int32_t at = index_in(devices, device);
  if (at < 0) return {};
  return std::span(answers).subspan(static_cast<size_t>(at) * selectors.size(), selectors.size());
}

KeptAnswer SelectorMemory::of(const std::string& device, const std::string& selector) const {
  const auto row = of(device);
  const int32_t column = index_of(selector);
  return row.empty() || column < 0 ? KeptAnswer() : row[static_cast<size_t>(column)];
}

int32_t SelectorMemory::index_of(const std::string& selector) const { return index_in(selectors, selector); }

bool is_away(const hotplug::HostDevice& device) {
  return device.pci && device.netdev && device.netdev->stale;
}

Survey survey(const hotplug::Inventory& inventory, const std::vector<Question>& questions,
              const std::string& driver, const SelectorMemory* before, const std::vector<std::string>& kept,
              Budget budget, const std::stop_token& stop) {
  return Surveying(inventory, questions, driver, before, kept, stop).run(budget);
}

}  // namespace sliced::policy
