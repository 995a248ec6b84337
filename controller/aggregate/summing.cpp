#include "controller/aggregate/summing.h"

namespace sliced::aggregate {

bool FleetSum::step(const PolicyReportsByNode& nodes, size_t words_max) {
  auto at = last_ ? nodes.upper_bound(*last_) : nodes.begin();
  size_t words = 0;
  for (; at != nodes.end() && (words == 0 || words + at->second->size() <= words_max); ++at) {
    words += at->second->size() + 1;  // a node without policies counts, too
    for (const NodePolicyReport& word : *at->second) {
      Sum& sum = sums_[word.policy.get()];
      if (sum.policy == nullptr) sum.policy = word.policy;
      add(at->first, word, sum.word);
    }
    last_ = at->first;
  }
  return at == nodes.end();
}

const PolicyTotals& FleetSum::of(const reports::PolicyRef& policy) const {
  static const PolicyTotals kNone;
  const auto found = sums_.find(shared_.policies.find(policy));
  return found == sums_.end() ? kNone : found->second.word;
}

}  // namespace sliced::aggregate
