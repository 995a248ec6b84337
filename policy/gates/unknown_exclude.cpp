// Gate unknown-exclude: withholds new entries while an invalid exclude may select the device. Offering the
// device could override the administrator's exclude.
// Evidence: DecisionContext::unreadable_exclude, the first exclude for this node that is invalid or
// whose selector does not compile.
// Until: the exclude is corrected or deleted.
// Passes: published entries. A valid exclude is not a gate, even if it depends on unknown facts: it is the
// decision of a policy.
// Example: an exclude has the selector "device.ifName ==", which does not compile, so that no new device is
// offered.
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class UnknownExclude final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kExcludeUnreadable};

  explicit UnknownExclude(DecisionContext& context) : now_(context) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    if (now_.unreadable_exclude < 0) return std::nullopt;
    const Published& published = now_.in.published;
    const auto& entries = offer.kind == PolicyType::kSriov ? published.sriov : published.exposure;
    if (entries.contains(offer.entry)) return std::nullopt;
    return Rejection{Outcome::kExcludeUnreadable};
  }

  // The text is the same for both kinds of policies. It names the object to correct.
  static std::string say(const GateExplanation& explained) {
    const int32_t exclude = first_unreadable_exclude(explained.decision);
    const ExposurePolicy& policy =
        *explained.decision.inputs->policies->exposures[static_cast<size_t>(exclude)];
    return "DeviceExposurePolicy " + policy.id.name + " may exclude it, but " +
           why_not(explained.decision, policy, exclude) +
           "; until it is corrected or deleted, no new device is offered";
  }

 private:
  static std::string why_not(const Decision& decision, const ExposurePolicy& policy, int32_t index) {
    const Problem* of_selector = selector_problem(decision, index);
    if (of_selector != nullptr) return "its selector is invalid (" + of_selector->what + ")";
    if (policy.problems.empty()) return "it is invalid";
    const Problem& first = policy.problems.front();
    return "it is invalid (" + (first.field.empty() ? "" : first.field + " ") + first.what + ")";
  }

  const DecisionContext& now_;
};

}  // namespace

GateKind unknown_exclude() { return gate_kind<UnknownExclude>("unknown-exclude"); }

}  // namespace sliced::policy::gates
