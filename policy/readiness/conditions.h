#pragma once
// The conditions of readiness as one table: what each reads of a host device, and what it says. Pure.
#include <span>
#include <string>
#include <string_view>

#include "hotplug/facts.h"
#include "policy/readiness/node_state.h"
#include "policy/readiness/readiness.h"

namespace sliced::policy {

/// What is looked at. References: for one call.
struct Subject {
  const hotplug::HostDevice& device;
  const hotplug::Inventory& host;
  const NodeState& node_state;
};

/// What a condition finds. What cannot apply to a device counts as met; what cannot be read counts as not met.
struct Finding {
  enum class Is { kMet, kDoesNotApply, kNotMet } is = Is::kMet;
  std::string
      why;  // of the last two, and of a node state whose operator reports an error: "VF 3 of ens1f0 has admin MAC 00:00:00:00:00:00"
  bool counts_as_met() const { return is != Is::kNotMet; }
  bool operator==(const Finding&) const = default;
};

/// A row for each Condition, in their order.
struct ConditionKind {
  Condition condition;
  std::string_view reads;  // for people: "the PF's word of the VF's MAC address (IFLA_VF_MAC)"
  /// The kernel may keep it to itself that this has changed, so that who waits for it asks again and again. kPerhaps: where
  /// NodeState::by_word has the PF.
  enum class AskedOfPf { kNo, kYes, kPerhaps } of_pf;
  Finding (*find)(const Subject& subject);
};
/// All but mtuAtLeast, which wants to know how much.
std::span<const ConditionKind> condition_table();

/// What PFs have to be asked for: they need not tell that it has changed. perhaps: with what is so of some PFs alone.
ConditionSet conditions_of_pfs(bool perhaps);
/// What was published before is asked for by it.
inline bool looks_back(const Readiness& one) {
  return one.stable_for.value_or(Millis{0}) > Millis{0} ||
         one.on_loss.value_or(OnLoss::kWithdraw) != OnLoss::kWithdraw ||
         one.on_link_down.value_or(OnLoss::kWithdraw) != OnLoss::kWithdraw ||
         (one.require && (*one.require & conditions_of_pfs(/*perhaps=*/true)).any());
}

/// The device whose physical link `carrier` judges: the PF of a VF, else the device itself. A VF that waits for a pod is set down, so
/// that its own interface reports no carrier. nullptr: the PF is not in the inventory.
const hotplug::HostDevice* link_owner(const Subject& subject);

Finding find_condition(Condition condition, const Subject& subject, int mtu_at_least);

/// Of the interface that stands for the function, or of the link.
Finding find_mtu(const Subject& subject, int mtu_at_least);

}  // namespace sliced::policy
