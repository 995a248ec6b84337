#pragma once
// A gRPC server on a unix socket, for the kubelet.
#include <cstdint>
#include <memory>
#include <string>

#include "http/grpc/server.h"
#include "http/server.h"
#include "reactor/base/log.h"
#include "reactor/net/listener.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::kubelet {

constexpr size_t kConnectionsMax = 16;  // per socket; a kubelet opens one or two

/// Listens during its lifetime; the destructor closes the connections. Idle connections stay open, because
/// the kubelet treats a closed one as the plugin's end.
/// Access: root and this process's user, by SO_PEERCRED.
/// Bounds: kConnectionsMax connections; further ones wait in the kernel. Each has grpc::patient_bounds().
/// Log: rejected peers, once until another peer connects; protocol errors.
/// Threads: the loop's. The loop outlives this object.
class Endpoint {
 public:
  /// Errors: of reactor::net::listen_unix(); each names the path. Replaces a socket at the path if no process
  /// answers at it, and no other kind of file (reactor/net/listener.h).
  static Result<std::unique_ptr<Endpoint>> open(reactor::Loop& loop, Log& log, const std::string& path,
                                                grpc::Methods methods);
  /// Returns whether the file at the path is this socket. False if the directory was cleaned or another
  /// program bound its own socket there; clients do not reach this one then. Reads the file system, so call
  /// it rarely.
  bool is_found() const;
  size_t connections() const { return server_.connections(); }

 private:
  Endpoint(reactor::Loop& loop, Log& log, std::string path, grpc::Methods methods);
  void on_refused(const reactor::net::Peer& peer);

  Log& log_;
  const std::string path_;
  std::string last_rejected_;        // the last rejected peer
  uint64_t device_ = 0, inode_ = 0;  // of the socket file
  http::Server server_;
  std::unique_ptr<reactor::net::Listener> listener_;
};

}  // namespace sliced::kubelet
