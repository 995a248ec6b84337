#pragma once
// DRAResourceHealth/NodeWatchResources: who watches hears the whole list, again whenever it changes, and before
// the kubelet takes it for outdated.
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "http/grpc/server.h"
#include "kubelet/health.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

// The kubelet is told how long a word counts (health_check_timeout_seconds), and takes a device's health for unknown
// after that: it hears it three times within.
constexpr std::chrono::seconds kHealthOutdatedAfter{120};
constexpr Millis kHealthRepeat{40'000};
constexpr Millis kHealthSettle{200};  // what changes within it is told together
constexpr size_t kHealthStreamsMax = 8;

/// Of one driver. Nobody is asked while nobody watches. Every message is the whole list, so that none has to arrive:
/// who has not taken the last one hears what is true once it has.
/// Threads: the loop's.
/// Reentry: judge and clock are called from a timer, never from add() or look().
class HealthStreams {
 public:
  struct Ports {
    reactor::Scheduler& scheduler;
    std::function<std::vector<DeviceHealth>()> judge;  // now
    std::function<int64_t()> clock;                    // seconds since 1970
  };
  explicit HealthStreams(Ports ports) : ports_(std::move(ports)) {}
  HealthStreams(const HealthStreams&) = delete;

  /// A watch. More than kHealthStreamsMax are refused (kResourceExhausted).
  /// It hears the list in the next turn. Watches that nobody wants any more are let go of here and with each
  /// word.
  void add(grpc::Answer watch);
  /// Something may have changed.
  /// Does nothing while nobody watches.
  void look();
  size_t watches() const { return watches_.size(); }

 private:
  // Judges, and sends where something differs, somebody lacks the last word, or it is kHealthRepeat old.
  void tell();
  // Not to one that has not taken the last message: it is asked again after a second.
  void tell(grpc::Answer& watch, const std::string& message);
  // The earlier of two times.
  void arm(Millis delay);

  const Ports ports_;
  std::list<grpc::Answer> watches_;
  std::vector<DeviceHealth> told_;
  bool is_told_ = false;  // told_ is what all watches know
  TimePoint query_times_{}, looks_at_{};
  reactor::Ticket next_;
};

}  // namespace sliced::kubelet
