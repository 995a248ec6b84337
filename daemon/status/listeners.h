#pragma once
// The listeners of the status pages: a unix socket in the runtime directory, and an optional TCP address.
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
constexpr size_t kSocketsMax = 64;                                    // per directory, not counting pods

/// Returns the possible names of a daemon's socket, in order of preference: "status-<UID>.sock" for a pod;
/// otherwise "status.sock", then "status-2.sock" and so on if another daemon has that.
std::vector<std::string> socket_names(const std::string& pod_uid);
/// Returns whether a file name is that of a daemon's socket.
bool is_socket_name(std::string_view name);

struct StatusListenerDeps {
  reactor::Loop& loop;
  Log& log;
  std::function<int64_t()> clock;  // seconds since 1970
};

/// Heads of 8 KiB, bodies of 1 KiB, 5 s for a request, 10 s for a slow reader and without a request.
inline constexpr http::ServerBounds kStatusListenerBounds{
    .request = {.head_bytes_max = 8u << 10, .body_bytes_max = 1u << 10},
    .streams_max = 8,
    .head_max = Millis{5'000},
    .request_max = Millis{5'000},
    .stall_max = Millis{10'000},
    .idle_max = Millis{10'000}};

/// A listener that cannot be opened is logged once and retried every two seconds; so is the preferred name
/// while another daemon has it. A removed file is detected within ten seconds. Sockets without a listener are
/// removed.
/// Access: to the socket by root and this process's user, by the file's mode and SO_PEERCRED; to the address
/// by any client.
/// Bounds: connections as above, and kStatusListenerBounds.
/// Threads: the loop's.
/// Ownership: the loop, the log and the handler outlive this object. Its destruction closes all connections.
class StatusListeners {
 public:
  struct Places {
    std::string directory;  // private (reactor::prepare_private_directory); "": no socket
    std::string pod_uid;    // "": no pod
    std::optional<reactor::net::Endpoint> address = {};
  };
  /// Opens the listeners. Never fails: a listener that cannot be opened is logged, and retried.
  StatusListeners(StatusListenerDeps ports, Places places, http::Serve serve,
                  const http::ServerBounds& bounds = kStatusListenerBounds);

  /// Returns the socket's path; "" while it is not open.
  std::string socket() const;
  /// Returns the TCP port; 0 while it is not open.
  uint16_t port() const { return tcp_ ? tcp_->port() : 0; }
  size_t connections() const { return server_.connections(); }

 private:
  // Runs every two seconds while a listener is missing, otherwise every ten.
  void tend();
  // Uses the next name while another daemon has the first one, and returns to the first one after that.
  void tend_socket();
  void tend_address();
  bool open_socket(size_t name);
  // Returns whether the socket's file still exists.
  bool is_found() const;
  // Removes sockets of pods that were killed; scans at most 4,096 files.
  void remove_silent_others() const;
  reactor::net::OnAccept accept_handler();
  void on_refused(const reactor::net::Peer& peer);

  const StatusListenerDeps ports_;
  const Places places_;
  const std::vector<std::string> names_;
  http::Server server_;
  std::unique_ptr<reactor::net::Listener> local_, tcp_;
  size_t name_ = 0;  // index in names_ of local_
  std::string problem_;
  LastMessage socket_log_, address_log_, refused_log_;
  reactor::Ticket next_;
};

}  // namespace sliced::status
