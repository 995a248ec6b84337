#pragma once
// Server-sent events for browsers (https://html.spec.whatwg.org/multipage/server-sent-events.html).
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "daemon/status/pages.h"
#include "kube/objects/json.h"
#include "reactor/scheduler.h"

namespace sliced::status {

/// Bounds: clients_max at a time, others get a 503. A client with more than kUnsentMax unread bytes is
/// disconnected, and reconnects by itself. Missed events are not stored: a browser reads the page again.
/// Ownership: the scheduler outlives this object. Its calls may outlive it, and get no further events.
/// Reentry: welcome is called for each client, and must not call tell().
/// Threads: the loop's.
class Feed {
 public:
  static constexpr size_t kUnsentMax = 256u << 10;
  static constexpr Millis kSilenceMax{15'000};  // then a comment is sent, so that disconnected clients are
                                                // detected
  Feed(reactor::Scheduler& scheduler, size_t clients_max);
  ~Feed();
  Feed(const Feed&) = delete;

  /// welcome: the first events for each client, from event_text(). Browsers reconnect 2 s after a disconnect
  /// ("retry"), and 10 s after a 503 (Retry-After).
  LongPage page(std::function<std::string()> welcome);
  /// Sends events from event_text() to all clients. Disconnects clients that do not read.
  void tell(std::string_view events);
  size_t clients() const;

 private:
  class Client;
  struct Clients;
  const std::shared_ptr<Clients> clients_;
};

/// Returns "event: NAME\ndata: JSON\n\n"; name: a literal.
std::string event_text(std::string_view name, const kube::Json& data);

}  // namespace sliced::status
