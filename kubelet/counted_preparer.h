#pragma once
// A Preparer that forwards to another one and counts the answers to the kubelet.
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

/// Reentry and lifetime: as the Preparer behind it, which outlives this object. This object may be destroyed
/// before an answer arrives.
class CountedPreparer final : public Preparer {
 public:
  /// The counters only grow. A claim that fails five times counts five times. For metrics (docs/metrics.md).
  struct Counts {
    uint64_t prepared = 0, not_prepared = 0, unprepared = 0,
             not_unprepared = 0;  // claims, once for each call
    DurationHistogram prepare;    // from a call to its answer, successful or not
  };
  using ByDriver = std::map<std::string, Counts>;
  /// The kubelet repeats a failed call after some seconds. A claim is forgotten if it was not requested for
  /// this time.
  static constexpr Millis kFailingFor{300'000};
  static constexpr size_t kFailingMax = 4'096;  // per driver; further claims are not counted

  /// The calls in progress share the counts, so an answer after the destruction of this object is harmless.
  /// Threads: the loop's.
  explicit CountedPreparer(Preparer& behind, std::function<TimePoint()> now = steady_now)
      : behind_(behind), now_(std::move(now)), counts_(std::make_shared<ByDriver>()) {}

  /// Counts the answer when it arrives, as prepared if it has no error.
  void prepare(const std::string& driver, PrepareRequest claim,
               std::function<void(PrepareAnswer)> done) override;
  void unprepare(const std::string& driver, PrepareRequest claim,
                 std::function<void(std::string error)> done) override;
  /// Counts by driver name; a driver without a call is missing. The reference is valid as long as this
  /// object.
  const ByDriver& counts() const { return *counts_; }
  /// Returns the number of claims whose last prepare failed within kFailingFor.
  size_t failing(const std::string& driver) const;

 private:
  static TimePoint steady_now() { return std::chrono::time_point_cast<Millis>(Clock::now()); }

  Preparer& behind_;
  const std::function<TimePoint()> now_;
  const std::shared_ptr<ByDriver> counts_;
  using Failing =
      // by driver, then claim uid: time of the last failure
      std::map<std::string, std::map<std::string, TimePoint>>;
  const std::shared_ptr<Failing> failing_ = std::make_shared<Failing>();
};

}  // namespace sliced::kubelet
