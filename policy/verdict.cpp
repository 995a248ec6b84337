#include "policy/verdict.h"

namespace sliced::policy {
namespace {

struct OutcomeText {
  std::string_view name, description;
};
// Indexed by the value of the outcome.
constexpr OutcomeText kOutcomeTexts[] = {
#define SLICED_TEXT(constant, name, description) {name, description},
    SLICED_OUTCOMES(SLICED_TEXT)
#undef SLICED_TEXT
};

constexpr Outcome kAllOutcomes[] = {
#define SLICED_CONSTANT(constant, name, description) Outcome::constant,
    SLICED_OUTCOMES(SLICED_CONSTANT)
#undef SLICED_CONSTANT
};

}  // namespace

std::span<const Outcome> all_outcomes() { return kAllOutcomes; }

std::string_view name_of(Outcome outcome) { return kOutcomeTexts[static_cast<size_t>(outcome)].name; }

std::string_view describe(Outcome outcome) { return kOutcomeTexts[static_cast<size_t>(outcome)].description; }

}  // namespace sliced::policy
