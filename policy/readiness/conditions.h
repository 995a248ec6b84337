#pragma once
// The readiness conditions as one table: the fact of a host device that each reads, and its texts. Pure.
#include <span>
#include <string>
#include <string_view>

#include "hotplug/facts.h"
#include "policy/readiness/node_state.h"
#include "policy/readiness/readiness.h"

namespace sliced::policy {

/// The subject of a condition. References are valid for one call.
struct Subject {
  const hotplug::HostDevice& device;
  const hotplug::Inventory& host;
  const NodeState& node_state;
};

/// The result of a condition. A condition that does not apply counts as met; one that cannot be read counts
/// as not met.
struct Finding {
  enum class Is { kMet, kDoesNotApply, kNotMet } is = Is::kMet;
  std::string why;  // of the last two, and of a node state with an error: "VF 3 of ens1f0 has admin MAC
                    // 00:00:00:00:00:00"
  bool counts_as_met() const { return is != Is::kNotMet; }
  bool operator==(const Finding&) const = default;
};

/// One row for each Condition, in their order.
struct ConditionKind {
  Condition condition;
  std::string_view reads;  // for people: the source of the fact, IFLA_VF_MAC of the PF
  /// kYes: the kernel may not notify about a change, so that the PF is queried while an entry waits.
  /// kPerhaps: only for PFs in NodeState::by_vf_settings.
  enum class NeedsPfQuery { kNo, kYes, kPerhaps } of_pf;
  Finding (*find)(const Subject& subject);
};
/// Without mtuAtLeast, which has a parameter.
std::span<const ConditionKind> condition_table();

/// Returns the conditions that require queries of PFs. perhaps: with those of kPerhaps.
ConditionSet conditions_of_pfs(bool perhaps);
/// Returns true if it depends on entries that were published before.
inline bool looks_back(const Readiness& one) {
  return one.stable_for.value_or(Millis{0}) > Millis{0} ||
         one.on_loss.value_or(OnLoss::kWithdraw) != OnLoss::kWithdraw ||
         one.on_link_down.value_or(OnLoss::kWithdraw) != OnLoss::kWithdraw ||
         (one.require && (*one.require & conditions_of_pfs(/*perhaps=*/true)).any());
}

/// Returns the device whose physical link `carrier` reads: the PF of a VF, otherwise the device itself. The
/// interface of a VF that waits for a pod is down and reports no carrier. nullptr if the PF is not in the
/// inventory.
const hotplug::HostDevice* link_owner(const Subject& subject);

Finding find_condition(Condition condition, const Subject& subject, int mtu_at_least);

/// Reads the MTU of the function's interface, or of the link.
Finding find_mtu(const Subject& subject, int mtu_at_least);

}  // namespace sliced::policy
