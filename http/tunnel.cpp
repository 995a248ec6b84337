#include "http/tunnel.h"

#include <utility>

#include "reactor/base/text.h"

namespace sliced::http {
namespace {

using reactor::net::ByteStream;
using reactor::net::Connecting;
using reactor::net::Endpoint;
using reactor::net::OnConnected;

constexpr size_t kTunnelHeadMax = size_t{16} << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

class Tunnel final : public Connecting {
 public:
  Tunnel(reactor::Scheduler& scheduler, std::unique_ptr<ByteStream> to_proxy, const Proxy& proxy,
         const Endpoint& target, OnConnected on_connected)
      : scheduler_(scheduler), stream_(std::move(to_proxy)), on_connected_(std::move(on_connected)) {
    const bool is_v6 = target.host.find(':') != std::string::npos;
    const std::string authority =
        (is_v6 ? "[" + target.host + "]" : target.host) + ":" + std::to_string(target.port);
    request_ = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
    if (!proxy.authorization.empty()) request_ += "Proxy-Authorization: " + proxy.authorization + "\r\n";
    request_ += "\r\n";
    step_ = scheduler.after(Millis{0}, [this] { begin(); });
  }

 private:
  void begin() {
    stream_->receive({.on_data = [this](std::string_view bytes) { on_data(bytes); },
                      .on_end = [this] { finish(Error{Errc::kIo, "the proxy closed the connection"}); },
                      .on_error = [this](Error error) { finish(std::move(error)); }});
    stream_->write(std::move(request_));
  }

  void on_data(std::string_view bytes) {
    head_ += bytes.substr(0, kTunnelHeadMax + 1 - head_.size());
    const size_t end = head_.find(kHeadEnd);
    if (end == std::string::npos && head_.size() > kTunnelHeadMax)
      return finish(Error{Errc::kTooLarge, "the head of the proxy's answer exceeds 16 KiB"});
    if (!std::string_view("HTTP/1.").starts_with(std::string_view(head_).substr(0, 7)))
      return finish(Error{Errc::kIo, "no HTTP answer from the proxy: " + in_quotes(head_, 64)});
    if (end == std::string::npos) return;
    const std::string_view line = std::string_view(head_).substr(0, head_.find("\r\n"));
    const auto parts = split(line, ' ');
    if (parts.size() < 2 || parts[1] != "200")
      return finish(Error{Errc::kIo, "the proxy refuses: " + in_quotes(line.substr(0, 256))});
    // An API server sends nothing before the first request.
    if (end + kHeadEnd.size() != head_.size())
      return finish(Error{Errc::kIo, "the proxy sends something of its own into the tunnel"});
    stream_->receive({});
    stream_->pause();  // until a receiver is set and resumes
    finish(std::move(stream_));
  }

  void finish(Result<std::unique_ptr<ByteStream>> outcome) {
    if (!on_connected_) return;
    if (stream_) stream_->pause();
    step_ = reactor::net::complete(scheduler_, on_connected_, std::move(outcome));
  }

  reactor::Scheduler& scheduler_;
  std::unique_ptr<ByteStream> stream_;
  OnConnected on_connected_;
  std::string request_, head_;
  reactor::Ticket step_;
};

}  // namespace

std::unique_ptr<Connecting> open_tunnel(reactor::Scheduler& scheduler, std::unique_ptr<ByteStream> to_proxy,
                                        const Proxy& proxy, const Endpoint& target,
                                        OnConnected on_connected) {
  return std::make_unique<Tunnel>(scheduler, std::move(to_proxy), proxy, target, std::move(on_connected));
}

}  // namespace sliced::http
