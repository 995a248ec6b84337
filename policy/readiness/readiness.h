#pragma once
// spec.readiness of both kinds of policies, and the daemon's default: the conditions of a device before it is
// offered, their minimum duration, and the reaction to a loss. Values.
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/time.h"

namespace sliced::policy {

/// In the order of reports. The names are an interface of policies, `explain` and the log.
enum class Condition : uint8_t {
  kDriverBound,
  kNetdev,
  kAdminMac,
  kAdminMacMatches,
  kGuid,
  kUdevInitialized,
  kNodeState,
  kCarrier,
  kMtuAtLeast,  // not part of `require`: a field with a value
};
inline constexpr size_t kConditionCount = 9;
std::string_view name_of(Condition condition);  // "driverBound", ..., "mtuAtLeast"

/// One bit a Condition.
using ConditionSet = std::bitset<kConditionCount>;
inline bool has(const ConditionSet& set, Condition condition) {
  return set.test(static_cast<size_t>(condition));
}

/// The reaction if the device of a published entry is no longer ready.
enum class OnLoss : uint8_t {
  kWithdraw,
  kTaint,  // the entry stays with a taint; claims that tolerate it may still use the device
  kKeep,
};
std::string_view name_of(OnLoss on_loss);  // "withdraw", "taint", "keep"

/// DeviceTaint.effect of resource/v1.
enum class TaintEffect : uint8_t {
  kNoSchedule,  // and pods without a toleration are evicted
  kNoExecute,   // no effect
  kNone,        // it is shown, and has no effect
};
std::string_view name_of(TaintEffect effect);  // "NoSchedule", "NoExecute", "None"

/// As written in a policy. Omitted fields come from the daemon's default, then from Demand.
struct Readiness {
  std::optional<ConditionSet> require;
  std::optional<int> mtu_at_least;  // 0: any MTU
  std::optional<Millis> stable_for;
  std::optional<OnLoss> on_loss;
  std::optional<OnLoss> on_link_down;  // reaction to a loss of kCarrier, which it requires
  std::optional<TaintEffect> taint_effect;
  std::optional<bool> hold_binding;   // of pods, by a binding condition of the entry; not a condition
  std::optional<bool> set_admin_mac;  // of VFs without one (policy/configure/); not a condition
  bool operator==(const Readiness&) const = default;
};
/// Limits of the fields.
inline constexpr int kMtuMax = 65'536;
inline constexpr Millis kStableForMax{3'600'000};

/// In effect. The initial values apply if neither policy nor daemon sets a field.
struct Demand {
  ConditionSet require{1u << static_cast<unsigned>(Condition::kUdevInitialized)};
  int mtu_at_least = 0;
  Millis stable_for{0};
  OnLoss on_loss = OnLoss::kWithdraw;
  std::optional<OnLoss> on_link_down;
  TaintEffect taint_effect = TaintEffect::kNoSchedule;
  bool hold_binding = false;
  bool set_admin_mac = false;
  OnLoss on_loss_of(Condition condition) const {
    return condition == Condition::kCarrier ? on_link_down.value_or(on_loss) : on_loss;
  }
  /// Returns the subset of the conditions whose loss has this reaction.
  ConditionSet with(OnLoss follows, const ConditionSet& conditions) const;
  /// Returns all required conditions, including mtuAtLeast.
  ConditionSet conditions() const;
  bool operator==(const Demand&) const = default;
};
Demand demand_of(const Readiness& policys, const Readiness& daemons);

/// Returns true if it requires the node's SriovNetworkNodeState.
inline bool asks_node_state(const Readiness& one) {
  return one.require && has(*one.require, Condition::kNodeState);
}

/// Returns the set fields as YAML, "{require: [adminMac], stableFor: 2s}"; "" if none is set.
std::string text_of(const Readiness& readiness);

}  // namespace sliced::policy
