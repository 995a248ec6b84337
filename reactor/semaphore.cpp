#include "reactor/semaphore.h"

#include <cstdint>
#include <map>
#include <utility>

namespace sliced::reactor {

struct Semaphore::State : std::enable_shared_from_this<State> {
  State(Scheduler& on, size_t most) : scheduler(on), at_once(most) {}

  void grant_waiting() {
    if (turn || waiting.empty() || in_use >= at_once) return;
    turn = scheduler.after(Millis{0}, [this] { begin(); });
  }
  void begin() {
    const auto self = shared_from_this();  // a request may drop the Semaphore
    const Ticket own = std::exchange(turn, nullptr);
    while (in_use < at_once && !waiting.empty()) {
      const auto next = waiting.extract(waiting.begin());
      ++in_use;
      next.mapped()();
    }
  }
  void leave(uint64_t number) {
    if (waiting.erase(number) == 0) --in_use;
    grant_waiting();
  }

  Scheduler& scheduler;
  const size_t at_once;
  size_t in_use = 0;
  uint64_t last = 0;
  std::map<uint64_t, std::function<void()>> waiting;  // in the order in which they came
  Ticket turn;
};

struct Semaphore::HeldPermit final : Permit {
  HeldPermit(std::shared_ptr<State> of, uint64_t own) : state(std::move(of)), number(own) {}
  ~HeldPermit() override { state->leave(number); }
  const std::shared_ptr<State> state;
  const uint64_t number;
};

Semaphore::Semaphore(Scheduler& scheduler, size_t at_once)
    : state_(std::make_shared<State>(scheduler, at_once)) {}

Semaphore::~Semaphore() {
  state_->turn.reset();
  // Permits of waiting requests must not count as granted ones. Some are destroyed with captured values of
  // others.
  const auto waiting = std::exchange(state_->waiting, {});
  state_->in_use += waiting.size();
}

Semaphore::PermitPtr Semaphore::acquire(std::function<void()> begin) {
  const uint64_t number = ++state_->last;
  state_->waiting.emplace(number, std::move(begin));
  state_->grant_waiting();
  return std::make_unique<HeldPermit>(state_, number);
}

size_t Semaphore::in_use() const { return state_->in_use; }
size_t Semaphore::waiting() const { return state_->waiting.size(); }

}  // namespace sliced::reactor
