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
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/cluster.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"

namespace sliced::sim {

/// Memory is refused (std::bad_alloc) to what is asked for between arm() and disarm(); the program's operator
/// new asks.
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
  /// Runs f in the daemon. A bad_alloc that gets out of it is a process that ends.
  template <class F>
  void enter(F&& f) {
    if (is_dead_) return;
    const bool before = std::exchange(Memory::is_armed_, true);
    try {
      f();
    } catch (const std::bad_alloc&) {
      is_dead_ = true;
      ++deaths;
    } catch (...) {
      Memory::is_armed_ = before;
      throw;
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
  void is_born() { is_dead_ = false; }
  void dies() { is_dead_ = true; }

  FaultPlan plan;
  std::map<std::string, uint64_t> counts;
  uint64_t failed = 0, deaths = 0;

 private:
  bool is_dead_ = true;
};

class SimScheduler final : public reactor::Scheduler {
 public:
  /// How late a timer is that the plan picks.
  static constexpr Millis kLate{3'000};

  SimScheduler(fake::FakeScheduler& inner, Border& border) : inner_(inner), border_(border) {}
  TimePoint now() const override { return inner_.now(); }
  reactor::Ticket after(Millis delay, reactor::Task task) override {
    return border_.leave([&] {
      if (delay > Millis{0} && border_.fails("timer")) delay += kLate;
      auto ticket = inner_.after(delay, [this, task = std::move(task)] { border_.enter(task); });
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
  std::vector<std::weak_ptr<reactor::Task>> given_;
  size_t wanted_max_ = 64;
};

class SimExecutor final : public reactor::Executor {
 public:
  SimExecutor(fake::FakeExecutor& inner, Border& border) : inner_(inner), border_(border) {}
  std::unique_ptr<reactor::Job> run(Work work, Millis deadline, Done on_done) override {
    return border_.leave([&] {
      return inner_.run(
          [this, work = std::move(work)] { border_.enter(work); }, deadline,
          [this, on_done = std::move(on_done)](bool finished) { border_.enter([&] { on_done(finished); }); });
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
  size_t open_calls_ = 0, writes_under_way_ = 0;
  uint64_t writes_begun_ = 0;
};

}  // namespace sliced::sim
