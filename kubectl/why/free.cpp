#include "kubectl/why/free.h"

#include <algorithm>

namespace sliced::why {

Amounts counter_amounts(const kube::CounterConsumption& of) {
  Amounts out;
  for (const auto& [name, amount] : of.counters) out[of.counter_set + "/" + name] += amount.nanos();
  return out;
}

Amounts counter_amounts(const std::vector<kube::CounterConsumption>& of) {
  Amounts out;
  for (const kube::CounterConsumption& one : of)
    for (const auto& [counter, amount] : counter_amounts(one)) out[counter] += amount;
  return out;
}

bool keeps_pods_away(const kube::Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

void CountersLeft::supply(const Amounts& amounts) {
  for (const auto& [counter, amount] : amounts) left_[counter] += amount;
}

void CountersLeft::draw(const Amounts& amounts) {
  for (const auto& [counter, amount] : amounts) left_[counter] -= amount;
}

const std::string* CountersLeft::short_of(const Amounts& asked) const {
  for (const auto& [counter, amount] : asked)
    if (amount > left(counter)) return &counter;
  return nullptr;
}

Amount CountersLeft::left(const std::string& counter) const {
  const auto found = left_.find(counter);
  return found == left_.end() ? 0 : found->second;
}

const kube::CounterConsumption* GroupsInUse::conflict(const Consumptions& device) const {
  for (const kube::CounterConsumption& one : device) {
    const auto found = sets_.find(one.counter_set);
    if (found == sets_.end() || found->second.all == 0) continue;
    const Members& members = found->second;
    const auto is_of_all = [&](const std::string& group) {
      const auto count = members.of_group.find(group);
      return count != members.of_group.end() && count->second == members.all;
    };
    const auto& groups = one.compatibility_groups;
    if (groups.empty() ? members.without != members.all
                       : std::none_of(groups.begin(), groups.end(), is_of_all))
      return &one;
  }
  return nullptr;
}

void GroupsInUse::count(const Consumptions& device, int by) {
  for (const kube::CounterConsumption& one : device) {
    Members& members = sets_[one.counter_set];
    members.all += by;
    if (one.compatibility_groups.empty()) members.without += by;
    for (const std::string& group : one.compatibility_groups) members.of_group[group] += by;
  }
}

}  // namespace sliced::why
