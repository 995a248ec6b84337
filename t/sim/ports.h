#pragma once
// The border between the daemon and its world. Whatever the world calls in the daemon goes through enter(),
// whatever the daemon asks of the world through a port below: so operations can be counted, failed one by
// one, and observed where the daemon sees them; memory can be refused to the daemon alone; and a daemon that
// died is never called again.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/objects/cluster.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"
#include "t/fake/abandon.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"

namespace sliced::sim {

/// Memory is refused to what the daemon asks for: the program's operator new asks, and abandons (t/fake/abandon.h) what is refused.
class Memory {
 public:
  static void refuse_after(uint64_t allocations) { countdown_ = allocations; }  // 0: never
  static uint64_t asked() { return asked_; }
  static bool is_refused() {
    if (!is_armed_) return false;
    ++asked_;
    return countdown_ > 0 && --countdown_ == 0;
  }

 private:
  friend class Border;
  static inline bool is_armed_ = false;
  static inline uint64_t countdown_ = 0, asked_ = 0;
};

/// Fails the n-th operation of a kind: "list", "watch", "write", "get", "discover", "schema", "version",
/// "event" (of a watch), "read", "readdir", "readlink", "timer".
struct FaultPlan {
  std::string operation;
  uint64_t number = 0;  // 1-based; 0: none
};

class Border {
 public:
  /// Runs f in the daemon. Where it is abandoned as killed, as where memory is refused, the process ends.
  template <class F>
  void enter(F&& f) {
    enter_life(life_, std::forward<F>(f));
  }
  /// The same of what one life of the daemon has asked for: the next one does not hear of it.
  template <class F>
  void enter_life(uint64_t life, F&& f) {
    if (is_dead_ || life != life_) return;
    const bool before = std::exchange(Memory::is_armed_, true);
    if (!fake::ends(fake::Abandoned::kIsKilled, f)) {
      is_dead_ = true;
      ++deaths;
    }
    Memory::is_armed_ = before;
  }
  /// Runs f outside of the daemon, called by it.
  template <class F>
  auto leave(F&& f) {
    struct Back {
      bool before = std::exchange(Memory::is_armed_, false);
      ~Back() { Memory::is_armed_ = before; }
    } back;
    return f();
  }
  /// Counts an operation; true when the plan says that this one fails.
  bool fails(const std::string& operation) {
    const uint64_t number = ++counts[operation];
    if (plan.number == 0 || plan.operation != operation || plan.number != number) return false;
    ++failed;
    return true;
  }

  bool is_dead() const { return is_dead_; }
  void is_born() {
    is_dead_ = false;
    ++life_;
  }
  uint64_t life() const { return life_; }
  void dies() { is_dead_ = true; }

  FaultPlan plan;
  std::map<std::string, uint64_t> counts;
  uint64_t failed = 0, deaths = 0;

 private:
  bool is_dead_ = true;
  uint64_t life_ = 0;
};

class SimScheduler final : public reactor::Scheduler {
 public:
  /// How late a timer is that the plan picks.
  static constexpr Millis kLate{3'000};

  SimScheduler(fake::FakeScheduler& inner, Border& border) : inner_(inner), border_(border) {}
  TimePoint now() const override { return inner_.now(); }
  void destroy_later(std::shared_ptr<void> object) override { inner_.destroy_later(std::move(object)); }
  reactor::Ticket after(Millis delay, reactor::Task task) override {
    return border_.leave([&] {
      if (delay > Millis{0} && border_.fails("timer")) delay += kLate;
      auto ticket = inner_.after(
          delay, [this, life = border_.life(), task = std::move(task)] { border_.enter_life(life, task); });
      if (std::exchange(given_in_, border_.life()) != border_.life()) given_.clear();
      if (given_.size() >= 2 * wanted_max_) {
        std::erase_if(given_, [](const auto& one) { return one.expired(); });
        wanted_max_ = std::max<size_t>(64, given_.size());
      }
      given_.push_back(ticket);
      return ticket;
    });
  }
  /// Tasks that the daemon still waits for.
  size_t pending() const {
    return static_cast<size_t>(
        std::count_if(given_.begin(), given_.end(), [](const auto& one) { return !one.expired(); }));
  }

 private:
  fake::FakeScheduler& inner_;
  Border& border_;
  uint64_t given_in_ = 0;  // the life
  std::vector<std::weak_ptr<reactor::Task>> given_;
  size_t wanted_max_ = 64;
};

class SimExecutor final : public reactor::Executor {
 public:
  SimExecutor(fake::FakeExecutor& inner, Border& border) : inner_(inner), border_(border) {}
  std::unique_ptr<reactor::Job> run(Work work, Millis deadline, Done on_done) override {
    return border_.leave([&] {
      const uint64_t life = border_.life();
      return inner_.run([this, life, work = std::move(work)] { border_.enter_life(life, work); }, deadline,
                        [this, life, on_done = std::move(on_done)](bool finished) {
                          border_.enter_life(life, [&] { on_done(finished); });
                        });
    });
  }

 private:
  fake::FakeExecutor& inner_;
  Border& border_;
};

/// The cluster as the daemon's HTTP client shows it: an answer that does not come within 30 s is a timeout.
class SimCluster final : public kube::Cluster {
 public:
  static constexpr Millis kAnswerMax{30'000};
  static constexpr Millis kWatchSilenceMax{330'000};

  /// What the daemon got to see. Called outside of the daemon.
  struct Observer {
    std::function<void(const std::string& verb, const kube::Failure&)> on_failure;
    std::function<void(const std::string& plural, kube::EventType, std::string_view object)> on_event;
    std::function<void(const std::string& verb)> on_answer;
    std::function<void(const kube::WriteRequest&)> on_write;  // sent
  };
  Observer observer;

  SimCluster(fake::FakeCluster& inner, fake::FakeScheduler& scheduler, Border& border)
      : inner_(inner), scheduler_(scheduler), border_(border) {}

  kube::CallPtr list(kube::ListRequest request, kube::ListHandlers handlers) override;
  kube::CallPtr watch(kube::WatchRequest request, kube::WatchHandlers handlers) override;
  kube::CallPtr write(kube::WriteRequest request, kube::WriteHandlers handlers) override;
  kube::CallPtr get(kube::GetRequest request, kube::WriteHandlers handlers) override;
  kube::CallPtr discover(std::string group, std::string version,
                         std::function<void(std::vector<std::string>)> on_done,
                         std::function<void(const kube::Failure&)> on_failure) override;
  kube::CallPtr schema(std::string group, std::string version, std::function<void(std::string_view)> on_done,
                       std::function<void(const kube::Failure&)> on_failure) override;
  kube::CallPtr server_info(std::function<void(kube::ServerInfo)> on_done,
                            std::function<void(const kube::Failure&)> on_failure) override;
  std::string describe() const override { return "simulation"; }

  size_t open_calls() const { return open_calls_; }
  /// Writes that were sent and not answered, by a daemon that may have died since.
  size_t writes_under_way() const { return writes_under_way_; }
  uint64_t writes_begun() const { return writes_begun_; }

 private:
  struct Wire;
  using Fail = std::function<void(const kube::Failure&)>;
  /// start: makes the call of the fake, given the failure handler to use.
  kube::CallPtr begin(const std::string& verb, Millis patience, Fail on_failure,
                      const std::function<kube::CallPtr(const std::shared_ptr<Wire>&)>& start);
  void end(Wire& wire);

  fake::FakeCluster& inner_;
  fake::FakeScheduler& scheduler_;
  Border& border_;
  uint64_t open_in_ = 0;   // the life that they are of
  size_t open_calls_ = 0;  // an earlier one that was killed may have dropped none
  size_t writes_under_way_ = 0;
  uint64_t writes_begun_ = 0;
};

}  // namespace sliced::sim
