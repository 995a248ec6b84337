#pragma once
// A Preparer before another one, that counts what the kubelet is answered.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kubelet/preparer_port.h"
#include "reactor/base/durations.h"
#include "reactor/base/time.h"

namespace sliced::kubelet {

/// Reentry and ends are those of the one behind it, which outlives it; it may go before it has answered.
class CountedPreparer final : public Preparer {
 public:
  /// Grow with the process; a claim that is asked for five times in vain is counted five times. For metrics
  /// (docs/metrics.md).
  struct Counts {
    uint64_t prepared = 0, not_prepared = 0, unprepared = 0,
             not_unprepared = 0;  // claims, each time one is asked for
    DurationHistogram prepare;    // from a call to its answer, well or not
  };
  using ByDriver = std::map<std::string, Counts>;
  /// A kubelet repeats a call that failed after some seconds; a claim that it has not asked for as long as this is forgotten.
  static constexpr Millis kFailingFor{300'000};
  static constexpr size_t kFailingMax = 4'096;  // of a driver; more are not told apart

  /// Counts are shared with the calls under way, so that an answer after this object's end is counted nowhere
  /// and harms nothing.
  /// Threads: the loop's, as the one behind it.
  explicit CountedPreparer(Preparer& behind, std::function<TimePoint()> now = steady_now)
      : behind_(behind), now_(std::move(now)), counts_(std::make_shared<ByDriver>()) {}

  /// Counted when it is answered, as prepared where the answer has no error.
  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override;
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string error)> done) override;
  /// By name; drivers without a call are not in it. The reference lasts as long as this.
  const ByDriver& counts() const { return *counts_; }
  /// Claims whose last call to prepare failed within kFailingFor.
  size_t failing(const std::string& driver) const;

 private:
  static TimePoint steady_now() { return std::chrono::time_point_cast<Millis>(Clock::now()); }

  Preparer& behind_;
  const std::function<TimePoint()> now_;
  const std::shared_ptr<ByDriver> counts_;
  using Failing =
      std::map<std::string, std::map<std::string, TimePoint>>;  // by driver, then claim uid: when last
  const std::shared_ptr<Failing> failing_ = std::make_shared<Failing>();
};

}  // namespace sliced::kubelet
