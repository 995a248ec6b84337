#pragma once
// Limits the time for which the container runtime waits for sliced. The runtime calls for one sandbox at a
// time (containerd's pkg/adaptation holds a lock during a plugin's answer). So a definition that takes long
// and fails, which the kubelet retries forever, delays the sandboxes of all other pods.
#include <map>
#include <string>

#include "reactor/base/time.h"

namespace sliced::kubelet {

/// Failed calls for pods of one namespace get a tenth of the runtime's time. After they have used more than
/// `free`, further calls are refused without running a plugin, for ten times the excess. The limit is per
/// namespace, because its users write the definitions. Successful calls neither count nor compensate. Bounds:
/// an entry per namespace, until its time has passed.
class HookTime {
 public:
  /// free: the time of failed calls without a consequence.
  explicit HookTime(Millis free = Millis{500}) : free_(free) {}
  static constexpr int kTimesAsLong = 10;

  /// A call for a pod of the namespace failed after `took`, at `now`.
  void record_failure(const std::string& namespace_, Millis took, const std::string& problem, TimePoint now);
  /// Returns why a call is refused, with the problem of the last one; "" if it is allowed.
  std::string refusal(const std::string& namespace_, TimePoint now) const;

 private:
  struct Debt {
    Millis time{0};  // at `noted`
    TimePoint noted{};
    Millis took{0};  // the last call
    std::string problem = {};
  };
  static Millis owed(const Debt& debt, TimePoint now);

  const Millis free_;
  std::map<std::string, Debt> debts_;
};

}  // namespace sliced::kubelet
