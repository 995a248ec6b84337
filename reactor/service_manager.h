#pragma once
// Whoever started us and asks how we stand: systemd, by sd_notify(3)'s protocol. A datagram of NAME=VALUE
// lines for each word, to the socket that $NOTIFY_SOCKET names.
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

/// What the environment says of it.
/// From sd_notify(3) and sd_watchdog_enabled(3); values that are no numbers count as not said.
struct ServiceAddress {
  std::string socket;                     // "/path", or "@name" of the abstract namespace; "": nobody asks
  std::chrono::microseconds watchdog{0};  // within that a word is expected, again and again; 0: nobody waits
  bool operator==(const ServiceAddress&) const = default;
};
using Environment = std::function<std::optional<std::string>(const char* name)>;
/// pid: ours. $WATCHDOG_PID may name another process, which is then who is watched.
ServiceAddress read_service_address(const Environment& env, int pid);
/// Of this process; takes the variables out of the environment, so that no program that we start speaks for us.
/// To be called before there are threads.
ServiceAddress take_service_address();

/// Order:   words arrive in the order in which they are said; of several that say how it goes, of which none could be
///          sent, the last.
/// Errors:  none is fatal, and none waits. What cannot be sent now (nobody listens, or it reads too slowly)
///          is said once in the log, kept (kKeptMax words at most) and tried again with the next one, and
///          every kRetry while the socket is full.
/// Watch:   from construction on the loop's timer speaks twice in the time of the watchdog: a loop that is
///          stuck is silent.
class ServiceManager {
 public:
  static constexpr size_t kStatusBytesMax = 512;
  static constexpr size_t kKeptMax = 8;
  static constexpr Millis kRetry{1'000};

  ServiceManager(Scheduler& scheduler, Log& log, ServiceAddress address);

  /// Whether there is a NOTIFY_SOCKET. Where there is none, each of the words below does nothing.
  bool is_asked() const { return !address_.socket.empty(); }
  /// We do our work, or do it again after reloading().
  void ready();
  bool is_ready() const { return is_ready_; }
  /// The configuration is being read again; ready() ends it. Before the first ready() it is nothing to tell.
  void reloading();
  /// Nothing but the end follows.
  /// What is kept and not sent at the destructor is lost.
  void stopping();
  /// One line for people; what was told last is not told again.
  void status(std::string_view text);

 private:
  struct Word {
    std::string text;
    bool is_status = false;
  };
  void say(Word word);
  void flush();
  void arm_watchdog();
  int send(std::string_view text) const;  // 0 or an errno

  Scheduler& scheduler_;
  Log& log_;
  const ServiceAddress address_;
  const Descriptor socket_;
  std::deque<Word> kept_;
  bool is_ready_ = false;
  LastMessage status_, problem_;
  Ticket retry_, watchdog_;
};

}  // namespace sliced::reactor
