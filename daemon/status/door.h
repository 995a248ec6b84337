#pragma once
// Where the pages are read: a unix socket in the runtime directory, and a TCP address where one is asked for.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/server.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/net/listener.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::status {

constexpr size_t kLocalConnectionsMax = 16, kTcpConnectionsMax = 32;  // more wait in the kernel
constexpr size_t kSocketsMax = 64;                                    // of one directory, without pods

/// The names that a daemon's socket may have, the best first: "status-<UID>.sock" of a pod; else "status.sock",
/// and where another daemon has that, "status-2.sock" and so on.
std::vector<std::string> socket_names(const std::string& pod_uid);
/// Whether a file of that name is some daemon's socket.
bool is_socket_name(std::string_view name);

/// Never in the way: what cannot be opened is said once and tried again every two seconds, and so is the first of
/// the names while another daemon has it; a file that is gone is noticed within ten. Sockets at which nobody
/// answers any more are removed.
/// Users: of the socket root, and the one that this process runs as, by the file's mode and by what the kernel
///        says (SO_PEERCRED); of the address whoever reaches it.
/// Bounds: connections as above; heads of 8 KiB, bodies of 1 KiB, 5 s for a request, 10 s for a slow reader and
///        without a request (http/service.h).
/// Threads: the loop's.
/// Ownership: the loop, the log and what serves outlive it. Dropping it ends all connections.
class Door {
 public:
  struct Ports {
    reactor::Loop& loop;
    Log& log;
    std::function<int64_t()> clock;  // seconds since 1970
  };
  struct Places {
    std::string directory;  // private (reactor::prepare_private_directory); "": no socket
    std::string pod_uid;    // "": no pod
    std::optional<reactor::net::Endpoint> address = {};
  };
  /// Opens what it can at once. Nothing here fails: what cannot be opened is in the log, and tried again.
  Door(Ports ports, Places places, http::Serve serve);

  /// The socket's path; "" while it is not open.
  std::string socket() const;
  /// Of the address; 0 while it cannot be opened.
  uint16_t port() const { return tcp_ ? tcp_->port() : 0; }
  size_t connections() const { return server_.connections(); }

 private:
  // Every two seconds while something is wanting, else every ten.
  void tend();
  // Where another daemon has the first name, the next ones; once that one has gone, the first.
  void tend_socket();
  void tend_address();
  bool open_socket(size_t name);
  // Somebody may have removed the file: who looks for it would find nobody.
  bool is_found() const;
  // Sockets of pods that ended suddenly; at most 4,096 files are looked through.
  void remove_silent_others() const;
  reactor::net::OnAccept taker();
  void on_refused(const reactor::net::Peer& peer);

  const Ports ports_;
  const Places places_;
  const std::vector<std::string> names_;
  http::Server server_;
  std::unique_ptr<reactor::net::Listener> local_, tcp_;
  size_t name_ = 0;  // of names_, where local_ is open
  std::string why_not_;
  LastMessage socket_log_, address_log_, refused_log_;
  reactor::Ticket next_;
};

}  // namespace sliced::status
