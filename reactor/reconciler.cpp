#include "reactor/reconciler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "reactor/base/callback_guard.h"

namespace sliced::reactor {

struct Reconciler::State : std::enable_shared_from_this<State> {
  // Owned by Done. Its destruction without a call counts as a failure.
  class Finish {
   public:
    Finish(std::weak_ptr<State> state, uint64_t run) : state_(std::move(state)), run_(run) {}
    Finish(Finish&&) = delete;
    ~Finish() { call(false); }
    void call(bool ok) {
      const auto alive = std::exchange(state_, {}).lock();
      if (alive) alive->finish(run_, ok);
    }

   private:
    std::weak_ptr<State> state_;
    uint64_t run_;
  };

  State(Scheduler& scheduler, Start start, Random random, BackoffPolicy policy)
      : scheduler_(scheduler), start_(std::move(start)), backoff_(std::move(random), policy) {}

  void mark(Millis delay) {
    const TimePoint due = scheduler_.now() + std::max(delay, Millis{0});
    if (!due_ || due < *due_) due_ = due;
    arm();
  }

  void arm() {
    const TimePoint next = due_ && !is_running_ ? *due_ : TimePoint::max();
    if (next == armed_for_) return;
    armed_for_ = next;
    ticket_.reset();
    if (next == TimePoint::max()) return;
    ticket_ = scheduler_.after(std::max(next - scheduler_.now(), Millis{0}), [this] { run(); });
  }

  void run() {
    armed_for_ = TimePoint::max();
    due_.reset();
    is_running_ = true;
    const auto finish = std::make_shared<Finish>(weak_from_this(), ++runs_);
    const CallbackGuard::Call running(callbacks_);
    start_([finish](bool ok) { finish->call(ok); });
  }

  void finish(uint64_t run, bool ok) {
    if (is_stopped_ || !is_running_ || run != runs_) return;
    is_running_ = false;
    if (!ok) return mark(backoff_.next(scheduler_.now()));
    backoff_.reset();
    arm();
  }

  CallbackGuard callbacks_{"Reconciler"};
  Scheduler& scheduler_;
  const Start start_;
  Backoff backoff_;
  std::optional<TimePoint> due_;  // marked
  bool is_running_ = false, is_stopped_ = false;
  uint64_t runs_ = 0;  // the last one's number: a late Done of an earlier run does not count
  TimePoint armed_for_ = TimePoint::max();
  Ticket ticket_;
};

Reconciler::Reconciler(Scheduler& scheduler, Start start, Random random, BackoffPolicy policy)
    : state_(std::make_shared<State>(scheduler, std::move(start), std::move(random), policy)) {}

Reconciler::~Reconciler() {
  state_->is_stopped_ = true;
  state_->ticket_.reset();
}

void Reconciler::mark(Millis delay) { state_->mark(delay); }
bool Reconciler::idle() const { return !state_->is_running_ && !state_->due_; }

}  // namespace sliced::reactor
