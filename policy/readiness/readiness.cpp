#include "policy/readiness/readiness.h"

#include <vector>

#include "reactor/base/duration.h"
#include "reactor/base/text.h"

namespace sliced::policy {

std::string_view name_of(Condition condition) {
  switch (condition) {
    case Condition::kDriverBound:
      return "driverBound";
    case Condition::kNetdev:
      return "netdev";
    case Condition::kAdminMac:
      return "adminMac";
    case Condition::kAdminMacMatches:
      return "adminMacMatches";
    case Condition::kGuid:
      return "guid";
    case Condition::kUdevInitialized:
      return "udevInitialized";
    case Condition::kNodeState:
      return "nodeState";
    case Condition::kCarrier:
      return "carrier";
    case Condition::kMtuAtLeast:
      return "mtuAtLeast";
  }
  return "";
}

std::string_view name_of(OnLoss on_loss) {
  switch (on_loss) {
    case OnLoss::kWithdraw:
      return "withdraw";
    case OnLoss::kTaint:
      return "taint";
    case OnLoss::kKeep:
      return "keep";
  }
  return "";
}

std::string_view name_of(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNoSchedule:
      return "NoSchedule";
    case TaintEffect::kNoExecute:
      return "NoExecute";
    case TaintEffect::kNone:
      return "None";
  }
  return "";
}

ConditionSet Demand::with(OnLoss follows, const ConditionSet& conditions) const {
  ConditionSet out;
  for (size_t i = 0; i < kConditionCount; ++i)
    out.set(i, conditions.test(i) && on_loss_of(static_cast<Condition>(i)) == follows);
  return out;
}

ConditionSet Demand::conditions() const {
  ConditionSet out = require;
  out.set(static_cast<size_t>(Condition::kMtuAtLeast), mtu_at_least > 0);
  return out;
}

Demand demand_of(const Readiness& policys, const Readiness& daemons) {
  Demand out;
  for (const Readiness* one : {&daemons, &policys}) {
    out.require = one->require.value_or(out.require);
    out.mtu_at_least = one->mtu_at_least.value_or(out.mtu_at_least);
    out.stable_for = one->stable_for.value_or(out.stable_for);
    out.on_loss = one->on_loss.value_or(out.on_loss);
    if (one->on_link_down) out.on_link_down = one->on_link_down;
    out.taint_effect = one->taint_effect.value_or(out.taint_effect);
    out.hold_binding = one->hold_binding.value_or(out.hold_binding);
    out.set_admin_mac = one->set_admin_mac.value_or(out.set_admin_mac);
  }
  if (out.on_link_down) out.require.set(static_cast<size_t>(Condition::kCarrier));
  return out;
}

std::string text_of(const Readiness& readiness) {
  std::vector<std::string> parts, names;
  if (readiness.require)
    for (size_t i = 0; i < kConditionCount; ++i)
      if (readiness.require->test(i)) names.emplace_back(name_of(static_cast<Condition>(i)));
  if (readiness.require) parts.push_back("require: [" + join(names, ", ") + "]");
  if (readiness.mtu_at_least) parts.push_back("mtuAtLeast: " + std::to_string(*readiness.mtu_at_least));
  if (readiness.stable_for) parts.push_back("stableFor: " + format_duration(*readiness.stable_for));
  if (readiness.on_loss) parts.push_back("onLoss: " + std::string(name_of(*readiness.on_loss)));
  if (readiness.on_link_down) parts.push_back("onLinkDown: " + std::string(name_of(*readiness.on_link_down)));
  if (readiness.taint_effect)
    parts.push_back("taintEffect: " + std::string(name_of(*readiness.taint_effect)));
  if (readiness.hold_binding)
    parts.push_back(std::string("holdBinding: ") + (*readiness.hold_binding ? "true" : "false"));
  if (readiness.set_admin_mac)
    parts.push_back(std::string("setAdminMac: ") + (*readiness.set_admin_mac ? "true" : "false"));
  return parts.empty() ? "" : "{" + join(parts, ", ") + "}";
}

}  // namespace sliced::policy
