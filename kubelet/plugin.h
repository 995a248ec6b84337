#pragma once
// The kubelet plugin: both drivers' sockets, from start() to its end.
//
//   kubelet ──▶ registration.sock ──▶ registration_methods
//           ──▶ dra.sock ───────────▶ plugin_methods ──▶ Preparer
//                                              └───────▶ HealthStreams ──▶ HealthBook
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/endpoint.h"
#include "kubelet/health_streams.h"
#include "kubelet/preparer_port.h"
#include "kubelet/sockets.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced::kubelet {

/// Sockets: the service's is there before the registration's, and both are looked after: one that cannot be
///          opened is tried again (every 2 s at most), and so is one whose file is gone.
///          A driver whose socket answers, under whichever pod's name, is another program's: it is not served until
///          that ends. Sockets at which nobody answers are removed.
/// Ending:  removes both files; the kubelet then deregisters the driver.
/// Log:     that a driver is registered, or why not; once as long as it lasts.
class Plugin {
 public:
  struct Driver {
    std::string name;
    std::function<std::vector<DeviceHealth>()> judge;  // its devices, now
  };
  struct Settings {
    SocketDirectories directories;
    std::string pod_uid;  // "": socket_paths()
  };
  struct Ports {
    reactor::Loop& loop;
    Log& log;
    Preparer& preparer;
    std::function<int64_t()> clock;  // seconds since 1970
    std::function<void()> on_registered = [] {
    };  // a driver, by a kubelet; also each time that one comes back
    /// other_programs() has another answer. Also within start().
    std::function<void()> on_other_program = [] {};
  };
  /// Ports outlive it, and what judge() holds.
  Plugin(Ports ports, Settings settings, std::vector<Driver> drivers);
  ~Plugin();

  /// From now on this process is the node's.
  /// on_alone: no other program serves one of the drivers, for the first time: what it has prepared will not change any
  /// more. Once, and in this turn, before the first socket is opened, where that is so from the start.
  /// Opens sockets in this turn, and in later ones what could not be opened.
  void start(std::function<void()> on_alone = [] {});
  /// Drivers that another program serves, each with where: "PATH: ...". The kubelet may give claims of such a driver to
  /// either, and both would write its ResourceSlices.
  const std::map<std::string, std::string>& other_programs() const { return others_; }
  /// The host or what is offered may have changed.
  /// Cheap: what has changed within kHealthSettle is told together, and nothing is asked while no kubelet
  /// watches.
  void look_at_health();
  /// Both sockets of the driver are there.
  bool is_serving(const std::string& driver) const;

 private:
  class Served;
  void note_other(const std::string& driver, const std::string& where);

  const Ports ports_;
  std::list<std::unique_ptr<Served>> served_;
  std::function<void()> on_alone_;  // empty once it was called
  std::map<std::string, std::string> others_;
};

}  // namespace sliced::kubelet
