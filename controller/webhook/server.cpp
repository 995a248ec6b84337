#include "controller/webhook/server.h"

#include <string>
#include <utility>

#include "daemon/status/pages.h"
#include "reactor/loop.h"

namespace sliced::webhook {
namespace {

constexpr Millis kListenAgain{2'000};
constexpr std::string_view kPath = "/validate";

// The API server refuses a certificate outside of its validity.
std::string why_not_valid(const reactor::net::TlsContext& tls, int64_t now) {
  const auto [begins, ends] = tls.validity();
  return now < begins ? "it is not valid yet" : now >= ends ? "it has ended" : "";
}

}  // namespace

Server::Server(ServerPorts ports, Places places, Drivers drivers)
    : ports_(std::move(ports)),
      places_(std::move(places)),
      admission_({ports_.loop.scheduler(), ports_.executor, ports_.selectors, ports_.log},
                 std::move(drivers)),
      files_({ports_.loop, ports_.loop.scheduler(), ports_.executor, ports_.clock}, places_.files,
             {"h2", "http/1.1"},
             {.on_context = [this](auto tls) { use(std::move(tls)); },
              .on_trouble =
                  [this](const Error& why) {
                    ports_.log.warning("TLS certificate not usable", {{"why", why.what}});
                  }}) {}

void Server::use(std::shared_ptr<const reactor::net::TlsContext> tls) {
  tls_ = tls;
  if (server_) {
    ports_.log.info("TLS certificate reloaded");
    return server_->use(std::move(tls));
  }
  server_.emplace(ports_.loop.scheduler(), serve(), server_options(std::move(tls)));
  listen();
}

http::ServerOptions Server::server_options(std::shared_ptr<const reactor::net::TlsContext> tls) const {
  return {.bounds = {.request = {.head_bytes_max = 16u << 10, .body_bytes_max = kReviewBytesMax},
                     .handshake_max = Millis{5'000},
                     .head_max = Millis{5'000},
                     .request_max = Millis{5'000},
                     .stall_max = Millis{10'000}},
          .tls = std::move(tls),
          .clock = ports_.clock,
          .on_trouble = [&log = ports_.log](const reactor::net::Peer& who, const Error& why) {
            log.debug("webhook connection failed", {{"client", who.name}, {"why", why.what}});
          }};
}

std::vector<status::Check> Server::readiness() const {
  return {{"certificate", tls_ == nullptr ? "there is none" : why_not_valid(*tls_, ports_.clock()), ""},
          {"address", listener_ == nullptr ? "it cannot be had" : "", ""}};
}

http::Serve Server::serve() {
  const status::ShortPages pages = status::probe_pages([this] { return readiness(); });
  return [this, others = status::serve_pages({pages.begin(), pages.end()})](const http::RequestHead& head,
                                                                            http::Response& response) {
    const std::string_view path = std::string_view(head.target).substr(0, head.target.find('?'));
    return path == kPath ? admission_.serve(head, response) : others(head, response);
  };
}

void Server::listen() {
  const reactor::net::ListenOptions options{.connections_max = kClientsMax,
                                            .make_room = [this] { return server_->make_room(); }};
  auto opened = reactor::net::listen_tcp(
      ports_.loop, places_.address, options,
      [this](std::unique_ptr<reactor::net::ByteStream> stream, reactor::net::Peer peer) {
        server_->take(std::move(stream), std::move(peer));
      });
  if (opened) {
    listener_ = std::move(*opened);
    ports_.log.info("listening", {{"host", places_.address.host}, {"port", static_cast<size_t>(port())}});
    return;
  }
  if (address_log_.is_new(opened.error().what))
    ports_.log.error("address not available: will retry", {{"why", opened.error().what}});
  again_ = ports_.loop.scheduler().after(kListenAgain, [this] { listen(); });
}

void Server::shut_down(Millis grace, std::function<void()> on_done) {
  again_.reset();
  listener_.reset();
  if (server_) return server_->shut_down(grace, std::move(on_done));
  again_ = ports_.loop.scheduler().after(Millis{0}, std::move(on_done));
}

}  // namespace sliced::webhook
