#pragma once
// The kubelet plugin: the sockets of both drivers, from start() to destruction.
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

struct PluginPorts {
  reactor::Loop& loop;
  Log& log;
  Preparer& preparer;
  std::function<int64_t()> clock;  // seconds since 1970
  std::function<void()> on_registered = [] {
  };  // a kubelet has registered a driver, for the first time or after a restart
  /// other_programs() has changed. Also called within start().
  std::function<void()> on_other_program = [] {};
};

/// Sockets: the service's socket is opened before the registration's. A socket that cannot be opened, or
/// whose file was removed, is opened again after 0.5 s to 2 s. A driver whose socket answers under any pod's
/// name belongs to another program: it is not served until that program ends. Sockets without a listener are
/// removed.
/// Destruction: removes both files; the kubelet then deregisters the driver.
/// Log: registration of a driver, or why it fails; a persistent problem once.
class Plugin {
 public:
  struct Driver {
    std::string name;
    std::function<std::vector<DeviceHealth>()> judge;  // returns the health of its devices
  };
  struct Settings {
    SocketDirectories directories;
    std::string pod_uid;  // "": see socket_paths()
  };
  /// The ports, and objects that judge() refers to, outlive this object.
  Plugin(PluginPorts ports, Settings settings, std::vector<Driver> drivers);
  ~Plugin();

  /// Starts serving; sockets that cannot be opened are retried later. on_alone: called once, as soon as no
  /// other program serves one of the drivers, so that the set of claims that it prepared is final. It is
  /// called within start(), before the first socket is opened, if that is so from the start.
  void start(std::function<void()> on_alone = [] {});
  /// Drivers that another program serves, with the path: "PATH: ...". The kubelet may send claims of such a
  /// driver to either program, and both would write its ResourceSlices.
  const std::map<std::string, std::string>& other_programs() const { return others_; }
  /// Called when the host or the offered devices may have changed. Cheap: changes within kHealthSettle are
  /// combined, and nothing is computed while no kubelet watches.
  void refresh_health();
  /// Returns whether both sockets of the driver exist.
  bool is_serving(const std::string& driver) const;

 private:
  class Served;
  void set_other_program(const std::string& driver, const std::string& where);

  const PluginPorts ports_;
  std::list<std::unique_ptr<Served>> served_;
  std::function<void()> on_alone_;  // empty after the call
  std::map<std::string, std::string> others_;
};

}  // namespace sliced::kubelet
