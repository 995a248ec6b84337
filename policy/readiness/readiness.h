#pragma once
// spec.readiness of both kinds of policies, and the daemon's default of the same form: what must hold of a device
// before it is offered, for how long, and what follows when it holds no longer. Values.
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/time.h"

namespace sliced::policy {

/// In the order in which they are told. The names are an interface: policies, `explain` and the log have them.
enum class Condition : uint8_t {
  kDriverBound,
  kNetdev,
  kAdminMac,
  kAdminMacMatches,
  kGuid,
  kUdevInitialized,
  kNodeState,
  kCarrier,
  kMtuAtLeast,  // not of `require`: it has a value, and a field of its own
};
inline constexpr size_t kConditionCount = 9;
std::string_view name_of(Condition condition);  // "driverBound", ..., "mtuAtLeast"

/// One bit a Condition.
using ConditionSet = std::bitset<kConditionCount>;
inline bool has(const ConditionSet& set, Condition condition) {
  return set.test(static_cast<size_t>(condition));
}

/// Of an entry that stands when its device is no longer ready.
enum class OnLoss : uint8_t {
  kWithdraw,
  kTaint,  // it stays, with a taint: who tolerates that may have it still
  kKeep,
};
std::string_view name_of(OnLoss on_loss);  // "withdraw", "taint", "keep"

/// DeviceTaint.effect of resource/v1.
enum class TaintEffect : uint8_t {
  kNoSchedule,  // new claims need a toleration
  kNoExecute,   // and pods without one are evicted
  kNone,        // it is shown, and has no effect
};
std::string_view name_of(TaintEffect effect);  // "NoSchedule", "NoExecute", "None"

/// As it is written. What is left out is the daemon's, and what that leaves out is Demand's.
struct Readiness {
  std::optional<ConditionSet> require;
  std::optional<int> mtu_at_least;  // 0: any will do
  std::optional<Millis> stable_for;
  std::optional<OnLoss> on_loss;
  std::optional<OnLoss> on_link_down;  // of kCarrier, which it requires
  std::optional<TaintEffect> taint_effect;
  std::optional<bool> set_admin_mac;  // of VFs that have none (policy/configure/); no condition
  bool operator==(const Readiness&) const = default;
};
/// Bounds of what is written.
inline constexpr int kMtuMax = 65'536;
inline constexpr Millis kStableForMax{3'600'000};

/// As it is in effect. The initial values are what holds where nobody says anything.
struct Demand {
  ConditionSet require{1u << static_cast<unsigned>(Condition::kUdevInitialized)};
  int mtu_at_least = 0;
  Millis stable_for{0};
  OnLoss on_loss = OnLoss::kWithdraw;
  std::optional<OnLoss> on_link_down;
  TaintEffect taint_effect = TaintEffect::kNoSchedule;
  bool set_admin_mac = false;
  OnLoss on_loss_of(Condition condition) const {
    return condition == Condition::kCarrier ? on_link_down.value_or(on_loss) : on_loss;
  }
  /// Of these conditions, those for which that follows.
  ConditionSet with(OnLoss follows, const ConditionSet& conditions) const;
  /// With mtuAtLeast, where one is asked for.
  ConditionSet conditions() const;
  bool operator==(const Demand&) const = default;
};
Demand demand_of(const Readiness& policys, const Readiness& daemons);

/// The node's SriovNetworkNodeState is asked for by it.
inline bool asks_node_state(const Readiness& one) {
  return one.require && has(*one.require, Condition::kNodeState);
}

/// "{require: [adminMac], stableFor: 2s}": as YAML, what is written of it; "" nothing is.
std::string text_of(const Readiness& readiness);

}  // namespace sliced::policy
