#include "policy/exposure/answers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "policy/exposure/attributes.h"
#include "policy/exposure/exclude_record.h"
#include "policy/exposure/selector.h"
#include "policy/identity.h"
#include "policy/same_facts.h"

namespace sliced::policy {
namespace {

constexpr uint64_t kMantissaMax = 1023;

int32_t index_in(const std::vector<std::string>& sorted, const std::string& text) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), text);
  return at == sorted.end() || *at != text ? -1 : static_cast<int32_t>(at - sorted.begin());
}

// Finds functions in slices. Cheap if queries come in the order of names.
class InSlices {
 public:
  explicit InSlices(const Published& published)
      : published_(published),
        sriov_(published.sriov.begin()),
        exposure_(published.exposure.begin()),
        is_nothing_published_(published.sriov.empty() && published.exposure.empty()) {}

  bool has(const hotplug::HostDevice& device) {
    if (!device.pci || is_nothing_published_) return false;
    const std::string name = function_name(*device.pci);
    const auto& sriov = published_.sriov;
    const auto& exposure = published_.exposure;
    if (name < last_) {
      sriov_ = sriov.begin();
      exposure_ = exposure.begin();
    }
    while (sriov_ != sriov.end() && *sriov_ < name) ++sriov_;
    while (exposure_ != exposure.end() && *exposure_ < name) ++exposure_;
    last_ = name;
    if (sriov_ != sriov.end() && *sriov_ == name) return true;
    for (auto persona = exposure_; persona != exposure.end() && persona->starts_with(name); ++persona)
      if (!published_.links.contains(*persona)) return true;
    return false;
  }

 private:
  const Published& published_;
  std::set<std::string>::const_iterator sriov_, exposure_;
  const bool is_nothing_published_;
  std::string last_;
};

// Returns the function as if the port were its only one.
hotplug::HostDevice with_port(const hotplug::HostDevice& function, std::optional<hotplug::Netdev> port) {
  hotplug::HostDevice out = function;
  out.netdev = std::move(port);
  return out;
}

// The more restrictive answer of an exclude's ports is that of the function.
bool is_graver(cel::Answer::Is a, cel::Answer::Is b) {
  using Is = cel::Answer::Is;
  constexpr Is kOrder[] = {Is::kFalse, Is::kUnknown, Is::kError, Is::kTrue};
  return std::find(kOrder, std::end(kOrder), a) > std::find(kOrder, std::end(kOrder), b);
}

class Surveying {
 public:
  Surveying(const hotplug::Inventory& inventory, const std::vector<Question>& questions,
            const std::string& driver, const SelectorMemory* before, const std::vector<std::string>& kept,
            const std::stop_token& stop, const Published& published, const std::string& record)
      : questions_(questions),
        before_(before),
        stop_(stop),
        published_(published),
        record_(record),
        view_(driver),
        inventory_(inventory),
        same_(inventory, before == nullptr ? nullptr : before->inventory.get()) {
    for (const Question& question : questions) memory_.selectors.push_back(question.cel);
    memory_.selectors.insert(memory_.selectors.end(), kept.begin(), kept.end());
    std::sort(memory_.selectors.begin(), memory_.selectors.end());
    memory_.selectors.erase(std::unique(memory_.selectors.begin(), memory_.selectors.end()),
                            memory_.selectors.end());
    memory_.of_excludes.resize(memory_.selectors.size());
    memory_.is_about_virtual.resize(memory_.selectors.size());
    memory_.steps.resize(memory_.selectors.size(), SelectorMemory::kNotAll);
    is_asked_.resize(memory_.selectors.size());
    is_of_own_interface_.resize(memory_.selectors.size(), true);
    for (const Question& question : questions) {
      columns_.push_back(static_cast<size_t>(index_in(memory_.selectors, question.cel)));
      is_asked_[columns_.back()] = true;
      is_of_own_interface_[columns_.back()] = question.is_of_own_interface;
      memory_.of_excludes[columns_.back()] = question.is_exclude;
      memory_.is_about_virtual[columns_.back()] = question.is_about_virtual;
    }
    if (memory_.selectors.empty()) return;
    memory_.devices.reserve(inventory.devices.size());
    devices_.reserve(inventory.devices.size());
    InSlices in_slices(published);
    for (const auto& [id, device] : inventory.devices) {
      memory_.devices.push_back(id);
      devices_.push_back(&device);
      memory_.is_published.push_back(in_slices.has(device));
    }
    memory_.answers.resize(devices_.size() * memory_.selectors.size());
    next_.resize(questions.size(), 0);
    keep_former_results();
  }

  Survey run(Budget budget) {
    const std::vector<Usage> used = deal_out(questions_.size(), budget,
                                             [this](const std::vector<size_t>& left, uint64_t cap,
                                                    std::vector<Usage>& all) { ask(left, cap, all); });
    Survey out;
    for (size_t i = 0; i < questions_.size(); ++i) {
      out.is_answered.push_back(used[i].is_done);
      if (used[i].is_done)
        memory_.steps[columns_[i]] = used[i].steps;
      else
        forget(i);
    }
    out.memory = std::move(memory_);
    out.worked = worked_;
    return out;
  }

 private:
  StoredResult& answer(size_t device, size_t column) {
    return memory_.answers[device * memory_.selectors.size() + column];
  }

  // Columns that are not evaluated this time are kept, too.
  void keep_former_results() {
    if (before_ == nullptr) return;
    for (size_t c = 0; c < memory_.selectors.size(); ++c) former_.push_back(former_column(c));
    note_runs();
    is_all_copied_ = same_.are_all();
    size_t row = 0;  // of before_, where devices are in the same order
    for (size_t d = 0; d < devices_.size(); ++d) {
      while (row < before_->devices.size() && before_->devices[row] < memory_.devices[d]) ++row;
      const bool existed = row < before_->devices.size() && before_->devices[row] == memory_.devices[d];
      const bool is_same = existed && same_.has(*devices_[d]) && row < before_->is_published.size() &&
                           before_->is_published[row] == memory_.is_published[d];
      is_all_copied_ &= is_same;
      if (is_same) copy_row(d, row);
      if (existed && is_away(*devices_[d])) copy_known(d, row);
    }
  }

  // Notes only columns that are evaluated now; other answers matter only if they cannot be evaluated again.
  void note_runs() {
    for (size_t c = 0; c < former_.size(); ++c) {
      if (former_[c] < 0 || !is_asked_[c]) continue;
      const auto from = static_cast<size_t>(former_[c]);
      if (!runs_.empty() && runs_.back().to + runs_.back().count == c &&
          runs_.back().from + runs_.back().count == from)
        ++runs_.back().count;
      else
        runs_.push_back({from, c, 1});
    }
  }

  // Most rows are copied as a whole.
  void copy_row(size_t d, size_t row) {
    const bool is_virtual = devices_[d]->type == hotplug::DeviceType::kVirtual;
    if (is_virtual || has_unknown(row)) return copy_each(d, row, is_virtual);
    const StoredResult* from = before_->answers.data() + row * before_->selectors.size();
    StoredResult* to = memory_.answers.data() + d * memory_.selectors.size();
    for (const Run& run : runs_) std::copy_n(from + run.from, run.count, to + run.to);
  }

  bool has_unknown(size_t row) const {
    if (before_->unknown.empty()) return false;
    const auto first = before_->unknown.begin() + static_cast<ptrdiff_t>(row * before_->selectors.size());
    return std::any_of(first, first + static_cast<ptrdiff_t>(before_->selectors.size()),
                       [](uint8_t fact) { return fact != 0; });
  }

  void copy_each(size_t d, size_t row, bool is_virtual) {
    if (!before_->unknown.empty()) memory_.unknown.resize(memory_.answers.size());
    for (size_t c = 0; c < former_.size(); ++c) {
      if (former_[c] < 0 || !is_asked_[c] || (is_virtual && !memory_.is_about_virtual[c])) continue;
      const size_t from = row * before_->selectors.size() + static_cast<size_t>(former_[c]);
      const size_t to = d * memory_.selectors.size() + c;
      if (!before_->answers[from].is_known()) continue;
      if (before_->is_unknown(from)) {
        // Slices may contain the answer of an exclude for a published device meanwhile.
        if (memory_.of_excludes[c] && memory_.is_published[d]) {
          is_all_copied_ = false;
          continue;
        }
      }
      if (!before_->unknown.empty()) memory_.unknown[to] = before_->unknown[from];
      memory_.answers[to] = before_->answers[from];
    }
  }

  // For a device whose interface is in another namespace. Selectors of a VF that read only facts of its PF
  // are evaluated again.
  void copy_known(size_t d, size_t row) {
    const bool has_pf_facts = has_pf_with_interface(*devices_[d]);
    for (size_t c = 0; c < former_.size(); ++c) {
      if (has_pf_facts && !is_of_own_interface_[c]) continue;
      const size_t place = row * before_->selectors.size() + static_cast<size_t>(std::max(former_[c], 0));
      if (former_[c] >= 0 && before_->is_of_facts(place)) answer(d, c) = before_->answers[place];
    }
  }

  bool has_pf_with_interface(const hotplug::HostDevice& device) const {
    const hotplug::HostDevice* pf =
        device.type == hotplug::DeviceType::kVf && device.pf ? inventory_.find(device.pf->text()) : nullptr;
    return pf != nullptr && pf->netdev && !pf->netdev->stale;
  }

  // Returns the cost of all answers if none must be evaluated again; otherwise kNotAll.
  uint64_t kept_steps(const Question& question, size_t column) const {
    const int32_t former = is_all_copied_ ? former_[column] : -1;
    if (former < 0 || before_->is_about_virtual[static_cast<size_t>(former)] != question.is_about_virtual)
      return SelectorMemory::kNotAll;
    return before_->steps[static_cast<size_t>(former)];
  }

  // Returns -1 if no earlier answers are valid.
  int32_t former_column(size_t column) {
    const int32_t at = before_->index_of(memory_.selectors[column]);
    if (at < 0) return at;
    const bool was_of_exclude = before_->of_excludes[static_cast<size_t>(at)];
    if (!is_asked_[column]) memory_.of_excludes[column] = was_of_exclude;
    return memory_.of_excludes[column] == was_of_exclude ? at : -1;
  }

  // A question whose answers are all kept is done when their steps are within the cap, without a look at the
  // devices.
  void ask(const std::vector<size_t>& some, uint64_t cap, std::vector<Usage>& used) {
    std::vector<size_t> left;
    for (const size_t q : some)
      if (const uint64_t steps = kept_steps(questions_[q], columns_[q]); steps == SelectorMemory::kNotAll)
        left.push_back(q);
      else if (steps <= cap)
        used[q] = {steps, true};
    if (!left.empty()) evaluate_each(left, cap, used);
  }

  // By device, because the facts that were read of it serve all questions.
  void evaluate_each(const std::vector<size_t>& left, uint64_t cap, std::vector<Usage>& used) {
    size_t first = devices_.size();
    for (const size_t q : left) first = std::min(first, next_[q]);
    for (size_t d = first; d < devices_.size(); ++d) {
      looked_at_ = nullptr;
      for (const size_t q : left) {
        if (next_[q] != d) continue;  // its share is used, or it has been asked
        if (stop_.stop_requested()) return;
        ask(q, d, cap, used[q]);
      }
    }
    for (const size_t q : left) used[q].is_done = next_[q] == devices_.size();
  }

  void ask(size_t q, size_t d, uint64_t cap, Usage& used) {
    const Question& question = questions_[q];
    const bool is_passed_over =
        devices_[d]->type == hotplug::DeviceType::kVirtual && !question.is_about_virtual;
    if (!is_passed_over) {
      StoredResult& kept = answer(d, columns_[q]);
      const StoredResult now = kept.is_known() ? kept : evaluate(q, d, cap - used.steps);
      if (used.steps + now.steps() > cap) return;
      kept = now;
      used.steps += now.steps();
    }
    ++next_[q];
  }

  // Beyond its share the evaluation stops, and is repeated when more budget is available.
  StoredResult evaluate(size_t q, size_t d, uint64_t room) {
    using Is = cel::Answer::Is;
    const Question& question = questions_[q];
    const hotplug::HostDevice& device = *devices_[d];
    set_device(device);
    Selection asked = select(question, HostDeviceView::Unknown::kIsAnError, room);
    if (question.is_exclude && !is_graver(asked.is, Is::kUnknown)) ask_ports(question, device, room, asked);
    if (asked.steps > room) return {Is::kError, asked.steps};
    if (asked.is != Is::kUnknown) return {asked.is, asked.steps};
    const bool is_published = memory_.is_published[d];
    if (question.is_exclude && is_published && was_unintended(question, d)) return {Is::kFalse, asked.steps};
    if (!question.is_exclude && is_published) {
      const Selection absent = select(question, HostDeviceView::Unknown::kIsAbsent, room - asked.steps);
      set_unknown(d, q, *asked.fact, SelectorMemory::kReadAsAbsent);
      return {absent.is, asked.steps + absent.steps};
    }
    set_unknown(d, q, *asked.fact);
    return {Is::kError, asked.steps};
  }

  // The facts that are read of it serve all questions.
  void set_device(const hotplug::HostDevice& device) {
    if (std::exchange(looked_at_, &device) == &device) return;
    DeviceFacts facts{.device = device, .inventory = &inventory_};
    if (device.pf && device.pf != last_pf_) {
      last_pf_ = device.pf;
      last_pf_device_ = inventory_.find(device.pf->text());
    }
    if (device.pf) facts.pf = last_pf_device_;
    if (device.netdev && !device.netdev->master.empty())
      facts.master = inventory_.find(device.netdev->master);
    view_.set_device(facts);
  }

  void set_unknown(size_t d, size_t q, const KnownAttribute& fact, uint8_t mark = 0) {
    memory_.unknown.resize(memory_.answers.size());
    memory_.unknown[d * memory_.selectors.size() + columns_[q]] =
        static_cast<uint8_t>((&fact - known_attributes().data() + 1) | mark);
  }

  struct Selection {
    cel::Answer::Is is;
    uint64_t steps;
    const KnownAttribute* fact;  // the unknown fact that was read; nullptr if none
  };

  // Evaluates for the device of the view. An error because of an unknown fact is not the expression's. Beyond
  // `room` the cost is reported as more than that.
  Selection select(const Question& question, HostDeviceView::Unknown as, uint64_t room) {
    view_.read_unknown(as);
    Selection out{evaluator_.select(*question.program, view_, std::min(cel::kCostMax, room),
                                    std::min(cel::kStepsMax, room)),
                  0, nullptr};
    out.steps = std::max(evaluator_.cost(), evaluator_.steps());
    worked_ += out.steps;
    out.fact = view_.unknown_asked();
    if (out.fact == nullptr) return out;
    if (out.is == cel::Answer::Is::kError || view_.is_doubtful()) out.is = cel::Answer::Is::kUnknown;
    return out;
  }

  // Combines the answers of an exclude for the other ports, which exposes do not see.
  void ask_ports(const Question& question, const hotplug::HostDevice& device, uint64_t room,
                 Selection& worst) {
    if (device.other_netdevs.empty() && !device.misses_ports) return;
    const auto ask = [&](std::optional<hotplug::Netdev> port) {
      if (worst.steps > room) return;
      const hotplug::HostDevice alone = with_port(device, std::move(port));
      view_.set_device(facts_of(alone, inventory_));
      Selection now = select(question, HostDeviceView::Unknown::kIsAnError, room - worst.steps);
      now.steps += worst.steps;
      if (is_graver(now.is, worst.is))
        worst = now;
      else
        worst.steps = now.steps;
    };
    for (const hotplug::Netdev& port : device.other_netdevs) ask(port);
    if (device.misses_ports) ask(std::nullopt);
    view_.set_device(facts_of(device, inventory_));
  }

  bool was_unintended(const Question& question, size_t d) const {
    const std::string& id = memory_.devices[d];
    const int32_t column = before_ == nullptr ? -1 : before_->index_of(question.cel);
    const ptrdiff_t row = column < 0 ? -1 : before_->row_of(id);
    if (row >= 0 && before_->of_excludes[static_cast<size_t>(column)]) {
      const auto place = static_cast<size_t>(row + column);
      const StoredResult former = before_->answers[place];
      if (former.is_known() && !before_->is_unknown(place)) return former.is() == cel::Answer::Is::kFalse;
    }
    const auto records = published_.exclude_records.find(id);
    return records != published_.exclude_records.end() &&
           std::any_of(records->second.begin(), records->second.end(),
                       [&](const std::string& record) { return is_recorded(record, record_, question.cel); });
  }

  // Removes partial answers. Answers about interfaces in other namespaces remain.
  void forget(size_t q) {
    for (size_t d = 0; d < devices_.size(); ++d)
      if (!is_away(*devices_[d])) answer(d, columns_[q]) = {};
  }

  const std::vector<Question>& questions_;
  const SelectorMemory* before_;
  const std::stop_token& stop_;
  const Published& published_;
  const std::string& record_;
  HostDeviceView view_;
  cel::Evaluator evaluator_;
  const hotplug::Inventory& inventory_;
  const SameFacts same_;
  std::vector<const hotplug::HostDevice*> devices_;
  struct Run {  // of adjacent columns
    size_t from, to, count;
  };
  std::vector<Run> runs_;        // valid ones, from their column of before_
  std::vector<int32_t> former_;  // by selector: its column of before_; -1 without valid answers
  bool is_all_copied_ = false;   // all devices and selectors of before_
  const hotplug::HostDevice* looked_at_ = nullptr;
  std::optional<hotplug::PciAddress> last_pf_;
  const hotplug::HostDevice* last_pf_device_ = nullptr;
  std::vector<size_t> columns_;            // by question
  std::vector<bool> is_asked_;             // by selector
  std::vector<bool> is_of_own_interface_;  // by selector, as of its question; true of one that is not asked
  std::vector<size_t> next_;               // by question: the device that it is asked about next
  SelectorMemory memory_;
  uint64_t worked_ = 0;
};

}  // namespace

StoredResult::StoredResult(cel::Answer::Is is, uint64_t steps) {
  unsigned exponent = 0;
  for (; steps > kMantissaMax && exponent < 15; ++exponent) steps = steps / 2 + steps % 2;
  steps = std::min(steps, kMantissaMax);
  bits_ = static_cast<uint16_t>(steps << 6 | exponent << 2 | (static_cast<unsigned>(is) + 1));
}

ptrdiff_t SelectorMemory::row_of(const std::string& device) const {
  const int32_t at = index_in(devices, device);
  return at < 0 ? -1 : at * static_cast<ptrdiff_t>(selectors.size());
}

StoredResult SelectorMemory::of(const std::string& device, const std::string& selector) const {
  const ptrdiff_t row = row_of(device), column = index_of(selector);
  return row < 0 || column < 0 ? StoredResult() : answers[static_cast<size_t>(row + column)];
}

int32_t SelectorMemory::index_of(const std::string& selector) const { return index_in(selectors, selector); }

std::string_view SelectorMemory::unknown_fact(const std::string& device, const std::string& selector) const {
  const ptrdiff_t row = unknown.empty() ? -1 : row_of(device), column = index_of(selector);
  if (row < 0 || column < 0 || !is_unknown(static_cast<size_t>(row + column))) return "";
  return known_attributes()[unknown[static_cast<size_t>(row + column)] - 1u].id;
}

bool is_away(const hotplug::HostDevice& device) {
  return device.pci && device.netdev && device.netdev->stale;
}

Survey survey(const hotplug::Inventory& inventory, const std::vector<Question>& questions,
              const std::string& driver, const SelectorMemory* before, const std::vector<std::string>& kept,
              Budget budget, const std::stop_token& stop, const Published& published,
              const std::string& record) {
  return Surveying(inventory, questions, driver, before, kept, stop, published, record).run(budget);
}

}  // namespace sliced::policy
