#pragma once
// What the service manager is told of a running daemon.
#include <string>

#include "daemon/daemon.h"
#include "daemon/observer.h"
#include "daemon/process.h"
#include "reactor/service_manager.h"

namespace sliced::cli {

/// Ready is who has read the host and turns its loop: neither an API server that is away nor another daemon that writes
/// for this node makes anything of it worth a restart. Process and daemon outlive it.
/// Where nobody asks (no NOTIFY_SOCKET) it does nothing at all, and costs nothing. The protocol is
/// sd_notify(3)'s.
class Service final : public daemon::Observer {
 public:
  Service(Process& process, reactor::ServiceAddress address, daemon::Daemon& daemon);

  /// The daemon has been started.
  /// Looks every 200 ms from now on, until there is a first decision: before that nobody calls back.
  void start();
  void on_decided(const policy::Decision&) override;
  /// The interlock is held.
  void on_writer();
  /// What systemd wants of Type=notify-reload: RELOADING, then READY when it is done, also where the file was
  /// bad.
  void on_reloading() { manager_.reloading(); }
  void on_reloaded() {
    if (manager_.is_ready()) manager_.ready();
  }
  void on_stopping() { manager_.stopping(); }

 private:
  void look();

  reactor::Scheduler& scheduler_;
  daemon::Daemon& daemon_;
  reactor::ServiceManager manager_;
  bool is_writer_ = false;
  reactor::Ticket next_look_;
  daemon::Subscription subscription_{daemon_.observers(), *this};
};

/// One line: "12 devices offered, 3 hidden, 1 held back", or what is waited for.
std::string how_it_stands(const daemon::Daemon& daemon, bool is_writer);

}  // namespace sliced::cli
