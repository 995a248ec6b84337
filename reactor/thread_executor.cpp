#include "reactor/thread_executor.h"

#include <uv.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "reactor/base/callback_guard.h"
#include "reactor/base/thread.h"
#include "reactor/handle.h"
#include "reactor/loop.h"
#include "reactor/turn_watch.h"

namespace sliced::reactor {
namespace {

using JobId = uint64_t;

}  // namespace

// Shared by workers and the loop. A worker holds a reference, so that a hanging one may outlive everything
// else.
struct ThreadExecutor::Shared {
  struct Running {
    TimePoint started;
    Millis deadline;
    pthread_t worker;
    std::optional<Thread> lost;  // the worker, once the job is beyond its deadline
  };
  struct Waiting {
    JobId id;
    Work work;
    Millis deadline;
  };

  std::mutex mutex;
  std::condition_variable work_arrived;
  std::deque<Waiting> waiting;
  std::map<JobId, Running> running;
  std::vector<JobId> finished;  // not reported to the loop yet
  std::vector<Thread> workers;  // without the lost ones
  std::vector<Thread> retired;  // lost ones whose work has returned
  bool closed = false;          // the executor was destroyed: async must not be used
  uv_async_t* async = nullptr;

  static TimePoint clock() { return std::chrono::time_point_cast<Millis>(Clock::now()); }
  static void work_on(Shared& shared) noexcept;
  bool take(std::unique_lock<std::mutex>& lock, Waiting& job);
  bool put_back(JobId id);
  std::optional<Thread> extract(pthread_t worker);
  std::deque<Waiting> withdraw(JobId id);
  size_t lost() const {
    return static_cast<size_t>(std::count_if(running.begin(), running.end(),
                                             [](const auto& job) { return job.second.lost.has_value(); }));
  }
};

void ThreadExecutor::Shared::work_on(Shared& shared) noexcept {
  for (;;) {
    Waiting job;
    {
      std::unique_lock lock(shared.mutex);
      if (!shared.take(lock, job)) return;
    }
    job.work();
    job.work = nullptr;  // captured values are destroyed before the loop is notified
    const std::lock_guard lock(shared.mutex);
    if (!shared.put_back(job.id)) return;
  }
}

bool ThreadExecutor::Shared::take(std::unique_lock<std::mutex>& lock, Waiting& job) {
  work_arrived.wait(lock, [this] { return closed || !waiting.empty(); });
  if (closed) return false;
  job = std::move(waiting.front());
  waiting.pop_front();
  running[job.id] = {.started = clock(), .deadline = job.deadline, .worker = pthread_self()};
  return true;
}

// Returns false if the worker was replaced meanwhile, or the executor was destroyed.
bool ThreadExecutor::Shared::put_back(JobId id) {
  std::optional<Thread> lost = std::move(running.extract(id).mapped().lost);
  if (closed) return false;
  if (lost) {
    retired.push_back(std::move(*lost));
    return false;
  }
  finished.push_back(id);
  uv_async_send(async);
  return true;
}

std::optional<Thread> ThreadExecutor::Shared::extract(pthread_t worker) {
  const auto at = std::find_if(workers.begin(), workers.end(),
                               [&](const Thread& thread) { return thread.has_id(worker); });
  if (at == workers.end()) return std::nullopt;
  Thread extracted = std::move(*at);
  workers.erase(at);
  return extracted;
}

// Removes a job that no worker has started, if there is one. Returns it, so that its captures are destroyed
// outside the lock.
std::deque<ThreadExecutor::Shared::Waiting> ThreadExecutor::Shared::withdraw(JobId id) {
  std::deque<Waiting> withdrawn;
  const std::lock_guard lock(mutex);
  const auto at =
      std::find_if(waiting.begin(), waiting.end(), [&](const Waiting& job) { return job.id == id; });
  if (at == waiting.end()) return withdrawn;
  withdrawn.push_back(std::move(*at));
  waiting.erase(at);
  return withdrawn;
}

// The loop's part: pending callbacks and deadlines.
class ThreadExecutor::Loopside {
 public:
  Loopside(Loop& loop, Limits limits) : loop_(loop), limits_(limits), async_(open_async(loop)) {
    async_->data = this;
    shared_->async = async_.get();
  }
  ~Loopside();

  std::unique_ptr<Job> run(Work work, Millis deadline, Done on_done);
  const std::shared_ptr<Shared>& shared() const { return shared_; }

 private:
  // Refers to the executor weakly, because a Job may outlive it.
  struct Ownership final : Job {
    std::weak_ptr<std::map<JobId, Done>> all;
    std::shared_ptr<Shared> shared;
    JobId id = 0;
    ~Ownership() override {
      const auto alive = all.lock();
      if (!alive || alive->extract(id).empty()) return;
      const auto never_run = shared->withdraw(id);
    }
  };

  static Handle<uv_async_t> open_async(Loop& loop);
  static void on_async(uv_async_t* raw) noexcept;
  void collect();
  void watch(TimePoint when);
  void look_at_deadlines();
  void staff();
  void join_retired();
  void refuse(std::deque<Shared::Waiting> jobs);
  void complete(const std::vector<JobId>& jobs, bool finished);

  CallbackGuard callbacks_{"ThreadExecutor"};
  Loop& loop_;
  const Limits limits_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<std::map<JobId, Done>> done_ =
      std::make_shared<std::map<JobId, Done>>();  // also: still alive
  Handle<uv_async_t> async_;
  Ticket watch_;
  std::deque<Shared::Waiting> refused_;  // until the next turn
  Ticket refusal_;
  TimePoint watch_for_ = TimePoint::max();
  JobId last_id_ = 0;
};

Handle<uv_async_t> ThreadExecutor::Loopside::open_async(Loop& loop) {
  // The loop has its own async handle, so the shared descriptor exists and this cannot fail.
  return Handle<uv_async_t>::open([&](uv_async_t* raw) { return uv_async_init(loop.raw(), raw, &on_async); })
      .value();
}

// Joins the workers that have nothing more to do: the destructors of their thread-local values use globals of
// libraries (OpenSSL), which exit() destroys.
ThreadExecutor::Loopside::~Loopside() {
  std::deque<Shared::Waiting> never_run;  // destroyed outside the lock
  std::vector<Thread> idle;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    never_run.swap(shared_->waiting);
    for (const auto& [id, job] : shared_->running) (void)shared_->extract(job.worker);
    idle.swap(shared_->workers);
    shared_->work_arrived.notify_all();
  }
  for (Thread& worker : idle) worker.join();
  join_retired();
}

std::unique_ptr<Job> ThreadExecutor::Loopside::run(Work work, Millis deadline, Done on_done) {
  const JobId id = ++last_id_;
  auto job = std::make_unique<Ownership>();
  job->all = done_;
  job->shared = shared_;
  job->id = id;
  done_->emplace(id, std::move(on_done));
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->waiting.push_back({id, std::move(work), deadline});
    shared_->work_arrived.notify_one();
  }
  staff();
  if (deadline > Millis{0}) watch(loop_.now() + deadline);
  return job;
}

void ThreadExecutor::Loopside::on_async(uv_async_t* raw) noexcept {
  static_cast<Loopside*>(raw->data)->collect();
}

void ThreadExecutor::Loopside::collect() {
  std::vector<JobId> finished;
  {
    const std::lock_guard lock(shared_->mutex);
    finished.swap(shared_->finished);
  }
  complete(finished, true);
}

void ThreadExecutor::Loopside::complete(const std::vector<JobId>& jobs, bool finished) {
  for (const JobId id : jobs) {
    const auto waiting = done_->extract(id);
    if (!waiting) continue;
    const TurnSpan span(loop_.raw(), "end of a job", waiting.mapped().target_type());
    const CallbackGuard::Call running(callbacks_);
    waiting.mapped()(finished);
  }
}

void ThreadExecutor::Loopside::watch(TimePoint when) {
  if (when >= watch_for_) return;
  watch_for_ = when;
  watch_ = loop_.scheduler().after(std::max(when - loop_.now(), Millis{0}), [this] { look_at_deadlines(); });
}

void ThreadExecutor::Loopside::look_at_deadlines() {
  watch_for_ = TimePoint::max();
  const TimePoint now = Shared::clock();
  TimePoint next = TimePoint::max();
  std::vector<JobId> late;
  {
    const std::lock_guard lock(shared_->mutex);
    for (auto& [id, job] : shared_->running) {
      if (job.lost || job.deadline <= Millis{0}) continue;
      if (job.started + job.deadline <= now) {
        job.lost = shared_->extract(job.worker);
        late.push_back(id);
      } else {
        next = std::min(next, job.started + job.deadline);
      }
    }
    for (const auto& job : shared_->waiting)
      if (job.deadline > Millis{0}) next = std::min(next, now + job.deadline);
  }
  staff();
  if (next != TimePoint::max()) watch(loop_.now() + std::max(next - now, Millis{1}));
  complete(late, false);
}

// Waits for the ends of threads, not for work.
void ThreadExecutor::Loopside::join_retired() {
  std::vector<Thread> retired;
  {
    const std::lock_guard lock(shared_->mutex);
    retired.swap(shared_->retired);
  }
  for (Thread& worker : retired) worker.join();
}

// Starts workers for waiting jobs, or fails the jobs if too many workers are lost.
void ThreadExecutor::Loopside::staff() {
  join_retired();
  const std::lock_guard lock(shared_->mutex);
  const size_t lost = shared_->lost();
  const size_t busy = shared_->running.size() - lost;
  if (lost < limits_.lost_max)
    while (shared_->workers.size() < limits_.workers &&
           shared_->workers.size() - busy < shared_->waiting.size()) {
      auto worker = Thread::start<&Shared::work_on>(kStackBytes, shared_);
      if (!worker) break;
      shared_->workers.push_back(std::move(*worker));
    }
  const bool hopeless = lost >= limits_.lost_max || shared_->workers.empty();
  if (hopeless && !shared_->waiting.empty()) refuse(std::exchange(shared_->waiting, {}));
}

void ThreadExecutor::Loopside::refuse(std::deque<Shared::Waiting> jobs) {
  for (auto& job : jobs) refused_.push_back(std::move(job));
  refusal_ = loop_.scheduler().after(Millis{0}, [this] {
    std::vector<JobId> ids;
    for (const auto& job : std::exchange(refused_, {})) ids.push_back(job.id);
    complete(ids, false);
  });
}

ThreadExecutor::ThreadExecutor(Loop& loop, Limits limits)
    : loopside_(std::make_unique<Loopside>(loop, limits)) {}
ThreadExecutor::~ThreadExecutor() = default;

std::unique_ptr<Job> ThreadExecutor::run(Work work, Millis deadline, Done on_done) {
  return loopside_->run(std::move(work), deadline, std::move(on_done));
}

size_t ThreadExecutor::lost() const {
  const std::lock_guard lock(loopside_->shared()->mutex);
  return loopside_->shared()->lost();
}

bool ThreadExecutor::busy() const {
  const std::lock_guard lock(loopside_->shared()->mutex);
  return !loopside_->shared()->waiting.empty() || !loopside_->shared()->running.empty();
}

}  // namespace sliced::reactor
