#include "http/dialer.h"

#include <utility>

#include "http/tunnel.h"
#include "reactor/net/tls_stream.h"

namespace sliced::http {
namespace {

using reactor::net::ByteStream;
using reactor::net::Connecting;
using reactor::net::Endpoint;
using reactor::net::OnConnected;
using StreamResult = Result<std::unique_ptr<ByteStream>>;

class Dialing final : public Connecting {
 public:
  Dialing(reactor::Scheduler& scheduler, const Dial& dial, TargetPtr target, Millis deadline,
          OnConnected on_connected)
      : scheduler_(scheduler),
        target_(std::move(target)),
        deadline_(deadline),
        on_connected_(std::move(on_connected)) {
    const auto& proxy = target_->proxy;
    const Endpoint first = proxy ? Endpoint{proxy->host, proxy->port} : server();
    step_ = dial(first, deadline_, [this](StreamResult plain) {
      if (target_->proxy)
        open_way(std::move(plain));
      else
        secure(std::move(plain));
    });
  }

 private:
  Endpoint server() const { return {target_->url.host, target_->url.port}; }

  void open_way(StreamResult to_proxy) {
    step_.reset();
    if (!to_proxy) return finish(std::move(to_proxy));
    step_ = open_tunnel(scheduler_, *std::move(to_proxy), *target_->proxy, server(),
                        [this](StreamResult way) { secure(std::move(way)); });
  }

  void secure(StreamResult plain) {
    step_.reset();
    if (!plain || !target_->url.tls) return finish(std::move(plain));
    const std::string& name = target_->tls_server_name;
    step_ = reactor::net::connect_tls(scheduler_, *std::move(plain), target_->tls,
                                      name.empty() ? target_->url.host : name, deadline_,
                                      [this](StreamResult stream) { finish(std::move(stream)); });
  }

  void finish(StreamResult outcome) {
    step_.reset();
    completion_ = reactor::net::complete(scheduler_, on_connected_, std::move(outcome));
  }

  reactor::Scheduler& scheduler_;
  const TargetPtr target_;
  const Millis deadline_;
  OnConnected on_connected_;
  std::unique_ptr<Connecting> step_;
  reactor::Ticket completion_;
};

}  // namespace

std::unique_ptr<Connecting> dial_target(reactor::Scheduler& scheduler, const Dial& dial, TargetPtr target,
                                        Millis deadline, OnConnected on_connected) {
  return std::make_unique<Dialing>(scheduler, dial, std::move(target), deadline, std::move(on_connected));
}

}  // namespace sliced::http
