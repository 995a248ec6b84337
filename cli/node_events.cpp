#include "cli/node_events.h"

#include <algorithm>
#include <utility>

#include "kube/kinds.h"
#include "policy/summary.h"
#include "reports/tell_decision.h"

namespace sliced::cli {
namespace node_events {
namespace {

constexpr Millis kLookEvery{60'000}, kFirst{5'000}, kSpread{55'000}, kLookingMax{10'000};

template <class Policies>
std::string uid_in(const Policies& policies, const auto& id) {
  const auto at = std::ranges::find_if(policies, [&](const auto& one) { return one->id == id; });
  return at == policies.end() ? "" : (*at)->uid;
}

// The word of whoever keeps it from being offered.
std::string outcome_of(const policy::Decision& decision, const std::string& device) {
  if (const auto personas = decision.personas.find(device);
      personas != decision.personas.end() && !personas->second.empty())
    return std::string(name_of(personas->second.front().outcome));
  return std::string(name_of(decision.verdicts.at(device).outcome));
}

}  // namespace
}  // namespace node_events

reports::WithdrawnInUse withdrawn_in_use(const policy::Decision& decision,
                                         const std::map<std::string, std::string>& allocated) {
  reports::WithdrawnInUse out;
  for (const auto& [device, claim] : allocated) {
    if (device.empty()) continue;
    const bool is_there = decision.verdicts.contains(device);
    if (is_there && policy::standing_of(decision, device) == policy::Standing::kOffered) continue;
    out[device] = (claim.empty() ? "a claim" : "claim " + claim) + "; " +
                  (is_there ? node_events::outcome_of(decision, device) : "it is gone");
  }
  return out;
}

NodeEvents::NodeEvents(Surroundings around)
    : around_(std::move(around)),
      writer_(around_.ports, {.node = around_.node,
                              .node_uid = [this] { return around_.daemon.owner_uid(); },
                              .policy_uid = [this](const auto& policy) { return policy_uid(policy); },
                              .now = around_.now}) {}

void NodeEvents::on_decided() {
  if (std::exchange(is_soon_, true)) return;
  const auto spread = static_cast<double>(node_events::kSpread.count()) * around_.ports.random();
  timer_ = around_.ports.scheduler.after(node_events::kFirst + Millis{static_cast<int64_t>(spread)},
                                         [this] { look(); });
}

void NodeEvents::look_later() {
  timer_ = around_.ports.scheduler.after(node_events::kLookEvery, [this] { look(); });
}

void NodeEvents::look() {
  is_soon_ = false;
  look_later();
  if (job_ || around_.daemon.decision() == nullptr || around_.daemon.owner_uid().empty()) return;
  struct Seen {
    reports::NodeReport report;
    reports::WithdrawnInUse in_use;
  };
  auto seen = std::make_shared<Seen>();
  job_ = around_.executor.run(
      [seen, decision = around_.daemon.shared_decision(), allocated = around_.allocated()] {
        tell_decision(*decision, seen->report);
        seen->in_use = withdrawn_in_use(*decision, allocated);
      },
      node_events::kLookingMax,
      [this, seen](bool finished) {
        const auto over = std::move(job_);
        if (finished) writer_.look(finder_.look(seen->report, seen->in_use, around_.ports.scheduler.now()));
      });
}

std::string NodeEvents::policy_uid(const reports::PolicyRef& policy) const {
  if (around_.daemon.decision() == nullptr) return "";
  const policy::PolicySet& set = *around_.daemon.decision()->inputs->policies;
  if (policy.kind == kube::kSriovResourcePolicies.kind)
    return node_events::uid_in(set.sriov, policy::SriovPolicy::Id{policy.namespace_, policy.name});
  return node_events::uid_in(set.exposures, policy::ExposurePolicy::Id{policy.name});
}

}  // namespace sliced::cli
