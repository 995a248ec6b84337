#pragma once
// Schedules decisions: when, on which thread, and how newer changes are handled. The owner provides the
// inputs and receives the decision.
//
//   idle ─ change ─▶ due ── its time ──▶ decided on the loop ───────────────▶ idle, or due after further changes
//                     ▲                └▶ deciding, on a worker ── in time ──▶ the same
//                     │                                        ── overtaken ─▶ repeated immediately
//                     └──────── retried later ◀─────────────── ── too late
//
// Pace:      the first decision follows a change immediately; changes within kCoalesce after it are combined.
//            A decision without an effect opens no such window: the loop gets kYield, then the next one
//            follows.
// Threads:   a decision that may take long runs on a worker, from immutable inputs. One that takes too long
//            is abandoned: the last one stays valid, nothing is added or withdrawn, and it is retried, never
//            on the loop. Time limits never add or withdraw a device.
// Overtaken: a newer change may be a removal, so the decision is repeated; but not twice in a row, because a
//            stream of changes would prevent any decision. One that mark_void() or decide_now() discards, or
//            during which a source was lost, is always repeated.
// Ownership: ports and owner outlive this object. Its destruction stops the decision in progress.
// Reentry:   the owner's functions may call mark() and mark_void(); they run on turns of their own or from
//            decide_now(), never from inside mark().
#include <cstdint>
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

struct DeciderPorts {
  reactor::Scheduler& scheduler;
  reactor::Executor& executor;
  Log& log;
  reactor::Random random;
};

/// The owner of a Decider. Called on turns of the loop, never from inside mark().
class DecisionOwner {
 public:
  /// Returns the current inputs; nullptr if a source is missing, whose arrival calls mark().
  virtual std::shared_ptr<const policy::Inputs> prepare() = 0;
  /// Returns whether a source that prepare() requires is missing.
  virtual bool awaits_sources() const = 0;
  /// why: the changes that led to it. Returns whether the offer changed.
  virtual bool conclude(policy::Decision decision, const std::string& why) = 0;

 protected:
  ~DecisionOwner() = default;
};

class Decider {
 public:
  using InputsPtr = std::shared_ptr<const policy::Inputs>;

  static constexpr Millis kCoalesce{50};
  static constexpr Millis kYield{5};
  /// Time limit of a decision on a worker. Work budgets keep it to a second or two; the limit is for
  /// unforeseen cases. Each retry gets more time, for overloaded machines.
  static constexpr Millis kDecisionMax{5'000}, kDecisionMaxEver{120'000};
  static constexpr size_t kAbandonedMax = 3;  // of the executor's workers, which are shared

  /// Since the start.
  struct Counters {
    uint64_t decided = 0;    // concluded
    uint64_t overtaken = 0;  // repeated because of a newer change
    uint64_t late = 0;       // abandoned, or not started
    uint64_t coalesced = 0;  // changes that were combined with an earlier one
    /// From the first change of a decision to its conclusion, including waits; at the start, including the
    /// initial sync.
    DurationHistogram took;
  };

  Decider(DeciderPorts ports, DecisionOwner& owner);
  ~Decider();

  /// An input has changed. why: for the log; at most four different reasons per decision are kept.
  void mark(std::string why);
  /// As mark(); a decision in progress without this change is discarded.
  void mark_void(std::string why);
  /// Makes a due decision immediately, and discards one in progress without the changes. Called at the end of
  /// an outage: changes are decided before anything is written. Does nothing if no decision is due.
  void decide_now();

  /// Returns whether every change is decided.
  bool idle() const { return std::holds_alternative<Idle>(state_); }
  bool is_deciding() const { return std::holds_alternative<std::shared_ptr<Attempt>>(state_); }
  /// Returns why there is no decision in time; "" if there is.
  const std::string& late() const { return late_; }
  const Counters& counters() const { return counters_; }

 private:
  struct Idle {};
  struct Due {
    reactor::Ticket ticket;
  };
  struct Attempt;  // a decision in progress on a worker
  using State = std::variant<Idle, Due, std::shared_ptr<Attempt>>;

  void note(std::string why);
  // Schedules the decision for the next turn, or for the end of the coalescing window or a backoff.
  void arm();
  // Runs on the loop if it is small (512 devices, no DeviceExposurePolicy, few filters), otherwise on a
  // worker.
  void decide();
  // Not while kAbandonedMax workers still run abandoned decisions.
  void decide_on_worker(InputsPtr inputs, std::string why);
  // finished: false if it was too late; its worker may still run.
  void end(Attempt& attempt, bool finished);
  void conclude(policy::Decision decision, const std::string& why);
  // After a second, doubling to a minute; each attempt has twice the time of the one before.
  void schedule_retry(const policy::Inputs& inputs, std::string what);
  bool is_overtaken(const Attempt& attempt);

  const DeciderPorts ports_;
  DecisionOwner& owner_;
  CallbackGuard callbacks_{"Decider"};
  State state_;
  std::vector<std::string> changes_;  // that are not decided; a few, for the log
  std::optional<TimePoint> since_;    // time of the first one; and of the first one in progress:
  std::optional<TimePoint> deciding_since_;
  Counters counters_;
  std::optional<TimePoint> not_before_;            // earliest time of the next decision
  std::vector<std::weak_ptr<Attempt>> abandoned_;  // abandoned, and possibly still running
  reactor::Backoff backoff_;
  Millis decision_max_ = kDecisionMax;
  std::string late_;
  bool was_overtaken_ = false;  // the last one
};

}  // namespace sliced::daemon
