#pragma once
// The time that the container runtime waits for us. It asks for one sandbox at a time (containerd's pkg/adaptation holds a lock while a plugin
// answers), so that a definition that takes long and fails, which the kubelet tries again without end, delays the sandboxes of all other pods.
#include <map>
#include <string>

#include "reactor/base/time.h"

namespace sliced::kubelet {

/// Failed calls for pods of one namespace have a tenth of the runtime's time: once they have taken more than `free`, further calls are
/// answered without running a plugin, until ten times as long as they took too much has passed. A namespace, because its users write the
/// definitions, and any number of them. Calls that succeed cost nothing, and repay nothing.
/// Bounds: an entry per namespace, until its time is repaid.
class HookTime {
 public:
  /// free: the time of failed calls that has no consequence.
  explicit HookTime(Millis free = Millis{500}) : free_(free) {}
  static constexpr int kTimesAsLong = 10;

  /// A call for a pod of the namespace has failed after `took`, which ends now.
  void record_failure(const std::string& namespace_, Millis took, const std::string& problem, TimePoint now);
  /// Why a call is not begun, with the problem of the last one; "" it may.
  std::string refusal(const std::string& namespace_, TimePoint now) const;

 private:
  struct Debt {
    Millis time{0};  // when it was noted
    TimePoint noted{};
    Millis took{0};  // the last call
    std::string problem = {};
  };
  static Millis owed(const Debt& debt, TimePoint now);

  const Millis free_;
  std::map<std::string, Debt> debts_;
};

}  // namespace sliced::kubelet
