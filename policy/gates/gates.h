#pragma once
// All gates, in order of evaluation.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policy/gates/gate.h"

namespace sliced::policy {

std::span<const GateKind> all_gates();
/// The gate with that outcome; nullptr if there is none.
const GateKind* gate_of(Outcome outcome);

/// The gates of one decision.
class Gates {
 public:
  /// REQUIRES: context outlives this object. Gates read it in each check().
  explicit Gates(DecisionContext& context);
  /// Returns the rejection of the first gate that withholds the offer; nullopt if all pass it.
  std::optional<Rejection> ask(const Offer& offer) const;

 private:
  std::vector<std::unique_ptr<Gate>> gates_;
};

}  // namespace sliced::policy
