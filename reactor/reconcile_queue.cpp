#include "reactor/reconcile_queue.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sliced::reactor {

struct ReconcileQueue::State : std::enable_shared_from_this<State> {
  struct Key {
    bool running = false;
    bool forgotten = false;  // while running
    uint64_t run = 0;        // number of the run under way: a late Done of an earlier one does not count
    std::optional<TimePoint> due;  // marked
    std::optional<Backoff> backoff;
  };
  // Handed out inside Done; going without having been called counts as a failure.
  class Finish {
   public:
    Finish(std::weak_ptr<State> queue, std::string key, uint64_t run)
        : queue_(std::move(queue)), key_(std::move(key)), run_(run) {}
    Finish(Finish&&) = delete;
    ~Finish() { call(false); }
    void call(bool ok) {
      const auto alive = std::exchange(queue_, {}).lock();
      if (alive) alive->finish(key_, run_, ok);
    }

   private:
    std::weak_ptr<State> queue_;
    std::string key_;
    uint64_t run_;
  };

  State(Scheduler& scheduler, Start start, Random random, BackoffPolicy policy)
      : scheduler_(scheduler), start_(std::move(start)), random_(std::move(random)), policy_(policy) {}

  void mark(const std::string& name, Millis delay) {
    Key& key = keys_[name];
    const TimePoint due = scheduler_.now() + std::max(delay, Millis{0});
    if (!key.due || due < *key.due) key.due = due;
    key.forgotten = false;
    arm();
  }

  void forget(const std::string& name) {
    const auto at = keys_.find(name);
    if (at == keys_.end()) return;
    at->second.due.reset();
    at->second.backoff.reset();
    at->second.forgotten = true;
    if (!at->second.running) keys_.erase(at);
    arm();
  }

  bool idle() const {
    return std::none_of(keys_.begin(), keys_.end(),
                        [](const auto& entry) { return entry.second.running || entry.second.due; });
  }

  void arm() {
    TimePoint earliest = TimePoint::max();
    for (const auto& [name, key] : keys_)
      if (key.due && !key.running) earliest = std::min(earliest, *key.due);
    if (earliest == armed_for_) return;
    armed_for_ = earliest;
    ticket_.reset();
    if (earliest == TimePoint::max()) return;
    const Millis wait = std::max(earliest - scheduler_.now(), Millis{0});
    ticket_ = scheduler_.after(wait, [this] { run_due(); });
  }

  void run_due() {
    const auto self = shared_from_this();  // start_ may destroy the queue
    armed_for_ = TimePoint::max();
    std::vector<std::string> due;
    for (const auto& [name, key] : keys_)
      if (key.due && !key.running && *key.due <= scheduler_.now()) due.push_back(name);
    for (const std::string& name : due)
      if (!stopped_) run(name);
    if (!stopped_) arm();
  }

  void run(const std::string& name) {
    const auto at = keys_.find(name);
    if (at == keys_.end() || !at->second.due || at->second.running) return;  // forgotten meanwhile
    at->second.due.reset();
    at->second.running = true;
    at->second.run = ++runs_;
    const auto finish = std::make_shared<Finish>(weak_from_this(), name, runs_);
    start_(name, [finish](bool ok) { finish->call(ok); });
  }

  void finish(const std::string& name, uint64_t run, bool ok) {
    const auto at = keys_.find(name);
    if (stopped_ || at == keys_.end() || !at->second.running || at->second.run != run) return;
    Key& key = at->second;
    key.running = false;
    if (ok || key.forgotten) {
      key.backoff.reset();
      if (!key.due) keys_.erase(at);
      arm();
      return;
    }
    if (!key.backoff) key.backoff.emplace(random_, policy_);
    mark(name, key.backoff->next(scheduler_.now()));
  }

  Scheduler& scheduler_;
  const Start start_;
  const Random random_;
  const BackoffPolicy policy_;
  std::map<std::string, Key> keys_;
  uint64_t runs_ = 0;
  TimePoint armed_for_ = TimePoint::max();
  Ticket ticket_;
  bool stopped_ = false;
};

ReconcileQueue::ReconcileQueue(Scheduler& scheduler, Start start, Random random, BackoffPolicy policy)
    : state_(std::make_shared<State>(scheduler, std::move(start), std::move(random), policy)) {}

ReconcileQueue::~ReconcileQueue() {
  state_->stopped_ = true;
  state_->ticket_.reset();
}

void ReconcileQueue::mark(const std::string& key, Millis delay) { state_->mark(key, delay); }
void ReconcileQueue::forget(const std::string& key) { state_->forget(key); }
bool ReconcileQueue::idle() const { return state_->idle(); }

}  // namespace sliced::reactor
