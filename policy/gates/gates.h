#pragma once
// All gates, in the order in which they are asked.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policy/gates/gate.h"

namespace sliced::policy {

std::span<const GateKind> all_gates();
/// The one that says no with that outcome; nullptr none does.
const GateKind* gate_of(Outcome outcome);

/// The gates of one decision.
class Gates {
 public:
  /// circumstances: outlives this; a gate may look at it whenever it is asked.
  explicit Gates(Circumstances& circumstances);
  /// What the first gate says that holds the offer back; nullopt: all let it pass.
  std::optional<HeldBack> ask(const Offer& offer) const;

 private:
  std::vector<std::unique_ptr<Gate>> gates_;
};

}  // namespace sliced::policy
