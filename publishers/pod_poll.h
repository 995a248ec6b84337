#pragma once
// Schedules the read of this node's pods before VFs of the SR-IOV driver are offered: their PF may be
// allocated by a DeviceExposurePolicy that was deleted, and nodes without such policies never list claims.
// Sends no requests itself: Reservations owns it, and reads the pods.
//
// Order of calls: open(), request(), begin(); then postpone() and end() for each read, until end() or close()
// ends the poll.
#include <functional>
#include <optional>

#include "publishers/evidence.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

class PodPoll {
 public:
  /// Without any DeviceExposurePolicy, VFs wait at most this long, plus the random delay of postpone().
  static constexpr Millis kMax{5'000};
  static constexpr int kFailuresMax = 5;  // then only a list of all claims shows the allocations

  /// on_late: kMax has passed without an answer. on_due: a failed read may be repeated.
  PodPoll(reactor::Scheduler& scheduler, reactor::Random random, std::function<void()> on_late,
          std::function<void()> on_due);

  /// A read may show allocations that no record contains: from now on, VFs that need it wait.
  void open() { is_open_ = true; }
  /// The read, or a list of all claims, has succeeded or is no longer repeated: no VF waits.
  void close() { is_open_ = false; }
  /// A device waits for the read. Returns true the first time.
  bool request();
  /// The owner may send the read now. VFs wait for it; kMax starts.
  void begin();
  /// The read starts after that random delay. For the first read, VFs wait for it and kMax starts again; for
  /// repeated reads they do not wait.
  void postpone(Millis wait);
  /// A read ended. A failed one is repeated up to kFailuresMax times.
  void end(EvidenceSource::Coverage coverage);

  /// Returns true if it is open and a device waits for it.
  bool is_requested() const { return is_open_ && is_requested_; }
  /// Returns true if it is requested, and the delay after a failed read is over.
  bool is_due() const;
  /// Returns true from begin() until the read has succeeded or the time for it is over.
  bool is_begun() const;
  /// Returns true while VFs wait. has_exposures: a DeviceExposurePolicy exists, so that they wait without
  /// limit.
  bool is_awaited(bool has_exposures) const;

 private:
  void wait_until(TimePoint until);

  reactor::Scheduler& scheduler_;
  const std::function<void()> on_late_, on_due_;
  CallbackGuard callbacks_{"PodPoll"};
  bool is_open_ = false, is_requested_ = false, has_waited_ = false;
  std::optional<TimePoint> until_, not_before_;  // until_: VFs wait
  int failures_ = 0;
  reactor::Ticket late_, due_;
  reactor::Backoff backoff_;
};

}  // namespace sliced::publishers
