#pragma once
// Runs each job in the next turn of a FakeScheduler, on the test's own thread. A job whose work is abandoned
// (abandon.h) is one that hangs: its deadline passes.
#include <memory>
#include <utility>
#include <vector>

#include "reactor/executor.h"
#include "t/fake/abandon.h"
#include "t/fake/fake_scheduler.h"

namespace sliced::fake {

class FakeExecutor final : public reactor::Executor {
 public:
  explicit FakeExecutor(FakeScheduler& scheduler) : scheduler_(scheduler) {}

  std::unique_ptr<reactor::Job> run(Work work, Millis deadline, Done on_done) override {
    const bool is_refused = ++jobs == refused_job;
    auto job = std::make_unique<Pending>();
    auto state = job->state;
    state->ticket =
        scheduler_.after(Millis{0}, [this, is_refused, state = std::weak_ptr(state), work = std::move(work),
                                     deadline, on_done = std::move(on_done)] {
          bool finished = !is_refused && !(hang_next > 0 && hang_next--);
          if (finished) finished = ends(Abandoned::kHangs, work);
          const auto alive = state.lock();
          if (!alive) return;
          if (is_refused) return on_done(false);
          if (finished && answer_after > Millis{0}) {
            alive->ticket = scheduler_.after(answer_after, [on_done] { on_done(true); });
            return;
          }
          if (finished) return on_done(true);
          ++hung;
          if (keeps_hung_work) hung_work.push_back(work);
          if (deadline > Millis{0}) alive->ticket = scheduler_.after(deadline, [on_done] { on_done(false); });
        });
    return job;
  }

  size_t jobs = 0, hung = 0;
  size_t hang_next = 0;    // so many jobs hang, whatever their work is
  size_t refused_job = 0;  // the one of that number is not begun, as where too many hang already
  bool keeps_hung_work = false;
  std::vector<Work> hung_work;  // of jobs that hang: run it, and it ends late; forget it, and it has ended
  Millis answer_after{0};       // from the work's end to its answer

 private:
  struct State {
    reactor::Ticket ticket;
  };
  struct Pending final : reactor::Job {
    std::shared_ptr<State> state = std::make_shared<State>();
  };
  FakeScheduler& scheduler_;
};

}  // namespace sliced::fake
