#pragma once
// A unix socket with methods of gRPC, for the kubelet alone.
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

constexpr size_t kConnectionsMax = 16;  // of one socket: a kubelet has one or two

/// Listens as long as it lives; connections end with it. Idle ones stay: the kubelet takes the end of one for
/// the plugin's.
/// Users: root, and the one that this process runs as, by what the kernel says (SO_PEERCRED).
/// Bounds: kConnectionsMax connections; more wait in the kernel. Of each what grpc::patient_bounds() says.
/// Log:   whom it turns away, once as long as nobody else comes; who breaks a rule.
/// Threads: the loop's, which outlives it.
class Endpoint {
 public:
  /// Errors: of reactor::net::listen_unix(); each names the path.
  /// What is in the way at the path is replaced where nobody answers at it, and nothing else is
  /// (reactor/net/listener.h).
  static Result<std::unique_ptr<Endpoint>> open(reactor::Loop& loop, Log& log, const std::string& path,
                                                grpc::Methods methods);
  /// The file at the path is this socket's; a look at the disk, for callers that look seldom. It is not where somebody
  /// has cleaned the directory, or where another program has put its own socket there: clients do not find this one then.
  bool is_found() const;
  size_t connections() const { return server_.connections(); }

 private:
  Endpoint(reactor::Loop& loop, Log& log, std::string path, grpc::Methods methods);
  void on_refused(const reactor::net::Peer& peer);

  Log& log_;
  const std::string path_;
  std::string last_rejected_;        // whom, last
  uint64_t device_ = 0, inode_ = 0;  // of the file
  http::Server server_;
  std::unique_ptr<reactor::net::Listener> listener_;
};

}  // namespace sliced::kubelet
