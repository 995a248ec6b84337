#include "kubelet/endpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "reactor/loop.h"

namespace sliced::kubelet {
namespace {

http::ServerOptions server_options(Log& log) {
  http::ServerOptions options;
  options.bounds = grpc::patient_bounds();
  options.on_trouble = [&log](const reactor::net::Peer& who, const Error& why) {
    log.debug("connection to the kubelet plugin failed", {{"client", who.name}, {"why", why.what}});
  };
  return options;
}

}  // namespace

Endpoint::Endpoint(reactor::Loop& loop, Log& log, std::string path, grpc::Methods methods)
    : log_(log),
      path_(std::move(path)),
      server_(loop.scheduler(), grpc::serve_methods(loop.scheduler(), std::move(methods)),
              server_options(log)) {}

Result<std::unique_ptr<Endpoint>> Endpoint::open(reactor::Loop& loop, Log& log, const std::string& path,
                                                 grpc::Methods methods) {
  std::unique_ptr<Endpoint> made(new Endpoint(loop, log, path, std::move(methods)));
  auto listener = reactor::net::listen_unix(
      loop, path,
      {.connections_max = kConnectionsMax,
       .users = {0, ::geteuid()},
       .on_refused = [raw = made.get()](const reactor::net::Peer& peer) { raw->on_refused(peer); }},
      [raw = made.get()](auto stream, reactor::net::Peer peer) {
        raw->server_.take(std::move(stream), std::move(peer));
      });
  if (!listener) return Error(listener.error());
  made->listener_ = std::move(*listener);
  struct stat found{};
  if (::lstat(path.c_str(), &found) == 0) {
    made->device_ = found.st_dev;
    made->inode_ = found.st_ino;
  }
  return made;
}

bool Endpoint::is_found() const {
  struct stat found{};
  return ::lstat(path_.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) && found.st_dev == device_ &&
         found.st_ino == inode_;
}

void Endpoint::on_refused(const reactor::net::Peer& peer) {
  const std::string who = peer.credentials ? "uid " + std::to_string(peer.credentials->uid) : "unknown";
  if (std::exchange(last_rejected_, who) != who)
    log_.warning("connection rejected: only root and the user of this process may connect",
                 {{"socket", path_}, {"client", peer.name}});
}

}  // namespace sliced::kubelet
