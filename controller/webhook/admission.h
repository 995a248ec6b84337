#pragma once
// Handles requests to /validate within limits of time and memory.
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

constexpr Millis kReviewMax{1'000};            // from the head of a request to its answer
constexpr size_t kReviewBytesMax = 3u << 20;   // of a body; 413
constexpr size_t kBodiesBytesMax = 32u << 20;  // of all requests
constexpr size_t kReviewsMax = 128;            // waiting or running

struct AdmissionPorts {
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  reactor::Executor& selectors;  // for reviews that may take long: kinds with expressions
  Log& log;
};

/// Reviews run on executors. DeviceExposurePolicies have a separate one: their selectors take about 0.1 s, at
/// most 1 s, and claims must not wait for them.
/// Deadline: kReviewMax from the request's head; then the object is allowed with a warning. A running review
/// continues
///           without effect. An incomplete body is answered with 408.
/// Limits:   beyond kReviewsMax an object is allowed with a warning; beyond kBodiesBytesMax the answer is
///           503, and the API server applies the failure policy.
/// Log:      refused objects and admitted policies with their user; admitted claims at level debug.
/// REQUIRES: `ports` must outlive this object. Calls and running reviews may outlive it. Loop thread only,
/// except review().
class Admission {
 public:
  /// Answered requests since the start.
  struct Counters {
    uint64_t admitted = 0, refused = 0;  // of our kinds and drivers
    uint64_t not_ours = 0;               // admitted unchecked: other kinds or drivers
    uint64_t unjudged = 0;               // admitted unchecked with a warning: no time or memory
    uint64_t failed = 0;                 // answers with another status than 200
    DurationHistogram took;              // from the head of a request to its answer
  };
  Admission(AdmissionPorts ports, Drivers drivers);

  /// POST with a body of application/json; else 405 and 415.
  std::unique_ptr<http::Call> serve(const http::RequestHead& head, http::Response& response);

  /// Return the bytes of request bodies in memory, and the number of waiting and running reviews.
  size_t bytes() const;
  size_t reviews() const;
  const Counters& counters() const;

 private:
  struct Shared;
  class One;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace sliced::webhook
