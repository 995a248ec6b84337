#pragma once
// Notifications to the service manager (systemd) by the protocol of sd_notify(3): datagrams of NAME=VALUE
// lines to the socket in $NOTIFY_SOCKET.
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/descriptor.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {

/// The settings in the environment (sd_notify(3), sd_watchdog_enabled(3)). Invalid numbers count as absent.
struct ServiceAddress {
  std::string socket;                     // "/path", or "@name" of the abstract namespace; "": none
  std::chrono::microseconds watchdog{0};  // interval in which notifications are required; 0: none
  bool operator==(const ServiceAddress&) const = default;
};
using Environment = std::function<std::optional<std::string>(const char* name)>;
/// pid: of this process. $WATCHDOG_PID may name another process, for which the watchdog then is.
ServiceAddress read_service_address(const Environment& env, int pid);
/// Reads the settings and removes them from the environment, so that started programs do not send
/// notifications. Requires: no other threads exist yet.
ServiceAddress take_service_address();

/// Order:    notifications arrive in order; of several unsent status texts only the last is kept.
/// Errors:   not fatal and not blocking. A notification that cannot be sent (no receiver, full socket) is
/// logged once, kept (at most kKeptMax) and sent with the next one, or every kRetry while the socket is full.
/// Watchdog: a timer of the loop sends twice in its interval, so that a blocked loop is detected.
class ServiceManager {
 public:
  static constexpr size_t kStatusBytesMax = 512;
  static constexpr size_t kKeptMax = 8;
  static constexpr Millis kRetry{1'000};

  ServiceManager(Scheduler& scheduler, Log& log, ServiceAddress address);

  /// Returns true if there is a NOTIFY_SOCKET; otherwise the functions below have no effect.
  bool is_asked() const { return !address_.socket.empty(); }
  /// The service works, also after reloading().
  void ready();
  bool is_ready() const { return is_ready_; }
  /// The configuration is read again, until ready(). No effect before the first ready().
  void reloading();
  /// The service ends. Unsent notifications are lost at destruction.
  void stopping();
  /// A line for people; a repeated one is not sent.
  void status(std::string_view text);

 private:
  struct Notification {
    std::string text;
    bool is_status = false;
  };
  void notify(Notification notification);
  void flush();
  void arm_watchdog();
  int send(std::string_view text) const;  // 0 or an errno

  Scheduler& scheduler_;
  Log& log_;
  const ServiceAddress address_;
  const Descriptor socket_;
  std::deque<Notification> unsent_;
  bool is_ready_ = false;
  LastMessage status_, problem_;
  Ticket retry_, watchdog_;
};

}  // namespace sliced::reactor
