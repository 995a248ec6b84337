#include "cli/verdicts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/show.h"

namespace sliced::cli {
namespace {

constexpr size_t kRulesOfAllMax = 50'000, kRulesOfOneMin = 10;
constexpr size_t kVerdictPieceBytes = 32u << 10;

}  // namespace

VerdictSnapshot snapshot_of(const daemon::Daemon& daemon) {
  std::vector<std::string> names;
  for (const daemon::Offer& offer : daemon.offers())
    for (const auto& [name, slice] : offer.publisher().observed())
      for (const kube::Device& device : slice.devices) names.push_back(device.name);
  std::ranges::sort(names);
  return {daemon.shared_decision(), std::make_shared<const std::vector<std::string>>(std::move(names))};
}

policy::Explanation explain_as_published(const VerdictSnapshot& snapshot, const std::string& id,
                                         size_t rules_max) {
  policy::Explanation explanation = policy::explain(*snapshot.decision, id, rules_max);
  if (explanation.entry.empty() || std::ranges::binary_search(*snapshot.published, explanation.entry))
    return explanation;
  explanation.summary +=
      "; no slice holds it yet: see whether the daemon runs and what it logs about this entry";
  return explanation;
}

size_t rules_max_of_all(const policy::Decision& decision) {
  return std::clamp(kRulesOfAllMax / std::max<size_t>(decision.verdicts.size(), 1), kRulesOfOneMin,
                    policy::kRulesMax);
}

std::string VerdictList::next() {
  if (is_over_) return {};
  const policy::Decision& decision = *snapshot_.decision;
  const size_t rules_max = rules_max_of_all(decision);
  std::string out;
  if (!std::exchange(is_begun_, true)) out = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (; at_ < decision.verdicts.size() && out.size() < kVerdictPieceBytes; ++at_) {
    const std::string& id = std::next(decision.verdicts.begin(), static_cast<long>(at_))->first;
    out += (at_ == 0 ? "\n" : ",\n") +
           kube::encode_json(json_of(explain_as_published(snapshot_, id, rules_max)));
  }
  is_over_ = at_ == decision.verdicts.size();
  return is_over_ ? out + "\n]}\n" : out;
}

}  // namespace sliced::cli
