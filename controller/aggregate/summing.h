#pragma once
// What the nodes of a fleet say, summed up in portions: 5,000 nodes that each speak of 150 policies are more than one turn of a
// loop has time for.
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "controller/aggregate/policy_status.h"

namespace sliced::aggregate {

/// Shared, so that a list that says what is known already copies nothing.
using NodeWordsPtr = std::shared_ptr<const NodeWords>;
using NodesWords = std::map<std::string, NodeWordsPtr>;  // by node

/// One sum, made once. What changes between two steps counts as it is when its turn comes, as if it had been heard of then; of a
/// node that has had its turn the next sum tells.
class Summing {
 public:
  /// shared: of whom the words are; outlives this.
  explicit Summing(const SharedWords& shared) : shared_(shared) {}

  /// The nodes that come next, in order of their names: at least one, and then as long as it is no more than words_max words together.
  /// True once all of them are in.
  /// Nodes that come and go between two steps do no harm: it goes on behind the name of the last one.
  bool step(const NodesWords& nodes, size_t words_max);
  /// Of one policy, as far as it has come; zeros where nobody speaks of it.
  const FleetWord& of(const reports::PolicyRef& policy) const;

 private:
  struct Sum {
    std::shared_ptr<const reports::PolicyRef> policy;  // so that no other one has its address meanwhile
    FleetWord word;
  };
  const SharedWords& shared_;
  std::optional<std::string> last_;  // the node that had its turn last
  std::unordered_map<const reports::PolicyRef*, Sum> sums_;
};

}  // namespace sliced::aggregate
