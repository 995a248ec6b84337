// Gate quarantine: withholds an entry that the API server would refuse, or whose present content it has
// refused or changed on write. One refused entry would make the write of its whole slice fail.
// Evidence: Draft::refusal, the API server's rules applied to the entry; Inputs::quarantine, the refused
// entries by name, each with the hash of its content and the server's reason.
// Until: the content of the entry changes. For an entry that the server has refused also the next
// --sync-interval, when the daemon empties the quarantine and tries again: the server's reason may have
// ended.
// Example: the API server refused the slice because of an attribute of this entry (422 Invalid).
#include "policy/entry_validation.h"
#include "policy/gates/gate.h"

namespace sliced::policy::gates {
namespace {

class QuarantineGate final : public Gate {
 public:
  static constexpr Outcome kOutcomes[] = {Outcome::kRefused};

  explicit QuarantineGate(DecisionContext& context) : refused_(context.in.quarantine) {}

  std::optional<Rejection> ask(const EntryCandidate& offer) override {
    const Draft& draft = offer.draft();
    if (!draft.refusal.empty()) return Rejection{Outcome::kRefused, draft.refusal};
    std::string why =
        refused_before(*draft.entry, offer.kind == PolicyType::kSriov ? refused_.sriov : refused_.exposure);
    if (why.empty()) return std::nullopt;
    return Rejection{Outcome::kRefused, std::move(why)};
  }

  static std::string say(const GateExplanation& explained) {
    if (explained.kind == PolicyType::kSriov)
      return explained.by + " would offer it, but its entry is held back: " + explained.why;
    return "its entry is held back" + (explained.why.empty() ? "" : ": " + explained.why);
  }

 private:
  const Quarantines& refused_;
};

}  // namespace

GateKind quarantine() { return gate_kind<QuarantineGate>("quarantine"); }

}  // namespace sliced::policy::gates
