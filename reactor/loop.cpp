#include "reactor/loop.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "reactor/handle.h"
#include "reactor/turn_watch.h"

namespace sliced::reactor {
namespace {

constexpr Millis kReapWaitMax{500};

template <class H>
Handle<H> must_open(uv_loop_t* loop, int (*init)(uv_loop_t*, H*)) {
  auto opened = Handle<H>::open([&](H* raw) { return init(loop, raw); });
  return std::move(opened).value();  // these initialisers cannot fail
}

// Implements delayed and immediate tasks. Tasks with a delay are in an ordered map with a single timer; tasks
// without one run from an idle handle, which (unlike a timer of 0) lets the loop poll its descriptors
// between two rounds.
class LoopScheduler final : public Scheduler {
 public:
  explicit LoopScheduler(uv_loop_t* loop)
      : loop_(loop),
        timer_(must_open<uv_timer_t>(loop, uv_timer_init)),
        idle_(must_open<uv_idle_t>(loop, uv_idle_init)) {
    timer_->data = idle_->data = this;
  }

  TimePoint now() const override { return TimePoint{Millis{uv_now(loop_)}}; }

  Ticket after(Millis delay, Task task) override {
    auto ticket = std::make_shared<Task>(std::move(task));
    if (delay <= Millis{0}) {
      next_turn_.push_back(ticket);
      uv_idle_start(idle_.get(), &on_idle);  // again: no effect
      return ticket;
    }
    const TimePoint due = deadline(delay);
    if (due_.size() >= sweep_at_) sweep();
    due_.emplace(due, ticket);
    if (due < armed_for_) arm();
    return ticket;
  }

  void destroy_later(std::shared_ptr<void> object) override {
    retired_.push_back(std::move(object));
    uv_idle_start(idle_.get(), &on_idle);
  }
  // Called between turns, so no callback is on the stack.
  void destroy_retired() {
    while (!retired_.empty()) std::exchange(retired_, {}).clear();
  }

 private:
  // Counts from the real time: now() may be old after a long callback, and a task must not run early.
  static TimePoint deadline(Millis delay) {
    constexpr uint64_t kNanosPerMilli = 1'000'000;
    const TimePoint rounded_up{Millis{(uv_hrtime() + kNanosPerMilli - 1) / kNanosPerMilli}};
    return delay > TimePoint::max() - rounded_up ? TimePoint::max() : rounded_up + delay;
  }

  void arm() {
    while (!due_.empty() && due_.begin()->second.expired()) due_.erase(due_.begin());
    armed_for_ = due_.empty() ? TimePoint::max() : due_.begin()->first;
    if (due_.empty()) {
      uv_timer_stop(timer_.get());
      return;
    }
    const Millis wait = std::max(armed_for_ - now(), Millis{0});
    uv_timer_start(timer_.get(), &on_timer, static_cast<uint64_t>(wait.count()), 0);
  }

  // Cancelled tasks would otherwise stay until they are due. A timeout of minutes that is re-armed for every
  // line would accumulate them.
  void sweep() {
    std::erase_if(due_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<size_t>(64, 2 * due_.size());
  }

  void run_task(const Task& task) {
    const TurnSpan span(loop_, "task", task.target_type());
    task();
  }

  static void on_timer(uv_timer_t* raw) noexcept { static_cast<LoopScheduler*>(raw->data)->run_due(); }
  static void on_idle(uv_idle_t* raw) noexcept { static_cast<LoopScheduler*>(raw->data)->run_next_turn(); }

  void run_due() {
    armed_for_ = TimePoint::max();
    // A task scheduled from here on has a delay of at least 1 ms after the real time, so this ends.
    const TimePoint turn = now();
    while (!due_.empty() && due_.begin()->first <= turn) {
      const auto entry = due_.extract(due_.begin());
      if (const Ticket task = entry.mapped().lock()) run_task(*task);
    }
    arm();
  }

  void run_next_turn() {
    std::exchange(retired_, {}).clear();
    const auto tasks = std::exchange(next_turn_, {});
    for (const std::weak_ptr<Task>& waiting : tasks)
      if (const Ticket task = waiting.lock()) run_task(*task);
    if (next_turn_.empty() && retired_.empty()) uv_idle_stop(idle_.get());
  }

  uv_loop_t* loop_;
  Handle<uv_timer_t> timer_;
  Handle<uv_idle_t> idle_;
  std::multimap<TimePoint, std::weak_ptr<Task>> due_;  // equal keys keep the order of insertion
  std::vector<std::weak_ptr<Task>> next_turn_;
  std::vector<std::shared_ptr<void>> retired_;
  TimePoint armed_for_ = TimePoint::max();
  size_t sweep_at_ = 64;
};

// Tasks from other threads.
class Mailbox {
 public:
  explicit Mailbox(uv_loop_t* loop) : async_(open(loop)) { async_->data = this; }

  void post(Task task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    uv_async_send(async_.get());
  }

 private:
  static Handle<uv_async_t> open(uv_loop_t* loop) {
    auto opened =
        Handle<uv_async_t>::open([&](uv_async_t* raw) { return uv_async_init(loop, raw, &on_async); });
    if (opened) return std::move(opened).value();
    std::fprintf(stderr, "cannot open the event loop: %s\n", opened.error().what.c_str());
    std::_Exit(EXIT_FAILURE);
  }

  static void on_async(uv_async_t* raw) noexcept {
    auto* self = static_cast<Mailbox*>(raw->data);
    std::vector<Task> tasks;
    {
      const std::lock_guard lock(self->mutex_);
      tasks.swap(self->tasks_);
    }
    for (const Task& task : tasks) {
      const TurnSpan span(raw->loop, "posted task", task.target_type());
      task();
    }
  }

  std::mutex mutex_;
  std::vector<Task> tasks_;
  Handle<uv_async_t> async_;
};

// A process may start without standard streams. The loop's descriptors must not get their numbers: libuv
// aborts when it closes one of them, and printed text would be written into the loop.
void occupy_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd > STDERR_FILENO) ::close(fd);
}

uint64_t cpu_ns_of_this_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

uv_loop_t* open_loop() {
  occupy_standard_streams();
  auto loop = std::make_unique<uv_loop_t>();
  if (const int code = uv_loop_init(loop.get()); code != 0) {
    std::fprintf(stderr, "cannot open the event loop: %s\n", uv_error(code).what.c_str());
    std::_Exit(EXIT_FAILURE);
  }
  return loop.release();
}

std::string describe(const uv_handle_t* handle) {
  const char* type = uv_handle_type_name(uv_handle_get_type(handle));
  std::string text = type == nullptr ? "handle" : type;
  uv_os_fd_t fd = -1;
  if (uv_fileno(handle, &fd) == 0) text += " (descriptor " + std::to_string(fd) + ")";
  return text;
}

}  // namespace

struct Loop::State {
  explicit State(uv_loop_t* raw)
      : loop(raw),
        scheduler(std::make_unique<LoopScheduler>(raw)),
        mailbox(std::make_unique<Mailbox>(raw)),
        waker(must_open<uv_timer_t>(raw, uv_timer_init)),
        turn_end(must_open<uv_check_t>(raw, uv_check_init)) {
    turn_end->data = this;
    uv_check_start(turn_end.get(),
                   [](uv_check_t* check) noexcept { static_cast<State*>(check->data)->report_turn(); });
    uv_loop_set_data(raw, &watch);
    uv_walk(
        raw,
        [](uv_handle_t* handle, void* own) noexcept {
          static_cast<std::vector<uv_handle_t*>*>(own)->push_back(handle);
        },
        &own_handles);
  }

  ~State() { uv_loop_set_data(loop, nullptr); }

  void report_turn() {
    const auto long_turn = watch.end_turn();
    const auto listener = on_long_turn;  // it may be replaced from within
    if (long_turn && listener) listener(*long_turn);
  }

  uv_loop_t* loop;
  TurnWatch watch{{uv_hrtime, cpu_ns_of_this_thread}};
  std::function<void(const LongTurn&)> on_long_turn;
  std::unique_ptr<LoopScheduler> scheduler;
  std::unique_ptr<Mailbox> mailbox;
  Handle<uv_timer_t> waker;     // bounds turn()
  Handle<uv_check_t> turn_end;  // runs last in a turn
  std::vector<uv_handle_t*> own_handles;
  bool stop_requested = false;
};

Loop::Loop() {
  std::signal(SIGPIPE, SIG_IGN);
  state_ = std::make_unique<State>(open_loop());
}

Loop::~Loop() {
  const std::vector<std::string> survivors = surviving_handles();
  uv_loop_t* loop = state_->loop;
  state_.reset();
  uv_run(loop, UV_RUN_NOWAIT);
  if (survivors.empty() && uv_loop_close(loop) == 0) {
    delete loop;
    return;
  }
  for (const std::string& handle : survivors)
    std::fprintf(stderr, "outlived the event loop: %s\n", handle.c_str());
}

void Loop::run() {
  while (!state_->stop_requested) uv_run(state_->loop, UV_RUN_DEFAULT);
  state_->stop_requested = false;
}

void Loop::stop() {
  state_->stop_requested = true;
  uv_stop(state_->loop);
}

void Loop::turn(Millis wait_max) {
  if (wait_max <= Millis{0}) {
    uv_run(state_->loop, UV_RUN_NOWAIT);
    return;
  }
  uv_update_time(state_->loop);
  // It repeats: when this thread does not run for wait_max before uv_run() looks at the clock, libuv (before
  // 1.45) fires it before polling, and would then poll forever.
  const auto wait = static_cast<uint64_t>(wait_max.count());
  uv_timer_start(state_->waker.get(), [](uv_timer_t*) noexcept {}, wait, wait);
  uv_run(state_->loop, UV_RUN_ONCE);
  uv_timer_stop(state_->waker.get());
}

TimePoint Loop::now() const { return state_->scheduler->now(); }
Scheduler& Loop::scheduler() { return *state_->scheduler; }
void Loop::post(Task task) { state_->mailbox->post(std::move(task)); }
void Loop::on_long_turn(std::function<void(const LongTurn&)> listener) {
  state_->on_long_turn = std::move(listener);
}
uint64_t Loop::long_turns() const { return state_->watch.long_turns(); }
uv_loop_s* Loop::raw() { return state_->loop; }

std::vector<std::string> Loop::surviving_handles() {
  state_->scheduler->destroy_retired();
  struct Walk {
    const std::vector<uv_handle_t*>& own;
    std::vector<std::string> open{};
    bool reaping = false;
  };
  const auto visit = [](uv_handle_t* handle, void* arg) noexcept {
    auto* walk = static_cast<Walk*>(arg);
    if (uv_is_closing(handle) || std::count(walk->own.begin(), walk->own.end(), handle) > 0) return;
    const bool orphan = uv_handle_get_type(handle) == UV_PROCESS && handle->data == nullptr;  // see child.cpp
    if (orphan)
      walk->reaping = true;
    else
      walk->open.push_back(describe(handle));
  };
  const auto end = Clock::now() + kReapWaitMax;
  for (;;) {
    turn(Millis{0});
    Walk walk{state_->own_handles};
    uv_walk(state_->loop, visit, &walk);
    if (!walk.reaping || Clock::now() >= end) return std::move(walk.open);
    turn(Millis{10});
  }
}

}  // namespace sliced::reactor
