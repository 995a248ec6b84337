#include "policy/exposure/resolve.h"

#include <algorithm>
#include <utility>

#include "cel/ast.h"
#include "policy/exposure/attributes.h"
#include "policy/exposure/exclude_record.h"
#include "policy/footprint.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;

bool may_exclude(const ExposurePolicy& policy) { return policy.action != ExposureAction::kExpose; }

// Returns true if the expression may read an attribute of that sort. An expression that uses the device or a
// map of attributes as a whole may read any.
using Sort = bool (*)(const KnownAttribute& attribute);
bool check_capability(Sort is_one, const cel::Program& program, const cel::Node& node) {
  const bool is_path = (node.op == cel::Op::kAttribute || node.op == cel::Op::kHas) && node.slot >= 0;
  if (is_path) {
    const cel::Path& path = program.paths()[static_cast<size_t>(node.slot)];
    return path.known >= 0 && is_one(known_attributes()[static_cast<size_t>(path.known)]);
  }
  if (node.op == cel::Op::kVariable && node.slot < 0) return true;
  const auto args = node.args();
  return std::any_of(args.begin(), args.end(),
                     [&](const cel::Node* arg) { return check_capability(is_one, program, *arg); });
}

// Facts for the exclude record: facts of an interface, which may be in another namespace.
bool is_of_interface(const KnownAttribute& attribute) { return attribute.is_unknown != nullptr; }
// The facts that a VF gets from its PF remain when its own interface leaves. The mode of a PF comes from its
// own interface.
bool is_of_own_interface(const KnownAttribute& attribute) {
  return is_of_interface(attribute) && attribute.id != "pfName" && attribute.id != "eswitchMode";
}
bool is_mac(const KnownAttribute& attribute) { return attribute.id == "mac"; }

// Selects the policies of this node and the version of each that is in effect, as questions.
class SelectorEvaluation {
 public:
  SelectorEvaluation(const std::vector<Shared<ExposurePolicy>>& exposures, const kube::NodeView& node,
                     const std::string& driver, SelectorResultsPtr before, const WorkBudgets& budgets,
                     const std::stop_token& stop, const Published& published)
      : exposures_(exposures),
        published_(published),
        driver_(driver),
        before_(std::move(before)),
        budgets_(budgets),
        stop_(stop),
        compiler_(driver, before_ == nullptr ? nullptr : before_->programs, budgets.compiling, stop),
        asked_(exposures.size(), nullptr) {
    for (const ExposurePolicy& policy : exposures) {
      const auto* last = policy.last_understood.get();
      places_.push_back({kube::match_node(policy.node_selector, node).matched,
                         last != nullptr && kube::match_node(last->node_selector, node).matched});
    }
  }

  SelectorResultsPtr run(const hotplug::InventoryPtr& inventory) {
    compile();
    if (stop_.stop_requested()) return nullptr;
    for (size_t i = 0; i < exposures_.size(); ++i) place(i);
    make_questions();
    ask(inventory);
    out_.programs = compiler_.programs();
    for (const ExposurePolicy* one : asked_) out_.asked.push_back(one == nullptr ? "" : one->selector.cel);
    return std::make_shared<const SelectorResults>(std::move(out_));
  }

 private:
  struct Places {
    bool now, last;  // whether the present and the last valid version select the node
  };

  bool is_selected(size_t i) const {
    return exposures_[i]->problems.empty() && (places_[i].now || places_[i].last);
  }

  // An invalid exclude stays in effect with its last valid selector.
  void compile() {
    std::set<std::string> own, last;
    for (size_t i = 0; i < exposures_.size(); ++i)
      if (is_selected(i)) own.insert(exposures_[i]->selector.cel);
    compiler_.compile(own);
    if (stop_.stop_requested()) return;
    for (size_t i = 0; i < exposures_.size(); ++i)
      if (uses_last_understood(i) && !is_usable(i)) last.insert(exposures_[i]->last_understood->selector.cel);
    compiler_.compile(last);
  }

  // Also if it did not select this node, so that no decision compiled it: it may never have been valid.
  bool uses_last_understood(size_t i) const {
    const ExposurePolicy& policy = exposures_[i];
    return (places_[i].now || places_[i].last) && may_exclude(policy) && policy.last_understood != nullptr;
  }

  bool is_usable(size_t i) const {
    return is_selected(i) && compiler_.of(exposures_[i]->selector.cel).program != nullptr;
  }

  void place(size_t i) {
    const ExposurePolicy& policy = exposures_[i];
    const auto index = static_cast<int32_t>(i);
    const auto use = [&](const ExposurePolicy& one) {
      asked_[i] = &one;
      (may_exclude(one) ? out_.node.excludes : out_.node.exposes).push_back(index);
    };
    if (is_selected(i)) {
      if (is_usable(i)) {
        if (places_[i].now) use(policy);
        return;
      }
      note_problem(index, compiler_.of(policy.selector.cel).problem);
    }
    if (!may_exclude(policy) || (!places_[i].now && !places_[i].last)) return;
    const bool has_meaning =
        uses_last_understood(i) && compiler_.of(policy.last_understood->selector.cel).program != nullptr;
    if (!has_meaning)
      out_.node.unreadable.push_back(index);
    else if (places_[i].last)
      use(*policy.last_understood);
  }

  void note_problem(int32_t policy, std::string what) {
    const ExposurePolicy& about = exposures_[static_cast<size_t>(policy)];
    out_.problems[policy] = {"spec.selector.cel", std::move(what), about.selector.line};
  }

  // Excludes come first, because one that is not evaluated withholds all new entries.
  void make_questions() {
    for (const auto* list : {&out_.node.excludes, &out_.node.exposes})
      for (const int32_t policy : *list) {
        const ExposurePolicy& one = *asked_[static_cast<size_t>(policy)];
        const bool is_about_virtual = may_exclude(one) || one.include_virtual;
        const auto [at, fresh] = question_of_.try_emplace(one.selector.cel, questions_.size());
        if (fresh) {
          const cel::Program* program = compiler_.of(one.selector.cel).program.get();
          const bool is_of_own = check_capability(is_of_own_interface, *program, program->root());
          questions_.push_back({one.selector.cel, program, is_about_virtual, false, is_of_own});
        }
        questions_[at->second].is_about_virtual |= is_about_virtual;
        questions_[at->second].is_exclude |= list == &out_.node.excludes;
      }
  }

  // An exclude that was not evaluated for all devices is not recorded.
  std::string record_of(const std::vector<bool>& is_answered) const {
    std::vector<std::string> recorded;
    for (size_t i = 0; i < questions_.size(); ++i) {
      const Question& question = questions_[i];
      if (question.is_exclude && is_answered[i] &&
          check_capability(is_of_interface, *question.program, question.program->root()))
        recorded.push_back(question.cel);
    }
    return exclude_record(recorded);
  }

  void ask(const hotplug::InventoryPtr& inventory) {
    const size_t asked_max = budgets_.answers / std::max<size_t>(inventory->devices.size(), 1);
    const size_t asked = std::min(questions_.size(), asked_max);
    questions_.resize(asked);
    std::vector<std::string> kept;
    if (before_ != nullptr)
      for (const ExposurePolicy& policy : exposures_)
        if (kept.size() < asked_max && before_->memory.index_of(policy.selector.cel) >= 0)
          kept.push_back(policy.selector.cel);
    const std::string now = record_of(std::vector<bool>(questions_.size(), true));
    Survey found = survey(*inventory, questions_, driver_, before_ == nullptr ? nullptr : &before_->memory,
                          kept, budgets_.selectors, stop_, published_, now);
    out_.memory = std::move(found.memory);
    out_.memory.inventory = inventory;
    out_.exclude_record = record_of(found.is_answered);
    const auto is_remaining = [&](int32_t policy) {
      const size_t question = question_of_.at(asked_[static_cast<size_t>(policy)]->selector.cel);
      return question >= asked || !found.is_answered[question];
    };
    for (const auto* list : {&out_.node.excludes, &out_.node.exposes})
      for (const int32_t policy : *list)
        if (is_remaining(policy)) note_problem(policy, too_much());
    for (const int32_t exclude : out_.node.excludes)
      if (is_remaining(exclude)) out_.node.unreadable.push_back(exclude);
    std::erase_if(out_.node.excludes, is_remaining);
    std::erase_if(out_.node.exposes, is_remaining);
    std::sort(out_.node.unreadable.begin(), out_.node.unreadable.end());
    note_mac_requests();
  }

  void note_mac_requests() {
    std::vector<bool> asks;
    for (const Question& question : questions_)
      asks.push_back(check_capability(is_mac, *question.program, question.program->root()));
    for (const auto* list : {&out_.node.excludes, &out_.node.exposes})
      for (const int32_t policy : *list)
        if (asks[question_of_.at(asked_[static_cast<size_t>(policy)]->selector.cel)])
          out_.asking_for_mac.push_back(policy);
    std::sort(out_.asking_for_mac.begin(), out_.asking_for_mac.end());
  }

  // Returns a text that stays the same while the problem lasts, because a change is logged.
  std::string too_much() const {
    return "needs more work than allowed for the devices of this node (limits: " +
           std::to_string(budgets_.selectors.each) + " work steps or cost units for a selector, " +
           std::to_string(budgets_.selectors.all) + " and " + std::to_string(budgets_.answers) +
           " results for all selectors of a node); simplify the selector, or let fewer policies select the "
           "node";
  }

  const std::vector<Shared<ExposurePolicy>>& exposures_;
  const Published& published_;
  const std::string& driver_;
  const SelectorResultsPtr before_;
  const WorkBudgets& budgets_;
  const std::stop_token& stop_;
  std::vector<Places> places_;  // by policy
  SelectorCompiler compiler_;
  std::vector<const ExposurePolicy*> asked_;  // by policy: the version in effect; nullptr if none
  std::vector<Question> questions_;
  std::map<std::string, size_t> question_of_;  // by text
  SelectorResults out_;
};

constexpr size_t kEntryBytes = 1'024;  // of attributes and capacities; an entry counts once more for each

// A policy that resolve() evaluates for each device.
struct Column {
  int32_t policy;
  long at;        // in a row of answers
  size_t suffix;  // its rank among the suffixes
};

std::vector<Column> columns_of(const std::vector<int32_t>& policies, const SelectorResults& answers,
                               const std::vector<Shared<ExposurePolicy>>& exposures) {
  std::map<std::string, size_t> ranks;
  for (const int32_t policy : policies) ranks[exposures[static_cast<size_t>(policy)]->exposure.name_suffix];
  size_t rank = 0;
  for (auto& [suffix, own] : ranks) own = rank++;
  std::vector<Column> out;
  for (const int32_t policy : policies)
    out.push_back({policy, answers.memory.index_of(answers.asked[static_cast<size_t>(policy)]),
                   ranks.at(exposures[static_cast<size_t>(policy)]->exposure.name_suffix)});
  return out;
}

class Resolving {
 public:
  Resolving(const std::vector<Shared<ExposurePolicy>>& exposures, const SelectorResults& answers,
            const hotplug::Inventory& inventory)
      : exposures_(exposures),
        answers_(answers),
        inventory_(inventory),
        excludes_(columns_of(answers.node.excludes, answers, exposures)),
        exposes_(columns_of(answers.node.exposes, answers, exposures)),
        asked_by_(answers.memory.selectors.size()),
        winners_(exposes_.size(), -1),
        waiting_(exposes_.size(), nullptr),
        entries_(exposes_.size(), 0) {
    for (size_t i = 0; i < exposes_.size(); ++i)
      asked_by_[static_cast<size_t>(exposes_[i].at)].push_back(static_cast<int32_t>(i));
  }

  std::vector<Resolution> run(Budget entries, std::map<int32_t, Problem>& problems) {
    std::vector<Resolution> out;
    out.reserve(inventory_.devices.size());
    const StoredResult* row = answers_.memory.answers.data();
    for (const auto& [id, device] : inventory_.devices) {
      Resolution& one = out.emplace_back();
      if (is_excluded(row))
        note_exclude(id, row, one);
      else
        find_winners(device, row, one.personas);
      if (!one.personas.empty() && !answers_.memory.unknown.empty()) note_waits(row, one.personas);
      row += asked_by_.size();
    }
    const std::vector<bool> fits = limit_entries(entries, problems);
    const bool do_all_fit = std::find(fits.begin(), fits.end(), false) == fits.end();
    for (Resolution& one : out) {
      if (!do_all_fit)
        std::erase_if(one.personas,
                      [&](const Winner& winner) { return !fits[static_cast<size_t>(winner.policy)]; });
      for (Winner& winner : one.personas)
        for (int32_t* expose : {&winner.policy, &winner.waits_for})
          if (*expose >= 0) *expose = exposes_[static_cast<size_t>(*expose)].policy;
    }
    return out;
  }

 private:
  // Counted by memory before any entry is created: policies times devices can exceed the memory of daemon,
  // API server and scheduler.
  std::vector<bool> limit_entries(Budget budget, std::map<int32_t, Problem>& problems) {
    for (size_t i = 0; i < exposes_.size(); ++i)
      entries_[i] *=
          1 + footprint(exposures_[static_cast<size_t>(exposes_[i].policy)]->exposure) / kEntryBytes;
    const std::vector<bool> fits = fitting(entries_, budget);
    for (size_t i = 0; i < exposes_.size(); ++i)
      if (!fits[i])
        problems[exposes_[i].policy] = {
            "spec.selector.cel",
            "selects more devices than there is room for, so it is not used: a node offers at most " +
                std::to_string(budget.all) +
                " entries through all policies of this kind, of which one with many attributes or values of "
                "capacities counts for several",
            exposures_[static_cast<size_t>(exposes_[i].policy)]->selector.line};
    return fits;
  }

  bool is_excluded(const StoredResult* row) const {
    return std::any_of(excludes_.begin(), excludes_.end(), [&](const Column& exclude) {
      return row[exclude.at].is() != cel::Answer::Is::kFalse;
    });
  }

  // An exclude that selects the device has precedence over one that may.
  void note_exclude(const std::string& id, const StoredResult* row, Resolution& one) const {
    for (const Column& exclude : excludes_) {
      const auto is = row[exclude.at].is();
      if (is == cel::Answer::Is::kFalse) continue;
      const bool is_error = is == cel::Answer::Is::kError;
      const std::string& asked = answers_.asked[static_cast<size_t>(exclude.policy)];
      const bool is_unknown = is_error && !answers_.memory.unknown_fact(id, asked).empty();
      if (is_unknown && one.is_unknown) continue;
      one.excluded_by = exclude.policy;
      one.is_excluded_by_error = is_error && !is_unknown;
      one.is_unknown = is_unknown;
      if (!is_unknown) return;
    }
  }

  // Finds the first expose of each suffix, by suffix, as indices of exposes_. Few selectors match a device, so the
  // matching ones are collected instead of checking each policy.
  void find_winners(const hotplug::HostDevice& device, const StoredResult* row, std::vector<Winner>& out) {
    hits_.clear();
    const StoredResult* const end = row + asked_by_.size();
    for (const StoredResult* answer = row; answer != end; ++answer) {
      if (!answer->is_true()) continue;
      const auto& exposes = asked_by_[static_cast<size_t>(answer - row)];
      hits_.insert(hits_.end(), exposes.begin(), exposes.end());
    }
    if (hits_.empty()) return;
    for (const int32_t hit : hits_) {
      const Column& expose = exposes_[static_cast<size_t>(hit)];
      if (device.type == DeviceType::kVirtual &&
          !exposures_[static_cast<size_t>(expose.policy)]->include_virtual)
        continue;
      int32_t& winner = winners_[expose.suffix];
      if (winner < 0 || hit < winner) winner = hit;
    }
    for (const int32_t hit : hits_) {
      int32_t& winner = winners_[exposes_[static_cast<size_t>(hit)].suffix];
      if (winner >= 0) out.push_back({std::exchange(winner, -1)});
    }
    std::sort(out.begin(), out.end(),
              [this](const Winner& a, const Winner& b) { return suffix_of(a) < suffix_of(b); });
    for (const Winner& winner : out) ++entries_[static_cast<size_t>(winner.policy)];
  }

  // A policy whose answer is unknown now prevents a later policy from offering the device differently
  // meanwhile.
  void note_waits(const StoredResult* row, std::vector<Winner>& winners) {
    for (Winner& winner : winners) waiting_[suffix_of(winner)] = &winner;
    const auto first = static_cast<size_t>(row - answers_.memory.answers.data());
    for (size_t c = 0; c < asked_by_.size(); ++c) {
      if (!answers_.memory.is_unknown(first + c)) continue;
      for (const int32_t unknown : asked_by_[c]) {
        Winner* winner = waiting_[exposes_[static_cast<size_t>(unknown)].suffix];
        if (winner == nullptr || winner->policy < unknown) continue;
        if (winner->waits_for >= 0 && winner->waits_for < unknown) continue;
        if (!offer_alike(unknown, winner->policy)) winner->waits_for = unknown;
      }
    }
    for (const Winner& winner : winners) waiting_[suffix_of(winner)] = nullptr;
  }

  // Both are indices of exposes_.
  bool offer_alike(int32_t a, int32_t b) const {
    const auto policy_of = [this](int32_t expose) -> const ExposurePolicy& {
      return *exposures_[static_cast<size_t>(exposes_[static_cast<size_t>(expose)].policy)];
    };
    return policy_of(a).exposure == policy_of(b).exposure && policy_of(a).host_use == policy_of(b).host_use;
  }

  size_t suffix_of(const Winner& winner) const { return exposes_[static_cast<size_t>(winner.policy)].suffix; }

  const std::vector<Shared<ExposurePolicy>>& exposures_;
  const SelectorResults& answers_;
  const hotplug::Inventory& inventory_;
  const std::vector<Column> excludes_, exposes_;
  std::vector<std::vector<int32_t>>
      asked_by_;                         // by selector: the exposes that use it, as indices of exposes_
  std::vector<int32_t> hits_, winners_;  // of one device; winners by suffix
  std::vector<Winner*> waiting_;         // by suffix: the winner, while waits are computed
  std::vector<uint64_t> entries_;        // by index of exposes_: number of entries
};

}  // namespace

bool SelectorResults::refuses(const std::string& cel) const {
  const auto at = programs->find(cel);
  return at != programs->end() && at->second.program == nullptr;
}

SelectorResultsPtr evaluate_selectors(const std::vector<Shared<ExposurePolicy>>& exposures,
                                      const kube::NodeView& node, const std::string& driver,
                                      const hotplug::InventoryPtr& inventory,
                                      const SelectorResultsPtr& before, const WorkBudgets& budgets,
                                      const std::stop_token& stop, const Published& published) {
  return SelectorEvaluation(exposures, node, driver, before, budgets, stop, published).run(inventory);
}

std::vector<Resolution> resolve(const std::vector<Shared<ExposurePolicy>>& exposures,
                                const SelectorResults& answers, const hotplug::Inventory& inventory,
                                Budget entries, std::map<int32_t, Problem>& problems) {
  return Resolving(exposures, answers, inventory).run(entries, problems);
}

}  // namespace sliced::policy
