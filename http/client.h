#pragma once
// Requests to servers over connections that are kept, and shared where the server speaks HTTP/2. Versions do
// not show: a request goes in, a head, pieces of a body and an end come out.
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "http/dialer.h"
#include "http/message.h"
#include "http/pool.h"
#include "reactor/backoff.h"
#include "reactor/scheduler.h"

namespace sliced::http {

/// Of one exchange. Nothing bounds a whole response in time but silence_max: one that trickles goes on, so
/// whoever wants an end to it (kube/client/api_operation.h) drops the Exchange.
struct Options {
  Limits limits;
  Millis connect_max{10'000};  // name lookup, TCP and TLS together
  Millis head_max{30'000};     // from the request's sending to the response's head
  Millis silence_max{30'000};  // between two pieces of the response
  /// The request may be sent twice: when a kept connection turns out to be dead before the first byte of a
  /// response, it is sent once more on a new one. Not for what must not happen twice.
  bool repeatable = false;
};

/// Order: on_head, pieces of the body, trailers, and one of the three ends; on_failure and on_moved may come
/// at any point, also before the head. None may be empty but on_moved and on_trailers.
struct Handlers {
  std::function<void(const Head&)> on_head;
  std::function<void(std::string_view)> on_body;  // valid during the call
  std::function<void()> on_done;                  // the response is whole
  std::function<void(const Error&)> on_failure;   // exactly one of on_done, on_failure and on_moved ends it
  /// Marks what goes on for long (a watch). Such an exchange leaves a connection that drains (the server says
  /// GOAWAY, or we have another certificate) within 30 s, by this call: it is to be begun again.
  std::function<void()> on_moved = {};
  std::function<void(const Headers& trailers)> on_trailers = {};  // optional; before on_done
};

/// Dropping it ends the exchange; no handler runs afterwards.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Holds the server back; what was read before may still come. Silence is not counted meanwhile.
  virtual void pause() = 0;
  virtual void resume() = 0;
};
using ExchangePtr = std::unique_ptr<Exchange>;

/// Reentry:   no handler is called from within start(). Handlers may start and drop exchanges, their own
///            included.
/// Ownership: exchanges that outlive the client go on to their end, without keeping their connection.
/// Repeats:   what the server says that it has not acted on (REFUSED_STREAM, GOAWAY) is sent again, up to
///            five times, whatever it is; what is repeatable also when its connection turns out to be dead.
/// Errors:    kIo (refused, broken, garbage, cut), kTimeout, kTooLarge, kBusy (too many exchanges at once,
///            or the server takes none), kNotFound (no such host name), kInvalid (request cannot be written,
///            certificate trouble): each text begins with the server's address. An error status is no
///            failure here, and neither is a redirect: both are responses.
class Client {
 public:
  using Bounds = PoolBounds;
  Client(reactor::Scheduler& scheduler, Dial dial, reactor::Random random, Bounds bounds = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// target is shared, not copied: connections belong to the pointer, so whoever makes an equal one anew for
  /// each request gets a connection for each. options.connect_max counts again for each connection that is
  /// looked for.
  [[nodiscard]] ExchangePtr start(TargetPtr target, Request request, Options options, Handlers handlers);

  /// For tests and metrics; a connection that drains and carries nothing is closed, not idle.
  size_t idle_connections() const { return pool_->idle(); }

 private:
  // Its exchange's Handle holds it, and each callback while it runs: so a handler may drop its own Exchange.
  class Running;
  class Handle;
  const std::shared_ptr<Pool> pool_;
  const reactor::Random random_;
};

}  // namespace sliced::http
