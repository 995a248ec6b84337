#pragma once
// Sums up the reports of a fleet in portions: 5,000 nodes with 150 policies each take longer than a turn of
// the loop may.
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "controller/aggregate/policy_status.h"

namespace sliced::aggregate {

/// Shared, so that a list with unchanged reports copies nothing.
using NodePolicyReportsPtr = std::shared_ptr<const NodePolicyReports>;
using PolicyReportsByNode = std::map<std::string, NodePolicyReportsPtr>;  // by node

/// One sum. A change between two steps counts if the node's turn is still to come; otherwise the next sum
/// includes it.
class FleetSum {
 public:
  /// Requires: shared is the owner of the values, and outlives this object.
  explicit FleetSum(const SharedReportValues& shared) : shared_(shared) {}

  /// Adds the next nodes by name: at least one, and as many as have at most words_max elements together.
  /// Returns true after the last node. Nodes may be added and removed between steps: it continues after the
  /// name of the last one.
  bool step(const PolicyReportsByNode& nodes, size_t words_max);
  /// Returns the sums for the policy so far; zeros if no node reports it.
  const PolicyTotals& of(const reports::PolicyRef& policy) const;

 private:
  struct Sum {
    std::shared_ptr<const reports::PolicyRef> policy;  // keeps the address in use
    PolicyTotals word;
  };
  const SharedReportValues& shared_;
  std::optional<std::string> last_;  // last added node
  std::unordered_map<const reports::PolicyRef*, Sum> sums_;
};

}  // namespace sliced::aggregate
