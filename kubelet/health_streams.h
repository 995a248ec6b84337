#pragma once
// DRAResourceHealth/NodeWatchResources: each watch receives the complete list, again after each change and
// before the kubelet treats it as outdated.
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "http/grpc/server.h"
#include "kubelet/health.h"
#include "reactor/scheduler.h"

namespace sliced::kubelet {

// The kubelet treats a device's health as unknown after this time (health_check_timeout_seconds). The list is
// sent three times within it.
constexpr std::chrono::seconds kHealthOutdatedAfter{120};
constexpr Millis kHealthRepeat{40'000};
constexpr Millis kHealthSettle{200};  // changes within this time are sent together
constexpr size_t kHealthStreamsMax = 8;

struct HealthPorts {
  reactor::Scheduler& scheduler;
  std::function<std::vector<DeviceHealth>()> judge;
  std::function<int64_t()> clock;  // seconds since 1970
};

/// The watches of one driver. Health is computed only while a watch exists. Every message is the complete
/// list, so a message may be skipped: a slow watch receives the current list later.
/// Threads: the loop's.
/// Reentry: judge and clock are called from a timer, never from add() or look().
class HealthStreams {
 public:
  explicit HealthStreams(HealthPorts ports) : ports_(std::move(ports)) {}
  HealthStreams(const HealthStreams&) = delete;

  /// Adds a watch, which receives the list in the next turn. Refuses more than kHealthStreamsMax
  /// (kResourceExhausted). Cancelled watches are dropped here and with each message.
  void add(grpc::Answer watch);
  /// Schedules a check for changes. Does nothing without a watch.
  void look();
  size_t watches() const { return watches_.size(); }

 private:
  // Computes the health, and sends it if it changed, if a watch has not received the last list, or if that is
  // older than kHealthRepeat.
  void tell();
  // Sends to one watch. A watch that has not read the last message is tried again after a second.
  void tell(grpc::Answer& watch, const std::string& message);
  // Arms the timer, unless it fires earlier.
  void arm(Millis delay);

  const HealthPorts ports_;
  std::list<grpc::Answer> watches_;
  std::vector<DeviceHealth> sent_;
  bool is_sent_ = false;              // all watches received sent_
  TimePoint sent_at_{}, looks_at_{};  // when sent_ was sent; when the next check is due
  reactor::Ticket next_;
};

}  // namespace sliced::kubelet
