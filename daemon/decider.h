#pragma once
// When to decide, on which thread, and what overtakes it. What is decided from and what follows are its
// owner's: Decider asks for the inputs when it is time, and hands over the decision.
//
//   idle ─ change ─▶ due ── its time ──▶ decided on the loop ───────────────▶ idle, or due where more has come
//                     ▲                └▶ deciding, on a worker ── in time ──▶ the same
//                     │                                        ── overtaken ─▶ at once anew
//                     └──────── tried again later ◀─────────── ── too late
//
// Pace:      the first decision follows a change at once; what follows within kCoalesce is decided together.
//            One that changed nothing opens no such window: the loop gets kYield, and goes on.
// Threads:   what may take long is decided on a worker, from immutable inputs. One that takes too long is
//            given up: the last one stands, nothing is added or withdrawn, and it is tried again, never on
//            the loop. The clock never takes a device away and never adds one.
// Overtaken: what has changed meanwhile may be a removal, so the decision is made anew; but not twice in a
//            row, or a stream of changes would keep everything from being decided. One that is void is always.
// Ownership: ports outlive this. Dropping it stops what is being decided.
// Reentry:   handlers may mark() and mark_void(); they run on turns of their own or from decide_now(), never
//            from inside mark().
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "policy/decision.h"
#include "policy/inputs.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/durations.h"
#include "reactor/base/log.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

class Decider {
 public:
  using InputsPtr = std::shared_ptr<const policy::Inputs>;

  static constexpr Millis kCoalesce{50};
  static constexpr Millis kYield{5};
  /// What a decision may take on a worker. Budgets keep one to a second or two; the clock is for what nobody
  /// has thought of. A machine that hardly runs gets more time with each attempt.
  static constexpr Millis kDecisionMax{5'000}, kDecisionMaxEver{120'000};
  static constexpr size_t kAbandonedMax = 3;  // of the executor's workers, which others need too

  struct Ports {
    reactor::Scheduler& scheduler;
    reactor::Executor& executor;
    Log& log;
    reactor::Random random;
  };
  struct Handlers {
    /// What is to be decided from, now; nullptr: not yet, and whoever has been waited for marks again.
    std::function<InputsPtr()> prepare;
    /// Whether what prepare() waits for is missing (again).
    std::function<bool()> awaits;
    /// why: the changes that it was made for. True when the offer changed.
    std::function<bool(policy::Decision, const std::string& why)> conclude;
  };

  /// Since the start.
  struct Counters {
    uint64_t decided = 0;    // concluded
    uint64_t overtaken = 0;  // made anew, since something had changed meanwhile
    uint64_t late = 0;       // given up, or not begun
    uint64_t coalesced = 0;  // changes that were decided together with one before them
    /// From the first of the changes that it was made for to its conclusion, waits included; at the start the first
    /// answers of all sources among them.
    DurationHistogram took;
  };

  Decider(Ports ports, Handlers handlers);
  ~Decider();

  /// Something that is decided from has changed.
  /// why: for the log; at most four different reasons of one decision are kept.
  void mark(std::string why);
  /// The same, and what is being decided without it does not count.
  void mark_void(std::string why);
  /// What is due is decided now, and what is being decided without the changes does not count.
  /// For the end of an outage: what was told meanwhile is decided before anything is written. With nothing
  /// due it does nothing.
  void decide_now();

  /// Nothing has been told that is not decided.
  bool idle() const { return std::holds_alternative<Idle>(state_); }
  bool is_deciding() const { return std::holds_alternative<std::shared_ptr<Attempt>>(state_); }
  /// Why there is no decision in time; "" there is.
  const std::string& late() const { return late_; }
  const Counters& counters() const { return counters_; }

 private:
  struct Idle {};
  struct Due {
    reactor::Ticket ticket;
  };
  struct Attempt;  // at a decision on a worker
  using State = std::variant<Idle, Due, std::shared_ptr<Attempt>>;

  void note(std::string why);
  // In the next turn, or when the coalescing window or a backoff is over.
  void arm();
  // On the loop where it is small (512 devices, no DeviceExposurePolicy, few filters), else on a worker.
  void decide();
  // Not while kAbandonedMax workers are still at decisions that were given up.
  void decide_elsewhere(InputsPtr inputs, std::string why);
  // finished false: it was not in time, and may go on for nobody.
  void end(Attempt& attempt, bool finished);
  void conclude(policy::Decision decision, const std::string& why);
  // A second at first, doubling to a minute; each attempt has twice the time of the one before.
  void try_again_later(const policy::Inputs& inputs, std::string what);
  bool is_overtaken(const Attempt& attempt);

  const Ports ports_;
  const Handlers handlers_;
  CallbackGuard callbacks_{"Decider"};
  State state_;
  std::vector<std::string> changes_;  // that is not decided; a few, for the log
  std::optional<TimePoint> since_;    // the first of them; of those that are being decided:
  std::optional<TimePoint> deciding_since_;
  Counters counters_;
  std::optional<TimePoint> not_before_;            // the next decision
  std::vector<std::weak_ptr<Attempt>> abandoned_;  // given up, and perhaps still at work
  reactor::Backoff backoff_;
  Millis decision_max_ = kDecisionMax;
  std::string late_;
  bool was_overtaken_ = false;  // the one before
};

}  // namespace sliced::daemon
