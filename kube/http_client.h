#pragma once
// Requests to API servers over connections that are kept and used again. HTTP/1.1 does not show: a request
// goes in, a head, pieces of a body and an end come out.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/cluster.h"
#include "kube/http_message.h"
#include "kube/proxy.h"
#include "kube/url.h"
#include "reactor/net/stream.h"
#include "reactor/net/tcp_stream.h"
#include "reactor/net/tls_session.h"
#include "reactor/scheduler.h"

namespace sliced::kube {

/// Whom to connect to and as whom. Connections are shared between requests that hold the same HttpServer; a
/// new one (a changed certificate) gets new connections and the idle ones of the old are closed.
struct HttpServer {
  Url url;
  std::shared_ptr<const reactor::net::TlsContext> tls;  // unused when url.tls is false
  std::string tls_server_name;                          // "": url.host
  std::optional<HttpProxy> proxy = {};                  // asked for a tunnel; not for a url without tls
};
using HttpServerPtr = std::shared_ptr<const HttpServer>;

/// Opens a plain connection: reactor::net::connect_tcp, or a test's own.
using Dial = std::function<std::unique_ptr<reactor::net::Connecting>(reactor::net::Endpoint, Millis deadline,
                                                                     reactor::net::OnConnected)>;

struct HttpOptions {
  HttpLimits limits;
  Millis connect_max{10'000};  // name lookup, TCP and TLS together
  Millis head_max{30'000};     // from the request's sending to the response's head
  Millis silence_max{30'000};  // between two pieces of the response
  /// The request may be sent twice: when a kept connection turns out to be dead before the first byte of a
  /// response, it is sent once more on a new one. Not for what must not happen twice.
  bool repeatable = false;
};

struct HttpHandlers {
  std::function<void(const HttpHead&)> on_head;
  std::function<void(std::string_view)> on_body;  // valid during the call
  std::function<void()> on_done;                  // the response is whole
  std::function<void(const Error&)> on_failure;   // exactly one of on_done and on_failure ends the exchange
};

/// Reentry:   no handler is called from within start(). Handlers may start and drop exchanges, their own
/// included. Ownership: dropping the CallPtr ends the exchange and closes its connection; no handler runs
/// afterwards. Exchanges
///            that outlive the client go on to their end, without keeping their connection.
/// Errors:    kIo (refused, broken, garbage, cut), kTimeout, kTooLarge, kBusy (too many exchanges at once),
/// kNotFound
///            (no such host name), kInvalid (request cannot be written, certificate trouble): each text
///            begins with the server's address. An error status is no failure here, and neither is a
///            redirect: both are responses.
class HttpClient {
 public:
  struct Bounds {
    size_t exchanges_max = 64;
    size_t idle_max = 4;       // connections kept for later
    Millis idle_keep{60'000};  // API servers close after 90 s and more
  };
  HttpClient(reactor::Scheduler& scheduler, Dial dial) : HttpClient(scheduler, std::move(dial), Bounds{}) {}
  HttpClient(reactor::Scheduler& scheduler, Dial dial, Bounds bounds);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] CallPtr start(HttpServerPtr server, HttpRequest request, HttpOptions options,
                              HttpHandlers handlers);

  size_t idle_connections() const;
  uint64_t connections_opened() const;

 private:
  struct Pool;
  class Exchange;
  class Handle;
  std::shared_ptr<Pool> pool_;
};

}  // namespace sliced::kube
