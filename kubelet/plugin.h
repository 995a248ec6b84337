#pragma once
// The kubelet plugin: both drivers' sockets, from start() to its end.
//
//   kubelet ──▶ registration.sock ──▶ registration_methods
//           ──▶ dra.sock ───────────▶ plugin_methods ──▶ Preparer
//                                              └───────▶ HealthStreams ──▶ HealthBook
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/endpoint.h"
#include "kubelet/health_streams.h"
#include "kubelet/preparer_port.h"
#include "kubelet/sockets.h"
#include "reactor/backoff.h"
#include "reactor/base/said_once.h"

namespace sliced::kubelet {

/// Sockets: the service's is there before the registration's, and both are looked after: one that cannot be
///          opened is tried again (every 2 s at most), and so is one whose file is gone.
///          A driver whose socket answers, under whichever pod's name, is another program's: it is not served until
///          that ends. What nobody answers at any more is removed.
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
  };
  /// Ports outlive it, and what judge() holds.
  Plugin(Ports ports, Settings settings, std::vector<Driver> drivers);
  ~Plugin();

  /// From now on this process is the node's.
  /// Opens sockets in this turn, and in later ones what could not be opened.
  void start();
  /// The host or what is offered may have changed.
  /// Cheap: what has changed within kHealthSettle is told together, and nothing is asked while no kubelet
  /// watches.
  void look_at_health();
  /// Both sockets of the driver are there.
  bool is_serving(const std::string& driver) const;

 private:
  class Served;
  std::list<std::unique_ptr<Served>> served_;
};

}  // namespace sliced::kubelet
