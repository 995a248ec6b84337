#include "http/server.h"

#include <cassert>
#include <utility>
#include <vector>

#include "http/server_connection.h"

namespace sliced::http {

struct Server::Shared final : ServerConnection::Shared {};

Server::Server(reactor::Scheduler& scheduler, Serve serve, ServerOptions options)
    : scheduler_(scheduler),
      shared_(std::make_shared<const Shared>(
          Shared{{.scheduler = scheduler,
                  .serve = std::move(serve),
                  .bounds = options.bounds,
                  .clock = std::move(options.clock),
                  .on_trouble = std::move(options.on_trouble),
                  .on_closed = [this](ServerConnection& over) { forget(over); }}})),
      tls_(std::move(options.tls)) {}

Server::~Server() {
  on_done_ = nullptr;
  while (!connections_.empty()) {
    const auto connection = connections_.begin()->second;
    connection->cut({Errc::kCanceled, "server closed"});
  }
}

void Server::take(std::unique_ptr<reactor::net::ByteStream> stream, reactor::net::Peer peer) {
  if (on_done_) return;  // too late
  const auto made = std::make_shared<ServerConnection>(shared_, std::move(peer));
  connections_.emplace(made.get(), made);
  if (tls_)
    made->begin_tls(std::move(stream), tls_);
  else
    made->begin(std::move(stream));
}

bool Server::make_room() {
  std::shared_ptr<ServerConnection> longest;
  for (const auto& [raw, connection] : connections_)
    if (connection->awaits_client() && (!longest || connection->last_heard() < longest->last_heard()))
      longest = connection;
  if (!longest) return false;
  longest->fail({Errc::kBusy, "closed for another client: this one was idle"});
  return true;
}

void Server::use(std::shared_ptr<const reactor::net::TlsContext> tls) {
  assert(tls && tls_);  // TLS must not be turned off by mistake
  tls_ = std::move(tls);
}

void Server::shut_down(Millis grace, std::function<void()> on_done) {
  on_done_ = std::move(on_done);
  std::vector<std::shared_ptr<ServerConnection>> all;
  for (const auto& [raw, connection] : connections_) all.push_back(connection);
  for (const auto& connection : all) connection->drain();
  grace_ = scheduler_.after(grace, [this] {
    std::vector<std::shared_ptr<ServerConnection>> remaining;
    for (const auto& [raw, connection] : connections_) remaining.push_back(connection);
    for (const auto& connection : remaining) connection->cut({Errc::kCanceled, "the server stops"});
  });
  finish_if_drained();
}

void Server::forget(ServerConnection& connection) {
  connections_.erase(&connection);
  finish_if_drained();
}

void Server::finish_if_drained() {
  if (!on_done_ || !connections_.empty() || done_) return;
  grace_.reset();
  done_ = scheduler_.after(Millis{0}, on_done_);  // without any frame of the server on the stack
}

size_t Server::calls() const {
  size_t all = 0;
  for (const auto& [raw, connection] : connections_) all += connection->calls();
  return all;
}

}  // namespace sliced::http
