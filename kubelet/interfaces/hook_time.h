#pragma once
// The time that the container runtime waits for us. It asks for one sandbox at a time (containerd's pkg/adaptation holds a lock while a plugin
// answers), so that a definition that takes long and fails, which the kubelet tries again without end, delays the sandboxes of all other pods.
#include <map>
#include <string>

#include "reactor/base/time.h"

namespace sliced::kubelet {

/// After a call that took long and failed, calls for pods of the same namespace are answered without running a plugin, for nine times as long:
/// failures of one namespace have a tenth of the runtime's time. A namespace, because its users write the definitions, and any
/// number of them. Calls that succeed, and those that fail quickly, cost no one anything.
/// Bounds: an entry per namespace, for the length of its pause.
class HookTime {
 public:
  /// slow_from: calls that took less do not count.
  explicit HookTime(Millis slow_from = Millis{500}) : slow_from_(slow_from) {}
  static constexpr int kPause = 9;

  /// A call for a pod of the namespace has been answered after `took`. problem: "" it succeeded, which ends the namespace's pause.
  void note(const std::string& namespace_, Millis took, const std::string& problem, TimePoint now);
  /// Why a call is not begun, with the problem of the one before; "" it may.
  std::string refusal(const std::string& namespace_, TimePoint now) const;

 private:
  struct Pause {
    TimePoint until;
    Millis took;
    std::string problem;
  };
  const Millis slow_from_;
  std::map<std::string, Pause> pauses_;
};

}  // namespace sliced::kubelet
