#pragma once
// Who asks for a judgement, and in how much time and room: the handler of requests to /validate.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "controller/webhook/judgement.h"
#include "http/service.h"
#include "reactor/base/durations.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::webhook {

constexpr Millis kReviewMax{1'000};            // from a request's head to its answer
constexpr size_t kReviewBytesMax = 3u << 20;   // of a body; 413
constexpr size_t kBodiesBytesMax = 32u << 20;  // of all that are here
constexpr size_t kReviewsMax = 128;            // that wait for a worker, or have one

/// Judging is an executor's work, so that nothing holds up the loop. DeviceExposurePolicies have one of their own: their selectors
/// are the dear part, some 0.1 s and at most 1 s, and claims of everybody do not wait behind them.
/// Deadline: who has asked is answered within kReviewMax of the request's head: by then allowed, with a warning. What a
///           worker has begun it ends, for nobody; judge() is bounded. A body that is not whole by then is answered 408.
/// Bounds:   beyond kReviewsMax a review is answered at once, as at the deadline; beyond kBodiesBytesMax 503, by which the
///           API server does as the failure policy says.
/// Log:      what was refused, and policies that were admitted, each with its user; claims that were admitted are debug.
/// Ownership: ports outlive it. Calls may outlive it, and so may work that is under way.
/// Threads:  the loop's, but for review(); a body may be let go of by a worker, and is counted until then.
class Admission {
 public:
  /// Since it was made, of requests that were answered.
  struct Counters {
    uint64_t admitted = 0, refused = 0;  // of what is ours
    uint64_t not_ours = 0;               // admitted without a look
    uint64_t unjudged = 0;               // admitted with a warning: for want of time or room
    uint64_t failed = 0;                 // answered with another status than 200
    DurationHistogram took;              // from the head of a request to its answer
  };
  struct Ports {
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    reactor::Executor&
        selectors;  // of reviews that may take long: whatever is not known to be of a kind without expressions
    Log& log;
  };
  Admission(Ports ports, Drivers drivers);

  /// POST with a body of application/json; else 405 and 415.
  std::unique_ptr<http::Call> serve(const http::RequestHead& head, http::Response& response);

  /// Bytes of bodies that are here; reviews that wait for a worker, or have one.
  /// Both of this moment: they go down when a body is let go of, and a review is ended, by whichever thread.
  size_t bytes() const;
  size_t reviews() const;
  const Counters& counters() const;

 private:
  struct Shared;
  class One;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace sliced::webhook
