#pragma once
// When the pods of this node are looked at for the sake of VFs of the other driver: their PF may have been
// given away by a DeviceExposurePolicy that is no more, and of that no list of claims is made. It decides when,
// and asks nobody.
#include <functional>
#include <optional>

#include "publishers/evidence.h"
#include "reactor/backoff.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

class PodLook {
 public:
  /// Where there is no DeviceExposurePolicy at all, so long at most the VFs wait for it, beside its turn.
  static constexpr Millis kMax{5'000};
  static constexpr int kFailuresMax = 5;  // before the list of claims alone has to tell

  /// on_late: kMax has passed since its turn came, and it has not been made. on_due: one that failed may be
  /// made again.
  PodLook(reactor::Scheduler& scheduler, reactor::Random random, std::function<void()> on_late,
          std::function<void()> on_due);

  /// It could show something.
  void open() { is_open_ = true; }
  /// It has been made, or something better has.
  void close() { is_open_ = false; }
  /// Something waits for it. True the first time.
  bool want();
  /// It may be made from now on; VFs wait for it, and kMax begins.
  void begin();
  /// Its turn comes after that wait: until then nobody is late. VFs wait for it too, and kMax begins anew; for
  /// the turns of those that are made again they do not.
  void postpone(Millis wait);
  /// One has been made; what failed is made again, later, a few times.
  void end(Evidence::Look look);

  /// Open, and something waits for it.
  bool is_wanted() const { return is_open_ && is_wanted_; }
  bool is_due() const;
  /// Begun, and what waits for it comes in a moment.
  bool is_begun() const;
  /// VFs wait. has_exposures: there is any DeviceExposurePolicy, so that they wait for as long as it takes.
  bool is_awaited(bool has_exposures) const;

 private:
  void wait_until(TimePoint until);

  reactor::Scheduler& scheduler_;
  const std::function<void()> on_late_, on_due_;
  bool is_open_ = false, is_wanted_ = false, had_turn_ = false;
  std::optional<TimePoint> until_, not_before_;  // until_: VFs wait
  int failures_ = 0;
  reactor::Ticket late_, due_;
  reactor::Backoff backoff_;
};

}  // namespace sliced::publishers
