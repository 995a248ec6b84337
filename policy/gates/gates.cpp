#include "policy/gates/gates.h"

#include <algorithm>

// In order of evaluation: first facts of the device, then claims and policies that conflict with the offer,
// last conditions that end without an edit of the policy. So the verdict names the most lasting reason.
#define SLICED_GATES(GATE) \
  GATE(broken_identity)    \
  GATE(not_returned)       \
  GATE(host_use)           \
  GATE(immovable)          \
  GATE(sharing)            \
  GATE(unknown_exclude)    \
  GATE(other_driver)       \
  GATE(may_be_allocated)   \
  GATE(configuration)      \
  GATE(settling)           \
  GATE(readiness)          \
  GATE(quarantine)

namespace sliced::policy {

namespace gates {
#define SLICED_DECLARE(name) GateKind name();
SLICED_GATES(SLICED_DECLARE)
#undef SLICED_DECLARE
}  // namespace gates

std::span<const GateKind> all_gates() {
#define SLICED_LIST(name) gates::name(),
  static const GateKind kAll[] = {SLICED_GATES(SLICED_LIST)};
#undef SLICED_LIST
  return kAll;
}

const GateKind* gate_of(Outcome outcome) {
  for (const GateKind& gate : all_gates())
    if (std::find(gate.outcomes.begin(), gate.outcomes.end(), outcome) != gate.outcomes.end()) return &gate;
  return nullptr;
}

Gates::Gates(DecisionContext& context) {
  for (const GateKind& gate : all_gates()) gates_.push_back(gate.make(context));
}

std::optional<Rejection> Gates::ask(const EntryCandidate& offer) const {
  for (const auto& gate : gates_)
    if (auto no = gate->ask(offer)) return no;
  return std::nullopt;
}

}  // namespace sliced::policy
