#include "kubectl/why/free.h"

namespace sliced::allocation {

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

}  // namespace sliced::allocation
