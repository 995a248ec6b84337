#pragma once
// Requests to servers over persistent connections, which HTTP/2 exchanges share. Independent of the version:
// a request is sent; a head, pieces of a body and an end are received.
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

/// Options of one exchange. Only silence_max limits the duration of a response, so a slow one may continue;
/// callers with a total limit (kube/client/api_operation.h) drop the Exchange.
struct Options {
  Limits limits;
  Millis connect_max{10'000};  // name lookup, TCP and TLS together
  Millis head_max{30'000};     // from sending the request to the response's head
  Millis silence_max{30'000};  // between two pieces of the response
  /// The request may be sent twice: if a kept connection turns out to be dead before the first byte of a
  /// response, it is sent again on a new one. Not for requests that must not be executed twice.
  bool repeatable = false;
};

/// Order: on_head, pieces of the body, trailers, and one of the three ends; on_failure and on_moved may come
/// at any point, also before the head. Only on_moved and on_trailers may be empty.
struct Handlers {
  std::function<void(const Head&)> on_head;
  std::function<void(std::string_view)> on_body;  // valid during the call
  std::function<void()> on_done;                  // the response is complete
  std::function<void(const Error&)> on_failure;   // exactly one of on_done, on_failure and on_moved ends the
                                                  // exchange
  /// Set for long exchanges (a watch). Such an exchange leaves a draining connection (GOAWAY from the server,
  /// or a new certificate here) within 30 s by this call; the caller starts it again.
  std::function<void()> on_moved = {};
  std::function<void(const Headers& trailers)> on_trailers = {};  // optional; before on_done
};

/// Dropping it ends the exchange; no handler runs afterwards.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Stops reading. Data that was read before may still be delivered. The time does not count for
  /// silence_max.
  virtual void pause() = 0;
  virtual void resume() = 0;
};
using ExchangePtr = std::unique_ptr<Exchange>;

/// Reentry: no handler is called from within start(). Handlers may start and drop exchanges, including their
/// own.
/// Ownership: exchanges may outlive the client; they complete, and their connection is not kept.
/// Repeats: a request that the server has not processed (REFUSED_STREAM, GOAWAY) is sent again, up to five
/// times; a repeatable one also if its connection turns out to be dead.
/// Errors: kIo (refused, broken, invalid data, truncated), kTimeout, kTooLarge, kBusy (too many concurrent
/// exchanges, or refused by the server), kNotFound (no such host name), kInvalid (the request cannot be
/// encoded, certificate errors): each text begins with the server's address. An error status or a redirect is
/// a response, not a failure.
class Client {
 public:
  using Bounds = PoolBounds;
  Client(reactor::Scheduler& scheduler, Dial dial, reactor::Random random, Bounds bounds = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// target: shared by pointer. Connections belong to the pointer, so an equal copy per request would cause a
  /// connection per request. options.connect_max applies to each attempt to get a connection.
  [[nodiscard]] ExchangePtr start(TargetPtr target, Request request, Options options, Handlers handlers);

  /// For tests and metrics. A draining connection without an exchange is closed, not idle.
  size_t idle_connections() const { return pool_->idle(); }

 private:
  // The exchange's Handle holds it, and so does each running callback, so that a handler may drop its own
  // Exchange.
  class Running;
  class Handle;
  const std::shared_ptr<Pool> pool_;
  const reactor::Random random_;
};

}  // namespace sliced::http
