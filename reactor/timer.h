#pragma once
// One timer that is armed again and again.
#include "reactor/handle.h"
#include "reactor/scheduler.h"

struct uv_timer_s;

namespace sliced::reactor {

class Loop;

/// One-shot timer on the loop's monotonic clock, for users that want one slot and re-arm it often (an idle
/// timeout). Where a test should step time, take a Scheduler instead.
/// Ownership: owns its handle and callback. Destroying it disarms at once.
/// Reentry:   the callback may re-arm, or destroy, the Timer that called it.
/// Errors:    none.
class Timer {
 public:
  explicit Timer(Loop& loop);
  ~Timer();
  Timer(Timer&&) = delete;

  /// Replaces what was armed before. A negative delay counts as 0.
  void arm(Millis delay, Task on_due);
  /// on_due is not called after it, also when it was due already. Harmless when nothing is armed.
  void disarm();
  bool armed() const { return on_due_ != nullptr; }

 private:
  static void on_timer(uv_timer_s* raw) noexcept;
  Handle<uv_timer_s> handle_;
  Task on_due_;
};

}  // namespace sliced::reactor
