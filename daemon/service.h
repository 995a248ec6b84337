#pragma once
// Notifies the service manager about a running daemon.
#include <string>

#include "daemon/daemon.h"
#include "daemon/observer.h"
#include "daemon/process.h"
#include "reactor/service_manager.h"

namespace sliced::daemon {

/// The service is ready after the host was read, because neither an unreachable API server nor another daemon
/// with the interlock justifies a restart. Process and daemon outlive this object. Does nothing without
/// NOTIFY_SOCKET. Protocol: sd_notify(3).
class Service final : public Observer {
 public:
  Service(Process& process, reactor::ServiceAddress address, Daemon& daemon);

  /// The daemon was started. Polls every 200 ms until the first decision, because there is no callback before
  /// that.
  void start();
  void on_decided(const policy::Decision&) override;
  /// Called when the interlock is held.
  void on_writer();
  /// For systemd's Type=notify-reload: RELOADING, then READY at the end, also if the file was invalid.
  void on_reloading() { manager_.reloading(); }
  void on_reloaded() {
    if (manager_.is_ready()) manager_.ready();
  }
  void on_stopping() { manager_.stopping(); }

 private:
  void look();

  reactor::Scheduler& scheduler_;
  Daemon& daemon_;
  reactor::ServiceManager manager_;
  bool is_writer_ = false;
  reactor::Ticket next_look_;
  Subscription subscription_{daemon_.observers(), *this};
};

/// Returns one line: "12 devices offered, 3 hidden, 1 held back", or the condition for which the daemon
/// waits.
std::string status_line(const Daemon& daemon, bool is_writer);

}  // namespace sliced::daemon
